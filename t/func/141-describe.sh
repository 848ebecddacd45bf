#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 141-describe.sh - what a trace shows is told as text, JSON and CSV, whatever state the trace is in.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"
maketrace=$BUILT/build/t/tools/maketrace
[ -x "$maketrace" ] || skip_all "build/t/tools/maketrace is not here; make check builds it"

# described FILE...: what a trace shows, as a document.
described()
{
	"$MLTRACE" describe "$@" --output-format=json
}

# figures FILE KEY...: of the document, below trace.
figures()
{
	figures_of=$1
	shift
	# shellcheck disable=SC2046 # a word for each key
	json "$figures_of" $(printf 'trace.%s\n' "$@")
}

# ---- a loader of two workers, two epochs
cat >two.list <<'END'
run two 0 1741964968000000000 1000
fact program=mlgen
fact host=golden
process 1 ? python train.py
process 2 1 python train.py
process 3 1 python train.py
size /data/a 8192
open 1000 100 2 2 /data/a 0 0 5
read 2000 1000 2 2 /data/a 0 4096 4096
read 4000 1000 2 2 /data/a 4096 4096 4096
close 7000 100 2 2 /data/a 0 0 0
open 1100 100 3 3 /data/b 0 0 5
read 2100 3000 3 3 /data/b 0 4096 4096
close 8100 100 3 3 /data/b 0 0 0
open 1000001000 100 2 2 /data/b 0 0 5
read 1000002000 1000 2 2 /data/b 0 4096 4096
close 1000007000 100 2 2 /data/b 0 0 0
open 1000001100 100 3 3 /data/a 0 0 5
read 1000012200 3000 3 3 /data/a 0 8192 8192
close 1000018100 100 3 3 /data/a 0 0 0
stat 1000019000 100 3 3 /data/none 0 0 -2
END
"$maketrace" two.trace <two.list

exits "a trace is described" 0 "$MLTRACE" describe two.trace
is "without a word on standard error" "$(cat err)" ""
like "the first line is what it read, and how fast" "$(head -n 1 out)" \
	'^trace: 24 KiB read at 0\.023 MiB/s, 0 B written, 2 files, 1\.00 s$'
like "who did so is said, and how sure that is" "$(cat out)" \
	'1 trainer \(likely\), 2 loaders \(likely\)'
like "what was not recorded is unknown, and why" "$(cat out)" \
	'^block requests +unknown: block requests were not recorded$'
is "no line is longer than a terminal" "$(awk 'length > 80' out)" ""

described two.trace >two.json
is_json "a document is JSON" two.json
is "operations are counted, those that failed apart" \
	"$(figures two.json operations.read.count operations.read.bytes \
		operations.read.lat_ns.N operations.stat.count \
		operations.stat.errors)" "5 24576 5 0 1"
is "so are files, their bytes, and what was read again" \
	"$(figures two.json unique.read_files unique.bytes unique.reread_percent)" \
	"2 12288 50.0"
is "epochs are found by that, in the order of their files" \
	"$(figures two.json order.source order.sure epochs.1.files \
		epochs.1.order_correlation)" \
	"files that are read again likely 2 -1.0"
is "processes have roles" "$(figures two.json processes.0.role \
	processes.1.role processes.2.role processes.2.pid)" \
	"loader loader trainer 1"
is "what is not known is null, and why stands beside it" \
	"$(figures two.json samples cache.hit_percent block.reads \
		cpu.on_percent cpu.unknown)" \
	"null null null null the CPU time of threads was not recorded"

# ---- the same beside it, and over time
exits "--json writes the document beside the text" 0 \
	"$MLTRACE" describe two.trace --json=beside.json --log=two.csv \
	--log_interval=100ms
ok "which is the same" sh -c 'sed /lat_ns/,/bins/d two.json |
	grep -v "seconds\|hit_percent" | head -40 >a
	sed /lat_ns/,/bins/d beside.json | grep -v "seconds\|hit_percent" |
	head -40 >b; cmp a b'
is "--log has a row for each interval of traced time" \
	"$(sed 1d two.csv | wc -l | tr -d ' ')" 11
is "under the names of its columns" "$(sed -n '1s/,/ /gp' two.csv |
	awk '{ print $1, $5, NF }')" "seconds read_bytes 14"
is "which add up to all there was" "$(awk -F, 'NR > 1 { n += $5 }
	END { print n }' two.csv)" 24576
is "and are empty where nothing is known" "$(sed -n 2p two.csv)" \
	"0.100,2,4,3,12288,0,0,0,0,,,,,"
exits "what cannot be an output is refused before anything is read" 2 \
	"$MLTRACE" describe two.trace --log=two.trace
like "by its name" "$(cat err)" 'log=two.trace: is also an input file'
exits "a description is no CSV" 2 \
	"$MLTRACE" describe two.trace --output-format=csv
