#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 153-capture-command.sh - mltrace record runs a command as if it were not there, and refuses what is none.
# On disk: what other programs do is measured and recorded there.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"

# refused TITLE REGEX ARGUMENTS...
refused()
{
	refused_title=$1 refused_regex=$2
	shift 2
	exits "refused: $refused_title" 2 "$MLTRACE" record "$@"
	like "$refused_title: in words" "$(cat err)" "$refused_regex"
	is "$refused_title: in one line" "$(wc -l <err)" 1
}

# ---- what is no command
refused "a command without --" \
	"write mltrace record --output=t.mlt -- python3 train.py --epochs 3 -x 'a b'\$" \
	--output=t.mlt python3 train.py --epochs 3 -x 'a b'
refused "one behind other options" 'write mltrace record --output=t.mlt --duration=1s -- ls --x$' \
	--output=t.mlt --duration=1s ls --x
refused "no command" 'record: no target; write mltrace record -o t.mlt -- COMMAND' \
	--output=t.mlt
refused "nothing behind --" 'no command follows --; write mltrace record -o t.mlt -- COMMAND' \
	--output=t.mlt --
refused "no file" 'record: needs a file for the trace; name it with -o FILE' -- true
refused "no value" 'output: no value; write --output=VALUE' -o -- true
refused "standard output as the trace" 'output=-: a trace cannot go to standard output' --output=- -- true
refused "a command and a process" 'pid: records a running target, but a command follows --' \
	--output=t.mlt --pid=1 -- true
refused "a command without -- and a process" "pid: records a running target; leave out 'true'" \
	--output=t.mlt --pid=1 true
refused "a control group and a command" 'cgroup: records a running target' \
	--output=t.mlt --cgroup=/ -- true
refused "a process and a control group" 'pid: both pid and cgroup select what is recorded' \
	--output=t.mlt --pid=1 --cgroup=/
refused "another user for a process" 'user: applies to a command' \
	--output=t.mlt --pid=1 --user=nobody
refused "an option of another command" 'json: is an option of mltrace describe, not of mltrace record' \
	--output=t.mlt --json=x -- true
refused "an option that is misspelt" "durtion: unknown option; did you mean 'duration'" \
	--output=t.mlt --durtion=1s -- true
exits "refused: a command that is misspelt" 2 "$MLTRACE" recrod -o t.mlt -- true
like "with the nearest" "$(cat err)" "^mltrace: recrod: no such command; did you mean 'record'"
refused "a buffer that is no power of two" 'buffer: 3m is not a power of two; the nearest are 2m and 4m' \
	--output=t.mlt --buffer=3m -- true
refused "a buffer of nothing" 'buffer: .*0' --output=t.mlt --buffer=0 -- true
printf '[x]\ncgroup=a\n' >x.job
exits "of a job file cgroup is fio's" 2 "$MLGEN" x.job
like "of which mlgen says what to do instead" "$(cat err)" 'x.job:2: cgroup: .*start mlgen in the control group'

# ---- processes that cannot be recorded
sleep 0.01 &
gone=$!
wait "$gone"
refused "a process that is gone" "pid=$gone: there is no such process" \
	--output=t.mlt --pid="$gone"
# Some end while they are looked at.
kernel=$(cat /proc/[0-9]*/stat 2>/dev/null |
	awk '$9 != 0 && int($9 / 2097152) % 2 == 1 { print $1; exit }')
if [ -n "$kernel" ]; then
	refused "a thread of the kernel" "pid=$kernel: is a kernel thread" \
		--output=t.mlt --pid="$kernel"
else
	skip "a thread of the kernel" "none is to be seen here"
fi
refused "a number that no process has" 'pid: 5000000' --output=t.mlt --pid=5000000
refused "a control group that is none" 'cgroup=/nope/nope: is not a control group' \
	--output=t.mlt --cgroup=/nope/nope

# ---- commands that are not there
exits "a command that is not in \$PATH has status 127" 127 \
	"$MLTRACE" record --output=t.mlt -- no-such-command
is "and a sentence" "$(cat err)" \
	'mltrace: no-such-command: command not found in $PATH'
exits "so has a path to nothing" 127 "$MLTRACE" record --output=t.mlt -- ./nothing
: >plain
exits "what may not be executed has status 126" 126 \
	"$MLTRACE" record --output=t.mlt -- ./plain
like "and a sentence" "$(cat err)" '^mltrace: \./plain: cannot be executed: '
exits "so has a directory" 126 "$MLTRACE" record --output=t.mlt -- "$T"
not_ok "no trace is made of any of that" test -e t.mlt

# ---- what works
. "$(dirname "$0")/../captures.sh"
printf '#!/no/such/interpreter\n' >bad.sh
printf 'a\nb\n' >in
# Of ignored signals the 31 that programs have: 32 and 33 are the C library's own,
# which no program can hand down.
cat >status.sh <<'END'
#!/bin/sh
exec sed -nE 's/^(SigIgn:.*)[0-9a-f]{2}(.{7})$/\1--\2/
	/^(Sig(Blk|Ign|Cgt)|CapAmb|NoNewPrivs):/p' /proc/self/status
