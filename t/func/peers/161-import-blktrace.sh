#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 161-import-blktrace.sh - binary files of blktrace become a trace of block requests, whichever host recorded them.
# Alone: the kernel's recording is of the whole machine, and one at a time.

. "$(dirname "$0")/../tap.sh"

python=/usr/bin/python3
[ -x $python ] || python=python3
command -v $python >/dev/null || skip_all "python3 is not here, which writes binary files"

take()
{
	"$MLTRACE" import --format=blktrace "$@"
}

# rows TRACE: start, op, file, offset, bytes, result of each.
rows()
{
	"$MLTRACE" export --format=csv "$1" | sed 1d | cut -d, -f1,3,6-10
}

# ---- written by hand, from linux/blktrace_api.h ----

# records FILE ORDER: what stands on standard input, a record a line: time,
# sector, bytes, act, categories, pid, cpu, number, error, what is behind it as
# hexadecimal digits.
cat >records.py <<'END'
import struct, sys
out = open(sys.argv[1], 'wb')
for line in sys.stdin:
    f = line.split()
    pdu = bytes.fromhex(f[9]) if len(f) > 9 else b''
    time, sector, size, act, kind, pid, cpu, number, error = [int(x, 0) for x in f[:9]]
    magic = int(sys.argv[3], 0) if len(sys.argv) > 3 else 0x65617407
    out.write(struct.pack(sys.argv[2] + 'IIQQIIIIIHH', magic, number, time,
                          sector, size, kind << 16 | act, pid, 8 << 20 | 1, cpu,
                          error & 0xffff, len(pdu)) + pdu)
END
records()
{
	$python records.py "$@"
}

q=1 issue=7 complete=8 r=0x1 w=0x2 sync=0x8 pc=0x200 note=0x400 ahead=0x800
discard=0x2000
# An id of a control group before a message, which bit 8 of the act says.
cat >cpu0 <<END
1000000000 0 0 1 $note 0 0 0 0 00e1f5650000e803
1000000100 8 4096 $q $((r)) 7 0 1 0
1000000200 8 4096 $issue $((r)) 7 0 2 0 aabb
1000000300 0 0 0 $note 7 0 0 0 707974686f6e00000000000000000000
1000000400 64 8192 $issue $((r | ahead)) 7 0 3 0
1000000500 0 0 $issue $((w | 4)) 7 0 4 0
1000000600 128 4096 $issue $((w | discard)) 7 0 5 0
1000000700 0 36 $issue $((r | pc)) 7 0 6 0
1000000900 0 0 0x102 $note 7 0 0 0 000000000000000068656c6c6f
END
cat >cpu1 <<END
1000000250 8 4096 $complete $((r)) 0 1 1 0
1000000450 16 1024 $issue $((w | sync)) 9 1 2 0
1000000550 64 8192 $complete $((r | ahead)) 0 1 3 -5
1000000650 16 1024 $complete $((w | sync)) 0 1 4 5
1000000800 0 0 $complete $((w | 4)) 0 1 7 0
END
cat >want <<'END'
1000000200,7,block_issue,/dev/block/8:1,4096,4096,0
1000000250,,block_complete,/dev/block/8:1,4096,4096,0
1000000400,7,block_issue,/dev/block/8:1,32768,8192,0
1000000450,9,block_issue,/dev/block/8:1,8192,1024,0
1000000550,,block_complete,/dev/block/8:1,32768,8192,-5
1000000650,,block_complete,/dev/block/8:1,8192,1024,-5
END
records x.blktrace.0 '<' <cpu0
records x.blktrace.1 '<' <cpu1
exits "files of two CPUs are one trace" 0 \
	take x.blktrace.0 x.blktrace.1 --output=x.trace
like "of what was issued and completed" "$(cat out)" \
	'^x\.trace: 6 records and 0 markers with 1 name; mounts and host are unknown$'
