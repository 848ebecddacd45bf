#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 165-import-dftracer.sh - files of DFTracer become a trace, with positions, names behind hashes, and marks of the training.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# shellcheck disable=SC2034 # for imports.sh
kind=dftracer
. "$(dirname "$0")/imports.sh"

cat >want <<END
$header
1700000000000060000,5000000,100,100,train,stage,train,,,-1,
1700000000000060000,5000000,,,train,epoch,,0,,-1,
1700000000000100000,12000,100,100,train,open,/data/train/a.npz,,524288,0,
1700000000000120000,1000,100,100,train,stat,/data/train/a.npz,,,0,
1700000000000130000,20000,100,100,train,read,/data/train/a.npz,0,4096,4096,
1700000000000160000,20000,100,100,train,read,/data/train/a.npz,4096,65536,1000,
1700000000000200000,5000,100,100,train,read,/data/train/a.npz,22,8,8,
1700000000000210000,9000,100,101,train,read,/data/train/a.npz,4000,100,100,
1700000000000230000,3000,100,100,train,close,/data/train/a.npz,,0,0,
1700000000000240000,3000,100,100,train,open,/data/none,,0,-5,
1700000000000250000,300000,100,100,train,fork,,,0,102,
1700000000000600000,12000,102,102,train,open,/data/train/b.npz,,,0,
1700000000000620000,10000,102,102,train,read,/data/train/b.npz,0,512,512,
1700000000000640000,10000,102,102,train,read,/data/train/b.npz,512,512,512,
1700000000000680000,10000,102,102,train,close,/data/train/b.npz,,0,0,
1700000000000980000,4000,100,100,train,stat,/out/log.csv,,,0,
1700000000001000000,10000,100,100,train,open,/out/log.csv,,,0,
1700000000001020000,10000,100,100,train,write,/out/log.csv,0,30,30,
1700000000001040000,10000,100,100,train,write,/out/log.csv,30,5,5,
1700000000001060000,10000,100,100,train,close,/out/log.csv,,0,0,
1700000000002000000,500000,100,100,train,compute,,0,,-1,
1700000000005100000,700000,100,100,save,checkpoint,save,,,-1,
1700000000005100000,700000,,,save,epoch,,1,,-1,
END
exits "the files of two processes are imported" 0 \
	take "$logs/train.pfw" "$logs/worker.pfw"
"$MLTRACE" export --format=csv x.trace | sed 's/,[^,]*$//' >got
ok "calls, positions and marks are as they were" cmp want got
like "calls that are not known are counted" "$(cat err)" 'left out: ftruncate 1$'
like "so are positions that follow from others" "$(cat err)" '^mltrace: note: 7 offsets'
is "which are marked in the trace" \
	"$("$MLTRACE" export --format=csv x.trace | grep -c ',off_in[a-z]*$')" 7
like "and STDIO that stands for itself" "$(cat err)" \
	'^mltrace: note: 4 calls of STDIO are imported'
like "or that is there again" "$(cat err)" \
	'^mltrace: note: 1 call of STDIO is left out, because the log contains'
like "and failures without a reason" "$(cat err)" \
	'^mltrace: note: 1 call failed, but the log does not contain the error; the trace contains EIO'
like "and descriptors that nobody opened" "$(cat err)" \
	'without a name in the log, such as pipes, are left out: read 1$'
like "and events of the application that are no marker" "$(cat err)" \
	'^mltrace: note: 1 event of the application'
like "where epochs come from is said" "$(cat err)" \
	'^mltrace: note: epochs are derived from the first and last event'

# DFTracer compresses in blocks, which are members of gzip.
{ head -n 9 "$logs/train.pfw" | gzip -c
	tail -n +10 "$logs/train.pfw" | gzip -c; } >train.pfw.gz
exits "compressed files are no others" 0 take train.pfw.gz "$logs/worker.pfw"
"$MLTRACE" export --format=csv x.trace | sed 's/,[^,]*$//' >got
ok "and give the same" cmp want got
exits "so does a pipe" 0 sh -c \
	'cat train.pfw.gz | "$MLTRACE" import --format=dftracer - --output=x.trace'
