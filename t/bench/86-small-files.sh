#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 86-small-files.sh - whole files of 100 KiB, one thread: linked io_uring beside psync.

. "$(dirname "$0")/lib/figures.sh"
. "$(dirname "$0")/lib/plain.sh"

rounds=${ROUNDS:-7}	# the first of which does not count
cold_rounds=${COLD_ROUNDS:-6}
files=${FILES:-20000}

data="--directory=$T/d --format=raw --num_files=$files --sample_size=100k"

# Whole files a second, in $T/arm.ARM. The accelerator takes no time.
# shellcheck disable=SC2086 # options are words
train()
{
	train_arm=$1
	shift
	measure "$T/.cost" "$MLGEN" --name=x $data --access=plain --bs=1m \
		--loader=plain --read_threads=1 --prefetch=64 --batch_size=16 \
		--compute_time=0 --invalidate=0 --json="$T/run.json" --quiet \
		"$@"
	ml "$T/run.json" samples_per_sec >>"$T/arm.$train_arm"
}

in_memory()
{
	find "$T/d" -type f -print0 | xargs -0 cat >/dev/null
}

# Files, folders and their inodes.
from_disk()
{
	sync
	echo 3 >/proc/sys/vm/drop_caches
}

file_round()
{
	"$1"
	train before --ioengine=psync
	"$1"
	train linked --ioengine=io_uring --iodepth=16
	"$1"
	train after --ioengine=psync
}

compare()
{
	rm -f "$T"/arm.*
	rounds "$3" file_round "$4"
	figure "small files $1, psync: thousand files/s" \
		"$(calc "$(of before after 1) / 1000")"
	figure "small files $1, psync after / before (noise)" \
		"$(ratio after before)"
	figure "small files $1, io_uring: thousand files/s" \
		"$(calc "$(of linked 1) / 1000")"
	at_least "small files $1: io_uring, depth 16 / psync" \
		"$(ratio linked before after)" "$2"
}

# shellcheck disable=SC2086
"$MLGEN" --name=x --phase=prepare $data --quiet >"$T/.out" 2>&1
compare "from cache" 0.95 "$rounds" in_memory
if [ -w /proc/sys/vm/drop_caches ]; then
	compare cold 1.3 "$cold_rounds" from_disk
else
	figure "small files cold: only root may empty the page cache" skipped
fi
verdict
