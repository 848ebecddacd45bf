#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tier-throttled.sh - a tier on a disk of its own, before one that is held at a rate: bytes are those of the devices, AU that of arithmetic.
# On disk: the test uses direct=1 or measures what storage does.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"

[ "$(id -u)" -eq 0 ] || skip_all "only root mounts disks and holds one at a rate"
for program in mkfs.ext4 losetup unshare; do
	command -v $program >/dev/null || skip_all "$program is not here"
done
[ "$(df -Pm . | awk 'END { print $4 }')" -gt 1500 ] ||
	skip_all "less than 1.5 GB of free space"
own_mounts || skip_all "may not mount here"
v1=$(awk '$3 == "cgroup" && $4 ~ /(^|,)blkio(,|$)/ { print $2 }' /proc/mounts)
[ -n "$v1" ] || skip_all "no control group of version 1 has a controller of block devices"

clean()
{
	umount -l storage tier 2>/dev/null
	rmdir "$group" 2>/dev/null
	rm -rf "$T"
}

# disk NAME: a loop device that goes with its mount; its number is in $number.
disk()
{
	truncate -s 900m "$1.image"
	mkdir "$1"
	mkfs.ext4 -q -F -m 0 "$1.image" && mount -o loop,noatime "$1.image" "$1"
	number=$(stat -c '%Hd:%Ld' "$1")
}

group=$v1/mlgen-test.$$
mkdir "$group" || skip_all "no control group can be made in $v1"
trap clean EXIT
{ disk tier && tier=$number && disk storage && storage=$number; } >out 2>&1 ||
	skip_all "no loop device: $(cat out)"
bytes_per_sec=41943040

# read_bytes MAJOR:MINOR: from a device, since it is there.
read_bytes()
{
	awk '{ printf "%.0f\n", $3 * 512 }' "/sys/dev/block/$1/stat"
}

# Samples of 1 MiB, 100 of them a second wanted, and 40 to be had from storage.
samples=300
job="--name=t --directory=storage/data --format=raw --num_files=$samples
	--sample_size=1m --batch_size=4 --accelerators=1 --compute_time=40ms
	--read_threads=4 --prefetch=2 --epochs=3 --direct=1 --bs=1m
	--ceiling=no --allow_fill --quiet --json=run.json"
# shellcheck disable=SC2086
ok "storage has its samples" "$MLGEN" $job --phase=prepare
echo "$storage $bytes_per_sec" >"$group/blkio.throttle.read_bps_device" ||
	skip_all "the disk cannot be held at a rate"

# run OPTION...: held at the rate; what devices read is in $storage_bytes and
# $tier_bytes.
run()
{
	rm -f run.json
	storage_before=$(read_bytes "$storage") tier_before=$(read_bytes "$tier")
	# shellcheck disable=SC2016,SC2086 # the inner shell's; several options
	sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" "$MLGEN" $job \
		"$@" >out 2>err || note "$(cat out err)"
	storage_bytes=$(($(read_bytes "$storage") - storage_before))
	tier_bytes=$(($(read_bytes "$tier") - tier_before))
}

# au: of the epochs after the first, percent.
au()
{
	json run.json jobs.0.ml.epochs.1.au_percent \
		jobs.0.ml.epochs.2.au_percent |
		awk '{ printf "%.1f\n", ($1 + $2) / 2 }'
}

# near TITLE GOT WANT PERCENT
near()
{
	ok "$1: $2, and $3" awk -v a="$2" -v b="$3" -v p="$4" \
		'BEGIN { d = (a - b) / b * 100; exit !(d < p && d > -p) }'
}

run
note "without a tier: AU $(au) %"
ok "without one, AU is what storage gives of what is wanted: $(au)" awk \
	-v a="$(au)" 'BEGIN { d = a - 40; exit !(d < 3 && d > -3) }'
for size in 10 20 40 50; do
	run --cache=minio --cache_size=$size% --cache_directory=tier/t
	ratio=$(json run.json jobs.0.cache.hit_ratio)
	want=$(awk -v h="$ratio" 'BEGIN { a = 40 / (1 - h); print a < 100 ? a : 100 }')
	note "minio $size %: hit ratio $ratio, AU $(au) %," \
		"ns of a hit and a miss $(json run.json \
			jobs.0.cache.hit_ns.mean jobs.0.cache.miss_ns.mean)"
	ok "$size %: AU $(au), $want by arithmetic" awk -v a="$(au)" \
		-v b="$want" 'BEGIN { d = a - b; exit !(d < 3 && d > -3) }'
	near "... bytes of storage are those of its device" \
		"$(json run.json jobs.0.cache.storage_bytes)" "$storage_bytes" 1
	near "... and of the tier of its own" \
		"$(json run.json jobs.0.cache.cache_bytes)" "$tier_bytes" 1
done
for size in 20 50; do
	run --cache=lru --cache_size=$size% --cache_directory=tier/t
	note "lru $size %: hit ratio $(json run.json jobs.0.cache.hit_ratio)," \
		"AU $(au) %"
done
done_testing
