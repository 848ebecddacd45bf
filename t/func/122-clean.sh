#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 122-clean.sh - --clean lists what manifests own, --yes removes exactly that, and everything else stays.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# dataset DIRECTORY OPTION...: six files of 1 KiB.
dataset()
{
	dataset_in=$1
	shift
	"$MLGEN" --name=x --phase=prepare --directory="$dataset_in" --format=raw \
		--num_files=6 --sample_size=1k --batch_size=1 --quiet "$@" \
		>/dev/null 2>&1
}

# checkpoints DIRECTORY OPTION...: two of two files.
checkpoints()
{
	checkpoints_in=$1
	shift
	"$MLGEN" --name=x --phase=checkpoint --directory="$checkpoints_in" \
		--checkpoint_size=64k --checkpoint_layout=stream --ranks=2 \
		--checkpoints=2 --checkpoint_fsync=none --quiet "$@" >/dev/null 2>&1
}

# All there is, with what a touch would change.
all_of()
{
	find "$@" -printf '%p %s %T@ %i\n' | sort
}

clean()
{
	"$MLGEN" --clean "$@"
}

# ---- a list
dataset d/a
dataset d/b --format=npy --label_size=8 --subfolders=2 --eval_files=3
checkpoints d/c
before=$(all_of d)
exits "what is mlgen's below a directory is listed" 0 clean d
is "with a line each, and their sum" "$(sort out | paste -sd, -)" \
	"--yes removes 28 files, $(sed -n 's/^--yes.*, //p' out),\
d/a: dataset of 6 raw files: 6 files, 6 KiB,\
$(grep '^d/b:' out),\
d/c/global_epoch1_step1: checkpoint 1: 2 files, 128 KiB,\
d/c/global_epoch1_step2: checkpoint 2: 2 files, 128 KiB"
like "all parts of a dataset count, and those to evaluate with" \
	"$(cat out)" '^d/b: dataset of 18 npy files: 18 files, '
is "and nothing was touched" "$(all_of d)" "$before"

# ---- all of it
exits "--yes removes it" 0 clean d --yes
is "in as many files" "$(sed -n 's/^removed \([0-9]*\) .*/\1/p' out)" 28
is "with all folders but the one that was named" "$(find d)" d
for layout in torch deepspeed pattern; do
	checkpoints d --checkpoint_layout=$layout --checkpoint_pattern=bert
	exits "so goes layout $layout" 0 clean d --yes
	is "without a rest" "$(find d)" d
done

# ---- what others have put there
dataset d/a
cp -a d/a pristine
echo notes >d/a/notes
echo notes >d/a/train/notes
mkdir d/a/train/7
echo more >d/a/train/7/img_3_of_6.raw
: >d/a/train/img_6_of_6.raw
cp d/a/train/img_2_of_6.raw d/a/img_2_of_6.raw
stay="d/a/img_2_of_6.raw d/a/notes d/a/train/7/img_3_of_6.raw d/a/train/img_6_of_6.raw d/a/train/notes"
exits "what no manifest names is named, too" 0 clean d
is "all of it" "$(sed -n 's/: stays$//p' out | sort | paste -sd' ' -)" "$stay"
exits "and stays" 0 clean d --yes
is "exactly that" "$(find d -type f | sort | paste -sd' ' -)" "$stay"
is "and was named" "$(sed -n 's/: stays$//p' out | sort | paste -sd' ' -)" "$stay"

# again: a fresh copy of the dataset, d/a.
again()
{
	rm -rf d
	mkdir d
	cp -a pristine d/a
}

for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do
	: >"pristine/n$n"
done
again
exits "of many the first are named" 0 clean d
is "twenty" "$(grep -c ': stays$' out)" 20
like "and the others counted" "$(cat out)" '^2 more stay$'
rm pristine/n*

again
truncate -s 17 d/a/train/img_1_of_6.raw
exits "a file of another size is no file of the dataset" 0 clean d --yes
like "which is told" "$(cat out)" \
	'^d/a/train/img_1_of_6.raw: stays: has 17 bytes, not 1,024$'
is "it stays, and the manifest that has its name" \
	"$(find d -type f | sort | paste -sd' ' -)" \
	"d/a/mlgen-dataset.json d/a/train/img_1_of_6.raw"
like "which no longer says that the dataset is whole" \
	"$(cat d/a/mlgen-dataset.json)" '"complete": false'

again
head -c 100 d/a/train/img_1_of_6.raw >d/a/train/.img_1_of_6.raw.part
: >d/a/.mlgen-dataset.json.part
: >d/a/.mlgen-dataset.lock
exits "what a killed preparation has left goes, too" 0 clean d --yes
is "all of it" "$(find d)" d

