#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 183-preprocess-at.sh - a sample is decoded behind its last read, read by read, or behind the reads that are named: the same time, elsewhere.
# In virtual time, where arithmetic holds whatever else the machine does.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

maketrace=$BUILT/build/t/tools/maketrace
[ -x "$maketrace" ] || skip_all "build/t/tools/maketrace is not built"
virtual_time

# run NAME OPTION...: 8 samples of 1 MiB, each decoded in 10 ms, by one reader
run()
{
	name=$1
	shift
	exits "$name runs" 0 "$MLGEN" --name=x --format=npz --num_files=8 \
		--sample_size=1m --batch_size=1 --read_threads=1 \
		--directory=data --preprocess_time=10ms --epochs=1 \
		--trace="$name.mlt" --json="$name.json" --quiet "$@"
	"$MLTRACE" export --format=csv "$name.mlt" >"$name.csv"
}

# pauses NAME: in whole ms, within samples and between them, of all
pauses()
{
	awk -F, '
	$6 == "open" && end { between += $1 - end }
	($6 == "read" || $6 == "close" || $6 == "stat") && end { within += $1 - end }
	$6 ~ /^(open|read|close|stat)$/ { end = $1 + $2 }
	END { printf "%.0f %.0f\n", within / 1e6, between / 1e6 }' "$1.csv"
}

# shortest NAME: pause between two calls of a sample, in us; of NumPy's small
# reads each has 39 of the 10,000
shortest()
{
	awk -F, '
	$6 ~ /^(read|close)$/ && end && $1 > end && (!least || $1 - end < least) {
		least = $1 - end }
	$6 ~ /^(open|read|close|stat)$/ { end = $1 + $2 }
	END { print (least >= 50000) }' "$1.csv"
}

run sample --access=framework
run reads --access=framework --preprocess_at=reads
run plain --access=plain --bs=128k --preprocess_at=reads
is "behind a sample: between samples" "$(pauses sample)" "0 70"
is "read by read: within samples" "$(pauses reads)" "80 0"
is "nobody sleeps for less than 50 us" "$(shortest reads)" 1
is "of plain reads, too" "$(pauses plain)" "80 0"
is "which takes as long" "$(ml reads.json wall_seconds | cut -c1-4)" \
	"$(ml sample.json wall_seconds | cut -c1-4)"
run burnt --access=framework --preprocess_at=reads --preprocess=burn
is "busy on a CPU, as well" "$(pauses burnt)" "80 0"
run eval --access=framework --preprocess_at=reads --eval_files=8 --eval_batch_size=1
is "an evaluation is decoded alike" "$(pauses eval)" "160 0"

# ---- behind the reads that are named
# behind READ NAME: ms behind that read of each sample, of all
behind()
{
	awk -F, -v read="$1" '
	$6 == "open" { n = 0 }
	$6 ~ /^(read|close)$/ && n == read { at += $1 - end }
	$6 == "read" { n++ }
	$6 ~ /^(open|read|close|stat)$/ { end = $1 + $2 }
	END { printf "%.0f\n", at / 1e6 }' "$2.csv"
}
run split --access=framework --preprocess_at=reads --preprocess_split=3/30:10/50
is "its part is behind the third read" "$(behind 3 split)" 24
is "and the tenth" "$(behind 10 split)" 40
is "and what is left behind the sample" "$(pauses split)" "64 14"
run none --access=framework --preprocess_at=reads --preprocess_split=500/100
is "a read that is not made has none" "$(pauses none)" "0 70"

run firsts --access=framework --preprocess_at=reads --preprocess_split=500/100 \
	--first_sample_time=50ms --first_sample_split=3/30:10/50
is "of a first sample, too, behind the third read" "$(behind 3 firsts)" 15
is "and the tenth" "$(behind 10 firsts)" 25
is "and what is left, with that of all samples, behind it" "$(pauses firsts)" "40 80"

# ---- what it does not go with
refused()
{
	text=$1
	shift
	exits "refused: $*" 2 "$MLGEN" --name=x --ioengine=null --format=npz \
		--preprocess_at=reads --preprocess_time=1ms "$@"
	like "because $text" "$(cat err)" "$text"
}
refused 'preprocess_at: loader=tfdata decodes complete batches' --loader=tfdata \
	--format=tfrecord --shuffle=none
refused 'preprocess_at: .* reads 4 samples at a time' --iodepth=4 --loader=plain --ioengine=io_uring \
	--access=plain
exits "a split of no reads" 0 "$MLGEN" --name=x --ioengine=null --format=npz \
	--preprocess_time=1ms --preprocess_split=1/50 --dry-run
like "means nothing" "$(cat err out)" 'preprocess_split: has an effect only with preprocess_at=reads'
exits "without a time" 0 "$MLGEN" --name=x --ioengine=null --format=npz \
	--preprocess_at=reads --dry-run
like "it is told to mean nothing" "$(cat err out)" 'preprocess_at'

# ---- as a trace has it, of batches of 4
# traced NAME CALLS: three epochs of 48 files, of each of which these calls are made
traced()
{
	awk 'function call(op, off, bytes, cpu) {
		at += cpu
		print op, at, 1000, 10, 11, f, off, bytes, bytes, cpu
		at += 1000
	}
	BEGIN { at = 1000000
		for (e = 0; e < 3; e++) for (i = 0; i < 48; i++) {
			f = "/data/set/s_" i ".bin"
			at += i % 4 ? 0 : 10000000
			'"$2"'
		} }' | "$maketrace" "$1.mlt"
}

