#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 99-loaders.sh - loader=tfdata and what it has of its own, on every engine; shards of files.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# train OPTION...: a run on 12 files of 6 samples of 3000 bytes; its report is
# in run.json. 36 samples of an accelerator are 9 steps of 4.
train()
{
	rm -f run.json
	"$MLGEN" --name=x --directory="$T/raw" --format=raw --num_files=12 \
		--samples_per_file=6 --sample_size=3000 --accelerators=2 \
		--batch_size=4 --epochs=2 --loader=tfdata --shuffle=file \
		--read_threads=3 --json="$T/run.json" --quiet "$@"
}

# counts OPTION...: of a run, or why there are none.
counts()
{
	if train "$@" >out 2>err; then
		ml run.json steps samples sample_bytes io_bytes \
			ops.open.total ops.read.total ops.close.total
	else
		echo "status $?: $(cat err)"
	fi
}

# same TITLE WANT OPTION...: on an engine that may be missing here.
same()
{
	same_title=$1 same_want=$2
	shift 2
	same_got=$(counts "$@")
	case $same_got in
	*io_uring_setup* | *aio-max-nr*)
		skip "$same_title" "$(cat err)"
		;;
	*)
		is "$same_title" "$same_got" "$same_want"
		;;
	esac
}

# has_format NAME: it is built in.
has_format()
{
	train --directory="$T/$1" --format="$1" --phase=prepare >out 2>err
}

# everywhere TITLE OPTION...: what psync reads is the measure. Each engine has either
# depth, with some format.
depth=1
everywhere()
{
	title=$1
	shift
	want=$(counts --ioengine=psync "$@")
	like "$title: 9 steps of 4 samples for 2 accelerators, twice" "$want" \
		'^18 144 432000 '
	for engine in io_uring libaio mmap fault; do
		same "$title: $engine, iodepth=$depth" "$want" \
			--ioengine=$engine --iodepth=$depth "$@"
		depth=$((9 - depth))
	done
	depth=$((9 - depth))
}

# ---- formats
for format in raw npz tfrecord tar; do
	if ! has_format $format; then
		skip "$format" "$(cat err)"
		continue
	fi
	everywhere "$format" --directory="$T/$format" --format=$format \
		--access=plain
done
everywhere "deterministic=0" --access=plain --deterministic=0
is "plain access opens a file for each sample" \
	"$(counts --access=plain | cut -d' ' -f5,7)" "144 144"

for format in tfrecord tar; do
	set -- --directory="$T/$format" --format=$format --access=framework
	if ! has_format $format; then
		skip "$format, framework" "$(cat err)"
		continue
	fi
	everywhere "$format, framework" "$@"
	is "and each file is opened once an epoch" \
		"$(counts "$@" | cut -d' ' -f5,7)" "24 24"
	is "whether or not the last batches need all of it" \
		"$(counts "$@" --batch_size=16 | cut -d' ' -f1,2,5,7)" \
		"4 128 24 24"
	for how in "--shuffle=buffer:16" "--shuffle=none" "--invalidate=epoch" \
		"--read_threads=1" "--read_threads=16" "--prefetch=50"; do
		is "$format, framework, $how: the same" \
			"$(counts "$@" $how)" "$want"
	done
	not_ok "$format, framework: no loader but tfdata" \
		train "$@" --loader=pytorch
	rm "$T/$format"/train/img_07_*
	exits "$format: a missing file stops the run" 2 train "$@"
	like "which names it" "$(cat err)" 'img_07_of_12.*open: No such file'
	is "or its samples are no samples, of each epoch" \
		"$(counts "$@" --continue_on_error=all --max_errors=10% |
			cut -d' ' -f1,2)" \
		"18 132"
	is "but failed ones" "$(ml run.json failed_samples)" 12
	ok "of at least one error in each" test "$(ml run.json errors)" -ge 2
	rm -rf "${T:?}/$format"
done

# ---- the files themselves, not only their number
if can_trace; then
	# opened OPTION...: the 144 samples of a run with one accelerator, in
	# order; before it a file is looked at
	opened()
	{
		traced trace openat "$MLGEN" --name=x \
			--directory="$T/raw" --format=raw --num_files=12 \
			--samples_per_file=6 --sample_size=3000 \
			--loader=tfdata --read_threads=2 --epochs=2 \
			--invalidate=0 --json="$T/run.json" --quiet "$@" \
			>out 2>&1
		sed -n '/O_NOCTTY/d; s/.*img_\([0-9]*\)_of.*/\1/p' trace |
			tail -n 144
	}
	# In order there are three threads for one of read_threads: a file is
	# opened when the third one before it was read to its end, and one of
	# the next epoch when all of them were.
	is "no file is opened ahead of its turn" \
		"$(opened --shuffle=none --read_threads=1 | awk '
		{
			f = $1 + 0
			if (n[f] % 6 == 0 && f >= 3 && n[f - 3] < n[f] + 6)
				print "too early: " NR, $1
			for (i = 0; n[f] == 6 && i < 12; i++)
				if (n[i] < 6)
					print "before its epoch: " NR, $1
			n[f]++
		}
		END { print NR }')" 144
	opened --shuffle=none --read_threads=1 --deterministic=0 | uniq -c |
		awk '{ print $1, $2 }' | paste -sd' ' - >got
	# shellcheck disable=SC2046 # several words
	is "one thread reads file after file" "$(cat got)" \
		"$(printf '6 %02d\n' $(seq 0 11) $(seq 0 11) | paste -sd' ' -)"
	is "two threads: all of them, six times an epoch" \
		"$(opened --shuffle=file | sort | uniq -c |
			awk '{ print $1 }' | sort -u)" 12
	want=$(opened --shuffle=file --read_threads=1 --deterministic=0 \
		--ioengine=psync)
	for engine in libaio mmap; do
		is "$engine opens the same files in the same order" \
			"$(opened --shuffle=file --read_threads=1 \
				--deterministic=0 --ioengine=$engine \
				--iodepth=4)" "$want"
	done
