#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 43-signals.sh - an interrupted run stops where it is, reports what there is, and leaves.
# Sleeps: a run is given time to get under way, and signals to be seen.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

job="--name=x --directory=data --format=raw --num_files=20 --sample_size=2k
	--accelerators=2 --batch_size=2 --epochs=1000000 --json=run.json
	--log=log.csv --log_interval=10ms"

# shellcheck disable=SC2086 # several options
"$MLGEN" $job --phase=prepare >out 2>&1

# under_way COMMAND...: a run that is in its second epoch, or later.
under_way()
{
	rm -f run.json log.csv
	background "$@"
	poll grep -qsE ',train,([2-9]|[1-9][0-9])' log.csv
}

# reported TITLE: of a run that was interrupted.
reported()
{
	finish
	title=$1
	is "$title: status 130" "$status" 130
	like "$title: the first line says so" "$(head -n 1 out)" \
		'^x: .*\(interrupted( after [0-9,]+ steps?)?\)'
	is_json "$title: the JSON document is whole" run.json
	# shellcheck disable=SC2046 # a word for each value
	set -- $(json run.json interrupted jobs.0.ml.interrupted jobs.0.ml.samples \
		jobs.0.ml.sample_bytes jobs.0.ml.steps)
	is "$title: and says so" "$1 $2" "true true"
	is "$title: every accelerator has done the same steps" "$3 $4" \
		"$(($5 * 4)) $(($5 * 8192))"
	# A machine may be too busy for the second that threads have; see the end.
	is "$title: stderr has one note" "$(grep -v ': thread left hanging in ' err)" \
		"mlgen: note: interrupted: no new operations are started, and the report follows within a second (interrupt again to exit at once)"
}

# shellcheck disable=SC2086
under_way "$MLGEN" $job --compute_time=2ms
kill -INT "$pid"
reported "SIGINT"
# shellcheck disable=SC2086
under_way "$MLGEN" $job --compute_time=2ms
kill -TERM "$pid"
reported "SIGTERM"
# A shell script's background jobs have it ignored already; said all the same.
# shellcheck disable=SC2086
under_way sh -c 'trap "" INT; exec "$@"' sh "$MLGEN" $job --compute_time=2ms
kill -INT "$pid"
reported "SIGINT inherited as ignored"
if env --default-signal=INT true 2>/dev/null; then
	# shellcheck disable=SC2086
	under_way env --default-signal=INT "$MLGEN" $job --compute_time=2ms
	kill -INT "$pid"
	reported "SIGINT with its default action"
else
	skip "SIGINT with its default action" "env has no --default-signal"
fi
# shellcheck disable=SC2086
under_way "$MLGEN" $job --compute_time=2ms --output-format=json
kill -INT "$pid"
finish
is "--output-format=json: status 130" "$status" 130
is_json "--output-format=json: one whole document" out

for barrier in epoch none; do
	# shellcheck disable=SC2086
	under_way "$MLGEN" $job --compute_time=2ms --barrier=$barrier
	kill -INT "$pid"
	finish
	is "barrier=$barrier stops too" "$status $(json run.json interrupted)" \
		"130 true"
done
# shellcheck disable=SC2086
under_way "$MLGEN" $job --compute_time=2ms --require='steps>1000000000'
kill -INT "$pid"
finish
is "a requirement does not hide the interruption" "$status" 130

# ---- before the first step
rm -f run.json log.csv
# shellcheck disable=SC2086
background "$MLGEN" $job --startdelay=1h
# The log is opened after SIGUSR1 is blocked, which ends a program otherwise.
poll test -e log.csv
answers()
{
	kill -USR1 "$pid"
	[ -s err ]
}
poll answers
kill -INT "$pid"
ok "a job that waits for its start is left at once" poll is_gone
is_gone || kill -INT "$pid"
finish
is "with status 130" "$status" 130
is_json "and a JSON document" run.json

