#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 130-scan-numpy.sh - archives and arrays that NumPy and zipfile wrote are read as NumPy reads them, call by call.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"

python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null ||
	skip_all "$python has no numpy (Debian: python3-numpy)"

scan="--name=s --dataset=scan --read_threads=1 --prefetch=1 --shuffle=none
	--drop_last=0 --invalidate=0 --quiet --json=run.json"

# run DIRECTORY FORMAT OPTION...
run()
{
	directory=$1 format=$2
	shift 2
	rm -f run.json
	# shellcheck disable=SC2086 # several options
	"$MLGEN" $scan --directory="$directory" --format="$format" "$@" \
		>out 2>err
}

cat >make.py <<'END'
import io, os, warnings, zipfile
import numpy as np

warnings.simplefilter('ignore')
r = np.random.default_rng(1)

def noise(n):
    return r.integers(0, 256, n, dtype=np.uint8)

def wide(fields):
    return np.dtype([('field_%05d_%s' % (i, 'x' * 20), '<f4')
                     for i in range(fields)])

for d in ('npz', 'keys', 'deflated', 'npy', 'rows', 'both', 'bad'):
    os.mkdir(d)

# the ends of blocks, requests and chunks; elements that fit no chunk
for n in (1, 10, 3912, 3913, 3914, 3968, 3969, 8009, 100000, 253952, 262016,
          262144, 262145, 2000003):
    np.savez('npz/n%d.npz' % n, noise(n))
np.savez('npz/two.npz', labels=np.arange(3000), image=noise(777777))
np.savez('npz/many.npz', **{'a_%04d' % i: noise(37 * i + 1)
                            for i in range(200)})
np.savez('npz/three.npz', noise(3 * 400000).view('V3'))
np.savez('npz/large.npz', noise(600000 * 3).view('V600000'))
np.savez('npz/rows.npz', noise(500000).reshape(500, 1000))
np.savez('npz/columns.npz', np.asfortranarray(noise(90000).reshape(300, 300)))
np.savez('npz/wide.npz', np.zeros(1000, wide(500)))
np.savez('npz/wider.npz', np.zeros(10, wide(5000)))

def array(n):
    b = io.BytesIO()
    np.save(b, noise(n))
    return b.getvalue()

# what stands before, the comment, the extra field, the array
for k, (before, comment, extra, n) in enumerate([
        (0, 0, 0, 50000), (0, 5, 0, 70000), (0, 60000, 0, 300000),
        (1000, 0, 0, 30000), (0, 0, 5000, 300000), (0, 0, 13000, 9000),
        (777, 2, 4096, 1000000), (0, 65535, 28, 100)]):
    name = 'keys/k%d.npz' % k
    with open(name, 'wb') as f:
        f.write((b'PK\3\4' + b'J' * before) if before else b'')
    with zipfile.ZipFile(name, 'a') as z:
        z.writestr(zipfile.ZipInfo('other.npy'), array(1234))
        info = zipfile.ZipInfo('image/x.npy')
        if extra:
            info.extra = (b'\xca\xfe' + (extra - 4).to_bytes(2, 'little') +
                          b'e' * (extra - 4))
        z.writestr(info, array(n))
        z.comment = b'c' * comment
b = io.BytesIO()
np.savez(b, **{'image/x': noise(200000)})
with open('keys/trailing.npz', 'wb') as f:
    f.write(b.getvalue() + b'what does not belong here')

for n in (1, 1000, 300000):
    np.savez_compressed('deflated/zeros%d.npz' % n, np.zeros(n, np.uint8))
    np.savez_compressed('deflated/noise%d.npz' % n, noise(n))

for n in (1, 3967, 3968, 3969, 8063, 8064, 8065, 100000, 1048448, 3000001):
    np.save('npy/n%d.npy' % n, noise(n))
for k in (30, 60, 100, 1000, 5000):     # headers of any length
    np.save('npy/w%d.npy' % k, np.zeros(99, wide(k)))
