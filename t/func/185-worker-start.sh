#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 185-worker-start.sh - loaders that are new ones in each epoch take their time to begin, and are distilled as such.
# In virtual time, where arithmetic holds whatever else the machine does.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

virtual_time
strip=$BUILT/build/t/tools/striptrace

# run NAME OPTION...: 3 epochs of 24 batches in 10 ms each, by two workers
run()
{
	name=$1
	shift
	exits "$name runs" 0 "$MLGEN" --name=x --format=npz --num_files=96 \
		--sample_size=100k --batch_size=4 --read_threads=2 \
		--directory=data --compute_time=10ms --epochs=3 \
		--access=framework --trace="$name.mlt" --json="$name.json" \
		--quiet "$@"
	"$MLTRACE" export --format=csv "$name.mlt" >"$name.csv"
}

# readers NAME: threads that read, and epochs that one of them reads in at most
readers()
{
	"$MLTRACE" export --format=csv "$1.mlt" | awk -F, '
	$6 == "open" { tids[$4]++ }
	END { for (t in tids) { n++; if (tids[t] > most) most = tids[t] }
		print n, most / 48 }'
}

run stay
run anew --worker_start=50ms
is "loaders stay by default" "$(readers stay)" "2 3"
is "with a time they are others in each epoch" "$(readers anew)" "6 1"
is "which takes so much longer" \
	"$(awk "BEGIN { printf \"%.2f\", $(ml anew.json wall_seconds) - \
		$(ml stay.json wall_seconds) }")" "0.15"
is "and nothing else is read" "$(ml anew.json samples io_bytes)" \
	"$(ml stay.json samples io_bytes)"
for engine in io_uring libaio mmap null; do
	run $engine --worker_start=normal:50ms:5ms --ioengine=$engine \
		--eval_files=8 --eval_batch_size=2 --eval_time=1ms
	is "... nor with $engine, beside an evaluation" \
		"$(ml $engine.json samples)" 288
done
exits "the run ends in between" 0 "$MLGEN" --name=x --format=npz \
	--num_files=96 --sample_size=100k --batch_size=4 --read_threads=2 \
	--directory=data --compute_time=10ms --worker_start=1h --quiet \
	--runtime=1 --time_based=1

run first --worker_start=50ms --first_sample_time=70ms --preprocess_time=2ms
run plain --worker_start=50ms --preprocess_time=2ms
is "the first sample of a new one takes longer" \
	"$(awk "BEGIN { printf \"%.2f\", $(ml first.json wall_seconds) - \
		$(ml plain.json wall_seconds) }")" "0.21"
exits "tf.data reads here and decodes there" 2 "$MLGEN" --name=x \
	--ioengine=null --format=tfrecord --loader=tfdata --first_sample_time=1ms
like "which is said" "$(cat err)" \
	'first_sample_time: with loader=tfdata some threads read, and other threads decode'

# ---- from a trace
if [ -x "$strip" ]; then
	"$strip" anew.mlt anew.bare
	"$strip" stay.mlt stay.bare
	"$MLTRACE" distil anew.bare --output=anew.job 2>err || note "$(cat err)"
	"$MLTRACE" distil stay.bare --output=stay.job 2>err || note "$(cat err)"
	like "it is distilled from new threads" \
		"$(grep ^worker_start= anew.job)" '^worker_start=(4[6-9]|5[0-4])'
	is "which are as slow with their first sample as with others" \
		"$(grep ^first_sample_time= anew.job)" ""
	"$strip" first.mlt first.bare
	"$MLTRACE" distil first.bare --output=first.job 2>err || note "$(cat err)"
	like "where they are not, it is told apart" "$(sed -n \
		's/^\(first_sample_time\|worker_start\)=//p' first.job | paste -s -d' ' -)" \
		'^(70ms|70[0-4]..us|69[5-9]..us) (4[6-9]|5[0-9])'
	is "and not from those that stay" \
		"$(grep ^worker_start= stay.job)" ""
else
	skip "it is distilled" "build/t/tools/striptrace is not built"
fi

# ---- what it does not go with
exits "other loaders have none" 2 "$MLGEN" --name=x --ioengine=null \
	--format=npz --loader=plain --worker_start=1ms
like "which is said" "$(cat err)" 'worker_start: only workers of loader=pytorch'
exits "nor has who reads by itself" 0 "$MLGEN" --name=x --ioengine=null \
	--format=npz --read_threads=0 --prefetch=0 --worker_start=1ms --dry-run
like "which is said, too" "$(cat err out)" 'worker_start: .*read_threads'
done_testing
