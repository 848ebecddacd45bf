#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 184-distil-data.sh - data set and access of a distilled job are those of the job that was traced, for every format, with its files there and without.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

strip=$BUILT/build/t/tools/striptrace
[ -x "$strip" ] || skip_all "build/t/tools/striptrace is not built"
export TMPDIR=.
framework="access=framework"

# lines FILE: options of data and access, in one line.
lines()
{
	grep -E '^(format|num_files|samples_per_file|subfolders|sample_size|row_group_size|columns|read_columns|label_size|access|bs|direct|recorded_calls)=' \
		"$1" | paste -s -d' ' -
}

# traced NAME OPTION...: what is traced; NAME.mlt is without markers.
traced()
{
	name=$1
	shift
	{
		echo "[$name]"
		echo "phase=train"
		echo "epochs=2"
		echo "compute_time=2ms"
		for option in "$@"; do
			echo "$option"
		done
	} >"$name.in"
	"$MLGEN" "$name.in" --directory="$name.data" --trace="$name.trace" \
		--quiet >"$name.out" 2>&1 || note "$(cat "$name.out")"
	"$strip" "$name.trace" "$name.mlt"
}

# distilled WHEN WANT: the lines that come back.
distilled()
{
	rm -f "$name".job "$name".sizes "$name".calls
	"$MLTRACE" distil "$name.mlt" --output="$name.job" 2>"$name.err" ||
		note "$(cat "$name.err")"
	is "$name: what lies on storage, and how it is read, comes back $1" \
		"$(lines "$name.job")" "$2"
}

# found WANT [WANT_GONE]: the lines with files there, and when they are gone.
found()
{
	distilled "while its files are there" "$1"
	exits "... in a job that mlgen takes" 0 "$MLGEN" "$name.job" --dry-run
	rm -rf "$name.data"
	distilled "when they are gone" "${2:-$1}"
}

traced npz format=npz num_files=48 sample_size=300k $framework
found "format=npz num_files=48 samples_per_file=1 sample_size=300k access=framework"

traced sizes format=npz num_files=120 sample_size=normal:100k:30k $framework
found "format=npz num_files=120 samples_per_file=1 sample_size=normal:100k:30k access=framework"

traced npy format=npy num_files=24 sample_size=300k label_size=8 $framework
found "format=npy num_files=24 samples_per_file=1 sample_size=300k label_size=8 access=framework"

traced direct format=npz num_files=24 sample_size=300k access=plain bs=64k \
	subfolders=3
found "format=npz num_files=24 subfolders=3 samples_per_file=1 sample_size=300k access=plain bs=64k"

traced raw format=raw num_files=12 samples_per_file=8 sample_size=100k \
	access=plain bs=64k batch_size=4
found "format=raw num_files=12 samples_per_file=8 sample_size=100k access=plain bs=64k"

traced tfrecord format=tfrecord num_files=16 samples_per_file=32 \
	sample_size=dlio:10000:0 loader=tfdata shuffle=none shard=file \
	batch_size=8 $framework
found "format=tfrecord num_files=16 samples_per_file=32 sample_size=10000 access=framework" \
	"format=tfrecord num_files=16 samples_per_file=1 sample_size=321668 access=framework"

traced jpeg format=jpeg num_files=48 sample_size=100k $framework
found "format=jpeg num_files=48 samples_per_file=1 sample_size=100k access=framework"

traced png format=png num_files=24 sample_size=100k $framework
found "format=png num_files=24 samples_per_file=1 sample_size=100k access=framework"

traced csv format=csv num_files=24 sample_size=20k $framework
found "format=csv num_files=24 samples_per_file=1 sample_size=20k access=framework"

traced indexed format=indexed_binary num_files=12 samples_per_file=16 \
	sample_size=30k batch_size=8 $framework
found "format=indexed_binary num_files=12 samples_per_file=16 sample_size=30k access=framework"

# Sizes that no distribution has: as many files have the very same ones.
traced tail format=raw num_files=64 sample_size=gamma:0.2:100k access=plain \
	bs=64k
distilled "with a file of sizes" \
	"format=raw num_files=64 samples_per_file=1 sample_size=file:tail.sizes access=plain bs=64k"
