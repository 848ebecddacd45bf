#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 75-ipv6.sh - hosts that have IPv6 alone run a job; those that cannot reach each other are refused at once, with what would be right.
# Sleeps: launchers take a second to start.
. "$(dirname "$0")/rig.sh"

hosts_up 3 six
cat >j.job <<'END'
[j]
format=raw
num_files=60
sample_size=4k
batch_size=1
compute_time=1ms
epochs=2
accelerators=1
directory=data
END
"$MLGEN" j.job --quiet >prepare.out 2>&1 || cat prepare.out

meets()
{
	launch "$1" 3 j.job --quiet
	is "$1: hosts that have IPv6 alone run a job" $? 0
	like "$1: all of them" "$(cat said)" '3 hosts, 3 accelerators'
	launch "$1" 3 j.job --quiet --barrier_over=mpi
	is "$1: through MPI, too" $? 0
	launch "$1" 3 j.job --peers_port=4711 --cache=lru --cache_scope=all --cache_size=1m \
		--json=all.json
	is "$1: and have one cache of all of them" $? 0
	ok "$1: whose hits come from each other" test "$(figure all.json cache.peer_hits)" -gt 0
	ip -n "mlh$$-2" -6 rule add pref 10 ipproto tcp dport 4721 prohibit
	launch "$1" 2 j.job --peers_port=4721 --quiet
	is "$1: a port that is blocked is refused" $? 2
	like "$1: with host, port and address" "$(cat said)" \
		'host h2 \(rank 1\): cannot reach rank 0 \(host h1\), port 4721: fd00:99:7::1: Permission denied;.*peers_port=.*barrier_over=mpi'
	ip -n "mlh$$-2" -6 rule del pref 10
}

# Under hydra alone from here on: Open MPI itself does not start on such hosts, and
# here MPI meets through memory.
crowded()
{
	[ "$1" = mpich ] || return 0
	export RIG_UCX=all
	for i in 1 2 3 4 5 6 7 8 9; do
		ip -n "mlh$$-1" link add "side$i" type bridge
		ip -n "mlh$$-1" addr add "198.51.100.$i/32" dev "side$i"
		ip -n "mlh$$-1" link set "side$i" up
	done
	launch "$1" 2 j.job --quiet
	is "$1: many addresses of IPv4 that lead nowhere leave room for one of IPv6" $? 0
	for i in 1 2 3 4 5 6 7 8 9; do
		ip -n "mlh$$-1" link del "side$i"
	done
}

lonely()
{
	[ "$1" = mpich ] || return 0
	for i in 1 2; do
		ip -n "mlh$$-$i" -6 addr del "fd00:99:7::$i/64" dev eth0
		launch "$1" 2 j.job --quiet
		is "$1: a host that has a link-local address alone is refused" $? 2
		like "$1: by name, with what it is to have" "$(cat said)" \
			"host h$i \(rank $((i - 1))\) has no address that other hosts can reach: .*link-local.*IPv4 address, or a global or unique local IPv6 address, or set barrier_over=mpi"
		is "$1: once" "$(grep -c 'link-local' said)" 1
		launch "$1" 2 j.job --quiet --barrier_over=mpi
		is "$1: but not with barrier_over=mpi" $? 0
		address "$i" six
	done
	for i in 1 2; do
		ip -n "mlh$$-$i" -6 addr del "fd00:99:7::$i/64" dev eth0
	done
	launch "$1" 2 j.job --quiet
	is "$1: nor do two of them meet" $? 2
	for i in 1 2; do
		address "$i" six
	done
}

apart()
{
	[ "$1" = mpich ] || return 0
	ip netns exec "mlh$$-2" sysctl -qw net.ipv6.conf.all.disable_ipv6=1
	address 2
	launch "$1" 2 j.job --quiet
	is "$1: one with IPv6 alone does not meet one with IPv4 alone" $? 2
	like "$1: both are named" "$(cat said)" \
		'host h2 \(rank 1\) has only IPv4 addresses, host h1 \(rank 0\) only IPv6: give both addresses of one family, or set barrier_over=mpi'
	# h1 has both: who does not meet is h2 and h3.
	address 1
	launch "$1" 3 j.job --quiet
	is "$1: a rank 0 with both meets either" $? 0
	launch "$1" 3 j.job --quiet --cache=lru --cache_scope=all --cache_size=1m
	is "$1: a cache of all of them is refused where two do not meet" $? 2
	like "$1: which are named" "$(cat said)" \
		'cache_scope=all: host h3 \(rank 2\) has only IPv6 addresses, host h2 \(rank 1\) only IPv4'
	ip netns exec "mlh$$-1" sysctl -qw net.ipv6.conf.all.disable_ipv6=1
	launch "$1" 2 j.job --quiet --cache=lru --cache_scope=all --cache_size=1m
	is "$1: hosts where IPv6 is switched off do with IPv4" $? 0
	ip -n "mlh$$-1" -4 addr flush dev eth0
	ip -n "mlh$$-2" -4 addr flush dev eth0
	launch "$1" 2 j.job --quiet
	is "$1: those without any address are refused" $? 2
	like "$1: in the same words" "$(cat said)" 'host h1 \(rank 0\) has no address that other hosts can reach'
}

for part in meets crowded lonely apart; do
	each_mpi "$part"
done
done_testing
