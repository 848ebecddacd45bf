#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 20-death.sh - a process that dies, hangs or loses its cable is missed: the others end, and say which host it was.
# Sleeps: death is silence of 10 s.
. "$(dirname "$0")/rig.sh"
. "$TOP/t/func/runs.sh"

hosts_up 2
cat >j.job <<'END'
[j]
format=raw
num_files=400
sample_size=4k
batch_size=1
compute_time=10ms
time_based
runtime=60s
accelerators=1
ioengine=null
END

# Rank 0 has heard of steps, which both take together.
has_begun()
{
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step") c = i }
		NR > 1 && $c > 0 { steps++ } END { exit !steps }' l.csv 2>/dev/null
}

# begin MPI: a job of two, whose rank 1 is $pid; fails where there is none.
# ended TITLE SECONDS: it ends by itself before that.
begin()
{
	rm -f l.csv
	launch "$1" 2 j.job --log=l.csv --log_interval=200ms &
	job=$!
	poll has_begun
	pid=$(rank_pids | sed -n 's/^1 //p')
	ok "$1: a job has begun" test -n "$pid" || cat said
	[ -n "$pid" ]
}

ended()
{
	for _ in $(seq "$(($2 * 10))"); do
		[ -n "$(rank_pids | grep '^0')" ] || break
		sleep 0.1
	done
	is "$1" "$(rank_pids | grep -c '^0')" 0
	# What it said comes through the launcher, which, where its cable was
	# pulled, waits for ever.
	for _ in $(seq 40); do
		kill -0 "$job" 2>/dev/null || break
		sleep 0.1
	done
	for left in $(ip netns pids "mlh$$-1") $(ip netns pids "mlh$$-2"); do
		kill -9 "$left" 2>/dev/null
	done
	wait "$job" 2>/dev/null
}

killed()
{
	begin "$1" || return
	kill -9 "$pid"
	ended "$1: after kill -9 of rank 1 rank 0 ends" 5
	# hydra kills the others at once, and what they write may be lost.
	[ "$1" = mpich ] ||
		like "$1: it says who is gone, and what it did" "$(cat said)" \
			"host h2 \(rank 1\) was lost: its connection (was closed|broke).*; .*running its jobs, after [0-9]+ barriers"
	[ "$1" = mpich ] ||
		like "$1: and reports" "$(cat said)" "% AU"
	begin "$1" || return
	kill -STOP "$pid"
	ended "$1: a stopped rank 1 is missed after 10 s" 15
	like "$1: silence is told" "$(cat said)" \
		"host h2 \(rank 1\) was lost: it sent nothing for 10 s"
	like "$1: and reported is what was before" "$(cat said)" "% AU"
	begin "$1" || return
	cable 2 down
	ended "$1: a pulled cable is noticed" 20
	cable 2 up
	like "$1: the host behind it is named" "$(cat said)" \
		"host h2 \(rank 1\) was lost"
	begin "$1" || return
	kill -INT "$pid"
	ended "$1: interrupting one interrupts all" 5
	unlike "$1: which is no death" "$(cat said)" "was lost"
}
each_mpi killed
done_testing
