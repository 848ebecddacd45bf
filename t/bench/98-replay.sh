#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 98-replay.sh - 4 KiB random reads from the page cache, replayed, beside the plain job that was traced; memory of many threads, and of many operations.

. "$(dirname "$0")/lib/figures.sh"
. "$(dirname "$0")/lib/plain.sh"

rounds=${ROUNDS:-7}	# the first of which does not count
mib=${MIB:-1024}

# io NAME: reads per second of the last run, into a file of that name.
io()
{
	awk -v ios="$(json "$T/run.json" jobs.0.read.total_ios)" \
		-v s="$(json "$T/run.json" jobs.0.io.wall_seconds)" \
		'BEGIN { printf "%.0f\n", ios / s }' >>"$T/$1"
}

run()
{
	"$MLGEN" "$@" --invalidate=0 --quiet --json="$T/run.json" \
		>"$T/.out" 2>&1 || {
		cat "$T/.out" >&2
		exit 1
	}
}

plain()
{
	resident "$T/file"
	# shellcheck disable=SC2086
	run $job
	io "$1"
}

replay()
{
	resident "$own"
	# shellcheck disable=SC2086
	run --name=again --replay_trace="$T/trace.mlt" --directory="$T/own" \
		--replay_time=asap $engine
	io replay
}

compare()
{
	engine=$1
	job="--name=plain --filename=$T/file --rw=randread --bs=4k --size=${mib}m
		$engine"
	rm -f "$T/before" "$T/after" "$T/replay" "$T/trace.mlt"
	# shellcheck disable=SC2086
	run $job --trace="$T/trace.mlt"
	# shellcheck disable=SC2086
	run --name=again --replay_trace="$T/trace.mlt" --directory="$T/own" \
		--replay_time=asap $engine
	own=$(find "$T/own" -type f -size +1M)
	for n in $(seq "$rounds"); do
		[ "$n" -ne 2 ] || rm -f "$T/before" "$T/after" "$T/replay"
		plain before
		replay
		plain after
	done
	before=$(median <"$T/before") after=$(median <"$T/after")
	figure "$engine: plain, reads a second" "$before"
	figure "$engine: plain after / plain before (noise)" \
		"$(calc "$after / $before")"
	at_least "$engine: replayed / plain, reads a second" \
		"$(calc "$(median <"$T/replay") / ($before + $after) * 2")" 0.8
}

compare --ioengine=psync
compare "--ioengine=io_uring --iodepth=32"

# 256 threads, each with files of its own.
mkdir "$T/many"
run --name=many --directory="$T/many" --rw=randread --bs=64k --size=1m \
	--numjobs=256 --group_reporting=1 --trace="$T/many.mlt"
rm -rf "$T/many"
measure "$T/rss" "$MLGEN" --name=again --replay_trace="$T/many.mlt" \
	--directory="$T/many-again" --replay_time=asap --quiet
measure "$T/rss" "$MLGEN" --name=again --replay_trace="$T/many.mlt" \
	--directory="$T/many-again" --replay_time=asap --quiet
at_most "256 threads: MiB resident" "$(tail -n 1 "$T/rss" | column 3 -)" 64

# Ten million operations on one file of 64 MiB: the whole of reading, sorting
# and replaying the trace. With pauses, so that none of them is too fast to be traced.
run --name=long --filename="$T/long" --rw=randread --bs=4k --size=64m \
	--loops="${LOOPS:-640}" --thinktime=1ms --thinktime_blocks=512 \
	--ioengine=null --trace="$T/long.mlt"
long()
{
	measure "$T/rss" "$MLGEN" --name=again --replay_trace="$T/long.mlt" \
		--directory="$T/long-again" --replay_time=asap --quiet \
		--json="$T/run.json" "$@"
	figure "10^7 operations, $*: seconds in all" \
		"$(tail -n 1 "$T/rss" | column 1 -)"
	at_most "10^7 operations, $*: MiB resident" \
		"$(tail -n 1 "$T/rss" | column 3 -)" 64
}
long --ioengine=null --dry-run
long --ioengine=null
# Its file is made, and read into the page cache.
long --ioengine=psync --invalidate=0
figure "10^7 operations: done, millions" \
	"$(calc "$(json "$T/run.json" jobs.0.io.replay.done_operations) / 1e6")"
verdict
