#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 40-prepare.sh - a dataset is written once, whole, kept, completed, and never over anything else.
# On disk: files are dropped from the page cache.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

job="--name=x --format=npz --num_files=30 --sample_size=20k --subfolders=3
	--json=run.json"

# prepare OPTION...
prepare()
{
	rm -f run.json
	# shellcheck disable=SC2086 # several options
	"$MLGEN" $job --directory=data --phase=prepare "$@"
}

# shellcheck disable=SC2120 # and without any
train()
{
	rm -f run.json
	# shellcheck disable=SC2086
	"$MLGEN" $job --directory=data --quiet "$@"
}

# written: what the report says of it.
written()
{
	json run.json jobs.0.prepare.files_written jobs.0.prepare.files_kept
}

# sums DIRECTORY: names and checksums of all that is in it.
sums()
{
	(cd "$1" && find . -type f -exec cksum {} + | sort -k3)
}

# ---- written
exits "a preparation" 0 prepare
like "is announced on one line of stderr" "$(cat err)" \
	'^x: writing 30 npz files, [0-9.]+ KiB to data \((in [0-9.]+ [mu]?s|about [0-9.]+ s, estimate)\)$'
is "and nothing else is" "$(wc -l <err)" 1
like "reported on stdout" "$(head -n 1 out)" \
	'^x: 30 files, [0-9.]+ KiB written in [0-9.]+ [mu]?s, [0-9.]+ .iB/s, [0-9.]+ files/s$'
is "in JSON too" "$(written)" "30 0"
is "all files are there" "$(find data/train -type f | wc -l)" 30
is "in three folders" "$(find data/train -mindepth 1 -type d | sort | paste -sd' ' -)" \
	"data/train/0 data/train/1 data/train/2"
is "beside the manifest, and nothing else" \
	"$(find data -mindepth 1 -maxdepth 1 | sort | paste -sd' ' -)" \
	"data/mlgen-dataset.json data/train"
is_json "the manifest is JSON" data/mlgen-dataset.json
like "and says that all is there" "$(cat data/mlgen-dataset.json)" \
	'"complete": true'
is "no two files are alike" \
	"$(cat data/train/*/* | gzip -c | wc -c | awk '{ print ($1 > 600000) }') $(sums data/train |
		awk '{ print $1 }' | sort -u | wc -l)" "1 30"
if is_memory "$T"; then
	skip "none is in the page cache" "$T is in memory"
else
	ok "none is in the page cache" awk -v \
		percent="$(json run.json jobs.0.prepare.resident_percent)" \
		'BEGIN { exit !(percent <= 1) }'
fi
sums data >whole
train >out 2>err
drop_devices err
is "a training finds them" "$(cat err)" ""
is "and reads them" "$(ml run.json samples)" 30
is "as they were" "$(sums data)" "$(cat whole)"

prepare --directory="$T/again" >out 2>&1
is "another directory gets the same files" "$(sums again)" "$(cat whole)"
rm -rf again
prepare --directory="$T/again" --randseed=5 --bs=4k --ioengine=psync >out 2>&1
is "whatever else the job says" "$(sums again)" "$(cat whole)"
rm -rf again

# ---- kept and completed
exits "prepared again" 0 prepare
is "nothing is written" "$(written) $(cat err)" "0 30 "
like "as the report says" "$(head -n 1 out)" '^x: nothing written, 30 files exist$'
rm data/train/1/img_04_of_30.npz
truncate -s 5 data/train/2/img_05_of_30.npz
echo longer >>data/train/0/img_06_of_30.npz
exits "what is missing, short or long" 0 prepare
is "is written, no more" "$(written)" "3 27"
is "and all is as it was" "$(sums data)" "$(cat whole)"
before=$(stat -c %y data/train/0/img_00_of_30.npz)
touch -d '2001-01-01' data/train/0/img_00_of_30.npz
prepare >out 2>&1
is "a whole file is left alone" \
	"$(stat -c %y data/train/0/img_00_of_30.npz | cut -c1-10)" 2001-01-01
