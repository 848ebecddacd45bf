#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 196-live.sh - the live view on terminals of tmux: what it shows, how it is left, and where it is refused.
# Sleeps: pictures are waited for, by looking at the terminal.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"

run="--name=a --ioengine=null --format=raw --num_files=400 --sample_size=64k
	--batch_size=4 --compute_time=2ms --epochs=100000 --runtime=60
	--directory=$T/d --ceiling=no"

# ---- refused, with the way out ----

# shellcheck disable=SC2086 # several options
{
exits "without a terminal it is refused" 2 "$MLGEN" $run --live
if grep -q '^#define HAVE_NCURSES' "$BUILT/config.h"; then
	is "... which says what there is instead" "$(cat "$T/err")" \
		"mlgen: live: neither standard error nor standard output is a terminal; --status-interval=10s prints lines, --log=FILE writes them"
else
	like "... which names the library" "$(cat "$T/err")" "built without ncurses.*libncurses-dev"
fi
exits "beside a search it is refused" 2 "$MLGEN" $run --live --find-max=accelerators
like "... with the option's name" "$(cat "$T/err")" "live: is for a single run, which --find-max is not"
exits "beside eta=always it is refused" 2 "$MLGEN" $run --live --eta=always
like "... for there is one place" "$(cat "$T/err")" "live: replaces the status line"
exits "a dry run has nothing to show" 2 "$MLGEN" $run --live --dry-run
like "... and says so" "$(cat "$T/err")" "live: shows a run, but --dry-run does not run jobs"
}
grep -q '^#define HAVE_NCURSES' "$BUILT/config.h" ||
	{ skip "the view" "built without ncurses"; done_testing; exit; }
command -v tmux >/dev/null ||
	{ skip "the view" "tmux is not installed"; done_testing; exit; }

# ---- a terminal ----

TMUX_TMPDIR=$T
export TMUX_TMPDIR
unset TMUX
screens=0

tm()
{
	tmux -u -L "live$screens" "$@" 2>/dev/null
}
trap 'tm kill-server; rm -rf "$T"' EXIT

# screen COLUMNS ROWS: a new terminal with a shell.
screen()
{
	tm kill-server
	screens=$((screens + 1)) # one that ends may still be there
	tm -f /dev/null new-session -d -x "$1" -y "$2" -s s \
		"env PS1='$ ' LC_ALL=${3:-C.UTF-8} sh"
}

# type LINE: a command for it, told by the file "status" when it is over.
type_line()
{
	rm -f status
	printf '%s\necho $? >status\nstty -a >tty.after\n' "$1" >line.sh
	tm send-keys -t s ". ./line.sh" Enter
}

picture()
{
	tm capture-pane -p -t s
}

shows()
{
	picture | grep -qE "$1"
}

is_over()
{
	[ -s tty.after ] && [ -s status ]
}

# see TITLE REGEX: it comes.
see()
{
	poll shows "$2"
	like "$1" "$(picture)" "$2"
}

# line_of REGEX: its number in the picture, from 1.
line_of()
{
	picture | grep -nE "$1" | head -1 | cut -d: -f1
}

live=$(echo "$MLGEN $run --live --json=$T/run.json" | tr '\n\t' '  ')

screen 80 24
tm send-keys -t s "stty -a >tty.before" Enter
poll test -s tty.before
type_line "$live"
see "at 80x24 the first line says how the run is ended" "^ mlgen .* 1 job .*q stops the run and reports"
see "... throughput" "Throughput +[0-9.]+ [MG]iB/s"
see "... a curve of it" "[▁▂▃▄▅▆▇█]"
see "... AU" "^ AU +[0-9.]+%"
see "... where accelerators' time goes" "Accelerators +[█▒░]+ +compute [0-9.]+%  +stall [0-9.]+% +other"
see "... and read threads'" "Read threads +[█▒░]+ +I/O [0-9.]+% +idle"
see "... percentiles" "Latency, ms +p50 +p90 +p99 +p99.9 +max +count"
see "... of each kind" "^ stall +[0-9.]+ "
see "... a row of the job" "^ a +train +[0-9]+/"
unlike "... which only reads, and shows no rate of writes" \
	"$(picture | grep -E '^ a +train')" " 0\.00 MiB/s"
