#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 33-memory.sh - memory_limit= and drop_caches= of two processes on each of two hosts: they share what a host may take, and start with nothing in its cache.
# On disk: direct=1 is tried, or what a page cache and a disk do.
# Sleeps: launchers take a second to start.
. "$(dirname "$0")/rig.sh"
. "$TOP/t/func/runs.sh"

hosts_up 2
cat >j.job <<'END'
[j]
format=raw
num_files=64
sample_size=16k
batch_size=2
compute_time=20ms
epochs=3
accelerators=1
directory=data
END
# ip netns hides the control groups; these see those of the machine again.
cat >outside.sh <<END
#!/bin/sh
exec nsenter --mount=/proc/$$/ns/mnt --wd="\$PWD" "$MLGEN" "\$@"
END
chmod +x outside.sh
mlgen=$MLGEN

# What is no test where it cannot be had.
can()
{
	"$MLGEN" j.job --quiet "$1" >can 2>&1 && return
	skip "$1" "$(grep '^mlgen' can)"
	return 1
}

# limits: of the memory groups that the processes of the rig are in, each with its group.
limits()
{
	for pid in $(rank_pids | cut -d ' ' -f 2); do
		group=$(sed -n 's/^[0-9]*:memory:\(.*mlgen.*\)/memory\1/p; s/^0::\(.*mlgen.*\)/\1/p' \
			"/proc/$pid/cgroup" 2>/dev/null | head -n 1)
		for file in memory.max memory.limit_in_bytes; do
			[ -z "$group" ] || cat "/sys/fs/cgroup/$group/$file" 2>/dev/null |
				sed "s,\$, $group,"
		done
	done
}

all_are_limited()
{
	limits >groups
	[ "$(wc -l <groups)" -eq 4 ]
}

limited()
{
	MLGEN=$T/outside.sh
	launch "$1" 4 j.job --memory_limit=700m --json=all.json --epochs=20 &
	launched=$!
	MLGEN=$mlgen
	poll all_are_limited
	wait "$launched"
	is "$1: two hosts with memory_limit end well" $? 0
	is "$1: each process has half of it" "$(cut -d ' ' -f 1 groups | sort -u)" 367001600
	is "$1: in a group of its own" "$(cut -d ' ' -f 2 groups | sort -u | wc -l)" 4
	is "$1: which goes with it" "$(cut -d ' ' -f 2 groups |
		while read -r group; do ls -d "/sys/fs/cgroup/$group" 2>/dev/null; done)" ""
	is "$1: a host has all of it" \
		"$(sed -n 's/^ *"memory_limit_bytes": \([0-9]*\),/\1/p' all.json)" 734003200
}

dropped()
{
	MLGEN=$T/outside.sh
	launch "$1" 4 j.job --drop_caches=run --json=all.json
	dropped_status=$?
	MLGEN=$mlgen
	is "$1: two hosts empty their caches" $dropped_status 0
	is "$1: and say so" "$(figure all.json storage.caches_dropped)" true
}

# Of each host a pipe stands for what empties its caches: what has come there is
# what was asked of its kernel.
dropped_once()
{
	for i in 1 2; do
		[ -p "pipe$i" ] || mkfifo "pipe$i"
	done
	# So that writing waits for no reader.
	exec 7<>pipe1 8<>pipe2
	cat >pipes.sh <<END
#!/bin/sh
exec unshare -m sh -c 'mount --bind "\$0" /proc/sys/vm/drop_caches && exec "\$@"' \
	"$T/pipe\$(hostname | tr -d h)" "$MLGEN" "\$@"
END
	chmod +x pipes.sh
	unshare -m true 2>/dev/null || { skip "$1: what empties caches" "no mounts here"; return; }
	for how in run:1 epoch:3; do
		MLGEN=$T/pipes.sh
		launch "$1" 4 j.job --drop_caches="${how%:*}" --quiet
		dropped_status=$?
		MLGEN=$mlgen
		is "$1: two processes on each of two hosts, drop_caches=${how%:*}" \
			$dropped_status 0
		for i in 1 2; do
			echo end >"pipe$i"
			is "$1: host $i has emptied its caches ${how#*:} times" \
				"$(sed '/^end$/q' <"pipe$i" | grep -c '^3$')" "${how#*:}"
		done
	done
	exec 7<&- 8<&-
}

