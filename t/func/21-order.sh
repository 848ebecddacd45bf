#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 21-order.sh - which files are opened, in which order and by whom, seen from the kernel.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

command -v strace >/dev/null || skip_all "strace is not here"
can_trace || skip_all "strace is not allowed here"

set_up="--name=x --directory=$T/data --format=raw --num_files=16
	--sample_size=512 --read_threads=1 --epochs=2 --quiet"
# shellcheck disable=SC2086 # several options
"$MLGEN" $set_up --phase=prepare >out 2>&1 || note "$(cat out)"

# order N OPTION...: the last N files opened, thus by the loaders.
order()
{
	last=$1
	shift
	# shellcheck disable=SC2086 # several options
	traced trace openat "$MLGEN" $set_up "$@" >out 2>&1 ||
		note "$(cat out)"
	sed -n 's/^\([0-9]*\) .*img_\([0-9]*\)_of.*/\1 \2/p' trace |
		tail -n "$last" >loads
	cut -d' ' -f2 loads | paste -sd' ' -
}

all="00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15"

sorted()
{
	printf '%s\n' "$@" | sort | paste -sd' ' -
}

first=$(order 32)
second=$(order 32)
is "two runs of a job read the same samples in the same order" \
	"$second" "$first"
# shellcheck disable=SC2086 # one word each
set -- $first
one=$(printf '%s ' "$@" | cut -d' ' -f1-16)
two=$(printf '%s ' "$@" | cut -d' ' -f17-32)
# shellcheck disable=SC2086
is "an epoch reads each of them once" "$(sorted $one)" "$all"
# shellcheck disable=SC2086
is "and so does the next" "$(sorted $two)" "$all"
not_ok "in another order" test "$one" = "$two"
not_ok "which is not that of the names" test "$one" = "$all"
not_ok "another seed reads in another order" \
	test "$(order 32 --randseed=7)" = "$first"
is "shuffle=none reads in the order of the names" \
	"$(order 32 --shuffle=none)" "$all $all"

# ---- who reads what: two accelerators, a reader each
# readers OPTION...: what each of the two opened in an epoch, sorted.
readers()
{
	order 16 --epochs=1 --accelerators=2 "$@" >/dev/null
	for reader in $(cut -d' ' -f1 loads | sort -u); do
		sed -n "s/^$reader //p" loads | sort | paste -sd' ' -
	done | sort
}

is "strided: every other sample" "$(readers --shuffle=none)" \
	"00 02 04 06 08 10 12 14
01 03 05 07 09 11 13 15"
is "contiguous: one half each" \
	"$(readers --shuffle=none --shard=contiguous)" \
	"00 01 02 03 04 05 06 07
08 09 10 11 12 13 14 15"
shared=$(readers | paste -sd' ' -)
# shellcheck disable=SC2086
is "shuffled: nobody reads what another has read" "$(sorted $shared)" "$all"

# ---- batches of a PyTorch loader: batch k by thread k modulo read_threads
order 16 --epochs=1 --shuffle=none --read_threads=2 --batch_size=2 >/dev/null
is "a thread reads whole batches, every other one" \
	"$(for reader in $(cut -d' ' -f1 loads | sort -u); do
		sed -n "s/^$reader //p" loads | paste -sd' ' -
	done | sort)" \
	"00 01 04 05 08 09 12 13
02 03 06 07 10 11 14 15"

# ---- several samples in a file
rm -rf data
set_up="--name=x --directory=$T/data --format=raw --num_files=4
	--samples_per_file=4 --sample_size=512 --read_threads=1 --epochs=1
	--shuffle=file --quiet"
# shellcheck disable=SC2086
"$MLGEN" $set_up --phase=prepare >out 2>&1
# shellcheck disable=SC2046
set -- $(order 16)
is "shuffle=file stays in a file until its end" \
	"$(printf '%s\n' "$@" | uniq -c | awk '{ print $1 }' | paste -sd' ' -)" \
	"4 4 4 4"
# shellcheck disable=SC2086
traced trace pread64,preadv,preadv2 "$MLGEN" $set_up >out 2>&1
is "and reads it front to back" \
	"$(sed -n 's/.*, \([0-9]*\)\(, [A-Z0-9_|]*\)\{0,1\}) = 512$/\1/p' trace |
		paste -sd' ' -)" \
	"0 512 1024 1536 0 512 1024 1536 0 512 1024 1536 0 512 1024 1536"

# ---- what is left alone
# changes REGEX: calls in the trace, but those of ThreadSanitizer's runtime.
changes()
{
	grep -v '/tsan\.rodata\.' trace | grep -cE "$1"
}
# shellcheck disable=SC2086
traced trace file "$MLGEN" $set_up --ioengine=null \
	--directory="$T/nowhere" >out 2>&1
is "ioengine=null touches no file of the dataset" \
	"$(grep -v execve trace | grep -c nowhere)" 0
# shellcheck disable=SC2086
traced trace file,ftruncate,fallocate "$MLGEN" $set_up --dry-run \
	--num_files=9 --directory="$T/nowhere" >out 2>&1
ok "a dry run looks at the directory" grep -q nowhere trace
is "but opens nothing to write, and makes nothing" \
	"$(changes 'O_CREAT|O_WRONLY|O_RDWR|mkdir|unlink|rename|truncate|fallocate')" 0
# shellcheck disable=SC2086
traced trace file "$MLGEN" $set_up --readonly >out 2>&1
drop_devices out
is "a read-only run neither" \
	"$(changes 'O_CREAT|O_WRONLY|O_RDWR|mkdir|unlink|rename')" 0
is "and is as good as any" "$(wc -l <out)" 1

done_testing
