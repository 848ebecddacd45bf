#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 146-trace-hang.sh - a run that leaves a thread behind in a call has its trace all the same.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"
. "$(dirname "$0")/faulty.sh"

text=$BUILT/build/t/tools/trace_text
[ -x "$text" ] || skip_all "build/t/tools/trace_text is not here; make check builds it"

mkdir back mnt
job="--name=x --directory=mnt --size=256k --bs=4k --json=run.json"
(
	cd back || exit 1
	"$MLGEN" --name=x --rw=read --size=256k --numjobs=1 --create_only=1 &&
		cp x.0.0 hung
) >out 2>&1

fault_mount match=hung,hang
# shellcheck disable=SC2086 # several options
background "$MLGEN" $job --rw=read --filename=x.0.0:hung --trace=x.trace
poll fault_hangs
kill -INT "$pid"
poll test -s run.json
ok "the trace is there before the call comes back" \
	sh -c '"$1" x.trace >x.txt' - "$text"
is "whole" "$(tail -n 1 x.txt | cut -d' ' -f3-)" "0 0 0"
is "with what was done before" "$(grep -c '^open ' x.txt) $(
	grep '^read ' x.txt | wc -l)" "2 1"
is "and the report says so" "$(json run.json trace.complete trace.lost)" "true 0"
fault_go
finish
is "the status is that of an interruption" "$status" 130
fault_umount

done_testing
