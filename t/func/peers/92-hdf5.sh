#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 92-hdf5.sh - h5py reads the HDF5 files that mlgen writes, and mlgen reads them as h5py does.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"
. "$(dirname "$0")/../made.sh"

"$MLGEN" --name=h --format=hdf5 --dry-run >/dev/null 2>err ||
	! grep -q 'is not supported, because mlgen was built without' err || {
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
	last_calls 8 data/h/train/img_2_of_4.hdf5 >seen
	is "a file is opened for each of its samples" "$(grep -c '^open' seen)" 8
	is "row 3 is read as h5py was seen to read it" \
		"$(awk '/^open/ { n++ } n == 4' seen)" "$captured"
fi

# ---- next to h5py itself
python=/usr/bin/python3

cp "$TOP/t/func/made.py" .
# check.py: SAMPLES dlio|plain follow the directory. Each file is the one that h5py would
# have written for the array in it, and no two begin with the same bytes.
cat >check.py <<'END'
import glob, zlib
from made import check_each, need

def check(directory, samples, law):
    h5py = need('h5py', 'python3-h5py')
    files = sorted(glob.glob(directory + '/train/**/*.hdf5', recursive=True))
    heads = set()
    for name in files:
        with h5py.File(name, 'r') as f:
            assert list(f.keys()) == ['records'], (name, list(f.keys()))
            d = f['records']
            assert d.dtype == 'uint8' and d.shape[0] == int(samples), (name, d)
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
    return len(files)

check_each(check)
END

# hdf5 TITLE FILES SAMPLES dlio|plain OPTION...
hdf5()
{
	title=$1 files=$2 samples=$3 law=$4
	shift 4
	makes "$title" "$files" "$samples $law" --format=hdf5 \
		--num_files="$files" --samples_per_file="$samples" "$@"
}

hdf5 "one byte" 1 1 plain --sample_size=1
hdf5 "one sample a file" 10 1 plain --sample_size=100k
hdf5 "several samples a file" 5 7 plain --sample_size=30000
hdf5 "many small ones" 1 20000 plain --sample_size=10
hdf5 "larger than the buffer" 2 1 plain --sample_size=3m
hdf5 "a chunk that ends with the payload" 1 1 plain --sample_size=1046528
hdf5 "sizes of a distribution" 20 3 plain --sample_size=normal:30k:9k
hdf5 "two sides as DLIO draws them" 20 1 dlio --sample_size=dlio:60k:27k
hdf5 "several two-sided samples" 4 3 dlio --sample_size=dlio:100k:17k
hdf5 "by io_uring" 5 3 plain --sample_size=100k --ioengine=io_uring
hdf5 "in folders" 30 1 plain --sample_size=5k --subfolders=12
check_made "h5py would have" "$python" check.py

reason=$made_skip
can_trace || reason="no strace, or it is not allowed"
[ -z "$reason" ] || {
	skip "every sample is read as h5py reads it here and now" "$reason"
	done_testing
	exit
}

# load.py: for each "SAMPLES FILE..." on standard input, opens each file for each sample.
cat >load.py <<'END'
import sys, h5py

def load(name, samples):
    for k in range(samples):
        f = h5py.File(name, 'r')
        f['records'][k]
        f.close()

for number, line in enumerate(sys.stdin):
    samples, *names = line.split()
    if number == 0:
        load(names[0], 1)   # imports
    for name in names:
        load(name, int(samples))
END

# Sizes next to the end of the sieve buffer, and to what is set aside for small datasets.
for bytes in 1 16 2047 2048 2049 32767 32768 32769 65534 65535 65536 65537 131072; do
	printf '[b%d]\nstonewall\nnum_files=1\nsample_size=%d\n' \
		"$bytes" "$bytes"
done >b.job

# Files, samples in each, name of the job (and of its folder), options, title.
cat >cases <<'END'
12 1 any --name=any,--sample_size=uniform:1:600k files of any size are read as h5py reads them
12 1 small --name=small,--sample_size=uniform:1:13k small ones, too
2 1 large --name=large,--sample_size=uniform:2m:5m and large ones
5 6 several --name=several,--sample_size=uniform:1:300k and each of several samples
2 20 follow --name=follow,--sample_size=uniform:1:20k of small samples also what follows
3 4 sides --name=sides,--sample_size=dlio:70k:20k and of two-sided ones
13 3 b b.job and those next to an edge
END

# with_case COMMAND...: runs it with the options of the case.
with_case()
{
	case $options in
	*.job)	"$@" "$options" --samples_per_file="$samples" ;;
	*)	"$@" "${options%,*}" "${options#*,}" --num_files="$files" \
			--samples_per_file="$samples" ;;
	esac
}

rm -rf data
while read -r files samples name options title; do
	# shellcheck disable=SC2086 # several options
	with_case "$MLGEN" $job --phase=prepare </dev/null >prepare.out 2>&1
	echo "$samples" data/"$name"*/train/*.hdf5
done <cases >loads
trace "$python" load.py <loads >out 2>&1
while read -r _ samples name _; do
	last_calls "$samples" data/"$name"*/train/*.hdf5 >"h5py.$name"
done <cases
while read -r files samples name options title; do
	# shellcheck disable=SC2086
	with_case trace "$MLGEN" $job $framework --ioengine=psync \
		</dev/null >out 2>&1
	last_calls "$samples" data/"$name"*/train/*.hdf5 >mlgen.calls
	if [ "$(grep -c '^close' mlgen.calls)" -eq $((files * samples)) ]; then
		ok "$title" diff "h5py.$name" mlgen.calls
	else
		tap_fail "$title" "not every sample was read" "$(tail -3 out)"
	fi
done <cases

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
