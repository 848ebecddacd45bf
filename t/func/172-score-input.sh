#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 172-score-input.sh - what is scored: phases, files in scope, hosts; and what cannot be.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"
maketrace=$BUILT/build/t/tools/maketrace
[ -x "$maketrace" ] || skip_all "build/t/tools/maketrace is not here; make check builds it"

# reads FILES SIZE NAME...: the list of a trace: each file opened, read in two
# halves and closed, one behind the other, in this order.
reads()
{
	echo "fact host=one"
	echo "mount 8388609 ext4 /data /dev/sdb1"
	reads_size=$1
	shift
	printf '%s\n' "$@" | awk -v size="$reads_size" '{
		t = NR * 1000000
		half = size / 2
		print "open", t, 1000, 2, 2, $1, 0, 0, 5
		print "read", t + 2000, 9000, 2, 2, $1, 0, half, half
		print "read", t + 12000, 9000, 2, 2, $1, half, half, half
		print "close", t + 22000, 1000, 2, 2, $1, 0, 0, 0
	}'
}
files=$(awk 'BEGIN { for (e = 0; e < 3; e++) for (i = 0; i < 40; i++)
	print "/data/f" (i * (7 + 10 * e)) % 41 }')

score()
{
	"$MLTRACE" score "$@" --output-format=json >score.json 2>score.err
	status=$?
}

# shellcheck disable=SC2086 # a word for each file
reads 8192 $files >real.list
"$maketrace" real.mlt <real.list
score real.mlt real.mlt
is "without markers all of a trace is one phase" \
	"$status $(json score.json score.whole score.phases.0.phase score.verdict)" \
	"0 true all pass"
is "of which steps and samples are not known" \
	"$(json score.json score.phases.0.figures.20.figure \
		score.phases.0.figures.20.unknown score.phases.0.figures.9.unknown)" \
	"step: p50 no steps are marked no samples are marked"

# ---- what is one operation, and what is none
{
	cat real.list
	for n in 1 2 3 4 5 6 7 8 9; do
		echo "open ${n}00 10 2 2 /usr/lib/libm.so.6 0 0 5"
		echo "read ${n}20 10 2 2 /usr/lib/libm.so.6 0 832 832"
		echo "read ${n}40 10 2 2 pipe:[4711] 0 8 8"
		echo "read ${n}60 10 2 2 /home/me/train.py 0 4096 4096"
		echo "stat ${n}61 1 2 2 /home/me 0 4096 0"
		echo "write ${n}62 10 2 2 /dev/shm/sem.z3c8Be 0 32 32"
		echo "fact stdout=/home/me/out"
		echo "write ${n}64 10 2 2 /home/me/out 0 32 32"
		echo "stat ${n}80 10 2 2 /data/none 0 0 -2"
		echo "async_submit ${n}90 0 2 2 - $n 0 0"
		echo "async_complete ${n}95 0 2 2 - $n 0 0"
	done
} >more.list
"$maketrace" more.mlt <more.list
score real.mlt more.mlt
is "what a program brings along is left out, and counted" \
	"$status $(json score.json score.m1 score.m2 score.m4 \
		score.traces.1.other_calls score.traces.1.failed_calls)" \
	"0 0.0 0.0 0.0 63 9"
sed 's/^read \(.*\)$/read \1 ? 32/' real.list >async.list
"$maketrace" async.mlt <async.list
score real.mlt async.mlt
is "an asynchronous read is a read" \
	"$status $(json score.json score.m1 score.m3)" "0 0.0 0.0"

# Pages of a file that a call has mapped are read in 64 KiB; those of a program that
# the kernel has mapped are not.
reads 262144 /data/a /data/b | sed 's/131072/65536/g' >halves.list
awk '$1 == "close" { print "close", $2 - 500, 100, 2, 2, $6, 0, 0, 0
		print "munmap", $2, 1000, 2, 2, $6, 0, 131072, 0
		print "fault", $2 + 9, 100, 2, 2, "/home/me/program", 0, 4096, 0 }
	$1 == "open" { print; print "mmap", $2 + 1500, 200, 2, 2, $6, 0, 131072, 4096 }
	$1 == "read" { print "fault", $2, 9000, 2, 2, $6, $7, 4096, 0 }
	$1 ~ /^(fact|mount)$/' halves.list | "$maketrace" mapped.mlt
"$maketrace" halves.mlt <halves.list
score halves.mlt mapped.mlt
is "pages of a mapping are reads" \
	"$status $(json score.json score.m1 score.m2 score.m3 score.m4 score.m5)" \
	"0 0.0 0.0 0.0 0.0 0.0"

# A run that marks its samples, beside one that does not.
awk '$1 == "open" { print "sample", $2, 22000, 2, 2, $6, n++ % 40, 8192, 0 }
	{ print }' real.list | "$maketrace" marked.mlt