# together MPI: ARG... are two processes on each host, which h2 has too little for.
together()
{
	together_mpi=$1
	shift
	launch "$together_mpi" 4 j.job --sample_size=1m --read_threads=64 "$@"
}

fit_alone()
{
	unshare -m true 2>/dev/null || { skip "$1: a host with little memory" "no mounts here"; return; }
	# A process takes some 100 MiB.
	special 2 'sed "s/^MemAvailable:.*/MemAvailable: 153600 kB/" /proc/meminfo >mem
		exec unshare -m sh -c "mount --bind mem /proc/meminfo && exec \"\$@\"" sh "$@"'
	together "$1" --directory=big
	is "$1: processes that fit alone, but not together, are refused" $? 2
	like "$1: with host, sum and way out" "$(cat said)" \
		'memory: host h2: j \(read_threads=64\) needs about (1[89]|20)[0-9][0-9.]* MiB in 2 processes together, but this host has 150 MiB available; lower .*, start fewer processes on it, or allow more memory'
	is "$1: once" "$(grep -c 'processes together' said)" 1
	ok "$1: before anything is written" test ! -e big
	together "$1" --directory=big --dry-run --json=all.json
	is "$1: a dry run ends well" $? 0
	like "$1: and says FAIL" "$(tr -s ' \n' ' ' <said)" 'FAIL memory: host h2: .* in 2 processes together'
	like "$1: a blocker" "$(json all.json jobs.0.plan.blockers.0.text)" '^memory: host h2: '
	launch "$1" 2 j.job --sample_size=1m --read_threads=64 --directory=big \
		--dry-run
	is "$1: one process on each host is none" "$(grep -c FAIL said)" 0
	special 2
}

# own_group: where a memory group below that of this script would be; not below one
# whose limit somebody else minds.
own_group()
{
	sed -n 's,^[0-9]*:memory:\(.*\),/sys/fs/cgroup/memory\1/mlgen-test-'$$',p' /proc/self/cgroup |
		grep . || sed -n 's,^0::\(.*\),/sys/fs/cgroup\1/mlgen-test-'$$',p' /proc/self/cgroup
}

in_a_group()
{
	group=$(own_group)
	limit=$group/memory.limit_in_bytes
	mkdir "$group" 2>/dev/null
	[ -f "$limit" ] || limit=$group/memory.max
	if ! echo 157286400 2>/dev/null >"$limit"; then
		rmdir "$group" 2>/dev/null
		skip "$1: a control group of two processes" "none can be made here"
		return
	fi
	special 2 "nsenter --mount=/proc/$$/ns/mnt sh -c 'echo \$PPID >$group/cgroup.procs'
		exec \"\$@\""
	MLGEN=$T/outside.sh
	together "$1" --directory=big
	together_status=$?
	MLGEN=$mlgen
	is "$1: processes that fit into their control group alone, but not together, are refused" \
		$together_status 2
	like "$1: and the group is named" "$(cat said)" \
		"in 2 processes together, but the control group .*/mlgen-test-$$ leaves .* of its 150 MiB"
	special 2
	poll rmdir "$group"
}

each_mpi dropped_once
each_mpi fit_alone
each_mpi in_a_group
# Half of it is a process's.
part_of_limit()
{
	MLGEN=$T/outside.sh
	together "$1" --directory=big --memory_limit=150m
	together_status=$?
	MLGEN=$mlgen
	is "$1: a limit whose half is too little for a process is refused" $together_status 2
	like "$1: with the least that works for both" "$(cat said)" \
		'memory_limit: 150 MiB is too little: j .* needs about (9|10)[0-9.]* MiB, in each of 2 processes on this host; memory_limit=(1[89]|20)[0-9]MiB is the least that works'
}

if can --memory_limit=700m; then
	each_mpi limited
	each_mpi part_of_limit
fi
if can --drop_caches=run; then
	each_mpi dropped
fi
done_testing