is "of the one file" "$(rows | wc -l | tr -d " ")" 19

exits "older files have names in clear, and numbers in quotes" 0 \
	take "$logs/profiler.pfw"
is "which is the same" "$(rows)" \
	"1699999999000001000,3000,8,16,,open,/data/img_000.npz,,0,0,
1699999999000005000,9000,8,16,,read,/data/img_000.npz,0,262144,262144,
1699999999000020000,1000,8,16,,close,/data/img_000.npz,,0,0,
1699999999000030000,1000,8,16,,mkdir,/out,,0,0,
1699999999000040000,1000,8,16,,rename,/out/.a\\x00/out/a,,0,0,
1699999999000050000,1000,8,16,,open,/data,,,0,"

# ---- what events may lack ----

# event NAME TS ARGS...: a call of process 1.
event()
{
	printf '{"name":"%s","cat":"POSIX","pid":1,"tid":1,"ts":%s,"dur":1,"ph":"X","args":{%s}}\n' \
		"$1" "$2" "$3"
}

name='{"name":"FH","cat":"dftracer","pid":1,"tid":1,"ph":"M","args":{"name":"/d/late","value":"f1"}}'
{ event open 1 '"fhash":"f1"'; event read 2 '"fhash":"f1","count":5,"ret":5'
	event close 3 '"fhash":"f1"'; event open 4 '"fhash":77'; echo "$name"; } >late.pfw
exits "a name may come behind what it names" 0 take late.pfw
is "a hash without one stands for itself" "$(rows | cut -d, -f7 | uniq)" \
	"/d/late
hash 77"
like "and is told" "$(cat err)" '^mltrace: note: 1 file without a name, because no event FH'
"$MLTRACE" describe x.trace --output-format=json >x.json
is "a description has the name, too" \
	"$(json x.json trace.files.0.path trace.directories.0.path)" "/d/late /d"

{ event open 1 '"fname":"/a"'; event open 2 '"fname":"/a"'
	event read 3 '"fname":"/a","ret":5'; event close 4 '"fname":"/a"'
	event close 5 '"fname":"/a"'; event open 6 '"fname":"/a"'
	event read 7 '"fname":"/a","ret":5'; event read 8 '"fname":"/b","ret":5'
	event lseek 9 '"fname":"/b","offset":7,"whence":0,"ret":7'
	event read 10 '"fname":"/b","ret":5'; event read 11 '"fname":"/b","ret":-1,"errno":9'
	event pread 12 '"fname":"/b","offset":-1,"count":1,"ret":-22'; } >twice.pfw
exits "a file may be open twice, or from before" 0 take twice.pfw
is "then positions are not known, but behind an open or a seek" \
	"$(rows | sed -n '/read/s/^[^/]*//p')" \
	"/a,,5,5,
/a,0,5,5,
/b,,5,5,
/b,7,5,5,
/b,,,-9,
/b,,1,-22,"

{ for ph in '"X"' 1; do event open 1 '"fname":"/a"' | sed "s/\"X\"/$ph/"; done
	for ph in 2 3 '"C"'; do event read 2 '"fname":"/a"' | sed "s/\"X\"/$ph/"; done
	echo "$name" | sed 's/"M"/4/'; event stat 3 '"fhash":"f1"'; } >kinds.pfw
exits "the kind of an event may be a number" 0 take kinds.pfw
is "which is that of a complete one, or of a name" "$(rows | cut -d, -f6,7)" \
	"open,/a
open,/a
stat,/d/late"
like "and counters and sums are left out" "$(cat err)" \
	'^mltrace: note: 3 events left out: neither complete'

# unit VALUE: the event that says which unit times have.
unit()
{
	printf '{"name":"CM","cat":"dftracer","pid":1,"tid":1,"ph":"M","args":{"name":"time_metric","value":"%s"}}\n' \
		"$1"
}

is "times have the unit that the log says" "$(
	for u in NS US MS SEC; do
		{ unit $u; event open 7 '"fname":"/a"'; } >unit.pfw
		take unit.pfw >/dev/null 2>&1
		rows | cut -d, -f1,2 | paste -sd' ' -
	done)" \
	"7,1
