#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 70-bad.sh - hosts that differ, and networks that do not let them talk, are named; what can go on goes on.
# Sleeps: launchers, and ranks that wait for one that does not come.
. "$(dirname "$0")/rig.sh"
. "$TOP/t/func/runs.sh"

hosts_up 4
cat >j.job <<'END'
[j]
format=raw
num_files=60
sample_size=4k
batch_size=1
compute_time=1ms
epochs=1
accelerators=1
directory=data
END
"$MLGEN" j.job --quiet >prepare.out 2>&1 || cat prepare.out

# In the case of refusal: Open MPI ends what is left at once.
# shellcheck disable=SC2034 # for launch
fast()
{
	MPI_ARGS=
	[ "$1" != openmpi ] || MPI_ARGS="--mca odls_base_sigkill_timeout 0"
}

jobs()
{
	fast "$1"
	special 2 'cd / && exec "$@"'
	launch "$1" 2 j.job --quiet
	is "$1: a job file that one host has not is refused" $? 2
	like "$1: and the host named" "$(cat said)" 'host h2 \(rank 1\): j.job: no such job file'
	special 2 'sed s/num_files=60/num_files=61/ j.job >k.job; shift 2; exec "$MLGEN" k.job "$@"'
	export MLGEN
	launch "$1" 2 j.job --quiet
	is "$1: so is one that has another data set in it" $? 2
	like "$1: option and values are named" "$(cat said)" \
		'host h2 \(rank 1\): its job has num_files=61, but the job of host h1 \(rank 0\) has num_files=60'
	special 2
	launch "$1" 4 j.job --num_files=3 --directory=few
	is "$1: more hosts than files are refused" $? 2
	like "$1: with what is missing" "$(cat said)" 'accelerators: 4 need at least .* the dataset has 3'
	is "$1: once" "$(grep -c 'accelerators: 4' said)" 1
}

directories()
{
	fast "$1"
	special 2 'exec unshare -m sh -c "mount --bind data data && mount -o remount,bind,ro data && exec \"\$@\"" sh "$@"'
	launch "$1" 2 j.job --quiet
	is "$1: a host that may only read takes part where nothing is missing" $? 0
	rm -rf ro
	mkdir ro
	special 2 'exec unshare -m sh -c "mount --bind ro ro && mount -o remount,bind,ro ro && exec \"\$@\"" sh "$@"'
	launch "$1" 2 j.job --directory=ro --quiet
	is "$1: where its share is, the run ends" $? 1
	like "$1: and the host is named" "$(cat said)" 'host h2 \(rank 1\): ro/.*Read-only file system'
	# Each has a data set of its own, which was made by another job.
	rm -rf own
	mkdir own
	special 2 'mkdir -p own2 && exec unshare -m sh -c "mount --bind own2 own && exec \"\$@\"" sh "$@"'
	"$MLGEN" j.job --sample_size=8k --directory=own2 --quiet >prepare.out 2>&1
	launch "$1" 2 j.job --directory=own --shared=0 --quiet
	ok "$1: a data set that another job made ends the run" test $? -ne 0
	like "$1: host and data set are named, and what it was made with" "$(cat said)" \
		'host h2 \(rank 1\): dataset own was made with sample_size=8k, the job says 4k'
	special 2
	rm -rf own own2
}

ports()
{
	fast "$1"
	ip -n "mlh$$-2" rule add pref 10 ipproto tcp dport 4711 prohibit
	launch "$1" 2 j.job --peers_port=4711 --quiet
	is "$1: a port that is blocked is refused" $? 2
	like "$1: host, port and address are named, and the options" "$(cat said)" \
		'host h2 \(rank 1\): cannot reach rank 0 \(host h1\), port 4711: 10\.99\.7\.1: Permission denied;.*peers_port=.*barrier_over=mpi'
	launch "$1" 2 j.job --peers_port=4712 --quiet
	is "$1: another port is another matter" $? 0
	# Of IPv4 that port is blocked; what h1 has on a bridge leads nowhere.
	for i in 1 2; do
		ip netns exec "mlh$$-$i" sysctl -qw net.ipv6.conf.all.disable_ipv6=0 >sysctl.out 2>&1
		ip -n "mlh$$-$i" -6 addr add "fd00:7::$i/64" dev eth0 nodad 2>six.out
	done
	ip -n "mlh$$-1" link add name side type bridge
	ip -n "mlh$$-1" addr add 198.51.100.1/24 dev side
	ip -n "mlh$$-1" link set side up
	if [ -s six.out ]; then
		skip "$1: IPv6 is enough" "no IPv6 here"
	else
		launch "$1" 2 j.job --peers_port=4711 --quiet
		is "$1: IPv6 is enough, and an address without a route is passed over" $? 0
	fi
	ip -n "mlh$$-1" link del side
	for i in 1 2; do
		ip -n "mlh$$-$i" -6 addr del "fd00:7::$i/64" dev eth0 2>/dev/null
	done
	ip -n "mlh$$-2" rule del pref 10
	# Two at once, of one directory, at ports of the system.
	launch "$1" 2 j.job --quiet --runtime=1 --time_based &
	first=$!
	# shellcheck disable=SC2046 # words
	on_host 1 $(launcher "$1" 2) "$MLGEN" j.job --quiet >said2 2>&1 </dev/null
	is "$1: two jobs at once on the same hosts" $? 0
	wait "$first"
	is "$1: do not meet" $? 0
}

