#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 92-find-max.sh - how long the answer of --find-max takes on a throttled disk, and how far from arithmetic it is.

. "$(dirname "$0")/lib/throttle.sh"

rounds=${ROUNDS:-3}
rate=${RATE:-50000000}	# bytes a second
throttle read "$rate"

# find_max NAME OPTION...: rounds of it, against what one accelerator asks for at 90 %
find_max()
{
	name=$1
	shift
	"$MLGEN" quickstart.job --directory="$T/d" --accelerators=1 --dry-run \
		--json="$T/.json" "$@" >"$T/.out"
	demand=$(ml "$T/.json" demand_io_bytes_per_sec)
	: >"$T/$name"
	# shellcheck disable=SC2034 # only counts
	for i in $(seq "$rounds"); do
		begin=$(date +%s.%N)
		held "$MLGEN" quickstart.job --directory="$T/d" \
			--find-max=accelerators --require='au>=90' \
			--json="$T/.json" "$@" >"$T/.out" 2>&1 ||
			[ $? -eq 3 ] # none is an answer
		answer=$(json "$T/.json" find_max.answer)
		[ "$answer" != null ] || answer=0
		echo "$(calc "$(date +%s.%N) - $begin") $answer" >>"$T/$name"
	done
	least=$(column 2 "$T/$name" | sort -g | head -n 1)
	largest=$(column 2 "$T/$name" | most)
	ideal=$(calc "$rate / ($demand * 0.9)")
	at_most "$name: longest of $rounds" "$(column 1 "$T/$name" | most)" "120 s"
	figure "$name: answers, arithmetic ($((rate / 1000000)) MB/s)" \
		"$least-$largest, $ideal"
	fits=$(calc "int($ideal)")
	at_most "$name: above what fits" "$(calc "$largest - $fits")" 1
	at_most "$name: below what fits" "$(calc "$fits - $least")" 1
	at_most "$name: between the answers" "$(calc "$largest - $least")" 1
}

"$MLGEN" quickstart.job --directory="$T/d" --phase=prepare >"$T/.out" 2>&1
find_max "quickstart"
find_max "1 s of compute" --compute_time=1s
verdict
