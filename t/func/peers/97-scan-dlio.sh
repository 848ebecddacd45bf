#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 97-scan-dlio.sh - a dataset that DLIO made is used as it is, where mlgen would make one.
# Sleeps: the shipped job computes for 323 ms a step.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"

# dlio SUFFIX: 12 files to train with, in two folders, and 4 to evaluate with,
# with DLIO's names, each of another size.
dlio()
{
	rm -rf d
	mkdir -p d/train/0 d/train/1 d/valid/0 d/valid/1 d/index/train
	n=0
	while [ $n -lt 12 ]; do
		head -c $((n + 1000)) /dev/zero >"d/train/$((n % 2))/img_$(printf %02d $n)_of_12.$1"
		: >"d/index/train/img_$(printf %02d $n)_of_12.$1.idx"
		n=$((n + 1))
	done
	n=0
	while [ $n -lt 4 ]; do
		head -c 900 /dev/zero >"d/valid/$((n % 2))/img_${n}_of_4.$1"
		n=$((n + 1))
	done
}

looks()
{
	find d -printf '%p %y %s %m %T@ %C@\n' | sort
}

cat >x.job <<'END'
[x]
directory=d
num_files=500
subfolders=4
sample_size=2m
eval_files=7
eval_every=1
END

# run OPTION...: its report is in run.json.
run()
{
	rm -f run.json
	"$MLGEN" x.job --json=run.json "$@" >out 2>err </dev/null
}

# refused TITLE REGEX OPTION...
refused()
{
	title=$1 regex=$2
	shift 2
	exits "$title" 2 "$MLGEN" x.job --json=/dev/null "$@"
	like "$title: in words" "$(cat err)" "$regex"
}

for format in raw jpeg; do
	dlio $format
	before=$(looks)
	ok "$format of DLIO is read" run --format=$format
	is "$format: what is there" "$(ml run.json samples sample_bytes \
		eval.samples eval.sample_bytes) $(json run.json \
		jobs.0.dataset.files jobs.0.dataset.directory)" "12 12066 4 3600 12 d"
	like "$format: it is said" "$(cat err)" \
		'^mlgen: note: d: 12 files made by DLIO exist and are used unchanged$'
	like "$format: whose numbers hold, too" "$(cat err)" \
		'^mlgen: note: num_files: 500 is ignored; the 12 files in d are used$'
	unlike "$format: and no option is blamed" "$(cat err)" 'not used'
	ok "$format: a dry run" run --format=$format --dry-run
	like "$format: has nothing to write" "$(cat out)" \
		'present 12 files; to write 0 '
	ok "$format: --readonly" run --format=$format --readonly
	is "$format: nothing is changed" "$(looks)" "$before"
done
ok "in the way of a framework" run --format=jpeg --access=framework
ok "by another way to write the directory" run --format=jpeg --directory=./d//

# ---- numbers
ok "fewer are taken of it" run --format=jpeg --num_files=5 --eval_files=2
is "the first ones" "$(ml run.json samples eval.samples)" "5 2"
refused "more are not" '^mlgen: num_files: 13, but .* found 12 in d' \
	--format=jpeg --num_files=13
refused "nor to evaluate with" \
	'^mlgen: eval_files: 5, but .* found 4 in d/valid' \
	--format=jpeg --eval_files=5
refused "memory asks for files that are made" '^mlgen: dataset_ratio: 2 x' \
	--format=jpeg --dataset_ratio=2

# ---- what stays somebody else's
refused "another format is in the way" '^mlgen: d: contains ' --format=npz
refused "nothing is prepared there" '^mlgen: d: contains ' --format=jpeg \
	--phase=prepare
refused "nor replaced" '^mlgen: d: contains ' --format=jpeg --replace
is "and nothing is changed" "$(looks)" "$before"
for name in img_1_of_12.jpeg img_001_of_12.jpeg img_12_of_12.jpeg \
	img_00_of_11.jpeg img_00_of_12.jpg img_00_of_12.jpeg.bak \
	IMG_00_of_12.jpeg img_00_of_.jpeg img__of_12.jpeg photo.jpeg \
	img_99999999999999999999_of_99999999999999999999.jpeg; do
	head -c 1 /dev/zero >d/train/0/$name
	refused "files beside those of DLIO, such as $name, make it another's" \
		'^mlgen: d: (contains|train/ holds) ' --format=jpeg
	rm d/train/0/$name
done
head -c 1 /dev/zero >d/valid/0/photo.jpeg
refused "among those to evaluate with, too" '^mlgen: d: valid/ holds ' \
	--format=jpeg
rm d/valid/0/photo.jpeg
head -c 5 /dev/zero >d/train/0/.DS_Store
head -c 5 /dev/zero >d/train/0/img_00_of_12.jpeg.off.idx
ok "an index and hidden files are none" run --format=jpeg
is "of the samples" "$(ml run.json samples)" 12
rm d/train/0/.DS_Store d/train/0/img_00_of_12.jpeg.off.idx

# ---- what is not whole
rm d/train/1/img_03_of_12.jpeg
ok "where some are missing the others are read" run --format=jpeg
like "and it is said" "$(cat err)" \
	'^mlgen: note: d: 11 of the 12 files made by DLIO exist'
rm -r d/valid
refused "without valid/ there is nothing to evaluate with" \
	'^mlgen: eval_files: d has no folders train and valid' --format=jpeg
