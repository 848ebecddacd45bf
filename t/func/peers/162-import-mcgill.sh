#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 162-import-mcgill.sh - what bpftrace printed for McGill's scripts is one trace, whichever files of the set are there.

. "$(dirname "$0")/../tap.sh"

TZ=UTC0
export TZ
set=$TOP/t/imports/mcgill

take()
{
	"$MLTRACE" import --format=mcgill "$@"
}

# rows TRACE [OP]: start, duration, pid, op, file, offset, bytes, result.
rows()
{
	"$MLTRACE" export --format=csv "$1" | sed 1d | cut -d, -f1-3,6-10 |
		grep -E ",(${2:-[a-z_]+}),"
}

# ---- the whole set, written by hand from what the scripts print ----

exits "a directory is all files of the set in it" 0 take "$set" --output=x.trace
like "which are one trace" "$(cat out)" '^x\.trace: 33 records and 0 markers'
is "reads have files, offsets, and errors; they began before they were told" \
	"$(rows x.trace read)" \
"1002000100000,100000,41,read,/data/train/case_1.npz,0,,4096
1002000310000,90000,41,read,/data/train/case_1.npz,4096,,1000
1002000420000,80000,41,read,/data/train/case 2.npz,0,,131072
1002000599000,1000,41,read,/data/train/case_1.npz,5096,,0
1002000698000,2000,41,read,/data/train/case_1.npz,0,,-5
1002000799000,1000,41,read,labels.csv,0,,10
1002000899000,1000,41,read,/data/dddddddddddddddddddddddddddddddddddddddd/sample_of_many_letters_0001.npz,512,,512
1002000997000,3000,42,read,,0,,64
1002001097000,3000,42,read,pipe:[7],,,8"
is "writes that are logging are left out" "$(rows x.trace write)" \
"1004000050000,50000,41,write,ckpt/model.pt,0,,1048576
1004000197000,3000,41,write,ckpt/model.pt,1048576,,-28"
like "and counted" "$(cat err)" \
	'note: left out: 2 writes to a terminal \(0\) or a log \(\*\.log\)$'
is "opens have whole paths, though bpftrace cuts them; some fail" \
	"$(rows x.trace open)" \
"1002000000000,10000,41,open,/data/train/case_1.npz,,,0
1002000038000,12000,41,open,/data/train/case 2.npz,,,0
1002000056000,4000,41,open,/data/none,,,-2
1002000065000,5000,41,open,/a/labels.csv,,,0
1002000075000,5000,41,open,/b/labels.csv,,,0
1002000085000,5000,41,open,/data/dddddddddddddddddddddddddddddddddddddddd/sample_of_many_letters_0001.npz,,,0
1003999991000,9000,41,open,ckpt/model.pt,,,0
1004800000000,0,41,open,/tmp/made,,577,0"
like "of a name of two paths nobody says which" "$(cat err)" \
	'note: 1 name of files match several paths'
is "requests of disks are issued and done" "$(rows x.trace 'block_[a-z]+')" \
"1002000120000,0,41,block_issue,/dev/sda,1048576,4096,0
1002000190000,0,,block_complete,/dev/sda,1048576,4096,0
1002000420000,0,41,block_issue,/dev/sda,2097152,131072,0
1002000480000,0,,block_complete,/dev/sda,2097152,131072,0
1003999750000,0,7,block_issue,/dev/nvme0n1,4096,1048576,0
1004000150000,0,,block_complete,/dev/nvme0n1,4096,1048576,0"
is "the rest is there, too" \
	"$(rows x.trace 'close|mkdir|rmdir|unlink|mmap|munmap')" \
"1002001494000,6000,41,mmap,/data/train/case_1.npz,,,139637976727552
1002001593000,7000,41,munmap,,139637976727552,131072,0
1002001999300,700,41,close,/data/train/case_1.npz,,,0
1003899991000,9000,41,mkdir,ckpt,,,0
1004000299200,800,41,close,ckpt/model.pt,,,0
1004499996000,4000,41,unlink,ckpt/old.pt,,,0
1004599995900,4100,41,unlink,ckpt/older.pt,,,0
1004699995000,5000,41,rmdir,tmp,,,0"
unlike "threads that nobody told apart are no clock set back" \
	"$("$MLTRACE" describe x.trace)" CLOCK

exits "its files, in any order, are the same" 0 take \
	"$set"/trace_write.out "$set"/trace_[b-r]*.out "$set"/trace_time_align.out \
	--output=y.trace
