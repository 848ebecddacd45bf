#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 104-checkpoint-safety.sh - saving deletes and writes what is a checkpoint of its own, and nothing else.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# save OPTION...: one rank with one file of 64 KiB, in d.
save()
{
	rm -f run.json
	"$MLGEN" --name=x --phase=checkpoint --directory=d --bs=16k \
		--checkpoint_size=64k --checkpoint_layout=stream \
		--checkpoint_fsync=none --quiet --json=run.json "$@"
}

names()
{
	(cd d && find . -mindepth 1 -maxdepth 1 | sort | sed 's|^\./||' |
		tr '\n' ' ')
}

# forge FOLDER FILE...: a manifest of a whole checkpoint with these files.
forge()
{
	forge_to=$1/mlgen-checkpoint.json
	shift
	{
		echo '{ "version": 1, "complete": true, "number": 1, "bytes": 1,'
		echo '"made_from": {}, "content": {}, "ranks": "0", "files": ['
		forge_comma=
		for forge_file; do
			printf '%s"%s"\n' "$forge_comma" "$forge_file"
			forge_comma=,
		done
		echo '] }'
	} >"$forge_to"
}

# Somebody's files, by names that a checkpoint has, too.
victim()
{
	rm -rf victim d
	mkdir victim d
	for victim_file in model_states-0.pt rank_0.pt notes.txt; do
		echo precious >"victim/$victim_file"
	done
}

# is_unharmed TITLE
is_unharmed()
{
	is "$1" "$(cat victim/model_states-0.pt victim/rank_0.pt \
		victim/notes.txt | tr '\n' ' ')" "precious precious precious "
}

# ---- what is deleted
victim
forge victim model_states-0.pt rank_0.pt
ln -s ../victim d/global_epoch1_step1
exits "a link among the checkpoints is no failure" 0 save --checkpoint_keep=1
is_unharmed "... and nothing behind it is deleted"
is "... it stays" "$(names)" "global_epoch1_step1 global_epoch1_step2 "
like "... which is told" "$(cat err)" \
	'^mlgen: warning: d/global_epoch1_step1: stays: it is a symbolic link$'

for name in notes.txt ../victim/rank_0.pt "$T/victim/rank_0.pt" \
	mlgen-checkpoint.json ..; do
	victim
	mv victim d/global_epoch1_step1
	ln -s d/global_epoch1_step1 victim
	forge d/global_epoch1_step1 rank_0.pt "$name"
	exits "a manifest that names $(basename "$name") is no failure" 0 \
		save --checkpoint_keep=1
	is_unharmed "... and none of its files is deleted"
	like "... which is told" "$(cat err)" \
		"^mlgen: warning: d/global_epoch1_step1: stays: mlgen-checkpoint.json names '.*', which is not a file of a checkpoint\$"
	rm victim
done

if chown 12345 d 2>/dev/null; then
	victim
	mv victim d/global_epoch1_step1
	ln -s d/global_epoch1_step1 victim
	forge d/global_epoch1_step1 rank_0.pt model_states-0.pt
	chown 12345 d/global_epoch1_step1
	exits "a directory of another user is no failure" 0 \
		save --checkpoint_keep=1
	is_unharmed "... and none of its files is deleted"
	like "... which is told" "$(cat err)" \
		"^mlgen: warning: d/global_epoch1_step1: stays: it belongs to another user"
	rm victim
else
	skip "a directory of another user" "only root can give one away"
fi

# ---- what comes behind the last
rm -rf d
last=global_epoch1_step9223372036854775807
mkdir -p d/$last
exits "no checkpoint comes behind the last step" 2 save
like "which is said" "$(cat err)" \
	"^mlgen: d/$last: no later step is possible; move it away"
exits "by a dry run, too" 2 save --dry-run --json=/dev/null
like "as what would stop the run" "$(cat out)" \
	"d/$last: no later step is possible"
