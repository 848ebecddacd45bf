#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 83-io-pace.sh - plain jobs by the clock: rates, pauses, runtimes; and how often, how many, in what order.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

io()
{
	rm -f run.json
	"$MLGEN" --name=x --json=run.json "$@"
}

values()
{
	json_below jobs.0 run.json "$@"
}

# holds TITLE CONDITION: of awk
holds()
{
	ok "$1: $2" awk "BEGIN { exit !($2) }"
}

# about TITLE KEY WANT OPTION...: within a fifth; a busy host gets five tries,
# of which one has to hold
about()
{
	title=$1 key=$2 want=$3
	shift 3
	tries=5
	until io "$@" >out 2>err && awk "BEGIN {
		exit !($(values "$key") >= 0.8 * $want &&
		       $(values "$key") <= 1.2 * $want) }"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || break
	done
	ok "$title: $key is about $want" test $tries -gt 0
	[ $tries -gt 0 ] || note "it is $(values "$key")"
}

"$MLGEN" --name=x --rw=read --size=1m --create_only=1 >out 2>&1

# ---- a rate that storage can keep: no less time than it takes, and all bytes
# The last request is due one step before the end. That a busy host is late is
# no fault of the pace, so that only the lower end is certain.
# paced TITLE MS OPTION...
paced()
{
	title=$1 ms=$2
	shift 2
	exits "$title" 0 io --rw=read --size=1m --bs=16k "$@"
	is "$title: moves all" "$(values read.io_bytes io.complete)" \
		"1048576 true"
	holds "$title: takes its time" "$(values read.runtime) >= $ms"
	is "$title: every request has three latencies" \
		"$(values read.slat_ns.N read.clat_ns.N read.lat_ns.N)" \
		"64 64 64"
}
paced "rate=" 490 --rate=2m
is "what was asked is reported" "$(values io.rate_read.asked_bytes_per_sec)" \
	2097152.0
holds "and not exceeded" "$(values read.bw_bytes) <= 2097152 * 64 / 63"
paced "rate_iops=" 310 --rate_iops=200
is "what was asked is reported" "$(values io.rate_read.asked_iops)" 200.0
paced "the slower one of both" 490 --rate=2m --rate_iops=100000
paced "a rate of an asynchronous engine" 310 --rate_iops=200 --ioengine=fault \
	--engine=psync --iodepth=8
for engine in io_uring libaio mmap; do
	io --rw=read --size=64k --ioengine=$engine >out 2>&1 || continue
	paced "$engine at a rate" 310 --rate_iops=200 --ioengine=$engine
done
paced "requests without number" 490 --rate=2m --rw=randread --norandommap=1

# Reads and writes each by their own, for as long as it is said. Nothing but the
# clock is in the way there.
about "a rate for each direction" read.total_ios 300 --rw=randrw \
	--rwmixread=75 --size=64m --bs=4k --rate_iops=300,100 --runtime=1 \
	--time_based=1 --ioengine=null
holds "reads are no more than asked" "$(values read.total_ios) <= 301"
holds "nor writes" "$(values write.total_ios) <= 101"
about "a rate for each of numjobs" write.io_bytes $((3 * 524288)) --rw=write \
	--size=64m --bs=4k --rate=512k --runtime=1 --ioengine=null \
	--numjobs=3 --group_reporting=1
is "what was asked is their sum" \
	"$(values io.rate_write.asked_bytes_per_sec)" 1572864.0
about "a rate that is kept" read.iops 1000 --rw=read --size=2m --bs=4k \
	--rate_iops=1000 --ioengine=null

# ---- one that storage cannot keep: 1 ms a request is less than 1000 a second
exits "a rate that cannot be met" 0 io --rw=read --size=400k --bs=4k \
	--ioengine=null --latency=1ms --readahead=0 --rate_iops=100000
is "is reported" "$(values io.rate_read.is_missed io.rate_write.is_missed)" \
	"true false"
like "in the first line, too" "$(sed -n 1,2p out | paste -sd' ' - | tr -s ' ')" '; rate NOT MET'
like "with what was asked and had" "$(cat out)" \
	'rate +asked 100k? ?.*IOPS, had [0-9.]+ IOPS: NOT MET'
