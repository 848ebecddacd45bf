# SPDX-License-Identifier: Apache-2.0
# throttle.sh - a disk that is held at a rate: a cgroup, version 1 or 2, of block devices.
# shellcheck shell=sh
#
#	throttle read|write BYTES	so many a second, of the disk that $T is on; the
#					script ends here, skipped, where that cannot be
#	held COMMAND...			run it at that rate
#
# Version 1 holds up only who writes with O_DIRECT, not writeback.

. "$(dirname "$0")/lib/figures.sh"

throttle_not_here()
{
	figure "throttled disk: $1" skipped
	verdict
}

# throttle_group DIRECTORY FILE LINE
throttle_group()
{
	group=$1/mlgen-bench.$$
	mkdir "$group" 2>"$T/.out" ||
		throttle_not_here "no cgroup can be made in $1"
	trap '[ ! -d "$group" ] || rmdir "$group"; rm -rf "$T"' EXIT
	{ echo "$3" >"$group/$2"; } 2>"$T/.out" ||
		throttle_not_here "$2 takes no '$3'"
}

# Of the whole disk; below the root of the hierarchy with that controller.
throttle()
{
	disk=$(stat -c '%Hd:%Ld' "$T")
	part=/sys/dev/block/$disk
	[ -d "$part" ] || throttle_not_here "$T is on no block device"
	[ ! -f "$part/partition" ] || disk=$(cat "$part/../dev")
	v1=$(awk '$3 == "cgroup" && $4 ~ /(^|,)blkio(,|$)/ { print $2 }' \
		/proc/mounts)
	v2=$(awk '$3 == "cgroup2" { print $2 }' /proc/mounts)
	if [ -n "$v1" ]; then
		throttle_group "$v1" "blkio.throttle.$1_bps_device" "$disk $2"
	elif grep -qsw io "$v2/cgroup.subtree_control"; then
		throttle_group "$v2" io.max "$disk ${1%"${1#?}"}bps=$2"
	else
		throttle_not_here "no cgroup has a controller of block devices"
	fi
}

held()
{
	# shellcheck disable=SC2016 # the inner shell's
	sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" "$@"
}
