#!/bin/sh -eu
# SPDX-License-Identifier: Apache-2.0
# sweep-cache.sh - hit ratio against the size of a cache tier: a run for each, five policies.
#
#   examples/sweep-cache.sh [JOB] [mlgen options ...]
#   examples/sweep-cache.sh quickstart.job --epochs=4
#   examples/sweep-cache.sh unet3d.job --directory=/mnt/array/unet3d --ioengine=psync
#
# Other values:   SIZES="5 10 20 40 80" POLICIES="lru minio" examples/sweep-cache.sh ...
# As numbers:     FORMAT=csv examples/sweep-cache.sh ... >sweep.csv
#
# By default nothing is read (ioengine=null): what is a hit follows from the order
# alone. The curve goes to stdout, a row for each size and a column for each policy; a
# JSON report of every run stays in the current directory.

job=${1:-quickstart.job}
[ $# -eq 0 ] || shift
mlgen=${MLGEN:-mlgen}
command -v "$mlgen" >/dev/null || mlgen=$(dirname "$0")/../mlgen
name=$(basename "$job" .job)
sizes=${SIZES:-10 20 30 40 50 60 70 80 90}
policies=${POLICIES:-lru fifo random minio belady}

for size in $sizes; do
	for policy in $policies; do
		"$mlgen" "$job" --ioengine=null --compute_time=0 --epochs=3 \
			--access=plain --cache_latency=1us "$@" \
			--cache="$policy" --cache_size="$size%" --quiet \
			--json="$name-$policy-$size.json" >&2
	done
done

if [ "${FORMAT:-}" = csv ]; then
	set --
	for size in $sizes; do
		for policy in $policies; do
			set -- "$@" "$name-$policy-$size.json"
		done
	done
	exec "$mlgen" --table=cache_size,cache.policy,cache.hit_ratio \
		--output-format=csv "$@"
fi

# Hits in percent, from the second epoch on.
# shellcheck disable=SC2086 # several policies
printf '%5s' size && printf '%9s' $policies && echo
for size in $sizes; do
	printf '%4s%%' "$size"
	for policy in $policies; do
		"$mlgen" --table=cache.hit_ratio --output-format=csv \
			"$name-$policy-$size.json" |
			awk -F, 'END { printf "%8.1f%%", $NF * 100 }'
	done
	echo
done
