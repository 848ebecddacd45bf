#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 81-io-files.sh - files of plain jobs: laid out where missing, left alone where not, devices protected.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

[ "$(id -u)" -ne 0 ] || own_mounts

loops=
clean_up()
{
	cd /
	for loop in $loops; do
		umount -l "$loop" 2>/dev/null
		losetup -d "$loop" 2>/dev/null
	done
	[ -n "${MLGEN_DIR:-}" ] || rm -rf "$T"
}
trap clean_up EXIT

io()
{
	rm -f run.json
	"$MLGEN" --name=x --json=run.json "$@"
}

state()
{
	stat -c '%i %s %b %y %z' "$1"
	cksum <"$1"
}

# Whatever partition tables the kernel reads, and whoever makes the nodes.
partition()
{
	addpart "$1" 1 2048 16384 2>/dev/null || return
	# shellcheck disable=SC2046 # two numbers
	mknod part b $(tr : ' ' <"/sys/block/${1#/dev/}/${1#/dev/}p1/dev")
}

# ---- laid out
mkdir d
exits "a missing file is laid out" 0 io --directory=d --rw=read --size=8m \
	--bs=64k
like "which is announced in one line" "$(cat err)" \
	'^x: laying out 1 file, 8 MiB in d \((in [0-9.]+ [mu]?s|about .* s, estimate)\)$'
is "under the name that fio gives it" "$(find d -type f)" d/x.0.0
is "with its size" "$(stat -c %s d/x.0.0)" 8388608
ok "which cannot be compressed" test "$(gzip -c d/x.0.0 | wc -c)" -gt 8300000
ok "and has no holes" test "$(($(stat -c %b d/x.0.0) * 512))" -ge 8388608
is "all of it is read" "$(json run.json jobs.0.read.io_bytes)" 8388608
before=$(state d/x.0.0)
exits "another run finds it there" 0 io --directory=d --rw=randread --size=8m
unlike "and lays nothing out" "$(cat err)" 'laying out'
is "reading changes nothing of it" "$(state d/x.0.0)" "$before"
exits "nor does a part of it, without a size" 0 io --rw=read \
	--filename=d/x.0.0 --offset=50%
is "half is read" "$(json run.json jobs.0.read.io_bytes)" 4194304
is "half is left" "$(state d/x.0.0)" "$before"

exits "files of a list share the size" 0 io --directory=d --rw=read \
	--size=3m --bs=64k --filename='a:b\:c:s/e'
is "and lie where they are named" "$(cd d && stat -c '%n %s' a b:c s/e)" \
	"a 1048576
b:c 1048576
s/e 1048576"
not_ok "each has its own content" cmp -s d/a d/b:c
mkdir d/n
exits "each of numjobs has a file of its own" 0 io --directory=d/n --rw=read \
	--size=1m --numjobs=3 --create_only=1
is "with the whole size" "$(cd d/n && stat -c '%n %s' x.*)" "x.0.0 1048576
x.1.0 1048576
x.2.0 1048576"
exits "a job that writes gets space for what is missing" 0 io --directory=d \
	--rw=write --size=1m --offset=64k --bs=64k --filename=w
is "up to where it ends" "$(stat -c %s d/w)" 1114112
before=$(stat -c '%i %s' d/w)
exits "and writes over what is there" 0 io --rw=randwrite --filename=d/w
is "without making it anew" "$(stat -c '%i %s' d/w)" "$before"
cat >shared.job <<'JOB'
[global]
directory=d
filename=shared
size=1m
rw=read
bs=64k
[first]
[second]
[third]
stonewall=1
JOB
exits "jobs that share a missing file" 0 "$MLGEN" shared.job
is "make it once" "$(grep -c 'laying out' err)" 1
exits "an engine without files touches none" 0 io --ioengine=null --rw=write \
	--size=1m --directory=none
not_ok "not even their folder" test -e none

# ---- refused, with nothing changed
before=$(state d/a)
refused()
{
	title=$1 regex=$2
	shift 2
	exits "$title is refused" 2 io "$@"
	like "$title: by words" "$(cat err)" "^mlgen: (.*: )?$regex"
}
refused "a file that is too small" \
	'd/a: has 1m, but size=, offset= and filesize= ask for 2m; .* never extended: use a smaller size or another file, or remove this file' \
	--rw=read --filename=d/a --size=2m
refused "a directory" 'd/s: is a directory' --rw=read --filename=d/s
refused "a missing file without a size" 'size: d/none is missing; give its size' \
	--rw=read --filename=d/none
refused "a directory that is missing" "directory: none of job 'x': No such file" \
	--rw=read --directory=none --size=1m
refused "a list of directories" "directory: 'd:e' is a list" --rw=read \
	--directory=d:e --size=1m
refused "a terminal" '/dev/tty: is a character device' --rw=read \
	--filename=/dev/tty --size=1m
refused "writing under --readonly" "readonly: job 'x' writes" --rw=write \
	--filename=d/a --readonly
refused "layout under --readonly" \
	'readonly: d/none is missing, and would be created with 1m' --rw=read \
	--filename=d/none --size=1m --readonly
refused "more than all free space" \
	'd: 1 PiB to lay out, .* free, of which half may be used; use a smaller size=' \
	--rw=write --directory=d --filename=none --size=1p
