#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 30-start.sh - from the start of the program to the first read it issues.

. "$(dirname "$0")/lib/figures.sh"

# whole NAME OPTION...: a run of one step of small samples ends so soon after
# its first read that all of it, report included, is an upper bound. The median
# of eleven.
whole()
{
	whole_name=$1
	shift
	rm -f "$T/cost"
	"$MLGEN" --name=x --phase=prepare "$@" --quiet >"$T/.out" 2>&1
	for _ in 1 2 3 4 5 6 7 8 9 10 11; do
		measure "$T/cost" "$MLGEN" --name=x "$@" --compute_time=0 \
			--steps=1
	done
	at_most "start to end of a run of one step, $whole_name: ms" \
		"$(calc "1000 * $(column 1 "$T/cost" | median)")" "50 ms"
}

whole "16 files" --directory="$T/few" --format=raw --sample_size=4k \
	--num_files=16
whole "256 npz files, 4 x 4 threads" --directory="$T/some" --sample_size=4k \
	--num_files=256 --accelerators=4
verdict