differing()
{
	fast "$1"
	special 2 'if [ "$(hostname)" = h2 ]; then
		python3 -c "import socket; socket.sethostname(str())"; fi; exec "$@"'
	launch "$1" 2 j.job --quiet
	is "$1: a host without a name takes part" $? 0
	like "$1: as another one" "$(cat said)" '2 hosts, 2 accelerators'
	if command -v faketime >/dev/null; then
		special 2 'export FAKETIME_DONT_FAKE_MONOTONIC=1; exec faketime -f +1h "$@"'
		launch "$1" 2 j.job --json=c.json
		is "$1: a clock that is an hour ahead changes nothing" $? 0
		like "$1: and is measured" "$(grep clock_offset_ns c.json)" ': (3600000|3599999)[0-9]{6}\.'
		like "$1: the runs were at the same time" "$(cat said)" 'one job: rates'
	else
		skip "$1: a clock that is an hour ahead" "there is no faketime (Debian faketime)"
	fi
	special 2 'sed "s/^MemTotal:.*/MemTotal: 104857600 kB/" /proc/meminfo >mem
		exec unshare -m sh -c "mount --bind mem /proc/meminfo && exec \"\$@\"" sh "$@"'
	launch "$1" 2 j.job --dry-run
	own=$(awk '/^MemTotal/ { print $2 }' /proc/meminfo)
	like "$1: memory is that of both" "$(cat said)" \
		"memory of all hosts $(echo "$own" | awk '{ printf "%d\n", ($1 + 104857600) / 1048576 }')[.0-9]* GiB"
	# The commit is part of the version.
	mkdir -p other/build
	commit=$("$MLGEN" --version | sed -n 's/.*(commit \([0-9a-f]*\).*/\1/p' | head -n 1)
	LC_ALL=C sed "s/$commit/$(echo "$commit" | tr 0-9a-f 1-9a-f0)/g" "$MLGEN" >other/mlgen
	chmod +x other/mlgen
	cp "$BUILT"/build/mlgen-mpi-*.so other/build
	special 2 'shift; exec ./other/mlgen "$@"'
	launch "$1" 2 j.job --quiet
	is "$1: another version on one host is refused" $? 2
	like "$1: and both are named" "$(cat said)" 'host h2 \(rank 1\) has mlgen .*, host h1 \(rank 0\) has mlgen .*: use the same version'
	is "$1: once" "$(grep -c 'use the same version' said)" 1
	special 2
}

# A plugin that belongs to another launcher: its library knows of no others.
wrong()
{
	other=mpich
	[ "$1" != mpich ] || other=openmpi
	[ -f "$BUILT/build/mlgen-mpi-$other.so" ] || return 0
	fast "$1"
	mkdir -p wrong/build
	cp "$MLGEN" wrong/mlgen
	cp "$BUILT/build/mlgen-mpi-$other.so" "wrong/build/mlgen-mpi-$1.so"
	own=$MLGEN MLGEN=$T/wrong/mlgen
	launch "$1" 2 j.job
	is "$1: a launcher that the library does not know is refused" $? 2
	MLGEN=$own
	like "$1: both are named" "$(cat said)" \
		'mpirun of .* started 2 processes .* the library of .* sees rank 0 of 1'
	[ "$1" != openmpi ] || like "$1: and what its mpirun asks of root" \
		"$(cat said)" 'openmpi\.so, as root with --allow-run-as-root'
}

# A process that ends by itself, without a word to MPI.
left()
{
	fast none
	special 2 'sh -c "\"\$@\" & echo \$! >pid; wait; exit 7" sh "$@"'
	launch "$1" 2 j.job --time_based --runtime=60 &
	job=$!
	poll test -s pid
	sleep 1
	kill -9 "$(cat pid)"
	wait "$job"
	ok "$1: a rank that has ended ends the job, which fails" test $? -ne 0
	is "$1: and no process is left" "$(rank_pids | wc -l)" 0
	[ "$1" = mpich ] ||
		like "$1: the host is named" "$(cat said)" 'host h2 \(rank 1\) was lost'
	rm -f pid
	special 2
}
for part in jobs directories ports differing wrong left; do
	each_mpi "$part"
done
done_testing
