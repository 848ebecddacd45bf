#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 158-import-strace.sh - what strace wrote of a program, in any of its forms, is what the program did.

. "$(dirname "$0")/../tap.sh"
command -v strace >/dev/null || skip_all "strace is not here"
command -v python3 >/dev/null || skip_all "python3 is not here"
strace -o probe true 2>/dev/null || skip_all "strace may not trace here"
python=$(python3 -c 'import sys; print(sys.executable)')
mkdir d

# Every call on what is below d is in `wanted`, in its order.
cat >did.py <<'END'
import os, sys, mmap, threading
d = os.fsencode(sys.argv[1])
def at(name): return d + b"/" + name
fd = os.open(at(b"a"), os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
os.write(fd, b"x" * 10000)
os.lseek(fd, 100, os.SEEK_SET)
os.read(fd, 50)
os.preadv(fd, [bytearray(10), bytearray(20)], 7)
os.readv(fd, [bytearray(10), bytearray(20)])
os.pwritev(fd, [b"aa", b"bbb"], 5)
os.fsync(fd)
os.fdatasync(fd)
m = mmap.mmap(fd, 4096, prot=mmap.PROT_READ, flags=mmap.MAP_SHARED)
m.madvise(mmap.MADV_RANDOM)
m.close()
if len(sys.argv) == 2:
    child = os.fork()
    if child == 0:
        os.read(fd, 11)
        os.close(fd)
        odd = os.open(at(b"odd \n\xe9<>"), os.O_WRONLY | os.O_CREAT)
        os.write(odd, b"child")
        os._exit(3)
    os.waitpid(child, 0)
    os.read(fd, 12)
    t = threading.Thread(target=lambda: os.read(fd, 13))
    t.start()
    t.join()
copy = os.dup(fd)
os.lseek(copy, 0, os.SEEK_SET)
os.close(fd)
os.read(copy, 14)
os.posix_fallocate(copy, 0, 4096)
os.posix_fadvise(copy, 1, 2, os.POSIX_FADV_DONTNEED)
os.ftruncate(copy, 77)
os.close(copy)
try: os.open(at(b"none"), os.O_RDONLY)
except OSError: pass
log = os.open(at(b"log"), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)
os.write(log, b"1")
os.write(log, b"22")
os.close(log)
os.stat(at(b"log"))
os.rename(at(b"log"), at(b"old"))
os.mkdir(at(b"e"))
os.chdir(at(b"e"))
here = os.open(b"f", os.O_WRONLY | os.O_CREAT)
os.close(here)
os.unlink(b"f")
os.rmdir(at(b"e"))
r, w = os.pipe()
os.write(w, b"z")
os.read(r, 1)
END

# op, file, offset, bytes, result; what differs from run to run is left out.
cat >alone <<'END'
open a
write a 0 10000 10000
read a 100 50 50
read a 7 30 30
read a 150 30 30
write a 5 5 5
fsync a  0 0
fdatasync a  0 0
stat a  10000 0
mmap a 0 4096
advise a  4096 0
close a  0 0
munmap a
close a  0 0
read a 0 14 14
allocate a 0 4096 0
advise a 1 2 0
allocate a 0 77 0
close a  0 0
open none
open log
write log 0 1 1
write log 1 2 2
close log  0 0
stat log  3 0
rename log\x00old  0 0
mkdir e  0 0
open e/f
close e/f  0 0
unlink e/f  0 0
rmdir e  0 0
END
sed '/^munmap/a\
read a 180 11 11\
close a  0 0\
open odd \\x0A\\xE9<>\
write odd \\x0A\\xE9<> 0 5 5\
read a 191 12 12\
read a 203 13 13' alone >wanted

# did LOG...: what the trace of it has below d. Some Pythons ask for the size
# of what is mapped by statx, some copy descriptors once more.
did()
{
	"$MLTRACE" import --format=strace "$@" --output=t.mlt >out 2>err || return
	"$MLTRACE" export --format=csv t.mlt 2>/dev/null >t.csv
	awk -F, -v d="$T/d/" 'index($7, d) == 1 {
		op = $6; file = $7; gsub(d, "", file)
		more = " " $8 " " $9
		if (op != "mmap")
			more = more " " $10
		if (op == "open" || op == "munmap")
			more = ""
		print op " " file more
	}' t.csv
}