exits "nor a summary of DLIO's" 2 \
	"$MLTRACE" describe two.trace --output-format=dlio
like "which says what there is" "$(cat err)" "output-format: 'dlio' is not one of text json"

# ---- names
cat >names.list <<'END'
read 0 10 1 1 /d/new\x0aline\x1b[2J 0 10 10
read 20 10 1 1 /d/latin\xe9 0 9 9
process 1 ? \xff\x0a
END
"$maketrace" names.trace <names.list
"$MLTRACE" describe names.trace >out 2>err
is "no name orders a terminal about" "$(tr -d '\n\t -~' <out | wc -c |
	tr -d ' ')" 0
described names.trace >names.json
is_json "nor spoils a document" names.json
is "in which names have escapes" "$(figures names.json files.1.path)" \
	'/d/latin\\xe9'

# ---- several files
cut_parts()
{
	{ echo "run $1 0 1000000000 0"; cat; } >"$1.0.list"
	sed 's/^run \([^ ]*\) 0/run \1 1/' "$1.0.list" >"$1.1.list"
	"$maketrace" "$1.0.trace" <"$1.0.list"
	"$maketrace" "$1.1.trace" <"$1.1.list"
}
echo 'read 0 1000 1 1 /a 0 4096 4096' | cut_parts one
exits "files of one run are one trace" 0 \
	"$MLTRACE" describe one.1.trace one.0.trace
described one.0.trace one.1.trace >one.json
is "with the sum of both" "$(figures one.json trace_files records \
	unique.files unique.bytes)" "2 2 1 4096"
exits "files of two runs are refused" 2 \
	"$MLTRACE" describe one.0.trace two.trace
like "and named" "$(cat err)" 'two.trace'
exits "so is the same part twice" 2 \
	"$MLTRACE" describe one.0.trace one.0.trace

# ---- traces that are not whole
exits "a text is no trace" 2 "$MLTRACE" describe two.list
like "which is said" "$(cat err)" 'two.list: .*not a trace'
: >empty
exits "nor is an empty file" 2 "$MLTRACE" describe empty
cp two.trace later.trace
printf '\143' | dd of=later.trace bs=1 seek=8 conv=notrunc 2>/dev/null
exits "nor is one of a later version read" 2 "$MLTRACE" describe later.trace
like "which is named" "$(cat err)" 'later.trace: .*version 99'
exits "nor one that is not there" 2 "$MLTRACE" describe nowhere
exits "a question about traces needs one" 2 "$MLTRACE" describe

: | "$maketrace" none.trace
exits "a trace without a record is described" 0 "$MLTRACE" describe none.trace
like "as one that has none" "$(head -n 1 out)" '^trace: no records$'
like "with a warning" "$(cat err)" 'warning: the trace has no records'

echo 'lost read 3 1000 2000 7 the ring was full' | "$maketrace" lost.trace
exits "so is one that only lost what there was" 0 \
	"$MLTRACE" describe lost.trace
like "which stands first" "$(cat out)" \
	'^  INCOMPLETE +3 events lost \(read: the ring was full\)'
like "and is warned of" "$(cat err)" 'the trace is incomplete: 3 events lost'
described lost.trace >lost.json 2>/dev/null
is "in the document, too" "$(figures lost.json is_complete lost.events \
	lost.parts.0.operation lost.parts.0.why)" \
	"false 3 read the ring was full"

{ sed '/open 1000001000/i flush' two.list; } | "$maketrace" parts.trace
size=$(wc -c <parts.trace)
head -c $((size - 60)) parts.trace >cut.trace
exits "one that was cut off is described as far as it goes" 0 \
	"$MLTRACE" describe cut.trace
like "and says so" "$(cat out)" 'INCOMPLETE +1 file of the trace without an end'
described cut.trace >cut.json 2>/dev/null
is "with the records that are there" "$(figures cut.json is_complete \
	truncated records)" "false 1 14"

# Some byte of the first chunk of records; there are several chunks before it.
damage()
{
	cp parts.trace bad.trace
	printf '\377\377\377' |
		dd of=bad.trace bs=1 seek="$1" conv=notrunc 2>/dev/null
	described bad.trace >bad.json 2>bad.err
}
damaged=0 invented=0
for at in $(seq 70 23 $((size - 100))); do
	damage "$at" || { damaged=-1000; note "at $at: $(cat bad.err)"; }
	[ "$(figures bad.json is_complete)" = true ] ||
		damaged=$((damaged + 1))
	[ "$(figures bad.json records)" -le 14 ] 2>/dev/null ||
		invented=$((invented + 1))
done
like "bytes that were changed are noticed, and the rest is described" \
	"$damaged" '^[1-9][0-9]*$'
is "and no record is made up" "$invented" 0

done_testing
