#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 92-hdf5.sh - h5py reads the HDF5 files that mlgen writes, and mlgen reads them as h5py does.
# In memory: bytes and calls are compared, not what holds the files.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"

"$MLGEN" --name=h --format=hdf5 --dry-run >/dev/null 2>err ||
	! grep -q 'was left out of this mlgen' err || {
	like "the package that is missing is named" "$(cat err)" \
		'format: hdf5 was left out .* without hdf5 \(Debian libhdf5-dev'
	done_testing
	exit
}

# shellcheck disable=SC2016 # for mlgen, which knows $jobname
job='--directory=data/$jobname --format=hdf5 --invalidate=0 --read_threads=1
	--accelerators=1 --prefetch=1 --shuffle=none --quiet'
framework=--access=framework

# dataset OPTION...: a new one.
dataset()
{
	rm -rf data
	# shellcheck disable=SC2086 # several options
	"$MLGEN" "$@" $job --phase=prepare >prepare.out 2>&1
}

# run OPTION...: reads it; the report is in run.json.
run()
{
	rm -f run.json
	# shellcheck disable=SC2086
	"$MLGEN" "$@" $job --json=run.json >out 2>&1
}

# ---- what it says before it runs
# shellcheck disable=SC2086
"$MLGEN" --name=h $job $framework --num_files=9 --samples_per_file=8 \
	--sample_size=114244 --dry-run >out 2>err
like "a dry run tells the calls of a sample" "$(cat out)" \
	'^calls     per sample: open 1, stat 2, read 9 \('
# shellcheck disable=SC2086
exits "h5py has no O_DIRECT" 2 "$MLGEN" --name=h $job $framework --direct=1 \
	--parse-only

# ---- what is counted, whatever moves the bytes
dataset --name=h --num_files=6 --samples_per_file=5 --sample_size=100k
for engine in psync io_uring libaio; do
	run --name=h --num_files=6 --samples_per_file=5 --sample_size=100k \
		--ioengine=$engine --access=plain
	is "$engine reads the samples and no more" \
		"$(ml run.json samples io_bytes) $(json run.json jobs.0.error)" \
		"30 $((30 * 102400)) 0"
	run --name=h --num_files=6 --samples_per_file=5 --sample_size=100k \
		--ioengine=$engine $framework
	is "$engine makes every call of h5py" \
		"$(ml run.json samples ops.open.total ops.stat.total \
			ops.read.total ops.close.total io_bytes)" \
		"30 30 60 270 30 $((30 * (102400 + 2512)))"
done
truncate -s -1 data/h/train/img_5_of_6.hdf5
# shellcheck disable=SC2086
exits "a file that lost its end" 2 "$MLGEN" --name=h $job $framework \
	--num_files=6 --samples_per_file=5 --sample_size=100k
like "is an error" "$(cat err)" 'img_5_of_6\.hdf5: '

# ---- call by call
# last N: of the openings in the input.
last()
{
	awk -v last="$1" '
	/^open/ { n++ }
	{ seen[n] = seen[n] $0 "\n" }
	END {
		for (i = n - last + 1; i <= n; i++)
			printf "%s", seen[i]
	}'
}

# The capture: h5py 3.7.0 with HDF5 1.10.8, a file of 8 samples of 114244
# bytes, `f["records"][3]`.
captured='open
stat
read 8 @0 = 8
read 16 @0 = 16
read 80 @16 = 80
read 512 @96 = 512
stat
read 512 @680 = 512
read 544 @136 = 544
read 328 @1072 = 328
read 512 @800 = 512
read 114244 @344780 = 114244
close'

if ! can_trace; then
	skip "the calls are those of h5py" "no strace, or it is not allowed"
else
	dataset --name=h --num_files=4 --samples_per_file=8 --sample_size=114244
	# shellcheck disable=SC2086
	trace "$MLGEN" --name=h $job $framework --num_files=4 \
		--samples_per_file=8 --sample_size=114244 --ioengine=psync \
		>out 2>&1
	calls data/h/train/img_2_of_4.hdf5 each | last 8 >seen
	is "a file is opened for each of its samples" "$(grep -c '^open' seen)" 8
	is "row 3 is read as h5py was seen to read it" \
		"$(awk '/^open/ { n++ } n == 4' seen)" "$captured"
fi

# ---- beside h5py itself
python=/usr/bin/python3
"$python" -c 'import h5py' 2>/dev/null || {
	skip "h5py reads the files" "$python has no h5py (Debian: python3-h5py)"
	done_testing
	exit
}

# check.py SAMPLES dlio|plain DIRECTORY: each file is the one
# that h5py would have written for the array in it, and no two hold the same.
cat >check.py <<'END'
import glob, os, sys, zlib
import h5py

samples, law, directory = int(sys.argv[1]), sys.argv[2], sys.argv[3]
files = sorted(glob.glob(directory + '/train/**/*.hdf5', recursive=True))
heads = set()
for name in files:
    with h5py.File(name, 'r') as f:
        assert list(f.keys()) == ['records'], (name, list(f.keys()))
        d = f['records']
        assert d.dtype == 'uint8' and d.shape[0] == samples, (name, d)
        assert d.ndim == (3 if law == 'dlio' else 2), (name, d.shape)
        assert d.chunks is None and d.maxshape == d.shape, name
        place, x = d.id.get_offset(), d[()]
    with open(name, 'rb') as f:
        raw = f.read()
    assert raw[place:] == x.tobytes(), name + ': samples are not where they lie'
    noise = raw[place:][:1 << 16]
    assert len(zlib.compress(noise, 1)) >= len(noise), name
    with h5py.File('same.hdf5', 'w') as f:
        f.create_dataset('records', data=x)
    with open('same.hdf5', 'rb') as f:
        assert f.read() == raw, name + ' is not as h5py writes it'
    heads.add(x.tobytes()[:64])
