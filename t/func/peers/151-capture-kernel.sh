#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 151-capture-kernel.sh - what strace does not see: requests of io_uring and libaio, pages of mappings, the cache, disks, CPU time, thousands of short processes.
# On disk: what other programs do is measured and recorded there.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../bpf.sh"

python=/usr/bin/python3
here=$(pwd -P)
head -c 8388608 /dev/urandom >data

# ---- asynchronous requests ----

# own ENGINE [OPTION...]: mlgen's own trace of its reads and what we have of it
own()
{
	engine=$1
	shift
	rm -f own.mlt
	record "$MLGEN" --name=x --ioengine="$engine" --rw=randread --bs=4k \
		--size=8m --io_size=4m --iodepth=8 --filename="$here/data" \
		--ceiling=no --trace=own.mlt "$@"
	status=$?
	"$text" own.mlt | awk '$1 == "read" { print $3, $4, $5 }' | sort >own
	of read "$here/data" >ours
	is "$engine $*: every read of mlgen's own trace, its place and result" \
		"$status $(wc -l <own) $(diff own ours | head)" "0 1024 "
}

for engine in io_uring libaio; do
	if ! "$MLGEN" --enghelp 2>/dev/null | grep -q "$engine"; then
		skip "$engine" "this mlgen has none"
		continue
	fi
	own $engine
	is "they last from submission to completion" \
		"$(awk '$1 == "read" && $6 == 32 && $9 > 0' x.txt | wc -l)" 1024
	is "as many were submitted as came back, each of them once" \
		"$(awk '$1 == "async_submit" { print $3 }' x.txt | sort -u |
			wc -l) $(awk '$1 == "async_complete" { print $3 }' \
			x.txt | sort -u | wc -l)" "1024 1024"
	own $engine --direct=1
done
own psync

if command -v fio >/dev/null; then
	for engine in io_uring libaio; do
		record fio --name=x --ioengine=$engine --rw=randrw --bs=4k \
			--size=8m --filename=work.fio --iodepth=4 --direct=1 \
			--number_ios=600 --output=fio.txt || {
			skip "fio, $engine" "$(head -n 1 fio.txt)"
			continue
		}
		is "fio, $engine: reads and writes of 4 KiB at multiples of that" \
			"$(awk -v f="$here/work.fio" '$2 == f && $6 == 32 &&
				$3 % 4096 == 0 && $4 == 4096 && $5 == 4096' \
				x.txt | wc -l)" 600
	done
else
	skip "fio" "no fio (Debian: fio)"
fi

# ---- mappings ----

if [ -x $python ]; then
	cat >map.py <<'END'
import mmap
with open("data", "rb") as f:
    m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
for i in range(100):
    m[(i * 17 + 3) * 4096 + i]
m.close()
# Windows begin where a mapping does, wherever that is.
with open("other", "rb") as f:
    maps = [mmap.mmap(f.fileno(), 4096 * 20 * k, prot=mmap.PROT_READ,
                      offset=4096 * 3 * k) for k in range(1, 6)]
for k, m in enumerate(maps):
    m[4096 * k]
END
	head -c 1000000 data >other
	record $python -B -I -S map.py
	# In each window of 16 pages one that is touched; the kernel maps all.
	want=$(i=0; while [ $i -lt 100 ]; do
		echo $(((i * 17 + 3) * 4096)); i=$((i + 1)); done | sort)
	if grep -q 'page faults' said; then
		skip "each page that is touched first" "this kernel does not tell"
	elif is_memory .; then
		skip "each page that is touched first" "this file system is memory"
	else
		is "of a mapping the page of each 64 KiB that is touched first" \
			"$(awk -v f="$here/data" '$1 == "fault" && $2 == f {
				print $3 }' x.txt | sort)" "$want"
	fi
	if ! grep -q 'page faults' said && ! is_memory .; then
		is "of mappings that begin anywhere, too" \
			"$(awk -v f="$here/other" '$1 == "fault" && $2 == f {
				print $3 / 4096 }' x.txt | paste -s -d ' ' -)" \
			"3 7 11 15 19"
	fi
	is "mmap and munmap are of that file" \
		"$(awk -v f="$here/data" '$2 == f && /^m/ { print $1, $4 }' x.txt)" \
		"$(printf 'mmap 8388608\nmunmap 8388608')"
