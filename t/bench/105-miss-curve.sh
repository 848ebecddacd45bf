#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 105-miss-curve.sh - what the curves of ten million accesses take.

. "$(dirname "$0")/lib/figures.sh"

# Each policy by itself, as --miss-curve goes through it.
while read -r policy seconds; do
	case $policy in
	order)	figure "the order, and next uses: CPU, s" "$seconds" ;;
	lru)	at_most "lru, ten sizes in one pass: CPU, s" "$seconds" "10 s" ;;
	belady)	at_most "belady, ten sizes: CPU, s" "$seconds" "60 s" ;;
	*)	at_most "$policy, ten sizes: CPU, s" "$seconds" "20 s" ;;
	esac
done <<-END
	$("$BENCH/curve_cost" 1000000 10)
END

measure "$T/cost" "$MLGEN" --miss-curve --name=t --directory="$T/none" \
	--format=raw --num_files=1000000 --sample_size=100k --batch_size=10 \
	--accelerators=4 --epochs=10 --ioengine=null
figure "all of them, as they are asked for: CPU, s" "$(column 2 "$T/cost")"
at_most "the same: MiB in memory" "$(column 3 "$T/cost")" "1024 MiB"
verdict