is "and nothing is written" "$(names)" "$last "
mv d/$last d/global_epoch1_step9223372036854775806
exits "the last step itself can be saved" 0 save
like "by its name" "$(names)" " $last "
exits "once" 2 save
rm -rf d
exits "of checkpoints with numbers" 0 save
sed -i 's/"number": *1\b/"number": 9223372036854775807/' \
	d/global_epoch1_step1/mlgen-checkpoint.json
exits "none comes behind the last" 2 save
like "which is said" "$(cat err)" \
	'^mlgen: d/global_epoch1_step1: is checkpoint number 9223372036854775807, the largest that a manifest allows; move it away, or use another checkpoint_directory$'
exits "but it is restored" 0 save --phase=restore

# ---- what is written
victim
mkdir d/global_epoch1_step1
ln victim/notes.txt d/global_epoch1_step1/.mlgen-checkpoint.json.part
exits "a directory that holds something is not taken" 0 save
is_unharmed "... and what it has links to is not written"

# slowly: two files, one after the other; every call takes a while.
slowly()
{
	rm -f run.json
	background "$MLGEN" --name=x --phase=checkpoint --directory=d \
		--model_layers=1 --model_hidden=64 --model_ffn=64 \
		--model_heads=4 --model_kv_heads=2 --model_vocabulary=100 \
		--ranks=1 --checkpoint_layout=deepspeed --access=framework \
		--checkpoint_fsync=none --ioengine=fault --engine=psync \
		--delay_every=1 --delay=40ms --quiet --json=run.json
	poll test -e d/global_epoch1_step1/zero_pp_rank_0_mp_rank_0_model_states.pt
}

for kind in "hard link" "symbolic link" FIFO; do
	victim
	slowly
	second=d/global_epoch1_step1/zero_pp_rank_0_mp_rank_0_optim_states.pt
	case $kind in
	hard*)	ln victim/notes.txt $second ;;
	symb*)	ln -s ../../victim/notes.txt $second ;;
	*)	mkfifo $second ;;
	esac
	finish
	is "a $kind in the place of a file fails the run" "$status" 1
	like "... which names it" "$(cat err)" \
		"^mlgen: checkpoint 1, rank 0: $second: open: File exists"
	is_unharmed "... and nothing is written through it"
done

victim
slowly
mv d/global_epoch1_step1 moved
ln -s ../victim d/global_epoch1_step1
finish
is "a link in the place of the directory fails the run" "$status" 1
is "... and nothing is written behind it" \
	"$(find victim | sort | tr '\n' ' ')" \
	"victim victim/model_states-0.pt victim/notes.txt victim/rank_0.pt "
is_unharmed "... or deleted"
rm -rf moved

# Of a filesystem that renames files only.
if can_trace; then
	rm -rf d
	exits "no folder needs to be renamed" 0 traced /dev/null /^rename \
		-e inject=/^rename:error=EMFILE:when=2 "$MLGEN" --name=x \
		--phase=checkpoint --directory=d --checkpoint_size=64k \
		--checkpoint_layout=stream --quiet
	is "... where nothing is replaced" \
		"$(names) $(grep -c '"complete": true' d/*/*.json)" \
		"global_epoch1_step1  1"
else
	skip "no folder needs to be renamed" "strace is not here"
fi

# The user's own way to the directory may have links.
victim
mkdir real
ln -s real link
rm -rf d
ln -s link/sub d
mkdir real/sub
exits "links on the way to the directory are the user's" 0 save \
	--checkpoint_keep=1 --checkpoints=2
is "... it is saved where they lead" "$(ls real/sub)" global_epoch1_step2
mv real/sub/global_epoch1_step2 elsewhere
ln -s ../../elsewhere real/sub/global_epoch1_step2
exits "a checkpoint that was moved and linked is restored" 0 "$MLGEN" --name=x \
	--phase=restore --directory=d --bs=16k --checkpoint_size=64k \
	--checkpoint_layout=stream --verify=crc32c --quiet
rm d
done_testing
