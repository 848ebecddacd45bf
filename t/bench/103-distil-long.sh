#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 103-distil-long.sh - a trace of ten million records becomes a job: time and memory.

. "$(dirname "$0")/lib/figures.sh"

records=${RECORDS:-10000000}
maketrace=$bench_top/build/t/tools/maketrace
[ -x "$maketrace" ] || make -s -C "$bench_top" build/t/tools/maketrace
"$maketrace" "$T/long.mlt" "$records" 100000
TMPDIR=$T measure "$T/run" "$MLTRACE" distil "$T/long.mlt" --output="$T/long.job"
at_most "$records records distilled: wall, s" "$(column 1 "$T/run")" 60
at_most "memory, MiB" "$(column 3 "$T/run")" 256
verdict
