#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 153-capture-command.sh - --capture runs a command as if it were not there, and refuses what is none.
# On disk: what other programs do is measured and recorded there.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"

# refused TITLE REGEX ARGUMENTS...
refused()
{
	refused_title=$1 refused_regex=$2
	shift 2
	exits "refused: $refused_title" 2 "$MLGEN" "$@"
	like "$refused_title: in words" "$(cat err)" "$refused_regex"
	is "$refused_title: in one line" "$(wc -l <err)" 1
}

# ---- what is no command
refused "a command without --" \
	"write mlgen --capture=t.mlt -- python3 train.py --epochs 3 -x 'a b'\$" \
	--capture=t.mlt python3 train.py --epochs 3 -x 'a b'
refused "one behind other options" 'write mlgen --capture=t.mlt --duration=1s -- ls --x$' \
	--capture=t.mlt --duration=1s ls --x
refused "no command" 'capture: of what\? Write --capture=t.mlt -- COMMAND' \
	--capture=t.mlt
refused "nothing behind --" 'nothing stands behind --; write --capture=t.mlt -- COMMAND' \
	--capture=t.mlt --
refused "no file" 'capture: no value; write --capture=VALUE' --capture -- true
refused "standard output as the trace" 'capture=-: name a file' --capture=- -- true
refused "a command and a process" 'pid: records what runs already, and behind --' \
	--capture=t.mlt --pid=1 -- true
refused "a command without -- and a process" "pid: records what runs already; leave out 'true'" \
	--capture=t.mlt --pid=1 true
refused "a control group and a command" 'cgroup: records what runs already' \
	--capture=t.mlt --cgroup=/ -- true
refused "a process and a control group" 'pid: and cgroup name what is recorded' \
	--capture=t.mlt --pid=1 --cgroup=/
refused "another user for a process" 'capture-user: is of a command' \
	--capture=t.mlt --pid=1 --capture-user=nobody
refused "a job file" "capture: records a program and takes no job; leave out 'x.job'" \
	x.job --capture=t.mlt -- true
refused "an option of a job" 'rw: is of a job, and --capture records a program' \
	--capture=t.mlt --rw=read -- true
exits "refused: another question" 2 "$MLGEN" --capture=t.mlt --describe -- true
like "another question: in words" "$(cat err)" ': one of .*capture.* at a time$'
for option in trace=x json=x log=x output=x output-format=json 'require=au>1' \
	dry-run readonly; do
	refused "--$option" "^mlgen: ${option%%=*}: is of a run, and --capture records a program; " \
		--capture=t.mlt --"$option" -- true
done
for option in duration=1s pid=1 cgroup=/ capture-user=root buffer=1m \
	capture-backend=strace; do
	refused "--$option alone" "^mlgen: ${option%%=*}: goes with --capture\$" \
		--"$option"
done
refused "a buffer that is no power of two" 'buffer: 3m is no power of two; the next are 2m and 4m' \
	--capture=t.mlt --buffer=3m -- true
refused "a buffer of nothing" 'buffer: .*0' --capture=t.mlt --buffer=0 -- true
printf '[x]\ncgroup=a\n' >x.job
exits "of a job file cgroup is fio's" 2 "$MLGEN" x.job
like "of which mlgen says what to do instead" "$(cat err)" 'x.job:2: cgroup: .*start mlgen in it'

# ---- processes that cannot be recorded
sleep 0.01 &
gone=$!
wait "$gone"
refused "a process that is gone" "pid=$gone: there is no such process" \
	--capture=t.mlt --pid="$gone"
# Some end while they are looked at.
kernel=$(cat /proc/[0-9]*/stat 2>/dev/null |
	awk '$9 != 0 && int($9 / 2097152) % 2 == 1 { print $1; exit }')
if [ -n "$kernel" ]; then
	refused "a thread of the kernel" "pid=$kernel: is a thread of the kernel" \
		--capture=t.mlt --pid="$kernel"
else
	skip "a thread of the kernel" "none is to be seen here"
fi
refused "a number that no process has" 'pid: 5000000' --capture=t.mlt --pid=5000000
refused "a control group that is none" 'cgroup=/nope/nope: is no control group' \
	--capture=t.mlt --cgroup=/nope/nope

# ---- commands that are not there
exits "a command that is not in \$PATH has status 127" 127 \
	"$MLGEN" --capture=t.mlt -- no-such-command
is "and a sentence" "$(cat err)" \
	'mlgen: no-such-command: there is no such command in $PATH'
exits "so has a path to nothing" 127 "$MLGEN" --capture=t.mlt -- ./nothing
: >plain
exits "what may not be executed has status 126" 126 \
	"$MLGEN" --capture=t.mlt -- ./plain
like "and a sentence" "$(cat err)" '^mlgen: \./plain: cannot be executed: '
exits "so has a directory" 126 "$MLGEN" --capture=t.mlt -- "$T"
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
		'^t.mlt: mlgen --describe t.mlt shows more$'
	ok "which is so" "$MLGEN" --describe t.mlt
	like "the trace names the way it was recorded" "$(recorded)" \
		"^entry fact .* capture=$backend\$"
	like "and the command line" "$(recorded)" \
		'^entry fact .* command=.*--capture=t.mlt.* -- cat data$'
	like "and mounts" "$(recorded)" '^entry mount [0-9]+ .* proc /proc '
	unlike "a trace beside it is nothing to speak of yet" "$(cat err)" \
		'lies on the device'
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
		'^mlgen: \./bad\.sh: cannot be executed: the interpreter that it names is not there$'
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
		'^mlgen: note: t.mlt lies on the device that was read from'
else
	unlike "a trace on no device is not" "$(cat err)" 'lies on the device'
fi
exits "a client of containers is told how to record them" 127 sh -c '
	mkdir bin; printf "#!/bin/sh\nexit 127\n" >bin/docker; chmod +x bin/docker
	PATH=$PWD/bin:$PATH exec "$1" --capture=t.mlt --eta=never -- docker run x' - "$MLGEN"
like "with the line" "$(cat err)" \
	'^mlgen: warning: docker .*mlgen --capture=t.mlt --cgroup=PATH'
if [ "$(id -u)" -eq 0 ] && setpriv --version >/dev/null 2>&1; then
	chmod 755 .
	for backend in $backends; do
		is "$backend: --capture-user runs it as somebody else" \
			"$(capture --capture-user=nobody -- sh -c 'id -u; echo $HOME $USER' 2>/dev/null |
				tr '\n' ' ')" \
			"$(id -u nobody) $(getent passwd nobody | cut -d: -f6) nobody "
		like "who is in the trace" "$(recorded)" '^entry fact .* user=nobody$'
	done
	refused "somebody who is not there" 'capture-user=nobody-x: there is no such user' \
		--capture=t.mlt --capture-user=nobody-x -- true
	as_nobody "$MLGEN" --capture=/dev/null --capture-user=root -- true 2>err
	like "only root may" "$(cat err)" 'capture-user=root: only root can run'
else
	skip "--capture-user runs it as somebody else" "needs root"
fi
done_testing
