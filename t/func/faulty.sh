# SPDX-License-Identifier: Apache-2.0
# faulty.sh - a filesystem that fails as it is told, for as long as the test lives.
# shellcheck shell=sh
#
# Sourced after tap.sh and runs.sh; skips the script where there is no FUSE.
#
#	fault_mount OPTION,...	the folder back appears at mnt with these faults
#				(t/tools/faultfs.c)
#	fault_hangs		with hang: somebody waits for back/go by now
#	fault_go		whatever hangs is let go
#	fault_umount

faultfs=$BUILT/build/t/tools/faultfs
[ -x "$faultfs" ] ||
	skip_all "build/t/tools/faultfs is not here; it takes libfuse3 (libfuse3-dev)"
[ -w /dev/fuse ] && command -v fusermount3 >/dev/null ||
	skip_all "no FUSE here: /dev/fuse and fusermount3 are needed"

fault_pid=

# Whatever still hangs is let go, or nobody could remove the folder.
fault_umount()
{
	[ -n "$fault_pid" ] || return 0
	: >"$T/back/go"
	fusermount3 -u "$T/mnt" 2>/dev/null || fusermount3 -uz "$T/mnt"
	kill "$fault_pid" 2>/dev/null
	wait "$fault_pid" 2>/dev/null
	fault_pid=
	rm -f "$T/back/go"
}

fault_is_mounted()
{
	grep -q " $T/mnt fuse" /proc/mounts || ! kill -0 "$fault_pid" 2>/dev/null
}

# The leak checker of the filesystem itself is of no interest.
fault_mount()
{
	ASAN_OPTIONS=detect_leaks=0 "$faultfs" "$T/back" "$T/mnt" -f -o "$1" \
		>"$T/fault.log" 2>&1 &
	fault_pid=$!
	poll fault_is_mounted
	grep -q " $T/mnt fuse" /proc/mounts ||
		skip_all "may not mount by FUSE: $(cat "$T/fault.log")"
}

fault_hangs()
{
	[ -e "$T/back/.waiting" ]
}

fault_hangs_no_more()
{
	[ ! -e "$T/back/.waiting" ]
}

fault_go()
{
	: >"$T/back/go"
	poll fault_hangs_no_more
	rm -f "$T/back/go"
}

# By hand, tap.sh has no other place to tidy up.
trap 'fault_umount; [ -n "${MLGEN_DIR:-}" ] || rm -rf "$T"' EXIT
trap 'exit 130' INT TERM
