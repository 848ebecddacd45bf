#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 163-import-markers.sh - an application's own log says what a trace was for: MLPerf's lines, DLIO's output, or time,text.

. "$(dirname "$0")/tap.sh"

TZ=UTC0
export TZ
python=/usr/bin/python3

# A trace on the time of day: 2026-02-28 12:00:00 and some seconds behind.
base=1772280000
header=start_ns,duration_ns,pid,tid,phase,op,file,offset,bytes,result,cpu_ns
{
	echo $header
	for s in 1 2 3 4 5 6 7 8 9; do
		echo "$((base + s))000000000,1000,7,7,,read,/data/f$((s % 3)),0,4096,4096,0"
	done
} >ops.csv

# marked LOG: the markers that it gives: ms from the base, duration in ms, op, name,
# number, rank.
marked()
{
	"$MLTRACE" import --format=csv ops.csv --markers="$1" --output=x.trace \
		>out 2>err || { cat err; return; }
	"$MLTRACE" export --format=csv x.trace | awk -F, -v base=$base '
	$6 ~ /^(epoch|stage|checkpoint|text)$/ {
		printf "%d %s %s %s %s %s\n", ($1 - base * 1e9) / 1e6 + 0.5,
			$2 == "" ? "-" : int($2 / 1e6 + 0.5), $6, \
			$7 == "" ? "-" : $7, $8 == "" ? "-" : $8, $10
	}'
}

# ---- MLPerf ----

mllog()
{
	printf '%s:::MLLOG {"namespace": "", "time_ms": %s, "event_type": "%s", "key": "%s", "value": %s, "metadata": {"file": "t.py", "lineno": 3%s}}\n' \
		"${6-}" "${base}$1" "$2" "$3" "$4" "${5:+, $5}"
}
{
	echo "Loading, please wait ..."
	mllog 000 POINT_IN_TIME submission_benchmark '"unet3d"'
	mllog 100 INTERVAL_START init_start null
	mllog 900 INTERVAL_END init_stop null
	mllog 1000 INTERVAL_START epoch_start null '"epoch_num": 1' | sed "s/${base}1000/$((base + 1))000/"
	mllog 1000 INTERVAL_END epoch_stop null '"epoch_num": 1' | sed "s/${base}1000/$((base + 4))000/"
	mllog 1000 INTERVAL_START eval_start null '"epoch_num": 1.0000076' | sed "s/${base}1000/$((base + 4))500.7/"
	mllog 1000 INTERVAL_END eval_stop null '"epoch_num": 1' | sed "s/${base}1000/$((base + 5))500/"
	mllog 1000 POINT_IN_TIME eval_accuracy 0.75 | sed "s/${base}1000/$((base + 5))500/"
	mllog 1000 INTERVAL_START epoch_start null '"epoch_num": 2' | sed "s/${base}1000/$((base + 6))000/"
	echo "step 3, loss 0.5"
} >mllog.txt
is "lines of MLPerf are epochs, stages and texts" "$(marked mllog.txt)" \
"0 0 text \"submission_benchmark: \"\"unet3d\"\"\" - -1
100 800 stage init - -1
1000 3000 epoch - 0 -1
4501 999 stage eval - -1
5500 0 text eval_accuracy: 0.75 - -1
6000 - epoch - 1 -1"
like "one that does not end says so" "$(cat err)" \
	'^mltrace: note: mllog\.txt: 1 marker without an end'

{
	mllog 100 INTERVAL_START epoch_start null '"epoch_num": 0' '0: '
	mllog 200 INTERVAL_START epoch_start null '"epoch_num": 0' '[1] '
	mllog 800 INTERVAL_END epoch_stop null '"epoch_num": 0' '1: '
	mllog 900 INTERVAL_END epoch_stop null '"epoch_num": 0' '[0] '
} >ranks.txt
is "ranks have markers of their own" "$(marked ranks.txt)" \
"100 800 epoch - 0 0
200 600 epoch - 0 1"
is "which a description adds up" \
	"$("$MLTRACE" describe x.trace --output-format=json |
		grep -c '"ranks": 2')" 1

# ---- DLIO ----

