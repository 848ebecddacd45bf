#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 91-checkpoint-async.sh - what a training loses for sync and for async checkpoints, on a disk that is throttled.

. "$(dirname "$0")/lib/figures.sh"

rounds=${ROUNDS:-3}
mib=${MIB:-8}		# of each of two ranks
rate=${RATE:-16}	# MiB a second: one is written in 1 s, and due each 2 s

not_here()
{
	figure "throttled checkpoints: $1" skipped
	verdict
}

# make_group DIRECTORY FILE LINE: a cgroup that does not write faster.
make_group()
{
	group=$1/mlgen-bench.$$
	mkdir "$group" 2>"$T/.out" ||
		not_here "no cgroup can be made in $1"
	trap 'rmdir "$group"; rm -rf "$T"' EXIT
	{ echo "$3" >"$group/$2"; } 2>"$T/.out" ||
		not_here "$2 takes no '$3'"
}

# Of the disk; the root of the hierarchy with that controller.
throttle()
{
	disk=$(stat -c '%Hd:%Ld' "$T")
	part=/sys/dev/block/$disk
	[ -d "$part" ] || not_here "$T is on no block device"
	[ ! -f "$part/partition" ] || disk=$(cat "$part/../dev")
	v1=$(awk '$3 == "cgroup" && $4 ~ /(^|,)blkio(,|$)/ { print $2 }' \
		/proc/mounts)
	v2=$(awk '$3 == "cgroup2" { print $2 }' /proc/mounts)
	bytes=$((rate * 1024 * 1024))
	if [ -n "$v1" ]; then
		make_group "$v1" blkio.throttle.write_bps_device "$disk $bytes"
	elif grep -qsw io "$v2/cgroup.subtree_control"; then
		make_group "$v2" io.max "$disk wbps=$bytes"
	else
		not_here "no cgroup has a controller of block devices"
	fi
}

# arm MODE OPTION...; version 1 holds up only who writes with O_DIRECT, not
# writeback.
arm()
{
	mode=$1
	shift
	rm -rf "$T/c"
	# shellcheck disable=SC2016,SC2086 # the inner shell's; options are words
	measure "$T/.cost" sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' \
		"$group" "$MLGEN" $job --checkpoint_every="40 steps" \
		--steps=121 --checkpoint_directory="$T/c" \
		--checkpoint_size="${mib}m" --checkpoint_layout=stream \
		--direct=1 --bs=1m --json="$T/.json" --checkpoint_mode="$mode" \
		"$@"
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
throttle
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
