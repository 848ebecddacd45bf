#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 178-replay-input.sh - traces that cannot be replayed, places where they cannot, options that do not fit: each in words.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

own_mounts || :

# refused TITLE REGEX OPTION...: a usage or run error that says so, and nothing made.
refused()
{
	title=$1 words=$2
	shift 2
	"$MLGEN" --name=r "$@" >out 2>err </dev/null
	status=$?
	like "$title: status $status is 1 or 2" "$status" '^[12]$'
	like "$title: said" "$(cat out err)" "$words"
}

"$MLGEN" --name=w --rw=randrw --bs=4k --size=256k --ioengine=psync \
	--trace=good.mlt >w.out 2>&1 || note "$(cat w.out)"
again="--directory=$T/own --replay_time=asap"

# ---- options ----

refused "no trace" 'replay_trace=FILE' --phase=replay
refused "a trace that is not there" 'nowhere.mlt' --replay_trace=nowhere.mlt
refused "rw beside a trace" 'rw: an option of plain I/O' \
	--replay_trace=good.mlt --rw=read
refused "a speed of nothing" 'replay_speed: 0 is below' \
	--replay_trace=good.mlt --replay_speed=0
refused "an unknown order" "replay_order: 'any'" \
	--replay_trace=good.mlt --replay_order=any
refused "an unknown time" "replay_time: 'slow'" \
	--replay_trace=good.mlt --replay_time=slow
refused "traced files of an engine that has none" 'replay_files' \
	--replay_trace=good.mlt --replay_files=traced --ioengine=null

# ---- traces ----

: >empty
refused "an empty file" 'empty' --replay_trace=empty
echo 'open("a") = 3' >text
refused "a text" 'text' --replay_trace=text
refused "a directory" 'own|directory' --replay_trace="$T"
echo "fio version 3 iolog" >none.iolog
refused "a log of nothing" 'no operation|nothing' --replay_trace=none.iolog
printf 'fio version 3 iolog\n0 a raed 0 1\n' >bad.iolog
refused "a log with an unknown word" "bad.iolog:2|2: 'raed'" \
	--replay_trace=bad.iolog

"$MLGEN" --name=w --rw=randread --size=256m --ioengine=null --trace=long.mlt \
	>w.out 2>&1
size=$(wc -c <long.mlt)
head -c $((size * 3 / 4)) long.mlt >cut.mlt
# shellcheck disable=SC2086 # several options
exits "a truncated trace is replayed as far as it goes" 0 \
	"$MLGEN" --name=r --replay_trace=cut.mlt --ioengine=null $again
like "and said to be" "$(cat "$T/out" "$T/err")" 'incomplete|truncated'

# ---- places ----

refused "a directory that holds the files of the trace" 'holds|replay_files=traced' \
	--replay_trace=good.mlt --directory=/
if [ -n "${MLGEN_TEST_MOUNTED-}" ] && mount_small small 128k; then
	refused "a filesystem that is too small" 'free|space|room' \
		--replay_trace=good.mlt --directory="$T/small/own"
	is "of which nothing is made" "$(find small -type f | wc -l)" 0
	mount -o remount,ro small
	refused "a filesystem that is read-only" '[Rr]ead-only' \
		--replay_trace=good.mlt --directory="$T/small/own"
else
	skip "a filesystem that is too small" "no mount can be made"
fi
refused "readonly" 'readonly' --replay_trace=good.mlt --readonly \
	--directory="$T/own3"
not_ok "of which nothing is made" test -e own3

# ---- names that lead elsewhere ----

printf 'fio version 3 iolog\n0 ../../../../../../..%s/out/f add\n' "$T" >up.iolog
printf '0 ../../../../../../..%s/out/f open\n' "$T" >>up.iolog
printf '1 ../../../../../../..%s/out/f write 0 4096\n' "$T" >>up.iolog
mkdir out.d
exits "a name with .. is replayed below the directory" 0 \
	"$MLGEN" --name=r --replay_trace=up.iolog --directory="$T/own4"
