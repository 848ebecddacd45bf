#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 182-distil-input.sh - traces of which no job can be made, or only a part of one: each in words.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

maketrace=$BUILT/build/t/tools/maketrace
[ -x "$maketrace" ] || skip_all "build/t/tools/maketrace is not built"

# made NAME: the trace NAME.mlt of the list on standard input
made()
{
	"$maketrace" "$1.mlt" >make.out 2>&1 || note "$(cat make.out)"
}

# refused TITLE REGEX ARGUMENT...: a usage error that says so, and no job.
refused()
{
	title=$1 words=$2
	shift 2
	exits "$title is refused" 2 "$MLTRACE" distil "$@"
	like "in words" "$(cat err)" "$words"
	is "and nothing is printed" "$(cat out)" ""
}

# is_job TITLE FILE: mlgen takes it, and so it has all that it needs
is_job()
{
	exits "$1" 0 "$MLGEN" "$2" --showjob
}

# epoch FIRST_NS PID TID COUNT [DIRECTORY]: a thread reads files of 4 KiB, one each ms
epoch()
{
	awk -v at="$1" -v who="$2 $3" -v n="$4" -v dir="${5:-/data/set}" 'BEGIN {
		for (i = 0; i < n; i++) {
			f = dir "/s_" i ".npy"
			print "open", at, 1000, who, f, 0, 0, 0
			print "read", at + 2000, 9000, who, f, 0, 4096, 4096
			print "close", at + 12000, 1000, who, f, 0, 0, 0
			at += 1000000
		}
	}'
}

# ---- no trace at all
refused "no file" 'distil: no file; name the files of a trace'
refused "a file that is not there" 'nowhere.mlt: .*No such file' nowhere.mlt
: >empty.mlt
refused "an empty file" 'empty.mlt: .*(empty|no trace)' empty.mlt
echo '[x]' >text.mlt
refused "a text" 'text.mlt: .*not a trace' text.mlt
refused "a directory" 'is not a regular file' "$T"
epoch 1000 10 11 40 | made one
head -c 8 one.mlt >short.mlt
refused "the begin of one" 'short.mlt: .*first 64 bytes' short.mlt
refused "another form of output" "output-format: 'json' is not one of text" --output-format=json one.mlt
refused "--json beside it" 'json' --json=x.json one.mlt
refused "--require beside it" 'require' --require='au>=90' one.mlt

# ---- traces without what a job is made of
made none <<'END'
process 10 1 python train.py
END
refused "a trace without records" 'no records' none.mlt
for i in 1 2 3 4 5 6 7 8 9; do
	echo "open ${i}000 10 10 11 /data/set/$i.npz 0 0 0"
	echo "stat ${i}100 10 10 11 /data/set/$i.npz ? 4096 0"
	echo "close ${i}200 10 10 11 /data/set/$i.npz 0 0 0"
done | made names
refused "one of names and sizes alone" 'names\.mlt: the trace shows only' names.mlt
made system <<'END'
open 1000 10 10 11 /usr/lib/libc.so.6 0 0 0
read 2000 10 10 11 /usr/lib/libc.so.6 0 832 832
close 3000 10 10 11 /usr/lib/libc.so.6 0 0 0
END
refused "one of the system's files" 'programs, libraries' system.mlt
made marks <<'END'
epoch 1000 5000 10 11 - 0 ? 0
step 1000 5000 10 11 - 0 4 0
END
refused "one of markers alone" 'no calls on files' marks.mlt
made blocks <<'END'
block_issue 1000 0 0 0 8:0 4096 4096 0
block_complete 2000 1000 0 0 8:0 4096 4096 0
END
refused "one of block requests alone" 'only block requests' blocks.mlt

