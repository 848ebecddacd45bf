#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 150-capture-bpf.sh - what BPF records of a program is what strace sees of it, file by file and call by call.
# On disk: what other programs do is measured and recorded there.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"
. "$(dirname "$0")/../bpf.sh"

can_trace || skip_all "strace is not here or not allowed"
python=/usr/bin/python3
[ -x $python ] || skip_all "$python is not here"
here=$(pwd -P)

# As lines of both: OP PATH [OFF LEN RESULT]; of stat, how many. Where output goes
# is not compared.
ours()
{
	awk '
	$1 ~ /^(read|write)$/ { print $1, $2, $3, $4, $5 }
	$1 == "open" && $5 >= 0 { print $1, $2 }
	$1 == "open" && $5 < 0 { failed++ }
	$1 ~ /^(close|mmap|getdents|fsync)$/ { print $1, $2 }
	$1 == "stat" { stats++ }
	$1 ~ /^(mkdir|rmdir|unlink)$/ { print $1, $2, $5 }
	$1 == "rename" { print $1, $2, $5, $10 }
	END { print "failed opens", failed + 0; print "stats", stats + 0 }
	' x.txt | sort
}

# Of a file per thread, so that no line is cut: where reads are follows from
# opens, seeks and reads before.
theirs()
{
	for thread in st/*; do
		awk -v here="$here/" '
		function result(	t) {
			t = $0
			sub(/.*\) += /, "", t)
			return t
		}
		# Between the nth < and its >, of what stands before the result.
		function path(n,	t) {
			t = $0
			while (n-- > 0)
				sub(/^[^<]*</, "", t)
			sub(/>.*/, "", t)
			return t ~ /^\// && t !~ /^\/dev\/(null|tty|pts)/ ? t : ""
		}
		function argument(back,	t, parts, count) {
			t = $0
			sub(/\) += [^)]*$/, "", t)
			count = split(t, parts, ", ")
			return parts[count - back]
		}
		# The nth string, below here.
		function named(n,	parts, t) {
			split($0, parts, "\"")
			t = parts[2 * n]
			return t ~ /^\// ? t : here t
		}
		{
			call = $0
			sub(/\(.*/, "", call)
			fd = $0
			sub(/^[a-z0-9_]*\(/, "", fd)
			sub(/[<,].*/, "", fd)
			got = result()
			value = got + 0
		}
		call ~ /^(openat|open|creat)$/ && got ~ /^-1/ { failed++ }
		call ~ /^(openat|open|creat)$/ && got !~ /^-1/ {
			name = got
			sub(/^[0-9]+</, "", name)
			sub(/>$/, "", name)
			if (name !~ /^\/dev\/(null|tty|pts)/)
				print "open", name
			at[value] = 0
			appends[value] = /O_APPEND/
		}
		call == "lseek" { at[fd] = value }
		call ~ /^(read|write)$/ && path(1) {
			if (appends[fd])
				at[fd] = size[path(1)] + 0
			print call, path(1), at[fd] + 0, argument(0), value
			at[fd] += value
			if (call == "write" && at[fd] > size[path(1)])
				size[path(1)] = at[fd]
		}
		call ~ /^p(read|write)64$/ && path(1) {
			print substr(call, 2, length(call) - 3), path(1), \
				argument(0), argument(1), value
		}
		call ~ /^(close|fsync)$/ && path(1) { print call, path(1) }
		call == "getdents64" && path(1) { print "getdents", path(1) }
		call == "mmap" && argument(1) ~ /</ && argument(1) !~ /<\/dev/ {
			print "mmap", path(1)
		}
		call ~ /^(newfstatat|fstat|stat|lstat|statx)$/ {
			if (call == "fstat" || /, ""/) {
				if (path(1) && path(1) !~ /^\/dev/)
					stats++
			} else
				stats++
		}
		call == "mkdir" || call == "rmdir" || call == "unlink" {
			print call, named(1), value
		}
		call == "unlinkat" {
			print /AT_REMOVEDIR/ ? "rmdir" : "unlink", named(1), \
				value
		}
		call == "rename" { print call, named(1), value, named(2) }
		END { print "failed opens", failed + 0; print "stats", stats + 0 }
		' "$thread"
	done | awk '
	/^(failed opens|stats) / { sum[$1] += $NF; next }
	{ print }
	END { print "failed opens", sum["failed"]; print "stats", sum["stats"] }
	' | sort
}

# agrees TITLE SETUP COMMAND...: both see the same of it, and this much of it.
agrees()
{
	title=$1 setup=$2
	shift 2
	rm -rf st work
	mkdir st work
	$setup
	record "$@" || note "the recorder: status $?: $(cat said)"
	ours | grep -vE "^(close|write) $here/(out|said)( |\$)" >ours.txt
	rm -rf work
	mkdir work
	$setup
	strace -ff -qq -y -s 64 -o st/st -e trace=%file,%desc,mmap "$@" >out 2>&1 ||
		note "strace: status $?"
	theirs | grep -vE "^(close|write) $here/(out|said)( |\$)" >theirs.txt
	is "$title" "$(diff theirs.txt ours.txt | head -n 20)" ""
	note "$(wc -l <ours.txt) lines, of them $(grep -c '^read ' ours.txt) reads"
}

# ---- a loader of two processes ----

cat >npz.py <<'END'
import os, sys
import numpy as np
def name(i): return f"data/{i:02}.npz"
if len(sys.argv) > 1:
    os.mkdir("data")
    for i in range(12):
        np.savez(name(i), x=np.arange(40000 + 999 * i), y=np.int64(i))
    sys.exit()
for first in range(2):
    if os.fork() == 0:
        for i in range(first, 12, 2):
            with np.load(name(i)) as z:
                assert z["x"].sum() + z["y"] > 0
        os._exit(0)
os.wait(), os.wait()
END
if $python -B npz.py make 2>/dev/null; then
	agrees "NumPy reads npz in two processes: each open, read and its place" \
		: $python -B npz.py
	is "each sample is opened once, by one of them" \
		"$(grep -c "^open $here/data/.*npz" ours.txt)" 12
	is "files have the size and inode that stat says" \
		"$(awk -v f="$here/data/03.npz" '$2 == "file" && $9 == f {
			print $4, $6 }' x.txt)" "$(stat -c '%s %i' data/03.npz)"
	is "and its device" \
		"$(awk -v f="$here/data/03.npz" '$2 == "file" && $9 == f {
			print $5 }' x.txt)" "$(stat -c %d data/03.npz)"