cat >dlio.log <<'END'
[INFO] Running DLIO [Training] with 1 process(es)
[OUTPUT] 2026-02-28T12:00:00.250000 Running DLIO [Training] with 1 process(es)
[OUTPUT] 2026-02-28T12:00:01.000000 Starting epoch 1: 4 steps expected
[OUTPUT] 2026-02-28T12:00:01.000100 Starting block 1
[OUTPUT] 2026-02-28T12:00:03.000100 Ending block 1 - 4 steps completed in 2.00 s
[OUTPUT] 2026-02-28T12:00:03.100000 Epoch 1 - Block 1 [Training] Accelerator Utilization [AU] (%): 99.0000
[OUTPUT] 2026-02-28T12:00:03.200000 Starting saving checkpoint 1 after total step 4 for epoch 1
[OUTPUT] 2026-02-28T12:00:03.700000 Finished saving checkpoint 1 for epoch 1 in 0.5000 s; Throughput: 1.0000 GB/s
[OUTPUT] 2026-02-28T12:00:04.000000 Ending epoch 1 - 4 steps completed in 3.00 s
[OUTPUT] 2026-02-28T12:00:04.000000 Starting eval - 2 steps expected
[OUTPUT] 2026-02-28T12:00:05.500000 Ending eval - 2 steps completed in 1.50 s
[OUTPUT] 2026-02-28T12:00:06.000000 Starting epoch 2: 4 steps expected
[OUTPUT] 2026-02-28T12:00:06.500000 Starting checkpoint 1 after total step 8 for epoch 2
[OUTPUT] 2026-02-28T12:00:07.500000 Ending checkpoint 1 for epoch 2
[OUTPUT] 2026-02-28T12:00:08.000000 Ending epoch 2 - 4 steps completed in 2.00 s
END
dlio="1000 3000 epoch - 0 -1
1000 2000 stage block - -1
3200 500 checkpoint save 0 -1
4000 1500 stage eval - -1
6000 2000 epoch - 1 -1
6500 1000 checkpoint save 1 -1"
is "DLIO's output is epochs, blocks, evaluations and checkpoints" \
	"$(marked dlio.log)" "$dlio"
like "whose dates have no zone" "$(cat err)" \
	'note: dlio\.log: dates without a zone are in this host.s zone'
sed 's/T12:/T14:/' dlio.log >east.log
is "so TZ says it" "$(TZ=EET-2 marked east.log)" "$dlio"

# ---- time,text ----

cat >marks.csv <<END
time,text
$base.5,job begins
$((base + 1)).0,epoch 0 start
$((base + 2))000,"checkpoint ""save"" begin"
$((base + 2))500000000,checkpoint "save" end
$((base + 3))000000,epoch 0 end
2026-02-28T12:00:03.5Z,eval_begin
2026-02-28T13:00:04+01:00,eval_stop
END
is "seconds, ms, us, ns and dates are times" "$(marked marks.csv)" \
"500 0 text job begins - -1
1000 2000 epoch - 0 -1
2000 500 checkpoint save 0 -1
3500 500 stage eval - -1"
is "without a word, where all is said" "$(cat err)" ""
printf '%s,epoch 0\n%s,epoch 1\n%s,load checkpoint start\n' \
	$((base + 1)) $((base + 5)) $((base + 6)) >plain.csv
is "an epoch that is only named lasts to the next" "$(marked plain.csv)" \
"1000 - epoch - 0 -1
5000 - epoch - 1 -1
6000 - checkpoint restore 0 -1"
is "which is where reads belong" \
	"$("$MLTRACE" describe x.trace --output-format=json |
		sed -n '/"epochs"/,/"stages"/s/^ *"reads": \([0-9]*\).*/\1/p' | paste -sd' ' -)" "4 5"

# The dates of Python's logging have a comma, too.
printf '2026-02-28 12:00:01,500 INFO begin\n%s' "$(cat ranks.txt)" >python.txt
is "a log whose dates have a comma is no table" "$(marked python.txt)" \
	"$(marked ranks.txt)"

# ---- what has no place ----

cp x.trace before.trace
refused()
{
	exits "$1: refused" 2 "$MLTRACE" import --format=csv ops.csv --markers="$2" \
		--output=before.trace
	like "$1: said" "$(cat err)" "$3"
}
sed 's/^time,text/1000000000,text/; s/^2026/2001/; s/^17[0-9.]*/1000000001/' marks.csv >old.csv
refused "markers of another day" old.csv \
	'markers=old\.csv: no marker is within a day of the trace: the first marker is at 983361603\.500 s.*begins at 1772280001\.000'
