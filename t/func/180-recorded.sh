#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 180-recorded - access=recorded: samples are read by the calls of a file, as strace and a trace see them.
# On disk: direct=1 is tried, which files in memory do not have.

. "$(dirname "$0")/tap.sh"
. "$TOP/t/func/runs.sh"
. "$TOP/t/func/calls.sh"

mkdir jobs
cat >jobs/all.calls <<'EOS'
# as an archive is read: head, tail, all of it by two sizes
template 100%
stat
open
stat
read start 4096
read end-30 64
read start 3000,1000 *
read here 8
close
EOS
cat >jobs/job.job <<'EOS'
[job]
directory=data
format=raw
access=recorded
recorded_calls=all.calls
num_files=8
batch_size=2
sample_size=10000
phase=train
shuffle=none
ioengine=psync
EOS
exits "a dataset is made for it" 0 "$MLGEN" --phase=prepare jobs/job.job
exits "and read" 0 "$MLGEN" --output-format=json jobs/job.job
is "a sample takes the reads of the template" \
	"$(json out jobs.0.read.total_ios)" 64
is "and the bytes that these get" "$(json out jobs.0.read.io_bytes)" \
	$((8 * (4096 + 30 + 10000)))
exits "a dry run knows them before" 0 "$MLGEN" --dry-run jobs/job.job
like "by kind and size" "$(tr -s ' \n' ' ' <"$T/out")" \
	'per sample: open 1, stat 2, read 8 '

file=data/train/img_3_of_8.raw
want="open
read 4096 @0 = 4096
read 64 @9970 = 30
read 3000 @0 = 3000
read 1000 @3000 = 1000
read 3000 @4000 = 3000
read 1000 @7000 = 1000
read 3000 @8000 = 2000
read 8 @10000 = 0
close"
# What looks at files before and after a run reads nothing.
with_reads()
{
	awk '
	{ block = block $0 "\n" }
	/^read/ { has = 1 }
	/^close/ { if (has) printf "%s", block; block = ""; has = 0 }'
}

if can_trace; then
	ok "it runs under strace" trace "$MLGEN" jobs/job.job
	is "whose calls are those of the template, in its order" \
		"$(calls "$file" each | grep -v stat | with_reads)" "$want"
else
	skip "whose calls are those of the template" "strace is not allowed"
fi
exits "it is traced" 0 "$MLGEN" jobs/job.job --trace=job.trace
"$MLTRACE" export --format=csv job.trace >job.csv 2>"$T/err"
is "with the stats where the template has them" \
	"$(awk -F, -v file="$file" '$7 == file && $6 ~ /^(open|stat|read|close)$/ {
		print $6 }' job.csv | tr '\n' ' ')" \
	"stat open stat read read read read read read read read close "

# ---- a mixture, several samples in a file, an asynchronous engine

cat >jobs/mix.calls <<'EOS'
template 75%
open
read sample sample
close
template 25%
open
read sample 16
read sample+100 50 x3
read any 512
close
EOS
cat >jobs/mix.job <<'EOS'
[mix]
directory=mix
format=raw
access=recorded
recorded_calls=mix.calls
num_files=16
samples_per_file=64
batch_size=4
sample_size=1000
phase=train
ioengine=psync
EOS
"$MLGEN" --phase=prepare jobs/mix.job >/dev/null 2>&1

# of each sample: how many reads, and whether they are those of its template
mixed()
{
	exits "$1" 0 "$MLGEN" jobs/mix.job --trace=mix.trace "$2" "$3"
	"$MLTRACE" export --format=csv mix.trace >mix.csv 2>"$T/err"
	reads=$(awk -F, '$6 == "read"' mix.csv | wc -l)
	whole=$(awk -F, '$6 == "read" && $9 == 1000' mix.csv | wc -l)
	parts=$(awk -F, '$6 == "read" && $9 == 16' mix.csv | wc -l)
	is "each sample has one of the two" $((whole + parts)) 1024
	is "with all its calls" $((whole + 5 * parts)) "$reads"
	is "in about these shares" \
		"$([ "$parts" -gt 200 ] && [ "$parts" -lt 320 ] && echo yes)" \
		yes
}

mixed "several samples in a file are read each by its template" \
	--randseed=1 --epochs=1
first=$parts
mixed "by io_uring, too, where requests are chained" --ioengine=io_uring \
	--loader=plain
mixed "and again" --randseed=1 --epochs=1
is "the same samples by the same one" "$parts" "$first"

exits "an evaluation reads so, too" 0 "$MLGEN" jobs/job.job --eval_files=4 \
	--directory=eval --phase=prepare
exits "with its own files" 0 "$MLGEN" jobs/job.job --eval_files=4 \
	--directory=eval --output-format=json
is "by the same calls" "$(json out jobs.0.ml.eval.io_bytes)" \
	$((4 * (4096 + 30 + 10000)))

# ---- with O_DIRECT

exits "whole blocks are read with direct=1" 0 "$MLGEN" jobs/job.job \
	--direct=1 --trace=direct.trace
"$MLTRACE" export --format=csv direct.trace >direct.csv 2>"$T/err"
is "wherever the template reads" \
	"$(awk -F, '$6 == "read" && ($8 % 512 || $9 % 512)' direct.csv | wc -l)" 0

# ---- what is refused

sed '/^recorded_calls/d' jobs/job.job >jobs/without.job
exits "no calls are refused" 2 "$MLGEN" jobs/without.job
like "with the way out" "$(cat "$T/err")" 'recorded_calls=FILE'
echo 'read start 5' >>jobs/all.calls
exits "bad calls are refused" 2 "$MLGEN" jobs/job.job
like "by line" "$(cat "$T/err")" \
	'jobs/all.calls:11: read: the file is not open'
rm jobs/all.calls
exits "and no file" 2 "$MLGEN" jobs/job.job
like "by name" "$(cat "$T/err")" 'recorded_calls: jobs/all.calls: '

done_testing
