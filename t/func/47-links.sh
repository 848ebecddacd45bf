#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 47-links.sh - a data set is made and removed below its directory: what links and forged manifests point to is left alone.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

job="--name=x --format=raw --num_files=4 --sample_size=2k --phase=prepare"

# prepares STATUS TITLE OPTIONS...
prepares()
{
	status=$1 title=$2
	shift 2
	# shellcheck disable=SC2086 # several options
	exits "$title" "$status" timeout 20 "$MLGEN" $job "$@"
}

# Files of somebody, under names that a data set has.
mkdir victim
for i in 0 1 2 3; do
	echo precious >victim/img_${i}_of_4.raw
done
is_untouched()
{
	is "$1" "$(cat victim/* | sort -u) $(ls victim | wc -l)" "precious 4"
}

# A manifest as mlgen writes them, of a data set made with other sizes.
forge()
{
	mkdir -p "$1"
	"$MLGEN" --name=x --format=raw --num_files=4 --sample_size=1k \
		--phase=prepare --directory="$1" >out 2>&1
}

# ---- what --replace removes
forge d1
rm -r d1/train
ln -s ../victim d1/train
prepares 2 "--replace of a manifest beside a folder that is a link is refused" \
	--directory=d1 --replace
like "the link is named, with the way out" "$(cat err)" \
	'^mlgen: d1/train: a folder on the way is a symbolic link, and mlgen creates and removes nothing below such a link; remove the link (.*)$'
is_untouched "and nothing behind the link is gone"
is "nor does the manifest say that anything was" \
	"$(json d1/mlgen-dataset.json complete)" true

"$MLGEN" --name=x --format=raw --num_files=4 --sample_size=1k --subfolders=2 \
	--phase=prepare --directory=d2 >out 2>&1
rm -r d2/train/1
ln -s ../../victim d2/train/1
for i in 1 3; do echo precious >d2/train/1/img_${i}_of_4.raw; done
prepares 1 "a subfolder that is a link ends a removal" --directory=d2 --replace
like "and is named" "$(cat err)" '^mlgen: d2/train/1/img_[13]_of_4\.raw: a folder on the way is a symbolic link'
is_untouched "nothing behind it is gone"

forge d3
rm d3/train/img_0_of_4.raw
ln -s ../../victim/img_0_of_4.raw d3/train/img_0_of_4.raw
prepares 0 "a link among the files is removed with them" --directory=d3 --replace
is_untouched "and not its target"
is "a file is in its place" "$(find d3/train -type f | wc -l)" 4

# While files are being removed the folder becomes a link.
if [ -n "$SANITIZE" ] || ! strace -o /dev/null true 2>/dev/null; then
	skip "a folder that is exchanged half-way" "no strace here"
else
	"$MLGEN" --name=x --format=raw --num_files=40 --sample_size=1k \
		--phase=prepare --directory=d4 >out 2>&1
	mkdir others
	for f in d4/train/*; do echo precious >others/"${f##*/}"; done
	strace -f -qq -o /dev/null -e trace=unlinkat \
		-e inject=unlinkat:delay_enter=100000 \
		"$MLGEN" $job --directory=d4 --replace >out 2>err &
	poll sh -c '[ "$(ls d4/train 2>/dev/null | wc -l)" -lt 40 ]'
	mv d4/train d4/away 2>/dev/null
	ln -s ../others d4/train
	wait $!
	is "a folder that is exchanged half-way costs nobody a file" \
		"$(cat others/* | sort -u) $(ls others | wc -l)" "precious 40"
fi

# ---- owners: the word of a manifest in somebody else's folder
if [ "$(id -u)" -ne 0 ]; then
	skip "folders of others" "only root gives folders away"
else
	for folder in . train; do
		rm -rf d5
		forge d5
		chown 12345 d5/$folder
		prepares 2 "--replace in somebody else's folder ($folder) is refused" \
			--directory=d5 --replace
		like "naming both users" "$(cat err)" \
			"^mlgen: d5(/train)?: this folder belongs to user 12345, and mlgen removes files only in folders of user 0, who owns the files here, or of root; "
		is "and all files are there" "$(ls d5/train | wc -l)" 4
		is "with their manifest ($folder)" \
			"$(json d5/mlgen-dataset.json complete)" true
	done
	# A lock that somebody has left says nothing about who makes files.
	: >d5/.mlgen-dataset.lock
	chown 12345 d5/.mlgen-dataset.lock
	prepares 2 "nor does a lock that is somebody else's help" \
		--directory=d5 --replace
	not_ok "no lock is left" test -e d5/.mlgen-dataset.lock
fi

# ---- what a preparation writes
mkdir d6 elsewhere
ln -s ../elsewhere d6/train
prepares 2 "a data set is not made behind a link" --directory=d6
like "the link is named as one that leads away" "$(cat err)" \
	'^mlgen: d6/train: a folder on the way is a symbolic link'
is "and nothing is written there, nor beside it" \
	"$(find elsewhere d6 ! -type d | tr '\n' ' ')" "d6/train "

for kind in "ln -s" ln mkfifo; do
	rm -rf d7
	forge d7
	case $kind in
	mkfifo) mkfifo d7/.mlgen-dataset.json.part ;;
	*) $kind "$PWD/victim/img_0_of_4.raw" d7/.mlgen-dataset.json.part ;;
	esac
	prepares 0 "a manifest's temporary name in the way ($kind) goes" --directory=d7 \
		--replace
	is_untouched "and what it leads to stays ($kind)"
	is_json "the manifest is one ($kind)" d7/mlgen-dataset.json
done

for kind in "ln -s" ln mkfifo; do
	rm -rf d8
	mkdir d8
	"$MLGEN" $job --directory=d8 >out 2>&1
	rm d8/train/img_0_of_4.raw
	part=d8/train/.img_0_of_4.raw.part
	case $kind in
	mkfifo) mkfifo $part ;;
	*) $kind "$PWD/victim/img_0_of_4.raw" $part ;;
	esac
	prepares 0 "a file's temporary name in the way ($kind) goes" --directory=d8
	is_untouched "and its target stays ($kind)"
	is "the file is whole ($kind)" "$(stat -c %s d8/train/img_0_of_4.raw)" 2048
done

for engine in psync io_uring libaio mmap fault; do
	rm -rf real d9
	mkdir real
	ln -s real d9
	prepares 0 "a directory that is a link is the user's own ($engine)" \
		--directory=d9/ --ioengine=$engine --subfolders=2
	is "and holds the data set ($engine)" "$(find real -name '*.raw' | wc -l)" 4
done

done_testing
