#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 139-decompress.sh - compressed TFRecord and HDF5 files are inflated with decompress=real: to the last byte, so that a wrong one is found.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"

python=/usr/bin/python3
"$python" -c 'import zlib' 2>/dev/null || skip_all "there is no $python"

job="--name=n --directory=data --dataset=scan --access=framework --invalidate=0
	--read_threads=1 --prefetch=2 --batch_size=4 --drop_last=0 --quiet
	--json=run.json"

cp "$TOP/t/func/tfrecord.py" .
# records.py KIND: three files of records that compress well; prints the file and the
# offset of a byte of each stream's checksum.
cat >records.py <<'END'
import gzip, os, random, sys, zlib
from tfrecord import record

random.seed(5)
os.makedirs('data', exist_ok=True)
text = bytes(random.choices(b'etaoin shrdlu', k=1 << 16))
for i in range(3):
    raw = b''.join(record(text[k:] + text[:k])
                   for k in random.sample(range(1 << 16), 8))
    name = f'data/{i}.tfrecord'
    with open(name, 'wb') as f:
        if sys.argv[1] == 'gzip':
            # A CRC, and the length behind it.
            for half in raw[:len(raw) // 2], raw[len(raw) // 2:]:
                f.write(gzip.compress(half, 1))
                print(name, f.tell() - 5)
        else:
            f.write(zlib.compress(raw, 1))
            print(name, f.tell() - 1)
END

# spoil FILE OFFSET: another byte there, and the scan does not see that it is.
spoil()
{
	cp -p "$1" before
	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	# shellcheck disable=SC2059 # the byte in octal
	printf "\\$(printf %o $((byte ^ 255)))" |
		dd of="$1" bs=1 seek="$2" conv=notrunc status=none
	touch -r before "$1"
}

# scanned DECOMPRESS OPTION...: with what the scan found when all was as it should be.
scanned()
{
	how=$1
	shift
	[ -f "first.$how" ] || {
		# shellcheck disable=SC2086
		"$MLGEN" $job --decompress="$how" --scan_cache="first.$how" \
			--dry-run "$@" >/dev/null 2>&1
	}
	cp "first.$how" kept
	# shellcheck disable=SC2086
	"$MLGEN" $job --decompress="$how" --scan_cache=kept "$@"
}

# ---- TFRecord: a stream through the file, or several behind one another. A checksum
# stands behind all that it is of, so that only who inflates all of it finds it wrong.
for kind in gzip zlib; do
	rm -f first.*
	"$python" records.py $kind >checksums
	set -- --format=tfrecord --loader=tfdata --shuffle=none
	for how in none real; do
		exits "$kind: decompress=$how reads it" 0 scanned $how "$@" --epochs=3
		is "$kind: each record: $how" "$(ml run.json samples)" 72
	done
	while read -r file at <&3; do
		cp -p "$file" whole
		spoil "$file" "$at"
		exits "$kind: a wrong checksum in $file is none of decompress=none" 0 \
			scanned none "$@"
		exits "$kind: but is an error of decompress=real" 1 scanned real "$@"
		like "$kind: with path and offset" "$(cat err)" \
			"$file: at byte [0-9]*: cannot be decompressed: incorrect data check"
		cp -p whole "$file"
	done 3<checksums
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
    d = f.create_dataset('x', (6, 1300, 1300), 'u1', chunks=(1, 1300, 1300),
                         compression='gzip', compression_opts=1)
    rng = numpy.random.default_rng(3)
    for i in range(6):
        d[i] = rng.integers(0, 40, (1300, 1300), 'u1')
with h5py.File('data/a.h5') as f:
    c = f['x'].id.get_chunk_info(5)
    print(c.byte_offset, c.size)
with h5py.File('data/past', 'w') as f:
    # A chunk that a program wrote past the filter is as long as any other.
    d = f.create_dataset('x', (8, 1000), 'u1', chunks=(4, 1000),
                         compression='gzip')
    d[:] = 1
    d.id.write_direct_chunk((4, 0), bytes(4000), filter_mask=1)
END
last=$("$python" chunks.py)
mv data/past .
ok "a chunk is larger than any buffer" test "${last#* }" -gt 1048576
for how in none real; do
	# shellcheck disable=SC2086
	exits "hdf5: decompress=$how reads it" 0 "$MLGEN" $job --format=hdf5 \
		--shuffle=none --decompress=$how
	is "hdf5: each sample: $how" "$(ml run.json samples)" 6
done
at=$((${last% *} + ${last#* } / 2))
printf '\377\377\377\377\377\377\377\377' |
	dd of=data/a.h5 bs=1 seek=$at conv=notrunc status=none
# shellcheck disable=SC2086
exits "a wrong byte in a chunk is none of decompress=none" 0 "$MLGEN" $job \
	--format=hdf5 --shuffle=none
# shellcheck disable=SC2086
exits "but is an error of decompress=real" 1 "$MLGEN" $job --format=hdf5 \
	--shuffle=none --decompress=real --batch_size=2
like "with path and offset" "$(cat err)" \
	'data/a.h5: at byte [0-9]*: cannot be decompressed: .*epoch 1, step 3'
found=$(sed -n 's/.*a.h5: at byte \([0-9]*\):.*/\1/p' err)
ok "which is in that chunk" test "$found" -ge "${last% *}" -a \
	"$found" -le $((${last% *} + ${last#* }))
# shellcheck disable=SC2086
exits "or counts as a sample that failed" 0 "$MLGEN" $job --format=hdf5 \
	--shuffle=none --decompress=real --continue_on_error=1 \
	--max_errors=1
is "one" "$(ml run.json failed_samples samples)" "1 5"

mv past data/a.h5
# shellcheck disable=SC2086
exits "a chunk without its filter is refused" 2 "$MLGEN" $job --format=hdf5 \
	--decompress=real
like "in words" "$(cat err)" \
	'data/a.h5: .*has chunks without its filter.*use decompress=none'
# shellcheck disable=SC2086
exits "and read" 0 "$MLGEN" $job --format=hdf5

done_testing
