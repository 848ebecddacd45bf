#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 95-capture.sh - what capture by BPF takes of the CPU of who is recorded and of all others, how much it can take without loss, and its memory.

. "$(dirname "$0")/lib/figures.sh"

recorder=$bench_top/build/t/tools/record_bpf
text=$bench_top/build/t/tools/trace_text
rounds=${ROUNDS:-9}
calls=${CALLS:-400000}
rate=${RATE:-1000000}
seconds=${SECONDS_EACH:-10}

for tool in "$recorder" "$text"; do
	[ -x "$tool" ] || {
		echo "  $tool is not here; make check builds it" >&2
		exit 1
	}
done
"$recorder" "$T/x.mlt" true 2>"$T/said" || {
	sed 's/^/  not measured: /' "$T/said"
	exit 0
}
head -c 1048576 /dev/zero >"$T/file"

# Of a program that others are recorded beside: while it sleeps.
beside()
{
	rm -f "$T/on" "$T/off"
	"$recorder" "$T/y.mlt" sh -c "echo >'$T/on'
		while [ ! -e '$T/off' ]; do sleep 0.5; done" 2>/dev/null &
	while [ ! -e "$T/on" ]; do
		sleep 0.1
	done
	"$@"
	: >"$T/off"
	wait $! || :
}

one()
{
	"$BENCH/bare_calls" "$T/file" 4096 "$calls" | cut -d ' ' -f 1
}

# All three a round, so that what the machine does meanwhile it does to all.
i=0
while [ $i -lt "$rounds" ]; do
	one >>"$T/arm.bare"
	"$recorder" "$T/x.mlt" "$BENCH/bare_calls" "$T/file" 4096 "$calls" \
		2>>"$T/said" | cut -d ' ' -f 1 >>"$T/arm.recorded"
	beside one >>"$T/arm.other"
	i=$((i + 1))
done
bare=$(median <"$T/arm.bare")
figure "4 KiB from the cache: CPU of a call, ns" "$bare"
at_most "recorded: CPU of a call more, ns" \
	"$(calc "$(median <"$T/arm.recorded") - $bare")" 450
at_most "of a process that is not recorded, ns" \
	"$(calc "$(median <"$T/arm.other") - $bare")" 250

# Two threads at a pace, into a file on the disk.
"$BENCH/measure" "$T/measured" "$recorder" "$T/x.mlt" "$BENCH/bare_calls" \
	"$T/file" 64 "$(calc "$rate * $seconds" | awk '{ printf "%d", $1 }')" \
	"$rate" 2 >"$T/made" 2>"$T/said"
figure "calls a second, for $seconds s" "$rate"
at_most "of these, lost" "$(awk '$1 == "records" {
	for (i = 1; i < NF; i++) if ($i == "lost") print $(i + 1) }' \
	"$T/said")" 0
at_least "of the calls, made" \
	"$(calc "$(cut -d ' ' -f 2 <"$T/made") / ($rate * $seconds)")" 1
figure "bytes of a record in the file" "$(awk '$1 == "records" {
	for (i = 1; i < NF; i++) if ($i == "bytes") print $(i + 1) / $2 }' \
	"$T/said")"
at_most "resident memory at most, MiB" "$(column 3 "$T/measured")" 100
verdict