"$MLGEN" tail.job --directory=tail.again --phase=prepare --quiet >out 2>&1 ||
	note "$(cat out)"
is "... of which files have the sizes of those that were there" \
	"$(find tail.again/train -type f -printf '%s\n' | sort -n | paste -s)" \
	"$(find tail.data/train -type f -printf '%s\n' | sort -n | paste -s)"

# A second job does not get them over the first one's.
cp tail.sizes kept.sizes
echo 1 >>tail.sizes
exits "a file of sizes that is another's is not written over" 2 \
	"$MLTRACE" distil tail.mlt --output=tail.job
like "... which is told" "$(cat err)" "tail.sizes: already exists"
is "... and it is as it was" "$(tail -n 1 tail.sizes)" 1

if "$MLGEN" --help=format 2>&1 | grep -q hdf5; then
	traced hdf5 format=hdf5 num_files=12 samples_per_file=8 \
		sample_size=100k batch_size=4 $framework
	found "format=hdf5 num_files=12 samples_per_file=8 sample_size=100k access=framework"
fi

traced parquet format=parquet num_files=12 samples_per_file=2048 \
	row_group_size=512 columns=a0..3:float32,b:float64,c:int32 \
	read_columns=a1,b sample_size=28 batch_size=256 shuffle=file $framework
distilled "with columns of the same bytes" \
	"format=parquet num_files=12 samples_per_file=2048 sample_size=28 row_group_size=512 columns=c0..3:float32,c4:float64,c5:float32 read_columns=c1,c4 access=framework"

# ---- pages of a mapping, as of numpy.load(mmap_mode="r"): three opens, a copy of the
# descriptor that is closed, and faults that depend on where the mapping lies
awk 'BEGIN { for (e = 0; e < 3; e++) for (i = 0; i < 24; i++) {
	f = "/data/map/s_" (i * (7 + 6 * e)) % 24 ".npy"
	t = 1000000 + e * 600000000 + i * 20000000
	if (e == 0)
		print "size", f, 409728
	for (k = 0; k < 2; k++) {
		print "open", t, 1000, 10, 11, f, 0, 0, 5
		print "stat", t + 2000, 1000, 10, 11, f, 0, 409728, 0
		print "read", t + 4000, 1000, 10, 11, f, 0, 4096, 4096
		t += 10000
	}
	print "close", t, 1000, 10, 11, f, 0, 0, 0
	print "open", t + 2000, 1000, 10, 11, f, 0, 0, 6
	print "mmap", t + 4000, 1000, 10, 11, f, 0, 409728, 4096
	print "close", t + 6000, 1000, 10, 11, f, 0, 0, 0
	print "close", t + 8000, 1000, 10, 11, f, 0, 0, 0
	for (k = 0; k < 7; k++)
		print "fault", t + 10000 + 2000 * k, 1000, 10, 11, f, \
			4096 * (k < 2 ? 16 * k : 16 * k - 5), 4096, 0
	print "close", t + 30000, 1000, 10, 11, f, 0, 0, 0
	print "munmap", t + 32000, 1000, 10, 11, f, 4096, 409728, 0
} }' | "$BUILT/build/t/tools/maketrace" mapped.mlt
name=mapped
distilled "though pages are touched instead of read" \
	"format=npy num_files=24 samples_per_file=1 sample_size=400k access=recorded recorded_calls=mapped.calls"
is "... by mapping them, and reading what is short" \
	"$(grep -E '^(ioengine|mmap_from)=' mapped.job | paste -s -d' ' -)" \
	"ioengine=mmap mmap_from=64k"
is "... with these calls" "$(grep -v '^#' mapped.calls | paste -s -d, -)" \
	"template 100%,open,stat,read start 4096,close,open,stat,read start 4096,close,open,read start 65536 *,close"
"$MLGEN" mapped.job --phase=prepare --directory=own --quiet >out 2>&1 ||
	note "$(cat out)"
"$MLTRACE" score mapped.mlt mapped.job --directory=own --json=score.json \
	>out 2>&1 || :
is "... and the job asks for the same" "$(json score.json score.m1 score.m2 \
	score.m3 score.m4 score.m5 score.m6 score.m7 | tr ' ' '\n' |
	awk '$1 != "null" && !($1 <= 1)')" ""
rm -rf own

done_testing
