#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 30-numpy.sh - NumPy and zipfile read every npz file that mlgen writes.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../made.sh"

cp "$TOP/t/func/made.py" .
# check.py: SAMPLES dlio|plain follow the directory. Every file is what numpy.savez
# would have written for the arrays in it, and no two hold the same bytes.
cat >check.py <<'END'
import glob, io, zipfile
from made import check_each, need

def check(directory, samples, law):
    numpy = need('numpy', 'python3-numpy')
    samples = int(samples)
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
    return len(files)

check_each(check)
END

# npz TITLE FILES SAMPLES dlio|plain OPTION...
npz()
{
	title=$1 files=$2 samples=$3 law=$4
	shift 4
	makes "$title" "$files" "$samples $law" --format=npz \
		--num_files="$files" --samples_per_file="$samples" "$@"
}

npz "one byte" 1 1 plain --sample_size=1
npz "one sample a file" 10 1 plain --sample_size=100k
npz "several samples a file" 5 7 plain --sample_size=30000
npz "more labels than one chunk holds" 1 200000 plain --sample_size=10
npz "larger than the buffer" 1 1 plain --sample_size=20m
npz "a chunk that ends with the payload" 1 1 plain --sample_size=1048393
npz "sizes of a distribution" 20 1 plain --sample_size=normal:30k:9k
npz "two sides as DLIO draws them" 20 1 dlio --sample_size=dlio:60k:27k
npz "several two-sided samples" 4 3 dlio --sample_size=dlio:100k:17k
npz "in folders" 30 1 plain --sample_size=5k --subfolders=12
check_made "NumPy reads it" /usr/bin/python3 check.py

done_testing
