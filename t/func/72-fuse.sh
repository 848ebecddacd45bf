#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 72-fuse.sh - storage that fails, gives little, is late or hangs, in a filesystem of our own.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"
. "$(dirname "$0")/faulty.sh"

job="--name=x --format=raw --num_files=6 --sample_size=8k --bs=4k
	--read_threads=1 --shuffle=none --json=run.json"

mkdir back mnt
# shellcheck disable=SC2086 # several options
"$MLGEN" $job --directory=back/data --phase=prepare --quiet >out 2>&1
file=mnt/data/train/img_3_of_6.raw

engines=
for engine in psync io_uring libaio; do
	# shellcheck disable=SC2086
	"$MLGEN" $job --directory=back/data --ioengine=$engine --quiet \
		>out 2>&1 && engines="$engines $engine"
done

# ---- an error of the device
fault_mount match=img_3,read_eio=5000
for engine in $engines; do
	# shellcheck disable=SC2086
	exits "$engine: a read that fails ends the run" 1 "$MLGEN" $job \
		--directory=mnt/data --ioengine=$engine
	like "$engine: it is named with its offset" "$(cat err)" \
		"^mlgen: $file: read at 4096: Input/output error \(epoch 1, step [0-9], accelerator 1\)"
	is "$engine: in one line" "$(wc -l <err)" 1
	# A loader that is ahead ends the run before they are all trained on.
	# shellcheck disable=SC2086
	"$MLGEN" $job --directory=mnt/data --ioengine=$engine \
		--read_threads=0 >out 2>err
	is "$engine: what came before is reported" \
		"$(ml run.json samples sample_bytes)" "3 24576"
done
# shellcheck disable=SC2086
exits "continue_on_error counts it" 1 "$MLGEN" $job --directory=mnt/data \
	--continue_on_error=read
like "and names it" "$(cat err)" \
	"^mlgen: .*: 1 of 6 samples failed; max_errors=0 allows none\. The first: $file: read at 4096: Input/output error"
is "once" "$(ml run.json errors samples)" "1 5"
fault_umount

# ---- less than asked for
fault_mount short_read=1000
for engine in $engines; do
	# shellcheck disable=SC2086
	exits "$engine: short reads are gone on with" 0 "$MLGEN" $job \
		--directory=mnt/data --ioengine=$engine
	is "$engine: until all is read" \
		"$(ml run.json samples sample_bytes io_bytes)" "6 49152 49152"
done
fault_umount

# ---- late
fault_mount delay=20
for engine in $engines; do
	# shellcheck disable=SC2086
	exits "$engine: slow storage is no error" 0 "$MLGEN" $job \
		--directory=mnt/data --ioengine=$engine
	ok "$engine: every read takes that long" awk \
		-v ms="$(ml run.json ops.read.lat_ns.min)" \
		'BEGIN { exit !(ms >= 20000000 && ms < 1000000000) }'
done
fault_umount

# ---- a thread that hangs in the kernel
# leaves TITLE REGEX FILE: by the first SIGTERM, soon.
leaves()
{
	kill -TERM "$pid"
	ok "$1: the first signal leaves" poll is_gone
	like "$1: and names the call" "$(cat err)" \
		"^mlgen: warning: x: thread left hanging in [a-z]+ of .*$3.* for [0-9.]+ s$"
	like "$1: with a report" "$(head -n 1 out)" "$2"
	is_json "$1: and a JSON document" run.json
	is "$1: which says so" "$(json run.json interrupted)" true
	# The kernel gives the process back when the last thread is.
	fault_go
	finish
	is "$1: status 130" "$status" 130
}
# has_trained SAMPLES: so many of them are in the rows of the log.
has_trained()
{
	awk -F, -v want="$1" '$4 == "train" { n += $7 } END { exit n < want }' log.csv
}
fault_mount match=img_3,hang
for engine in $engines; do
	[ $engine != libaio ] || continue # as io_uring; a second each
	rm -f run.json log.csv
	# shellcheck disable=SC2086
	background "$MLGEN" $job --directory=mnt/data --ioengine=$engine \
		--log=log.csv --log_interval=10ms
	poll fault_hangs
	# The loader is ahead of the accelerator.
	poll has_trained 3
	leaves "$engine: a read that hangs" \
		'^x: .* \(interrupted after 3 steps\)$' img_3
done
# shellcheck disable=SC2086
background "$MLGEN" $job --directory=mnt/other --phase=prepare
poll fault_hangs
leaves "a write that hangs in the preparation" \
	'^x: (did not run|.*\(interrupted\))$' img_3
fault_umount
rm -rf back/other

# ---- preparation
# shellcheck disable=SC2086
prepare()
{
	"$MLGEN" $job --directory=mnt/new --phase=prepare --allow_fill
}
# mends TITLE: after a preparation that failed.
mends()
{
	fault_umount
	is "$1: nothing half-written is left" \
		"$(find back/new -name '*part*')" ""
	not_ok "$1: the dataset is not complete" \
		grep -q '"complete": true' back/new/mlgen-dataset.json
	kept=$(find back/new -name '*.raw' | wc -l)
	fault_mount delay=0
	exits "$1: the next preparation goes on" 0 prepare
	is "$1: with what was missing" \
		"$(json run.json jobs.0.prepare.files_written jobs.0.prepare.files_kept)" \
		"$((6 - kept)) $kept"
	is "$1: and all is as it should be" "$(cat back/new/train/* | cksum)" \
		"$(cat back/data/train/* | cksum)"
	fault_umount
	rm -rf back/new
}
fault_mount match=img_3,write_eio=100
exits "a write that fails ends the preparation" 1 prepare
like "and is named" "$(cat err)" \
	'^mlgen: mnt/new/train/img_3_of_6\.raw: write at 0: Input/output error'
mends "a write that fails"
fault_mount match=img_3,fsync_eio
exits "a sync that fails ends the preparation" 1 prepare
like "and is named" "$(cat err)" \
	'^mlgen: mnt/new/train/img_3_of_6\.raw: fsync: Input/output error'
mends "a sync that fails"
fault_mount full=30000
exits "a filesystem that fills up ends the preparation" 1 prepare
like "and is named" "$(cat err)" \
	'^mlgen: mnt/new/train/img_[0-9]_of_6\.raw: write at [0-9]+: No space left on device; .* of the dataset are still to be written'
mends "a filesystem that fills up"

done_testing
