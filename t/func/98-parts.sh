#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 98-parts.sh - datasets of several files per index are made, resumed, mended and replaced whole.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# prepare FORMAT OPTION...: 9 files of each part.
prepare()
{
	format=$1
	shift
	rm -f run.json
	"$MLGEN" --name=x --directory=data --format="$format" --num_files=9 \
		--sample_size=20k --json=run.json --phase=prepare "$@" \
		>out 2>err </dev/null
}

written()
{
	json run.json jobs.0.prepare.files_written jobs.0.prepare.files_kept
}

sums()
{
	find data -type f -name 'img_*' -exec cksum {} + | sort
}

# has FORMAT PARTS OPTION...: the same with each.
has()
{
	name=$1 parts=$2
	shift 2
	rm -rf data
	if ! prepare "$name" "$@"; then
		if grep -q 'is not supported, because mlgen was built without' err; then
			skip "$name: all parts are made" "it is not built in"
		else
			tap_fail "$name: all parts are made" "$(cat err)"
		fi
		return
	fi
	all=$((9 * parts))
	is "$name: all parts are made" "$(written)" "$all 0"
	is "$name: nothing else is" "$(find data -type f | wc -l)" \
		$((all + 1))
	want=$(sums)
	prepare "$name" "$@"
	is "$name: all are there then" "$(written)" "0 $all"

	# As a killed run leaves it.
	sed -i 's/"complete": true/"complete": false/' data/mlgen-dataset.json
	find data -name 'img_[3-5]_*' -exec rm {} +
	prepare "$name" "$@"
	is "$name: what is missing is resumed" "$(written)" \
		"$((3 * parts)) $((6 * parts))"
	is "$name: with the same contents" "$(sums)" "$want"

	find data -name 'img_7_*' -exec truncate -s 3 {} +
	prepare "$name" "$@"
	is "$name: what is short is mended" "$(written)" \
		"$parts $((8 * parts))"
	is "$name: to the same contents" "$(sums)" "$want"

	exits "$name: a part of it can be read" 0 "$MLGEN" --name=x \
		--directory=data --format="$name" --num_files=5 \
		--sample_size=20k --json=run.json --readonly "$@"

	# The first file of part 0 is looked at before a run.
	first=$(find data -path '*train/*' -name 'img_0_*' | LC_ALL=C sort |
		while read -r f; do
			[ "$(stat -c %s "$f")" -lt 20480 ] || echo "$f"
		done | head -n 1)
	truncate -s +1 "$first"
	exits "$name: a first file that is long is found before the run" 2 \
		"$MLGEN" --name=x --directory=data --format="$name" \
		--num_files=9 --sample_size=20k --json=run.json "$@"
	like "$name: in words" "$(cat err)" \
		"^mlgen: $first: has [0-9]+ bytes instead of [0-9]+; .*--phase=prepare"

	mkdir -p data/train data/index
	echo mine >data/train/mine
	prepare raw --subfolders=0 --replace
	is "$name: all parts go with --replace" "$(find data -name 'img_*' |
		grep -vc '\.raw$')" 0
	is "$name: and what is made instead is whole" "$(written)" "9 0"
	ok "$name: files of others stay" test -s data/train/mine
	rmdir data/index 2>/dev/null
	is "$name: folders without any go" "$(find data -mindepth 1 -type d)" \
		data/train
}

has indexed_binary 3
has mmap_indexed_binary 3
has tfrecord 2
has tfrecord 2 --subfolders=4
has npy 2 --label_size=3000

# ---- the options of a format are those of its dataset
rm -rf data
if prepare npy --label_size=3000; then
	exits "another label_size is another dataset" 2 prepare npy \
		--label_size=3001
	like "which is said" "$(cat err)" \
		'^mlgen: dataset data was made with label_size=3000, the job says 3001; use another directory, or --phase=prepare --replace to make it anew \(deletes 18 files\)$'
	exits "none as well" 2 prepare npy
	ok "--replace makes it anew" prepare npy --replace
	is "as one part" "$(written)" "9 0"
fi
rm -rf data
if prepare parquet --samples_per_file=100 --row_group_size=10; then
	exits "another row_group_size is another dataset" 2 prepare parquet \
		--samples_per_file=100 --row_group_size=20
	like "which is said" "$(cat err)" \
		'made with row_group_size=10, the job says 20'
fi

# ---- files of another format
for format in jpeg hdf5 npy npz; do
	rm -rf data
	if ! prepare $format; then
		skip "$format: first bytes are checked" "it is not built in"
		continue
	fi
	printf 'GIF89a..' | tee data/train/img_5_of_9.$format |
		dd of=data/train/img_0_of_9.$format conv=notrunc status=none
	# What was made first has its size still, and its time.
	prepare $format
	is "$format: a file of the wrong size is mended" "$(written)" \
		"$(find "$TOP/src/data/formats" -name "$format.c" -exec grep -q '\.magic' {} \; \
			-print | grep -q . && echo '2 7' || echo '1 8')"
done
rm -rf data
prepare jpeg
printf 'GIF89a..' | dd of=data/train/img_0_of_9.jpeg conv=notrunc status=none
exits "files of another format are found before the run" 2 "$MLGEN" --name=x \
	--directory=data --format=jpeg --num_files=9 --sample_size=20k
is "in one sentence" "$(cat err)" \
	"mlgen: data/train/img_0_of_9.jpeg: begins with the bytes 47 49 46, but format=jpeg begins with ff d8 ff; --phase=prepare writes wrong files again"
prepare jpeg
is "--phase=prepare writes them again" "$(written)" "1 8"
ok "and then they are read" "$MLGEN" --name=x --directory=data --format=jpeg \
	--num_files=9 --sample_size=20k

done_testing
