#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 51-threads.sh - how many threads a run has, and on which CPUs they may run.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

job="--name=x --ioengine=null --num_files=40 --sample_size=1k --compute_time=2ms
	--epochs=1000000 --accelerators=3 --read_threads=5 --log=log.csv
	--log_interval=10ms"

# under_way OPTION...
under_way()
{
	rm -f log.csv
	# shellcheck disable=SC2086 # several options
	background "$MLGEN" $job "$@"
	poll grep -qsE ',train,([2-9]|[1-9][0-9])' log.csv
}

stop()
{
	kill -INT "$pid"
	finish
	is "$1: and it ends" "$status" 130
}

under_way
# One that waits for signals, one that conducts, one that waits for the job;
# sanitizers have their own.
if [ -z "${SANITIZE-}" ]; then
	is "an accelerator has a thread, and each of its readers" \
		"$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)" \
		$((3 + 3 * (1 + 5)))
else
	skip "an accelerator has a thread, and each of its readers" \
		"sanitizers have threads of their own"
fi
stop "a run without end"

allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
cpu=${allowed%%[-,]*}
on_one()
{
	grep -h '^Cpus_allowed_list:' /proc/"$pid"/task/*/status |
		grep -c "[[:space:]]$cpu\$"
}
if [ "$cpu" = "$allowed" ]; then
	skip "cpus_allowed binds threads" "there is one CPU only"
else
	under_way
	is "threads run on any CPU" "$(on_one)" 0
	stop "a run on any CPU"
	under_way --cpus_allowed="$cpu"
	ok "cpus_allowed binds those of the job" test "$(on_one)" -ge 18
	stop "a run on one CPU"
fi

done_testing
