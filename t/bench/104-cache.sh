#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 104-cache.sh - what an access to a cache of a million entries takes, by policy.

. "$(dirname "$0")/lib/figures.sh"

"$BENCH/cache_cost" 1000000 >"$T/cost"
while read -r policy ns; do
	if [ "$policy" = none ]; then
		figure "the loop without a cache: ns an access" "$ns"
	else
		at_most "$policy: ns an access" "$ns" "150 ns"
	fi
done <"$T/cost"
verdict