# 0.2 ms of CPU behind the first read, 0.6 behind the second, 0.2 behind the sample
traced decoded 'call("open", 0, 0, 200000)
	call("read", 0, 1024, 1000)
	call("read", 1024, 131072, 200000)
	call("close", 0, 0, 600000)'
exits "a trace with CPU time is distilled" 0 "$MLTRACE" distil decoded.mlt
is "with the time of a sample, and where it is spent" \
	"$(grep ^preprocess out | paste -sd' ' -)" \
	"preprocess_time=1001us preprocess_at=reads preprocess_split=1/20:2/60 preprocess=sleep"

# parts of 33.6, 33.6 and 32.8 % are 100 together, and not 101
traced thirds 'call("open", 0, 0, 0)
	call("read", 0, 1024, 0)
	call("read", 1024, 4096, 336000)
	call("read", 5120, 131072, 336000)
	call("close", 0, 0, 328000)'
exits "a trace with thirds is distilled" 0 "$MLTRACE" distil thirds.mlt
is "into parts that can be" "$(grep ^preprocess_split out)" "preprocess_split=1/34:2/33:3/33"

# pages of a mapping are reads, too: 0.6 ms behind the second of three
traced touched 'if (e == 0)
		print "size", f, 131072
	call("open", 0, 0, 200000)
	call("read", 0, 1024, 1000)
	call("mmap", 0, 131072, 1000)
	call("close", 0, 0, 1000)
	call("fault", 0, 4096, 200000)
	call("fault", 65536, 4096, 600000)
	call("munmap", 0, 131072, 1000)'
exits "a trace of a mapping is distilled" 0 "$MLTRACE" distil touched.mlt
is "with the time of a sample, and behind which pages it is spent" \
	"$(grep ^preprocess out | paste -sd' ' -)" \
	"preprocess_time=1004us preprocess_at=reads preprocess_split=1/20:2/60 preprocess=sleep"

# ---- the same by two new processes in each epoch, whose first samples have 30 ms
# more behind the first read and 10 ms behind the second
{
	awk 'BEGIN {
	print "process 10 1 python"
	for (p = 20; p < 26; p++)
		print "process", p, 10, "python"
}'
	awk 'function call(op, off, bytes, cpu) {
	at += cpu
	printf "%s %.0f %d %d %d %s %d %d %d %d\n", op, at, 1000, p, p, f, off, bytes, bytes, cpu
	at += 1000
}
BEGIN { for (e = 0; e < 3; e++) for (i = 0; i < 96; i++) {
		k = int(i / 4)
		p = 20 + 2 * e + k % 2
		f = "/data/set/s_" (i * (5 + 6 * e)) % 96 ".bin"
		if (i % 4 == 0)
			at = 1000000 + e * 400000000 + (k < 2 ? 0 : 40000000) + k * 10000000
		is_first = i == 0 || i == 4
		call("open", 0, 0, 200000)
		call("read", 0, 1024, 1000)
		call("read", 1024, 131072, 200000 + is_first * 30000000)
		call("close", 0, 0, 600000 + is_first * 10000000)
	} }' | sort -s -n -k 2
} | "$maketrace" new.mlt
exits "a trace of new workers is distilled" 0 "$MLTRACE" distil new.mlt
is "with where a first sample takes longer" \
	"$(grep -E '^(first|preprocess)_' out | paste -sd' ' -)" \
	"first_sample_time=40ms preprocess_time=1001us preprocess_at=reads preprocess_split=1/20:2/60 first_sample_split=1/75:2/25"

# ---- times that no model is near to: two of five samples take 2.6 times as long
awk 'function call(op, off, bytes, cpu) {
	at += cpu
	printf "%s %.0f %d %d %d %s %d %d %d %d\n", op, at, 1000, 10, 11, f, off, bytes, bytes, cpu
	at += 1000
}
BEGIN { at = 1000000
	for (e = 0; e < 3; e++) for (i = 0; i < 200; i++) {
		f = "/data/set/s_" i ".bin"
		at += i % 4 ? 0 : 10000000
		x = ((i * 7) % 5 < 2 ? 2.6 : 1) * (1 + (i * 13) % 17 / 50)
		call("open", 0, 0, 200000)
		call("read", 0, 1024, 1000)
		call("read", 1024, 131072, int(200000 * x))
		call("close", 0, 0, int(600000 * x))
	} }' | "$maketrace" uneven.mlt
exits "a trace with uneven times is distilled" 0 "$MLTRACE" distil uneven.mlt --output=uneven.job
is "they go beside the job" "$(grep ^preprocess_time= uneven.job)" \
	"preprocess_time=file:uneven.preprocess"
like "which is told" "$(cat err)" 'uneven.preprocess belongs to the job'
is "with all of them, from 1 to 2.9 ms" "$(grep -v '^#' uneven.preprocess | sed -n '1s/ .*//p;$s/ .*//p' |
	paste -s -d' ' -)" "1001us 2946.6us"
exits "and mlgen takes it" 0 "$MLGEN" uneven.job --dry-run
echo mine >uneven2.preprocess
exits "another's file is not written over" 2 "$MLTRACE" distil uneven.mlt --output=uneven2.job
is "it stays as it was" "$(cat uneven2.preprocess)" mine
done_testing