is "in the order of time" "$(rows x.trace)" "$(cat want)"
like "discards are left out" "$(cat err)" \
	'note: left out because a trace cannot contain them: 1 discards$'
like "so are flushes" "$(cat err)" ' 1 flushes \(requests without bytes\)$'
like "and commands" "$(cat err)" ' 1 commands to a device$'
like "events that a CPU had no room for are missing by their numbers" \
	"$(cat err)" 'note: 2 events of the recording are missing'
is "and are lost ones of the trace" \
	"$("$MLTRACE" describe x.trace --output-format=json 2>/dev/null |
		grep -m1 '"events"' | tr -dc 0-9)" 2
exits "the other order of files is the same trace" 0 \
	take x.blktrace.1 x.blktrace.0 --output=y.trace
is "row by row" "$(rows y.trace)" "$(cat want)"

records b.blktrace.0 '>' <cpu0
records b.blktrace.1 '>' <cpu1
exits "a host of the other byte order is understood" 0 \
	take b.blktrace.0 b.blktrace.1 --output=b.trace
is "to say the same" "$(rows b.trace)" "$(cat want)"

is "reads, writes and reading ahead are told apart" \
	"$("$MLTRACE" describe x.trace 2>/dev/null |
		grep -A1 '^block requests' | tr -s ' \n' ' ')" \
	'block requests 2 reads, 12 KiB; 1 write, 1 KiB; depth 0.889 mean, 2 at most; 66.7% read ahead '

ok "standard input is a file, too" sh -c \
	'cat x.blktrace.0 x.blktrace.1 | "$MLTRACE" import --format=blktrace - --output=p.trace'
is "whose bytes are the same" "$(rows p.trace)" "$(cat want)"

# ---- what is no such file, or not all of it ----

cp x.trace before.trace
refused()
{
	exits "$1: refused" 2 take "$2" --output=before.trace
	like "$1: said" "$(cat err)" "$3"
}
: >empty
refused "an empty file" empty "format=blktrace: 'empty' is empty"
refused "a directory" . "\.: cannot be read: Is a directory"
refused "a file that is not there" nowhere "nowhere: cannot be read: No such file"
refused "a text" cpu0 'cpu0: at byte 0: is not a binary blktrace file \(.*begins with 65617407'
records new '<' 0x65617408 <cpu0
refused "a later version" new 'new: at byte 0: a record of an unknown version \(65617408'
{ cat x.blktrace.0; echo 'no record, but a text of some length, which is behind one'; } >behind
refused "what is behind a record and none itself" behind \
	"behind: at byte $(wc -c <x.blktrace.0 | tr -d ' '): no record begins here"
cat x.blktrace.0 b.blktrace.0 >both
refused "another order of bytes within a file" both 'both: at byte [1-9].*no record'
ok "none of which made a trace" cmp x.trace before.trace
exits "--lenient takes what is before it" 0 take behind --lenient --output=l.trace
is "all of it" "$(rows l.trace | wc -l | tr -d ' ')" 2
like "and says so" "$(cat err)" 'the rest of the file is left out$'

for cut in 1 3 20 47 49; do
	head -c $((48 + cut)) x.blktrace.1 >cut.short
	exits "a file that ends $cut bytes behind a record" 0 take cut.short --output=c.trace
	like "is taken with a word ($cut)" "$(cat err)" \
		"cut.short: ends within a record, at byte $((cut > 48 ? 96 : 48));"
done

# ---- by the kernel itself ----

