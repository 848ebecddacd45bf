#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 60-framework.sh - NumPy's own calls: CPU of one 8 MiB sample, beside what DLIO takes.

. "$(dirname "$0")/lib/figures.sh"

files=64
epochs=${PASSES:-20}

# DLIO e1919d7 with its npz reader on a 2-core Debian 12 VM, from cache.
dlio_ms=5.1

"$MLGEN" --name=x --phase=prepare --directory="$T/d" --format=npz \
	--num_files="$files" --sample_size=8m --quiet >"$T/.out" 2>&1
for i in 1 2 3 4 5 6; do
	cat "$T"/d/train/* >/dev/null
	measure "$T/cpu" "$MLGEN" --name=x --directory="$T/d" --format=npz \
		--num_files="$files" --sample_size=8m --access=framework \
		--accelerators=1 --read_threads=2 --batch_size=4 \
		--invalidate=0 --epochs="$epochs" --quiet
	[ "$i" -gt 1 ] || rm -f "$T/cpu"
done
ms=$(calc "1000 * $(column 2 "$T/cpu" | median) / $files / $epochs")
figure "CPU of one sample, ms (DLIO: $dlio_ms)" "$ms"
at_least "samples per CPU-second / DLIO's" "$(calc "$dlio_ms / $ms")" 5
verdict