ok "but to train with" run --format=jpeg --eval_files=0
rm -r d
mkdir -p d/train/0
ok "where no file is mlgen makes its own" run --format=jpeg \
	--num_files=4 --eval_files=1 --sample_size=10k
ok "with its manifest" test -f d/mlgen-dataset.json
ok "which is then no dataset of DLIO's" run --format=jpeg \
	--num_files=4 --eval_files=1 --sample_size=10k
unlike "and nobody says so" "$(cat err)" DLIO

# ---- the shipped job, unchanged, on what np.savez wrote
python=/usr/bin/python3
if ! "$python" -c 'import numpy' 2>/dev/null; then
	skip "the shipped unet3d job" "$python has no numpy (Debian: python3-numpy)"
	done_testing
	exit
fi

# As DLIO's npz_generator writes them: an image of two sides, its label.
cat >make.py <<'END'
import os, sys
import numpy as np

n, side = int(sys.argv[1]), int(sys.argv[2])
r = np.random.default_rng(1)
for d in ('unet3d/train', 'unet3d/valid', 'unet3d/test'):
    os.makedirs(d)
for i in range(n):
    sides = (side + 7 * i, side + i, 1)
    np.savez('unet3d/train/img_%0*d_of_%d.npz' % (len(str(n)), i, n),
             x=r.integers(255, size=sides, dtype=np.uint8),
             y=np.zeros(1, dtype=np.int64))
    print(sides[0] * sides[1])
END
rm -rf d
ok "NumPy writes a dataset as DLIO does" sh -c '"$0" make.py 28 200 >sides' \
	"$python"
ln -s unet3d d
samples=$(awk '{ n += $1 } END { printf "%.0f", n }' sides)
before=$(looks)
export MLGEN_DIR=.

# shipped OPTION...: the job as it is shipped.
shipped()
{
	rm -f run.json
	"$MLGEN" unet3d.job "$@" >out 2>err </dev/null
}

ok "the shipped job reads it" shipped --json=run.json
is "all of it, in each of its epochs" "$(ml run.json samples sample_bytes \
	ops.open.total) $(json run.json jobs.0.dataset.files \
	jobs.0.dataset.found jobs.0.dataset.sample_bytes)" \
	"140 $((5 * samples)) 140 28 true $samples"
like "and says what it is" "$(cat err)" \
	'^mlgen: note: ./unet3d: 28 files made by DLIO exist'
unlike "a larger dataset is no advice" "$(cat out)" 'dataset_ratio|num_files='
ok "a dry run" shipped --dry-run
like "has nothing to write" "$(cat out)" 'present 28 files; to write 0 '
like "asks for what can be had" "$(tr -s ' \n' ' ' <out)" \
	'asks for 5 x: a directory with'
like "in an epoch, too" "$(cat out)" 'asks for 500 steps per epoch: 3500 files'

ok "--find-max searches it" shipped --find-max=accelerators \
	--target_au=1 --batch_size=4 --epochs=1 --compute_time=20ms
like "as far as there are files" "$(tr -s ' \n' ' ' <out)" \
	'4 x h100 need 32 files .* there are 28; a directory with more files'
unlike "and asks for none that cannot be" "$(cat out)" 'num_files|dataset_ratio'
ok "--ceiling compares it with memory" shipped --ceiling=1 --epochs=1 \
	--compute_time=20ms --json=run.json
like "in its report" "$(cat out)" '^ceiling .* AU without storage'
exits "more accelerators than it has files for" 2 shipped --accelerators=5
like "are told what is missing" "$(cat err)" \
	'5 x batch_size 7 = 35 samples per step, the dataset has 28; a directory with more files or'

# check: what MLPerf's rules say of the size of the dataset, by its document
check()
{
	"$MLGEN" --check=mlperf-v2 run.json 2>&1 | awk '/^  dataset / { print $3, $4 }'
}
ok "(the shipped job again)" shipped --json=run.json --epochs=1 --compute_time=1ms
is "--check counts the bytes that are there" "$(check)" \
	"$(awk -v n="$samples" 'BEGIN { printf "%.2f MiB", n / 1048576 }')"
unlike "and asks for no other files of these" "$("$MLGEN" --check=mlperf-v2 \
	run.json 2>&1)" 'num_files='
mean=$((samples / 28 - 500))
ok "(with a size that it could have drawn)" shipped --json=run.json --epochs=1 \
	--compute_time=1ms --sample_size="normal:$mean:9k"
is "it counts as DLIO does, what is declared" "$(check)" \
	"$(awk -v n="$mean" 'BEGIN { printf "%.2f MiB", 28 * n / 1048576 }')"
is "nothing of it is changed" "$(looks)" "$before"

# ---- as NumPy reads it
reason=$(no_python_calls "$python")
if [ -n "$reason" ]; then
	skip "the shipped job reads as NumPy does" "$reason"
	done_testing
	exit
fi
# The first one imports.
cat >load.py <<'END'
import sys, numpy
for name in sys.argv[1:2] + sys.argv[1:]:
    numpy.load(name, allow_pickle=True)['x']
END
trace "$python" load.py ./unet3d/train/* >out 2>&1
calls_of ./unet3d/train/* >theirs
trace "$MLGEN" unet3d.job --epochs=1 --compute_time=1ms --invalidate=0 >out 2>&1
calls_of ./unet3d/train/* >ours
ok "the shipped job reads as NumPy does" diff theirs ours

done_testing
