#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 65-engines.sh - the same job on every engine reads the same samples and the same bytes.
# On disk: direct=1 is tried, which files in memory do not have.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

job="--name=x --directory=$T/data --format=npz --num_files=28
	--sample_size=uniform:16k:80k --batch_size=3 --accelerators=2
	--read_threads=2 --epochs=2 --bs=8k --json=run.json --quiet"

# shellcheck disable=SC2086 # several options
"$MLGEN" $job --phase=prepare >out 2>&1

# run NAME=VALUE...: its counts, or why there are none.
counts()
{
	# shellcheck disable=SC2086
	if "$MLGEN" $job "$@" >out 2>err; then
		json run.json jobs.0.ml.steps jobs.0.ml.samples \
			jobs.0.ml.sample_bytes jobs.0.ml.io_bytes \
			jobs.0.ml.ops.open.total jobs.0.ml.ops.read.total
	else
		echo "status $?: $(cat err)"
	fi
}

# What psync reads is the measure: 4 steps an epoch. Each engine has either depth with
# either loader and with either access.
depth=1
for access in plain framework; do
	want=$(counts --ioengine=psync --access=$access)
	like "psync, $access: 4 steps of 3 samples for 2 accelerators, twice" \
		"$want" '^8 48 '
	for loader in pytorch plain; do
		for engine in io_uring libaio mmap fault; do
			how="--access=$access --loader=$loader --iodepth=$depth"
			# shellcheck disable=SC2086 # several options
			got=$(counts --ioengine=$engine $how)
			case $got in
			*io_uring_setup* | *aio-max-nr*)
				skip "$engine $how" "$(cat err)"
				;;
			*)
				is "$engine $how" "$got" "$want"
				;;
			esac
			depth=$((9 - depth))
		done
		depth=$((9 - depth))
	done
	depth=$((9 - depth))
done

# ---- past the page cache
want=$(counts --ioengine=psync --direct=1 | cut -d' ' -f1-4)
case $want in
status*)
	skip "every engine with direct=1" "$(cat err)"
	;;
*)
	for engine in io_uring libaio fault; do
		is "$engine, direct=1, iodepth=8" "$(counts --ioengine=$engine \
			--direct=1 --iodepth=8 | cut -d' ' -f1-4)" "$want"
	done
	;;
esac

exits "mmap with direct=1 is refused" 2 "$MLGEN" $job --ioengine=mmap --direct=1
like "with a way out" "$(cat err)" 'ioengine=mmap.*direct=0'

# ---- what is written
# made NAME=VALUE...: prepared anew; the sum of all files.
made()
{
	rm -rf "$T/made"
	# shellcheck disable=SC2086
	"$MLGEN" $job --phase=prepare --directory="$T/made" "$@" >out 2>err ||
		echo "status $?: $(cat err)"
	(cd "$T/made" && find . -name 'img*' -exec cksum {} + | sort)
}
want=$(made --ioengine=psync)
is "psync writes 28 files" "$(printf '%s\n' "$want" | wc -l)" 28
for engine in io_uring libaio mmap fault; do
	got=$(made --ioengine=$engine)
	case $got in
	*io_uring_setup* | *aio-max-nr*)
		skip "$engine writes the same files" "$(cat err)"
		;;
	*)
		is "$engine writes the same files" "$got" "$want"
		;;
	esac
done

# Whichever operation a signal meets: an open, a write, a fsync, a close, ...
for number in $(seq 24); do
	got=$(made --ioengine=fault --engine=mmap --short_every=3 \
		--fail_after="$number" --fail_errno=EINTR)
	[ "$got" = "$want" ] || break
done
is "interruptions and short writes change no file (operation $number)" \
	"$got" "$want"

# ---- the samples themselves, not only their number
if can_trace; then
	# shellcheck disable=SC2086
	opened()
	{
		traced trace openat "$MLGEN" $job --accelerators=1 \
			--read_threads=1 --epochs=1 --access=plain "$@" \
			>out 2>&1
		# what looks for cached pages opens with O_NOCTTY
		sed -n '/O_NOCTTY/d; s/.*img_\([0-9]*\)_of.*/\1/p' trace | paste -sd' ' -
	}
	want=$(opened --ioengine=psync --invalidate=0)
	is "psync opens 27 files, each once" \
		"$(printf '%s\n' $want | sort -u | wc -l)" 27
	# io_uring opens on its ring, where strace does not look
	for engine in libaio mmap; do
		is "$engine opens the same files in the same order" \
			"$(opened --ioengine=$engine --iodepth=4 \
				--invalidate=0)" "$want"
	done

	# flags NAME=VALUE...: the words of psync's calls that have flags
	flags()
	{
		# shellcheck disable=SC2086
		traced trace preadv2 "$MLGEN" $job --steps=1 \
			--access=plain --ioengine=psync "$@" >out 2>&1
		grep -o 'RWF_[A-Z]\+\|\<0x80\>' trace | sort -u | paste -sd' ' -
	}
	is "psync without options has no flags" "$(flags)" ""
	is "and hipri=0 has none" "$(flags --hipri=0)" ""
	is "hipri is RWF_HIPRI" "$(flags --hipri=1)" RWF_HIPRI
	is "nowait is RWF_NOWAIT" "$(flags --nowait=1)" RWF_NOWAIT
	like "uncached is RWF_DONTCACHE" "$(flags --uncached=1)" \
		'^(0x80|RWF_DONTCACHE|RWF_UNCACHED)$'
else
	skip "the order of files on every engine" "strace is not here"
fi
plan "$tap_count"
