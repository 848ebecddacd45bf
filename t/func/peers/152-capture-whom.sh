#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 152-capture-whom.sh - whom BPF follows (running trees, control groups), what it says of losses, and that nothing stays behind.
# On disk: what other programs do is measured and recorded there.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../bpf.sh"

python=/usr/bin/python3
[ -x $python ] || skip_all "$python is not here"
here=$(pwd -P)
head -c 1048576 /dev/zero >data

# ---- a tree that runs ----

# Threads and a child read until the file "stop" is there, and count.
cat >tree.py <<'END'
import os, threading, time
def loop():
    while not os.path.exists("stop"):
        fd = os.open("data", os.O_RDONLY)
        os.read(fd, 100)
        os.close(fd)
        time.sleep(0.005)
child = os.fork()
threads = [threading.Thread(target=loop) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
if child:
    open("ready", "w").close()
    os.wait()
END

# from_outside OPTION VALUE: record the tree for a while.
from_outside()
{
	rm -f x.mlt
	"$recorder" "$1" "$2" x.mlt 2>said &
	recorder_pid=$!
	poll grep -q attached said
	poll sh -c "[ $(wc -c <x.mlt) -ge 0 ]"
	sleep 0.5
	kill -INT $recorder_pid
	wait $recorder_pid
	recorder_status=$?
	"$text" x.mlt >x.txt
}

readers()
{
	awk -v f="$here/data" '$1 == "read" && $2 == f { print $7 }' x.txt |
		sort -u | wc -l
}

rm -f stop
$python -B -I -S tree.py &
tree=$!
sleep 0.3
from_outside -p $tree
is "of a tree that runs all threads of all processes are followed" \
	"$recorder_status $(readers)" "0 6"
is "both processes have an entry with what they were started as" \
	"$(awk '$1 == "entry" && $2 == "process" && $NF == "tree.py" {
		print $3 }' x.txt | sort -u | wc -l)" 2
like "the parent of the child is known" "$(awk '$1 == "entry" &&
	$2 == "process" { print $3, $4 }' x.txt)" "^[0-9]+ $tree\$"

group=
for folder in /sys/fs/cgroup /sys/fs/cgroup/memory /sys/fs/cgroup/pids; do
	if mkdir "$folder/mlgen-test-$$" 2>/dev/null; then
		group=$folder/mlgen-test-$$
		[ -f "$group/cgroup.procs" ] && break
		rmdir "$group"
		group=
	fi
done
if [ -n "$group" ] && mkdir "$group/inner" &&
	echo $tree 2>/dev/null >"$group/inner/cgroup.procs"; then
	from_outside -c "$group"
	is "of a control group all tasks in it and below, and their children" \
		"$recorder_status $(readers)" "0 6"
else
	skip "of a control group all tasks" "no control group can be made here"
fi
touch stop
wait $tree
if [ -n "$group" ]; then
	exits "a control group without a process is refused" 1 \
		"$recorder" -c "$group" y.mlt
	like "with a word" "$(cat err)" 'no process runs in this control group'
	rmdir "$group/inner" "$group"
fi
exits "what is no control group is, too" 1 "$recorder" -c "$here" y.mlt
like "and says so" "$(cat err)" 'not a control group'
exits "and a process that is gone" 1 "$recorder" -p $tree y.mlt
like "by its number" "$(cat err)" "process $tree: no such process"
kernel=$(ps -o pid= --ppid 2 2>/dev/null | head -n 1 | tr -d ' ')
if [ -n "$kernel" ]; then
	exits "a thread of the kernel is none" 1 "$recorder" -p "$kernel" y.mlt
	like "and is called that" "$(cat err)" 'kernel thread'
else
	skip "a thread of the kernel is none" "none is seen here"
fi

# ---- loss ----

cat >fast.py <<'END'
import os
fd = os.open("data", os.O_RDONLY)
for i in range(300000): os.pread(fd, 1, i)
END
record -b 65536 $python -B -I -S fast.py
is "a ring that is too small loses, and says exactly how much" \
	"$(awk -v f="$here/data" '$1 == "read" && $2 == f { n++ }
		$1 == "entry" && $2 == "lost" && $3 == 4 { n += $4 }
		END { print n }' x.txt)" 300000
like "when, and why" "$(grep 'entry lost 4' x.txt)" \
	'lost 4 [0-9]+ [0-9]+ [0-9]+ 0 - the ring between kernel and mlgen was full'
