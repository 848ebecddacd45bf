#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 75-fail-nth.sh - whichever operation fails: the run ends, names it and reports.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"
. "$(dirname "$0")/nth.sh"

job="--name=x --directory=data --format=raw --num_files=3 --sample_size=8k
	--bs=4k --read_threads=1 --epochs=1"
# shellcheck disable=SC2034 # for nth.sh
nth_samples=3

# shellcheck disable=SC2086 # several options
"$MLGEN" $job --phase=prepare --quiet >out 2>&1

# Three files: open, two reads, close.
for engine in psync io_uring libaio; do
	"$MLGEN" --enghelp | grep -q "^$engine " || continue
	# shellcheck disable=SC2086
	if "$MLGEN" $job --ioengine=$engine --quiet >out 2>&1; then
		nth_fails "$engine" 12 EIO "Input/output error" $job \
			--engine=$engine
	else
		skip "$engine" "may not be used here"
	fi
done
# shellcheck disable=SC2086
{
nth_fails "null" 12 ESTALE "Stale file handle" $job --engine=null
nth_fails "several at a time" 12 EREMOTEIO "Remote I/O error" $job \
	--engine=psync --loader=plain --iodepth=4
}

# ---- what is no error: tried again, or gone on with
# passes TITLE OPTION...
passes()
{
	title=$1
	shift
	# shellcheck disable=SC2086
	exits "$title" 0 "$MLGEN" $job --ioengine=fault --json=run.json "$@"
	is "$title: all samples" "$(ml run.json samples sample_bytes)" "3 24576"
	is "$title: without a word" "$(cat err)" ""
}
passes "an interrupted open" --fail_after=1 --fail_errno=EINTR
passes "an interrupted read" --fail_after=2 --fail_errno=EINTR
passes "a read that has to be tried again" --fail_after=3 --fail_errno=EINTR
passes "short reads" --short_every=1
for engine in io_uring libaio; do
	# shellcheck disable=SC2086
	"$MLGEN" $job --ioengine=$engine --quiet >out 2>&1 || continue
	passes "$engine: an interrupted read" --engine=$engine --fail_after=2 \
		--fail_errno=EINTR
	passes "$engine: short reads" --engine=$engine --short_every=2
done

done_testing
