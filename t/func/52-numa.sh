#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 52-numa.sh - threads run on the NUMA nodes asked for; what cannot be had is said.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

unset HWLOC_SYNTHETIC HWLOC_THISSYSTEM HWLOC_XMLFILE HWLOC_COMPONENTS
nodes=$(cat /sys/devices/system/node/online 2>/dev/null || echo 0)
job="--name=x --directory=data --format=raw --num_files=8 --sample_size=4k
	--accelerators=2 --read_threads=2 --json=run.json"

# run OPTION...
run()
{
	# shellcheck disable=SC2086 # several options
	"$MLGEN" $job "$@"
}

exits "numa=none is the default" 0 run
unlike "and nothing is said about it" "$(cat err out)" "numa"
is "nor is anything unbound" "$(ml run.json numa.unbound)" null
exits "all nodes are nodes of this host" 0 run --numa_cpu_nodes=all
exits "those it has, too" 0 run --numa_cpu_nodes="$nodes"
exits "a node that it has not is refused" 2 run --numa_cpu_nodes=1023
is "and those it has are named" "$(cat err)" \
	"mlgen: numa_cpu_nodes: node 1023 does not exist; this host has $nodes"

exits "a disk that nobody has placed ends no run" 0 run --ioengine=null \
	--numa=device
case $nodes in
*[-,]*)	why="ioengine=null touches no file"
	near="" ;;
*)	why="this host has one NUMA node, so every CPU is near"
	near=null ;;
esac
is "but leaves a note" "$(cat err)" \
	"mlgen: note: x: numa=device: $why; its threads are not bound"
is "and a word in the document" "$(ml run.json numa.unbound)" "$why"
like "and one in the report" "$(cat out)" "^numa  .*not bound: ${why%%,*}"
[ -z "$near" ] ||
	is "a host with one node has no far one" \
		"$(ml run.json numa.loader_nodes numa.far_percent)" \
		"$near $near"

# ---- two nodes of one CPU each, as far as hwloc knows

allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
case $allowed in
0-* | 0,1*) ;;
*)	skip "threads are bound to a node" "the CPUs 0 and 1 are needed"
	done_testing
	exit ;;
esac
HWLOC_SYNTHETIC="NUMANode:2 Core:1 PU:1"
HWLOC_THISSYSTEM=1
export HWLOC_SYNTHETIC HWLOC_THISSYSTEM

on_one()
{
	grep -h '^Cpus_allowed_list:' /proc/"$pid"/task/*/status |
		grep -c "[[:space:]]1\$"
}
rm -f log.csv
background "$MLGEN" --name=x --ioengine=null --num_files=40 --sample_size=1k \
	--compute_time=2ms --epochs=1000000 --accelerators=3 --read_threads=5 \
	--log=log.csv --log_interval=10ms --numa_cpu_nodes=1
poll grep -qs ',train,[2-9]' log.csv
ok "numa_cpu_nodes binds accelerators and read threads" \
	test "$(on_one)" -ge 18
kill -INT "$pid"
finish

exits "two lists of CPUs that share none are refused" 2 \
	run --numa_cpu_nodes=1 --cpus_allowed=0
is "and both are shown" "$(cat err)" \
	"mlgen: numa_cpu_nodes: 1: NUMA nodes with CPUs 1, but this job may use only 0"
exits "two that share one are not" 0 run --numa_cpu_nodes=1 --cpus_allowed=0-1
if command -v taskset >/dev/null; then
	exits "binding stays within what the process was given" 2 \
		taskset -c 0 "$MLGEN" --name=x --ioengine=null \
		--numa_cpu_nodes=1
else
	skip "binding stays within what the process was given" "no taskset"
fi

done_testing
