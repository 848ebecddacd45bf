#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 145-trace-no-space.sh - a trace whose filesystem fills up ends there, and the run goes on.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

text=$BUILT/build/t/tools/trace_text
[ -x "$text" ] || skip_all "build/t/tools/trace_text is not here; make check builds it"

if ! own_mounts || ! mount_small small 512k; then
	skip_all "may not mount a small filesystem here"
fi

# As slow as the host needs, 102,400 reads: a MiB or more of a trace.
exits "no room for the trace is an error of the run" 1 "$MLGEN" --name=n \
	--rw=randread --ioengine=null --size=400m --bs=4k \
	--rate_iops=200000 --ceiling=no --trace=small/x.trace --json=run.json
like "which is told once, with the file" "$(cat err)" \
	'^mlgen: .*small/x\.trace: .*No space left on device'
is "and no more" "$(wc -l <err)" 1
is "the run went on to its end" "$(json run.json jobs.0.read.total_ios)" 102400
is "the report says that the trace is not whole" \
	"$(json run.json trace.complete)" false
like "in words, too" "$(tr -s ' \n' ' ' <out)" ' trace small/x\.trace: .*; INCOMPLETE'
ok "what is there can be read" sh -c '"$1" small/x.trace >x.txt' - "$text"
is "all that the report counts" "$(tail -n 1 x.txt | cut -d' ' -f2)" \
	"$(json run.json trace.records)"
ok "and is a part of it" test "$(json run.json trace.records)" -gt 1000
# Reads, an open, a close, and the stage that the job is.
is "with what is missing, it is all that was done" \
	"$(($(json run.json trace.records) + $(json run.json trace.lost)))" 102403
is "no event is damaged or invented" \
	"$(tail -n 1 x.txt | cut -d' ' -f4) $(awk '$1 == "read" && \
		($2 != "n.0.0" || $4 != 4096 || $5 != 4096 || $6 != 0)' x.txt |
		wc -l)" "0 0"

# ---- no room for the first byte
rm small/x.trace
dd if=/dev/zero of=small/full bs=4k 2>dd.err
exits "nor any room at all" 1 "$MLGEN" --name=n --rw=randread --ioengine=null \
	--size=1m --bs=4k --ceiling=no --quiet --trace=small/y.trace \
	--json=run.json
like "is told as that" "$(cat err)" 'small/y\.trace: .*No space left on device'
is "and again the run went on" "$(json run.json jobs.0.read.total_ios)" 256
not_ok "no empty file is left" test -e small/y.trace

done_testing
