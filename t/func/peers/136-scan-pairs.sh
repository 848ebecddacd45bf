#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 136-scan-pairs.sh - pairs of npy files, image and label, are one sample each, and read as NumPy reads them.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"

python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null ||
	skip_all "$python has no numpy (Debian: python3-numpy)"

cat >make.py <<'END_OF_MAKE'
import os, sys
import numpy as np

r = np.random.default_rng(1)

def noise(*shape):
    return r.integers(0, 256, shape, dtype=np.uint8)

for d in ('kits', 'rows', 'd/images', 'd/labels', 'sizes'):
    os.makedirs(d)
# As the preprocessing of 3D U-Net leaves them: one case, float32, and its
# classes, uint8; a channel first.
for n, sides in enumerate([(3, 5, 7), (30, 64, 64), (17, 100, 100),
                           (1, 1, 1), (40, 128, 130)]):
    np.save('kits/case_%05d_x.npy' % n,
            noise(1, *sides, 4).view('<f4').reshape(1, *sides))
    np.save('kits/case_%05d_y.npy' % n, noise(1, *sides))
# Several samples a file; labels of one axis are one each.
for n in (1, 2, 1000):
    np.save('rows/r%04d_x.npy' % n, noise(n, 70, 10))
    np.save('rows/r%04d_y.npy' % n, np.arange(n))
for n in (100000, 10):
    np.save('d/images/n%d.npy' % n, noise(n))
    np.save('d/labels/n%d.npy' % n, noise(3 * n))
# The largest pair is not that of the largest image.
for n, (x, y) in enumerate([(1000000, 1000), (10000, 8000000)]):
    np.save('sizes/c%d_x.npy' % n, noise(x))
    np.save('sizes/c%d_y.npy' % n, noise(y))
END_OF_MAKE
ok "NumPy writes them" "$python" make.py
bytes()
{
	find "$@" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }'
}

pair=--scan_pair=_x.npy:_y.npy
scan="--name=s --dataset=scan --read_threads=1 --prefetch=1 --shuffle=none
	--drop_last=0 --invalidate=0 --quiet --json=run.json"

# run DIRECTORY OPTION...
how=
run()
{
	directory=$1
	shift
	rm -f run.json
	# shellcheck disable=SC2086 # several options
	$how "$MLGEN" $scan --directory="$directory" "$@" >out 2>err
}

# ---- a sample is both
for access in plain framework; do
	ok "$access: a case and its classes" run kits --format=npy $pair \
		--access=$access
	is "$access: are one sample, with the bytes of both" \
		"$(ml run.json samples sample_bytes ops.open.total ops.close.total)" \
		"5 $(($(bytes kits) - 10 * 128)) 10 10"
	is "$access: nothing else of two files is one" \
		"$(json run.json jobs.0.dataset.files jobs.0.dataset.bytes)" \
		"5 $(bytes kits)"
done
run kits --format=npy $pair
is "files are read whole" "$(ml run.json io_bytes)" "$(bytes kits)"
ok "labels of one axis belong to rows" run rows --format=npy $pair
is "one by one" "$(ml run.json samples sample_bytes io_bytes)" \
	"1003 $((1003 * 708)) $((1002 * 708 + 700 + 128 + 8 + 128))"
ok "folders are parts of names, too" run d --scan_pair=images/:labels/
is "and the format is found" "$(ml run.json samples sample_bytes)" "2 400040"
ok "a list names the first of them" sh -c 'find d/images -type f >list &&
	"$@" --file_list=list --json=run.json' sh "$MLGEN" --name=s \
	--dataset=scan --scan_pair=images:labels --drop_last=0 --quiet \
	--invalidate=0 --directory=.
is "which are read with their twins" "$(ml run.json samples ops.open.total)" "2 4"
ok "a dry run" run kits --format=npy $pair --dry-run
ok "on a ring" run kits --format=npy $pair --ioengine=io_uring
unlike "nothing is said of what is as it should be" "$(cat err)" 'left out'
echo >kits/README
cp kits/case_00000_y.npy kits/case_99999_y.npy
cp kits/case_00000_y.npy kits/other.npy
ok "others lie beside them" run kits --format=npy $pair
like "a label of nothing is left out" "$(cat err)" \
	'^mlgen: note: kits: left out: at least 1 with _y.npy in the path that'
like "and what is neither" "$(cat err)" \
	'^mlgen: note: kits: left out: 1 with neither part of scan_pair=_x.npy:_y.npy in'
