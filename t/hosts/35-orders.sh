#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 35-orders.sh - orders that follow from losses, or from what caches have, are those of one process with as many accelerators.
# Sleeps: launchers take a second to start.
. "$(dirname "$0")/rig.sh"
. "$TOP/t/func/runs.sh"
. "$TOP/t/hosts/same.sh"

hosts_up 3
same_job 4

# hits FILE: what its caches did.
hits()
{
	json "$1" jobs.0.cache.accesses jobs.0.cache.hits jobs.0.cache.misses \
		jobs.0.cache.substitutions jobs.0.cache.evictions
}

same_hits()
{
	same "$@"
	is "$1: and hit what it hits" "$(hits all.json)" "$(hits one.json)"
	unlike "$1: which is known" "$(hits one.json)" absent
	ok "$1: and some" test "$(json one.json jobs.0.cache.hits)" -gt 20
}

as_one()
{
	same "$1" 2 2 --shuffle=importance
	same "$1" 3 1 --shuffle=importance --importance_mode=relaxed --drop_last=0
	same "$1" 3 2 --shuffle=importance --barrier=none \
		--eval_files=9 --eval_every=2 --checkpoint_every=1epoch --checkpoint_size=64k
	set -- "$1" --cache_size=10% --cache_scope=rank --cache_latency=1us
	mpi=$1
	shift
	same_hits "$mpi" 2 2 "$@" --shuffle=importance --cache=importance --barrier=epoch
	same_hits "$mpi" 3 1 "$@" --shuffle=importance --cache=minio --cache_substitute=any
	same_hits "$mpi" 3 2 "$@" --shuffle=sample --cache=lru --cache_hits_first=1
	same_hits "$mpi" 2 2 "$@" --shuffle=weighted:uniform:1:3 --cache=lru --cache_hits_first=1
	# One cache of all, whose decisions all processes make.
	set -- --cache_size=10% --cache_scope=all --cache_latency=1us
	same_hits "$mpi" 2 2 "$@" --shuffle=importance --cache=importance --barrier=epoch
	same_hits "$mpi" 3 1 "$@" --shuffle=importance --cache=minio --cache_substitute=any
	same_hits "$mpi" 3 2 "$@" --shuffle=sample --cache=lru --cache_hits_first=1
}
each_mpi as_one

# Of a host's cache there are as many as processes: what one process does is not
# the same, but each sample is read once an epoch, which mlgen checks, too.
of_hosts()
{
	rm -f ./*.mlt ./*.json
	launch "$1" 3 j.job --accelerators=1 --quiet --trace=all.mlt --json=all.json \
		--cache=lru --cache_size=20% --cache_latency=1us --cache_hits_first=1
	is "$1: what the cache of each process has comes first" $? 0
	is "$1: and each sample is read once an epoch, but for the last batch" \
		"$(orders all.*.mlt | wc -l) $(json all.json jobs.0.ml.samples)" "1152 1152"
	is "$1: all accesses are hits or misses" "$(json all.json jobs.0.cache.accesses)" \
		$(($(json all.json jobs.0.cache.hits) + $(json all.json jobs.0.cache.misses)))
	ok "$1: hits among them" test "$(json all.json jobs.0.cache.hits)" -gt 100
}
each_mpi of_hosts

# An order of 200,000 is drawn, and told of, longer than it is read.
cat >long.job <<'END'
[j]
ioengine=null
format=raw
num_files=200k
sample_size=4k
batch_size=500
compute_time=0
epochs=1000
shuffle=importance
END

# In a job that is given up after a second.
begin()
{
	launch "$1" 3 long.job &
	job=$!
	for _ in $(seq 100); do
		pid=$(rank_pids | sed -n "s/^$2 //p")
		[ -z "$pid" ] || [ "$(ls "/proc/$pid/task" | wc -l)" -lt 5 ] || break
		sleep 0.1
	done
	sleep 1
}

# ended TITLE SECONDS
ended()
{
	for _ in $(seq "$(($2 * 10))"); do
		kill -0 "$job" 2>/dev/null || break
		sleep 0.1
	done
	ok "$1" sh -c "! kill -0 $job 2>/dev/null"
	for rig_i in 1 2 3; do
		for left in $(ip netns pids "mlh$$-$rig_i"); do
			kill -9 "$left" 2>/dev/null
		done
	done
	wait "$job" 2>/dev/null
}

given_up()
{
	for rank in 0 2; do
		begin "$1" $rank
		kill -INT "$pid"
		ended "$1: interrupted at rank $rank all end" 5
		like "$1: with a report" "$(cat said)" '3 hosts, 3 accelerators'
		unlike "$1: and nobody is missed" "$(cat said)" 'was lost|did not end'
		begin "$1" $rank
		kill -9 "$pid"
		ended "$1: after the death of rank $rank all end" 5
	done
}
each_mpi given_up

done_testing
