#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 102-train-checkpoints.sh - a training that saves checkpoints: when, where, and what its accelerators lose.
# Sleeps: accelerators compute in real time.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# Ten steps an epoch of two accelerators; each operation takes `delay` longer.
# Of a rank's checkpoint these are an open, two writes, a flush and a close.
train()
{
	"$MLGEN" --name=x --directory="$T/d" --format=raw --num_files=20 \
		--sample_size=4k --accelerators=2 --compute_time=10ms \
		--checkpoint_layout=torch --checkpoint_size=1m \
		--ioengine=fault --engine=psync --delay_every=1 --delay=0 \
		--json="$T/run.json" --quiet "$@"
}

# saves TITLE OPTION...: it runs, in an empty directory of checkpoints.
saves()
{
	saves_title=$1
	shift
	rm -rf "$T/c" "$T/run.json"
	exits "$saves_title" 0 train --checkpoint_directory="$T/c" "$@"
}

# above TITLE SMALL LARGE
above()
{
	ok "$1" awk -v small="$2" -v large="$3" \
		'BEGIN { exit !(small != "" && small + 0 < large + 0) }'
}

directories()
{
	(cd "$T/c" && for d in *; do echo "$d"; done) | sort -V | tr '\n' ' '
}

# Steps of the records, one more than there are.
steps()
{
	ml run.json checkpoints.0.step checkpoints.1.step checkpoints.2.step \
		checkpoints.3.step
}

ok "there is a dataset" train --phase=prepare --checkpoint_every=

# ---- when
saves "steps count through all epochs" --epochs=2 --checkpoint_every="7 steps"
is "... two of them were saved" "$(steps)" "7 14 absent absent"
is "... each in a directory of its epoch and step" "$(directories)" \
	"global_epoch1_step7 global_epoch2_step14 "
is "... with a file for each accelerator" \
	"$(find c -name '*.pt' | wc -l)" 4
is "... which has the bytes that were asked for, and more" \
	"$(find c -name '*.pt' -size +1024k -size -1100k | wc -l)" 4
is "... and a manifest that says so" \
	"$(grep -l '"complete": true' c/*/mlgen-checkpoint.json | wc -l)" 2
is "... all complete" "$(ml run.json saves.count saves.completed \
	checkpoints.0.complete checkpoints.1.complete)" "2 2 true true"
is_json "... in a document" run.json
is "... and the time of the accelerators adds up" \
	"$(ml run.json time_percent.compute time_percent.stall \
		time_percent.barrier time_percent.checkpoint \
		time_percent.evaluation time_percent.oversleep \
		time_percent.other |
		awk '{ for (i = 1; i <= 7; i++) sum += $i
		printf "%.3f\n", sum }')" 100.000

saves "epochs are saved when they end" --epochs=5 --checkpoint_every="2 epochs"
is "... every second one" "$(directories)" \
	"global_epoch2_step20 global_epoch4_step40 "

saves "a number of steps limits it, too" --steps=8 --checkpoint_every="4 steps"
is "... and the last step counts" "$(steps)" "4 8 absent absent"

saves "a time has come after some step" --checkpoint_every=45ms --steps=10
like "... by the fifth of 10 ms" "$(ml run.json checkpoints.0.step)" '^[1-5]$'

saves "only some ranks save" --checkpoint_every="5 steps" \
	--checkpoint_ranks=zero --barrier=none
is "... their files" "$(cd c && find . -name '*.pt' | sort | tr '\n' ' ')" \
	"./global_epoch1_step10/rank_0.pt ./global_epoch1_step5/rank_0.pt "

saves "older ones are deleted" --checkpoint_every="2 steps" --checkpoint_keep=2
is "... but for the newest two" "$(directories)" \
	"global_epoch1_step8 global_epoch1_step10 "
is "... three of five" "$(ml run.json saves.count saves.deleted_checkpoints)" \
	"5 3"
exits "the same run again replaces what it wrote" 0 train \
	--checkpoint_directory="$T/c" --checkpoint_every="5 steps"
is "... and adds what was not there" "$(directories)" \
	"global_epoch1_step5 global_epoch1_step8 global_epoch1_step10 "

rm -rf d/checkpoints
ok "they lie in the dataset's directory where no other is named" \
	train --checkpoint_every="10 steps"
ok "... in one of their own" test -f d/checkpoints/global_epoch1_step10/rank_1.pt
ok "... which is no part of the dataset" train --phase=prepare \
	--checkpoint_every=
rm -rf d/checkpoints

saves "ioengine=null saves without files" --ioengine=null \
	--checkpoint_every="5 steps"
is "... and counts them" "$(ml run.json saves.completed)" 2
not_ok "... it makes no directory" test -e c

