#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 132-scan-hdf5.sh - HDF5 files that h5py wrote are scanned, and read as h5py reads them; what cannot be read is named.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"

python=/usr/bin/python3
"$MLGEN" --name=h --format=hdf5 --dry-run >/dev/null 2>err ||
	! grep -q 'is not supported, because mlgen was built without' err ||
	skip_all "this mlgen was built without hdf5"

# write.py: four files of each kind in a folder of its name, with labels next to the
# samples. Then odd files, of which mlgen refuses all but "plain". Prints how many
# bytes the samples in "gzip" take on disk.
cat >write.py <<'END'
import os, sys
try:
    import h5py, numpy
except ImportError:
    sys.exit(77)
import h5py.h5d, h5py.h5p, h5py.h5s, h5py.h5t

numpy.random.seed(5)
# Of each kind: samples in the two longer files, shape of a sample, options. An index
# of version "earliest" gets a second level with 65 chunks, an extensible array of
# "latest" its third block with 53.
kinds = {
    'contiguous': (12, 12, (100, 90), {}),
    'small': (12, 12, (13,), {}),
    'large': (7, 7, (700, 300), {}),
    'chunked': (12, 66, (100, 90), {'chunks': (1, 100, 90)}),
    'split': (12, 24, (100, 90), {'chunks': (4, 25, 30)}),
    'gzip': (12, 66, (100, 90), {'chunks': (1, 100, 90), 'compression': 'gzip'}),
    'growing': (66, 12, (100, 90), {'chunks': (1, 100, 90), 'compression': 'gzip',
                                    'maxshape': (None, 100, 90)}),
    'anyway': (20, 20, (100, 90), {'chunks': (2, 100, 90),
                                   'maxshape': (None, None, 90)}),
    'whole': (12, 12, (30, 10), {'chunks': (1000, 30, 10)}),
    'uncached': (7, 7, (700, 900), {'chunks': (2, 700, 900)}),
    'sparse': (20, 20, (64, 64), {'chunks': (2, 32, 64)}),
    'flat': (20, 20, (), {'chunks': (8,), 'compression': 'gzip'}),
    'compact': (12, 12, (20,), {}),
}

def write(kind):
    os.mkdir(kind)
    latest, earliest, shape, asked = kinds[kind]
    for samples, version in ((1, 'earliest'), (2, 'latest'), (latest, 'latest'),
                             (earliest, 'earliest')):
        options = dict(asked)
        if 'chunks' in asked:
            first, *rest = asked['chunks']
            options['chunks'] = (min(first, samples), *rest)
        data = numpy.random.randint(0, 64, (samples,) + shape, dtype='u1')
        name = '%s/%d-%s.hdf5' % (kind, samples, version)
        with h5py.File(name, 'w', libver=version) as f:
            if kind != 'flat':
                f['group/labels'] = numpy.arange(samples)
            if kind == 'sparse':
                d = f.create_dataset('images', data.shape, 'u1', **options)
                for k in range(0, samples, 3):
                    d[k, :32] = data[k, :32]
                    d[k, 32:] = data[k, 32:]
            elif kind == 'compact':
                plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                plist.set_layout(h5py.h5d.COMPACT)
                d = h5py.h5d.create(f.id, b'images', h5py.h5t.STD_U8LE,
                                    h5py.h5s.create_simple(data.shape), plist)
                d.write(h5py.h5s.ALL, h5py.h5s.ALL, data)
            else:
                f.create_dataset('images', data=data, **options)

for kind in kinds:
    write(kind)

# mlgen reads a file of one sample whole.
def on_disk(name):
    with h5py.File(name, 'r') as f:
        d = f['images']
        return d.id.get_storage_size() if len(d) > 1 else os.stat(name).st_size

print(sum(on_disk('gzip/' + name) for name in os.listdir('gzip')))

# ---- one file of each kind that is refused
os.mkdir('odd')
a = numpy.zeros((4, 100), 'u1')
def new(name):
    return h5py.File('odd/%s.hdf5' % name, 'w')
with new('variable') as f:
    f.create_dataset('x', (4, 2), dtype=h5py.string_dtype())
with new('lzf') as f:
    f.create_dataset('x', data=a, compression='lzf')
with new('shuffle') as f:
    f.create_dataset('x', data=a, compression='gzip', shuffle=True)
with new('fletcher') as f:
    f.create_dataset('x', data=a, fletcher32=True)
with new('external') as f:
    f.create_dataset('x', (4, 100), 'u1', external=[('odd.bin', 0, 400)])
with new('virtual') as f:
    layout = h5py.VirtualLayout((4, 100), 'u1')
    layout[:] = h5py.VirtualSource('odd/lzf.hdf5', 'x', (4, 100))
    f.create_virtual_dataset('x', layout)