# ---- links
again
mkdir elsewhere
mv d/a/train/img_1_of_6.raw elsewhere/
ln -s "$T/elsewhere/img_1_of_6.raw" d/a/train/img_1_of_6.raw
exits "a link is no file of the dataset" 0 clean d --yes
like "which is told" "$(cat out)" '^d/a/train/img_1_of_6.raw: stays: is a symbolic link$'
ok "and nothing behind it is removed" test -s elsewhere/img_1_of_6.raw
again
mv d/a/train elsewhere/
ln -s "$T/elsewhere/train" d/a/train
exits "a link is no folder of it" 0 clean d --yes
like "which is told" "$(cat out)" '^d/a/train: stays: is a symbolic link$'
is "and nothing behind it is removed" "$(find elsewhere/train -type f | wc -l)" 6
ok "nor the manifest that has their names" test -s d/a/mlgen-dataset.json
again
ln -s d/a named
exits "the directory itself may be named by a link" 0 clean named --yes
is "and is emptied" "$(find d/a)" d/a

# ---- other users
if [ "$(id -u)" -eq 0 ]; then
	again
	chown 65534 d/a/train/img_1_of_6.raw
	exits "another user's file is no file of the dataset" 0 clean d --yes
	is "it stays, with the manifest" "$(find d -type f | sort | paste -sd' ' -)" \
		"d/a/mlgen-dataset.json d/a/train/img_1_of_6.raw"
	like "which is told" "$(cat out)" ": stays: belongs to user 65534\$"
	again
	chown 65534 d/a/train
	exits "in another user's folder nothing is of the dataset" 0 clean d --yes
	is "all stays" "$(find d -type f | wc -l)" 7
	like "which is told" "$(cat out)" "^d/a/train: stays: this folder belongs to user 65534"
else
	skip "another user's file is no file of the dataset" "needs root"
fi

# ---- where nothing can be removed
chmod 755 "$T"
again
if as_nobody test -r d/a/mlgen-dataset.json &&
	as_nobody "$MLGEN" --version >out 2>&1; then
	[ "$(id -u)" -ne 0 ] || chown -R 65534 d
	chmod 555 d/a
	exits "a folder that cannot be written ends it" 1 as_nobody "$MLGEN" \
		--clean --yes d
	like "which is told" "$(cat err)" \
		"^mlgen: d/a: nothing can be removed here: Permission denied; "
	is "and nothing is gone" "$(find d -type f | wc -l)" 7
	chmod 755 d/a
	chmod 555 d/a/train
	exits "so does one in it" 1 as_nobody "$MLGEN" --clean --yes d
	like "which is told of a file" "$(cat err)" \
		"^mlgen: d/a/train/img_._of_6.raw: unlink: Permission denied\$"
	ok "and the manifest stays" test -s d/a/mlgen-dataset.json
	chmod 755 d/a/train
else
	skip "a folder that cannot be written ends it" "nobody may run $MLGEN"
fi

# ---- a run that is at work there
again
if command -v flock >/dev/null; then
	exits "a dataset that is being prepared stays" 1 \
		flock d/a/.mlgen-dataset.lock "$MLGEN" --clean d --yes
	like "which is told" "$(cat err)" "^mlgen: d/a: another mlgen is preparing"
	ok "with all its files" test -s d/a/train/img_5_of_6.raw
	exits "and goes when that has ended" 0 clean d --yes
else
	skip "a dataset that is being prepared stays" "flock is not here"
fi

# written_by NAME WORD: the manifest says that somebody still writes it.
written_by()
{
	sed -i -e 's/"complete": true/"complete": false/' "$1/mlgen-checkpoint.json"
	[ -z "$2" ] || sed -i -e "s/\"$2\": \"[^\"]*\"/\"$2\": \"other\"/" \
		"$1/mlgen-checkpoint.json"
}
checkpoints d/c
written_by d/c/global_epoch1_step2 ''
exits "a checkpoint whose run was killed goes" 0 clean d
like "and is told apart" "$(cat out)" \
	'^d/c/global_epoch1_step2: checkpoint 2, not complete: 2 files, 128 KiB$'
written_by d/c/global_epoch1_step2 machine_id
written_by d/c/global_epoch1_step2 host
exits "one that another host may still write stops it" 2 clean d --yes
like "which is told" "$(cat err)" \
	"^mlgen: d/c/global_epoch1_step2: belongs to pid .* on host other, .*; if it has ended, --replace removes it\$"
is "before anything is gone" "$(find d/c -type f | wc -l)" 6
exits "--replace takes it all the same" 0 clean d --yes --replace
is "and all is gone" "$(find d)" d
checkpoints d/c
sed -i -e 's/"complete": true/"complete": false/' \
	-e "s/\"pid\": [0-9]*/\"pid\": $$/" \
	-e "s/\"start_ticks\": [0-9]*/\"start_ticks\": $(awk '{ print $22 }' /proc/$$/stat)/" \
	d/c/global_epoch1_step1/mlgen-checkpoint.json
exits "but not one whose run is seen" 2 clean d --yes --replace
like "which is told" "$(cat err)" " and still runs; wait until it ends\$"

