#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 88-scaling.sh - what mlgen itself costs: one thread, two beside two processes, a thousand.

. "$(dirname "$0")/lib/figures.sh"
. "$(dirname "$0")/lib/plain.sh"

rounds=${ROUNDS:-9}	# the first of which does not count
seconds=${RUNTIME:-1}	# of each run
jobs=${JOBS:-1000}

job="--ioengine=null --rw=randread --bs=4k --size=1g --time_based
	--runtime=$seconds"

# shellcheck disable=SC2086 # options are words
two_processes()
{
	for i in 1 2; do
		"$MLGEN" --name=x $job --json="$T/$i.json" --quiet \
			>"$T/.out" 2>&1 </dev/null &
	done
	wait
	calc "$(json "$T/1.json" jobs.0.read.iops) + \
		$(json "$T/2.json" jobs.0.read.iops)" >>"$T/arm.$1"
}

# shellcheck disable=SC2086
null_round()
{
	mlgen_run one $job
	two_processes before
	mlgen_run threads $job --numjobs=2 --group_reporting
	two_processes after
	if command -v fio >/dev/null; then
		fio_run fio $job
	fi
}

# starts NAME OPTION...: the median of seven runs of one request a job, whole.
starts()
{
	starts_name=$1
	shift
	rm -f "$T/cost"
	for _ in 1 2 3 4 5 6 7; do
		measure "$T/cost" "$MLGEN" --name=x --rw=read --bs=4k \
			--size=4k --numjobs="$jobs" --group_reporting \
			--invalidate=0 --json="$T/run.json" --quiet "$@"
		[ "$(json "$T/run.json" jobs.0.read.total_ios)" = "$jobs" ] || {
			echo "not every job made its request" >&2
			exit 1
		}
	done
	at_most "start to end of $jobs jobs of one request, $starts_name: s" \
		"$(calc "$(column 1 "$T/cost" | median)")" "1 s"
}

rounds "$rounds" null_round
figure "null engine, one thread: ns of one request, mlgen" \
	"$(calc "1e9 / $(of one 1)")"
[ ! -f "$T/arm.fio" ] ||
	figure "null engine, one thread: ns of one request, fio" \
		"$(calc "1e9 / $(of fio 1)")"
figure "null engine, two processes: million IOPS" \
	"$(calc "$(of before after 1) / 1e6")"
figure "null engine, two processes after / before (noise)" \
	"$(ratio after before)"
figure "null engine, two threads: million IOPS" "$(calc "$(of threads 1) / 1e6")"
at_least "null engine: two threads / two processes" \
	"$(ratio threads before after)" 0.95

make_file "$T/file" 1
starts "null engine" --ioengine=null
starts psync --ioengine=psync --filename="$T/file"
starts "io_uring, depth 1" --ioengine=io_uring --iodepth=1 --filename="$T/file"
verdict
