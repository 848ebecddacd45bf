#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 84-io-fuse.sh - plain jobs on storage that fails, gives little, is late or hangs.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"
. "$(dirname "$0")/faulty.sh"

mkdir back mnt
job="--name=x --directory=mnt --size=256k --bs=4k --json=run.json"

run()
{
	rm -f run.json
	# shellcheck disable=SC2086 # several options
	"$MLGEN" $job "$@"
}

values()
{
	json_below jobs.0 run.json "$@"
}

# What the engine has to say of buffered files is no matter here.
complaints()
{
	grep -v 'libaio without direct=1' err
}

# 262144 bytes each
(
	cd back || exit 1
	"$MLGEN" --name=x --rw=read --size=256k --numjobs=1 --create_only=1 &&
		cp x.0.0 hung
) >out 2>&1

fault_mount delay=0
engines=
for engine in psync io_uring libaio; do
	run --rw=read --ioengine=$engine >out 2>&1 &&
		engines="$engines $engine"
done
note "engines:$engines"
depth_of()
{
	case $1 in
	psync)	echo 1 ;;
	*)	echo 8 ;;
	esac
}
# There is no shared mapping of such files.
exits "mmap: a filesystem without mappings" 2 run --rw=read --ioengine=mmap
like "mmap: is told" "$(cat err)" \
	'^mlgen: mnt/x\.0\.0: open: Operation not supported; .*ioengine=mmap$'
fault_umount

# ---- an error of the device
fault_mount read_eio=100000,write_eio=200000
for engine in $engines; do
	set -- --ioengine="$engine" --iodepth="$(depth_of "$engine")"
	exits "$engine: a read that fails ends the run" 1 run --rw=read "$@"
	is "$engine: it is named with its offset" "$(complaints)" \
		"mlgen: mnt/x.0.0: read at 98304: Input/output error. The report covers what ran before"
	is_json "$engine: with a report" run.json
	is "$engine: which is not complete" "$(values error io.complete)" \
		"5 false"
	ok "$engine: but has what was read" test \
		"$(values read.io_bytes)" -ge 98304
	exits "$engine: a write that fails ends the run" 1 run --rw=randwrite \
		"$@"
	is "$engine: it is named with its offset" "$(complaints)" \
		"mlgen: mnt/x.0.0: write at 196608: Input/output error. The report covers what ran before"
	exits "$engine: continue_on_error=io goes on" 0 run --rw=randread \
		--continue_on_error=io --max_errors=1 "$@"
	is "$engine: and counts it" \
		"$(values read.io_bytes io.errors io.complete)" "258048 1 true"
done
fault_umount

# ---- less than asked for
fault_mount short_read=1000
for engine in $engines; do
	exits "$engine: short reads are gone on with" 0 run --rw=randread \
		--ioengine="$engine" --iodepth="$(depth_of "$engine")"
	is "$engine: until all is read" \
		"$(values read.io_bytes read.total_ios read.short_ios)" \
		"262144 64 256"
done
fault_umount

# ---- full
for engine in $engines; do
	fault_mount full=100000
	exits "$engine: a filesystem that is full ends the run" 1 run \
		--rw=write --ioengine="$engine"
	is "$engine: it is named with its offset" "$(complaints)" \
		"mlgen: mnt/x.0.0: write at 98304: No space left on device; make room, or use a smaller size=. The report covers what ran before"
	is "$engine: after what found room" "$(values write.io_bytes)" 98304
	fault_umount
done

# ---- a sync that fails
fault_mount fsync_eio
for engine in $engines; do
	for sync in fsync=16 fdatasync=16 end_fsync=1; do
		exits "$engine: $sync that fails ends the run" 1 run \
			--rw=write --ioengine="$engine" --$sync
		like "$engine: it is named" "$(complaints)" \
			"^mlgen: mnt/x\\.0\\.0: f(data)?sync: Input/output error\\. "
	done
done
fault_umount

# ---- late: a queue that is full, and stays so
fault_mount delay=2
for engine in $engines; do
	[ "$engine" != psync ] || continue
	exits "$engine: 256 requests at a time" 0 run --rw=randread \
		--ioengine="$engine" --iodepth=256 --bs=512
	is "$engine: all are read" \
		"$(values read.io_bytes read.total_ios io.iodepth_used)" \
		"262144 512 256"
	ok "$engine: most were many under way" awk \
		-v share="$(values 'iodepth_level.>=64')" \
		'BEGIN { exit !(share > 50) }'
	ok "$engine: none was early" test \
		"$(values read.lat_ns.min)" -ge 2000000
	exits "$engine: a few are waited for, and taken, together" 0 run \
		--rw=randread --ioengine="$engine" --iodepth=64 \
		--iodepth_batch_submit=8 --iodepth_batch_complete_min=4 \
		--iodepth_batch_complete_max=4
	is "$engine: all are read" "$(values read.io_bytes read.total_ios)" \
		"262144 64"
done
fault_umount

# ---- a request that hangs
fault_mount match=hung,hang
for engine in $engines; do
	for rw in read write; do
		[ "$engine" != libaio ] || [ $rw != write ] || continue # as read
		rm -f run.json
		# shellcheck disable=SC2086
		background "$MLGEN" $job --rw=$rw --filename=x.0.0:hung \
			--ioengine="$engine"
		poll fault_hangs
		kill -INT "$pid"
		poll test -s run.json
		poll test -s out
		like "$engine: $rw that hangs: it is named" "$(cat err)" \
			"^mlgen: warning: x: thread left hanging in $rw of .*hung for "
		like "$engine: $rw that hangs: the first SIGINT reports" \
			"$(sed -n 1,2p out | paste -sd' ' - | tr -s ' ')" '^x: .*\(interrupted'
		is_json "$engine: $rw that hangs: in JSON, too" run.json
		is "$engine: $rw that hangs: which says so" \
			"$(json run.json interrupted) $(values io.complete)" \
			"true false"
		is "$engine: $rw that hangs: with what came before" \
			"$(values $rw.io_bytes)" 4096
		fault_go
		finish
		is "$engine: $rw that hangs: status 130" "$status" 130
	done
done
fault_umount

done_testing