assert len(heads) == len(files), 'two files begin alike'
print(len(files))
END

# makes TITLE FILES SAMPLES dlio|plain OPTION...
makes()
{
	title=$1 files=$2 samples=$3 law=$4
	shift 4
	ok "$title: mlgen writes it" "$MLGEN" --name=h --phase=prepare \
		--format=hdf5 --directory=data --num_files="$files" \
		--samples_per_file="$samples" "$@"
	is "$title: h5py would have" \
		"$("$python" check.py "$samples" "$law" data 2>&1)" "$files"
	rm -rf data
}

rm -rf data
makes "one byte" 1 1 plain --sample_size=1
makes "one sample a file" 20 1 plain --sample_size=100k
makes "several samples a file" 5 7 plain --sample_size=30000
makes "many small ones" 1 20000 plain --sample_size=10
makes "larger than the buffer" 2 1 plain --sample_size=3m
makes "a chunk that ends with the payload" 1 1 plain --sample_size=1046528
makes "sizes of a distribution" 20 3 plain --sample_size=normal:100k:30k
makes "two sides as DLIO draws them" 20 1 dlio --sample_size=dlio:200k:90k
makes "several two-sided samples" 4 3 dlio --sample_size=dlio:300k:50k
makes "by io_uring" 5 3 plain --sample_size=100k --ioengine=io_uring
makes "in folders" 30 1 plain --sample_size=5k --subfolders=12

can_trace || {
	skip "every sample is read as h5py reads it here and now" \
		"no strace, or it is not allowed"
	done_testing
	exit
}

cat >load.py <<'END'
import sys, h5py
samples = int(sys.argv[1])
for name in sys.argv[2:3] + sys.argv[2:]:   # the first one imports
    for k in range(samples):
        f = h5py.File(name, 'r')
        f['records'][k]
        f.close()
END

# all_calls SAMPLES: of every file the last so many times that it was read.
all_calls()
{
	for path in data/*/train/*.hdf5; do
		echo "$path"
		calls "$path" each | last "$1"
	done
}

# alike TITLE FILES SAMPLES OPTION...: h5py and mlgen, of so many files.
alike()
{
	title=$1 count=$(($2 * $3)) samples=$3
	shift 3
	dataset "$@" --samples_per_file="$samples"
	trace "$python" load.py "$samples" data/*/train/*.hdf5 >out 2>&1
	all_calls "$samples" >h5py.calls
	# shellcheck disable=SC2086
	trace "$MLGEN" "$@" --samples_per_file="$samples" $job $framework \
		--ioengine=psync >out 2>&1
	all_calls "$samples" >mlgen.calls
	if [ "$(grep -c '^close' mlgen.calls)" -eq "$count" ]; then
		ok "$title" diff h5py.calls mlgen.calls
	else
		tap_fail "$title" "not every sample was read" "$(tail -3 out)"
	fi
}

alike "files of any size are read as h5py reads them" 40 1 --name=h \
	--num_files=40 --sample_size=uniform:1:600k
alike "small ones, too" 40 1 --name=h --num_files=40 \
	--sample_size=uniform:1:13k
alike "and large ones" 2 1 --name=h --num_files=2 --sample_size=uniform:2m:9m
alike "and each of several samples" 10 8 --name=h --num_files=10 \
	--sample_size=uniform:1:300k
alike "of small samples also what follows" 4 20 --name=h --num_files=4 \
	--sample_size=uniform:1:20k
alike "and of two-sided ones" 4 5 --name=h --num_files=4 \
	--sample_size=dlio:70k:20k

# Where the sieve buffer ends, and what is set aside for small datasets.
edges="1 16 2047 2048 2049 32767 32768 32769 65534 65535 65536 65537 131072"
for bytes in $edges; do
	printf '[b%d]\nstonewall\nnum_files=1\nsample_size=%d\n' \
		"$bytes" "$bytes"
done >edges.job
alike "and those next to an edge" 13 3 edges.job

# ---- libhdf5 makes an image in memory, and opens no file for it
if can_trace; then
	echo precious >mlgen
	traced trace openat "$MLGEN" --name=x --format=hdf5 \
		--directory=image --num_files=2 --sample_size=10k \
		--batch_size=1 --quiet >out 2>&1
	is "a file that is called as the image is not touched" \
		"$(grep -c '"mlgen"' trace)" 0
else
	skip "a file that is called as the image is not touched" "no strace"
fi

# ---- nobody else waits for libhdf5 to be loaded
soname=$(sed -n 's/^#define HDF5_SONAME "\(.*\)"$/\1/p' "$BUILT/config.h")
mkdir no-library
echo "none" >"no-library/$soname"
exits "a job of other files runs where libhdf5 does not load" 0 \
	env LD_LIBRARY_PATH="$T/no-library" "$MLGEN" --name=x --format=raw \
	--directory=none --num_files=2 --batch_size=1 --quiet
exits "one of HDF5 files does not" 2 \
	env LD_LIBRARY_PATH="$T/no-library" "$MLGEN" --name=x --format=hdf5 \
	--directory=none --num_files=2 --batch_size=1 --quiet
like "the package that is missing is named" "$(cat err)" \
	"format=hdf5: libhdf5 cannot be loaded: .*$soname.*; install .* $soname"

done_testing
