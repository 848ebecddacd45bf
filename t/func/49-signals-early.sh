#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 49-signals-early.sh - a signal ends whatever comes before, between and behind runs; readers that leave cost nothing else.
# Sleeps: a run is given time to be where the signal comes.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# Six hundred thousand times one of 300 files: a scan that takes its time.
mkdir -p scan
for i in 1 2 3; do
	for j in 0 1 2 3 4 5 6 7 8 9; do
		for k in 0 1 2 3 4 5 6 7 8 9; do
			echo >scan/$i$j$k.raw
		done
	done
done
files=$(cd scan && ls)
yes "$files" | head -n 600000 >list
head -n 15000 list >short

# has_open FILE: the program does.
has_open()
{
	for fd in "/proc/$pid/fd"/*; do
		# shellcheck disable=SC3013 # every sh here has it
		[ ! "$fd" -ef "$1" ] || return 0
	done
	return 1
}

# stops_in_scan LIST: it stands still, and has the list open.
stops_in_scan()
{
	has_open "$1" && stands_still || return 1
	has_open "$1" && return
	kill -CONT "$pid"
	return 1
}

# in_scan SIGNAL [LIST]: the signal comes in a scan.
in_scan()
{
	poll stops_in_scan "${2-list}"
	kill "-$1" "$pid"
	kill -CONT "$pid"
}

# is_up: it takes signals by now, which a thread does.
is_up()
{
	set -- "/proc/$pid/task"/*
	[ $# -ge 2 ]
}

# gone TITLE: soon, with status 130 and nothing half-written.
gone()
{
	ok "$1 is ended by it" poll is_gone
	is_gone || kill -KILL "$pid"
	finish
	is "... with status 130" "$status" 130
	is "... and nothing half-written" "$(echo .run.json* run.json*)" \
		".run.json* ${2:-run.json*}"
}

scan="--name=x --dataset=scan --format=raw --directory=$T/scan
	--compute_time=1ms --json=$T/run.json"
for sig in INT TERM HUP; do
	# shellcheck disable=SC2086 # several options
	background "$MLGEN" $scan --file_list="$T/list"
	in_scan $sig
	gone "SIG$sig: a scan"
	is "... which says so" "$(cat err)" "mlgen: interrupted"
done
# shellcheck disable=SC2086
background "$MLGEN" $scan --file_list="$T/list" --dry-run
in_scan TERM
gone "a dry run"

# used_ticks: the time that it has used, in hundredths of a second.
used_ticks()
{
	read -r stat <"/proc/$pid/stat" || return 1
	# shellcheck disable=SC2086 # a word for each field
	set -- ${stat##*) }
	ticks=$((${12} + ${13}))
}
# goes_on: it has used more time than at the signal.
goes_on()
{
	used_ticks && [ $ticks -gt $((before + 2)) ]
}
# shellcheck disable=SC2086
background env nohup "$MLGEN" $scan --file_list="$T/list" --dry-run
poll stops_in_scan list
used_ticks
before=$ticks
kill -HUP "$pid"
kill -CONT "$pid"
ok "SIGHUP is none for what nohup started" poll goes_on
in_scan TERM
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
background "$MLGEN" $scan --file_list="$T/short" --steps=3 --find-max=batch_size \
	--require='steps>=1'
poll grep -qE '^ *(short|full) ' out
in_scan INT short
gone "a search between its probes" run.json
is "... with a document of what there is" \
	"$(json run.json find_max.interrupted)" true
rm -f run.json

# ---- readers that leave
null="--name=x --ioengine=null --format=raw --num_files=64 --sample_size=4k
	--compute_time=1ms --epochs=1"
# waits_at_log: the program is about to write its log. The shell has the fifo open, too.
waits_at_log()
{
	read -r name <"/proc/$pid/comm" && [ "$name" != sh ] && has_open log.fifo
}
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
	run_to "$MLGEN" $null --epochs=5 --status-interval=10ms 2>&1 >out |
		head -c 1 >byte
	is_json "a reader of stderr that leaves costs nobody the JSON" run.json
	is "... and is no failure" "$(cat status)" 0
	run_to "$MLGEN" $null | :
	is_json "a reader of the report that leaves costs nobody the JSON" \
		run.json
	is "... but is a failure" "$(cat status)" 1
	# There is no room in the pipe, so the log cannot be written before the reader leaves.
	exec 7<>log.fifo
	head -c 65536 /dev/zero >&7
	rm -f run.json
	background sh -c 'exec 7>&-; exec "$@"' sh "$MLGEN" $null --json=run.json \
		--log=log.fifo --log_interval=10ms
	poll waits_at_log
	exec 7>&-
	finish
	is_json "a reader of the log that leaves costs nobody the JSON" run.json
	is "... but is a failure" "$status" 1
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