7000,1000
7000000,1000000
7000000000,1000000000"
{ unit MS; event open 7 '"fname":"/a"'; } >ms.pfw
event open 7 '"fname":"/b"' >us.pfw
exits "each file has its own" 0 take ms.pfw us.pfw
is "and microseconds where it says none" "$(rows | cut -d, -f1,7)" \
	"7000,/b
7000000,/a"
{ cat us.pfw; unit US; cat us.pfw; } >again.pfw
exits "a unit may be said again" 0 take again.pfw
{ cat us.pfw; unit MS; } >behind.pfw
exits "but no other one behind times" 2 take behind.pfw
like "which is said" "$(cat err)" \
	'^mltrace: behind\.pfw:2: time_metric MS comes after 1 event with times'
{ unit DAYS; cat us.pfw; } >days.pfw
exits "nor one that nobody knows" 2 take days.pfw
like "which is named" "$(cat err)" "^mltrace: days\\.pfw:1: time_metric 'DAYS' is not a known unit"

fork='{"name":"fork","cat":"POSIX","pid":1,"tid":1,"ts":3,"dur":1,"ph":"X","args":{"ret":2}}'
{ event open 1 '"fname":"/a"'; echo "$fork"; event read 4 '"fname":"/a","ret":5'; } >one.pfw
event read 4 '"fname":"/a","ret":5' | sed 's/"pid":1/"pid":2/' >two.pfw
exits "a child's calls come behind all of its parent's" 0 take one.pfw two.pfw
is "so that nobody knows where it reads what it inherits" \
	"$(rows | sed -n '/read/s/^[0-9]*,1000,//p')" \
	"1,1,,read,/a,0,5,5,
2,1,,read,/a,,5,5,"

printf '%s\n' '{"name":"epoch","cat":"pipeline","pid":1,"tid":1,"ts":0,"dur":9,"ph":"X","args":{"epoch":0}}' \
	'{"name":"step","cat":"pipeline","pid":1,"tid":1,"ts":1.5,"dur":2,"ph":"X","args":{"epoch":0,"step":3}}' \
	'{"name":"step","cat":"compute","pid":1,"tid":1,"ts":1,"dur":2,"ph":"X","args":{"epoch":0}}' \
	'{"name":"pipeline.evaluate","cat":"pipeline","pid":1,"tid":1,"ts":5,"dur":2,"ph":"X"}' \
	'{"name":"load_checkpoint","cat":"c","pid":1,"tid":1,"ts":6,"dur":2,"ph":"X"}' >marks.pfw
exits "an event that is an epoch is one" 0 take marks.pfw
is "and no other makes one" "$(rows)" \
	"0,9000,1,1,epoch 0,epoch,,0,,-1,
1500,2000,1,1,epoch 0,step,,3,,-1,
5000,2000,1,1,eval,stage,eval,,,-1,
6000,2000,1,1,restore,checkpoint,restore,,,-1,"

printf '1700000000.000050,train start\n1700000000.006,train end\n' >marks.csv
exits "marks of the application's own log go with it" 0 \
	take "$logs/worker.pfw" --markers=marks.csv
is "by the time of day" "$(rows | sed -n 's/,stage,.*//p')" \
	"1700000000000050000,5950000,,,train"
exits "but not where times are none of day" 2 take twice.pfw --markers=marks.csv
like "which is said" "$(cat err)" "the log's times are not times of day"

# ---- what is no such file ----

refused()
{
	printf '[\n%b' "$2" >bad.pfw
	exits "$1: refused" 2 take bad.pfw
	like "$1: with its place" "$(cat err)" "^mltrace: bad\\.pfw:$3"
}

refused "a text" 'name,cat\n' '2: is not a JSON object'
refused "what is no JSON" '{"name":"open" "cat":"POSIX"}\n' \
	"2: is not JSON: .*at byte [0-9]+ of it"
refused "no kind" '{"name":"open","cat":"POSIX","ts":1}\n' '2: an event without ph'
refused "a number that is no kind" \
	'{"name":"open","cat":"POSIX","ts":1,"ph":9}\n' '2: an event without ph'
