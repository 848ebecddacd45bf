#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 94-images.sh - NumPy loads every npy file that mlgen writes, Pillow every JPEG file.
# In memory: bytes and calls are compared, not what holds the files.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"

# prepare OPTION...: a new dataset.
prepare()
{
	rm -rf data
	"$MLGEN" --name=n --directory=data --phase=prepare "$@"
}

# run OPTION...: what was counted, or why nothing was.
run()
{
	if "$MLGEN" --name=n --directory=data --invalidate=0 --quiet \
		--json=run.json "$@" >out 2>err; then
		ml run.json samples io_bytes ops.open.total ops.stat.total \
			ops.read.total ops.close.total
	else
		echo "status $?: $(cat err)"
	fi
}

# reads TITLE WANT OPTION...: on either engine.
reads()
{
	title=$1 want=$2
	shift 2
	is "$title, psync" "$(run --ioengine=psync "$@")" "$want"
	got=$(run --ioengine=io_uring "$@")
	case $got in
	*io_uring_setup*)	skip "$title, io_uring" "$got" ;;
	*)			is "$title, io_uring" "$got" "$want" ;;
	esac
}

# ---- what is refused
exits "a JPEG file of several samples" 2 "$MLGEN" --name=n --format=jpeg \
	--samples_per_file=2 --dry-run
like "is none" "$(cat err)" 'samples_per_file: 2 do not fit format=jpeg'
exits "nor is one smaller than its headers" 2 "$MLGEN" --name=n --format=jpeg \
	--sample_size=162 --dry-run
like "and the least is told" "$(cat err)" 'sample_size: 162 .* at least 163$'
exits "labels are a matter of npy" 2 "$MLGEN" --name=n --format=npz \
	--label_size=1k --dry-run
like "which is said" "$(cat err)" 'label_size: only format=npy has files of labels'
exits "no framework reads JPEG files with direct=1" 2 "$MLGEN" --name=n \
	--format=jpeg --access=framework --direct=1 --parse-only
like "which is said, too" "$(cat err)" 'no framework reads format=jpeg with O_DIRECT'

# ---- how they are read
npy="--format=npy --num_files=8 --sample_size=10000"
# shellcheck disable=SC2086 # several options
prepare $npy >out 2>&1
# shellcheck disable=SC2086
reads "npy files as they are" "8 $((8 * 10128)) 8 0 8 8" $npy
# shellcheck disable=SC2086
reads "npy files as NumPy reads them" \
	"8 $((8 * (4096 + 128 + 10128))) 8 16 40 8" $npy --access=framework
# shellcheck disable=SC2086
exits "with labels it is another dataset" 2 "$MLGEN" --name=n \
	--directory=data $npy --label_size=500 --quiet
npy="$npy --label_size=500"
# shellcheck disable=SC2086
prepare $npy >out 2>&1
# shellcheck disable=SC2086
reads "with their labels" \
	"8 $((8 * (4096 + 128 + 10128 + 628 + 128 + 628))) 16 32 64 16" $npy \
	--access=framework
rm data/train/img_5_of_8.label.npy
# shellcheck disable=SC2086
exits "a label that is gone" 2 "$MLGEN" --name=n --directory=data $npy \
	--access=framework --invalidate=0 --quiet
like "is an error that names it" "$(cat err)" 'img_5_of_8\.label\.npy: open: '
jpeg="--format=jpeg --num_files=8 --sample_size=100000"
# shellcheck disable=SC2086
prepare $jpeg >out 2>&1
# shellcheck disable=SC2086
reads "JPEG files as they are" "8 800000 8 0 8 8" $jpeg
# shellcheck disable=SC2086
reads "JPEG files as Pillow reads them" "8 800000 8 8 32 8" $jpeg \
	--access=framework
truncate -s 99999 data/train/img_3_of_8.jpeg
# shellcheck disable=SC2086
exits "a JPEG file that lost its end" 1 "$MLGEN" --name=n --directory=data \
	$jpeg --access=framework --invalidate=0 --quiet --continue_on_error=all
like "is an error" "$(cat err)" 'img_3_of_8.jpeg: the file ends at 99999 of 100000 bytes'

# ---- readers from elsewhere
python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || {
	skip "NumPy loads what was written" \
		"$python has no numpy (Debian: python3-numpy)"
	done_testing
	exit
}

# npy.py SAMPLES BYTES|dlio LABEL: every array has its shape, and is what
# NumPy would have saved; no two are alike.
cat >npy.py <<'END'
import glob, io, sys
import numpy

