#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 154-capture-ends.sh - a recording ends with the command, its time or a signal, and its trace is whole.
# Sleeps: commands that have to last, in processes of their own.
# On disk: what other programs do is measured and recorded there.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../captures.sh"

env --default-signal=INT true 2>/dev/null ||
	skip_all "env cannot set what SIGINT does"
printf 'x' >in
# Reads "in" until the file "enough" is there: more than a recording has.
cat >reader.sh <<'EOF'
#!/bin/sh
trap "$1" INT TERM
while [ ! -e enough ]; do
	cat in >/dev/null
	: >begun
	sleep 0.02
done
exit "${2-0}"
EOF
chmod +x reader.sh

is_whole()	# TITLE
{
	like "$1" "$(recorded | grep -E '^(end|entry lost) ')" \
		'^end [0-9]+ 0 0 0$'
}

has_begun()
{
	[ -e begun ]
}

begin()
{
	rm -f begun enough t.mlt
	# A shell has its background ignore SIGINT, and so would the command.
	background env --default-signal=INT "$MLTRACE" record --output=t.mlt --backend="$backend" \
		--eta=never --quiet "$@"
	poll has_begun
}

# The recording is over, and mlgen still there.
has_ended()
{
	grep -q "$1" err
}

# Its status line is there.
records()
{
	grep -q 'capture 1 s' err
}

threads_before()
{
	rm -f begun enough
	python3 -c '
import os, threading, time
def reads(name):
    fd = os.open(name, os.O_RDONLY)
    while not os.path.exists("enough"):
        os.lseek(fd, 0, os.SEEK_SET)
        os.read(fd, 100)
        open("begun", "w").close()
        time.sleep(0.01)
open("in2", "w").write("x" * 200)
threads = [threading.Thread(target=reads, args=(n,)) for n in ("in", "in2")]
[t.start() for t in threads]
[t.join() for t in threads]' &
	reader=$!
	poll has_begun
	begin --pid="$reader" --duration=500ms
	finish
	: >enough
	wait "$reader"
	is "threads that ran before are of their process" \
		"$("$MLTRACE" export --format=csv t.mlt | awk -F, '$6 == "read" { print $3 }' | sort -u)" "$reader"
	is "and are told apart" \
		"$("$MLTRACE" export --format=csv t.mlt | awk -F, '$6 == "read" { print $4 }' | sort -u | grep -c .)" 2
	like "with what the process is" "$("$text" t.mlt)" \
		"^entry process $reader [0-9]+ .*python3 -c"
}

for backend in $backends; do
	note "$backend"

	# ---- the time is over
	begin --duration=1s -- ./reader.sh '' 5
	ok "when the time is over, the recording is" poll has_ended 'have passed'
	like "and the command goes on" "$(cat err)" \
		'^mltrace: note: 1s have passed, and the recording has ended; the command continues$'
	is_whole "the trace is whole by then"
	reads=$(has "$PWD/in" read)
	ok "and has what was read" test "$reads" -gt 0
	sleep 0.2
	: >enough
	finish
	is "the status is the command's" "$status" 5
	is "nothing was recorded behind it" "$(has "$PWD/in" read)" "$reads"

	# ---- signals
	begin -- ./reader.sh 'exit 9'
	kill -INT "$pid"
	finish
	is "SIGINT is the command's, and so is the status" "$status" 9
	is_whole "SIGINT: the trace is whole"
	ok "SIGINT: and has what was read" test "$(has "$PWD/in" read)" -gt 0
	begin -- ./reader.sh ''
	kill -TERM "$pid"
	ok "a command that takes no notice of SIGTERM is waited for" \
		poll has_ended 'interrupted: the recording has ended; the command still runs'
	is_whole "with a whole trace"
	kill -TERM "$pid"
	kill -TERM "$pid"
	sleep 0.1
	kill -TERM "$pid"
	ok "however often it comes" test -d "/proc/$pid"
	: >enough
	finish
	is "the status is the command's then, too" "$status" 0
	begin -- sh -c ': >begun; exec sleep 30'
	kill -HUP "$pid"
	finish
	is "SIGHUP ends a command that does not catch it" "$status" 129

	# ---- killed
	begin -- ./reader.sh '' 0
	sleep 1.5
	kill -KILL "$pid"
	finish 2>/dev/null
	rm -f begun
	ok "a command outlives mlgen that is killed" poll has_begun
	: >enough
	ok "what was recorded can be read" "$MLTRACE" describe t.mlt
	like "the trace has no end" "$(recorded | tail -n 1)" '^end [0-9]+ 0 0 1$'
	ok "but all until the last second" test "$(has "$PWD/in" read)" -gt 0
	exits "its file can be written again" 0 capture -- true

	# ---- a process that runs already
	rm -f begun enough
	./reader.sh '' &
	reader=$!
	poll has_begun
	begin --eta=always --pid="$reader"
	poll records
	kill -INT "$pid"
	finish
	is "SIGINT ends the recording of a process with 130" "$status" 130
	is_whole "and its trace is whole"
	ok "what its children read is in it" test "$(has "$PWD/in" read)" -gt 0
	ok "the process goes on" kill -0 "$reader"
	rm -f begun
	begin --pid="$reader" --duration=200ms
	finish
	is "the time ends it with 0" "$status" 0
	begin --eta=always --pid="$reader"
	poll records
	: >enough
	wait "$reader"
	finish
	is "so does the end of the process" "$status" 0
	is_whole "with a whole trace, too"

	# ---- threads that run already
	if command -v python3 >/dev/null; then
		threads_before
	else
		skip "threads that ran before are of their process" \
			"python3 is not here"
	fi

	# ---- two at once
	begin -- ./reader.sh ''
	exits "a second one into the same file is refused" 2 \
		"$MLTRACE" record --output=t.mlt --backend="$backend" -- true
	"$MLTRACE" record --output=other.mlt --backend="$backend" --eta=never \
		-- cat in >two.out 2>two.err
	is "into another file it is recorded" "$?" 0
	is "with what it does alone" \
		"$("$text" other.mlt | grep -c '^open .*/in ')" 1
	: >enough
	finish
	is "and the first one goes on" "$status" 0
	is_whole "and is whole"
