#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 97-scan-dlio.sh - a dataset that DLIO made is used as it is, where mlgen would make one.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

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
		'^mlgen: note: d: 12 files that DLIO made are there and are used as they are$'
	like "$format: whose numbers hold, too" "$(cat err)" \
		'^mlgen: note: num_files: 500 yields to the 12 files that are in d$'
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
refused "another format is in the way" '^mlgen: d: holds ' --format=npz
refused "nothing is prepared there" '^mlgen: d: holds ' --format=jpeg \
	--phase=prepare
refused "nor replaced" '^mlgen: d: holds ' --format=jpeg --replace
is "and nothing is changed" "$(looks)" "$before"
for name in img_1_of_12.jpeg img_001_of_12.jpeg img_12_of_12.jpeg \
	img_00_of_11.jpeg img_00_of_12.jpg img_00_of_12.jpeg.bak \
	IMG_00_of_12.jpeg img_00_of_.jpeg img__of_12.jpeg photo.jpeg \
	img_99999999999999999999_of_99999999999999999999.jpeg; do
	head -c 1 /dev/zero >d/train/0/$name
	refused "files beside those of DLIO, such as $name, make it another's" \
		'^mlgen: d: (holds|train/ holds) ' --format=jpeg
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
	'^mlgen: note: d: 11 of the 12 files that DLIO made are there'
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

done_testing