note "it was written at $before"

# ---- trusted
rm data/train/1/img_04_of_30.npz
exits "a training makes nothing that a complete manifest speaks of" 2 \
	train --epochs=1
like "so that a missing file is its error" "$(cat err)" \
	'^mlgen: data/train/1/img_04_of_30.npz: open: No such file or directory; the dataset was complete: --phase=prepare writes what is missing'
exits "readonly prepares nothing" 2 prepare --readonly
is "and says what is missing" "$(cat err)" \
	"mlgen: readonly: 1 of the 30 files of data are missing; write them once without --readonly (--phase=prepare)"
prepare >out 2>&1
exits "but is content with a complete one" 0 prepare --readonly

# ---- a part, and more
exits "fewer files than there are" 0 train --num_files=12
is "are a part of them" "$(json run.json jobs.0.dataset.files \
	jobs.0.dataset.files_named) $(ml run.json samples)" "12 30 12"
exits "more are another dataset" 2 train --num_files=31
is "which is refused with both numbers" "$(cat err)" \
	"mlgen: dataset data was made with num_files=30, the job says 31; use another directory, or --phase=prepare --replace to make it anew (deletes 30 files)"
for change in format=raw:npz sample_size=21k:20k samples_per_file=2:1 \
	subfolders=4:3; do
	option=${change%:*}
	exits "so is $option" 2 prepare --"$option"
	is "with both values for ${option%=*}" "$(cat err)" \
		"mlgen: dataset data was made with ${option%=*}=${change#*:}, the job says ${option#*=}; use another directory, or --phase=prepare --replace to make it anew (deletes 30 files)"
done
is "and all is as it was before" "$(sums data)" "$(cat whole)"

# ---- a taste, then more accelerators
scaled()
{
	rm -f run.json
	"$MLGEN" --name=x --directory=scaled --num_files=1000 --scale=1% \
		--sample_size=2k --batch_size=4 --quiet --json=run.json "$@"
}
exits "scale makes four batches for an accelerator" 0 scaled
is "which are 16 files" "$(json run.json jobs.0.dataset.files)" 16
exits "two accelerators have two batches each of these" 0 \
	scaled --accelerators=2
is "and read them" "$(json run.json jobs.0.dataset.files) $(ml run.json steps)" \
	"16 2"
is "which is told" "$(cat err)" \
	"mlgen: note: x: scaled has 16 files, which are read; for 2 accelerators scale=1% would create 32 files, in another directory"
scaled --accelerators=2 --dry-run >out 2>err
like "a dry run says the same" "$(cat out)" \
	'^epoch     16 / \(2 accelerators x batch 4\) = 2 steps'
exits "three have not" 2 scaled --accelerators=3
is "which is refused with those that have" "$(cat err)" \
	"mlgen: dataset scaled was made with num_files=16, the job says 48; --accelerators=2 needs only these, use another directory, or --phase=prepare --replace to make it anew (deletes 16 files)"
exits "a larger part is another dataset" 2 scaled --scale=2% --accelerators=2
like "for any number" "$(cat err)" \
	'num_files=16, the job says 32; use another directory, or'
exits "a search reads them, too" 0 scaled --accelerators=2 \
	--find-max=accelerators --require='steps>=1' --read_threads=1 \
	--compute_time=5ms
like "to the last batch" "$(cat out)" 'at least 4 '
exits "a preparation takes them" 0 scaled --accelerators=2 --phase=prepare
is "as they are" "$(written)" "0 16"
exits "unless it is to replace them" 0 scaled --accelerators=2 --phase=prepare \
	--replace
is "by its own" "$(written)" "32 0"
exits "and one accelerator reads a part of these" 0 scaled
is "as ever" "$(json run.json jobs.0.dataset.files)" 16
sed -i 's/"complete": true/"complete": false/' scaled/mlgen-dataset.json
exits "those of an interrupted preparation are not taken" 2 \
	scaled --accelerators=4