score real.mlt marked.mlt
is "where one marks no samples, files are what is visited" \
	"$status $(json score.json score.phases.0.figures.12.figure \
		score.phases.0.figures.12.distance \
		score.phases.0.figures.13.distance \
		score.phases.0.figures.14.distance)" "0 coverage 0.0 0.0 0.0"
awk '/ \/data\/f[0-9] / { next }
	$1 == "open" { print "sample", $2, 22000, 2, 2, $6, n++ % 30, 8192, 0 }
	{ print }' real.list | "$maketrace" some.mlt
score real.mlt some.mlt
is "and of 41 ten may be missing" "$status $(json score.json \
	score.phases.0.figures.12.distance)" "3 0.24390243902439024"

# ---- controls by hand
# shellcheck disable=SC2086
reads 16384 $files | "$maketrace" sizes.mlt
score real.mlt sizes.mlt
is "other sizes: M2 (twice the bytes), M3, M4" \
	"$status $(json score.json score.phases.0.figures.1.distance \
		score.phases.0.figures.3.distance score.phases.0.figures.4.distance \
		score.phases.0.figures.8.distance)" "3 1.0 1.0 1.0 1.0"
# shellcheck disable=SC2046
reads 8192 $(printf '%s\n' "$files" | sort -s) | "$maketrace" order.mlt
score real.mlt order.mlt
is "another order: M6 or M7, and no other before" "$status $(json score.json \
	score.m1 score.m2 score.m3 score.m4)" "3 0.0 0.0 0.0 0.0"

# ---- where M8 to M12 decide
sed 's/host=one/host=two/; s/^\(open\|read\|close\) \([0-9]*\)/\1 \20/' \
	real.list >slow.list
"$maketrace" slow.mlt <slow.list
score real.mlt slow.mlt
is "of another host times are shown" \
	"$status $(json score.json score.same_place score.m8 score.m9 \
		score.phases.0.figures.22.verdict)" "0 false null null shown"
sed 's/host=two/host=one/' slow.list | "$maketrace" slow.mlt
score real.mlt slow.mlt
is "of the same host they decide" "$status $(json score.json \
	score.same_place score.phases.0.figures.22.verdict)" "3 true fail"
sed 's/sdb1/sdc1/; s/host=two/host=one/' slow.list | "$maketrace" slow.mlt
score real.mlt slow.mlt
is "but not of other storage" "$status $(json score.json score.unlike)" \
	"0 the traces come from different filesystems"
# What else is mounted, and what is hardly used, is not where the data is.
{
	echo "mount 22 proc /proc proc"
	echo "mount 24 ext4 / /dev/sda1"
	echo "mount 25 ext4 /dat /dev/sdd1"
	cat real.list
	echo "write 900 10 2 2 /home/me/notes 0 100 100"
} | "$maketrace" mounts.mlt
score real.mlt mounts.mlt
is "storage is what held the data, whatever else is mounted" \
	"$(json score.json score.same_place)" true
score real.mlt real.mlt slow.mlt
is "nor where one of several is of another" \
	"$(json score.json score.same_place)" "false"

# ---- phases
{
	echo "stage 1000000 28999999 2 2 train ? ? 0"
	echo "stage 30000000 200000000 2 2 eval ? ? 0"
	cat real.list
} | "$maketrace" phases.mlt
sed 's/ train / rehearse /; s/ eval / eval /' <<END >other.list
stage 1000000 28999999 2 2 train ? ? 0
stage 30000000 200000000 2 2 eval ? ? 0
END
cat other.list real.list | "$maketrace" other.mlt
score phases.mlt phases.mlt
is "phases are those that markers name" "$status $(json score.json \
	score.whole score.phases.0.phase score.phases.1.phase)" \
	"0 false train eval"
score phases.mlt other.mlt
is "a phase that only one has is as far off as can be" \
	"$status $(json score.json score.phases.0.phase \
		score.phases.0.figures.0.distance score.phases.1.verdict \
		score.phases.2.phase)" "3 train 1.0 pass rehearse"
score phases.mlt real.mlt
is "traces without a phase in common are compared as a whole" \
	"$status $(json score.json score.whole score.phases.0.phase score.m1)" \
	"0 true all 0.0"

# A file that has many samples is opened for each of them; one of both marks epochs.
awk 'BEGIN { for (i = 0; i < 240; i++) {
	print "open", i "000", 100, 2, 2, "/data/f" i % 4, 0, 0, 5
	print "read", i "200", 100, 2, 2, "/data/f" i % 4, i % 40 * 8192, 8192, 8192 } }' \
	>samples.list
{
	cat samples.list
	for n in 0 1 2; do
		echo "epoch $((n * 80000)) 79000 2 2 - $n 0 0"
	done
} | "$maketrace" epochs.mlt
"$maketrace" samples.mlt <samples.list
score samples.mlt epochs.mlt
is "files of many samples are visited as often, whoever marks the epochs" \
	"$status $(json score.json score.phases.0.figures.13.figure \
		score.phases.0.figures.13.distance)" "0 visits an epoch 0.0"

