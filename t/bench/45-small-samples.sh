#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 45-small-samples.sh - files of 114 KiB from the page cache: samples per second of one core.

. "$(dirname "$0")/lib/figures.sh"

files=4096
rounds=${ROUNDS:-6}	# the first of which does not count

"$MLGEN" --name=x --phase=prepare --directory="$T/d" --format=raw \
	--num_files="$files" --sample_size=116736 --quiet >"$T/.out" 2>&1
for i in $(seq "$rounds"); do
	cat "$T"/d/train/* >/dev/null
	measure "$T/cost" "$MLGEN" --name=x --directory="$T/d" --format=raw \
		--num_files="$files" --sample_size=116736 --batch_size=64 \
		--read_threads=1 --epochs=10 --access=plain --invalidate=0 \
		--json="$T/run.json" --quiet
	ml "$T/run.json" samples_per_sec samples >>"$T/runs"
	[ "$i" -gt 1 ] || rm -f "$T/runs" "$T/cost"
done
samples=$(tail -n 1 "$T/runs" | column 2 -)
at_least "samples of 114 KiB per second, one read thread" \
	"$(column 1 "$T/runs" | median)" "20000"
figure "samples of 114 KiB per CPU-second" \
	"$(calc "$samples / $(column 2 "$T/cost" | median)")"
verdict