else
	skip "NumPy reads npz in two processes" "no numpy (Debian: python3-numpy)"
fi

# ---- writes, names, places ----

cat >write.py <<'END'
import os, mmap
p = "work/a"
with open(p, "wb", buffering=0) as f:
    f.write(b"x" * 300000)
    os.fsync(f.fileno())
fd = os.open(p, os.O_RDWR | os.O_APPEND)
for n in (10, 1000, 7):
    os.write(fd, b"y" * n)
os.close(fd)
fd = os.open(p, os.O_RDWR)
os.pwrite(fd, b"z" * 5, 77)
os.pread(fd, 100, 300000)
os.lseek(fd, 5000, 0)
os.read(fd, 100), os.read(fd, 1 << 20), os.read(fd, 1)
m = mmap.mmap(fd, 0)
m[5]
m.close()
os.mkdir("work/d")
os.rename(p, "work/d/b")
x = os.open("work/d/b", os.O_RDONLY)
os.read(x, 9)
os.listdir("work/d")
os.stat("work/d/b")
for absent in "work/a", "work/none/such":
    try: os.open(absent, os.O_RDONLY)
    except OSError: pass
os.unlink("work/d/b")
os.rmdir("work/d")
os.read(x, 9)
END
agrees "writes, appends, renames, and reads of what was renamed and removed" \
	: $python -B -I -S write.py
like "an append has the place where it went" "$(of write "$here/work/a")" \
	'^301010 7 7$'
is "a file that got another name has that from then on" \
	"$(of read "$here/work/d/b")" "$(printf '0 9 9\n9 9 9')"
is "no offset was in doubt" \
	"$(awk '/^(read|write) / && $6 % 2' x.txt)" ""

# ---- others ----

data()
{
	head -c 3000000 /dev/urandom >work/in
}
agrees "a copy by dd, and a shell that lists and removes it" \
	data sh -c 'dd if=work/in of=work/out bs=7777 && ls -l work && rm work/out'
is "nothing was lost" "$(said lost)" 0

# Bytes that do not come to the program.
cat >send.py <<'END'
import os
a = os.open("work/in", os.O_RDONLY)
b = os.open("work/out", os.O_RDWR | os.O_CREAT)
os.sendfile(b, a, 50, 1000)
os.copy_file_range(a, b, 500, 7, 2000)
os.readv(a, [bytearray(10), bytearray(20)])
os.preadv(a, [bytearray(10), bytearray(21)], 333)
os.posix_fallocate(b, 4096, 8192)
os.ftruncate(b, 3000)
os.posix_fadvise(a, 10, 20, os.POSIX_FADV_WILLNEED)
END
rm -rf work && mkdir work && data
record $python -B -I -S send.py
is "sendfile and copy_file_range are reads of the one file, readv is, too" \
	"$(of read "$here/work/in")" \
	"$(printf '0 30 30\n333 31 31\n50 1000 1000\n7 500 500')"
is "and writes to the other" "$(of write "$here/work/out")" \
	"$(printf '0 1000 1000\n2000 500 500')"
is "room and lengths that are set" "$(of allocate "$here/work/out")" \
	"$(printf '0 3000 0\n4096 8192 0')"
is "advice" "$(of advise "$here/work/in")" "10 20 0"
done_testing
