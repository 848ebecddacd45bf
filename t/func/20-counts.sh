#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 20-counts.sh - a run reads exactly the samples and bytes that its job asks for.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# train OPTION...: a run on 26 samples of 3000 bytes; its report is in run.json.
train()
{
	rm -f run.json
	"$MLGEN" --name=x --directory="$T/raw" --format=raw --num_files=26 \
		--sample_size=3000 --accelerators=3 --batch_size=2 --epochs=2 \
		--read_threads=2 --json="$T/run.json" --quiet "$@"
}

# counts TITLE STEPS SAMPLES OPTION...: of a run that reads all it delivers.
counts()
{
	title=$1 steps=$2 samples=$3
	shift 3
	train "$@" >out 2>err || note "$(cat err)"
	is "$title" "$(ml run.json steps samples sample_bytes io_bytes \
			ops.open.total ops.close.total complete)" \
		"$steps $samples $((samples * 3000)) $((samples * 3000)) $samples $samples true"
}

# 26 samples / (3 accelerators x batch 2) = 4 steps; padded to 27, 5 steps.
for loader in pytorch plain; do
	for shard in strided contiguous; do
		for shuffle in none sample file; do
			set -- --loader=$loader --shard=$shard --shuffle=$shuffle
			counts "whole batches: $*" 8 48 "$@"
			counts "and the last one, padded: $*" 10 54 "$@" \
				--drop_last=0
		done
	done
done
for barrier in step epoch none; do
	counts "barrier=$barrier changes no count" 8 48 --barrier=$barrier
done
counts "one thread reads as much" 8 48 --read_threads=1 --prefetch=1
counts "and so do many" 8 48 --read_threads=9 --prefetch=7
counts "an accelerator for every sample" 1 26 --accelerators=26 \
	--batch_size=1 --epochs=1
counts "one batch of all samples" 1 26 --accelerators=1 --batch_size=26 \
	--epochs=1
counts "steps may end with an epoch" 4 24 --steps=4
counts "and count through all of them" 8 48 --epochs=3 --steps=8

train --steps=6 --epochs=10 >out 2>&1
is "steps ends a run within an epoch" \
	"$(ml run.json steps samples epochs.0.samples epochs.1.samples)" \
	"6 36 24 12"
train --epochs=1000000 --runtime=100ms --compute_time=5ms >out 2>&1
ok "runtime ends one too" test "$(json run.json jobs.0.job_runtime)" -ge 100
is "at a step that all have finished" \
	"$(($(ml run.json samples) - 6 * $(ml run.json steps)))" 0
train --epochs=1 --time_based --runtime=500ms --compute_time=2ms >out 2>&1
ok "time_based repeats epochs until then" \
	test "$(ml run.json steps)" -gt 4
train --epochs=1 --time_based --runtime=60s --steps=9 >out 2>&1
is "unless steps comes first" "$(ml run.json steps samples)" "9 54"
train --epochs=3 --runtime=1h >out 2>&1
is "or the epochs do" "$(ml run.json steps samples)" "12 72"
before=$(date +%s%N)
exits "ramp_time comes before runtime" 0 train --epochs=1000000 \
	--runtime=100ms --ramp_time=200ms --compute_time=5ms
after=$(date +%s%N)
ok "and adds to it" test $((after - before)) -ge 300000000
# Steps of 5 ms: 20 in 100 ms, 60 in 300; the last may overlap.
ok "but is not counted" test "$(ml run.json steps)" -le 22

before=$(date +%s%N)
train --startdelay=300ms >out 2>&1
after=$(date +%s%N)
ok "startdelay holds the run back" test $((after - before)) -ge 300000000
ok "and is no part of it" test "$(json run.json jobs.0.job_runtime)" -lt \
	$(((after - before) / 1000000 - 299))

# ---- requests
counts "bs of a third of a sample" 8 48 --bs=1000
is "is three requests for each" "$(ml run.json ops.read.total)" 144
counts "bs that leaves a rest" 8 48 --bs=1024
is "is one short request more" "$(ml run.json ops.read.total)" 144
is "as the read object has it" \
	"$(json run.json jobs.0.read.io_bytes jobs.0.read.total_ios \
		jobs.0.write.io_bytes)" "144000 144 0"

# ---- what lies in the files
# bytes DIRECTORY: of all samples' files.
bytes()
{
	find "$1/train" -type f -exec cat {} + | wc -c
}

other()
{
	train --directory="$T/other" --accelerators=2 --batch_size=3 "$@" \
		>out 2>&1 || note "$(cat out)"
}

other --num_files=24 --format=npz
is "npz: the payload is counted" "$(ml run.json samples sample_bytes)" \
	"48 144000"
is "and the files are read whole" "$(ml run.json io_bytes)" \
	"$(($(bytes other) * 2))"
rm -rf other
other --num_files=6 --samples_per_file=4
is "several samples lie in a file" "$(bytes other)" 72000
is "and each is read on its own" \
	"$(ml run.json samples sample_bytes io_bytes ops.open.total)" \
	"48 144000 144000 48"
rm -rf other
other --num_files=24 --sample_size=normal:5000:2000 --subfolders=5
is "sizes that differ are all counted" "$(ml run.json samples sample_bytes)" \
	"48 $(($(bytes other) * 2))"
is "and the folders are there" "$(find other/train -mindepth 1 -type d | wc -l)" 5
rm -rf other
other --num_files=24 --sample_size=dlio:30000:9000 --format=npz
is "two sides as DLIO draws them too" \
	"$(ml run.json samples io_bytes)" "48 $(($(bytes other) * 2))"

other --num_files=1000 --scale=2% --directory="$T/part"
is "scale takes a part, of four batches at least" \
	"$(json run.json jobs.0.dataset.files) $(ml run.json samples)" "24 48"
other --num_files=1000 --scale=5% --directory="$T/part2"
is "or so much" "$(json run.json jobs.0.dataset.files)" 50

# ---- the null engine
train --ioengine=null --directory="$T/null" --num_files=1000000000 --steps=5 \
	>out 2>&1
is "ioengine=null counts the same" "$(ml run.json steps samples sample_bytes)" \
	"5 30 90000"
ok "and makes no directory" test ! -e null

done_testing