is "and the pairs are read" "$(ml run.json samples)" 5
rm kits/README kits/case_99999_y.npy kits/other.npy

# ---- bad ones
# broken TITLE REGEX: as kits/ is now; one pair of it is damaged.
broken()
{
	exits "$1 is refused" 2 run kits --format=npy $pair \
		--scan_errors=refuse
	like "$1: in words" "$(cat err)" "^mlgen: $2"
	exits "$1: or left out" 0 run kits --format=npy $pair
	like "$1: which is said" "$(cat err)" "^mlgen: note: $2.*; left out$"
	is "$1: the others are read" "$(ml run.json samples)" 4
	cp keep/* kits
}
cp -r kits keep
rm kits/case_00001_y.npy
broken "a twin that is missing" \
	'kits/case_00001_y.npy: No such file or directory; by scan_pair=, this is the twin of kits/case_00001_x.npy'
cp rows/r0002_y.npy kits/case_00001_y.npy
cp rows/r1000_x.npy kits/case_00001_x.npy
broken "a twin of fewer samples" \
	'kits/case_00001_x.npy: has 1,?000 samples, but its twin kits/case_00001_y.npy has 1; scan_pair= needs equal numbers'
truncate -s 100000 kits/case_00001_y.npy
broken "a twin that is cut off" \
	'kits/case_00001_y.npy: at byte 0: the array is incomplete'
rm kits/case_00001_y.npy
mkdir kits/case_00001_y.npy
exits "a folder for a twin is refused" 2 run kits --format=npy $pair \
	--scan_errors=refuse
like "in words" "$(cat err)" '^mlgen: kits/case_00001_y.npy: is not a regular file;'
rmdir kits/case_00001_y.npy
cp keep/* kits
exits "no file of the name" 2 run kits --format=npy --scan_pair=_z:_y
like "is refused" "$(cat err)" \
	"^mlgen: scan_pair: no file in kits has '_z' in its path; "
mkdir others
printf '\377\330\377\340' >others/a_x.jpg
exits "files of another name" 2 run others $pair
like "are no pairs" "$(cat err)" \
	"^mlgen: scan_pair: no file in others has '_x.npy' in its path; "

# ---- call by call
reason=$(no_python_calls "$python")
if [ -n "$reason" ]; then
	skip "pairs are read as NumPy reads them" "$reason"
	done_testing
	exit
fi

# The first one imports.
cat >load.py <<'END_OF_LOAD'
import sys, numpy
firsts = [name for name in sys.argv[1:] if name.endswith('_x.npy')]
for name in firsts[:1] + firsts:
    numpy.load(name)
    numpy.load(name[:-6] + '_y.npy')
END_OF_LOAD
trace "$python" load.py kits/* >out 2>&1
calls_of kits/* >theirs
how=trace run kits --format=npy $pair --access=framework
calls_of kits/* >ours
is "(every file was read)" "$(grep -c '^close' ours)" 10
ok "pairs are read as NumPy reads them" diff theirs ours
grep '^openat' trace | grep -o 'kits/[a-z0-9_.]*npy"' | uniq | tr -d '"' >order
is "one after the other" "$(tail -n 10 order)" \
	"$(find kits -type f | sort)"

how=trace run rows --format=npy $pair
# The scan reads pages.
is "access=plain reads a row of both" \
	"$(calls_of rows/r0002_x.npy rows/r0002_y.npy | grep -v 4096)" \
	"$(printf '%s\n' rows/r0002_x.npy open 'read 700 @828 = 700' close \
		rows/r0002_y.npy open 'read 8 @136 = 8' close)"

how=trace run sizes --format=npy $pair --hold_samples=1 --batch_size=1 --bs=64m
is "what is held has room for the largest pair" \
	"$(grep -c '^preadv' trace) $(grep -c '^pread64.*, 8000128, 0) = 8000128' trace)" \
	"0 1"

# ---- what changes between the scan and the read
background "$MLGEN" --name=t --directory=kits --dataset=scan --format=npy $pair \
	--invalidate=0 --access=framework --read_threads=1 --shuffle=none \
	--batch_size=1 --epochs=500 --compute_time=5ms --prefetch=1 \
	--log=log.csv --log_interval=50ms
poll grep -qs ',train,' log.csv
echo >>kits/case_00002_y.npy
finish
is "a twin that grew is an error" "$status" 1
like "in words" "$(cat err)" \
	'kits/case_00002_y.npy: has 170129 bytes, but had 170128 when it was scanned'

done_testing
