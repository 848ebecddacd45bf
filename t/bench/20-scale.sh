#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 20-scale.sh - time and memory of a dry run and of a run, when files are many.

. "$(dirname "$0")/lib/figures.sh"

# dry NAME OPTION...: the median of seven.
dry()
{
	dry_name=$1
	shift
	rm -f "$T/cost"
	for _ in 1 2 3 4 5 6 7; do
		measure "$T/cost" "$MLGEN" "$@" --directory="$T/none" --dry-run
	done
	at_most "dry run, $dry_name: ms" \
		"$(calc "1000 * $(column 1 "$T/cost" | median)")" "100 ms"
	at_most "dry run, $dry_name: MiB resident" \
		"$(column 3 "$T/cost" | most)" "32 MiB"
}

# run NAME BOUND OPTION...: of 4 accelerators.
run()
{
	run_name=$1 run_bound=$2
	shift 2
	rm -f "$T/cost"
	measure "$T/cost" "$MLGEN" --name=x --accelerators=4 --batch_size=4 \
		--compute_time=5ms --quiet "$@"
	at_most "run of 4 accelerators, $run_name: MiB resident" \
		"$(column 3 "$T/cost")" "$run_bound"
}

dry "1e9 files" --name=x --num_files=1000000000
dry "1e9 samples in 1e6 files" --name=x --num_files=1000000 \
	--samples_per_file=1000
# Up to a million files each size is drawn and counted.
dry "1e6 files of drawn sizes" unet3d.job --num_files=1000000

run "1e9 files, null engine" "64 MiB" --ioengine=null --num_files=1000000000 \
	--steps=300 --directory="$T/none"
echo "  (writing 100,000 files of 4 KiB)"
many="--directory=$T/many --format=raw --sample_size=4k --num_files=100000"
# shellcheck disable=SC2086 # options are words
measure "$T/prepared" "$MLGEN" --name=x --phase=prepare $many
# shellcheck disable=SC2086
run "100,000 files, 300 steps" "64 MiB" $many --steps=300
# shellcheck disable=SC2086
run "100,000 files, all of them" "64 MiB" $many --invalidate=0 --compute_time=0

# How long until there are a few samples, of that many.
for invalidate in 0 run; do
	rm -f "$T/cost"
	for _ in 1 2 3; do
		# shellcheck disable=SC2086
		measure "$T/cost" "$MLGEN" --name=x $many --steps=1 \
			--invalidate=$invalidate --quiet
	done
	figure "start to end of one step, 100,000 files, invalidate=$invalidate: ms" \
		"$(calc "1000 * $(column 1 "$T/cost" | median)")"
done
verdict
