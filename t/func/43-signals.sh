#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 43-signals.sh - an interrupted run stops at a step, reports what there is, and leaves.

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
	is "$1: status 130" "$status" 130
	like "$1: the first line says so" "$(head -n 1 out)" \
		'^x: .*\(interrupted after [0-9,]+ steps?\)'
	is_json "$1: the JSON document is whole" run.json
	is "$1: and says so" "$(json run.json interrupted) $(ml run.json interrupted)" \
		"true true"
	is "$1: every accelerator has done the same steps" \
		"$(ml run.json samples sample_bytes)" \
		"$(($(ml run.json steps) * 4)) $(($(ml run.json steps) * 8192))"
	is "$1: stderr has one note" "$(cat err)" \
		"mlgen: note: interrupted: stopping at the end of this step (once more to leave at once)"
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
poll test -s log.csv
kill -INT "$pid"
ok "a job that waits for its start is left at once" poll is_gone
is_gone || kill -INT "$pid"
finish
is "with status 130" "$status" 130
is_json "and a JSON document" run.json

# ---- threads that do not come back: a computation, then an open that hangs
rm -f run.json log.csv
# shellcheck disable=SC2086
background "$MLGEN" $job --compute_time=1h
poll grep -qs ',train,1,' log.csv
kill -INT "$pid"
poll grep -q 'note: interrupted' err
ok "the first SIGINT waits for the step" kill -0 "$pid"
kill -INT "$pid"
finish
is "the second leaves it" "$status" 130
like "with a report" "$(head -n 1 out)" '^x: no step was finished \(interrupted\)$'
is_json "and a JSON document" run.json

# shellcheck disable=SC2086
under_way "$MLGEN" $job --compute_time=1ms --read_threads=1 --invalidate=0
mkfifo pipe
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
kill -INT "$pid"
poll grep -q 'note: interrupted' err
ok "a thread that hangs in open holds the first SIGINT up" kill -0 "$pid"
kill -INT "$pid"
finish
is "the second abandons it" "$status" 130
like "and reports what ran before" "$(head -n 1 out)" \
	'^x: .*\(interrupted after [0-9,]+ steps?\)'
is_json "in JSON too" run.json
ok "with its counts" test "$(ml run.json samples)" -ge 4

done_testing