root=/sys/kernel/tracing
recorded()
{
	[ "$(id -u)" = 0 ] || { why="root records block devices"; return 1; }
	why="no loop device, tracefs or namespace of mounts here"
	truncate -s 16M image || return 1
	# shellcheck disable=SC2016 # the shell in the namespace
	unshare -m sh -c '
	mount -t tracefs none /sys/kernel/tracing || exit 1
	mount -t debugfs none /sys/kernel/debug || exit 1
	loop=$(losetup -f --show image) || exit 1
	name=${loop#/dev/}
	trap "losetup -d $loop" EXIT
	work()
	{
		dd if=/dev/zero of="$loop" bs=64k count=8 oflag=direct
		dd if="$loop" of=/dev/null bs=4k count=16 iflag=direct
		dd if="$loop" of=/dev/null bs=1M count=2 skip=4
	}
	if command -v blktrace >/dev/null; then
		timeout 60 blktrace -d "$loop" -o real >blktrace.log 2>&1 &
		pid=$!
		for i in 1 2 3 4 5 6 7 8 9 10; do
			kill -0 $pid || break
			[ -s real.blktrace.0 ] && break
			sleep 0.2
		done
		work
		kill -INT $pid 2>/dev/null
		wait $pid
		cat real.blktrace.* >real.all && [ -s real.all ] && exit 0
		rm -f real.*
	fi
	# The same records by the tracer of that name, as one file.
	cd '$root' || exit 1
	[ "$(cat current_tracer)" = nop ] || exit 1
	[ -d "/sys/block/$name/trace" ] || exit 1
	echo blk >current_tracer || exit 1
	echo bin >trace_options
	echo nocontext-info >trace_options
	echo 1 >"/sys/block/$name/trace/enable"
	timeout 60 cat trace_pipe >"$OLDPWD/real.pipe" &
	pid=$!
	work
	sync
	for i in 1 2 3 4 5 6 7 8 9 10; do
		sleep 0.2
		[ -s "$OLDPWD/real.pipe" ] && break
	done
	echo 0 >"/sys/block/$name/trace/enable"
	kill $pid
	# It is busy while somebody reads.
	wait $pid
	echo nobin >trace_options
	echo context-info >trace_options
	echo nop >current_tracer
	[ -s "$OLDPWD/real.pipe" ]
	' >recorded.log 2>&1
}

# said FILE: what blkparse makes of it: op, flag, offset, bytes.
said()
{
	cat "$@" | blkparse -q -i - -f '%a %d %S %N\n' 2>/dev/null |
		awk '$1 ~ /^[DC]$/ && $4 > 0 && $2 !~ /[DF]/ {
			print $1, $2 ~ /W/ ? "W" : "R", $3 * 512, $4
		}' | sort
}

ours()
{
	"$MLTRACE" export --format=csv "$1" | awk -F, '/,block_/ {
		print $6 == "block_issue" ? "D" : "C", $8, $9 }' | sort
}

if recorded; then
	set -- real.*
	case $1 in real.all) set -- real.blktrace.* ;; esac
	exits "what the kernel recorded is taken" 0 take "$@" --output=real.trace
	like "with its requests" "$(ours real.trace)" '^D 0 65536$'
	# Others may look at a new device, too.
	is "all direct ones" "$(ours real.trace | awk '$1 == "D" &&
		$3 == 4096 && $2 < 65536' | sort -u | grep -c .)" 16
	if command -v blkparse >/dev/null; then
		is "the same as blkparse sees" "$(ours real.trace)" \
			"$(said "$@" | awk '{ print $1, $3, $4 }' | sort)"
		is "that are written and read, too" \
			"$("$MLTRACE" describe real.trace 2>/dev/null | awk '
				/^block requests/ { print $3, $7 }')" \
			"$(said "$@" | awk '/^D R/ { r++ } /^D W/ { w++ }
				END { print r, w }')"
		cat "$@" | blkparse -q -i - -d dump >/dev/null 2>&1
		exits "what blkparse writes with -d is taken" 0 take dump --output=d.trace
		is "as the same requests" "$(ours d.trace)" "$(ours real.trace)"
	else
		skip "the same as blkparse sees" "blkparse is not here"
	fi
else
	skip "what the kernel recorded is taken" "$why"
	note "$(tail -n 3 recorded.log 2>/dev/null)"
fi

done_testing
