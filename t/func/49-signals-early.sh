#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 49-signals-early.sh - a signal ends whatever comes before, between and behind runs; readers that leave cost nothing else.
# Sleeps: a run is given time to be where the signal comes.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# Six hundred thousand times one of 300 files: a scan that takes its time.
mkdir -p scan
(cd scan && seq 300 | sed 's/$/.raw/' | xargs -I{} sh -c 'echo >"$1"' sh {})
awk 'BEGIN { for (i = 0; i < 600000; i++) print i % 300 + 1 ".raw" }' >list

# in_scan: it has the list open.
in_scan()
{
	find "/proc/$pid/fd" -lname "$T/list" 2>/dev/null | grep -q .
}

# is_up: it takes signals by now.
is_up()
{
	[ "$(find "/proc/$pid/task" -maxdepth 1 2>/dev/null | wc -l)" -ge 3 ]
}

# gone TITLE: soon, with status 130 and nothing half-written.
gone()
{
	ok "$1 is ended by it" poll is_gone
	is_gone || kill -KILL "$pid"
	finish
	is "... with status 130" "$status" 130
	is "... and nothing half-written" "$(echo run.json*)" "${2:-run.json*}"
}

scan="--name=x --dataset=scan --format=raw --directory=$T/scan
	--file_list=$T/list --compute_time=1ms --json=$T/run.json"
for sig in INT TERM HUP; do
	# shellcheck disable=SC2086 # several options
	background "$MLGEN" $scan
	poll in_scan
	kill -$sig "$pid"
	gone "SIG$sig: a scan"
	is "... which says so" "$(cat err)" "mlgen: interrupted"
done
# shellcheck disable=SC2086
background "$MLGEN" $scan --dry-run
poll in_scan
kill -TERM "$pid"
gone "a dry run"
# shellcheck disable=SC2086
background env nohup "$MLGEN" $scan --dry-run
poll in_scan
kill -HUP "$pid"
ok "SIGHUP is none for what nohup started" poll in_scan
kill -TERM "$pid"
gone "... which SIGTERM"

mkfifo fifo.job
background "$MLGEN" fifo.job --json=run.json
poll is_up
kill -INT "$pid"
gone "a job file that nobody writes"
mkfifo never
sleep 60 >never &
sleeper=$!
"$MLGEN" - --json=run.json <never >out 2>err &
pid=$!
poll is_up
kill -TERM "$pid"
gone "a job file on the standard input"
kill "$sleeper"

# Between two probes it looks at its files again, for most of its time.
# shellcheck disable=SC2086
background "$MLGEN" $scan --steps=3 --find-max=batch_size --require='steps>=1'
poll grep -qE '^ *(short|full) ' out
kill -INT "$pid"
gone "a search between its probes" run.json
is "... with a document of what there is" \
	"$(json run.json find_max.interrupted)" true
rm -f run.json

# ---- readers that leave
null="--name=x --ioengine=null --format=raw --num_files=64 --sample_size=4k
	--compute_time=1ms --epochs=1"
# run_to COMMAND...: its status goes to the file status, and descriptor 3 to a
# reader that leaves after a byte, or at once.
run_to()
{
	rm -f run.json status
	"$@" --json=run.json
	echo $? >status
}
mkfifo log.fifo
# shellcheck disable=SC2086
{
	run_to "$MLGEN" $null --epochs=200 --status-interval=10ms 2>&1 >out |
		head -c 1 >byte
	is_json "a reader of stderr that leaves costs nobody the JSON" run.json
	is "... and is no failure" "$(cat status)" 0
	run_to "$MLGEN" $null | :
	is_json "a reader of the report that leaves costs nobody the JSON" \
		run.json
	is "... but is a failure" "$(cat status)" 1
	head -c 1 log.fifo >byte &
	run_to "$MLGEN" $null --epochs=10 --log=log.fifo --log_interval=10ms \
		>out 2>err
	is_json "a reader of the log that leaves costs nobody the JSON" run.json
	is "... but is a failure" "$(cat status)" 1
	like "... which is told" "$(cat err)" \
		'^mlgen: log=log.fifo: Broken pipe$'
}

# shellcheck disable=SC2086
search()
{
	"$MLGEN" $null --compute_time=10ms --steps=3 --num_files=4096 \
		--find-max=accelerators --accelerators=1 "$@"
}
run_to search --require='steps>1000' >/dev/full 2>err
is "an answer of --find-max that could not be written is status 1" \
	"$(cat status)" 1
run_to search --require='steps>1000' 2>err | :
is "... nor one whose reader has left" "$(cat status)" 1
search --require='steps>1000' --json=run.json >out 2>err
is "... while one that is written has its own" $? 3

done_testing