# ---- checkpoints that are not as they were written
rm -r d/c
checkpoints d/c
file=$(find d/c/global_epoch1_step2 -type f ! -name '*.json' | sort | head -n 1)
echo more >>"$file"
echo notes >d/c/global_epoch1_step1/notes
exits "what is not as it was written stays" 0 clean d --yes
like "by its bytes" "$(cat out)" \
	'^d/c/global_epoch1_step2: stays: its manifest lists 2 files of 131,072 bytes, but 2 of 131,077 bytes exist'
like "and what others have put into it" "$(cat out)" \
	'^d/c/global_epoch1_step1/notes: stays$'
is "with all that is in there" "$(find d/c -type f | wc -l)" 7
rm -r d/c/global_epoch1_step2
rm d/c/global_epoch1_step1/notes
sed -i "s/\"$(basename "$file")\"/\"notes.txt\"/" \
	d/c/global_epoch1_step1/mlgen-checkpoint.json
exits "a manifest that names what is none of a checkpoint's is forged" 0 clean d --yes
like "and it stays" "$(cat out)" "/global_epoch1_step1: stays: mlgen-checkpoint.json names 'notes"

# ---- interrupted
if can_trace; then
	# inject WHAT COMMAND...
	inject()
	{
		inject_what=$1
		shift
		ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" strace -f -qq \
			-o /dev/null -e inject="$inject_what" "$@"
	}
	for n in 1 3 6 8 9 10; do
		again
		checkpoints d/c
		inject unlinkat:signal=KILL:when=$n "$MLGEN" --clean --yes d \
			>/dev/null 2>&1
		if [ -e d/a/train ] && [ -e d/a/mlgen-dataset.json ] &&
			[ "$(find d/a/train -type f | wc -l)" -lt 6 ]; then
			like "killed at removal $n, it is not taken for whole" \
				"$(cat d/a/mlgen-dataset.json)" '"complete": false'
		fi
		clean d --yes >/dev/null 2>&1
		is "killed at removal $n, it can be repeated" "$(find d)" d
	done
	again
	exits "a file that cannot be removed fails" 1 \
		inject unlinkat:error=EIO:when=3 "$MLGEN" --clean --yes d
	like "which is told" "$(cat err)" ": unlink: Input/output error\$"
	ok "and keeps the manifest" test -s d/a/mlgen-dataset.json
	exits "so that it can be repeated" 0 clean d --yes
	is "without a rest" "$(find d)" d
	again
	exits "on a full filesystem a file goes first" 0 \
		inject renameat,renameat2:error=ENOSPC:when=1 "$MLGEN" --clean --yes d
	is "then all" "$(find d)" d
else
	skip "what was killed can be repeated" "may not trace processes here"
fi

# ---- what it is not for
again
: >file
# refused TITLE WHAT-ERR-SAYS ARGUMENT...
refused()
{
	refused_title=$1 refused_says=$2
	shift 2
	exits "$refused_title is refused" 2 clean "$@"
	like "and told" "$(cat err)" "$refused_says"
}
refused "a file" "^mlgen: file: is not a directory; name " file
refused "what is not there" "^mlgen: none: No such file or directory\$" none
refused "a directory without a manifest" \
	"^mlgen: elsewhere: no mlgen-dataset.json and no mlgen-checkpoint.json in it" \
	elsewhere --yes
sed -i 's/"version": 1/"version": 2/' d/a/mlgen-dataset.json
refused "a manifest of a newer version" \
	"^mlgen: d/a/mlgen-dataset.json: version 2 was written by another version of mlgen" d --yes
echo '{' >d/a/mlgen-dataset.json
refused "a damaged one" "^mlgen: d/a/mlgen-dataset.json: is incomplete or damaged" d --yes
is "and nothing is gone" "$(find d -type f | wc -l)" 7
rm -r d
checkpoints d
refused "one checkpoint by itself" "^mlgen: d/global_epoch1_step1: is a single checkpoint; name " \
	d/global_epoch1_step1 --yes
sed -i 's/"version": 1/"version": 2/' d/global_epoch1_step1/mlgen-checkpoint.json
refused "a checkpoint of a newer version" \
	"^mlgen: d/global_epoch1_step1: mlgen-checkpoint.json was written by another version of mlgen; " d --yes
is "and nothing is gone" "$(find d -type f | wc -l)" 6
# ---- several directories
rm -r d
dataset d/a
dataset e/a
refused "one of several that is not there" "^mlgen: none: No such file or directory\$" \
	d none e --yes
like "as are the others" "$(cat err)" \
	'^mlgen: clean: nothing was removed from any of the 3 directories$'
ok "and nothing is gone" test -f d/a/mlgen-dataset.json -a -f e/a/mlgen-dataset.json
exits "all that can be cleaned go" 0 clean d e --yes
is "with a sum for each" "$(grep -c '^removed [1-9]' out)" 2
is "and are gone" "$(find d e)" "d
e"
dataset d/a
exits "one may be in another" 0 clean d d/a --yes
like "which has taken it" "$(tail -n 1 out)" '^removed 0 files'
exits "--yes alone is refused" 2 "$MLGEN" --yes d
like "and told" "$(cat err)" "yes: works only with --clean"
done_testing
