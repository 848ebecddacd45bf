#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 10-accelerators.sh - with storage taken away, what mlgen itself costs accelerators.

. "$(dirname "$0")/lib/figures.sh"

# best_au NAME BOUND OPTION...: of three runs. What else ran on the host during
# the best one is told beside it: it takes AU, too.
best_au()
{
	best_name=$1 best_bound=$2
	shift 2
	rm -f "$T/runs"
	for _ in 1 2 3; do
		measure "$T/cost" "$MLGEN" "$@" --directory="$T/none" \
			--ioengine=null --epochs=1 --json="$T/run.json" --quiet
		ml "$T/run.json" au_percent host.cpu_percent >>"$T/runs"
	done
	sort -g "$T/runs" | tail -n 1 >"$T/best"
	at_least "null engine, $best_name: AU" \
		"$(calc "$(column 1 "$T/best")")" "$best_bound"
	figure "CPU of the host busy meanwhile, percent" \
		"$(calc "$(column 2 "$T/best")")"
}

best_au "8 accelerators in step at 10 ms" "99 %" --accelerators=8 \
	--batch_size=4 --compute_time=10ms --barrier=step --steps=500 \
	--name=x --num_files=1000000
best_au "1 accelerator at 375 us per step" "97 %" --compute_time=375us \
	--steps=10000 --name=x --num_files=1000000

# The trainings whose steps are shortest, or whose samples are most. DLIO's own
# code, with idle storage: cosmoflow 82.8 % (MLPerf Storage v1.0, one
# accelerator), dlrm 15 to 20 %.
jobs=$bench_top/jobs
best_au "cosmoflow h100, 1 accelerator" "99 %" "$jobs/cosmoflow.job" \
	--accelerator=h100 --steps=1500
best_au "cosmoflow h100, 8 accelerators in step" "97 %" "$jobs/cosmoflow.job" \
	--accelerator=h100 --accelerators=8 --steps=1500
best_au "dlrm b200, 1 accelerator" "95 %" "$jobs/dlrm.job" \
	--accelerator=b200 --steps=10000
best_au "retinanet b200, 8 accelerators" "99 %" "$jobs/retinanet.job" \
	--accelerator=b200 --accelerators=8 --steps=100
verdict
