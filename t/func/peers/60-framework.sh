#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 60-framework.sh - access=framework makes the calls of NumPy, with its sizes and in its order.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"

# shellcheck disable=SC2016 # for mlgen, which knows $jobname
job='--directory=data/$jobname --format=npz --access=framework --invalidate=0
	--read_threads=1 --prefetch=1 --shuffle=none --quiet'
files=data/f/train

# dataset OPTION...: a new one.
dataset()
{
	rm -rf data
	# shellcheck disable=SC2086 # several options
	"$MLGEN" "$@" $job --phase=prepare >prepare.out 2>&1
}

# ---- what it says before it runs
# shellcheck disable=SC2086
"$MLGEN" --name=f $job --num_files=9 --sample_size=146600628 --dry-run >out 2>err
like "a dry run tells the calls of a sample" "$(tr -s ' \n' ' ' <out)" \
	' calls per sample: open 1, stat 2, read 1,129 \(50% 4 KiB, 50% 252 KiB\), close 1 '
is "and has nothing to note" "$(cat err)" ""
# shellcheck disable=SC2086
"$MLGEN" --name=f $job --num_files=9 --sample_size=1t --dry-run >out 2>&1
like "also of a huge one" "$(cat out)" \
	'^calls     per sample: open 1, stat 2, read 8,388,618 '
# shellcheck disable=SC2086
exits "bs has no part in it" 0 "$MLGEN" --name=f $job --bs=64k --parse-only
like "which is noted" "$(cat err)" 'note: bs: access=framework uses its own sizes'
exits "raw files have no framework" 2 "$MLGEN" --name=f --format=raw \
	--access=framework --parse-only
like "which is said" "$(cat err)" \
	'access: framework .* no framework .* format=raw; use access=plain'

# ---- what is counted
dataset --name=f --num_files=6 --sample_size=100k
# shellcheck disable=SC2086
"$MLGEN" --name=f $job --num_files=6 --sample_size=100k --epochs=2 --bs=512 \
	--json=run.json >out 2>&1
is "every call counts, also one that gets nothing" \
	"$(ml run.json ops.open.total ops.stat.total ops.read.total \
		ops.close.total)" "12 24 132 12"
is "as do the bytes that come, again and again" \
	"$(ml run.json io_bytes sample_bytes)" \
	"$(awk '{ sum += $4 } END { print 12 * sum }' \
		"$TOP/t/func/traces/npz-102400.txt") $((12 * 102400))"
is "a read that meets the end is no short one" \
	"$(json run.json jobs.0.read.short_ios)" 0
# shellcheck disable=SC2086
"$MLGEN" --name=f ${job% --quiet} --num_files=6 --sample_size=100k >out 2>&1
like "the report tells the sizes" "$(tr -s ' \n' ' ' <out)" \
	' read sizes 73% 4 KiB, 9% 1 B, 9% 23 B, 9% 92 KiB per call, 10\.24 KiB mean '
like "and whose calls they are" "$(tr -s ' \n' ' ' <out)" \
	'direct=0,( iodepth=1,)? reads as NumPy does'
dataset --name=f --num_files=2 --samples_per_file=4 --sample_size=100k
# shellcheck disable=SC2086
"$MLGEN" --name=f $job --num_files=2 --samples_per_file=4 --sample_size=100k \
	--json=run.json >out 2>&1
is "for each of several samples the file is loaded whole" \
	"$(ml run.json samples sample_bytes ops.open.total ops.read.total)" \
	"8 819200 8 $((8 * 13))"
is "none of them is lost" "$(json run.json jobs.0.error)" 0
size=$(stat -c %s $files/img_1_of_2.npz)
truncate -s $((size - 1)) $files/img_1_of_2.npz
# shellcheck disable=SC2086
exits "a file that lost its end" 1 "$MLGEN" --name=f $job --num_files=2 \
	--samples_per_file=4 --sample_size=100k --continue_on_error=all
like "is an error" "$(cat err)" \
	"img_1_of_2.npz: the file ends at $((size - 1)) of $size bytes"

# ---- call by call
command -v strace >/dev/null || {
	skip "the calls are those of NumPy" "there is no strace"
	done_testing
	exit
}

# One trace a thread, so that no call is cut in two. $parts: of an iovec.
parts=0
trace()
{
	trace_only openat,fstat,newfstatat,read,pread64,preadv,close \
		$parts "$@"
}

