#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 91-checkpoint-async.sh - what a training loses for sync and for async checkpoints, on a disk that is throttled.

. "$(dirname "$0")/lib/throttle.sh"

rounds=${ROUNDS:-3}
mib=${MIB:-8}		# of each of two ranks
rate=${RATE:-16}	# MiB a second: one is written in 1 s, and due each 2 s

# arm MODE OPTION...
arm()
{
	mode=$1
	shift
	rm -rf "$T/c"
	# shellcheck disable=SC2086 # options are words
	held "$MLGEN" $job --checkpoint_every="40 steps" \
		--steps=121 --checkpoint_directory="$T/c" \
		--checkpoint_size="${mib}m" --checkpoint_layout=stream \
		--direct=1 --bs=1m --json="$T/.json" --checkpoint_mode="$mode" \
		"$@" >"$T/.out" 2>&1
	ml "$T/.json" time_percent.checkpoint saves.stall_seconds \
		saves.seconds_mean au_percent samples_per_sec >>"$T/arm.$mode"
}

# of ARM COLUMN
of()
{
	column "$2" "$T/arm.$1" | median
}

job="--name=x --directory=$T/d --format=raw --num_files=64 --sample_size=64k
	--accelerators=2 --batch_size=1 --compute_time=50ms --epochs=100
	--quiet"
throttle write $((rate * 1024 * 1024))
# shellcheck disable=SC2086 # options are words
"$MLGEN" $job --phase=prepare >"$T/.out" 2>&1
# shellcheck disable=SC2034 # only counts
for i in $(seq "$rounds"); do
	arm sync
	arm async --snapshot_bandwidth=1g
done
figure "one written in, s (sync; $((2 * mib)) MiB at $rate MiB/s)" \
	"$(of sync 3)"
for mode in sync async; do
	figure "$mode: accelerator time lost, %" "$(of $mode 1)"
	figure "$mode: training stood still for three, s" "$(of $mode 2)"
	figure "$mode: AU, which does not count it, %" "$(of $mode 4)"
done
at_most "async: accelerator time lost / sync" \
	"$(calc "$(of async 1) / $(of sync 1)")" 0.5
verdict