END
chmod +x bad.sh status.sh
(trap '' QUIT; exec ./status.sh) >bare

for backend in $backends; do
	note "$backend"
	head -c 300000 /dev/urandom >data
	capture -- cat data >copy 2>err
	is "the status of success is 0" "$?" 0
	ok "standard output is the command's, and nothing else" cmp data copy
	is "the file is in the trace" "$(has "$PWD/data" open)" 1
	is "with all its bytes" "$(recorded | awk -v f="$PWD/data" '
		($1 == "read" && $2 == f && $5 > 0) { n += $5 } END { print n + 0 }')" 300000
	like "a short description follows" "$(cat err)" '^trace: .* read at '
	like "and where there is more" "$(cat err)" \
		'^t.mlt: mltrace describe t.mlt shows more$'
	ok "which is so" "$MLTRACE" describe t.mlt
	like "the trace names the way it was recorded" "$(recorded)" \
		"^entry fact .* capture=$backend\$"
	like "and the command line" "$(recorded)" \
		'^entry fact .* command=.*record --output=t.mlt.* -- cat data$'
	like "and mounts" "$(recorded)" '^entry mount [0-9]+ .* proc /proc '
	unlike "a trace beside it is nothing to speak of yet" "$(cat err)" \
		'is on the device'
	printf 'a\nb\n' | capture --quiet -- cat >out 2>err
	is "standard input is the command's" "$(cat out)" "$(cat in)"
	is "--quiet leaves the first line of the description" \
		"$(grep -c '^trace: ' err) $(grep -c '^who ' err)" "1 0"
	exits "the command's status is mlgen's" 7 capture -- sh -c 'exit 7'
	exits "of one that a signal ended 128 and its number" 143 \
		capture -- sh -c 'kill -TERM $$'
	exits "of one whose core may be dumped, too" 134 \
		capture -- sh -c 'ulimit -c 0; kill -ABRT $$'
	exits "a script without its interpreter has status 127" 127 \
		capture -- ./bad.sh
	like "and a sentence" "$(cat err)" \
		'^mltrace: \./bad\.sh: cannot be executed: its interpreter does not exist$'
	(trap '' QUIT; capture -- ./status.sh) >seen 2>err
	is "signals, capabilities and privileges are as without mlgen" \
		"$(cat seen)" "$(cat bare)"
	exits "what the command says goes to standard error" 0 \
		capture --quiet -- sh -c 'echo oops >&2'
	like "is there" "$(cat err)" '^oops$'
	is "descriptors of mlgen's own are not the command's" \
		"$(capture -- sh -c 'ls /proc/self/fd' 2>/dev/null | wc -l)" \
		"$(sh -c 'ls /proc/self/fd' | wc -l)"
	is "others that were open are" \
		"$(capture -- sh -c 'cat <&5' 5<in 2>/dev/null)" "$(cat in)"
	is "options behind -- are the command's" \
		"$(capture -- printf '%s ' --help --capture=x -- 2>/dev/null)" \
		"--help --capture=x -- "
done
head -c 3000000 /dev/zero >large
backend=${backends##* }
capture -- cat large >/dev/null 2>err
# Memory and the network have no number of a device.
if [ $(($(stat -c %d .) / 256)) -gt 0 ]; then
	like "a trace on the device that is read is told" "$(cat err)" \
		'^mltrace: note: t.mlt is on the device that was read from'
else
	unlike "a trace on no device is not" "$(cat err)" 'is on the device'
fi
exits "a client of containers is told how to record them" 127 sh -c '
	mkdir bin; printf "#!/bin/sh\nexit 127\n" >bin/docker; chmod +x bin/docker
	PATH=$PWD/bin:$PATH exec "$1" record -o t.mlt --eta=never -- docker run x' - "$MLTRACE"
like "with the line" "$(cat err)" \
	'^mltrace: warning: docker .*mltrace record -o t.mlt --cgroup=PATH'
if [ "$(id -u)" -eq 0 ] && setpriv --version >/dev/null 2>&1; then
	chmod 755 .
	for backend in $backends; do
		is "$backend: --user runs it as somebody else" \
			"$(capture --user=nobody -- sh -c 'id -u; echo $HOME $USER' 2>/dev/null |
				tr '\n' ' ')" \
			"$(id -u nobody) $(getent passwd nobody | cut -d: -f6) nobody "
		like "who is in the trace" "$(recorded)" '^entry fact .* user=nobody$'
	done
	refused "somebody who is not there" 'user=nobody-x: there is no such user' \
		--output=t.mlt --user=nobody-x -- true
	as_nobody "$MLTRACE" record --output=/dev/null --user=root -- true 2>err
	like "only root may" "$(cat err)" 'user=root: only root can run'
else
	skip "--user runs it as somebody else" "needs root"
fi
done_testing