samples, size, label = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
heads = set()
names = sorted(glob.glob('data/train/**/*.npy', recursive=True))
for name in names:
    a = numpy.load(name)
    assert a.dtype == numpy.uint8, name
    if '.label.' in name:
        assert a.shape == (samples, label), (name, a.shape)
    elif size == 'dlio':
        assert a.ndim == 3 and a.shape[0] == samples, (name, a.shape)
    else:
        assert a.shape == (samples, int(size)), (name, a.shape)
    same = io.BytesIO()
    numpy.save(same, a)
    with open(name, 'rb') as f:
        assert f.read() == same.getvalue(), name + ' is not as numpy writes it'
    heads.add(a.tobytes()[:64])
assert len(heads) == len(names), 'two files begin alike'
print(len(names))
END

# makes TITLE FILES SAMPLES BYTES LABEL OPTION...
makes()
{
	title=$1 files=$2 samples=$3 size=$4 label=$5
	shift 5
	for engine in psync io_uring; do
		prepare --format=npy --samples_per_file="$samples" \
			--ioengine=$engine "$@" >out 2>&1
		if grep -q io_uring_setup out; then
			skip "$title, $engine" "$(cat out)"
			continue
		fi
		is "$title, $engine" \
			"$("$python" npy.py "$samples" "$size" "$label" 2>&1)" \
			"$files"
	done
}

makes "NumPy loads one byte" 1 1 1 0 --num_files=1 --sample_size=1
makes "one sample a file" 20 1 102400 0 --num_files=20 --sample_size=100k
makes "several samples a file" 5 7 30000 0 --num_files=5 --sample_size=30000
makes "more than the buffer holds" 2 1 3145728 0 --num_files=2 --sample_size=3m
makes "two sides as DLIO draws them" 8 1 dlio 0 --num_files=8 \
	--sample_size=dlio:200k:90k
makes "labels" 24 1 50000 8000 --num_files=12 --sample_size=50000 \
	--label_size=8000 --subfolders=5
makes "labels of several samples" 6 4 900 30 --num_files=3 --sample_size=900 \
	--label_size=30

"$python" -c 'import PIL' 2>/dev/null || {
	skip "Pillow decodes what was written" \
		"$python has no Pillow (Debian: python3-pil)"
	done_testing
	exit
}

# jpeg.py SIZE...: of each size there is a file, which decodes without a
# warning, to noise. Without SIZE: of any, and no two are alike.
cat >jpeg.py <<'END'
import glob, os, sys, warnings
import numpy
from PIL import Image

warnings.simplefilter('error')
sizes, heads = [], set()
names = glob.glob('data/**/train/**/*.jpeg', recursive=True)
for name in names:
    sizes.append(os.path.getsize(name))
    with Image.open(name) as image:
        image.load()
        assert image.format == 'JPEG' and image.mode == 'L', name
        a = numpy.asarray(image)
    if sizes[-1] > 2000:
        assert a[:999].std() > 30, (name, a[:999].std())
        heads.add(a[:99].tobytes()[:4096])
want = sorted(map(int, sys.argv[1:]))
if want:
    assert sorted(sizes) == want, sorted(sizes)
else:
    assert len(heads) == sum(s > 2000 for s in sizes), 'two begin alike'
print(len(names))
END

sizes="163 164 200 231 1024 1025 4095 4096 4097 10000 65535 65536 65537
	114660 150001 179254 262144 262145 1000003 2097152"
for bytes in $sizes; do
	printf '[b%d]\nstonewall\nnum_files=1\nsample_size=%d\n' "$bytes" \
		"$bytes"
done >sizes.job
for engine in psync io_uring; do
	rm -rf data
	# shellcheck disable=SC2016 # for mlgen, which knows $jobname
	"$MLGEN" sizes.job --directory='data/$jobname' --format=jpeg \
		--phase=prepare --ioengine=$engine >out 2>&1
	if grep -q io_uring_setup out; then
		skip "Pillow decodes files of all sizes, $engine" "$(cat out)"
		continue
	fi
	# shellcheck disable=SC2086 # one word each
	is "Pillow decodes files of all sizes, $engine" \
		"$("$python" jpeg.py $sizes 2>&1)" 20
done
prepare --format=jpeg --num_files=60 --sample_size=uniform:200:400k >out 2>&1
is "and of sizes that are drawn" "$("$python" jpeg.py 2>&1)" 60
prepare --format=jpeg --num_files=40 --sample_size=normal:400:400 >out 2>&1
is "those drawn too small are the least there is" \
	"$("$python" jpeg.py 2>&1) $(find data -name '*.jpeg' -size -163c | wc -l)" \
	"40 0"
prepare --format=jpeg --num_files=1 --sample_size=70m >out 2>&1
is "and a large one, which Pillow takes for no bomb yet" \
	"$("$python" jpeg.py 73400320 2>&1)" 1

done_testing
