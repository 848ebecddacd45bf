#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 105-checkpoint-runs.sh - several runs save into one directory and do each other no harm.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

small="--bs=16k --checkpoint_size=64k --checkpoint_layout=stream
	--checkpoint_fsync=none"

# save OPTION...: in d.
save()
{
	rm -f run.json
	# shellcheck disable=SC2086 # several options
	"$MLGEN" --name=x --phase=checkpoint --directory=d $small --quiet \
		--json=run.json "$@"
}

restore()
{
	# shellcheck disable=SC2086 # several options
	"$MLGEN" --name=x --phase=restore --directory=d $small --quiet \
		--verify=crc32c "$@"
}

# under_way FILE OPTION...: a run that stands still with FILE open, until it is
# killed.
under_way()
{
	under_way_file=$1
	shift
	# shellcheck disable=SC2086 # several options
	background "$MLGEN" --name=x --phase=checkpoint --directory=d $small \
		--quiet --ioengine=fault --engine=psync --delay_every=1 \
		--delay=1h "$@"
	poll test -e "d/$under_way_file"
}

end()
{
	kill -9 "$pid"
	finish 2>/dev/null
}

names()
{
	(cd d && find . -mindepth 1 -maxdepth 1 | sort | sed 's|^\./||' |
		tr '\n' ' ')
}

whole()
{
	grep -l '"complete": true' d/*/mlgen-checkpoint.json | wc -l
}

host=$(uname -n)

# ---- one that is under way
for commit in 0 1; do
	part=global_epoch1_step1
	[ $commit = 0 ] || part=.$part.part
	rm -rf d
	under_way $part/model_states-0.pt --rename_commit=$commit
	exits "rename_commit=$commit: another run saves beside one under way" \
		0 save --checkpoint_keep=1 --checkpoints=2
	is "... which stays" "$(names)" \
		"$(printf '%s\n' global_epoch1_step3 $part | sort | tr '\n' ' ')"
	like "... and is told, with who writes it" "$(cat err)" \
		"^mlgen: note: x: d/$part is not complete, and will never be restored; it belongs to pid $pid on host $host, which began it .* ago and still runs, and is left alone\$"
	end
	exits "... once that is dead" 0 save --checkpoint_keep=1
	is "... it goes" "$(names)" "global_epoch1_step4 "
done

# What is not proven to be dead is left alone: [what, where, whether it goes]
tell()
{
	tell_title=$1 tell_edit=$2 tell_want=$3
	rm -rf d
	under_way global_epoch1_step1/model_states-0.pt
	end
	sed "$tell_edit" d/*/mlgen-checkpoint.json >edited
	cat edited >d/global_epoch1_step1/mlgen-checkpoint.json
	exits "$tell_title: a run saves" 0 save --checkpoint_keep=1
	is "... and what was begun there $tell_want" "$(names)" \
		"$([ "$tell_want" = goes ] || echo 'global_epoch1_step1 ')global_epoch1_step2 "
	[ "$tell_want" = stays ] || return 0
	like "... which is told" "$(cat err)" "$4"
	exits "... --replace deletes it" 0 save --checkpoint_keep=1 --replace
	is "... and what is too old" "$(names)" "global_epoch1_step3 "
}

tell "of this host and boot" 's/^//' goes
tell "another host" 's/"host": ".*"/"host": "far.away"/' stays \
	'belongs to pid [0-9]+ on host far.away, which began it .* ago and may still run, and is left alone$'
tell "another process namespace" 's/"pid_namespace": .*/"pid_namespace": 1,/' \
	stays 'and may still run, and is left alone$'
if [ -s /etc/machine-id ]; then
	tell "an earlier boot" 's/"boot_id": ".*"/"boot_id": "earlier"/' goes
	tell "a machine of the same name" \
		's/"machine_id": ".*"/"machine_id": "twin"/' stays \
		'and may still run, and is left alone$'
else
	skip "an earlier boot" "this machine has no id"
fi
tell "a process with the same number" "s/\"pid\": .*/\"pid\": $$,/" goes
tell "a manifest that does not say" '/"writer": {/,/}/d' stays \
	'does not say which process is writing it, and is left alone$'

# ---- one that is whole, of a run that goes on
rm -rf d
# shellcheck disable=SC2086 # several options
background "$MLGEN" --name=x --phase=checkpoint --directory=d $small --quiet \
	--checkpoints=2 --pause=1h
poll grep -sq '"complete": true' d/global_epoch1_step1/mlgen-checkpoint.json
exits "what a run that goes on has saved" 0 save --checkpoint_keep=1 \
	--checkpoints=2
is "... is not deleted by another one" "$(names)" \
	"global_epoch1_step1 global_epoch1_step3 "
end
exits "... before that is over" 0 save --checkpoint_keep=1
is "... then it goes" "$(names)" "global_epoch1_step4 "

