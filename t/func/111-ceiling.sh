#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 111-ceiling.sh - what the host could reach without storage: measured, reported, and no more.
# On disk: direct=1 is tried, which files in memory do not have.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# The signal comes first, in real time. Ceilings take seconds each, so all others are
# measured in virtual time.
background "$MLGEN" --name=x --directory=real --num_files=4 --sample_size=64k \
	--batch_size=2 --compute_time=100ms --steps=2 --ceiling --json=run.json
ok "a run begins to measure its ceiling" poll grep -q measuring err
kill -INT "$pid"
finish
is "a signal ends it" "$status" 130
is "the run was complete, and is reported" "$(ml run.json complete steps)" "true 2"
is "and why there is no ceiling" "$(ml run.json ceiling.unmeasured)" interrupted

virtual_time

# train OPTION...: three seconds of it are fifty steps and more.
train()
{
	rm -f run.json
	"$MLGEN" --name=x --directory=data --format=npz --num_files=32 \
		--sample_size=64k --accelerators=2 --batch_size=2 --epochs=3 \
		--compute_time=5ms --json=run.json "$@"
}

ceiling()
{
	# shellcheck disable=SC2046 # one word for each key
	ml run.json $(printf 'ceiling.%s\n' "$@")
}

# is_percent NUMBER
is_percent()
{
	echo "$1" | awk '{ exit !($1 > 0 && $1 <= 100) }'
}

exits "a run without a question prints its report" 0 train
is "and has no ceiling in it" \
	"$(ceiling null_au_percent cached_au_percent null_seconds unmeasured)" \
	"null null null null"
unlike "nor in the text" "$(cat out)" '^ceiling '
unlike "short runs do not begin to measure by themselves" "$(cat err)" measuring

export STORAGE_CACHED=100
exits "--ceiling measures it" 0 train --ceiling
like "and says so" "$(cat err)" \
	'^mlgen: x: measuring what this host could reach without storage, about 6 s more$'
ok "without storage" is_percent "$(ceiling null_au_percent)"
ok "and from memory" is_percent "$(ceiling cached_au_percent)"
is "on its own files" "$(ceiling cached_files cached_bytes)" \
	"32 $(json run.json jobs.0.dataset.bytes)"
is "nothing is missing, and nothing ran beside it" \
	"$(ceiling unmeasured jobs_beside)" "null 0"
like "the report has both" "$(cat out)" \
	'^ceiling            [0-9.]+% AU without storage, [0-9.]+% AU from memory \(32 files'
is "the run itself is what it was" \
	"$(ml run.json samples steps epochs_total)" "96 24 3"
is_json "the JSON report parses" run.json
STORAGE_CACHED=40
exits "files that are read once more may have left memory" 0 train --ceiling --quiet
like "the report then says why a figure is missing" "$(ceiling cached_au_percent unmeasured)" \
	'^null from memory: .* page cache kept only 4[0-9.]+% of the bytes read just before$'
STORAGE_CACHED=100

exits "--ceiling=no is no error" 0 train --ceiling=no --quiet
not_ok "and measures nothing" grep -q measuring err
exits "it is yes, no or neither" 2 train --ceiling=maybe
like "which is said" "$(cat err)" "^mlgen: ceiling: 'maybe' is not one of auto no 0 1"

# ---- a limit of memory is none of the files that are to be there
exits "memory_limit has a ceiling" 0 train --ceiling --quiet --invalidate=run \
	--memory_limit=200m --memory_limit_required=0
is "without that limit" "$(ceiling unmeasured)" null
unlike "of which nothing is said" "$(cat err)" 'stays there beside the limit'

# ---- what a run does besides is no part of its ceiling
exits "evaluation, checkpoints, pauses and drops are left out" 0 train \
	--ceiling --eval_files=4 --checkpoint_every='1 epoch' \
	--checkpoint_size=64k --steps=20 --invalidate=epoch --startdelay=10ms
is "and there are figures" "$(ceiling unmeasured)" null
is "checkpoints are those of the run alone" \
	"$(find data/checkpoints -mindepth 1 -type d | wc -l)" \
	"$(ml run.json saves.count)"

# The ceiling from memory is measured with direct=0.
exits "compute_time=0 has rates" 0 train --ceiling --compute_time=0 \
	--direct=1 --read_threads=1 --preprocess_time=10ms
is "and no AU" "$(ceiling null_au_percent cached_au_percent)" "null null"
like "in the text, too" "$(tr -s ' \n' ' ' <out)" \
	' ceiling [0-9.]+ samples/s without storage, [0-9.]+ samples/s from memory'

STORAGE_CACHED=0

# ---- storage that is only played
exits "ioengine=null is its own ceiling" 0 train --ceiling --ioengine=null --quiet
like "and a note says so" "$(cat err)" '^mlgen: note: ceiling: x: the result is already the ceiling'
is "without a figure" "$(ceiling null_au_percent cached_au_percent)" "null null"
exits "a model of storage has one" 0 train --ceiling --ioengine=null \
	--latency=20ms --read_threads=1 --epochs=2
ok "without that model" awk -v with="$(ml run.json au_percent)" \
	-v without="$(ceiling null_au_percent)" \
	'BEGIN { exit !(without > 2 * with) }'
is "it is storage that costs the difference" "$(ml run.json verdict.name)" storage
like "and the report says how much" "$(cat out)" \
	'because +without storage this host reaches'
is "no file can be in memory" "$(ceiling cached_au_percent unmeasured)" \
	"null from memory: ioengine=null reads no file"
like "what was played is in the report" "$(cat out)" \
	'^storage   a model: ioengine=null, latency=20ms; touches no file'

# ---- jobs that have none
exits "a plain job has none" 0 "$MLGEN" --name=p --rw=read --size=64k --bs=4k \
	--directory=. --ceiling --quiet
like "which a note says" "$(cat err)" '^mlgen: note: ceiling: p: only a training has a ceiling$'
not_ok "and nothing is measured" grep -q measuring err

cat >mix.job <<-END
[global]
directory=data
[one]
num_files=32
sample_size=64k
batch_size=2
compute_time=5ms
[two]
rw=read
size=64k
bs=4k
filename=plain
END
exits "of several jobs each training is measured by itself" 0 \
	env STORAGE_CACHED=100 "$MLGEN" mix.job --ceiling --json=run.json
is "the others are counted" "$(ceiling jobs_beside unmeasured)" "1 null"
like "and named in the text" "$(cat out)" 'the 1 other job of its group'

# ---- a few files in place of many
exits "distinct_files reads the first ones only" 0 train --quiet \
	--distinct_files=3
is "as many samples as ever" "$(ml run.json samples)" 96
mkdir only
cp -r data only/
rm -f only/data/train/img_0[3-9]_* only/data/train/img_[123]*
exits "which is all that has to be there" 0 train --quiet --distinct_files=3 \
	--directory=only/data
exits "while all of them are not" 2 train --quiet --directory=only/data
exits "the report says that they were few" 0 train --distinct_files=3
like "where bytes came from" "$(tr '\n' ' ' <out | tr -s ' ')" \
	'only 3 of the files were read, repeatedly'

done_testing
