#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hung-mount.sh - what hangs for ten seconds shows in the status line, by its path.
# On disk: the test uses direct=1 or measures what storage does.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../faulty.sh"

job="--name=x --format=raw --num_files=6 --sample_size=8k --bs=4k
	--read_threads=1 --shuffle=none --json=run.json"

mkdir back mnt
# shellcheck disable=SC2086 # several options
"$MLGEN" $job --directory=back/data --phase=prepare --quiet >out 2>&1

shows()
{
	: >err
	kill -USR1 "$pid"
	sleep 1
	grep -q "$1" err
}

for engine in psync io_uring libaio; do
	# shellcheck disable=SC2086
	"$MLGEN" $job --directory=back/data --ioengine=$engine --quiet \
		>out 2>&1 || continue
	fault_mount match=img_3,hang
	# shellcheck disable=SC2086
	background "$MLGEN" $job --directory=mnt/data --ioengine=$engine
	poll fault_hangs
	sleep 2
	not_ok "$engine: after two seconds the path is not shown" \
		shows 'img_3_of_6'
	ok "$engine: after ten it is" poll shows \
		'x .*read for [1-9][0-9] s: .*img_3_of_6\.raw'
	kill -INT "$pid"
	ok "$engine: one SIGINT leaves" poll is_gone
	like "$engine: with a report" "$(head -n 1 out)" \
		'^x: .* \(interrupted after 3 steps\)$'
	fault_go
	finish
	is "$engine: status 130" "$status" 130
	# Once more, and this time the storage comes back.
	# shellcheck disable=SC2086
	background "$MLGEN" $job --directory=mnt/data --ioengine=$engine
	poll fault_hangs
	sleep 1
	fault_go
	finish
	is "$engine: storage that comes back ends the wait" \
		"$status $(ml run.json samples)" "0 6"
	ok "$engine: and the wait is in the latency" test \
		"$(ml run.json ops.read.lat_ns.max)" -ge 900000000
	fault_umount
done

done_testing