# traced TITLE OPTION...: strace's log, with -o, of the whole program
traced()
{
	traced_title=$1
	shift
	rm -rf d log log.*
	mkdir d
	if ! strace "$@" -o log "$python" -I -S did.py "$T/d" \
		>/dev/null 2>says; then
		skip "$traced_title" "strace: $(head -n 1 says)"
		return 1
	fi
	is "$traced_title" "$(did log*)" "$(cat wanted)"
	is "  with no line that could not be read" \
		"$(grep -c 'could not be read' err)" 0
}

traced "the best form of a log is what the program did" -f -ttt -T -yy
is "whose calls have a duration each" "$(awk -F, '$2 == ""' t.csv)" ""
like "and whose offsets are told to follow from others" "$(cat err)" \
	'offsets or sizes were inferred from earlier calls'
is "the processes are there, with what they ran" \
	"$("$MLTRACE" describe t.mlt --output-format=json 2>/dev/null |
	grep -c '"command": .*did\.py')" 2
traced "without -y, too" -f -ttt -T
traced "without -T" -f -ttt -y
like "of which durations are not known" "$(cat err)" 'no duration; strace -T'
traced "with a time of day" -f -tt -T
like "of which the date is not known" "$(cat err)" 'times have no date'
traced "with seconds only" -f -t
traced "with nanoseconds, by seccomp" -f -yy --seccomp-bpf \
	--absolute-timestamps=format:unix,precision:ns --syscall-times=ns
traced "with all strings in hexadecimal" -f -ttt -T -yy -xx
traced "with structures at length, and numbers of calls" -f -ttt -v -n -y
traced "with the names of processes" -f -ttt -Y -y
traced "of the calls that mltrace record asks for" -f -ttt -T -yy -e signal=none \
	-e trace=%file,%desc,%process,%memory
traced "in a file for each thread" -ff -ttt -T -y

rm -rf d && mkdir d
strace -f -ttt -T "$python" -I -S did.py "$T/d" 2>log >/dev/null
is "from standard error, where only some lines have a pid" "$(did log)" \
	"$(cat wanted)"
is "and all of them are of a process" \
	"$(awk -F, '$3 == "" && $6 != "op"' t.csv)" ""
is "through a pipe" "$(cat log | did -)" "$(cat wanted)"

rm -rf d && mkdir d
strace -ttt -T -o log "$python" -I -S did.py "$T/d" alone
is "of one process without -f" "$(did log)" "$(cat alone)"
exits "such a trace is described" 0 "$MLTRACE" describe t.mlt

# ---- what is refused
strace -o log true
exits "a log without times is refused" 2 \
	"$MLTRACE" import --format=strace log --output=no.mlt
like "with the options that make them" "$(cat err)" \
	'log:1: has no time; .*strace -f -ttt -T -yy'
strace -r -o log true
exits "so are times since the line before" 2 \
	"$MLTRACE" import --format=strace log --output=no.mlt
like "which are named" "$(cat err)" 'the previous line \(-r\)'
not_ok "and leave no trace" test -e no.mlt
exits "what is no log is refused" 2 \
	"$MLTRACE" import --format=strace did.py --output=no.mlt
like "with its first line" "$(cat err)" 'did\.py:1: '

strace -ttt -o log true
cp log damaged && echo 'Hello' >>damaged
exits "a line of something else is too much in a short log" 2 \
	"$MLTRACE" import --format=strace damaged --output=no.mlt
like "which says where it stands" "$(cat err)" \
	"damaged:$(wc -l <damaged | tr -d ' '): "
exits "but not with --lenient" 0 \
	"$MLTRACE" import --format=strace damaged --output=no.mlt --lenient
printf '%s' "$(cat log)" >part
exits "a last line without an end is left out" 0 \
	"$MLTRACE" import --format=strace part --output=no.mlt
like "with a warning" "$(cat err)" 'the last line is incomplete'

done_testing
