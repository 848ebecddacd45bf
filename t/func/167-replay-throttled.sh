#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 167-replay-throttled.sh - on a disk that is held at a rate think times make a replay longer, and fixed ones make it late.
# On disk: a control group limits what a disk does.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

[ "$(id -u)" = 0 ] || skip_all "only root holds a disk at a rate"
! is_memory "$T" || skip_all "$T is in memory, and on no disk"
disk=$(stat -c '%Hd:%Ld' "$T")
part=/sys/dev/block/$disk
[ -d "$part" ] || skip_all "$T is on no block device"
[ ! -f "$part/partition" ] || disk=$(cat "$part/../dev")
bytes_per_sec=2097152

# A group below the root of the hierarchy that has the controller: version 1 or 2.
v1=$(awk '$3 == "cgroup" && $4 ~ /(^|,)blkio(,|$)/ { print $2 }' /proc/mounts)
v2=$(awk '$3 == "cgroup2" { print $2 }' /proc/mounts)
if [ -n "$v1" ]; then
	group=$v1/mlgen-test.$$ file=blkio.throttle.read_bps_device
	limit="$disk $bytes_per_sec"
elif grep -qsw io "$v2/cgroup.subtree_control"; then
	group=$v2/mlgen-test.$$ file=io.max limit="$disk rbps=$bytes_per_sec"
else
	skip_all "no control group has a controller of block devices"
fi
mkdir "$group" 2>mkdir.err || skip_all "no control group can be made in ${group%/*}"
trap 'rmdir "$group"; rm -rf "$T"' EXIT
{ echo "$limit" >"$group/$file"; } 2>limit.err ||
	skip_all "$file takes no '$limit'"

# Eight reads of 256 KiB, 10 ms apart: 2 MiB, which take a second at that rate.
{
	echo "fio version 3 iolog"
	echo "0 data/f add"
	echo "0 data/f open"
	for n in 0 1 2 3 4 5 6 7; do
		echo "$((n * 10000)) data/f read $((n * 262144)) 262144"
	done
	echo "80000 data/f close"
} >eight.iolog

# replay TIME: held at the rate.
replay()
{
	rm -f run.json
	# shellcheck disable=SC2016 # the inner shell's
	sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" \
		"$MLGEN" --name=r --replay_trace=eight.iolog --direct=1 \
		--replay_time="$1" --directory="$T/own" --ceiling=no \
		--output-format=json --output=run.json >run.out 2>&1 ||
		note "$(cat run.out)"
}

# Made at the disk's own speed.
ok "the files of the trace are made" "$MLGEN" --name=r \
	--replay_trace=eight.iolog --direct=1 --replay_time=asap \
	--directory="$T/own" --quiet

# at_least TITLE FIGURE BOUND: the kernel lets a part of a second through at
# once, so that half of what arithmetic says is what it is sure to hold up.
at_least()
{
	ok "$1: $2 is at least $3" awk -v n="$2" -v least="$3" \
		'BEGIN { exit !(n + 0 >= least) }'
}

replay think
is "think: all is read" "$(json run.json jobs.0.read.io_bytes jobs.0.io.errors)" \
	"2097152 0"
at_least "think: seconds, of 1 in which the disk gives 2 MiB and 0.07 of pauses" \
	"$(json run.json jobs.0.io.wall_seconds)" 0.57
like "think: of less in the trace" \
	"$(json run.json jobs.0.io.replay.asked_seconds)" '^0\.08'
replay fixed
is "fixed: all is read" "$(json run.json jobs.0.read.io_bytes jobs.0.io.errors)" \
	"2097152 0"
# The last read begins when the seven before it are done, and was due after 0.07 s.
at_least "fixed: ns that the last is late, of 0.875 - 0.07 s" \
	"$(json run.json jobs.0.read.slat_ns.max)" 367500000
at_least "fixed: seconds, of 1" "$(json run.json jobs.0.io.wall_seconds)" 0.5
done_testing