# ---- what it costs: five operations of 100 ms each
saves "training waits for one" --delay=100ms --checkpoint_every="8 steps"
sync=$(ml run.json saves.stall_seconds)
above "... as long as its operations take" 0.4999 "$sync"
above "... which is time of the accelerators" 0 \
	"$(ml run.json time_percent.checkpoint)"
above "... and of what is measured: bytes were written in it" 0 \
	"$(awk -v all="$(json run.json jobs.0.job_runtime)" -v stall="$sync" \
		-v wall="$(ml run.json wall_seconds)" \
		'BEGIN { print all - (wall + stall) * 1000 + 2 }')"
is "... sync ones do not wait for others" \
	"$(ml run.json saves.wait_seconds saves.snapshot_seconds)" "0.0 0.0"

saves "or goes on meanwhile" --delay=100ms --checkpoint_every="8 steps" \
	--checkpoint_mode=async
above "... and loses less" "$(ml run.json saves.stall_seconds)" "$sync"
is "... the last is complete when the run is over" \
	"$(ml run.json saves.completed checkpoints.0.complete)" "1 true"
above "... it took as long to write" 0.4999 \
	"$(ml run.json checkpoints.0.seconds)"

saves "a snapshot takes its time" --checkpoint_every="8 steps" \
	--checkpoint_mode=async --snapshot_bandwidth=20m
is "... of a MiB at 20 MiB a second" "$(ml run.json saves.snapshot_seconds)" \
	0.05
above "... for which training stands still" 0.0499 \
	"$(ml run.json saves.stall_seconds)"

saves "the next one waits for the last" --delay=50ms --steps=6 \
	--checkpoint_every="2 steps" --checkpoint_mode=async
is "... the first for none" "$(ml run.json checkpoints.0.wait_seconds)" 0.0
above "... the second for the first" 0 \
	"$(ml run.json checkpoints.1.wait_seconds)"
above "... which is a part of its stall" \
	"$(ml run.json checkpoints.1.wait_seconds)" \
	"$(ml run.json checkpoints.1.stall_seconds | awk '{ print $1 + 1e-6 }')"

# ---- it ends early
has_begun()
{
	test -d "$T/c/global_epoch1_step2"
}

for mode in sync async; do
	rm -rf c run.json
	# shellcheck disable=SC2154 # pid, status: of background and finish
	background "$MLGEN" --name=x --directory="$T/d" --format=raw \
		--num_files=20 --sample_size=4k --accelerators=2 \
		--compute_time=10ms --epochs=1000 --checkpoint_every="2 steps" \
		--checkpoint_mode=$mode --checkpoint_directory="$T/c" \
		--checkpoint_layout=torch --checkpoint_size=1m \
		--ioengine=fault --engine=psync --delay_every=1 --delay=60ms \
		--json="$T/run.json" --quiet
	ok "$mode: one is under way" poll has_begun
	kill -INT "$pid"
	finish
	is "$mode: an interruption ends it" "$status" 130
	is "$mode: with a report of those that were begun" \
		"$(ml run.json interrupted)" true
	is "$mode: the one that was cut is the last, and named" \
		"$(find c -name mlgen-checkpoint.json -exec \
			grep -L '"complete": true' {} + | wc -l)" \
		"$(grep -c 'was being saved; it is not complete' err)"
done

# ---- a restore while one is being written
saves "one is there" --steps=1 --checkpoint_every="1 step"
background "$MLGEN" --name=x --directory="$T/d" --format=raw --num_files=20 \
	--sample_size=4k --accelerators=2 --checkpoint_every="2 steps" \
	--checkpoint_mode=async --checkpoint_directory="$T/c" --bs=4k \
	--checkpoint_layout=torch --checkpoint_size=1m --ioengine=fault \
	--engine=psync --delay_every=1 --delay=100ms --quiet
ok "another is being written" poll has_begun
exits "a restore takes the one that is whole" 0 "$MLGEN" --name=x \
	--phase=restore --directory="$T/c" --ranks=2 --checkpoint_layout=torch \
	--checkpoint_size=1m --verify=crc32c --json="$T/run.json" --quiet
is "... that one" "$(ml run.json restore.0.step restore.1.step)" "1 absent"
like "... and tells of the other" "$(cat err)" \
	'c/global_epoch1_step2 is not complete, and will never be restored'
kill -INT "$pid"
finish

mkdir -p c
rm -rf c/global_epoch1_step2 c/.global*
: >c/global_epoch1_step4
exits "one that cannot be begun ends the run" 1 train \
	--checkpoint_directory="$T/c" --checkpoint_every="2 steps"
like "... which says why" "$(cat err)" global_epoch1_step4
is "... the ones before stay" \
	"$(find c/global_epoch1_step2 -type f | wc -l)" 3
ok "... and what is not ours" test -f c/global_epoch1_step4
done_testing
