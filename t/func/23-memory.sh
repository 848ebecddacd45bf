#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 23-memory.sh - what comes from memory is told, and what should come from storage does.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# train OPTION...: 8 MiB, once; the report goes to out and run.json.
train()
{
	rm -f run.json
	"$MLGEN" --name=x --directory="$T/data" --format=raw --num_files=32 \
		--sample_size=256k --batch_size=4 --json=run.json "$@" \
		>out 2>err </dev/null
}

total=$((32 * 262144))

# ---- a filesystem that is memory
if [ -d /dev/shm ] && [ -w /dev/shm ] && is_memory /dev/shm; then
	shm=$(mktemp -d /dev/shm/mlgen-test.XXXXXX)
	train --directory="$shm/d"
	is "tmpfs is called memory" "$(ml run.json storage.is_memory verdict.name)" \
		"true memory"
	like "in the first line" "$(head -n 1 out)" ' MEMORY, NOT STORAGE$'
	like "and where the storage stands" "$(cat out)" \
		'^storage +tmpfs at /dev/shm: this is memory$'
	exits "direct=1 is refused there" 2 "$MLGEN" --name=x --direct=1 \
		--directory="$shm/e" --num_files=8
	is "in words" "$(cat err)" \
		"mlgen: direct=1: tmpfs at /dev/shm keeps files in memory; O_DIRECT would mean nothing here"
	ok "and makes nothing" test ! -e "$shm/e"
	rm -rf "$shm"
else
	skip "tmpfs is called memory" "there is no tmpfs at /dev/shm"
fi

# ---- the page cache
if is_memory "$T"; then
	skip "the page cache is told from storage" "$T is in memory"
	done_testing
	exit 0
fi

train --phase=prepare
like "files leave the page cache as they are written" \
	"$(json run.json jobs.0.prepare.resident_percent)" '^0(\.[0-9]*)?$'
like "which the report says" "$(cat out)" \
	'^  in memory now   0.0%: each file was synced and dropped from the page cache$'
train --invalidate=0
like "so that the first epoch finds nothing there" \
	"$(ml run.json storage.resident_before_percent)" '^0(\.[0-9]*)?$'
source=$(ml run.json storage.source)
from_device()
{
	[ "$(ml run.json storage.device_read_bytes)" -ge "$1" ]
}
if [ "$source" = "device counters" ]; then
	ok "and storage answers" from_device $total
else
	skip "and storage answers" "bytes from memory: $source"
fi

# Whoever else reads from the device now blurs this: more than one try.
from_memory()
{
	train --invalidate=0
	[ "$(ml run.json verdict.name)" = memory ]
}
if [ "$source" = "device counters" ]; then
	ok "a second run reads memory, and says so" poll from_memory
	like "with the part that did" "$(cat out)" \
		'^from memory +[0-9.]+% of the bytes read \(device counters\)'
	like "and the figure that decided" "$(cat out)" \
		'^  NOT A STORAGE RESULT   [0-9.]+% of the bytes came from this host'
	like "everything was there before" \
		"$(ml run.json storage.resident_before_percent)" '^100(\.0)?$'
else
	train --invalidate=0
	like "a second run may read memory, and says so" \
		"$(ml run.json storage.resident_before_percent)" '^100(\.0)?$'
fi

for invalidate in run epoch 1; do
	train --invalidate=$invalidate --epochs=2
	times=1
	[ $invalidate = epoch ] && times=2
	if [ "$source" = "device counters" ]; then
		ok "invalidate=$invalidate: storage answers $times of 2 epochs" \
			from_device $((total * times))
	else
		skip "invalidate=$invalidate" "bytes from memory: $source"
	fi
done

# ---- past it
if dd if=/dev/zero of=probe bs=4096 count=1 oflag=direct 2>/dev/null; then
	train --direct=1 --epochs=2
	is "direct=1 reads each sample once" \
		"$(ml run.json samples sample_bytes io_bytes)" \
		"64 $((total * 2)) $((total * 2))"
	like "and nothing from memory" "$(ml run.json storage.memory_percent)" \
		'^(0(\.0)?|null)$'
	ok "in multiples of what the filesystem wants" \
		test "$(json run.json jobs.0.read_align_bytes)" -ge 512
	rm -rf data
	train --direct=1 --sample_size=10001 --format=npz
	is "sizes that are no multiple are read to their end" \
		"$(ml run.json samples sample_bytes) $(ml run.json io_bytes)" \
		"32 320032 $(find data/train -type f -exec cat {} + | wc -c)"
	exits "a bs that is none is refused" 2 "$MLGEN" --name=x --direct=1 \
		--directory="$T/data" --bs=5000
	like "with the multiple that is wanted" "$(cat err)" \
		'^mlgen: bs: 5000 is no multiple of [0-9]+, which direct=1 needs$'
else
	skip "direct=1 reads each sample once" "no O_DIRECT in $T"
fi

done_testing
