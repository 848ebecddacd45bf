#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 94-images.sh - NumPy loads every npy file that mlgen writes, Pillow every JPEG file.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../made.sh"

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
cp "$TOP/t/func/made.py" .
# check.py: after the directory follow
#
#	npy SAMPLES BYTES|dlio LABEL	every array has its shape, and is what NumPy
#					would have saved; no two are alike
#	jpeg [SIZE...]			every file decodes without a warning, to noise;
#					there is one of each SIZE. Without SIZE no two
#					are alike
#	large				Pillow opens every file without a warning
cat >check.py <<'END'
import glob, io, os, warnings
from made import check_each, need

warnings.simplefilter('error')

def npy(directory, samples, size, label):
    numpy = need('numpy', 'python3-numpy')
    heads = set()
    names = sorted(glob.glob(directory + '/train/**/*.npy', recursive=True))
    for name in names:
        a = numpy.load(name)
        assert a.dtype == numpy.uint8, name
        if '.label.' in name:
            assert a.shape == (int(samples), int(label)), (name, a.shape)
        elif size == 'dlio':
            assert a.ndim == 3 and a.shape[0] == int(samples), (name, a.shape)
        else:
            assert a.shape == (int(samples), int(size)), (name, a.shape)
        same = io.BytesIO()
        numpy.save(same, a)
        with open(name, 'rb') as f:
            assert f.read() == same.getvalue(), name + ' is not as numpy writes it'
        heads.add(a.tobytes()[:64])
    assert len(heads) == len(names), 'two files begin alike'
    return len(names)

def jpeg(directory, *want):
    numpy = need('numpy', 'python3-numpy')
    Image = need('PIL.Image', 'python3-pil')
    sizes, heads = [], set()
    names = glob.glob(directory + '/**/train/**/*.jpeg', recursive=True)
    for name in names:
        sizes.append(os.path.getsize(name))
        with Image.open(name) as image:
            image.load()
            assert image.format == 'JPEG' and image.mode == 'L', name
            a = numpy.asarray(image)
        if sizes[-1] > 2000:
            assert a[:999].std() > 30, (name, a[:999].std())
            heads.add(a[:99].tobytes()[:4096])
    assert min(sizes) >= 163, 'smaller than its headers'
    if want:
        assert sorted(sizes) == sorted(map(int, want)), sorted(sizes)
    else:
        assert len(heads) == sum(s > 2000 for s in sizes), 'two begin alike'
    return len(names)

def large(directory):
    Image = need('PIL.Image', 'python3-pil')
    names = glob.glob(directory + '/train/*.jpeg')
    for name in names:
        with Image.open(name) as image:
            assert image.format == 'JPEG', name
    return len(names)

check_each(lambda directory, kind, *words: globals()[kind](directory, *words))
END

engines="psync io_uring"
if ! prepare --format=npy --num_files=1 --sample_size=1 --ioengine=io_uring >out 2>&1 &&
	grep -q io_uring_setup out; then
	engines=psync
	skip "files that io_uring writes" "$(cat out)"
fi

# npys TITLE FILES "SAMPLES BYTES|dlio LABEL" OPTION...: by each engine
npys()
{
	title=$1 files=$2 words=$3
	shift 3
	for engine in $engines; do
		makes "$title, $engine" "$files" "npy $words" --format=npy \
			--ioengine="$engine" "$@"
	done
}

npys "one byte" 1 "1 1 0" --num_files=1 --sample_size=1
npys "one sample a file" 8 "1 102400 0" --num_files=8 --sample_size=100k
npys "several samples a file" 5 "7 30000 0" --num_files=5 --samples_per_file=7 \
	--sample_size=30000
npys "more than the buffer holds" 2 "1 3145728 0" --num_files=2 --sample_size=3m
npys "two sides as DLIO draws them" 8 "1 dlio 0" --num_files=8 \
	--sample_size=dlio:60k:27k
npys "labels" 24 "1 50000 8000" --num_files=12 --sample_size=50000 \
	--label_size=8000 --subfolders=5
npys "labels of several samples" 6 "4 900 30" --num_files=3 --samples_per_file=4 \
	--sample_size=900 --label_size=30

sizes="163 164 200 231 1024 1025 4095 4096 4097 10000 65535 65536 65537"
sizes="$sizes 114660 150001 179254 262144 262145 1000003 2097152"
for bytes in $sizes; do
	printf '[b%d]\nstonewall\nnum_files=1\nsample_size=%d\n' "$bytes" \
		"$bytes"
done >sizes.job
for engine in $engines; do
	to_make "JPEG files of all sizes, $engine" 20 "jpeg $sizes"
	# shellcheck disable=SC2016 # for mlgen, which knows $jobname
	"$MLGEN" sizes.job --directory="$made_directory"'/$jobname' --format=jpeg \
		--phase=prepare --ioengine=$engine >out 2>&1 || note "$(cat out)"
done
makes "JPEG files of sizes that are drawn" 30 "jpeg" --format=jpeg --num_files=30 \
	--sample_size=uniform:200:400k
makes "sizes drawn too small become the least there is" 40 "jpeg" --format=jpeg \
	--num_files=40 --sample_size=normal:400:400
makes "a large JPEG file, which Pillow takes for no bomb yet" 1 "large" \
	--format=jpeg --num_files=1 --sample_size=70m
check_made "NumPy or Pillow reads it" /usr/bin/python3 check.py

done_testing