: >empty
refused "an empty file" empty 'markers=empty: contains no markers: neither lines of :::MLLOG'
echo 'nothing here' >text
refused "a log without any" text 'markers=text: contains no markers'
refused "a directory" . 'Is a directory'
refused "a file that is not there" nowhere 'nowhere: cannot be read: No such file'
printf '%s,a\nnonsense\n' $base >bad.csv
refused "a row that is none" bad.csv "bad\\.csv:2: 'nonsense' is not a time and text"
printf '99999999999999999999999,a\n' >huge.csv
refused "a time beyond all" huge.csv 'huge\.csv: contains no markers'
printf 'time,text\n99999999999999999999999,a\n' >huge.csv
refused "also behind a header" huge.csv "huge\\.csv:2: '9999"
printf '%s,a\n\000\n' $base >zero.csv
refused "a byte of zero" zero.csv 'zero\.csv:2: a NUL byte'
head -c 1100000 /dev/zero | tr '\0' x >long
refused "a line without an end" long 'long:1: a line of more than 1 MiB'
printf ':::MLLOG {"key": "epoch_start", "time_ms": \n' >half.txt
refused "half a line of MLPerf" half.txt \
	'half\.txt:1: no JSON object follows :::MLLOG'
printf ':::MLLOG {"key": "epoch_start", "time_ms": "soon"}\n' >soon.txt
refused "one without a time" soon.txt "soon\\.txt:1: a line of MLPerf needs a text 'key' and a number 'time_ms'"
ok "none of which made a trace" cmp x.trace before.trace

{ cat ranks.txt half.txt; } >lenient.txt
exits "--lenient is of logs" 2 "$MLTRACE" import --format=csv ops.csv --lenient \
	--markers=lenient.txt --output=y.trace

head -c 4096 /dev/zero | tr '\0' n >name
printf '%s,%s start\n%s,%s end\n' $base "$(cat name)" $((base + 1)) "$(cat name)" >name.csv
is "a name of 4096 bytes is cut to 1024" \
	"$(marked name.csv | awk '{ print $1, $2, $3, length($4) }')" "0 1000 stage 1024"
awk -v base=$base 'BEGIN { for (i = 0; i < 6000; i++) print base ",s" i " start" }' >many.csv
is "stages of more kinds than anybody has" "$(marked many.csv | wc -l | tr -d ' ')" 4096
like "are left out, and counted" "$(cat err)" '1904 markers beyond 4096 kinds left out'

# ---- clocks of logs ----

[ -x $python ] || python=python3
if command -v $python >/dev/null; then
	# The notice of the time of day: 1710612736 s and 65536000 ns, at 1 s.
	cat >records.py <<'END'
import struct
def record(time, act, kind, pdu=b''):
    return struct.pack('<IIQQIIIIIHH', 0x65617407, 0, time, 8, 4096,
                       kind << 16 | act, 7, 8 << 20, 0, 0, len(pdu)) + pdu
issue = record(1000000200, 7, 1)
# One that is too short to say a time comes first.
open('x.0', 'wb').write(record(999999000, 1, 0x400, b'\1\2\3\4') + record(1000000000, 1, 0x400, struct.pack('<II', 1710612736, 65536000)) + issue)
open('y.0', 'wb').write(issue)
END
	$python records.py
	printf '%s\n' 1710612736.0655361,epoch\ 0\ start \
		1710612736.0655365,epoch\ 0\ end >clock.csv
	exits "a recording of blktrace knows when it began" 0 "$MLTRACE" import \
		--format=blktrace x.0 --markers=clock.csv --output=m.trace
	is "so that markers are on its clock" "$("$MLTRACE" export --format=csv m.trace |
		grep ,epoch, | cut -d, -f1,2,8)" 1000000100,400,0
	exits "without that they are refused" 2 "$MLTRACE" import \
		--format=blktrace y.0 --markers=clock.csv --output=n.trace
	like "with the reason" "$(cat err)" \
		'^mltrace: markers=clock\.csv: cannot be placed in the trace: the recording does not contain the time of day at which it began$'
else
	skip "a recording of blktrace knows when it began" "python3 is not here"
fi

done_testing