holds "the device is as fast as ever" "$(values read.clat_ns.min) >= 1000000"
# Of 100 requests, the last was due after 1 ms and begins after 99.
holds "what waits is late by more and more" \
	"$(values read.slat_ns.max) >= 90000000"
holds "which the latency has" \
	"$(values read.lat_ns.max) >= $(values read.slat_ns.max) + 1000000"
exits "bandwidth that cannot be had" 0 io --rw=write --size=400k --bs=4k \
	--ioengine=null --latency=1ms --rate=1g
is "is reported" "$(values io.rate_write.is_missed)" true
exits "a stall of one request" 0 io --rw=read --size=200k --bs=4k \
	--ioengine=fault --engine=null --delay_every=20 --delay=100ms \
	--rate_iops=1000
holds "delays those behind it" "$(values read.slat_ns.max) >= 90000000"

# ---- pauses
exits "thinktime" 0 io --rw=read --size=40k --bs=4k --thinktime=20ms
holds "is a pause after each request" "$(values read.runtime) >= 180"
is "and no latency" "$(values read.slat_ns.N)" 0
exits "thinktime_blocks" 0 io --rw=read --size=40k --bs=4k --thinktime=20000 \
	--thinktime_blocks=5
holds "is a pause after some" \
	"$(values read.runtime) >= 20 && $(values read.runtime) < 180"

# ---- how long
about "runtime ends a job" read.runtime 300 --rw=read --size=1t --bs=4k \
	--ioengine=null --runtime=300ms
is "which is complete then" "$(values io.complete)" true
exits "a job that is done before" 0 io --rw=read --size=64k --bs=4k \
	--runtime=1h
is "ends" "$(values read.io_bytes)" 65536
about "time_based goes on" read.runtime 300 --rw=read --size=64k --bs=4k \
	--runtime=300ms --time_based=1
holds "beyond its size" "$(values read.io_bytes) > 65536"
about "ramp_time comes before" read.runtime 200 --rw=read --size=1t --bs=4k \
	--ioengine=null --latency=1ms --readahead=0 --ramp_time=300ms \
	--runtime=200ms
holds "and of its requests none counts" "$(values read.total_ios) <= 250"
exits "a ramp that outlasts the job" 0 io --rw=read --size=64k --bs=4k \
	--ramp_time=1h
is "leaves nothing to count" "$(values read.total_ios)" 0
like "which the first line says" "$(sed -n 1,2p out | paste -sd' ' - | tr -s ' ')" 'no operation|ramp'

# ---- how often and how many
exits "loops" 0 io --rw=randread --size=64k --bs=4k --loops=3
is "go through it so often" "$(values read.io_bytes read.total_ios)" \
	"196608 48"
exits "io_size ends sooner" 0 io --rw=read --size=64k --bs=4k --io_size=20k
is "after so much" "$(values read.io_bytes)" 20480
exits "numjobs" 0 io --rw=read --size=64k --bs=4k --numjobs=3
is "have a record each" \
	"$(json run.json jobs.0.read.io_bytes jobs.1.read.io_bytes \
		jobs.2.read.io_bytes jobs.3.read.io_bytes)" \
	"65536 65536 65536 absent"
is "with its number" "$(json run.json jobs.0.io.jobnum jobs.1.io.jobnum \
	jobs.2.io.jobnum)" "0 1 2"
is "and are one job in the text" "$(grep -c '^x: ' out)" 1
exits "group_reporting" 0 io --rw=read --size=64k --bs=4k --numjobs=3 \
	--group_reporting=1
is "has one record of all" "$(json run.json jobs.0.read.io_bytes \
	jobs.0.io.numjobs jobs.1.jobname)" "196608 3 absent"

cat >two.job <<'JOB'
[global]
filename=two
size=1m
bs=64k
[first]
rw=write
[second]
stonewall=1
rw=read
JOB
exits "two jobs, one after the other" 0 "$MLGEN" two.job --json=run.json
is "have a record each, in order" "$(json run.json jobs.0.jobname \
	jobs.0.write.io_bytes jobs.1.jobname jobs.1.read.io_bytes \
	jobs.2.jobname)" "first 1048576 second 1048576 absent"