# ---- half of what a job is made of
exits "a single epoch is a job" 0 "$MLTRACE" distil one.mlt
cp out one.job
like "of one epoch" "$(cat one.job)" '^epochs=1$'
like "and as many files" "$(cat one.job)" '^num_files=40$'
is_job "that mlgen takes" one.job
{
	epoch 1000 10 11 40
	epoch 90000000 10 11 17
} | made half
exits "one and a half is one" 0 "$MLTRACE" distil half.mlt
like "with the files of the whole" "$(cat out)" '^num_files=40$'
cp out half.job
is_job "that mlgen takes" half.job
epoch 1000 10 11 17 | sed 's,\(s_[0-9]*\),\1_of_40,' | made begun
exits "a half of the first" 0 "$MLTRACE" distil begun.mlt
is "is an epoch of the files that names speak of" \
	"$(grep '^num_files=\|^epochs=' out | paste -sd' ' -)" \
	"num_files=40 epochs=1"
like "that is not whole" "$(cat out)" '^# The epoch is partial: 17 of 40'
cp out begun.job
is_job "and that mlgen takes" begun.job

"$MLGEN" --name=w --num_files=64 --sample_size=64k --compute_time=1ms \
	--epochs=40 --directory=data --format=npz --trace=long.mlt --quiet \
	>w.out 2>&1 || note "$(cat w.out)"
size=$(wc -c <long.mlt)
head -c $((size * 2 / 3)) long.mlt >cut.mlt
exits "a trace that is cut is a job of what there is" 0 "$MLTRACE" distil cut.mlt
like "and its head says so" "$(cat out)" '^# NOT WHOLE: files of the trace that end early: 1'
cp out cut.job
is_job "that mlgen takes" cut.job
{
	echo 'lost read 500 1000 2000 11 the buffer was full'
	epoch 1000 10 11 40
} | made lost
exits "one with lost events, too" 0 "$MLTRACE" distil lost.mlt
like "and its head says so" "$(cat out)" '^# LOST: 500 events'
rm -rf data
exits "files that are gone are no hindrance" 0 "$MLTRACE" distil long.mlt
like "a job is made without them" "$(cat out)" '^format=npz$'

# ---- several at once
{
	epoch 1000 10 11 40 /data/a
	epoch 1500 20 21 30 /data/b
	epoch 90000000 10 11 40 /data/a
	epoch 90001500 20 21 30 /data/b
} | made two
exits "two trainings at once are two sections" 0 "$MLTRACE" distil two.mlt
is "each" "$(grep -c '^phase=train$' out)" 2
is "with its files" "$(grep '^num_files=' out | sort | paste -sd' ' -)" \
	"num_files=30 num_files=40"
cp out two.job
is_job "that mlgen takes" two.job
{
	epoch 1000 10 11 40 /data/a
	epoch 1500 20 21 40 /data/a
	epoch 90000000 10 11 40 /data/a
	epoch 90001500 20 21 40 /data/a
} | made same
exits "two of the same files are one" 0 "$MLTRACE" distil same.mlt \
	--output=same.job
like "that says what they may be" "$(cat same.job)" \
	'^# Or each of 2 processes reads all files'
is_job "and that mlgen takes" same.job
{
	awk 'BEGIN { for (i = 0; i < 3000; i++)
		print "process", 100 + i, 10, "worker" }'
	awk 'BEGIN { for (i = 0; i < 3000; i++) {
		f = "/data/set/s_" i ".npy"
		at = 1000 + i * 20000
		print "open", at, 1000, 100 + i, 100 + i, f, 0, 0, 0
		print "read", at + 2000, 9000, 100 + i, 100 + i, f, 0, 4096, 4096
		print "close", at + 12000, 1000, 100 + i, 100 + i, f, 0, 0, 0
	} }'
} | made many
exits "thousands of processes" 0 "$MLTRACE" distil many.mlt
like "are workers of one training" "$(grep -c '^phase=train$' out)" '^1$'
cp out many.job
is_job "that mlgen takes" many.job

