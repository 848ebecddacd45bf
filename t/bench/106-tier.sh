#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 106-tier.sh - what a played cache tier costs: samples of 1 ms, 16 loaders, beside the same job without it.

. "$(dirname "$0")/lib/figures.sh"

rounds=${ROUNDS:-7}	# the first of which does not count
seconds=${SECONDS_EACH:-4}

# Three operations a sample from storage, and one wait for a hit.
run()
{
	name=$1
	shift
	"$MLGEN" --name=j --directory="$T/none" --ioengine=null --format=raw \
		--num_files=6400 --sample_size=100k --shuffle=sample \
		--batch_size=64 --accelerators=1 --read_threads=16 \
		--time_based=1 --runtime="$seconds" --latency=333us \
		--quiet --json="$T/run.json" "$@" >"$T/.out" 2>&1 || {
		cat "$T/.out" >&2
		exit 1
	}
	json "$T/run.json" jobs.0.ml.samples_per_sec >>"$T/$name"
}

for n in $(seq "$rounds"); do
	[ "$n" -ne 2 ] || rm -f "$T/none1" "$T/none2" "$T/misses" "$T/hits"
	run none1
	run misses --cache=lru --cache_size=1% --cache_latency=1ms
	run hits --cache=lru --cache_size=100% --cache_latency=1ms
	run none2
done
before=$(median <"$T/none1") after=$(median <"$T/none2")
figure "without a cache, samples a second" "$before"
figure "without, after / before (noise)" "$(calc "$after / $before")"
at_least "all missed / without, samples a second" \
	"$(calc "$(median <"$T/misses") / ($before + $after) * 2")" 0.98
at_least "hits of the same time / without, samples a second" \
	"$(calc "$(median <"$T/hits") / ($before + $after) * 2")" 0.98
verdict