refused "no name" '{"cat":"POSIX","ts":1,"ph":"X"}\n' '2: an event without name or cat'
refused "no time" '{"name":"open","cat":"POSIX","ph":"X"}\n' '2: an event without ts'
refused "a time before all" '{"name":"open","cat":"POSIX","ph":"X","ts":-5}\n' \
	'2: an event without ts'
refused "no duration" '{"name":"open","cat":"POSIX","ph":"X","ts":5,"dur":"x"}\n' \
	'2: dur is not a number'
exits "an empty file is refused" 2 take /dev/null

# ---- what is the part of a line that a cut left ----

{ echo 'fio version 3 iolog'; echo '1 /a read 0 4096'; printf '2 /a rea'; } >cut.fio-iolog
{ printf 'start_ns,op,file,bytes\n1,read,/a,5\n2,re'; } >cut.csv
{ printf '# start_time: 5\n# DXT, file_id: 1, file_name: /a\n'
	printf ' X_POSIX 0 read 0 0 5 0.1 0.2\n X_POSIX 0 re'; } >cut.darshan
{ echo 'TIMESTAMP PID OFFSET RET LAT FILENAME'
	echo '100 1 0 5 10 a'; printf '200 1'; } >cut.mcgill
{ echo '1 10:00:00.000000 openat(AT_FDCWD, "/a", O_RDONLY) = 3 <0.000001>'
	printf '1 10:00:01.000000 read(3, ""..., 5) ='; } >cut.strace
for kind in csv fio-iolog strace mcgill darshan; do
	exits "format=$kind of a log that was cut has what is whole" 0 take "cut.$kind"
	is "format=$kind: one call" "$(rows | wc -l | tr -d ' ')" 1
	like "format=$kind: and says so" "$(cat err)" "cut\\.$kind: the last line is incomplete"
done
kind=dftracer

# ---- what has nothing for a trace, whatever the importer ----

echo "$name" >empty.dftracer
echo '{"syscall":"futex","call_timestamp":1,"return_timestamp":2,"pid":1,"tid":1}' >empty.dio
echo '1 10:00:00.000000 getpid() = 1 <0.000001>' >empty.strace
echo "$header" >empty.csv
echo 'fio version 3 iolog' >empty.fio-iolog
echo '# darshan log version: 3.41' >empty.darshan
echo 'TIMESTAMP PID OFFSET RET LAT FILENAME' >empty.mcgill
# A record of blktrace's that only names a process.
{ printf '\007tae\001\000\000\000%016d%016d' 0 0 | tr 0 '\000'
	printf '\000\000\000\000\000\000\000\000'; } >empty.blktrace
for kind in csv fio-iolog strace mcgill darshan dftracer blktrace dio; do
	rm -f x.trace
	exits "format=$kind of a log without calls is refused" 2 take "empty.$kind"
	ok "format=$kind of it leaves no trace" test ! -e x.trace
done
kind=dio
take empty.dio 2>err
like "with what the log has" "$(cat err)" 'unknown calls are left out: futex 1$'
like "and with what it has not" "$(cat err)" \
	"^mltrace: format=dio: 'empty\\.dio' contains neither calls on files"
kind=dftracer

{ event open 1 '"fname":"/a"'; echo '{"name":"read","cat":"POSIX","args":{"x'
	event close 3 '"fname":"/a"'; echo '}'; printf '{"name":"read"'; } >torn.pfw
exits "a file with torn lines is refused" 2 take torn.pfw
like "with the way out" "$(cat err)" '^mltrace: torn\.pfw:2: is not a complete JSON object\. 2 of 4 lines.*--lenient'
exits "and taken by --lenient" 0 take torn.pfw --lenient
is "with all events that are whole" "$(rows | cut -d, -f6 | paste -sd, -)" "open,close"
like "an event without an end is one that was being written" "$(cat err)" \
	'torn\.pfw: the last line is incomplete'
head -c -100 train.pfw.gz >cut.pfw.gz
exits "a compressed file that is cut off is read up to there" 0 take cut.pfw.gz
like "with how far it goes" "$(cat err)" '^mltrace: warning: cut\.pfw\.gz: the gzip file is cut off'
done_testing