# calls FILE: those of each time that something was read from it.
calls()
{
	awk -v file="$1" '
	/^openat\(/ && index($0, "\"" file "\"") {
		fd = $NF
		seen = "open" (/O_DIRECT/ ? " direct" : "") "\n"
		reads = 0
		next
	}
	fd == "" { next }
	{
		name = $0
		sub(/\(.*/, "", name)
		of = $0
		sub(/^[a-z0-9]*\(/, "", of)
		sub(/[,)].*/, "", of)
		if (of != fd)
			next
	}
	name == "close" {
		if (reads)
			printf "%sclose\n", seen
		fd = ""
		next
	}
	name ~ /stat/ { seen = seen "stat\n"; next }
	name == "preadv" {
		bytes = 0
		rest = $0
		while (match(rest, /iov_len=[0-9]+/)) {
			bytes += substr(rest, RSTART + 8, RLENGTH - 8)
			rest = substr(rest, RSTART + RLENGTH)
		}
	}
	name == "read" || name == "pread64" {
		bytes = $0
		sub(/^[^,]*,[^,]*, /, "", bytes)
		sub(/[,)].*/, "", bytes)
	}
	{ reads++; seen = seen "read " bytes " = " $NF "\n" }' trace
}

for path in "$TOP"/t/func/traces/npz-*.txt; do
	bytes=${path##*npz-}
	bytes=${bytes%.txt}
	dataset --name=f --num_files=4 --sample_size="$bytes"
	# shellcheck disable=SC2086
	trace "$MLGEN" --name=f $job --num_files=4 --sample_size="$bytes" >out 2>&1
	is "$bytes bytes are read as NumPy was seen to" \
		"$(calls $files/img_2_of_4.npz)" "$(cat "$path")"
done

dataset --name=f --num_files=4 --sample_size=5m
parts=32
# shellcheck disable=SC2086
trace "$MLGEN" --name=f $job --num_files=4 --sample_size=5m --direct=1 \
	>out 2>err
if [ $? -eq 2 ] && grep -q '^mlgen: direct=1: ' err; then
	skip "direct=1 is one read of the file" "no O_DIRECT here"
else
	is "direct=1 is one read of the file" \
		"$(calls $files/img_2_of_4.npz)" \
		"$(printf '%s\n' 'open direct' stat 'read 5246976 = 5243378' close)"
fi
parts=0
dataset --name=f --num_files=4 --sample_size=100k
# shellcheck disable=SC2086
if "$MLGEN" --name=f $job --num_files=4 --sample_size=100k --direct=1 >out 2>&1; then
	truncate -s 102401 $files/img_2_of_4.npz
	# shellcheck disable=SC2086
	exits "with direct=1, too, a file that lost its end" 1 "$MLGEN" \
		--name=f $job --num_files=4 --sample_size=100k --direct=1 \
		--continue_on_error=all
	like "is an error" "$(cat err)" 'the file ends at 102401 of 102898 bytes'
fi

# ---- beside NumPy itself
python=/usr/bin/python3
reason=
"$python" -c 'import numpy' 2>/dev/null ||
	reason="$python has no numpy (Debian: python3-numpy)"
[ -n "$reason" ] || reason=$(no_python_calls "$python")
if [ -n "$reason" ]; then
	skip "every file is read as NumPy reads it here and now" "$reason"
	done_testing
	exit
fi

cat >load.py <<'END'
import sys, numpy
for name in sys.argv[1:2] + sys.argv[1:]:   # the first one imports
    numpy.load(name, allow_pickle=True)['x']
END

# Of every file the calls of one time that it was read, the last.
all_calls()
{
	for path in data/*/train/*.npz; do
		echo "$path"
		calls "$path" | awk '/^open/ { seen = "" }
			{ seen = seen $0 "\n" }
			END { printf "%s", seen }'
	done
}

# alike TITLE FILES OPTION...: NumPy and mlgen, of so many files.
alike()
{
	title=$1 count=$2
	shift 2
	dataset "$@"
	trace "$python" load.py data/*/train/*.npz >out 2>&1
	all_calls >numpy.calls
	# shellcheck disable=SC2086
	trace "$MLGEN" "$@" $job >out 2>&1
	all_calls >mlgen.calls
	if [ "$(grep -c '^close' mlgen.calls)" -eq "$count" ]; then
		ok "$title" diff numpy.calls mlgen.calls
	else
		tap_fail "$title" "not every file was read"
	fi
}

alike "files of any size are read as NumPy reads them" 60 --name=f \
	--num_files=60 --sample_size=uniform:1:600k
alike "small ones, too" 60 --name=f --num_files=60 --sample_size=uniform:1:13k
alike "and large ones" 2 --name=f --num_files=2 --sample_size=uniform:2m:9m

# Where a block, a request of zipfile's or a chunk of NumPy's ends.
edges="1 3912 3913 3914 3968 3969 8009 8010 261961 262143 262144 262145
	266057 266058 524289"
for bytes in $edges; do
	printf '[b%d]\nstonewall\nnum_files=1\nsample_size=%d\n' \
		"$bytes" "$bytes"
done >edges.job
alike "and those next to an edge" 15 edges.job

for n in 5 70000; do
	alike "one of $n samples is read with all of them" 1 --name=f \
		--num_files=1 --samples_per_file=$n --sample_size=33 --steps=2
done

done_testing
