#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 36-io-report.sh - the report of a plain job: fio's line, one screen, figures that agree.
# On disk: what went to the page cache is no result of storage, and of files in memory that is not said.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

plain()
{
	rm -f run.json
	"$MLGEN" --name=x --directory=. --size=4m --json=run.json "$@"
}

# fits TITLE FILE
fits()
{
	ok "$1: at most 52 lines" test "$(wc -l <"$2")" -le 52
	ok "$1: at most 80 columns" awk 'length > 80 { exit 1 }' "$2"
	not_ok "$1: plain ASCII" env LC_ALL=C grep -q '[^ -~]' "$2"
	not_ok "$1: no blanks at an end" grep -q ' $' "$2"
}

number='[0-9.]+[kMG]?'
fio_line="IOPS=$number, BW=${number}[KMG]?i?B/s \\(${number}[kMG]?B/s\\)\\(${number}[KMG]?i?B/[0-9]+msec\\)"

exits "a plain job prints its report" 0 plain --rw=randread --bs=4k
cp out report
fits "the report" report
like "the first line has the answer" "$(head -n 1 report)" \
	"^x: read $number IOPS, $number .iB/s"
like "the second is fio's" "$(sed -n 2p report)" "^  read: $fio_line\$"
like "with all the bytes" "$(sed -n 2p report)" '\(4096KiB/'
like "then the job" "$(cat report)" '^job       randread, 4 KiB requests$'
like "its workers" "$(cat report)" \
	'^workers   1, ioengine=psync, iodepth=1, direct=0: through the page cache$'
like "its files" "$(cat report)" '^files     1 file, 4(\.00)? MiB'
like "which it made" "$(cat report)" 'laid out before'
like "the storage" "$(cat report)" '^storage   .+'
like "and the host" "$(tr -s '\n ' ' ' <report)" \
	" host [^ ]+, .*Linux $(uname -r), mlgen "
like "the latencies" "$(cat report)" \
	'^latency, [mu]s +count +min +mean +p50 +p90 +p99( +p99\.9)? +max$'
like "of every read" "$(cat report)" '^read +1,024 '
like "where the time went" "$(cat report)" '^worker time .*= 100%$'
like "what came from memory" "$(cat report)" '^from memory '
like "and what it cost" "$(cat report)" '^cpu +usr .*per operation'
is "the text has the JSON's figures" \
	"$(json run.json jobs.0.read.total_ios jobs.0.read.io_bytes)" \
	"1024 4194304"
is_json "which parses" run.json
exits "a file that is there is not made again" 0 plain --rw=randread
unlike "and not said to be" "$(cat out)" 'laid out'

# ---- directions
exits "a mix" 0 plain --rw=randrw --rwmixread=70 --fsync=64
fits "the report of a mix" out
like "has both in the first line" "$(head -n 1 out)" \
	"^x: read $number IOPS, .*; write $number IOPS, "
like "a line of fio's for reads" "$(cat out)" "^  read: $fio_line\$"
like "and for writes" "$(cat out)" "^  write: $fio_line\$"
like "and its flushes" "$(cat out)" '^fsync +[1-9]'
exits "writes alone" 0 plain --rw=write --bs=64k
unlike "say nothing of reads" "$(cat out)" '^  read:|^read '
like "but that nothing waited for storage" "$(cat out)" \
	'^writes +went to the page cache'
exits "with a flush at the end" 0 plain --rw=write --bs=64k --end_fsync=1
unlike "something did" "$(cat out)" 'went to the page cache'

# ---- workers
exits "four workers" 0 plain --rw=randread --numjobs=4
fits "their report" out
like "are one answer" "$(head -n 1 out)" \
	"^x: read $number IOPS, .* \\(4 workers\\)"
is "with one line of fio's" "$(grep -c '^  read: ' out)" 1
is "and one of each" \
	"$(sed -n '/^worker  /,/^$/p' out | awk 'NF { print $1 }' | paste -sd' ' -)" \
	"worker 0 1 2 3"
is "which are records in JSON" \
	"$(json run.json jobs.0.io.jobnum jobs.3.io.jobnum jobs.4.io.jobnum)" \
	"0 3 absent"
exits "twenty" 0 plain --rw=randread --numjobs=20
fits "the report of twenty" out
is "are shown by three" \
	"$(sed -n '/^worker  /,/^$/p' out | awk 'NF { print $1 }' | paste -sd' ' -)" \
	"worker slowest median fastest"
