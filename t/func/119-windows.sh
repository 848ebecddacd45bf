#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 119-windows.sh - what is measured around a job begins with its work and ends with it.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"
virtual_time

# at_least N VALUE, at_most N VALUE
at_least()
{
	awk -v least="$1" -v n="$2" 'BEGIN { exit !(n + 0 >= least) }'
}

at_most()
{
	awk -v most="$1" -v n="$2" 'BEGIN { exit !(n + 0 <= most) }'
}

# ---- jobs of one group, of which the last one ends first
cat >group.job <<'J'
[global]
ioengine=null
rw=read
bs=4k
size=1g
thinktime=10ms
time_based
[long]
runtime=5
[short]
runtime=2500ms
J
"$MLGEN" group.job --json=group.json >out 2>err </dev/null
ok "a job ends with its last worker, not when those before it do" \
	at_most 3 "$(json group.json jobs.1.elapsed)"
ok "whichever of them goes on" at_least 5 "$(json group.json jobs.0.elapsed)"
ok "its series has its seconds" \
	at_least 1 "$(json group.json jobs.1.read.iops_samples)"
ok "and none behind its end" \
	at_most 2 "$(json group.json jobs.1.read.iops_samples)"
ok "where nothing would have been read" \
	at_least 10 "$(json group.json jobs.1.read.iops_min)"
# ---- one window a record
"$MLGEN" --name=x --ioengine=null --rw=read --bs=4k --size=1g --thinktime=5ms \
	--time_based --startdelay=1 --ramp_time=500ms --runtime=1 \
	--json=ramp.json >out 2>err </dev/null
is "ramp_time is before the window" "$(json ramp.json jobs.0.io.window.from)" \
	ramp_time
ok "and so is startdelay" \
	at_least 1.5 "$(json ramp.json jobs.0.io.window.begin_seconds)"
ok "which is as long as the job is measured" \
	at_least 0.9 "$(json ramp.json jobs.0.io.window.seconds)"
ok "and no longer" at_most 1.4 "$(json ramp.json jobs.0.io.window.seconds)"
like "as the report says" "$(cat out)" \
	'^window +host: [0-9.]+ m?s, end of ramp_time to end of job$'
"$MLGEN" --name=x --ioengine=null --format=raw --num_files=64 --sample_size=4k \
	--compute_time=10ms --startdelay=1 --json=train.json >out 2>err </dev/null
is "without ramp_time it begins with the work" \
	"$(ml train.json window.from)" start
ok "behind startdelay" at_least 1 "$(ml train.json window.begin_seconds)"

unlike "which goes without saying" "$(cat out)" '^window'

# ---- of a group one, from the first of its jobs to the last
cat >group.job <<'J'
[global]
ioengine=null
rw=read
bs=4k
size=1g
thinktime=10ms
time_based
runtime=1
[early]
[late]
startdelay=2
J
"$MLGEN" group.job --json=group.json >out 2>err </dev/null
ok "jobs that start together have windows of their own" \
	at_most 2 "$(json group.json jobs.0.io.window.seconds)"
ok "where each of them works" \
	at_least 2 "$(json group.json jobs.1.io.window.begin_seconds)"
"$MLGEN" group.job --group_reporting --json=group.json >out 2>err </dev/null
ok "as one they have the window of both" \
	at_least 2.5 "$(json group.json jobs.0.io.window.seconds)"
ok "from the first beginning" \
	at_most 1 "$(json group.json jobs.0.io.window.begin_seconds)"
like "as the report says" "$(cat out)" \
	'^window +host: [0-9.]+ m?s, first start to last end of 2 jobs'
like "and the host is looked at over all of it" \
	"$(json group.json jobs.0.io.host.cpu_percent)" '^[0-9.]+$'

# ---- bytes from storage: of the window, and of all that its counter sees

# storage FILE RECORD KEY
storage()
{
	json "$1" "jobs.$2.io.storage.$3"
}

# All of the file is read within ramp_time, and again behind it, from memory.
ramped()
{
	env STORAGE_WARM_AFTER_MS=1000 \
		"$MLGEN" --name=ramped --rw=read --bs=64k --size=32m --rate=64m \
		--time_based --ramp_time=1500ms --runtime=500ms \
		--json=memory.json >out 2>err </dev/null
}

two_workers()
{
	"$MLGEN" --name=two --rw=read --bs=64k --size=4m --numjobs=2 \
		--thinktime=2ms --json=two.json >out 2>err </dev/null
}

two_workers
ok "a worker's record has the bytes that all of them read" \
	at_least $((6 << 20)) "$(storage two.json 0 jobs_read_bytes)"
is "beside its own" "$(json two.json jobs.0.read.io_bytes)" $((4 << 20))
like "of which the report of the job is" "$(cat out)" \
	'^from memory +[0-9.]+% of the bytes read \('
ramped
is "what storage delivered within ramp_time is in no share" \
	"$(storage memory.json 0 device_read_bytes)" 0
is "and all that is read behind it is from memory" \
	"$(storage memory.json 0 memory_percent)" 100.0
own=$(json memory.json jobs.0.read.io_bytes)
all=$(storage memory.json 0 jobs_read_bytes)
ok "what was read within ramp_time is in no sum, either" \
	at_most $((own + (1 << 20))) "$all"
ok "but all that was read behind it" at_least $((own - (1 << 20))) "$all"
like "as the report says" "$(cat out)" \
	'^window +from memory, host: [0-9.]+ m?s, end of ramp_time'

# ---- the disks have the whole run
cat >disks.job <<'J'
[global]
rw=write
bs=64k
end_fsync=1
[first]
size=1m
[second]
stonewall
size=24m
J
"$MLGEN" disks.job --json=disks.json >out 2>err </dev/null
ok "disk_util has what all groups wrote" at_least $((24 * 2048)) \
	"$(json disks.json disk_util.0.write_sectors)"
done_testing
