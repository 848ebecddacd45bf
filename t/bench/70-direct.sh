#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 70-direct.sh - 8 MiB npz samples with io_uring, O_DIRECT and iodepth 8, beside fio.

. "$(dirname "$0")/lib/figures.sh"

files=${FILES:-128}	# 1 GiB
rounds=${ROUNDS:-10}	# the first of which does not count

command -v fio >/dev/null || {
	figure "io_uring, direct, iodepth 8 / fio: fio is not here" skipped
	verdict
}

# Files of that size, blocks of 1 MiB in random order.
fio_job()
{
	measure "$T/.wall" fio --name=x --directory="$T/fio" --rw=randread \
		--bs=1m --direct=1 --iodepth=8 --ioengine=io_uring \
		--nrfiles="$files" --filesize=8m --size=$((files * 8))m \
		--randrepeat=0 --output-format=json --output="$T/fio.json" "$@"
}

fio_reads()
{
	fio_job
	# The first is that of reads; notes may stand before the document.
	sed -n 's/.*"bw_bytes" : \([0-9]*\).*/\1/p' "$T/fio.json" |
		sed -n 1p >>"$1"
}

mlgen_reads()
{
	measure "$T/.wall" "$MLGEN" --name=x --directory="$T/d" --format=npz \
		--num_files="$files" --sample_size=8m --access=plain --bs=1m \
		--loader=plain --read_threads=1 --prefetch=8 --direct=1 \
		--ioengine=io_uring --iodepth=8 --json="$T/mlgen.json" --quiet
	ml "$T/mlgen.json" io_bytes_per_sec >>"$1"
}

"$MLGEN" --name=x --phase=prepare --directory="$T/d" --format=npz \
	--num_files="$files" --sample_size=8m --quiet >"$T/.out" 2>&1
mkdir "$T/fio"
fio_job --create_only=1
sync
for i in $(seq "$rounds"); do
	fio_reads "$T/before"
	mlgen_reads "$T/mlgen"
	fio_reads "$T/after"
	[ "$i" -gt 1 ] || rm -f "$T/before" "$T/mlgen" "$T/after"
done
before=$(median <"$T/before")
after=$(median <"$T/after")
mine=$(median <"$T/mlgen")
figure "fio, MB/s" "$(calc "$before / 1e6")"
figure "fio after / before (noise)" "$(calc "$after / $before")"
figure "mlgen, MB/s" "$(calc "$mine / 1e6")"
at_least "io_uring, direct, iodepth 8: mlgen / fio (median of both arms)" \
	"$(calc "$mine / $(cat "$T/before" "$T/after" | median)")" 0.97
verdict