exits "group_reporting" 0 plain --rw=randread --numjobs=4 --group_reporting
unlike "shows none" "$(cat out)" '^worker  '
is "and is one record" \
	"$(json run.json jobs.0.io.numjobs jobs.0.read.total_ios jobs.1.jobname)" \
	"4 4096 absent"
cat >depths.job <<-END
	[global]
	rw=randread
	ioengine=libaio
	size=256k
	group_reporting
	[file1]
	iodepth=4
	[file2]
	iodepth=32
	[file3]
	iodepth=8
END
if "$MLGEN" --enghelp=libaio >out 2>&1; then
	exits "jobs of several depths in one record" 0 "$MLGEN" depths.job --json=d.json
	like "claim no one depth" "$(tr -s ' \n' ' ' <out)" \
		' workers 3, ioengine=libaio( \([^)]*\))?, iodepth=4 to 32 each, direct=0'
	is "nor does the document" \
		"$(json d.json jobs.0.io.iodepth_least jobs.0.io.iodepth_used)" "4 32"
	exits "when it is read again" 0 "$MLGEN" --merge d.json
	like "it says the same" "$(tr -s ' \n' ' ' <out)" ', iodepth=4 to 32 each, '
	grep -v '"iodepth_least"' d.json >older.json
	exits "a document that does not tell" 0 "$MLGEN" --merge older.json
	like "has the most" "$(cat out)" ', iodepth=32 each, '
else
	skip "jobs of several depths in one record" "built without libaio"
fi
exits "--quiet" 0 plain --rw=randread --numjobs=4 --quiet
is "is one line" "$(wc -l <out)" 1

# ---- pace
exits "a rate" 0 plain --rw=randread --rate_iops=2000
case $(json run.json jobs.0.io.rate_read.is_missed) in
true)	verdict='NOT MET' ;;
*)	verdict=met ;;
esac
like "is met or not" "$(cat out)" \
	"^  rate +asked 2000 IOPS, had [0-9.]+ IOPS: $verdict\$"
unlike "and nothing is asked of what is not done" "$(cat out)" 'asked .*asked'
like "with its delays" "$(cat out)" '^read slat +1,024 '
like "and the latency from the intended start" "$(cat out)" '^read lat +1,024 '

# ---- requirements
exits "what is required of a plain job" 0 plain --quiet --rw=randread \
	--require='read.iops>0,read.total_ios=1024,read.clat_ns.p99>0,numjobs=1'
exits "and missed" 3 plain --quiet --rw=randread --require='read.iops<1'
like "is told" "$(cat err)" '^mlgen: x: read.iops is [0-9.]+, required <1$'
exits "a training's figure" 3 plain --quiet --rw=randread --require='au>=90'
like "is not there" "$(cat err)" \
	'^mlgen: require=au>=90: no job that ran has au$'

# ---- no storage
exits "ioengine=null" 0 plain --rw=randread --ioengine=null
fits "its report" out
like "is no storage" "$(cat out)" \
	'^storage   none: ioengine=null touches no file$'
if [ -d /dev/shm ] && [ -w /dev/shm ] && is_memory /dev/shm; then
	exits "files in memory" 0 plain --rw=randread \
		--filename=/dev/shm/mlgen-io-report.$$
	rm -f /dev/shm/mlgen-io-report.$$
	like "are no storage" "$(head -n 1 out)" 'MEMORY, NOT STORAGE$'
else
	skip "files in memory" "there is no tmpfs at /dev/shm"
fi

# ---- stopped
background "$MLGEN" --name=x --directory=. --size=4m --rw=randread \
	--time_based --runtime=600s --json=run.json --log=log.csv \
	--log_interval=10ms
poll grep -qs ',io,.*,[1-9][0-9]*,0,' log.csv
kill -INT "$pid"
finish
is "an interrupted job has its status" "$status" 130
like "and says so" "$(sed -n 1,2p out | paste -sd' ' - | tr -s ' ')" '\(interrupted( after [^)]*)?\)'
is "in JSON too" \
	"$(json run.json interrupted jobs.0.io.interrupted jobs.0.io.complete)" \
	"true true false"
exits "create_only" 0 plain --rw=read --create_only --filename=made
like "says what it made" "$(head -n 1 out)" '^x: 1 file, 4(\.00)? MiB laid out$'

done_testing