is "row by row" "$(rows y.trace)" "$(rows x.trace)"
exits "some of them are a trace, too" 0 take "$set"/trace_read.out --output=r.trace
is "whose files have the last part of their names" \
	"$(rows r.trace read | cut -d, -f5 | sort -u | paste -sd' ' -)" \
	" case 2.npz case_1.npz labels.csv pipe:[7] sample_of_many_letters_0001.npz"
for f in read write openat close create_del bio mmap; do
	cp "$set/trace_$f.out" "$f.txt"
done
exits "by other names, their headers tell" 0 take ./*.txt \
	"$set"/trace_time_align.out --output=z.trace
is "the same" "$(rows z.trace)" "$(rows x.trace)"
ok "standard input is a file of the set" sh -c \
	'"$MLTRACE" import --format=mcgill - --output=p.trace <read.txt'
is "by its header" "$(rows p.trace)" "$(rows r.trace)"
mkdir set
cp "$set"/*.out set
echo '10:00:01 all 3.0' >set/cpu.out
exits "what else the scripts leave there is not read" 0 take set/*.out --output=o.trace
is "row by row, too" "$(rows o.trace)" "$(rows x.trace)"

# ---- older forms ----

cat >trace_openat.out <<'END'
1002000010000     41     10000    /data/train/case_1.npz case_1.npz
END
cat >trace_read.out <<'END'
TIMESTAMP         PID    FD   RET (B)      LAT(ns)      FILENAME
1002000200000     41     5    4096         100000       case_1.npz
END
cat >trace_bio.out <<'END'
TIMESTAMP         PID      COMM           DONEPID  DONECOMM       DISK T BYTES        LAT(ns)
1002000190000     41       python3        0        swapper/0      sda  W 4096         70000
END
exits "files of older scripts, of other columns" 0 take . --output=old.trace
is "have no offsets" "$(rows old.trace)" \
"1002000000000,10000,41,open,/data/train/case_1.npz,,,0
1002000100000,100000,41,read,/data/train/case_1.npz,,,4096
1002000120000,0,41,block_issue,/dev/sda,,4096,0
1002000190000,0,,block_complete,/dev/sda,,4096,0"
cat >trace_bio.out <<'END'
TIMESTAMP         PID      COMM           DISK T BYTES        QLAT(ns) LAT(ns)
1002000190000     41       python3        sda  R 4096         99999 70000
END
exits "one that measured the queue" 0 take trace_bio.out --output=old.trace
is "has that for no sector" "$(rows old.trace block_issue)" \
	"1002000120000,0,41,block_issue,/dev/sda,,4096,0"
cat >trace_read.out <<'END'
TIMESTAMP         PID    FD   BUFFER ADDR   OFFSET   REQ (B)    RET (B)    LAT(ns)
1002000200000     41     5    0x7f0000000000  512      8192       4096       100000     a.npz
END
exits "one that knows what was asked for" 0 take trace_read.out --output=old.trace
is "has it" "$(rows old.trace read)" \
	"1002000100000,100000,41,read,a.npz,512,8192,4096"
# 63 bytes of a path with blanks, and all of its name.
folder=/data/$(head -c 40 /dev/zero | tr '\0' d)
echo "1002000010000 41 python3 9 $folder/a sample of many a sample of many letters.npz" \
	>trace_openat.out
take trace_openat.out --output=old.trace >out 2>err
is "blanks in a path that was cut are its own" "$(rows old.trace | cut -d, -f5)" \
	"$folder/a sample of many letters.npz"
rm -f trace_*.out

# ---- the time of day ----

# Noon is at 1000 s after boot and half a ms, by the file.
noon=1772280000
printf '%s.1,epoch 0 start\n%s.9,epoch 0 end\n' $((noon + 2)) $((noon + 4)) >marks.csv
exits "the time of day places markers" 0 take "$set" --markers=marks.csv --output=m.trace
is "on the clock since boot" "$("$MLTRACE" export --format=csv m.trace |
	awk -F, '$6 == "epoch" { print $1, $2 }')" "1001600000000 2800000000"
like "as of this host's zone" "$(cat err)" "neither zone nor date; this host's zone \\(TZ\\)"
printf '%s.1,epoch 0 start\n%s.9,epoch 0 end\n' $((noon - 3598)) $((noon - 3596)) >east.csv
TZ=CET-1 take "$set" --markers=east.csv --output=e.trace >out 2>err
is "whichever it is" "$("$MLTRACE" export --format=csv e.trace |
	awk -F, '$6 == "epoch" { print $1, $2 }')" "1001600000000 2800000000"
exits "without that file markers are refused" 2 take "$set"/trace_read.out \
	--markers=marks.csv --output=n.trace
like "by its name" "$(cat err)" \
	'markers=marks\.csv: cannot be placed in the trace: trace_time_align\.out is missing'
printf '%s\n' '5000500000000 23:59:59' '5001100000000 00:00:00' \
	>trace_time_align.out
printf '1772236800.5,begin\n' >night.csv
{ sed 1,2d "$set"/trace_read.out | head -n 1 | sed 's/^1002/5001/'; } >trace_read.out
at_night()
{
	"$MLTRACE" export --format=csv night.trace |
		awk -F, '$6 == "text" { print int($1 / 1e6) }'
}
exits "over midnight, too" 0 take trace_read.out trace_time_align.out \
	--markers=night.csv --output=night.trace
is "the clock goes on" "$(at_night)" 5001300
like "as sure as seconds are" "$(cat err)" 'accurate to 301 ms'
sort -r trace_time_align.out >reversed
mv reversed trace_time_align.out
exits "and in whichever order the lines are" 0 take trace_read.out \
	trace_time_align.out --markers=night.csv --output=night.trace
is "it is the same" "$(at_night)" 5001300
rm -f trace_*.out

# ---- what cannot be read ----

cp x.trace before.trace
refused()
{
	refused_title=$1 refused_why=$2
	shift 2
	exits "$refused_title: refused" 2 take "$@" --output=before.trace
	like "$refused_title: said" "$(cat err)" "$refused_why"
}
row='1002000200000     41       0                4096         100000       case_1.npz'
many()
{
	awk -v n="$1" -v row="$row" 'BEGIN { for (i = 0; i < n; i++) print row }'
}
: >trace_read.out
refused "an empty file" "format=mcgill: 'trace_read\\.out' is empty" trace_read.out
mkdir empty
refused "a directory of nothing" 'empty: contains no file of McGill.s scripts' empty
refused "a file that is not there" 'trace_nowhere: cannot be read: No such file' trace_nowhere
echo 'a text' >some.txt
refused "a text" 'some\.txt:1: does not belong to McGill.s scripts' some.txt
refused "another kind of log" '142-trace-exchange\.sh:1: .*None of the first 100 lines' \
	"$TOP/t/func/peers/142-trace-exchange.sh"
printf '\007tae\000\000\000\000' >binary
refused "a binary file" 'binary:1: a NUL byte, which no text contains' "$set" binary
{ many 10; echo '1002000200000     41       0                4096'; } >trace_read.out
refused "half a line of ten" 'trace_read\.out:11: has fewer columns.*1 of 11 lines could not be read' trace_read.out
exits "--lenient leaves it out" 0 take trace_read.out --lenient --output=l.trace
is "and takes the others" "$(rows l.trace | wc -l | tr -d ' ')" 10
like "with a word" "$(cat err)" '^mltrace: warning: 1 line of 11 could not be read, and is left out$'
{ many 999; echo "1002000200000     41       0  409${row}"; } >trace_read.out
exits "two lines in one are one in a thousand" 0 take trace_read.out --output=l.trace
like "that is named" "$(cat err)" 'trace_read\.out:1000: seems to be two lines in one'
for bad in '18446744073709551616 41 0 1 1 a' '-5 41 0 1 1 a' '1002 99999999999 0 1 1 a' \
	'1002 41 0 18446744073709547519 1 a' '1002 41 0 1 1003 a' '1002 41 x 1 1 a'; do
	echo "$bad" >trace_read.out
	refused "absurd numbers ($bad)" 'trace_read\.out:1: .*Nothing in the file could be read' trace_read.out
done
printf '%s\n\000\n' "$row" >trace_read.out
refused "a byte of zero" 'trace_read\.out:2: a NUL byte' trace_read.out
head -c 1100000 /dev/zero | tr '\0' 7 >trace_read.out
refused "a line without an end" 'trace_read\.out:1: a line of more than 1 MiB' trace_read.out
ok "none of which made a trace" cmp x.trace before.trace
echo "1002000200000 41 0 4096 100000 $(head -c 4096 /dev/zero | tr '\0' n)" >trace_read.out
exits "a name of 4096 bytes is one" 0 take trace_read.out --output=n.trace
is "as it is" "$(rows n.trace | cut -d, -f5 | tr -d '\n' | wc -c | tr -d ' ')" 4096
{ many 3; echo 'Lost 77 events'; printf '%s' "$row"; } >trace_read.out
exits "events that bpftrace lost" 0 take trace_read.out --output=lost.trace
is "are lost ones of the trace" \
	"$("$MLTRACE" describe lost.trace --output-format=json 2>/dev/null |
		grep -m1 '"events"' | tr -dc 0-9)" 77
like "a last line without an end is said" "$(cat err)" \
	'trace_read\.out: the last line is incomplete'

# ---- by bpftrace itself ----

python=/usr/bin/python3
# Columns and blanks of theirs; this kernel's tracepoints in place of probes in
# functions. Two files by one script, told apart by their first letter.
cat >calls.bt <<'END'
BEGIN
{
	printf("O %-17s %-6s %-5s %-8s %s %s\n", "TIMESTAMP", "PID", "COMM", "LAT(ns)", "FULLPATH", "FILENAME");
	printf("R %-17s %-6s %-8s %-12s %-12s %s\n", "TIMESTAMP", "PID", "OFFSET", "RET (B)", "LAT(ns)", "FILENAME");
}
tracepoint:syscalls:sys_enter_openat /comm == "reader"/
{
	@path[tid] = str(args->filename);
	@start[tid] = nsecs;
}
tracepoint:syscalls:sys_exit_openat /@start[tid]/
{
	printf("O %-17lu %-6d %s %-8d ./%s %s\n", nsecs, pid, comm, nsecs - @start[tid], @path[tid], args->ret >= 0 ? @path[tid] : "");
	@name[pid, args->ret] = @path[tid];
	delete(@start[tid]);
}
tracepoint:syscalls:sys_enter_pread64 /comm == "reader"/
{
	@fd[tid] = args->fd;
	@off[tid] = args->pos;
	@start[tid] = nsecs;
}
tracepoint:syscalls:sys_exit_pread64 /@start[tid]/
{
	printf("R %-17lu %-8d %-16llu %-12lu %-12lu %s\n", nsecs, pid, @off[tid], args->ret, nsecs - @start[tid], @name[pid, @fd[tid]]);
	delete(@start[tid]);
}
END
cat >reader.py <<'END'
import os
open('/proc/self/comm', 'w').write('reader')
for name in 'one.npz', 'two.npz':
    fd = os.open(name, os.O_RDONLY)
    for off in range(0, 12288, 4096):
        os.pread(fd, 4096, off)
    os.close(fd)
try:
    os.open('none.npz', os.O_RDONLY)
except OSError:
    pass
END
recorded()
{
	why="bpftrace is not here"
	command -v bpftrace >/dev/null || return 1
	why="root records system calls"
	[ "$(id -u)" = 0 ] && [ -x $python ] || return 1
	why="bpftrace does not work here"
	head -c 10000 /dev/zero >one.npz
	head -c 12288 /dev/zero >two.npz
	unshare -m sh -c 'mount -t tracefs none /sys/kernel/tracing
	mount -t debugfs none /sys/kernel/debug
	exec timeout 60 bpftrace -o calls.out -c "'$python' reader.py" calls.bt' \
		>bpftrace.log 2>&1 && grep -q '^R 1*[0-9]' calls.out
}
if recorded; then
	sed -n 's/^O //p; /^Attaching/p' calls.out >trace_openat.out
	sed -n 's/^R //p; /^Attaching/p' calls.out >trace_read.out
	exits "what bpftrace prints is taken" 0 take trace_openat.out \
		trace_read.out --output=real.trace
	is "as what the program did" "$(rows real.trace | cut -d, -f4- |
		sed 's/,\([^,]*\),,\([^,]*\)$/ \1 \2/')" \
"open,./one.npz  0
read,./one.npz 0 4096
read,./one.npz 4096 4096
read,./one.npz 8192 1808
open,./two.npz  0
read,./two.npz 0 4096
read,./two.npz 4096 4096
read,./two.npz 8192 4096
open,./none.npz  -2"
else
	skip "what bpftrace prints is taken" "$why"
	note "$(tail -n 3 bpftrace.log 2>/dev/null)"
fi

done_testing