# ---- lengths, and crowds
"$maketrace" short.mlt 300 10
"$maketrace" long.mlt 30000 10
score short.mlt long.mlt
is "a hundred times as long is too long" \
	"$status $(json score.json score.verdict)" "3 fail"
awk 'BEGIN { for (i = 1; i <= 5000; i++)
	print "read", i * 1000, 900000000, i, i, "/data/f" i % 10, 0, 4096, 4096 }' |
	"$maketrace" crowd.mlt
score crowd.mlt crowd.mlt
is "so are thousands of processes, that are no trouble" \
	"$status $(json score.json score.m2 score.m10)" "0 0.0 null"
is "their number is a figure" \
	"$(json score.json score.phases.0.figures.25.distance)" "0.0"

# Workers that come one after the other, as of each epoch, are no crowd.
awk 'BEGIN { for (i = 0; i < 6000; i++)
	print "read", i "000000", 900000, 1, 2 + i % 2, "/data/f" i % 10, 0, 4096, 4096 }' |
	"$maketrace" same.mlt
awk 'BEGIN { for (i = 0; i < 6000; i++)
	print "read", i "000000", 900000, 1, 2 + i % 2 + 2 * int(i / 2000), "/data/f" i % 10, 0, 4096, 4096 }' |
	"$maketrace" anew.mlt
score same.mlt anew.mlt
is "two workers are two, be they new ones in each epoch" "$(json score.json \
	score.phases.0.figures.24.distance score.phases.0.figures.25.distance)" "0.0 0.0"

# A program that begins long before its data is read.
awk '$1 ~ /^(open|read|close)$/ { $2 = 60 sprintf("%09d", $2) } { print }
	END { print "read 1000 500 2 2 /usr/lib/libm.so.6 0 832 832" }' real.list |
	"$maketrace" start.mlt
score real.mlt start.mlt
is "what a program does before is no time of the phase" "$status $(json score.json \
	score.phases.0.figures.22.figure score.phases.0.figures.22.distance)" \
	"0 time of the phase 0.0"

# ---- more is asked for
exits "a requirement may hold" 0 "$MLTRACE" score real.mlt more.mlt \
	--require='score.m1<=0.1,score.m12<=0.1'
"$maketrace" near.mlt <<END
$(cat real.list)
stat 1500000 10 2 2 /data/f1 0 8192 0
stat 2500000 10 2 2 /data/f1 0 8192 0
END
exits "a little is within the limits" 0 "$MLTRACE" score real.mlt near.mlt
exits "and more than a requirement allows" 3 "$MLTRACE" score real.mlt near.mlt \
	--require='score.m1<=0.1'
is "which is said" "$(cat err)" \
	"mltrace: near.mlt: score.m1 is 0.138, required <=0.1"
exits "what is no figure of a score is refused" 2 \
	"$MLTRACE" score real.mlt near.mlt --require='au>=90'
like "with those that there are" "$(cat err)" 'score\.m1 to score\.m12'

# ---- what is damaged, or none
head -c $(($(wc -c <real.mlt) - 40)) real.mlt >cut.mlt
score real.mlt cut.mlt
like "a trace that was cut is scored as far as it goes, and that is said" \
	"$status $(cat score.err)" 'cut\.mlt: the trace is incomplete'
: >empty.mlt
exits "an empty file is no trace" 2 "$MLTRACE" score real.mlt empty.mlt
like "which is said of it" "$(cat err)" '^mltrace: empty\.mlt: '
echo 'fact host=one' | "$maketrace" nothing.mlt
exits "a trace without records cannot be scored" 2 \
	"$MLTRACE" score nothing.mlt real.mlt
is "and why" "$(cat err)" \
	"mltrace: nothing.mlt: has no records, so it cannot be scored"
echo 'read 10 10 2 2 /proc/stat 0 8 8' | "$maketrace" proc.mlt
exits "nor can one that has no data" 2 "$MLTRACE" score real.mlt proc.mlt
is "and why, too" "$(cat err)" \
	"mltrace: proc.mlt: has no call on a file of a data set or checkpoint (1 on other files, 0 failed), so it cannot be scored"
# The version is behind the eight bytes of the magic.
{
	head -c 8 real.mlt
	printf '\000'
	tail -c +10 real.mlt
} >older.mlt
exits "a trace of another version is refused" 2 "$MLTRACE" score real.mlt older.mlt
like "which is said of it, too" "$(cat err)" '^mltrace: older\.mlt: .*version'
exits "one alone is like nothing" 2 "$MLTRACE" score real.mlt
exits "a score is no CSV" 2 "$MLTRACE" score real.mlt real.mlt --output-format=csv

done_testing