not_ok "there was a loss" [ "$(said lost)" = 0 ]
record $python -B -I -S fast.py
is "the usual one holds it all" "$(said lost) $(of read "$here/data" | wc -l)" \
	"0 300000"

# ---- killed ----

if command -v bpftool >/dev/null || [ -x /usr/sbin/bpftool ]; then
	PATH=$PATH:/usr/sbin
	rm -f x.mlt
	"$recorder" x.mlt sh -c 'sleep 0.7; echo on >later
		while [ ! -e over ]; do sleep 0.2; done' 2>said &
	killed=$!
	poll test -s later
	programs=$(sed -n 's/^prog_id:[[:blank:]]*//p' /proc/$killed/fdinfo/* |
		sort -u)
	kill -9 $killed
	wait $killed 2>/dev/null
	: >over
	for program in $programs; do
		poll sh -c "! bpftool prog show id $program >/dev/null 2>&1" ||
			note "program $program is still there"
	done
	is "killed, none of its programs stays in the kernel" \
		"$(echo "$programs" | wc -l | awk '{ print ($1 > 10) }') $(
		for program in $programs; do
			bpftool prog show id "$program" 2>/dev/null
		done)" "1 "
	"$text" x.mlt >x.txt
	like "and its trace can be read as far as it goes" "$(tail -n 1 x.txt)" \
		'^end [0-9]+ 0 0 1'
else
	skip "killed, nothing of it stays in the kernel" "no bpftool"
fi

# ---- rights ----

exits "without its rights it says which, and what to do" 77 \
	setpriv --reuid=65534 --clear-groups --bounding-set=-all \
	--inh-caps=-all "$recorder" y.mlt true
like "by name" "$(cat err)" 'lacks both; run mltrace under sudo, or'
exits "one of the two is not enough" 77 \
	setpriv --bounding-set=-perfmon,-sys_admin --inh-caps=-all \
	--ambient-caps=-all "$recorder" y.mlt true
like "it names the other" "$(cat err)" 'lacks CAP_PERFMON'
chmod 755 .
mkdir -m 777 open
cp "$recorder" open/recorder
exits "the two are all it takes, for whoever has them" 0 \
	setpriv --reuid=65534 --regid=65534 --clear-groups \
	--bounding-set=-all,+bpf,+perfmon --inh-caps=-all,+bpf,+perfmon \
	--ambient-caps=-all,+bpf,+perfmon open/recorder open/x.mlt cat data
like "and what it records is whole" "$("$text" open/x.mlt)" \
	"^read $here/data 0 [0-9]+ [1-9]"
if unshare -Ur true 2>/dev/null; then
	exits "root of a user namespace is nobody" 77 unshare -Ur "$recorder" \
		y.mlt true
	like "and learns why" "$(cat err)" 'user namespace'
fi

# ---- another architecture ----

cat >old.c <<'END'
__asm__(".globl _start\n"
	"_start: mov $5, %eax; mov $name, %ebx; xor %ecx, %ecx; int $0x80\n"
	"mov $1, %eax; xor %ebx, %ebx; int $0x80\n"
	".data\n"
	"name: .asciz \"data\"\n");
END
if gcc -m32 -nostdlib -static -no-pie -o old old.c 2>/dev/null && ./old; then
	record ./old
	is "calls of a program with other numbers are not taken for ours" \
		"$(grep -c "^[a-z]* $here/data" x.txt)" 0
	like "and that they are missing is said" "$(cat said)" \
		'another architecture are not recorded: [1-9]'
else
	skip "calls of a program with other numbers are not taken for ours" \
		"no such program can be built or run here"
fi

# ---- a folder that is its root ----

mkdir jail
if unshare -m sh -c 'mount --bind / jail && chroot jail true' 2>/dev/null; then
	unshare -m sh -c 'mount --bind / jail && exec "$@"' - "$recorder" x.mlt \
		chroot "$here/jail" cat /etc/passwd >/dev/null 2>said
	"$text" x.mlt >x.txt
	is "names begin where the program's root is" \
		"$(awk '$1 == "read" { print $2 }' x.txt | grep '/etc/passwd$' | sort -u)" \
		/etc/passwd
else
	skip "names begin where the program's root is" \
		"no folder can be made a root here"
fi
done_testing
