#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 33-memory.sh - memory_limit= and drop_caches= of two processes on each of two hosts: they share what a host may take, and start with nothing in its cache.
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

each_mpi dropped_once
if can --memory_limit=700m; then
	each_mpi limited
fi
if can --drop_caches=run; then
	each_mpi dropped
fi
done_testing