fi

# ---- files without a place ----

if [ -x $python ]; then
	cat >nowhere.py <<'END'
import os
os.write(os.memfd_create("here"), b"12345")
fd = os.open("gone", os.O_RDWR | os.O_CREAT)
os.unlink("gone")
os.write(fd, b"123")
END
	record $python -B -I -S nowhere.py
	is "memory that is a file has the name that it was given" \
		"$(of write /memfd:here)" "0 5 5"
	is "what was removed while it is open has the one that it had" \
		"$(of write "$here/gone")" "0 3 3"
fi

# ---- cache and disk ----

if is_memory .; then
	skip "what is read from disk" "this file system is memory"
else
	record dd if=data of=/dev/null bs=64k iflag=nocache
	sync data
	dd if=data iflag=nocache count=0 2>/dev/null
	record dd if=data of=/dev/null bs=64k
	cached=$(awk -v f="$here/data" '$1 == "cache_add" && $2 == f {
		n += $4 } END { print n + 0 }' x.txt)
	is "what was not cached came into the cache, each page once" \
		"$cached" 8388608
	is "and from the disk" "$(awk '$1 == "block_issue" && $6 / 8 % 2 < 1 {
		n += $4 } END { print (n >= 8388608) }' x.txt)" 1
	is "requests that were issued are complete" \
		"$(awk '$1 == "block_complete" && $9 > 0 { n++ }
			END { print (n > 0) }' x.txt)" 1
	record dd if=data of=/dev/null bs=64k
	is "what was cached did not" "$(awk -v f="$here/data" \
		'$1 == "cache_add" && $2 == f' x.txt)" ""
fi

# ---- processes ----

cat >forks.sh <<'END'
i=0
while [ $i -lt 2000 ]; do
	/bin/true
	i=$((i + 1))
done
END
record sh forks.sh
is "2,000 short processes: each is there, from its start to its end" \
	"$(count fork exec exit)" "2000 2001 2001"
is "each has an entry with parent, end and command line" \
	"$(awk '$1 == "entry" && $2 == "process" && $6 != "-" && $4 != "-" &&
		$9 == "/bin/true" { print $3 }' x.txt | sort -u | wc -l)" 2000
is "and each opened its library" \
	"$(awk '$1 == "open" && $2 ~ /libc\.so/ && $5 >= 0' x.txt | wc -l)" 2001
is "nothing was lost" "$(said lost)" 0

record sh -c 'exit 7'
is "the status is the command's" "$?" 7
record sh -c 'kill -9 $$'
is "or of the signal that ended it" "$? $(awk '$1 == "exit" { print $5 }' \
	x.txt)" "137 137"

if [ -x $python ]; then
	cat >burn.py <<'END'
import time, os
end = time.process_time() + 0.4
while time.process_time() < end: pass
os.stat("/")
time.sleep(0.4)
os.stat("/")
END
	record $python -B -I -S burn.py
	"$MLTRACE" describe x.mlt >described.txt 2>&1
	# The processor's time before a call is in its record; asleep it is none.
	"$MLTRACE" export --format=csv x.mlt >x.csv 2>/dev/null
	is "CPU time before a call that follows work, and before one after sleep" \
		"$(awk -F, '$6 == "stat" && $7 == "/" { print ($11 > 2e8) }' \
			x.csv | paste -s -d ' ' -)" "1 0"
	like "a description says how much of the time they ran" \
		"$(cat described.txt)" '[cC][pP][uU]'
fi
done_testing