else
	skip "the order of files" "strace is not here"
fi

# ---- shuffle=buffer
for buffer in 1 16 35 36 100000; do
	is "shuffle=buffer:$buffer reads as much" \
		"$(counts --shuffle=buffer:$buffer | cut -d' ' -f1-4)" \
		"18 144 432000 432000"
done

# ---- preprocessing: times are sums of sleeps, so there is a least one
least()
{
	ok "$1 takes $2 ms at least" \
		test "$(json run.json jobs.0.job_runtime)" -ge "$2"
}
is "preprocess_time changes no count" \
	"$(counts --preprocess_time=2ms | cut -d' ' -f1-3)" "18 144 432000"
least "decoding 72 samples in one thread" 144
is "nor does it in several threads" \
	"$(counts --preprocess_time=2ms --decode_threads=3 | cut -d' ' -f1-3)" \
	"18 144 432000"
least "and in three" 48
for loader in pytorch plain; do
	is "$loader: nor there" \
		"$(counts --preprocess_time=2ms --loader=$loader |
			cut -d' ' -f1-3)" "18 144 432000"
	least "$loader: three threads" 48
done
for loader in pytorch plain tfdata; do
	is "$loader: burnt on a CPU, the same" \
		"$(counts --preprocess_time=100us --preprocess=burn \
			--loader=$loader | cut -d' ' -f1-3)" "18 144 432000"
done

# ---- what does not divide
# 7 files: 4 for each of 2, one of them twice; 24 samples are 5 steps of 5.
is "drop_last=0 pads with whole files" \
	"$(counts --directory="$T/seven" --num_files=7 --batch_size=5 \
		--drop_last=0 | cut -d' ' -f1-3)" "10 96 288000"
is "drop_last=1 leaves out a file and what is no batch" \
	"$(counts --directory="$T/seven" --num_files=7 --batch_size=5 |
		cut -d' ' -f1-3)" "6 60 180000"
for loader in pytorch plain tfdata; do
	for shuffle in none file; do
		is "shard=file with $loader, shuffle=$shuffle: the same" \
			"$(counts --directory="$T/seven" --num_files=7 \
				--batch_size=5 --loader=$loader --shard=file \
				--shuffle=$shuffle | cut -d' ' -f1-3)" \
			"6 60 180000"
		is "and padded" \
			"$(counts --directory="$T/seven" --num_files=7 \
				--batch_size=5 --loader=$loader --shard=file \
				--shuffle=$shuffle --drop_last=0 |
				cut -d' ' -f1-3)" "10 96 288000"
	done
done
is "shard=file, every sample in random order" \
	"$(counts --loader=pytorch --shard=file --shuffle=sample |
		cut -d' ' -f1-3)" "18 144 432000"
is "as many accelerators as files" \
	"$(counts --accelerators=12 --batch_size=6 | cut -d' ' -f1-3)" \
	"2 144 432000"
is "a thread for every file and more" \
	"$(counts --read_threads=40 | cut -d' ' -f1-3)" "18 144 432000"
is "epochs of one step" \
	"$(counts --batch_size=36 --epochs=5 --prefetch=9 | cut -d' ' -f1-4)" \
	"5 360 1080000 1080000"
train --steps=7 --epochs=100 >out 2>&1
is "steps ends it within an epoch" "$(ml run.json steps samples complete)" \
	"7 56 true"

# ---- evaluation: 24 samples are 3 steps of 4 for each, after every epoch
# evals OPTION...: of the training, then of the evaluation.
evals()
{
	if train --eval_files=4 "$@" >out 2>err; then
		ml run.json steps samples sample_bytes eval.steps \
			eval.samples eval.sample_bytes
	else
		echo "status $?: $(cat err)"
	fi
}
for loader in tfdata pytorch plain; do
	is "$loader: an evaluation changes no count of the training" \
		"$(evals --loader=$loader)" "18 144 432000 6 48 144000"
	is "$loader: its batch may be another" \
		"$(evals --loader=$loader --eval_batch_size=5 --drop_last=0)" \
		"18 144 432000 6 48 144000"
done
is "its files lie beside the training's" \
	"$(find raw/valid -name 'img_*_of_4.raw' | wc -l)" 4
