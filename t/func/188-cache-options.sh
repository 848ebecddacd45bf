#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 188-cache-options.sh - a cache tier's options: what is refused, in a run and a dry run alike, and what a dry run says.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# both TITLE REGEX OPTION...: the run ends with status 2 before it has made
# anything, and a dry run shows the same line as FAIL.
both()
{
	title=$1 regex=$2
	shift 2
	exits "$title: the run is refused" 2 train "$@" --quiet
	said=$(grep -v '^mlgen: \(note\|warning\): ' err)
	like "$title: in words" "$said" "^mlgen: $regex"
	not_ok "$title: nothing is made" test -e data/train
	exits "$title: a dry run shows it" 0 train "$@" --dry-run=show --json=plan.json
	is "$title: in the same words" \
		"mlgen: $(json plan.json jobs.0.plan.blockers.0.text)" "$said"
	like "$title: on its page, too" "$(tr -s ' \n' ' ' <out)" "FAIL $regex"
}

train()
{
	"$MLGEN" --name=train --directory=data --format=raw --num_files=20 \
		--sample_size=2k --cache=lru --cache_size=10% "$@"
}

# ---- its directory
mkdir -p elsewhere data
ln -s ../data elsewhere/link
both "a tier in the dataset, by a link" \
	'cache_directory: elsewhere/link/tier is in the dataset \(data\); name a separate directory' \
	--cache_directory=elsewhere/link/tier
both "a tier that is the dataset" \
	'cache_directory: elsewhere/link/ is the dataset \(data\)' \
	--cache_directory=elsewhere/link/
both "a tier around the dataset" "cache_directory: $T contains the dataset" \
	--cache_directory="$T"
exits "one beside it is taken" 0 train --cache_directory=data-tier --dry-run=show \
	--json=plan.json
is "without a word" "$(json plan.json jobs.0.plan.blockers.0.text)" absent
is "and nothing is made for it" "$(find . -name '*tier*')" ""

# ---- its room; a scan has the sizes of files that take no room
large()
{
	"$MLGEN" --name=large --directory=large --format=raw --dataset=scan \
		--cache=lru --cache_size=100% "$@"
}

mkdir large
for i in 1 2 3 4; do
	truncate -s 4t large/$i.raw 2>/dev/null || break
done
if [ -s large/4.raw ]; then
	for where in "--cache_directory=tier" "--cache_scope=host"; do
		exits "16 TiB are too much of $where" 2 large $where --quiet
		like "which is said" "$(cat err)" \
			'^mlgen: cache_size: the tier needs 16 TiB, but .* (has|is) [0-9.]+ .iB; lower cache_size, '
		exits "a dry run says so, too" 0 large $where --dry-run=show
		like "as FAIL" "$(tr -s ' \n' ' ' <out)" \
			'FAIL cache_size: the tier needs 16 TiB'
	done
	exits "one that is only played may be as large" 0 large \
		--cache_latency=1ms --dry-run=show
	unlike "as one likes" "$(cat out)" 'the tier needs'
else
	skip "a tier that is too large" "no file of 4 TiB can be made here"
fi

# ---- its pages: from a sample to a file
pages()
{
	train --cache_size=50% --samples_per_file=20 --num_files=4 \
		--cache_latency=1us --ioengine=null "$@"
}
for where in "" --dry-run=show; do
	exits "a page of one sample is taken${where:+, $where}" 0 pages $where \
		--cache_unit=page:2k
	exits "and one of a file" 0 pages $where --cache_unit=page:40k
done
for question in --quiet --miss-curve; do
	exits "one of less is refused, $question" 2 pages $question \
		--epochs=2 --cache_unit=page:2047
	like "saying what would be right" "$(cat err)" \
		'^mlgen: cache_unit: a page of 2047 bytes is smaller than one read of 2048 bytes; use a size from there to the 40960 bytes of a file, or sample$'
	exits "and one of more" 2 pages $question --epochs=2 \
		--cache_unit=page:40961
	like "the same" "$(cat err)" \
		'^mlgen: cache_unit: a page of 40961 bytes is larger than a file, which has 40960; use a size from 2048 to there, or file$'
	exits "of files that are read whole there are none" 2 pages $question \
		--epochs=2 --samples_per_file=1 --cache_unit=page:1m
	like "which says so" "$(cat err)" 'are read whole; use sample$'
done