is "what was there is as before" "$(state d/a)" "$before"
not_ok "and nothing was made" test -e d/none
exits "/dev/null is written" 0 io --rw=write --filename=/dev/null --size=1m
exits "/dev/zero is read" 0 io --rw=read --filename=/dev/zero --size=1m

# ---- interrupted
rm -rf d
mkdir d
free=$(($(stat -f -c '%a * %S' .)))
if [ $free -gt 6000000000 ]; then
	background "$MLGEN" --name=x --directory=d --rw=read --size=2g
	poll test -e d/.x.0.0.mlgen-part
	# shellcheck disable=SC2154 # of background
	kill -INT "$pid"
	finish
	# shellcheck disable=SC2154 # of finish
	is "a layout is interrupted" "$status" 130
	like "which is said" "$(cat out err)" 'interrupted'
	is "and leaves nothing, but of a thread that a call holds up" \
		"$(grep -q 'left behind' err || ls -A d)" ""
	background "$MLGEN" --name=x --directory=d --rw=read --size=2g
	poll test -e d/.x.0.0.mlgen-part
	kill -9 "$pid"
	finish
	is "a killed one leaves nothing that counts" \
		"$(find d -type f ! -name '.*')" ""
	exits "the next one begins anew" 0 io --directory=d --rw=read --size=1m
	is "and clears up" "$(find d -type f)" d/x.0.0
else
	skip "an interrupted layout leaves nothing" "less than 6 GB are free here"
fi

# ---- full, as root
if ! mount_small small 4m; then
	skip "a small filesystem is not overfilled" "may not mount here"
	skip "a block device is not written unasked" "may not mount here"
	done_testing
	exit 0
fi
refused "more than half of the free space" \
	'small: 3 MiB to lay out, 4 MiB free, of which half may be used; .*or --allow_fill' \
	--rw=read --directory=small --size=3m
is "nothing is made" "$(ls -A small)" ""
exits "--allow_fill allows it" 0 io --rw=read --directory=small --size=3m \
	--allow_fill
refused "more than there is" 'small: 2 MiB to lay out, 1 MiB free; use a smaller' \
	--rw=read --directory=small --filename=y --size=2m --allow_fill
rm small/*
# Space that another takes meanwhile cannot be known before: of a file of 5000
# bytes nobody counts the whole pages.
exits "a filesystem that fills up ends the layout" 1 io --rw=read \
	--directory=small --size=5000 --numjobs=800 --allow_fill --bs=1k
like "which names file, need and room" "$(cat err)" \
	'small/x\.[0-9]+\.0: .*: No space left on device; .* are still to be laid out, .* free; make room'
is "nothing half-made is left" "$(find small -name '*part*')" ""
ok "all that is there is whole" test \
	-z "$(find small -type f ! -size 5000c)"
umount small

# ---- block devices, as root
truncate -s 32m image
if ! loop=$(losetup -P -f --show image 2>/dev/null); then
	skip "a block device is not written unasked" "no loop device"
	done_testing
	exit 0
fi
loops=$loop
before=$(cksum <image)
exits "a block device is read" 0 io --rw=read --filename="$loop" --bs=1m
is "all of it" "$(json run.json jobs.0.read.io_bytes)" 33554432
refused "a device that is not named for it" \
	"$loop: is a block device, and this job would overwrite its contents; to allow this, use --allow_device=$loop" \
	--rw=write --filename="$loop" --size=1m
refused "one beside another that is" "$loop: is a block device" --rw=write \
	--filename="$loop" --size=1m --allow_device=/dev/null
refused "more than the device has" "$loop: has 32m, but size=, offset= and filesize= ask for 64m" --rw=read \
	--filename="$loop" --size=64m
refused "a device under --readonly" 'readonly' --rw=write --filename="$loop" \
	--allow_device="$loop" --readonly
sync -f "$loop" 2>/dev/null
is "nothing of it has changed" "$(cksum <image)" "$before"
ln -s "$loop" link
exits "it is written when it is named, by a link too" 0 io --rw=write \
	--filename="$loop" --size=1m --bs=64k --end_fsync=1 --allow_device=link
if command -v mkfs.ext2 >/dev/null && mkfs.ext2 -q -F "$loop"; then
	mkdir mnt
	mount "$loop" mnt
	refused "a mounted device" \
		"$loop: is mounted at .*/mnt; mlgen never writes to a block device in use" \
		--rw=write --filename="$loop" --size=1m --allow_device="$loop"
	exits "which may be read" 0 io --rw=read --filename="$loop" --size=1m
	# A filesystem that cannot give space beforehand.
	exits "a file without space given beforehand has its size" 0 io \
		--rw=randwrite --directory=mnt --size=1m --bs=4k
	is "from the beginning to the end" "$(stat -c %s mnt/x.0.0)" 1048576
	umount mnt
else
	skip "a mounted device is refused" "mkfs.ext2 is not here"
fi
if command -v mkfs.ext2 >/dev/null && partition "$loop" &&
	mkfs.ext2 -q -F part; then
	mount part mnt
	refused "a disk with a mounted partition" \
		"$loop: its partition ${loop#/dev/}p1 is mounted at .*/mnt" \
		--rw=write --filename="$loop" --size=1m --allow_device="$loop"
	umount mnt
	delpart "$loop" 1
else
	skip "a disk with a mounted partition is refused" "no partitions here"
fi
done_testing