np.save('npy/letter.npy', np.zeros(9, [('f\u00e9ld', '<f4')]))
np.save('npy/columns.npy', np.asfortranarray(noise(3300).reshape(100, 33)))
np.save('npy/scalar.npy', np.float32(3))
for end in (4096, 8192):                # ... that end with a block
    text = "{'descr': '|u1', 'fortran_order': False, 'shape': (20000,), }"
    text = text.ljust(end - 11).encode() + b'\n'
    with open('npy/end%d.npy' % end, 'wb') as f:
        f.write(b'\x93NUMPY\1\0' + len(text).to_bytes(2, 'little') + text +
                noise(20000).tobytes())

for n in (1, 2, 1000):
    np.save('rows/r%d.npy' % n, noise(n * 700).reshape(n, 70, 10))

np.save('bad/objects.npy', np.array([{}], dtype=object))
END
ok "NumPy writes them" "$python" make.py

# ---- samples of unequal number and size
ok "arrays of 1, 2 and 1,000 rows are read" run rows npy
is "each row is a sample" "$(ml run.json samples sample_bytes ops.open.total)" \
	"1003 $((1003 * 700)) 1003"
is "of its own bytes, but for a file of one, which is read whole" \
	"$(ml run.json io_bytes)" "$((1002 * 700 + 828))"
ok "archives with a member of the name that all have" run keys npz \
	--scan_key=image/x
is "are a sample each" "$(ml run.json samples sample_bytes)" "9 $((50000 + \
	70000 + 300000 + 30000 + 300000 + 9000 + 1000000 + 100 + 200000))"
ok "columns first make one sample of an array" run npy npy
is "as one axis does" "$(ml run.json samples)" 20

# ---- what is refused
run keys npz --scan_key=y
like "a member that an archive lacks is named" "$(cat err)" \
	"keys/k0.npz: at byte [0-9]*: the archive has no member 'y'; scan_key"
run bad npy
like "objects are no samples" "$(cat err)" \
	'bad/objects.npy: at byte 0: it holds Python objects'
cp npz/n100000.npz bad/cut.npz
truncate -s 50000 bad/cut.npz
run bad npz
like "an archive without its end is refused" "$(cat err)" \
	'bad/cut.npz: at byte 50000: no zip archive ends here'
head -c 5000 npy/n100000.npy >bad/cut.npy
rm bad/objects.npy
run bad npy
like "so is an array" "$(cat err)" \
	'bad/cut.npy: .*says 100000 bytes of data, but only 4872 exist'

# ---- call by call
reason=$(no_python_calls "$python")
if [ -n "$reason" ]; then
	skip "files of others are read as NumPy reads them" "$reason"
	done_testing
	exit
fi

# The first one imports.
cat >load.py <<'END'
import sys, numpy
key = sys.argv[1]
for name in sys.argv[2:3] + sys.argv[2:]:
    a = numpy.load(name, allow_pickle=True)
    if name.endswith('.npz'):
        a[key or a.files[0]]
        a.close()
END

# alike TITLE DIRECTORY FORMAT KEY
alike()
{
	title=$1 directory=$2 format=$3 key=$4
	count=$(find "$directory" -type f | wc -l)
	trace "$python" load.py "$key" "$directory"/* >out 2>&1
	calls_of "$directory"/* >theirs
	# shellcheck disable=SC2086
	trace "$MLGEN" $scan --directory="$directory" --format="$format" \
		--access=framework ${key:+"--scan_key=$key"} >out 2>&1
	calls_of "$directory"/* >ours
	if [ "$(grep -c '^close' ours)" -eq "$count" ]; then
		ok "$title" diff theirs ours
	else
		tap_fail "$title" "not every file was read" "$(cat out)"
	fi
}

alike "archives of any arrays are read as NumPy reads them" npz npz ''
alike "the last of two members, too" keys npz image/x
alike "what is deflated, as far as its bytes are alike" deflated npz ''
alike "arrays behind any header" npy npy ''
rm rows/r1000.npy
# shellcheck disable=SC2086
trace "$MLGEN" $scan --directory=rows --format=npy --access=framework >out 2>&1
is "an array of two rows is read whole for each" \
	"$(calls rows/r2.npy each | grep -c '^read 4096 @0 = 1528')" 4

done_testing
