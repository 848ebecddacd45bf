#!/bin/sh -eu
# SPDX-License-Identifier: Apache-2.0
# sweep-noise.sh - one run again and again: how far apart results are when nothing changes.
#
#   examples/sweep-noise.sh DIRECTORY [JOB] [mlgen options ...]
#   RUNS=10 examples/sweep-noise.sh /mnt/array/unet3d unet3d.job --accelerators=4
#
# What two settings differ by means something only beyond this. It is what to give
# to mlgen --compare --tolerance=... Other columns: KEYS=au_percent,ops.read.lat_ns.p99
#
# The tables go to stdout, a line for each run to stderr. A JSON report of every
# run stays in the current directory. The first failing run ends it all.

dir=${1:?usage: sweep-noise.sh DIRECTORY [JOB] [mlgen options ...]}
job=${2:-quickstart.job}
[ $# -ge 2 ] && shift 2 || shift 1
mlgen=${MLGEN:-mlgen}
command -v "$mlgen" >/dev/null || mlgen=$(dirname "$0")/../mlgen
name=$(basename "$job" .job)
runs=${RUNS:-5}
keys=${KEYS:-au_percent,sample_bytes_per_sec,stall_ns.mean,stall_ns.p99}

i=0
while [ $((i += 1)) -le "$runs" ]; do
	line=$("$mlgen" "$job" --directory="$dir" --json="$name-run$i.json" \
		--quiet "$@")
	printf 'run %2s  %s\n' "$i" "$line" >&2
done

set --
i=0
while [ $((i += 1)) -le "$runs" ]; do
	set -- "$@" "$name-run$i.json"
done
"$mlgen" --table="$keys" "$@"
echo

# The figures as they are, without units: largest - smallest, of the mean.
csv=$("$mlgen" --table="$keys" --output-format=csv "$@")
printf '%s\n' "$csv" | awk -F, '
	NR == 1 {
		columns = split($0, key)
		next
	}
	{
		for (c = 1; c <= columns; c++) {
			if ($c == "" || $c + 0 != $c)
				continue
			if (!n[c]++ || $c < least[c])
				least[c] = $c
			if (n[c] == 1 || $c > most[c])
				most[c] = $c
			sum[c] += $c
		}
	}
	END {
		printf "%-24s %12s %12s %12s %8s\n", "of " NR - 1 " runs", \
			"mean", "least", "most", "spread"
		for (c = 1; c <= columns; c++) {
			if (!n[c])
				continue
			mean = sum[c] / n[c]
			printf "%-24s %12.4g %12.4g %12.4g %7.1f%%\n", key[c], \
				mean, least[c], most[c], \
				mean ? 100 * (most[c] - least[c]) / mean : 0
		}
	}'
