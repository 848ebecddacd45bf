#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 94-describe.sh - what a trace of ten million records takes to be described, and one of many files.

. "$(dirname "$0")/lib/figures.sh"

maketrace=$bench_top/build/t/tools/maketrace
[ -x "$maketrace" ] || make -s -C "$bench_top" build/t/tools/maketrace

# described NAME RECORDS FILES
described()
{
	"$maketrace" "$T/trace" "$2" "$3"
	rm -f "$T/cost"
	TMPDIR=$T measure "$T/cost" "$MLTRACE" describe "$T/trace" \
		--json="$T/trace.json" --log="$T/trace.csv"
	figure "$1: size of the trace, MiB" \
		"$(calc "$(wc -c <"$T/trace") / 1048576")"
}

described "ten million records" 10000000 100000
at_most "ten million records of 100,000 files: s" "$(column 1 "$T/cost")" "20 s"
at_most "the same: MiB in memory" "$(column 3 "$T/cost")" "256 MiB"
described "the same of a million files" 10000000 1000000
at_most "ten million records of 1,000,000 files: s" "$(column 1 "$T/cost")" \
	"20 s"
at_most "the same: MiB in memory" "$(column 3 "$T/cost")" "256 MiB"
verdict