done

# ---- what goes wrong
for backend in $backends; do
	begin --eta=always --buffer=64k -- ./reader.sh ''
	poll records
	if [ $backend = bpf ]; then
		# Nobody empties the buffer for a while.
		kill -STOP "$pid"
		dd_begun=$(has "$PWD/in" read)
		rm -f begun
		poll has_begun
		i=0
		while [ $i -lt 150 ]; do
			rm -f begun
			poll has_begun
			i=$((i + 1))
		done
		kill -CONT "$pid"
		: >enough
		finish
		is "$backend: a command of which something was lost has status 1" \
			"$status" 1
		like "which is told" "$(cat err)" \
			'^mltrace: warning: t.mlt: [0-9]+ events were lost; the trace contains their number; a larger --buffer'
		like "and in the trace" "$(recorded | tail -n 1)" \
			'^end [0-9]+ [1-9][0-9]* 0 0$'
		ok "with all until then" test "$dd_begun" -gt 0
	else
		for child in $(cat "/proc/$pid/task/$pid/children"); do
			[ "$(cat "/proc/$child/comm")" != strace ] ||
				kill -KILL "$child"
		done
		rm -f begun
		ok "$backend: a command outlives strace" poll has_begun
		: >enough
		finish
		is "but what it did is not recorded, and the status is 1" \
			"$status" 1
		like "which is told" "$(cat err)" \
			'mltrace: strace ended early, by signal 9; later operations of the programs are not recorded'
		like "the trace is whole up to there" "$(recorded | tail -n 1)" \
			'^end [0-9]+ [0-9]+ 0 0$'
	fi
done

# ---- a control group
group=
for root in /sys/fs/cgroup /sys/fs/cgroup/unified; do
	[ "$(stat -f -c %T $root 2>/dev/null)" != cgroup2fs ] || group=$root/mlgen-test-$$
done
if [ -n "$group" ] && mkdir "$group" 2>/dev/null; then
	for backend in $backends; do
		rm -f begun enough
		sh -c 'echo $$ >"$1/cgroup.procs"; exec ./reader.sh ""' - "$group" &
		reader=$!
		poll has_begun
		begin --cgroup="/${group##*/}" --duration=300ms
		finish
		[ "$status" -eq 0 ] || note "$(cat err)"
		is "$backend: a control group is recorded, by its name" "$status" 0
		ok "$backend: with what its tasks start" \
			test "$(has "$PWD/in" read)" -gt 0
		begin --eta=always --cgroup="$group"
		poll records
		: >enough
		wait "$reader"
		finish
		[ "$status" -eq 0 ] || note "$(cat err)"
		is "$backend: it ends when the last of them does" "$status" 0
		is_whole "$backend: with a whole trace"
	done
	rmdir "$group"
else
	skip "a control group is recorded" "none can be made here"
fi

# ---- the status line
for backend in $backends; do
	"$MLTRACE" record --output=t.mlt --backend="$backend" --eta=always \
		-- sleep 1.3 2>err
	like "$backend: the status line says how far it is" "$(tr '\r' '\n' <err)" \
		'capture 1 s  [0-9,]+ events/s  [0-9.]+ MB  lost 0  files [0-9]+'
done
done_testing