# ---- what a dry run says of it
page()
{
	train "$@" --dry-run=show >out 2>err
	tr -s ' \n' ' ' <out | grep -o 'cache [a-z]*, .* for its bookkeeping'
}
is "a share of the dataset, what of it is a hit, and memory" \
	"$(page --cache=minio --cache_size=25%)" \
	"cache minio, 25.0% of the dataset, 10 KiB in memory 25.0% hits expected from epoch 2 on; $(page --cache=minio --cache_size=25% | grep -o '[0-9.]* [KM]*i*B of memory.*')"
like "of LRU hardly anything" "$(page --cache_size=25%)" \
	' 3\.4% hits expected from epoch 2 on;'
like "of random more" "$(page --cache=random --cache_size=50%)" \
	' 28\.1% hits expected'
unlike "of FIFO nobody knows" "$(page --cache=fifo)" expected
unlike "nor of another order" "$(page --shuffle=none)" expected
like "a number of samples" "$(page --cache_size='5 samples')" \
	'25\.0% of the dataset, 10 KiB \(5 samples\) in memory'
like "one that is larger fits" "$(page --cache_size=1g)" \
	'^cache lru, all of the dataset fits, 40 KiB in memory'
like "one that is played" "$(page --cache_bandwidth=1g)" \
	', which is only simulated'
like "one for each" "$(page --cache_scope=rank --accelerators=2)" \
	' in memory, for each accelerator'
like "one somewhere" "$(page --cache_directory=/mnt/nvme)" ' in /mnt/nvme '

# ---- what has no tier says nothing of one
exits "a run without" 0 train --cache=none --json=run.json --log=log.csv \
	--epochs=1
is "has none in its document" "$(json run.json jobs.0.cache)" absent
unlike "nor in its report" "$(cat out)" '^cache'
like "an option that counts for nothing is noted" "$(cat err)" \
	'note: cache_size: has an effect only with cache=POLICY'

# ---- MLPerf Storage
exits "a tier keeps no rules of MLPerf Storage" 0 "$MLGEN" unet3d.job \
	--cache=minio --cache_size=10% --check=mlperf-v2 --dry-run=show
like "by the name of a rule" "$(tr -s ' \n' ' ' <out)" \
	'cache BROKEN cache=minio is a cache of the benchmark.s own, which CLOSED does not allow: --cache=none'

exits "nor do epochs that have others in the place of some samples" 0 \
	"$MLGEN" unet3d.job --cache=minio --cache_size=10% \
	--cache_substitute=any --check=mlperf-v2 --dry-run=show
like "by the name of a rule" "$(tr -s ' \n' ' ' <out)" \
	'epochs BROKEN cache_substitute=any leaves samples out of epochs'

# ---- questions
# refused TITLE REGEX OPTION...
refused()
{
	title=$1 regex=$2
	shift 2
	exits "$title" 2 train --epochs=3 --compute_time=1ms "$@"
	like "$title: in words" "$(cat err)" "^mlgen: $regex"
}
refused "more and more of a tier is not asked" \
	'find-max=cache_size: a larger tier is never worse, .* --find-min=cache_size' \
	--find-max=cache_size
refused "least of anything else is not asked" \
	'find-min=accelerators: .*; for phase=train: cache_size' \
	--find-min=accelerators
refused "nor of no tier" 'find-min=cache_size: the job has no cache tier; .*cache=minio' \
	--cache=none --find-min=cache_size
refused "nor in one epoch" \
	'find-min=cache_size: a tier is empty in its first epoch; .*epochs=3' \
	--find-min=cache_size --epochs=1
refused "nor both at once" '.*find-m(ax|in).*' \
	--find-min=cache_size --find-max=accelerators

# ---- the least that is enough, where each is: down to 1 %
virtual_time
exits "the least tier is found" 0 "$MLGEN" --name=least --directory=least \
	--ioengine=null --format=raw --num_files=200 --sample_size=4k \
	--batch_size=20 --compute_time=20ms --epochs=3 --cache=minio \
	--cache_size=10% --find-min=cache_size --json=least.json
like "which is asked for" "$(cat out)" '^least: least cache_size with au >= 90$'
like "in percent" "$(cat out)" '^ full +100% .* pass'
like "and answered so" "$(cat out)" '^ANSWER +at most cache_size=1% '
is "and the document says which way" "$(json least.json find_max.smallest \
	find_max.answer find_max.probes.0.value find_max.probes.1.value |
	paste -sd' ')" "true 1 100 99"
done_testing