is "and nowhere else" "$(find . -name f | grep -vc '^./own4/')" 0
mkdir -p own5 elsewhere
exits "what a replay makes" 0 "$MLGEN" --name=r --replay_trace=up.iolog \
	--directory="$T/own5"
made=$(cd own5 && find . -name f)
mv "own5/${made%/f}" elsewhere/moved
ln -s "$T/elsewhere/moved" "own5/${made%/f}"
rm -f elsewhere/moved/f
refused "a link below the directory" 'link' --replay_trace=up.iolog \
	--directory="$T/own5"
not_ok "nothing is written through it" test -e elsewhere/moved/f

# ---- devices ----

printf 'fio version 3 iolog\n0 /dev/vdz add\n0 /dev/vdz open\n' >dev.iolog
printf '1 /dev/vdz write 0 4096\n' >>dev.iolog
exits "writes to a device go to a file below the directory" 0 \
	"$MLGEN" --name=r --replay_trace=dev.iolog --directory="$T/own6"
is "of its name" "$(wc -c <own6/dev/vdz)" 4096

# ---- many ----

awk 'BEGIN {
	print "start_ns,duration_ns,pid,tid,phase,op,file,offset,bytes,result,cpu_ns"
	for (p = 1; p <= 3000; p++) {
		at = p * 1000000
		printf "%.0f,1000,%d,%d,,open,data/f%d,,0,0,\n", at, p, p, p % 7
		printf "%.0f,1000,%d,%d,,read,data/f%d,0,4096,4096,\n", at + 2000, p, p, p % 7
		printf "%.0f,1000,%d,%d,,close,data/f%d,,,0,\n", at + 4000, p, p, p % 7
	}
}' >many.csv
"$MLTRACE" import --format=csv many.csv --output=many.mlt >/dev/null 2>&1
# shellcheck disable=SC2086 # several options
exits "three thousand processes, one after the other" 0 "$MLGEN" --name=r \
	--replay_trace=many.mlt $again --output-format=json --output=run.json
is "share a worker" "$(json run.json jobs.0.io.replay.threads \
	jobs.0.io.numjobs jobs.0.io.replay.done_operations)" "3000 1 9000"
awk 'BEGIN {
	print "start_ns,duration_ns,pid,tid,phase,op,file,offset,bytes,result,cpu_ns"
	for (p = 1; p <= 5000; p++)
		printf "%.0f,9000000000,%d,%d,,read,data/f,0,4096,4096,\n", p, p, p
}' >wide.csv
"$MLTRACE" import --format=csv wide.csv --output=wide.mlt >/dev/null 2>&1
refused "five thousand at the same time" 'replay_threads=' \
	--replay_trace=wide.mlt --directory="$T/own7"
# shellcheck disable=SC2086 # several options
exits "which share as many as are said" 0 "$MLGEN" --name=r \
	--replay_trace=wide.mlt $again --replay_threads=8 \
	--output-format=json --output=run.json
is "and all are done" "$(json run.json jobs.0.io.numjobs \
	jobs.0.io.replay.done_operations)" "8 5000"

# ---- what fails ----

mkdir there
head -c 8192 /dev/zero >there/f
awk -v d="$T/there" 'BEGIN {
	print "start_ns,duration_ns,pid,tid,phase,op,file,offset,bytes,result,cpu_ns"
	print "1000,10,1,1,,open," d "/f,,0,3,"
	print "2000,10,1,1,,read," d "/f,0,4096,4096,"
	print "3000,10,1,1,,read," d "/f,4096,4096,4096,"
	print "4000,10,1,1,,open," d "/none,,0,-2,"
}' >there.csv
"$MLTRACE" import --format=csv there.csv --output=there.mlt >/dev/null 2>&1
exits "what failed in the trace may fail" 0 "$MLGEN" --name=r \
	--replay_trace=there.mlt --replay_files=traced --directory="$T/own8"
rm there/f
refused "a traced file that is gone is named" 'there/f' \
	--replay_trace=there.mlt --replay_files=traced --directory="$T/own8"
done_testing
