#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 96-captures.sh - access=framework makes the calls that were captured of NumPy and Pillow, and those they make here.
# On disk: what other programs do is measured and recorded there.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"

can_trace || skip_all "strace is not here or not allowed"

# shellcheck disable=SC2016 # for mlgen, which knows $jobname
job='--directory=data/$jobname --access=framework --invalidate=0
	--read_threads=1 --prefetch=1 --shuffle=none --quiet'

# dataset OPTION...: a new one.
dataset()
{
	rm -rf data
	# shellcheck disable=SC2086 # several options
	"$MLGEN" "$@" $job --phase=prepare >prepare.out 2>&1
}

# read_traced OPTION...
read_traced()
{
	# shellcheck disable=SC2086
	trace "$MLGEN" "$@" $job >out 2>&1
}

# ---- beside the captures, which are of files that NumPy and Pillow wrote

# placed FILE_BYTES DIRECTORY_OFFSET: calls on an archive, whose end depends on
# how many arrays it has: what lies there by its distance, the rest as it is.
placed()
{
	awk -v bytes="$1" -v directory="$2" '
	/^read/ {
		off = substr($3, 2) + 0
		if ($2 + off > bytes)
			$5 = "the rest"
		if (off == directory)
			$3 = "@directory"
		else if (off > directory)
			$3 = "@end-" bytes - off
	}
	{ print }'
}

captured=$TOP/t/func/traces
file=data/c/train/img_2_of_4

# sample FORMAT BYTES: the calls on one of four.
sample()
{
	dataset --name=c --num_files=4 --format="$1" --sample_size="$2"
	read_traced --name=c --num_files=4 --format="$1" --sample_size="$2"
	calls "$file.$1"
}

for bytes in 102400 8388608; do
	# The array begins at 183; y.npy takes 191, its directory entry 51.
	is "an archive of $bytes bytes is read as captured" \
		"$(sample npz $bytes | placed $((bytes + 498)) \
			$((bytes + 183 + 191)))" \
		"$(placed $((bytes + 256)) $((bytes + 183)) \
			<"$captured/numpy-npz-$bytes.txt")"
done
is "one of two arrays, both read, to the byte" \
	"$(sample npz 8388608)" "$(cat "$captured/numpy-npz-xy-8388608.txt")"
for bytes in 102400 8388608; do
	is "an array of $bytes bytes is read as captured" \
		"$(sample npy $bytes)" "$(cat "$captured/numpy-npy-$bytes.txt")"
done
is "a JPEG file of 556074 bytes is read as captured" \
	"$(sample jpeg 556074)" "$(cat "$captured/pillow-jpeg-556074.txt")"

# ---- beside NumPy and Pillow themselves
python=/usr/bin/python3

# here MODULE PACKAGE: can be compared with; else $reason says why not.
here()
{
	reason=
	"$python" -c "import $1" 2>/dev/null ||
		reason="$python has no $1 (Debian: $2)"
	[ -n "$reason" ] || reason=$(no_python_calls "$python")
	[ -z "$reason" ]
}

# The first one imports.
cat >load.py <<'END'
import sys
for name in sys.argv[1:2] + sys.argv[1:]:
    if name.endswith('.jpeg'):
        from PIL import Image
        with Image.open(name) as image:
            image.load()
    elif name.endswith('.npz'):
        import numpy
        with numpy.load(name) as archive:
            archive['x']
    else:
        import numpy
        numpy.load(name)
END

# alike TITLE FILES OPTION...: they and mlgen, of so many files.
alike()
{
	title=$1 count=$2
	shift 2
	dataset "$@"
	trace "$python" load.py data/*/train/*.* >out 2>&1
	calls_of data/*/train/*.* >theirs
	read_traced "$@"
	calls_of data/*/train/*.* >ours
	if [ "$(grep -c '^close' ours)" -eq "$count" ]; then
		ok "$title" diff theirs ours
	else
		tap_fail "$title" "not every file was read" "$(cat out)"
	fi
}

# edges FORMAT BYTES...: a dataset of one file each.
edges()
{
	format=$1
	shift
	for bytes; do
		printf '[b%d]\nstonewall\nnum_files=1\nformat=%s\n' "$bytes" \
			"$format"
		printf 'sample_size=%d\n' "$bytes"
	done >"$format.job"
}

if here numpy python3-numpy; then
	alike "archives of any size are read as NumPy reads them" 20 --name=f \
		--format=npz --num_files=20 --sample_size=uniform:1:900k
	alike "arrays, too" 40 --name=f --format=npy --num_files=40 \
		--sample_size=uniform:1:600k
	alike "small ones" 40 --name=f --format=npy --num_files=40 \
		--sample_size=uniform:1:13k
	alike "large ones" 2 --name=f --format=npy --num_files=2 \
		--sample_size=uniform:2m:9m
	# where the array ends with a block of the file
	edges npy 1 3967 3968 3969 8063 8064 8065 12160 1048448 1048449
	alike "and those next to an edge" 10 npy.job
	alike "one of several samples is read with all of them" 1 --name=f \
		--format=npy --num_files=1 --samples_per_file=7 \
		--sample_size=3001 --steps=1
	alike "labels are read as arrays" 12 --name=f --format=npy \
		--num_files=6 --sample_size=50k --label_size=7777
	is "each after its image" \
		"$(sed -n \
			's/.*"data.f.train.img_\([^"]*\)", O_RDONLY.*/\1/p' \
			trace | tail -n 4)" "$(printf '%s\n' \
			4_of_6.npy 4_of_6.label.npy 5_of_6.npy 5_of_6.label.npy)"
else
	skip "archives and arrays are read as NumPy reads them" "$reason"
fi

if here PIL python3-pil; then
	alike "JPEG files of any size are read as Pillow reads them" 40 \
		--name=f --format=jpeg --num_files=40 \
		--sample_size=uniform:200:300k
	alike "small ones, too" 40 --name=f --format=jpeg --num_files=40 \
		--sample_size=uniform:200:13k
	alike "and large ones" 2 --name=f --format=jpeg --num_files=2 \
		--sample_size=uniform:2m:6m
	# where the file ends with a block or with what the decoder is given
	edges jpeg 163 4095 4096 4097 8192 61439 61440 61441 65535 65536 65537 \
		65538 131071 131072 131073 131074 192511 192512 192513 196608
	alike "and those next to an edge" 20 jpeg.job
else
	skip "JPEG files are read as Pillow reads them" "$reason"
fi

done_testing