# ---- two halves of the ranks, in any order
for first in 0-3 4-7; do
	second=$([ $first = 0-3 ] && echo 4-7 || echo 0-3)
	rm -rf d
	under_way global_epoch1_step1/model_states-${first%-*}.pt --ranks=8 \
		--checkpoint_ranks=$first
	exits "ranks $second save beside $first under way" 0 save --ranks=8 \
		--checkpoint_ranks=$second --checkpoint_keep=1
	end
	exits "ranks $first save where $second are whole" 0 save --ranks=8 \
		--checkpoint_ranks=$first --checkpoint_keep=1 --checkpoints=2
	is "... and both halves are there" "$(whole)" 2
	exits "... ranks $first can be restored" 0 restore --ranks=8 \
		--checkpoint_ranks=$first
	exits "... and ranks $second" 0 restore --ranks=8 \
		--checkpoint_ranks=$second
	exits "... by their own ranks only" 2 restore --ranks=8
done

# ---- all at once
rm -rf d
pids=
for i in 1 2 3 4; do
	# shellcheck disable=SC2086 # several options
	"$MLGEN" --name=x --phase=checkpoint --directory=d $small --quiet \
		--checkpoints=5 --rename_commit=$((i % 2)) >"out.$i" 2>&1 &
	pids="$pids $!"
done
failed=0
for i in $pids; do
	wait "$i" || failed=$((failed + 1))
done
is "four runs at once fail in nothing" "$failed" 0
is "... and save all that they were asked for" "$(whole)" 20
is "... under names of their own" "$(names | tr ' ' '\n' | grep -c _step)" 20

# ---- a name that is given
train()
{
	"$MLGEN" --name=x --directory="$T/data" --format=raw --num_files=4 \
		--sample_size=4k --compute_time=1ms --checkpoint_layout=stream \
		--checkpoint_size=64k --bs=16k --checkpoint_fsync=none \
		--checkpoint_directory=d --checkpoint_every="2 steps" --quiet \
		"$@"
}
ok "there is a dataset" train --phase=prepare --checkpoint_every=
# stops_in_part: the run of train_slowly stands still while it writes d/$part.
stops_in_part()
{
	[ -e "d/$part/model_states-0.pt" ] && stands_still
}

# train_slowly OPTION...: until it stands still there, again if it was through by then.
train_slowly()
{
	for try in 1 2 3 4 5 6 7 8 9; do
		rm -rf d
		background "$MLGEN" --name=x --directory="$T/data" --format=raw \
			--num_files=4 --sample_size=4k --compute_time=1ms \
			--checkpoint_layout=stream --checkpoint_size=64k --bs=16k \
			--checkpoint_directory=d --checkpoint_every="2 steps" \
			--quiet --ioengine=fault --engine=psync --delay_every=1 \
			--delay=50ms "$@"
		poll stops_in_part &&
			grep -q '"complete": false' "d/$part/mlgen-checkpoint.json" &&
			return
		note "try $try came too late"
		kill -CONT "$pid"
		finish
	done
}
for commit in 0 1; do
	part=global_epoch1_step2
	[ $commit = 0 ] || part=.$part.part
	train_slowly --rename_commit=$commit
	exits "rename_commit=$commit: a name that another run writes is refused" \
		1 train
	like "... with its process and the ways out" "$(cat err)" \
		"^mlgen: d/$part: belongs to pid $pid on host $host, which began it .* ago and still runs; use another checkpoint_directory=, or --replace to remove it"
	kill -CONT "$pid"
	finish
	is "... which is not disturbed" "$status $(whole)" "0 2"
	exits "... and once it is over, is replaced" 0 train
	is "... by as many" "$(names) $(whole)" \
		"global_epoch1_step2 global_epoch1_step4  2"
done
rm -rf d
under_way global_epoch1_step1/model_states-0.pt
mv d/global_epoch1_step1 d/global_epoch1_step2
exits "--replace takes the name" 0 train --replace
is "... with what was there" "$(names) $(whole)" \
	"global_epoch1_step2 global_epoch1_step4  2"
end
rm -rf d
train --ranks=2 --checkpoint_ranks=0 --accelerators=2 >out 2>err
exits "what has other ranks of the state is not replaced" 1 train --ranks=2 \
	--checkpoint_ranks=1 --accelerators=2
like "... which is told" "$(cat err)" \
	'^mlgen: d/global_epoch1_step2: has other ranks of the same state; use another checkpoint_directory=, or --replace to remove it'

# ---- one directory by two names
mkdir d2
ln -s d2 d3
exits "two jobs in one directory under two names are refused" 2 "$MLGEN" \
	--checkpoint_size=64k --phase=checkpoint --name=a --directory=d2 \
	--name=b --directory=./d3
like "... by their names" "$(cat err)" \
	"^mlgen: checkpoint_directory: .*d[23] is used by '[ab]' and by '[ab]'"
exits "... also where it is not there yet" 2 "$MLGEN" \
	--checkpoint_size=64k --phase=checkpoint --name=a --directory=new \
	--name=b --directory=./new
done_testing