# ---- sizes and pages
{
	awk 'BEGIN { for (i = 0; i < 20; i++) {
		f = "/data/huge/s_" i ".npy"
		print "size", f, 9e11
	} }' | sed 's/9e+11/900000000000/'
	epoch 1000 10 11 20 /data/huge
	epoch 90000000 10 11 20 /data/huge
} | made huge
exits "files that no disk here holds" 0 "$MLTRACE" distil huge.mlt
cp out huge.job
is_job "are a job of files of that size" huge.job
# Places in files that no file can have, and samples larger than mlgen's.
for size in 1125899906842624 9223372036854771711 18446744073709547520; do
	awk -v size="$size" 'BEGIN { for (e = 0; e < 2; e++) for (i = 0; i < 9; i++) {
		f = "/data/far/s_" i ".bin"
		at = 1000 + e * 90000000 + i * 1000000
		print "open", at, 1000, 10, 11, f, 0, 0, 0
		print "read", at + 2000, 1000, 10, 11, f, size, 4096, 4096
		print "close", at + 4000, 1000, 10, 11, f, 0, 0, 0
	} }' | made far
	exits "reads at $size" 0 "$MLTRACE" distil far.mlt --output=far.job
	larger=9
	[ "$size" != 18446744073709547520 ] || larger=0 # no place at all
	is "are of samples as large as can be" \
		"$(grep -c '^# Samples of 9 of 9 files, up to' far.job)" \
		"$((larger / 9))"
	is_job "in a job that mlgen takes" far.job
	rm -f far.*
done
awk 'BEGIN { for (e = 0; e < 2; e++) for (i = 0; i < 20; i++) {
	f = "/data/map/s_" i ".bin"
	at = 1000 + e * 90000000 + i * 1000000
	print "mmap", at, 1000, 10, 11, f, 0, 65536, 4096
	for (k = 0; k < 16; k++)
		print "fault", at + 2000 + k * 2000, 1000, 10, 11, f, 4096 * k, 4096, 0
} }' | made pages
exits "one that is all page faults" 0 "$MLTRACE" distil pages.mlt
like "says what became of them" "$(cat out)" '^# .*(mapped|page fault|pages)'
cp out pages.job
is_job "that mlgen takes" pages.job

# ---- names
awk 'BEGIN {
	for (c = 0; c < 3; c++) {
		f = "/save/part.pt"; t = 1000000 + c * 400000000
		print "open", t, 1000, 10, 10, f, 0, 577, 5
		for (k = 0; k < 64; k++)
			print "write", t + 10000 + k * 100000, 90000, 10, 10, f, k * 1048576, 1048576, 1048576
		print "fsync", t + 7000000, 1000000, 10, 10, f, 0, 0, 0
		print "close", t + 9000000, 1000, 10, 10, f, 0, 0, 0
		print "rename", t + 9100000, 1000, 10, 10, f, 2, 0, 0
	}
	f = "/save/state"; t = 1500000000
	print "open", t, 1000, 10, 10, f, 0, 0, 5
	for (k = 0; k < 64; k++)
		print "read", t + 10000 + k * 100000, 90000, 10, 10, f, k * 1048576, 1048576, 1048576
	print "close", t + 9000000, 1000, 10, 10, f, 0, 0, 0
}' | "$BUILT/build/t/tools/maketrace" renamed.mlt
exits "a checkpoint that is renamed" 0 "$MLTRACE" distil renamed.mlt
is "is restored by its new name" "$(grep -c '^phase=restore' out)" 1
mkdir plain
"$MLGEN" --name=checkpoint --rw=randrw --size=1m --bs=4k --directory=plain \
	--trace=named.mlt --quiet >out 2>&1 || note "$(cat out)"
exits "a plain job of that name" 0 "$MLTRACE" distil named.mlt
is "is none" "$(grep ^phase= out)" "phase=io"

# ---- where it goes
exits "--output in a folder that is not there" 2 "$MLTRACE" distil one.mlt \
	--output=here/my.job
like "is said" "$(cat err)" 'here/my.job: cannot be written'
mkdir here
exits "--output" 0 "$MLTRACE" distil one.mlt --output=here/my.job
is "has the job, with data of that name" "$(grep -v '^#' here/my.job)" \
	"$(grep -v '^#' one.job | sed 's,mlgen-data/one,mlgen-data/my,')"
is "and standard output nothing" "$(cat out)" ""
done_testing
