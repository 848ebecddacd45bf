#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 95-indexed.sh - the files of the indexed formats are what DLIO's readers expect, and are read as they do.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"
. "$(dirname "$0")/../made.sh"

# set_up FORMAT OPTION...: a new dataset; $job reads it.
set_up()
{
	format=$1
	shift
	job="--name=n --directory=data --invalidate=0 --read_threads=1
		--prefetch=1 --shuffle=none --quiet --format=$format $*"
	rm -rf data
	# shellcheck disable=SC2086 # several options
	"$MLGEN" $job --phase=prepare >prepare.out 2>&1
}

# counted OPTION...: what the report has, or why there is none.
counted()
{
	# shellcheck disable=SC2086
	if "$MLGEN" $job --json=run.json "$@" >out 2>err; then
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
	is "$title, psync" "$(counted --ioengine=psync "$@")" "$want"
	got=$(counted --ioengine=io_uring "$@")
	case $got in
	*io_uring_setup*)	skip "$title, io_uring" "$got" ;;
	*)			is "$title, io_uring" "$got" "$want" ;;
	esac
}

# ---- how they are read
# Two index files of each file at the start, 80 bytes each; then 40 samples.
set_up indexed_binary --num_files=4 --samples_per_file=10 --sample_size=5000
reads "each sample is one read" \
	"40 $((8 * 80 + 40 * 5000)) 48 48 48 48" --access=framework
reads "in two epochs the indexes are read once" \
	"80 $((8 * 80 + 80 * 5000)) 88 88 88 88" --access=framework --epochs=2
reads "with access=plain not at all" "40 200000 40 0 40 40"
reads "each worker reads the indexes" \
	"40 $((2 * 8 * 80 + 40 * 5000)) 56 56 56 56" --access=framework \
	--read_threads=2
rm data/train/img_2_of_4.indexed_binary.sz.idx
# shellcheck disable=SC2086
exits "an index file that is gone" 2 "$MLGEN" $job --access=framework
like "is an error that names it" "$(cat err)" \
	'img_2_of_4\.indexed_binary\.sz\.idx: open: '
set_up mmap_indexed_binary --num_files=4 --samples_per_file=10 \
	--sample_size=5000
reads "mapped samples cost no call" "40 640 12 12 8 12" --access=framework
reads "but for access=plain" "40 200000 40 0 40 40"

# ---- call by call
# opened: the files of the dataset, in the order in which they are read.
opened()
{
	sed -n 's/.*"data.train.img_\([^"]*\)", O_RDONLY.*/\1/p' trace
}

if can_trace; then
	set_up indexed_binary --num_files=2 --samples_per_file=700 \
		--sample_size=6000
	# shellcheck disable=SC2086
	trace "$MLGEN" $job --access=framework >out 2>&1
	file=data/train/img_0_of_2.indexed_binary
	is "an index is one read" "$(calls $file.off.idx)" "$(
		printf '%s\n' open stat 'read 5600 @0 = 5600' close)"
	is "both are" "$(calls $file.sz.idx)" "$(calls $file.off.idx)"
	is "a sample is one read at its place" "$(calls $file)" "$(
		printf '%s\n' open stat 'read 6000 @4194000 = 6000' close)"
	is "indexes come first" "$(opened | uniq | tail -n 6)" "$(printf '%s\n' \
		0_of_2.indexed_binary.off.idx 0_of_2.indexed_binary.sz.idx \
		1_of_2.indexed_binary.off.idx 1_of_2.indexed_binary.sz.idx \
		0_of_2.indexed_binary 1_of_2.indexed_binary)"
	set_up mmap_indexed_binary --num_files=2 --samples_per_file=7 \
		--sample_size=6000
	# shellcheck disable=SC2086
	trace "$MLGEN" $job --access=framework >out 2>&1
	file=data/train/img_1_of_2.mmap_indexed_binary
	is "a small index is read through a buffer" "$(calls $file.sz.idx)" \
		"$(printf '%s\n' open stat 'read 4096 @0 = 56' close)"
	is "a file that is mapped is opened, and nothing else" \
		"$(calls $file)" "$(printf '%s\n' open stat close)"
	is "once" "$(opened | tail -n 1)" "1_of_2.mmap_indexed_binary"
else
	skip "the calls are those of DLIO" "strace is not here or not allowed"
fi

# ---- readers from elsewhere
cp "$TOP/t/func/made.py" .
# check.py: FORMAT SAMPLES follow the directory. Samples are where DLIO's readers look
# for them, by readinto and by memmap.
cat >check.py <<'END'
import glob
from made import check_each, need

def check(directory, suffix, samples):
    numpy = need('numpy', 'python3-numpy')
    samples = int(samples)
    names = sorted(glob.glob(directory + '/train/**/*.' + suffix, recursive=True))
    seen, count = set(), 0
    for name in names:
        off = numpy.fromfile(name + '.off.idx', dtype=numpy.int64)
        size = numpy.fromfile(name + '.sz.idx', dtype=numpy.int64)
        assert len(off) == len(size) == samples, (name, len(off), len(size))
        data = numpy.memmap(name, mode='r', order='C')
        assert off[0] == 0 and off[-1] + size[-1] == len(data), name
        assert (off[1:] == off[:-1] + size[:-1]).all(), name
        with open(name, 'rb') as f:
            # Of very many each 50th is read.
            for i in range(0, samples, 50 if samples > 10000 else 1):
                sample = numpy.empty(size[i], dtype=numpy.uint8)
                f.seek(off[i])
                assert f.readinto(sample) == size[i], (name, i)
                assert (sample == data[off[i]:off[i] + size[i]]).all()
                seen.add(sample.tobytes()[:64])
                count += 1
    assert len(seen) == count, 'two samples are alike'
    return len(names)

check_each(check)
END

# files TITLE FILES FORMAT SAMPLES OPTION...
files()
{
	title=$1 files=$2 format=$3 samples=$4
	shift 4
	makes "$title" "$files" "$format $samples" --format="$format" \
		--num_files="$files" --samples_per_file="$samples" "$@"
}

for engine in psync io_uring; do
	set_up indexed_binary --num_files=1 --sample_size=1 --ioengine=$engine
	if grep -q io_uring_setup prepare.out; then
		skip "files that $engine writes" "$(cat prepare.out)"
		continue
	fi
	for format in indexed_binary mmap_indexed_binary; do
		files "$format by $engine" 5 $format 300 --subfolders=2 \
			--sample_size=uniform:50:3000 --ioengine=$engine
	done
done
files "an index larger than a buffer" 1 indexed_binary 150000 --sample_size=40
files "a sample larger than a buffer" 1 indexed_binary 1 --sample_size=20m
check_made "NumPy finds every sample" /usr/bin/python3 check.py

done_testing
