#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 181-distil-loop.sh - a job's trace, without its markers, is distilled into a job that has the same options and asks storage for the same.
# In virtual time, where a step takes what it computes.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

strip=$BUILT/build/t/tools/striptrace
[ -x "$strip" ] || skip_all "build/t/tools/striptrace is not built"
virtual_time
export TMPDIR=.

# What a trace can show; how far a loader asks ahead is among it only where its
# workers are held up, and a loader's name where workers have batches of their own.
options="format access num_files samples_per_file batch_size accelerators
	read_threads shuffle shard epochs compute_time checkpoint_every
	checkpoint_size eval_files eval_every eval_after eval_batch_size eval_time"

# differences WAS IS: options whose values differ between two outputs of --showjob
differences()
{
	wanted=$options awk '
	FNR == 1 { file++ }
	match($0, /^[a-z_]+=/) {
		key = substr($0, 1, RLENGTH - 1)
		if (!((file, key) in value))
			value[file, key] = substr($0, RLENGTH + 1)
	}
	END {
		n = split(ENVIRON["wanted"], option, " ")
		for (i = 1; i <= n; i++) {
			was = value[1, option[i]] ""
			is = value[2, option[i]] ""
			if (was != is)
				printf " %s: %s, was %s;", option[i], is, was
		}
	}' "$1" "$2"
}

# loop NAME JOB OPTION...: run it, distil it, and compare.
loop()
{
	name=$1
	shift
	"$MLGEN" "$@" --directory="$name.data" --trace="$name.trace" --quiet \
		>"$name.out" 2>"$name.err" || note "$(cat "$name.err")"
	"$MLGEN" "$@" --directory="$name.data" --showjob >"$name.was" 2>&1
	"$strip" "$name.trace" "$name.mlt"
	exits "$name: its trace becomes a job" 0 "$MLTRACE" distil "$name.mlt" \
		--output="$name-again.job"
	cat err >>"$name.err"
	exits "... that mlgen takes" 0 "$MLGEN" "$name-again.job" --showjob
	is "... with the same options" "$(differences "$name.was" out)" "${unlike:-}"
	rm -f score.json
	"$MLTRACE" score "$name.trace" "$name-again.job" --directory="$name.new" \
		--json=score.json >score.txt 2>score.err
	failed=$(failing)
	is "... which asks for the same (M1 to M8)" "$failed" "${other:-}"
	[ "$failed" = "${other:-}" ] || note "$(cat score.txt score.err | head -n 60)"
	rm -rf "$name.data" "$name.new"
}

# failing: those of M1 to M8 that fail or have no result
failing()
{
	json score.json score.m1 score.m2 score.m3 score.m4 score.m5 score.m6 \
		score.m7 score.m8 |
		awk '{
			for (i = 1; i <= NF; i++)
				if (!($i == "null" || $i <= 1))
					print "m" i
		}' | paste -s -d' ' -
}

loop unet3d unet3d.job --num_files=224 --sample_size=50k \
	--compute_time=100ms --epochs=3 --accelerators=2
loop quickstart quickstart.job --num_files=320 --sample_size=20k \
	--compute_time=50ms --epochs=3
loop resnet50 resnet50.job --num_files=32 --samples_per_file=32 \
	--batch_size=16 --compute_time=100ms --epochs=3
# How many are shuffled changes nothing of what is read.
unlike=" shuffle: none, was buffer:2;"
loop cosmoflow cosmoflow.job --num_files=128 --sample_size=50k \
	--compute_time=20ms --epochs=3
unlike=
loop retinanet retinanet.job --num_files=480 --sample_size=20k --batch_size=8 \
	--compute_time=50ms --epochs=2
# Of a row group that has several batches it is not seen where these end, but how
# long a sample takes; and what columns are called is not known, so that files are
# some bytes off.
unlike=" batch_size: 1, was 1024; compute_time: 17830ns, was 20ms;" other='m4 m8'
loop dlrm dlrm.job --num_files=4 --samples_per_file=6144 --batch_size=1024 \
	--compute_time=20ms --epochs=2
unlike=" batch_size: 32, was 8; read_threads: 2, was 8; compute_time: 400ms, was 100ms;"
other='m4'
loop flux flux.job --num_files=8 --samples_per_file=32 --batch_size=8 \
	--columns='t5_encodings:float32[32768],mean:float32[512],logvar:float32[512]' \
	--sample_size=135168 --compute_time=100ms --epochs=2
unlike='' other=
loop saved unet3d.job --num_files=112 --sample_size=20k --compute_time=50ms \
	--epochs=3 --checkpoint_every='1 epoch' --checkpoint_size=8m

