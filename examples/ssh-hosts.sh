#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ssh-hosts.sh - one job on hosts that only ssh reaches: mpirun of Open MPI or of MPICH, one process a host.
#
#   examples/ssh-hosts.sh n1,n2,n3,n4 unet3d.job --directory=/mnt/array/unet3d --accelerators=8
#
# On all hosts: mlgen and the same MPI, at the same paths, the directory mounted, and
# a key for ssh (try: ssh n2 mpirun --version). mpirun starts its helpers by ssh;
# mlgen's processes then talk to rank 0, which is on the first host, over TCP at a
# free port. Behind a firewall open one and name it: --peers_port=4711.
#
# Another mpirun: MPIRUN=mpirun.mpich examples/ssh-hosts.sh ... Another network for
# Open MPI's own talk: MPI_ARGS="--mca oob_tcp_if_include 10.0.0.0/8".

hosts=${1:?usage: ssh-hosts.sh HOST,HOST... JOB [mlgen options ...]}
shift
mpirun=${MPIRUN:-mpirun}
mlgen=${MLGEN:-mlgen}
count=$(printf '%s\n' "$hosts" | tr ',' '\n' | grep -c .)
case $("$mpirun" --version 2>&1) in
*"Open MPI"* | *OpenRTE*)
	# Without binding: a process has readers for all CPUs of its host.
	set -- --host "$hosts" --map-by node --bind-to none -n "$count" "$mlgen" "$@" ;;
*)	set -- -hosts "$hosts" -ppn 1 -n "$count" "$mlgen" "$@" ;;
esac
# shellcheck disable=SC2086 # several words
exec "$mpirun" ${MPI_ARGS:-} "$@"
