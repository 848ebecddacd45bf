#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 139-decompress.sh - compressed TFRecord and HDF5 files are inflated with decompress=real: it takes CPU, and wrong bytes are found.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"

python=/usr/bin/python3
"$python" -c 'import zlib' 2>/dev/null || skip_all "there is no $python"

job="--name=n --directory=data --dataset=scan --access=framework --invalidate=0
	--read_threads=1 --prefetch=2 --batch_size=4 --drop_last=0 --quiet
	--json=run.json"

cp "$TOP/t/func/tfrecord.py" .
# records.py KIND: three files of records that compress well, 24 MB altogether
# when they are inflated; prints the seconds of CPU that Python's zlib takes.
cat >records.py <<'END'
import gzip, os, random, sys, zlib
from tfrecord import record

random.seed(5)
os.makedirs('data', exist_ok=True)
text = bytes(random.choice(b'etaoin shrdlu') for _ in range(1 << 20))
for i in range(3):
    raw = b''.join(record(text[k:] + text[:k])
                   for k in random.sample(range(1 << 20), 8))
    if sys.argv[1] == 'gzip':
        half = len(raw) // 2
        packed = gzip.compress(raw[:half], 1) + gzip.compress(raw[half:], 1)
    else:
        packed = zlib.compress(raw, 1)
    with open(f'data/{i}.tfrecord', 'wb') as f:
        f.write(packed)
END
# cpu.py FILE...: seconds of CPU that Python's zlib takes for them.
cat >cpu.py <<'END'
import resource, sys, zlib
files = [open(name, 'rb').read() for name in sys.argv[1:]]
before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
for data in files:
    while data:
        d = zlib.decompressobj(47)
        d.decompress(data)
        data = d.unused_data
print(resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)
END
# spent.py COMMAND...: its seconds of CPU in user mode.
cat >spent.py <<'END'
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime)
sys.exit(code)
END

# inflates TITLE SECONDS OPTION...: real has taken a good part of the CPU that
# the reference took, more than none has.
inflates()
{
	title=$1 reference=$2
	shift 2
	# shellcheck disable=SC2086
	none=$("$python" spent.py "$MLGEN" $job "$@" 2>err) || note "$(cat err)"
	samples=$(ml run.json samples)
	# shellcheck disable=SC2086
	real=$("$python" spent.py "$MLGEN" $job --decompress=real "$@" 2>err) ||
		note "$(cat err)"
	is "$title: as many samples" "$(ml run.json samples)" "$samples"
	ok "$title: CPU time" "$python" -c 'import sys
none, real, reference = map(float, sys.argv[1:])
print(none, real, reference)
sys.exit(not real > none + reference / 3)' "$none" "$real" "$reference"
}

# ---- TFRecord: a stream through the file, or several behind one another
for kind in gzip zlib; do
	"$python" records.py $kind
	# The scan inflates the files once, too; three epochs outweigh that.
	inflates "$kind" "$("$python" cpu.py data/*.tfrecord)" \
		--format=tfrecord --loader=tfdata --shuffle=none --epochs=3
	is "$kind: each record" "$samples" 72
done
# shellcheck disable=SC2086
exits "or time passes instead" 0 "$MLGEN" $job --format=tfrecord \
	--loader=tfdata --shuffle=none --decompress=sleep --decompress_rate=100m
is "each record once again" "$(ml run.json samples)" 24
for engine in mmap libaio; do
	# shellcheck disable=SC2086
	exits "read by ioengine=$engine they are inflated, too" 0 "$MLGEN" $job \
		--format=tfrecord --loader=tfdata --shuffle=none \
		--decompress=real --ioengine=$engine --read_threads=3 \
		--hold_samples=1
	is "each record: $engine" "$(ml run.json samples)" 24
done
is "with ioengine=null there is nothing to inflate" "$(
	# shellcheck disable=SC2086
	"$MLGEN" $job --format=tfrecord --loader=tfdata --shuffle=none \
		--decompress=real --ioengine=null >out 2>&1 &&
		ml run.json samples)" 24

# ---- HDF5: each chunk is one
"$python" -c 'import h5py' 2>/dev/null || {
	skip "chunks of HDF5 are inflated" \
		"$python has no h5py (Debian: python3-h5py)"
	done_testing
	exit
}
rm -rf data
mkdir data
# One chunk is larger than a buffer of mlgen's; prints where the last one is.
cat >chunks.py <<'END'
import h5py, numpy
with h5py.File('data/a.h5', 'w') as f:
    d = f.create_dataset('x', (12, 2000, 2000), 'u1', chunks=(1, 2000, 2000),
                         compression='gzip', compression_opts=1)
    rng = numpy.random.default_rng(3)
    for i in range(12):
        d[i] = rng.integers(0, 40, (2000, 2000), 'u1')
with h5py.File('data/a.h5') as f:
    d = f['x'].id
    with open('data/a.h5', 'rb') as raw, open('chunks', 'wb') as out:
        for i in range(d.get_num_chunks()):
            c = d.get_chunk_info(i)
            raw.seek(c.byte_offset)
            out.write(raw.read(c.size))
    print(c.byte_offset, c.size)
END
last=$("$python" chunks.py)
ok "a chunk is larger than any buffer" test "${last#* }" -gt 1048576
inflates "hdf5" "$("$python" cpu.py chunks)" --format=hdf5 --shuffle=none
is "hdf5: each sample" "$samples" 12
at=$((${last% *} + ${last#* } / 2))
printf '\377\377\377\377\377\377\377\377' |
	dd of=data/a.h5 bs=1 seek=$at conv=notrunc status=none
# shellcheck disable=SC2086
exits "a wrong byte in a chunk is an error" 1 "$MLGEN" $job --format=hdf5 \
	--shuffle=none --decompress=real
like "with path and offset" "$(cat err)" \
	'data/a.h5: at byte [0-9]*: it cannot be decompressed: .*epoch 1, step 3'
found=$(sed -n 's/.*a.h5: at byte \([0-9]*\):.*/\1/p' err)
ok "which is in that chunk" test "$found" -ge "${last% *}" -a \
	"$found" -le $((${last% *} + ${last#* }))
# shellcheck disable=SC2086
exits "or counts as a sample that failed" 0 "$MLGEN" $job --format=hdf5 \
	--shuffle=none --decompress=real --continue_on_error=1 \
	--max_errors=1
is "one" "$(ml run.json failed_samples samples)" "1 11"

# A chunk that a program wrote past the filter is as long as any other.
cat >past.py <<'END'
import h5py
with h5py.File('data/a.h5', 'w') as f:
    d = f.create_dataset('x', (8, 1000), 'u1', chunks=(4, 1000),
                         compression='gzip')
    d[:] = 1
    d.id.write_direct_chunk((4, 0), bytes(4000), filter_mask=1)
END
"$python" past.py
# shellcheck disable=SC2086
exits "a chunk without its filter is refused" 2 "$MLGEN" $job --format=hdf5 \
	--decompress=real
like "in words" "$(cat err)" \
	'data/a.h5: .*has chunks without its filter.*use decompress=none'
# shellcheck disable=SC2086
exits "and read" 0 "$MLGEN" $job --format=hdf5

done_testing