is "... in 24 rows of at most 80 columns" \
	"$(picture | awk '{ gsub(/[^ -~]/, "") } length > 80 || NR > 24')" ""

tm resize-window -t s -x 120 -y 40
see "made larger, it has more columns" "Stall p99"
tm resize-window -t s -x 79 -y 23
see "made too small, it says what it takes" "^79x23: the live view needs 80x24"
see "... and that the run goes on" "the run continues: .*; q stops it"
tm resize-window -t s -x 10 -y 2
tm resize-window -t s -x 100 -y 30
see "and large again it is whole" "^ a +train .* Reads/s|^ Job .*Reads/s"
tm send-keys -t s q
ok "q ends the run" poll is_over
is "... with the status of an interruption" "$(cat status)" 130
see "... and the report is on the terminal" "^a: .*interrupted|accelerator time|host  "
like "... as it is in the document" "$(cat run.json)" '"interrupted": true'
is "... which is as it was" "$(grep -v '^speed' tty.after)" "$(grep -v '^speed' tty.before)"
not_ok "... without the picture" shows "q stops the run"

screen 120 40
type_line "$live >report.txt"
see "with the report in a file the view is on the terminal" "^ a +train"
tm send-keys -t s C-c
ok "Ctrl-C ends the run" poll is_over
is "... with the same status" "$(cat status)" 130
like "... the report is in the file" "$(cat report.txt)" "^a: .*interrupted"
is "... without a letter of the view" "$(grep -c "$(printf '\033')" report.txt)" 0
see "... and what was told meanwhile on the terminal" "mlgen: note: interrupted: no new operations are started"

screen 80 24
type_line "$live | cat >report.txt"
see "a pipe takes the report alone" "^ a +train"
tm send-keys -t s q
ok "... of a run that q ends" poll is_over
like "... which comes through it" "$(cat report.txt)" "^a: .*interrupted"

type_line "$live 2>err.txt"
see "with messages in a file the view is on standard output's terminal" "^ a +train"
tm send-keys -t s q
ok "... and q ends it" poll is_over
like "... the messages are in the file" "$(cat err.txt)" "interrupted: no new operations"

# ---- other ways out ----

type_line "$live"
see "a run that is killed by a signal of a fault" "^ a +train"
pid=$(pgrep -f -- "--directory=$T/d --ceiling" | head -1)
kill -ABRT "$pid"
ok "... leaves" poll is_over
is "... a terminal as it was" "$(grep -v '^speed' tty.after)" "$(grep -v '^speed' tty.before)"
not_ok "... without the picture" shows "q stops the run"

type_line "$(echo "$live" | sed 's/--runtime=60/--runtime=1/')"
ok "a run that ends by itself leaves" poll is_over
is "... with its status" "$(cat status)" 0
is "... a terminal as it was" "$(grep -v '^speed' tty.after)" "$(grep -v '^speed' tty.before)"
see "... and its report there" "accelerator time|host  |steady  "

type_line "TERM=dumb $live"
ok "TERM=dumb is refused" poll is_over
see "... which says why" "live: TERM is dumb, so the terminal has no screen"
type_line "TERM=no-such-terminal $live"
ok "a terminal that nothing is known of is refused" poll is_over
see "... by its name" "the terminal type TERM=no-such-terminal is unknown"
is "... with the status of a wrong command" "$(cat status)" 2

# ---- names, jobs, letters ----

names=$(i=0; while [ $i -lt 30 ]; do printf ' --name=job%d' $i; i=$((i + 1)); done)
many=$(echo "$live" | sed "s/--name=a//; s/\$/$names/")
screen 80 24
type_line "$many"
see "of thirty jobs as many are shown as there is room for" "^ and [0-9]+ more"
see "... in the last row" "^ job0 +(train|wait)"
is "... which is the 24th" "$(line_of '^ and [0-9]+ more')" 24
tm send-keys -t s q
poll is_over

screen 80 24 C
type_line "$(echo "$live" | sed 's/--name=a/--name=bücher/')"
see "without UTF-8 the picture is of ASCII" "Accelerators +[#=.]+ +compute"
see "... names, too" "^ b\?cher +train"
is "... all of it" "$(picture | LC_ALL=C grep -c '[^ -~]')" 0
tm send-keys -t s q
ok "... and q ends it" poll is_over

tm kill-server
done_testing
