#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 106-checkpoint-kill.sh - a run that is killed at any step leaves a whole checkpoint, and the next one tidies up.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

command -v strace >/dev/null || skip_all "strace is not here"
can_trace || skip_all "may not trace processes here"

small="--bs=16k --checkpoint_size=256k --checkpoint_layout=stream"

# train OPTION...: it saves one checkpoint, behind 16 writes.
train()
{
	# shellcheck disable=SC2086 # several options
	"$MLGEN" --name=x --directory="$T/data" --format=raw --num_files=2 \
		--sample_size=4k --compute_time=1ms $small \
		--checkpoint_directory=d --checkpoint_every="2 steps" --quiet \
		"$@"
}

# The same; each io_uring_enter is a line of the file "enters".
train_traced()
{
	MLGEN_REAL=$MLGEN
	MLGEN=enters_of
	train "$@" >out 2>err
	MLGEN=$MLGEN_REAL
}
enters_of()
{
	ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" strace -f -qq \
		-o enters -e trace=io_uring_enter "$MLGEN_REAL" "$@"
}

# save OPTION...: beside others, of which one is kept.
save()
{
	# shellcheck disable=SC2086 # several options
	"$MLGEN" --name=x --phase=checkpoint --directory=d $small --quiet \
		--checkpoint_keep=1 "$@"
}

restore()
{
	# shellcheck disable=SC2086 # several options
	"$MLGEN" --name=x --phase=restore --directory=d $small --quiet \
		--verify=crc32c >out 2>err
}

names()
{
	(cd d && find . -mindepth 1 -maxdepth 1 | sort | sed 's|^\./||' |
		tr '\n' ' ')
}

# killed_at CALL:N OPTION...: of whichever thread is the first to come to its Nth
# of these calls, before that is done.
killed_at()
{
	killed_call=${1%:*} killed_number=${1#*:}
	shift
	ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" strace -f -qq \
		-o /dev/null -e \
		"inject=$killed_call:signal=KILL:when=$killed_number" \
		"$MLGEN" "$@" >out 2>err
}

# try_step COMMAND OPTION...: it is killed there, and tried again; fails where
# there is no such step.
try_step()
{
	rm -rf d
	cp -a before d
	MLGEN_REAL=$MLGEN
	MLGEN=killing
	"$@" && try_status=0 || try_status=$?
	MLGEN=$MLGEN_REAL
	[ $try_status -ne 0 ] || return 1
	count=$((count + 1))
	case $(names) in *.old*) asides=yes ;; esac
	restore || lost="$lost $step: $(cat err)"
	"$@" >out 2>err || left="$left $step: $(cat err)"
	names | grep -Eqx "$want" || left="$left $step: $(names)"
	grep -q '"complete": true' d/*/mlgen-checkpoint.json ||
		lost="$lost $step, then"
}

# each_step TITLE WANT COMMAND OPTION...: after each step there is a whole one,
# and COMMAND leaves names that match WANT. $calls: from which number on.
each_step()
{
	title=$1 want=$2
	shift 2
	count=0 lost='' left='' asides=''
	for call in $calls; do
		number=${call#*:}
		last=$((number + 60))
		while [ "$number" -lt "$last" ]; do
			step=${call%:*}:$number
			try_step "$@" || break
			number=$((number + 1))
		done
	done
	ok "$title: there are many steps ($count)" test "$count" -gt 9
	is "... a whole one is there after each" "$lost" ""
	is "... and the next run leaves nothing but its own" "$left" ""
}
killing()
{
	MLGEN=$MLGEN_REAL
	killed_at "$step" "$@"
}

ok "there is a dataset" train --phase=prepare --checkpoint_every=
ok "there is a checkpoint" train
mv d before
calls="mkdirat:1 write:1 /^rename:1 /^pwrite:16 fsync:1 unlinkat:1"
each_step "one is replaced" "global_epoch1_step2 " train
is "... by way of another name" "$asides" yes
each_step "an old one is deleted" "global_epoch1_step[0-9]+ " save \
	--rename_commit=1
train --json=run.json >out 2>err
train --json=run.json >out 2>err
is "with checkpoint_keep=0, too, what is replaced counts as deleted" \
	"$(ml run.json saves.deleted_checkpoints saves.deleted_files)" "1 1"
if save --ioengine=io_uring --directory=e >out 2>err; then
	# Its renames and unlinks are no calls of their own; they come last, and
	# how many come before depends on what is complete when it is asked.
	rm -rf d
	cp -a before d
	train_traced --ioengine=io_uring
	calls="io_uring_enter:$(($(grep -c 'io_uring_enter(' enters) - 16))"
	each_step "io_uring: one is replaced" "global_epoch1_step2 " train \
		--ioengine=io_uring
	is "... by way of another name" "$asides" yes
else
	skip "io_uring: one is replaced" "$(cat err)"
fi
done_testing
