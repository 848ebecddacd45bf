#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 30-numpy.sh - NumPy and zipfile read every npz file that mlgen writes.

. "$(dirname "$0")/../tap.sh"

python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null ||
	skip_all "$python has no numpy (Debian: python3-numpy)"

# check.py SAMPLES dlio|plain DIRECTORY: every file is what numpy.savez would
# have written for the arrays in it, and no two hold the same bytes.
cat >"$T/check.py" <<'END'
import glob, io, sys, zipfile
import numpy

samples, law, directory = int(sys.argv[1]), sys.argv[2], sys.argv[3]
files = sorted(glob.glob(directory + '/train/**/*.npz', recursive=True))
heads = set()
for name in files:
    with zipfile.ZipFile(name) as z:
        assert z.testzip() is None, name
        assert z.namelist() == ['x.npy', 'y.npy'], name
    with numpy.load(name) as npz:
        x, y = npz['x'], npz['y']
    assert x.dtype == numpy.uint8 and x.shape[0] == samples, (name, x.shape)
    assert x.ndim == (3 if law == 'dlio' else 2), (name, x.shape)
    assert y.dtype == numpy.int64 and y.shape == (samples,), (name, y.shape)
    same = io.BytesIO()
    numpy.savez(same, x=x, y=y)
    with open(name, 'rb') as f:
        assert f.read() == same.getvalue(), name + ' is not as numpy writes it'
    heads.add(x.tobytes()[:64])
assert len(heads) == len(files), 'two files begin alike'
print(len(files))
END

# makes TITLE FILES SAMPLES dlio|plain OPTION...
makes()
{
	title=$1 files=$2 samples=$3 law=$4
	shift 4
	ok "$title: mlgen writes it" "$MLGEN" --name=n --phase=prepare \
		--format=npz --directory="$T/data" --num_files="$files" \
		--samples_per_file="$samples" "$@"
	is "$title: NumPy reads it" \
		"$("$python" "$T/check.py" "$samples" "$law" "$T/data" 2>&1)" \
		"$files"
	rm -rf "$T/data"
}

makes "one byte" 1 1 plain --sample_size=1
makes "one sample a file" 20 1 plain --sample_size=100k
makes "several samples a file" 5 7 plain --sample_size=30000
makes "more labels than one chunk holds" 1 200000 plain --sample_size=10
makes "larger than the buffer" 2 1 plain --sample_size=20m
makes "a chunk that ends with the payload" 1 1 plain --sample_size=1048393
makes "sizes of a distribution" 20 1 plain --sample_size=normal:100k:30k
makes "two sides as DLIO draws them" 20 1 dlio --sample_size=dlio:200k:90k
makes "several two-sided samples" 4 3 dlio --sample_size=dlio:300k:50k
makes "in folders" 30 1 plain --sample_size=5k --subfolders=12

done_testing
