#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 45-foreign.sh - nothing is made in a directory that holds what is somebody else's.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# train DIRECTORY OPTION...: a small dataset, made and read once.
train()
{
	directory=$1
	shift
	"$MLGEN" --name=x --directory="$directory" --format=raw \
		--num_files=4 --sample_size=4k --quiet "$@"
}

# save DIRECTORY OPTION...: one small checkpoint.
save()
{
	directory=$1
	shift
	"$MLGEN" --name=c --phase=checkpoint --directory="$directory" \
		--ranks=1 --checkpoint_size=4k --checkpoints=1 --quiet "$@"
}

# refused TITLE REGEX COMMAND...: status 2 and these words, also by a dry run.
refused()
{
	title=$1 regex=$2
	shift 2
	find . -mindepth 2 | sort >before
	exits "$title is refused" 2 "$@"
	like "$title: in words" "$(cat err)" "^mlgen: $regex"
	"$@" --dry-run >out 2>err
	is "$title: with the status of a dry run" $? 2
	like "$title: ... which says the same" "$(tr -s ' \n' ' ' <out)" \
		"$regex.* FAIL|FAIL.*$regex"
	find . -mindepth 2 | sort >after
	ok "$title: nothing is made" cmp before after
}

# ---- what lies there is named, with the ways out
mkdir one many
echo mine >one/a.npz
refused "a directory with a file" \
	'one: contains a\.npz, but no mlgen-dataset\.json, so mlgen does not write here; --directory=one/mlgen-data makes the dataset in a new folder below it, and --dataset=scan without num_files reads the existing files' \
	train one
exits "the first way out is one" 0 train one/mlgen-data
refused "... and makes the directory no better" 'one: contains a\.npz, but' train one
exits "so is the second" 0 "$MLGEN" --name=x --directory=one --dataset=scan \
	--format=raw --quiet
for option in --phase=prepare --eval_files=2 --checkpoint_every='2 epochs'; do
	unlike "so has $option" \
		"$(train one --format=raw "$option" --checkpoint_size=4k 2>&1)" \
		dataset=scan
done
(cd many && seq 3000 | xargs touch)
refused "of many names" 'many: contains [0-9]+, [0-9]+, [0-9]+, \.\.\., but' train many
if can_trace; then
	traced trace newfstatat,getdents64 "$MLGEN" --name=x --directory=many \
		--format=raw --num_files=4 --sample_size=4k >out 2>&1
	ok "it is listed" grep -q '^[0-9]* *getdents64(' trace
	ok "three are looked at, and a few more" test \
		"$(grep -c 'newfstatat([0-9]*, "[0-9][0-9]*"' trace)" -le 4
else
	skip "three are looked at, and a few more" "no strace"
fi
mkdir odd
: >"$(printf 'odd/two\nlines')"
refused "a name of two lines" 'odd: contains two\\nlines, but' train odd
exits "ioengine=null makes nothing, and may be anywhere" 0 \
	train one --ioengine=null
exits "nor does --readonly" 2 train one --readonly
like "... which has its own answer" "$(cat err)" '^mlgen: readonly: '
mkdir -p folder/train
: >folder/train/img_0_of_4.raw
refused "a folder of files" 'folder: contains train, but' train folder
exits "a plain job keeps its own rule" 0 "$MLGEN" --name=p --directory=one \
	--rw=write --size=4k --quiet

# ---- checkpoints
refused "a directory for checkpoints" \
	'one: contains (a\.npz, p\.0\.0|p\.0\.0, a\.npz), but no checkpoint of mlgen; --directory=one/mlgen-data saves in a new folder below it' \
	save one
refused "... of a training, too" \
	'one: contains .*, but no checkpoint of mlgen; --checkpoint_directory=one/mlgen-data saves' \
	train new --checkpoint_every='1 epochs' --checkpoint_size=4k \
	--checkpoint_directory=one
not_ok "before its dataset is made" test -e new
mkdir -p theirs/global_epoch1_step1
echo mine >theirs/global_epoch1_step1/model.pt
refused "one with checkpoints of others" 'theirs: contains global_epoch1_step1, but' \
	save theirs
exits "checkpoints of mlgen's" 0 save ck
exits "... may lie there" 0 save ck
echo '{}' >ck/result.json
exits "... and what was put beside them" 0 save ck
exits "a restore makes nothing" 2 save theirs --phase=restore
unlike "... and is not held up" "$(cat err)" 'mlgen-data'

# ---- what is no reason
mkdir -p mount/lost+found mount/.snapshot/hourly empty/train/0
: >mount/.snapshot/hourly/a
exits "a mount point is as good as a new folder" 0 train mount
exits "so are folders without files" 0 train empty
mkdir lock half
: >lock/.mlgen-dataset.lock
echo '{' >lock/.mlgen-dataset.json.part
exits "so is what a killed preparation leaves" 0 train lock
train half --phase=prepare >out 2>&1
sed 's/"complete": true/"complete": false/' half/mlgen-dataset.json >m
cp m half/mlgen-dataset.json
rm half/train/img_1*
: >half/notes
exits "half of a preparation goes on" 0 train half

# ---- jobs beside and below one another
cat >jobs.job <<'JOB'
[global]
directory=top/$jobname
format=raw
sample_size=4k
num_files=4
ranks=1
checkpoint_size=4k
checkpoints=1
[below]
phase=checkpoint
directory=top/kept/checkpoints
[a]
[b]
phase=prepare
[above]
directory=top
checkpoint_every=1 epochs
[beside]
phase=checkpoint
stonewall
[into]
phase=checkpoint
directory=top
JOB
exits "jobs beside and below one another" 0 "$MLGEN" jobs.job --quiet
exits "... again" 0 "$MLGEN" jobs.job --quiet
rm -r top/train top/checkpoints top/mlgen-dataset.json
exits "... and where some of them are made anew" 0 "$MLGEN" jobs.job --quiet
exits "checkpoints above them" 0 save top/kept
mkdir defaults
cd defaults || exit 1
exits "default directories" 0 "$MLGEN" --name=x --num_files=4 \
	--sample_size=4k --format=raw --quiet
echo '[x]' >x.job
exits "... with a job file beside them" 0 "$MLGEN" --name=y --num_files=4 \
	--sample_size=4k --format=raw --json=y.json --quiet
rm x.job y.json
exits "... are no reason for the one above" 0 train .

done_testing