# holds TITLE CONDITION: in awk, of the figures of run.json.
holds()
{
	ok "$1" awk -v io="$(ml run.json io_bytes)" \
		-v eval_io="$(ml run.json eval.io_bytes)" \
		-v wall="$(ml run.json wall_seconds)" \
		-v eval="$(ml run.json eval.seconds)" \
		-v rate="$(ml run.json io_bytes_per_sec)" \
		-v eval_rate="$(ml run.json eval.io_bytes_per_sec)" \
		-v bw="$(json run.json jobs.0.read.bw_bytes)" \
		-v runtime="$(json run.json jobs.0.job_runtime)" "
		function near(a, b) { return a > b * 0.98 && a < b * 1.02 }
		BEGIN { exit !($2) }"
}
for loader in tfdata pytorch plain; do
	train --loader=$loader --eval_files=4 --eval_time=20ms >out 2>&1
	is "$loader: what an evaluation transfers is not the training's" \
		"$(ml run.json io_bytes eval.io_bytes) $(json run.json \
			jobs.0.read.io_bytes)" "432000 144000 576000"
	holds "$loader: and neither is its rate" \
		"near(rate, io / wall) && near(eval_rate, eval_io / eval)"
	holds "$loader: the rate of both is over the time of both" \
		"near(runtime, 1000 * (wall + eval)) && \
		 near(bw, (io + eval_io) / (wall + eval))"
done
for barrier in none step epoch; do
	is "barrier=$barrier: after epochs 2 and 4 of 5" \
		"$(evals --epochs=5 --eval_after=2 --eval_every=2 \
			--barrier=$barrier)" "45 360 1080000 6 48 144000"
done
is "a buffer is not for the evaluation" \
	"$(evals --shuffle=buffer:1000 --eval_batch_size=1)" \
	"18 144 432000 24 48 144000"
is "steps that end with an epoch end the run before it" \
	"$(evals --steps=9)" "9 72 216000 0 0 0"
for engine in io_uring libaio mmap fault; do
	case $(evals --ioengine=$engine --iodepth=8) in
	*io_uring_setup* | *aio-max-nr*)
		skip "$engine evaluates the same" "$(cat err)"
		;;
	*)
		is "$engine evaluates the same" \
			"$(ml run.json steps eval.steps eval.samples \
				eval.sample_bytes)" "18 6 48 144000"
		;;
	esac
done
rm raw/valid/img_2_*
exits "a file that is missing there stops the run" 2 train --eval_files=4
like "which names it" "$(cat err)" 'valid/img_2_of_4.raw: open'
exits "fewer of its files than accelerators" 2 train --eval_files=1 \
	--eval_batch_size=1 --directory="$T/few"
like "are refused" "$(cat err)" 'accelerators: 2 .*eval_files'

# ---- read_threads=0: the accelerator reads itself
own="--loader=pytorch --shuffle=sample --read_threads=0 --drop_caches=no"
# shellcheck disable=SC2086 # several options
everywhere "read_threads=0" $own
# shellcheck disable=SC2086
train $own --compute_time=1ms --epochs=1 --steps=3 --ioengine=fault \
	--engine=psync --delay_every=1 --delay=2ms >out 2>err
ok "the time of 12 operations, 2 ms each, is stall of each step" \
	test "$(ml run.json stall_ns.min)" -ge 20000000
# shellcheck disable=SC2086
exits "an operation of it fails" 1 train $own --ioengine=fault --fail_after=99
like "and its file is named" "$(cat err)" \
	'img_.*_of_12.raw: (open|read|close).*Input/output error'
# shellcheck disable=SC2086
train $own --dry-run >out 2>&1
like "a dry run says so" "$(cat out)" \
	'^in flight 2 reads \(2 accelerators without read_threads, one read each\)$'

# ---- errors: whichever operation fails, the run ends, and says where
for number in 1 2 3 10 100 250; do
	exits "operation $number fails" 1 train --ioengine=fault \
		--fail_after=$number
	like "and its file is named" "$(cat err)" \
		'img_.*_of_12.raw: (open|read|close).*Input/output error'
done

# ---- bad input
exits "shard=file: more accelerators than files" 2 train --accelerators=13 \
	--batch_size=1 --loader=pytorch --shard=file
like "is refused with both numbers and a way out" "$(cat err)" \
	'13 .*12 .*shard=strided'
exits "loader=tfdata: the same" 2 train --accelerators=13 --batch_size=1
like "with its own way out" "$(cat err)" \
	'accelerators: 13 .*12 files.*loader=pytorch'
exits "a batch larger than an accelerator's files" 2 train --accelerators=5 \
	--batch_size=13
like "is refused with the numbers" "$(cat err)" 'batch_size: 13 .* 12 samples'
exits "tfdata has no order of samples" 2 train --shuffle=sample
like "but says what it has" "$(cat err)" 'shuffle: .*buffer:N'
exits "a buffer belongs to tfdata" 2 train --loader=pytorch \
	--shuffle=buffer:16
like "and that is said" "$(cat err)" 'shuffle: .*loader=tfdata'

done_testing
