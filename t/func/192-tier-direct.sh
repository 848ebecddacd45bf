#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 192-tier-direct.sh - a cache tier in a directory that is written and read past the page cache.
# On disk: direct=1 is tried, which files in memory do not have.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

tier=$T/tier

# run OPTION...
run()
{
	rm -f "$T/run.json"
	"$MLGEN" --name=j --directory="$T/data" --format=npz --num_files=200 \
		--sample_size=20k --epochs=3 --batch_size=4 --accelerators=2 \
		--read_threads=2 --shuffle=sample --json="$T/run.json" --quiet \
		"$@" >"$T/out" 2>"$T/err" || note "$(cat "$T/err")"
}

run --ioengine=io_uring --loader=plain --iodepth=8 --direct=1 --cache=lru \
	--cache_size=50% --cache_directory="$tier" --cache_verify=1
is "several at a time, direct: what is kept is what was read" \
	"$(json "$T/run.json" jobs.0.read.total_ios)" 600

for layout in slab files; do
	run --directory="$T/pages" --format=raw --num_files=10 \
		--samples_per_file=20 --cache=lru \
		--cache_size=50% --cache_directory="$tier" --cache_verify=1 \
		--cache_layout=$layout --cache_unit=page:60k --direct=1
	is "$layout: a page is written as one, and a sample of it is read" \
		"$(json "$T/run.json" jobs.0.cache.wrong jobs.0.cache.late_hits \
			jobs.0.cache.fills jobs.0.cache.misses |
			awk '{ print $1, ($3 + $2 >= $4), ($4 < 500) }')" "0 1 1"
done
for percent in 50 100; do
	run --directory="$T/small" --format=raw --sample_size=700 --cache=minio \
		--cache_size=$percent% --direct=1
	is "samples that are less than a block: $percent% of them are kept" \
		"$(json "$T/run.json" jobs.0.cache.hits)" $((400 * percent / 100))
done
done_testing
