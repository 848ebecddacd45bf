#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 50-prepare.sh - preparation beside fio (large files) and eight bare threads (small ones).

. "$(dirname "$0")/lib/figures.sh"

rounds=${ROUNDS:-5}	# the first of which does not count
mib=${MIB:-2048}
small=${FILES:-10000}

fio_writes()
{
	mkdir "$T/fio"
	measure "$1" fio --name=x --directory="$T/fio" --rw=write --bs=1m \
		--size="$((mib / 2))m" --numjobs=2 --end_fsync=1 \
		--ioengine=psync --fallocate=none
	rm -rf "$T/fio"
}

mlgen_writes()
{
	measure "$1" "$MLGEN" --name=x --phase=prepare --directory="$T/data" \
		--format="$2" --num_files="$3" --sample_size="$4" --quiet
	rm -rf "$T/data"
}

bare_creates()
{
	mkdir "$T/bare"
	measure "$1" "$BENCH/bare_create" "$T/bare" "$small" 102400
	rm -rf "$T/bare"
}

# ratio NAME: the median of the peer's seconds over mlgen's; before/after: noise.
ratio()
{
	calc "$(cat "$T/$1.before" "$T/$1.after" | column 1 - | median) / \
		$(column 1 "$T/$1.mlgen" | median)"
}

noise()
{
	calc "$(column 1 "$T/$1.before" | median) / \
		$(column 1 "$T/$1.after" | median)"
}

forget()
{
	rm -f "$T/$1.before" "$T/$1.mlgen" "$T/$1.after"
}

if command -v fio >/dev/null; then
	for i in $(seq "$rounds"); do
		fio_writes "$T/large.before"
		mlgen_writes "$T/large.mlgen" npz $((mib / 16)) 16m
		fio_writes "$T/large.after"
		[ "$i" -gt 1 ] || forget large
	done
	figure "fio writes, MiB/s" \
		"$(calc "$mib / $(column 1 "$T/large.before" | median)")"
	figure "fio before / after (noise)" "$(noise large)"
	at_least "preparation of $mib MiB / fio --rw=write --numjobs=2" \
		"$(ratio large)" 0.9
else
	figure "preparation / fio: fio is not here" skipped
fi

for i in $(seq "$rounds"); do
	bare_creates "$T/small.before"
	mlgen_writes "$T/small.mlgen" raw "$small" 100k
	bare_creates "$T/small.after"
	[ "$i" -gt 1 ] || forget small
done
figure "eight bare threads, files/s" \
	"$(calc "$small / $(column 1 "$T/small.before" | median)")"
figure "bare before / after (noise)" "$(noise small)"
at_least "preparation of $small files of 100 KiB / eight bare threads" \
	"$(ratio small)" 0.9
verdict
