#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 73-loop-device.sh - a real filesystem that is read-only, small, shut down or has lost blocks.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

[ "$(id -u)" -eq 0 ] || skip_all "only root may mount loop devices"
for program in mkfs.ext4 losetup unshare; do
	command -v $program >/dev/null || skip_all "$program is not here"
done
own_mounts || skip_all "may not mount here"

# The loop device goes with the mount.
truncate -s 24m image
mkdir mnt
mkfs.ext4 -q -F -m 0 image >out 2>&1 || skip_all "mkfs.ext4: $(cat out)"
mount -o loop,errors=continue image mnt 2>out || skip_all "$(cat out)"
trap 'umount -l mnt 2>/dev/null; [ -n "${MLGEN_DIR:-}" ] || rm -rf "$T"' EXIT

job="--name=x --format=raw --num_files=8 --sample_size=1m --bs=64k
	--shuffle=none --read_threads=1 --json=run.json --allow_fill"
train()
{
	rm -f run.json
	# shellcheck disable=SC2086 # several options
	"$MLGEN" $job --directory=mnt/data "$@"
}

# ---- full: less room than is said to be free cannot be known before
exits "a dataset that cannot fit is refused" 2 train --num_files=40 \
	--phase=prepare
like "with what would fit" "$(cat err)" \
	'^mlgen: mnt/data: 40 MiB to write, [0-9.]+ MiB free; --num_files=[0-9]+ would fit$'
# Samples of 1 byte take little room, but more inodes than there are.
exits "a filesystem that fills up ends the preparation" 1 train \
	--num_files=10000 --sample_size=1 --phase=prepare
like "which says of which file" "$(cat err)" \
	'^mlgen: mnt/data/train/\.?img_[0-9]+_of_10000\.raw(\.part)?: (write at 0|open|fsync): No space left on device'
is "nothing half-written is left" "$(find mnt -name '*part*')" ""
rm -rf mnt/data

# ---- read-only
exits "a dataset is written" 0 train --phase=prepare
exits "and read past the page cache" 0 train --direct=1
is "from the device" "$(ml run.json storage.memory_percent)" "0.0"
# Nobody else reads from it: what ramp_time has read is in no share. But a kernel
# may take pages from the cache that were read just now (DAMON does), and they are
# read again: less than 1 % of 4 MiB each time.
few=$(((4 << 20) / 100))
ramped()
{
	rm -f run.json
	"$MLGEN" --name=ramped --directory=mnt --rw=read --bs=64k --size=4m \
		--rate=8m --time_based --runtime=500ms --json=run.json "$@"
}
storage()
{
	json_below jobs.0.io.storage run.json "$@"
}
exits "a file is read within ramp_time" 0 ramped --ramp_time=2
read=$(storage device_read_bytes)
is "and behind it, from memory" \
	"$read: $((read < few)) $(storage memory_percent |
		awk '{ print ($1 > 99) }')" "$read: 1 1"
exits "without it" 0 ramped --runtime=2
read=$(storage device_read_bytes)
is "it comes from the device" \
	"$read: $((read >= 4 << 20 && read < 8 << 20))" "$read: 1"
rm -f mnt/ramped*
mount -o remount,ro mnt
exits "it is read where the filesystem is read-only" 0 train
exits "nothing is to be prepared there" 0 train --phase=prepare
exits "another cannot be made there" 2 train --directory=mnt/other
like "which is told" "$(cat err)" '^mlgen: mnt/other: .*Read-only file system'
mount -o remount,rw mnt

# ---- blocks that are gone: the file that lies there is named. It is the one that
# begins last: the first bytes of all others are there to be looked at.
lost=$(filefrag -b1024 -e mnt/data/train/*.raw 2>/dev/null |
	awk '$1 == "0:" { sub(/\.\./, "", $4)
		if ($4 + 0 > most) most = $4 + 0 }
		END { if (most) print most }')
if [ -n "$lost" ]; then
	sync mnt/data/train/*
	cp image whole
	truncate -s $((lost * 1024 + 65536)) image
	for engine in psync io_uring libaio; do
		"$MLGEN" --enghelp | grep -q "^$engine " || continue
		exits "$engine: an unreadable block ends the run" 1 train \
			--direct=1 --ioengine=$engine
		like "$engine: and its place is named" "$(cat err)" \
			'^mlgen: mnt/data/train/img_[0-9]_of_8\.raw: read at [0-9]+: Input/output error \(epoch 1, step [0-9], accelerator 1\)'
		is_json "$engine: in a report" run.json
	done
else
	skip "an unreadable block ends the run" "filefrag is not here"
fi

umount mnt
done_testing
