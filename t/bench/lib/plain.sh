# SPDX-License-Identifier: Apache-2.0
# plain.sh - what the benchmarks of plain jobs share: the same job, run by mlgen and its peers.
# shellcheck shell=sh
#
# Sourced after figures.sh, for reads only. An arm is one program with one set of options; each
# of its runs adds a line to $T/arm.NAME:
#
#	iops p50_ns user_ns system_ns	the two last are CPU of one request
#
#	needs_fio			else ends the script with a word
#	make_file FILE MIB		that cannot be compressed, on the disk
#	resident FILE			all of it is in the page cache then
#	fio_run ARM OPTION...		a job of fio
#	mlgen_run ARM OPTION...		the same of mlgen
#	bare_run ARM SECONDS FILE	a loop around pread
#	t_io_uring ARM DEPTH FILE	of fio's sources; $T_IO_URING is its path
#	rounds N COMMAND...		N times, the first of which does not count
#	of ARM... COLUMN		the median of a column of all these arms
#	ratio ARM PEER...		of medians of iops
#
# p50_of says which latency p50_ns is of, by fio's key.

p50_of=clat_ns

needs_fio()
{
	command -v fio >/dev/null || {
		figure "fio is not here" skipped
		verdict
	}
}

make_file()
{
	dd if=/dev/urandom of="$1" bs=1M count="$2" conv=fsync status=none
}

resident()
{
	cat "$1" >/dev/null
}

# add_run ARM IOPS P50 REQUESTS, after a `measure` to $T/.cost
add_run()
{
	tail -n 1 "$T/.cost" | awk -v iops="$2" -v p50="$3" -v n="$4" '
		{ print iops, p50, $4 * 1e9 / n, $5 * 1e9 / n }' >>"$T/arm.$1"
}

# add_job ARM FILE: what fio and mlgen say alike.
add_job()
{
	# shellcheck disable=SC2046 # four words
	add_run "$1" $(json "$2" jobs.0.read.iops \
		"jobs.0.read.$p50_of.percentile.50.000000" \
		jobs.0.read.total_ios)
}

# A thread, as mlgen's is: fio's processes each open a session, and where the
# scheduler shares the CPUs out by session, that is more on a busy machine.
fio_run()
{
	fio_arm=$1
	shift
	measure "$T/.cost" fio --name=x "$@" --thread --output-format=json \
		--output="$T/.fio"
	# Notes may stand before the document; blanks before its colons.
	sed -n '/^{/,$ { s/" : /": /; p; }' "$T/.fio" >"$T/.fio.json"
	add_job "$fio_arm" "$T/.fio.json"
}

mlgen_run()
{
	mlgen_arm=$1
	shift
	measure "$T/.cost" "$MLGEN" --name=x "$@" --json="$T/.mlgen.json" \
		--quiet
	add_job "$mlgen_arm" "$T/.mlgen.json"
}

bare_run()
{
	measure "$T/.cost" "$BENCH/bare_random" "$2" "$3"
	# shellcheck disable=SC2046
	add_run "$1" $(awk '{ print $1, 0, $2 }' "$T/.out")
}

# What mlgen does too: registered buffers, file and ring, latencies taken. It
# prints what the seconds but the last one had.
t_io_uring()
{
	measure "$T/.cost" "$T_IO_URING" -b4096 -d"$2" -s32 -c32 -p0 -O0 -B1 \
		-F1 -X1 -t1 -r2 "$3"
	sed -n 's/^IOPS=\([0-9.]*\)\([MK]\{0,1\}\),.*/\1 \2/p' "$T/.out" |
		awk '{ print $1 * ($2 == "M" ? 1e6 : $2 == "K" ? 1e3 : 1) }
			' >>"$T/arm.$1"
}

rounds()
{
	rounds_n=$1
	shift
	for rounds_i in $(seq "$rounds_n"); do
		"$@"
		[ "$rounds_i" -gt 1 ] || rm -f "$T"/arm.*
	done
}

of()
{
	of_arms=
	while [ $# -gt 1 ]; do
		of_arms="$of_arms $T/arm.$1"
		shift
	done
	# shellcheck disable=SC2086 # names without blanks
	cat $of_arms | column "$1" - | median
}

ratio()
{
	ratio_mine=$(of "$1" 1)
	shift
	calc "$ratio_mine / $(of "$@" 1)"
}
