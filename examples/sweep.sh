#!/bin/sh -eu
# SPDX-License-Identifier: Apache-2.0
# sweep.sh - accelerators against read threads: a run for each, and a table of all.
#
#   examples/sweep.sh DIRECTORY [JOB] [mlgen options ...]
#   examples/sweep.sh /mnt/array/unet3d unet3d.job --num_files=28000 --epochs=2
#
# Other values:      ACCELERATORS="1 2 4 8" READ_THREADS="1 4 16" examples/sweep.sh ...
# Other columns:     KEYS=accelerators,au_percent,ops.read.lat_ns.p99 examples/sweep.sh ...
# For a spreadsheet: FORMAT=csv examples/sweep.sh ... >sweep.csv
#
# The table goes to stdout, a line for each run to stderr. A JSON report of every
# run stays in the current directory. The first failing run ends the sweep (a
# missed target does not).

dir=${1:?usage: sweep.sh DIRECTORY [JOB] [mlgen options ...]}
job=${2:-quickstart.job}
[ $# -ge 2 ] && shift 2 || shift 1
mlgen=${MLGEN:-mlgen}
command -v "$mlgen" >/dev/null || mlgen=$(dirname "$0")/../mlgen
name=$(basename "$job" .job)
accelerators=${ACCELERATORS:-1 2 4}
threads=${READ_THREADS:-1 2 4}
keys=${KEYS:-accelerators,read_threads,au_percent,sample_bytes_per_sec,stall_ns.p99}

for n in $accelerators; do
	for t in $threads; do
		line=$("$mlgen" "$job" --directory="$dir" --accelerators="$n" \
			--read_threads="$t" --json="$name-$n-$t.json" \
			--quiet "$@")
		printf '%2s accelerators %2s read_threads  %s\n' \
			"$n" "$t" "$line" >&2
	done
done

set --
for n in $accelerators; do
	for t in $threads; do
		set -- "$@" "$name-$n-$t.json"
	done
done
"$mlgen" --table="$keys" --output-format="${FORMAT:-normal}" "$@"
