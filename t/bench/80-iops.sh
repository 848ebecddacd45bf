#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 80-iops.sh - 4 KiB random reads from the page cache, one thread, beside fio and t/io_uring.

. "$(dirname "$0")/lib/figures.sh"
. "$(dirname "$0")/lib/plain.sh"

rounds=${ROUNDS:-6}	# the first of which does not count
seconds=${RUNTIME:-1}	# of each run
mib=${MIB:-2048}
T_IO_URING=${T_IO_URING:-}

needs_fio
file=$T/file
job="--filename=$file --rw=randread --bs=4k --size=${mib}m --invalidate=0
	--runtime=$seconds --time_based"
ring="$job --ioengine=io_uring --iodepth=32"
tuned="--iodepth_batch_submit=16 --iodepth_batch_complete_max=16 --fixedbufs
	--registerfiles"

# shellcheck disable=SC2086 # options are words
fio_reads()
{
	resident "$file"
	fio_run "$@"
}

# shellcheck disable=SC2086
mlgen_reads()
{
	resident "$file"
	mlgen_run "$@"
}

t_io_uring_reads()
{
	[ -n "$T_IO_URING" ] || return 0
	resident "$file"
	t_io_uring "$1" "$2" "$file"
}

bare_reads()
{
	resident "$file"
	bare_run "$1" "$seconds" "$file"
}

# Peers, mlgen, peers: what the machine does meanwhile, it does to all.
# shellcheck disable=SC2086
ring_round()
{
	fio_reads fio.before $ring
	fio_reads tuned.before $ring $tuned
	t_io_uring_reads tio.before 32
	mlgen_reads mlgen $ring
	t_io_uring_reads tio.after 32
	fio_reads tuned.after $ring $tuned
	fio_reads fio.after $ring
}

# shellcheck disable=SC2086
psync_round()
{
	fio_reads fio.before $job --ioengine=psync
	bare_reads bare.before
	mlgen_reads mlgen $job --ioengine=psync
	bare_reads bare.after
	fio_reads fio.after $job --ioengine=psync
}

# shellcheck disable=SC2086
engine_round()
{
	fio_reads fio.before $job "$@"
	mlgen_reads mlgen $job "$@"
	fio_reads fio.after $job "$@"
}

thousands()
{
	calc "$1 / 1000"
}

# cpu ARM...: "user + system", ns of one request
cpu()
{
	printf '%.0f + %.0f\n' "$(of "$@" 3)" "$(of "$@" 4)"
}

# orientation NAME
orientation()
{
	figure "$1, fio, thousand IOPS" \
		"$(thousands "$(of fio.before fio.after 1)")"
	figure "$1, fio after / before (noise)" \
		"$(ratio fio.after fio.before)"
	figure "$1, mlgen, thousand IOPS" "$(thousands "$(of mlgen 1)")"
	figure "$1, CPU of one request, fio: user + system, ns" \
		"$(cpu fio.before fio.after)"
	figure "$1, CPU of one request, mlgen: user + system, ns" \
		"$(cpu mlgen)"
}

compare()
{
	compare_name=$1 compare_bound=$2
	shift 2
	rm -f "$T"/arm.*
	rounds "$rounds" engine_round "$@"
	orientation "$compare_name"
	at_least "$compare_name: mlgen / fio" \
		"$(ratio mlgen fio.before fio.after)" "$compare_bound"
}

make_file "$file" "$mib"

rounds "$rounds" ring_round
orientation "io_uring, depth 32"
figure "io_uring, depth 32, fio tuned, thousand IOPS" \
	"$(thousands "$(of tuned.before tuned.after 1)")"
at_least "io_uring, depth 32: mlgen / fio" \
	"$(ratio mlgen fio.before fio.after)" 1.45
at_least "io_uring, depth 32: mlgen / fio tuned" \
	"$(ratio mlgen tuned.before tuned.after)" 1.15
if [ -n "$T_IO_URING" ]; then
	figure "io_uring, depth 32, t/io_uring, thousand IOPS" \
		"$(thousands "$(of tio.before tio.after 1)")"
	at_least "io_uring, depth 32: mlgen / t/io_uring" \
		"$(ratio mlgen tio.before tio.after)" 0.95
else
	figure "io_uring, depth 32: mlgen / t/io_uring: no T_IO_URING=PATH" \
		skipped
fi

rm -f "$T"/arm.*
rounds "$rounds" psync_round
orientation psync
figure "psync, a bare loop, thousand IOPS" \
	"$(thousands "$(of bare.before bare.after 1)")"
figure "psync, CPU of one request, a bare loop: user + system, ns" \
	"$(cpu bare.before bare.after)"
at_least "psync: mlgen / fio" "$(ratio mlgen fio.before fio.after)" 1.15
at_most "psync: mlgen's user time of one request, ns" \
	"$(calc "$(of mlgen 3)")" "110 ns"

compare "libaio, depth 32" 1.25 --ioengine=libaio --iodepth=32
compare mmap 1 --ioengine=mmap
verdict
