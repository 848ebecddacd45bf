#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 93-trace.sh - what --trace takes of the CPU of those who work, per operation.

. "$(dirname "$0")/lib/figures.sh"
. "$(dirname "$0")/lib/plain.sh"

rounds=${ROUNDS:-9}	# the first of which does not count
seconds=${SECONDS_EACH:-1}

# CPU of the job's threads, user and system, ns of one operation, of which a read
# stands for $each: usr_cpu and sys_cpu are percent of the whole time of the job.
# The writer's is apart.
trace_run()
{
	trace_arm=$1
	shift
	"$MLGEN" --name=x --time_based --ceiling=no --invalidate=0 \
		--runtime="${seconds}s" --quiet --json="$T/run.json" "$@" \
		>"$T/.out" 2>&1 || grep -q 'is not complete' "$T/.out" || {
		cat "$T/.out" >&2
		exit 1
	}
	json "$T/run.json" jobs.0.usr_cpu jobs.0.sys_cpu \
		jobs.0.read.total_ios jobs.0.job_runtime trace.cpu_ns \
		trace.lost trace.records trace.bytes |
		awk -v each="$each" '{ all = $7 + $6
			print ($1 + $2) / 100 * $4 * 1e6 / $3 / each, \
			($5 == "absent" || !all) ? 0 : $5 / all, \
			($6 == "absent" || !all) ? 0 : 100 * $6 / all, \
			($8 == "absent" || !$7) ? 0 : $8 / $7 }' \
			>>"$T/arm.$trace_arm"
}

# Off, on, off: what the machine does meanwhile, it does to both.
round()
{
	trace_run before "$@"
	trace_run on "$@" --trace="$T/x.trace"
	trace_run after "$@"
}

compare()
{
	rm -f "$T"/arm.*
	compare_name=$1
	shift
	rounds "$rounds" round "$@"
	off=$(of before after 1)
	on=$(of on 1)
	figure "$compare_name: CPU of an operation without a trace, ns" "$off"
	figure "$compare_name: with one, ns" "$on"
	figure "$compare_name, after / before (noise)" "$(ratio after before)"
	at_most "$compare_name: workers' CPU for the trace, ns an operation" \
		"$(calc "$on - $off")" 100
	figure "$compare_name: CPU of the thread that writes, ns a record" \
		"$(of on 2)"
	figure "$compare_name: bytes of a record" "$(of on 4)"
	figure "$compare_name: lost, %" "$(of on 3)"
}

make_file "$T/file" 64
each=1
compare "4 KiB reads, psync" --rw=randread --bs=4k --ioengine=psync \
	--filename="$T/file" --size=64m
# With the paths of its files, a mark for each sample, and a thread that
# computes nothing: each read is an open and a close, too.
each=3
compare "whole files of 20 KiB, psync" --directory="$T/d" --format=raw \
	--num_files=2000 --sample_size=20k --batch_size=16 --access=plain \
	--ioengine=psync
rm -rf "${T:?}/d"
verdict