like "nor offered" "$(cat err)" 'num_files=32, the job says 64; use another'

# ---- replaced
echo mine >data/notes
echo mine >data/train/0/notes
exits "--replace without phase=prepare replaces nothing" 2 \
	train --format=raw --replace
is "at all" "$(sums data | grep -c npz)" 30
exits "--replace makes it anew" 0 \
	prepare --format=raw --num_files=8 --subfolders=0 --replace
is "with the new files" "$(find data -name '*.raw' | wc -l)" 8
is "without the old" "$(find data -name '*.npz' | wc -l)" 0
is "and with what was not its own" "$(cat data/notes data/train/0/notes)" "mine
mine"
exits "--replace of the same dataset" 0 \
	prepare --format=raw --num_files=8 --subfolders=0 --replace
is "is no reason to write" "$(written)" "0 8"
rm -rf data

# ---- what is not mlgen's
mkdir -p data/train/1
echo mine >data/train/1/img_04_of_30.npz
exits "a file in the way of a new dataset is an error" 2 prepare
like "that names the folder" "$(cat err)" '^mlgen: data: contains train, but no '
exits "with --replace too" 2 prepare --replace
is "and nothing was written or lost" \
	"$(find data -type f) $(cat data/train/1/*)" \
	"data/train/1/img_04_of_30.npz mine"
rm -rf data
prepare >out 2>&1
mkdir data/valid
mkdir data/valid/1
echo mine >data/valid/1/img_1_of_2.npz
exits "so is one in the way of files to evaluate with" 2 prepare --eval_files=2
is "that names it" "$(cat err)" \
	"mlgen: data/valid/1/img_1_of_2.npz: is in the way, and no mlgen-dataset.json shows that mlgen wrote it; use another directory, or remove the file"
is "... it stays" "$(cat data/valid/*/*)" mine
rm -r data/valid
echo mine >target
ln -s ../../target data/link
rm data/train/0/img_00_of_30.npz
ln -s "$T/target" data/train/0/img_00_of_30.npz
prepare >out 2>&1
is "a link is not written through" "$(cat target)" mine
rm data/link
is "but replaced" "$(sums data)" "$(cat whole)"
for broken in '{' '{}' '{ "version": 1 }' '[1, 2]' ''; do
	cp data/mlgen-dataset.json manifest
	echo "$broken" >data/mlgen-dataset.json
	exits "a manifest of '$broken' is refused" 2 prepare --replace
	like "by its name" "$(cat err)" '^mlgen: data/mlgen-dataset.json: '
	is "and everything kept" "$(find data -name '*.npz' | wc -l)" 30
	cp manifest data/mlgen-dataset.json
done
sed 's/"version": 1/"version": 9/' manifest >data/mlgen-dataset.json
exits "one of another version is" 2 prepare
is "told as such" "$(cat err)" \
	"mlgen: data/mlgen-dataset.json: version 9 was written by another version of mlgen, this mlgen reads version 1; use another directory, or the other mlgen"

# ---- two at once
rm -rf data
"$MLGEN" --name=x --format=npz --num_files=30 --sample_size=20k \
	--subfolders=3 --directory=data --phase=prepare >one 2>&1 &
prepare >two 2>&1
second=$?
wait $!
first=$?
# Either both came one after the other, or one was told about the other.
is "two that prepare one directory end well, or say what is in the way" \
	"$(printf '%s\n' "$first" "$second" | sort -n | paste -sd' ' - | sed 's/0 2/0 0/')" \
	"0 0"
is "in words" "$(grep -h '^mlgen:' one two |
	grep -v '^mlgen: data: another mlgen is preparing this directory; wait until it has finished$')" \
	""
is "and the dataset is whole" "$(sums data)" "$(cat whole)"

done_testing
