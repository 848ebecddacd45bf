#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 40-same.sh - several hosts do what one process with as many accelerators does: the same samples, in the same order, and as many bytes.
# Sleeps: launchers take a second to start.
. "$(dirname "$0")/rig.sh"
. "$TOP/t/func/runs.sh"
. "$TOP/t/hosts/same.sh"

hosts_up 4
same_job 2

as_one()
{
	same "$1" 2 2
	same "$1" 4 1 --shuffle=file --shard=contiguous
	same "$1" 4 2 --drop_last=0 --shard=file --barrier=epoch
}
each_mpi as_one

plain()
{
	mkdir -p plain
	printf '[p]\nrw=randread\nbs=4k\nsize=1m\nio_size=200k\ndirectory=plain\n' >p.job
	launch "$1" 4 p.job --output-format=json --output=all.json
	is "$1: plain jobs of four hosts" $? 0
	is "$1: are summed in the JSON that fio has, too" \
		"$(json all.json jobs.0.read.total_ios jobs.0.read.io_bytes)" "200 819200"
	launch "$1" 2 p.job --numjobs=3 --group_reporting=1 --output-format=json --output=all.json
	is "$1: and so is what is reported as a group, over jobs and hosts" \
		"$? $(json all.json jobs.0.read.io_bytes jobs.1.jobname)" "0 1228800 absent"
}
each_mpi plain

# But for what this machine does beside it.
steady()
{
	grep -v 'plm:rsh: Warning' "$@" | grep -v 'CPU\|switches\|numa'
}

alone()
{
	"$MLGEN" v.job >one.out 2>&1
	launch "$1" 1 v.job
	is "$1: one process under mpirun says what one without says" \
		"$(steady said)" "$(steady one.out)"
	like "$1: which is a report" "$(cat one.out)" "^accelerator time"
}
virtual_time
{ sed '/^directory/d' "$T/j.job"; echo directory=v accelerators=2; } | tr ' ' '\n' >v.job
"$MLGEN" v.job --quiet >prepare.out 2>&1
each_mpi alone
done_testing
