#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 97-score.sh - what a score of traces of ten million records takes.

. "$(dirname "$0")/lib/figures.sh"

maketrace=$bench_top/build/t/tools/maketrace
[ -x "$maketrace" ] || make -s -C "$bench_top" build/t/tools/maketrace

# scored NAME RECORDS FILES: with itself, so that it is read twice.
scored()
{
	"$maketrace" "$T/trace" "$2" "$3"
	rm -f "$T/cost"
	TMPDIR=$T measure "$T/cost" "$MLTRACE" score "$T/trace" "$T/trace" \
		--json="$T/score.json"
	rm -f "$T/trace"
	figure "$1: CPU time, s" "$(column 2 "$T/cost")"
}

scored "five million records" 5000000 100000
at_most "ten million records in two traces of 100,000 files: s" \
	"$(column 1 "$T/cost")" "60 s"
at_most "the same: MiB in memory" "$(column 3 "$T/cost")" "512 MiB"
scored "ten million records" 10000000 100000
at_most "two traces of ten million records each: s" \
	"$(column 1 "$T/cost")" "120 s"
at_most "the same: MiB in memory" "$(column 3 "$T/cost")" "512 MiB"
scored "the same of a million files" 10000000 1000000
at_most "the same of 1,000,000 files: s" "$(column 1 "$T/cost")" "120 s"
at_most "the same: MiB in memory" "$(column 3 "$T/cost")" "512 MiB"
verdict
