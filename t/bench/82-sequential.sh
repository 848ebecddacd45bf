#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 82-sequential.sh - 1 MiB sequential reads from the page cache with every engine, beside fio.

. "$(dirname "$0")/lib/figures.sh"
. "$(dirname "$0")/lib/plain.sh"

rounds=${ROUNDS:-6}	# the first of which does not count
seconds=${RUNTIME:-1}	# of each run
mib=${MIB:-2048}

needs_fio
file=$T/file
job="--filename=$file --rw=read --bs=1m --size=${mib}m --invalidate=0
	--runtime=$seconds --time_based"

# The buffer that fio has by default does not begin at a page, and copying to
# it may take twice as long: the peer is a fio whose buffer does, as mlgen's.
# shellcheck disable=SC2086 # options are words
engine_round()
{
	resident "$file"
	fio_run unaligned $job "$@"
	resident "$file"
	fio_run before $job --iomem_align=4k "$@"
	resident "$file"
	mlgen_run mlgen $job "$@"
	resident "$file"
	fio_run after $job --iomem_align=4k "$@"
}

# Requests of 1 MiB a second to GB/s.
gigabytes()
{
	calc "$1 * 1048576 / 1e9"
}

compare()
{
	name=$1
	shift
	rm -f "$T"/arm.*
	rounds "$rounds" engine_round "$@"
	figure "$name, 1 MiB sequential, fio as it is: GB/s" \
		"$(gigabytes "$(of unaligned 1)")"
	figure "$name, 1 MiB sequential, fio with iomem_align=4k: GB/s" \
		"$(gigabytes "$(of before after 1)")"
	figure "$name, 1 MiB sequential, fio after / before (noise)" \
		"$(ratio after before)"
	figure "$name, 1 MiB sequential, mlgen: GB/s" \
		"$(gigabytes "$(of mlgen 1)")"
	at_least "$name, 1 MiB sequential: mlgen / aligned fio" \
		"$(ratio mlgen before after)" 0.97
}

make_file "$file" "$mib"
compare psync --ioengine=psync
compare "io_uring, depth 8" --ioengine=io_uring --iodepth=8
compare "libaio, depth 8" --ioengine=libaio --iodepth=8
compare mmap --ioengine=mmap
verdict