with new('unwritten') as f:
    f.create_dataset('x', (4, 100), 'u1')
with new('unchunked') as f:
    f.create_dataset('x', (4, 100), 'u1', chunks=(1, 100))
with new('nothing') as f:
    f['x'] = 3
with new('linked') as f:
    f['x'] = h5py.ExternalLink('lzf.hdf5', '/x')
with new('circle') as f:
    f['g'] = f['/']
    f['s'] = h5py.SoftLink('/')
with new('plain') as f:
    f.create_dataset('x', data=a, chunks=(1, 100))
with new('empty') as f:
    f.create_dataset('x', (0, 100), 'u1', maxshape=(None, 100))
# The names of a group are at no address, for which libhdf5 1.10 itself crashes.
with open('odd/plain.hdf5', 'rb') as f:
    b = bytearray(f.read())
at = b.index(b'TREE\0') + 32
b[at:at + 8] = b'\xff' * 8
with open('odd/undefined.hdf5', 'wb') as f:
    f.write(b)
# A dimension of 48 where 32 bytes are kept.
with new('short') as f:
    p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    p.set_layout(h5py.h5d.COMPACT)
    d = h5py.h5d.create(f.id, b'x', h5py.h5t.STD_U8LE,
                        h5py.h5s.create_simple((4, 8), (4, 8)), p)
    d.write(h5py.h5s.ALL, h5py.h5s.ALL, numpy.arange(32, dtype='u1').reshape(4, 8))
with open('odd/short.hdf5', 'rb') as f:
    b = bytearray(f.read())
b = b.replace(b'\4' + bytes(7) + b'\x08' + bytes(7),
              b'\4' + bytes(7) + b'\x0c' + bytes(7))
with open('odd/short.hdf5', 'wb') as f:
    f.write(b)
END
on_disk=$("$python" write.py 2>err)
case $? in
0)	;;
77)	skip_all "$python has no h5py (Debian: python3-h5py)" ;;
*)	note "$(cat err)" ;;
esac
total=$((1 + 2 + 12 + 66)) # samples of gzip

# load.py FILE...: as a framework that opens the file for each sample.
cat >load.py <<'END'
import sys, h5py
for name in sys.argv[1:2] + sys.argv[1:]:   # the first one imports
    with h5py.File(name, 'r') as f:
        samples = f['images'].shape[0]
    for k in range(samples):
        f = h5py.File(name, 'r')
        f['images'][k]
        f.close()
END

job="--name=h --directory=data --dataset=scan --format=hdf5 --invalidate=0
	--read_threads=1 --accelerators=1 --prefetch=1 --shuffle=none --quiet"

# all_calls: those of the last time that each sample of each file was read.
all_calls()
{
	for path in data/*.hdf5; do
		samples=${path#data/}
		last_calls "${samples%%-*}" "$path"
	done
}

# h5py_reads KIND...: the calls of h5py for files of each, as h5py.KIND.
h5py_reads()
{
	# shellcheck disable=SC2046 # names without blanks
	trace "$python" load.py $(printf '%s/*.hdf5 ' "$@") >out 2>&1 ||
		note "$(cat out)"
	awk '/^openat\(.*\.hdf5"/ {
		kind = $0
		sub(/^[^"]*"/, "", kind)
		sub(/\/.*/, "", kind)
	}
	kind { print >("h5py." kind) }' trace
}

# alike KIND TITLE: what h5py does with files of that kind, mlgen does.
alike()
{
	rm -rf data
	mv "$1" data
	sed "s|\"$1/|\"data/|" "h5py.$1" >trace
	all_calls >h5py.calls
	# shellcheck disable=SC2086 # several options
	trace "$MLGEN" $job --access=framework --ioengine=psync >out 2>&1
	all_calls >mlgen.calls
	if [ "$(grep -c '^open' h5py.calls)" -gt 6 ]; then
		ok "$2" diff h5py.calls mlgen.calls
	else
		tap_fail "$2" "h5py read nothing" "$(tail -3 out)"
	fi
}

if can_trace; then
	h5py_reads contiguous small large compact chunked gzip split growing \
		anyway whole uncached sparse flat
	alike contiguous "samples that lie in one piece are read as h5py reads them"
	alike small "so are small ones, with what follows"
	alike large "and large ones"
	alike compact "and those that lie in the metadata"
	alike chunked "a chunk for each sample is found by its index"
	alike split "of several chunks for several samples each is read"
	alike growing "a dataset that may grow has another index"
	alike anyway "in two directions yet another"
	alike whole "one chunk has none"
	alike uncached "of chunks larger than the cache the sample alone is read"
	alike sparse "chunks that are not there are looked for, and not read"
	alike flat "a dataset of one dimension has elements for samples"
	alike gzip "a compressed chunk is found by the index, too"