# Of the shipped ones megatron.job is left out: its samples are pages of a mapping,
# of which mlgen's own trace has nothing. Readers of TFRecords are given 256 KiB at a
# time, which hides batches that are smaller; one rank shows no shard.
unlike=" batch_size: 64, was 16; shuffle: none, was buffer:1024; compute_time: 80ms, was 20ms;"
loop bert bert.job --num_files=8 --samples_per_file=2048 --batch_size=16 \
	--compute_time=20ms --steps=0 --epochs=2
unlike=" shard: strided, was contiguous;"
loop dlio-default dlio-default.job --compute_time=100ms --epochs=3
unlike=
loop dlio-eval dlio-default.job --compute_time=100ms --epochs=3 --accelerators=2
loop dlrm-dlio dlrm-dlio.job --samples_per_file=64 --sample_size=1m \
	--compute_time=64ms --epochs=2
loop dlrm-npz dlrm-npz.job --num_files=1024 --batch_size=64 \
	--compute_time=50ms --epochs=2
loop flux-jpeg flux-jpeg.job --num_files=320 --sample_size=20k \
	--batch_size=8 --compute_time=100ms --epochs=2

# ---- orders
loop chunks quickstart.job --num_files=640 --sample_size=10k \
	--compute_time=20ms --epochs=3 --shuffle=chunks:16:4
loop chunks-in-files quickstart.job --num_files=64 --samples_per_file=64 \
	--sample_size=4k --format=npy --access=plain --compute_time=20ms \
	--epochs=2 --shuffle=chunks:40
loop replacement quickstart.job --num_files=640 --sample_size=10k \
	--compute_time=20ms --epochs=6 --shuffle=replacement
loop drawn-of-files quickstart.job --num_files=64 --samples_per_file=64 \
	--sample_size=4k --format=npy --access=plain --compute_time=20ms \
	--epochs=3 --shuffle=replacement
# A page of a size is a chunk of as many samples; weights are drawn anew, and of
# losses, from which those of importance follow, nothing is seen.
unlike=" shuffle: chunks:5:17, was pages:50k;"
loop pages quickstart.job --num_files=640 --sample_size=10k \
	--compute_time=20ms --epochs=3 --shuffle=pages:50k
unlike=" shuffle: weighted:lognormal:1:0.99, was weighted:lognormal:1:1;"
loop weighted quickstart.job --num_files=640 --sample_size=10k \
	--compute_time=20ms --epochs=6 --shuffle=weighted:lognormal:1:1
unlike=" shuffle: weighted:lognormal:1:0.76, was importance;" other='m4 m6 m7'
loop importance quickstart.job --num_files=640 --sample_size=10k \
	--compute_time=20ms --epochs=6 --shuffle=importance
unlike='' other=

# ---- checkpoints of a model, by an engine that writes nothing. Larger models differ
# from this one only in numbers, and the suite checkpoint_found has the full size.
options="phase ranks checkpoints pause scale model_layers model_hidden model_ffn
	model_heads model_kv_heads model_vocabulary tensor_parallel
	pipeline_parallel zero_stage checkpoint_layout checkpoint_fsync access bs"
small="--section=save --checkpoints=2 --pause=1s --scale=10% --directory=llama.data"
# shellcheck disable=SC2086 # words
{
	"$MLGEN" llama3-8b-checkpoint.job $small --ioengine=null \
		--trace=llama.trace --quiet >out 2>&1 || note "$(cat out)"
	"$MLGEN" llama3-8b-checkpoint.job $small --showjob >llama.was 2>&1
}
"$strip" llama.trace llama.mlt
exits "llama3-8b: its checkpoints become a job" 0 "$MLTRACE" distil llama.mlt \
	--output=llama.job
exits "... that mlgen takes" 0 "$MLGEN" llama.job --showjob
is "... with the same model, ranks, cadence and calls" \
	"$(differences llama.was out)" ""
"$MLGEN" --name=zero --phase=checkpoint --ranks=4 --checkpoint_layout=deepspeed \
	--model_layers=4 --model_hidden=256 --model_ffn=512 --model_heads=4 \
	--model_kv_heads=4 --model_vocabulary=1000 --zero_stage=1 \
	--directory=zero.data --trace=zero.trace --quiet >out 2>&1 ||
	note "$(cat out)"
exits "shards of a model that nobody published are a job" 0 \
	"$MLTRACE" distil zero.trace --output=zero.job
like "of their bytes, that says what it lacks" "$(cat zero.job)" \
	"^# Files are named as by DeepSpeed's ZeRO"
done_testing