# ---- what would go on for long
# ends SIGNAL TITLE OPTION...: one signal is enough.
ends()
{
	sig=$1 title=$2
	shift 2
	rm -f run.json log.csv
	background "$MLGEN" "$@" --json=run.json --log=log.csv --log_interval=10ms
	poll grep -qsE ',(train|checkpoint|restore|io),' log.csv
	kill "-$sig" "$pid"
	poll is_gone || kill -KILL "$pid"
	finish
	is "$title is cut by one SIG$sig, with status 130" "$status" 130
	is "... and reported" "$(json run.json interrupted)" true
}
# leaves_nothing SIGNAL TITLE OPTION...: in virtual time, where a second is enough for
# all threads however busy the machine is.
leaves_nothing()
{
	title=$2
	shift 2
	INTERRUPT_AT_MS=3 "$MLGEN" "$@" --json=run.json >out 2>err
	is "$title: nothing is left behind" "$? $(json run.json interrupted) $(grep warning: err)" \
		"130 true "
}
null="--name=x --ioengine=null"
big="--format=raw --num_files=4 --sample_size=1t --bs=1m --bandwidth=1m"
# each_long_job FUNCTION
# shellcheck disable=SC2086
each_long_job()
{
	"$1" TERM "a computation of an hour" $job --compute_time=1h
	for loader in pytorch plain; do
		"$1" TERM "a sample that takes days (loader=$loader)" \
			$null $big --loader=$loader --accelerators=2
	done
	"$1" TERM "one that others wait for, in order" $null \
		--format=tfrecord --loader=tfdata --shuffle=none \
		--read_threads=4 --num_files=4 --samples_per_file=2 \
		--sample_size=1g --bandwidth=1k
	"$1" TERM "one that an accelerator reads itself" $null $big \
		--read_threads=0 --prefetch=0 --accelerators=2
	"$1" HUP "a latency of an hour" $null --format=raw \
		--num_files=9 --sample_size=4k --latency=1h
	"$1" TERM "decoding for an hour" $null --format=raw \
		--num_files=9 --sample_size=4k --preprocess_time=1h
	"$1" TERM "busy decoding for an hour" $null --format=raw \
		--num_files=9 --sample_size=4k --preprocess_time=1h \
		--preprocess=burn
	"$1" TERM "a checkpoint of a petabyte" $null \
		--phase=checkpoint --checkpoint_size=1p --bandwidth=1g
	"$1" TERM "one that costs nothing" $null \
		--phase=checkpoint --checkpoint_size=1p
	"$1" INT "a pause between two" $null --phase=checkpoint \
		--checkpoint_size=1k --checkpoints=2 --pause=1h
	"$1" TERM "a snapshot of an hour" $null --format=raw \
		--num_files=9 --sample_size=4k --checkpoint_every="1 step" \
		--checkpoint_mode=async --checkpoint_size=1g \
		--snapshot_bandwidth=1k --checkpoint_directory=none
	"$1" TERM "a request of an hour" $null --rw=read --size=1t \
		--bs=1m --bandwidth=1k
	"$1" TERM "an operation that is delayed by an hour" $job \
		--ioengine=fault --engine=psync --delay_every=9 --delay=1h
}
each_long_job ends

# lasts TITLE COMMAND...: as long as runtime says, and no longer.
lasts()
{
	title=$1
	shift
	exits "runtime cuts $title" 0 timeout -s KILL 30 "$@" --runtime=200ms \
		--json=run.json
	is "... which is no interruption" \
		"$(json run.json interrupted) $(ml run.json complete)" \
		"false true"
}
# shellcheck disable=SC2086
{
	lasts "a computation of an hour" "$MLGEN" $job --compute_time=1h
	is "... of which there is no step" "$(ml run.json steps samples)" "0 0"
	lasts "a sample that takes days" "$MLGEN" $null $big
	lasts "a checkpoint of a petabyte" "$MLGEN" $null --phase=checkpoint \
		--checkpoint_size=1p --bandwidth=1g
	is "... which is not complete" "$(ml run.json saves.completed \
		saves.count checkpoints.0.error)" "0 1 its time was over"
	lasts "one that costs nothing" "$MLGEN" $null --phase=checkpoint \
		--checkpoint_size=1p
}

# ---- threads that do not come back: a read that hangs
# shellcheck disable=SC2086
under_way "$MLGEN" $job --compute_time=1ms --read_threads=1 --invalidate=0 \
	--ioengine=io_uring
mkfifo pipe
exec 9<>pipe	# somebody may write: what reads it waits
mv -f pipe data/train/img_13_of_20.raw
stuck()
{
	[ "$(tail -n 30 log.csv | awk -F, '$4 == "train" && !$7' | wc -l)" -eq 30 ]
}
poll stuck
waits()
{
	kill -USR1 "$pid"
	grep -qE ' x .*waiting [0-9]+' err
}
ok "a stall in progress is seen in the status line" poll waits
kill -TERM "$pid"
finish
is "a thread that hangs in a call is left by the first signal" "$status" 130
like "and named, with how long it has been there" "$(cat err)" \
	'^mlgen: warning: x: thread left hanging in (open|read) of .*data/train/img_13_of_20.raw for [0-9]+\.[0-9] s$'
like "and reports what ran before" "$(head -n 1 out)" \
	'^x: .*\(interrupted( after [0-9,]+ steps?)?\)'
is_json "in JSON too" run.json
ok "with its counts" test "$(ml run.json samples)" -ge 4

# ---- in virtual time
virtual_time
rm -rf data
# shellcheck disable=SC2086
"$MLGEN" $job --phase=prepare >out 2>&1
# shellcheck disable=SC2086
leaves_nothing INT "a run under way" $job --compute_time=2ms
each_long_job leaves_nothing

done_testing
