#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 190-sample-orders.sh - orders beyond the permutation are read as asked, again in the next run, and are found in a trace.
# In virtual time, where a step takes what it computes.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

virtual_time
export TMPDIR=.

set_up="--name=x --format=npz --num_files=400 --sample_size=4k --batch_size=8
	--accelerators=2 --read_threads=2 --compute_time=2ms --epochs=4 --quiet"

# reads ORDER: how many samples a run delivered, and its exit status.
reads()
{
	# shellcheck disable=SC2086 # several options
	"$MLGEN" $set_up --ioengine=null --shuffle="$1" --eval_files=16 \
		--directory=null.data --json=null.json >out 2>&1 ||
		note "$(cat out)"
	json null.json jobs.0.ml.samples
}

for order in replacement weighted:exponential:1 importance pages:64k:2 \
	chunks:8:4; do
	is "$order delivers a whole number of epochs" "$(reads $order)" 1600
done

# kept NAME ORDER: it is run twice; the traces have the same files in the same
# order by accelerator, and the job that is distilled has which order.
kept()
{
	for run in 1 2; do
		# shellcheck disable=SC2086 # several options
		"$MLGEN" $set_up --shuffle="$2" --directory="$1.data" \
			--trace="$1.$run.trace" >out 2>&1 || note "$(cat out)"
	done
	exits "$2: its trace becomes a job" 0 "$MLTRACE" distil \
		"$1.1.trace" --output="$1.job"
	"$MLTRACE" score "$1.1.trace" "$1.2.trace" --json="$1.json" \
		>out 2>&1
	is "... the next run reads the same" "$(json "$1.json" score.m3)" 0.0
	sed -n 's/^shuffle=//p' "$1.job" >"$1.found"
	rm -rf "$1.data"
}

kept drawn replacement
is "... which is found in the trace" "$(cat drawn.found)" replacement
kept heavy weighted:lognormal:1:1
is "... which is found in the trace, with its weights" \
	"$(sed 's/:[0-9.]*$//' heavy.found)" weighted:lognormal:1
kept chunks chunks:8:2
like "... whose runs are found" "$(cat chunks.found)" '^chunks:8(:|$)'

done_testing
