#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 84-direct-depth.sh - 4 KiB random reads of the disk with O_DIRECT at four depths, beside fio.

. "$(dirname "$0")/lib/figures.sh"
. "$(dirname "$0")/lib/plain.sh"

rounds=${ROUNDS:-10}	# the first of which does not count
seconds=${RUNTIME:-1}	# of each run
mib=${MIB:-2048}
depths=${DEPTHS:-1 8 32 128}
engine=${ENGINE:-io_uring}

needs_fio
file=$T/file
job="--filename=$file --rw=randread --bs=4k --size=${mib}m --direct=1
	--ioengine=$engine --invalidate=0 --runtime=$seconds --time_based"

# From submission to completion, as mlgen has it: fio's clat is without the
# submission, which is half of it at depth 1.
# shellcheck disable=SC2034 # for plain.sh
p50_of=lat_ns

# shellcheck disable=SC2086 # options are words
depth_round()
{
	fio_run before $job --lat_percentiles=1 "$@"
	mlgen_run mlgen $job "$@"
	fio_run after $job --lat_percentiles=1 "$@"
}

lower()
{
	printf '%s\n' "$@" | sort -g | sed -n 1p
}

# How far apart two numbers are, percent of the second.
apart()
{
	awk -v a="$1" -v b="$2" 'BEGIN {
		printf "%.2f\n", (a > b ? a - b : b - a) * 100 / b }'
}

# A device gives to two runs of fio what it gives; mlgen may be as far from
# them as they are from each other, and a little more.
compare()
{
	name="$engine, direct, depth $1"
	rm -f "$T"/arm.*
	rounds "$rounds" depth_round --iodepth="$1"
	figure "$name, fio: thousand IOPS, before" \
		"$(calc "$(of before 1) / 1000")"
	figure "$name, fio: thousand IOPS, after" \
		"$(calc "$(of after 1) / 1000")"
	figure "$name, mlgen: thousand IOPS" "$(calc "$(of mlgen 1) / 1000")"
	figure "$name, fio: p50, us" \
		"$(calc "$(of before after 2) / 1000")"
	at_least "$name: mlgen / lower arm of fio" \
		"$(calc "$(of mlgen 1) / \
			$(lower "$(of before 1)" "$(of after 1)")")" 0.97
	at_most "$name: p50 of mlgen from fio's, percent" \
		"$(apart "$(of mlgen 2)" "$(of before after 2)")" \
		"$(calc "10 + $(apart "$(of after 2)" "$(of before 2)")") %"
}

make_file "$file" "$mib"
for depth in $depths; do
	compare "$depth"
done
verdict
