#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 60-delay.sh - a network that is a millisecond late is seen as what hosts wait for each other, and in AU.
# Sleeps: launchers, and jobs that compute.
. "$(dirname "$0")/rig.sh"
. "$TOP/t/func/runs.sh"

relay=$BUILT/build/t/tools/relay
[ -x "$relay" ] || skip_all "$relay is not here; make check-hosts builds it"
hosts_up 2
cat >j.job <<'END'
[j]
format=raw
ioengine=null
num_files=200
sample_size=4k
batch_size=1
compute_time=10ms
epochs=2
accelerators=1
END
# What h2 sends to that port of h1 is taken by a relay on h2, which alone is let
# through to it.
ip -n "mlh$$-2" rule add pref 5 fwmark 1 lookup main
ip -n "mlh$$-2" rule add pref 10 ipproto tcp dport 4711 lookup 50
ip -n "mlh$$-2" route add local 10.99.7.1 dev lo src 10.99.7.2 table 50
# The answers of the true h1 come from an address that is local by that table.
ip netns exec "mlh$$-2" sysctl -qw net.ipv4.conf.all.accept_local=1
: >relay.out
on_host 2 "$relay" 10.99.7.1 4711 1000 >relay.out 2>&1 </dev/null &
poll grep -q listening relay.out

# waited FILE: at barriers for other hosts, us a step of each accelerator.
waited()
{
	# shellcheck disable=SC2046 # two words
	set -- $(json "$1" jobs.0.ml.time_percent.host_barrier jobs.0.ml.step_ns.mean)
	echo "$1 $2" | awk '{ printf "%d\n", $1 / 100 * $2 / 1000 }'
}

late()
{
	launch "$1" 2 j.job --json=near.json --quiet
	is "$1: a job over the network as it is" $? 0
	launch "$1" 2 j.job --peers_port=4711 --json=far.json --quiet
	is "$1: and one whose messages are 1 ms late, each way" $? 0
	# Time that is lost otherwise comes on top: bounds are of one side.
	ok "$1: 2 ms a step are waited for the other host ($(waited far.json) us)" \
		test "$(waited far.json)" -ge 1950
	ok "$1: more than without the relay ($(waited near.json) us)" \
		test "$(waited near.json)" -lt "$(waited far.json)"
	au=$(ml far.json au_percent)
	ok "$1: AU is that of 10 ms of 12 or less ($au %)" \
		awk -v au="$au" 'BEGIN { exit !(au < 100 * 10 / 12 + 1 && au > 40) }'
}
each_mpi late
done_testing