is "and groups" "$(json run.json jobs.0.groupid jobs.1.groupid)" "0 1"
is "the file is laid out once" "$(grep -c 'laying out' err)" 1

# ---- in what portions
portions()
{
	engine=$1
	shift
	exits "$engine: $*" 0 io --rw=randread --size=1m --bs=4k \
		--ioengine="$engine" --iodepth=16 "$@"
	is "$engine: all are read" "$(values read.io_bytes read.total_ios)" \
		"1048576 256"
}
for engine in io_uring libaio; do
	io --rw=read --size=64k --ioengine=$engine >out 2>&1 || continue
	portions "$engine" --iodepth_batch_submit=1
	is "$engine: one at a time" "$(values iodepth_submit.4)" "100.0"
	portions "$engine" --iodepth_batch_complete_max=1
	# But for the last ones, which are waited for together.
	holds "$engine: one is taken at a time" \
		"$(values iodepth_complete.4) > 99"
	portions "$engine" --iodepth_batch_complete_min=16
	holds "$engine: most are taken sixteen at a time" \
		"$(values iodepth_complete.16) > 80"
	holds "$engine: and handed over so" \
		"$(values iodepth_submit.16) > 80"
	portions "$engine" --iodepth_batch_complete_min=0
done

# ---- nothing but files
mkdir empty
exits "create_only lays out" 0 io --directory=empty --rw=randwrite --size=1m \
	--numjobs=2 --create_only=1
is "all its files" "$(cd empty && stat -c '%n %s' ./*)" "./x.0.0 1048576
./x.1.0 1048576"
is "and moves nothing" "$(values write.total_ios io.laid_out_files)" "0 2"
like "which it says" "$(head -n 1 out)" '^x: 2 files, 2 MiB laid out$'
rm -r empty
mkdir empty
exits "--dry-run" 0 io --directory=empty --rw=randwrite --size=1m --numjobs=2 \
	--dry-run
is "touches nothing" "$(ls -A empty)" ""
like "and says what would be laid out" "$(cat out)" '^ +present 0 files; to write 2 +2 MiB '
exits "--dry-run of what must not be" 2 io --directory=empty --rw=read \
	--filename=x --dry-run
like "says why" "$(cat out)" 'size: empty/x is missing; give its size'
is "and touches nothing either" "$(ls -A empty)" ""
before=$(stat -c '%i %s %y %z' x.0.0)
exits "--dry-run of a job that writes" 0 io --rw=write --dry-run
is "leaves its file alone" "$(stat -c '%i %s %y %z' x.0.0)" "$before"

# ---- demands, log, status
exits "a demand that holds" 0 io --rw=read --size=64k \
	--require='read.iops>=1,read.io_bytes=65536'
exits "one that does not" 3 io --rw=read --size=64k --require='read.iops>=1e12'
like "is told" "$(cat err)" 'read\.iops'
is_json "with the report" run.json
exits "one of what is not moved" 3 io --rw=read --size=64k \
	--require='write.iops>=1'
exits "a log" 0 io --rw=randrw --size=64m --bs=4k --ioengine=null \
	--latency=1ms --runtime=500ms --log=log.csv --log_interval=50ms
is "has a header" "$(head -n 1 log.csv | cut -d, -f1-4)" "time,seconds,job,phase"
# column NAME: its sum
column()
{
	awk -F, -v name="$1" '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ sum += $at[name] }
	END { printf "%d\n", sum }' log.csv
}
holds "with rows" "$(wc -l <log.csv) > 3"
is "that add up to what was moved" \
	"$(column read_ios) $(column read_bytes) $(column write_ios) $(column write_bytes)" \
	"$(values read.total_ios read.io_bytes write.total_ios write.io_bytes)"
exits "a status line" 0 io --rw=read --size=64m --bs=4k --ioengine=null \
	--latency=1ms --runtime=500ms --status-interval=100ms
like "shows what is moved" "$(cat err)" ' x .*IOPS'
exits "none" 0 io --rw=read --size=64k --eta=never
is "says nothing" "$(cat err)" ""

done_testing
