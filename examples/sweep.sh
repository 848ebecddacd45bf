#!/bin/sh -eu
# SPDX-License-Identifier: Apache-2.0
# sweep.sh - accelerators against read threads, one line of the report for each.
#
#   examples/sweep.sh DIRECTORY [JOB] [mlgen options ...]
#   examples/sweep.sh /mnt/array/unet3d unet3d.job --num_files=28000 --epochs=2
#
# Sweep values: ACCELERATORS="1 2 4 8" READ_THREADS="1 4 16" examples/sweep.sh ...
# A JSON report of every run stays in the current directory. The first failing
# run ends the sweep (a missed target does not).

dir=${1:?usage: sweep.sh DIRECTORY [JOB] [mlgen options ...]}
job=${2:-quickstart.job}
[ $# -ge 2 ] && shift 2 || shift 1
mlgen=${MLGEN:-mlgen}
name=$(basename "$job" .job)

for n in ${ACCELERATORS:-1 2 4}; do
	for t in ${READ_THREADS:-1 2 4}; do
		printf '%2s accelerators %2s read_threads  ' "$n" "$t"
		"$mlgen" "$job" --directory="$dir" --accelerators="$n" \
			--read_threads="$t" --json="$name-$n-$t.json" \
			--quiet "$@"
	done
done