else
	skip "samples are read as h5py reads them" "no strace, or not allowed"
	mv gzip data
fi

# ---- what is counted
for engine in psync io_uring libaio; do
	rm -f run.json
	# shellcheck disable=SC2086
	"$MLGEN" $job --access=plain --ioengine=$engine --json=run.json \
		>out 2>&1
	is "$engine reads each sample of files of unequal numbers, with access=plain" \
		"$(ml run.json samples ops.open.total ops.close.total)" \
		"$total $total $total"
	is "$engine: bytes are those on disk" "$(ml run.json io_bytes)" \
		"$on_disk"
done
# shellcheck disable=SC2086
ok "in any order, with several threads" "$MLGEN" $job --access=framework \
	--shuffle=sample --read_threads=4 --batch_size=3 --json=run.json
is "all of them but what batches leave over" "$(ml run.json samples)" "$total"

# ---- which dataset
# shellcheck disable=SC2086
ok "another dataset can be named" "$MLGEN" $job --access=framework \
	--hdf5_dataset=group/labels --json=run.json
is "its elements are the samples" "$(ml run.json samples sample_bytes)" \
	"$total $((total * 8))"
# shellcheck disable=SC2086
exits "one that is not there is refused" 2 "$MLGEN" $job \
	--hdf5_dataset=labels
like "with one that is" "$(cat err)" \
	"data/1-earliest.hdf5: hdf5_dataset: the dataset 'labels' cannot be opened \\(object 'labels' doesn't exist\\); without the option, mlgen uses 'images'"

# ---- bad files
head -c 1500 odd/plain.hdf5 >odd/cut.hdf5
# Its superblock is followed by an object header of 4 GiB, libhdf5 is told.
cp "$TOP/t/fuzz/corpus/hdf5/super_large" odd/large.hdf5
printf 'no such thing as HDF5' >odd/text.hdf5
# The B-tree's signature is not where its address says.
sed 's/TREE/tree/g' odd/plain.hdf5 >odd/tree.hdf5

# refused FILE REGEX: alone in its directory.
refused()
{
	rm -rf data
	mkdir data
	cp "odd/$1.hdf5" data
	# shellcheck disable=SC2086
	exits "$1 is refused" 2 "$MLGEN" $job
	like "$1: in words" "$(cat err)" "^mlgen: $2"
}

here='data/[a-z]*\.hdf5'
refused variable "$here: dataset 'x' has elements of variable length"
refused lzf "$here: dataset 'x' has the filter 32000, 'lzf', .* only deflate"
refused shuffle "$here: .* the filter 2, 'shuffle'"
refused fletcher "$here: .* the filter 3, 'fletcher32'"
refused external "$here: dataset 'x' has its data in other files"
refused virtual "$here: dataset 'x' is a virtual dataset"
refused unwritten "$here: dataset 'x' has no data: nothing was written"
refused unchunked "$here: dataset 'x' has no data: nothing was written"
refused nothing "$here: found no dataset with a dimension"
refused linked "$here: dataset 'x' cannot be opened; libhdf5 reports: "
refused circle "$here: found no dataset with a dimension"
refused cut "$here: at byte [0-9]*: libhdf5 cannot interpret .*: truncated file"
refused text "$here: at byte [0-9]*: libhdf5 cannot interpret .*: unable to locate|$here: at byte .*libhdf5 cannot interpret"
refused tree "$here: at byte [0-9]*: libhdf5 cannot interpret|$here: found no dataset"
refused undefined "$here: at byte [0-9]*: libhdf5 cannot interpret|$here: found no dataset"
refused large "$here: at byte [0-9]*: 4294[0-9]* bytes should be here, which is after the end of the file"
refused short "$here: dataset 'x' is compact and has 32 bytes, but its samples need 48"
refused empty "data: no hdf5 file here has a sample"

rm -rf data
cp -r odd data
# shellcheck disable=SC2086
exits "of several the first is told" 2 "$MLGEN" $job --scan_errors=refuse
# shellcheck disable=SC2086
exits "without scan_errors=refuse they are left out" 0 "$MLGEN" $job \
	--access=framework --json=run.json
is "and the rest is read" "$(ml run.json samples)" 4
like "which is said" "$(cat err)" 'data: left out: 17 files that are damaged, or in a variant of hdf5 that mlgen cannot read'
like "and of those without a sample, too" "$(cat err)" \
	'left out: 1 hdf5 files without a sample'

done_testing
