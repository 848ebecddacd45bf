#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 179-replay-blocks.sh - requests of block devices are replayed on files that stand for these, never on a device.
# On disk: what passes the page cache is counted.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

make_trace=$BUILT/build/t/tools/maketrace
[ -x "$make_trace" ] ||
	skip_all "build/t/tools/maketrace is not here; make check builds it"

# O_DIRECT means nothing to files in memory.
direct=
! is_memory "$T" || direct=--direct=0

# replay TRACE OPTION... into again.mlt and run.json
replay()
{
	replay_trace=$1
	shift
	rm -f again.mlt run.json
	# shellcheck disable=SC2086 # none or one
	"$MLGEN" --name=again --replay_trace="$replay_trace" \
		--directory="$T/own" --ceiling=no --trace=again.mlt $direct \
		--output-format=json --output=run.json "$@" >run.out 2>&1 ||
		note "$(cat run.out)"
}

# requests TRACE: of a recording, its requests; of a replay, its reads and
# writes: in the order of their starts, device, R or W, offset, bytes.
requests()
{
	"$MLTRACE" export --format=csv "$1" | awk -F, '
	$6 == "block_issue" { op = $12 ~ /write/ ? "W" : "R" }
	$6 == "read" { op = "R" }
	$6 == "write" { op = "W" }
	$6 ~ /^(block_issue|read|write)$/ {
		sub(/^.*\/dev\//, "", $7)
		print $7, op, $8, $9
	}'
}

# same TITLE TRACE: all were done; of each device in their order, if one thread
# issued all, else the same ones.
same()
{
	is "$1: the same requests of each device" \
		"$(requests again.mlt | sort)" "$(requests "$2" | sort)"
	is "$1: none failed" \
		"$(json run.json jobs.0.io.replay.done_operations jobs.0.io.errors)" \
		"$(requests "$2" | grep -c .) 0"
}

# ---- of one thread, of several, of nobody ----

# Three under way at once; a write of another process; no process known.
"$make_trace" b.mlt <<'END'
block_issue 1000000000 0 7 7 /dev/sda 4096 4096 0
block_issue 1000010000 0 7 7 /dev/sda 8192 8192 0
block_issue 1000020000 0 7 7 /dev/sda 0 4096 0
block_complete 1000110000 0 0 0 /dev/sda 8192 8192 0
block_complete 1000120000 0 0 0 /dev/sda 4096 4096 0
block_complete 1000130000 0 0 0 /dev/sda 0 4096 0
block_issue 1010000000 0 8 8 /dev/sda 65536 16384 0 ? 8
block_complete 1010100000 0 0 0 /dev/sda 65536 16384 0
block_issue 1020000000 0 0 0 /dev/block/8:16 1044480 4096 0
block_complete 1020000000 90000 0 0 /dev/block/8:16 1044480 4096 4096
block_issue 1030000000 0 7 7 /dev/sda 4096 4096 0
block_complete 1030100000 0 0 0 /dev/sda 4096 4096 0
END
for engine in psync io_uring libaio; do
	replay b.mlt --ioengine=$engine
	same "$engine" b.mlt
	is "$engine: said to be requests of devices" \
		"$(json run.json jobs.0.io.replay.blocks jobs.0.io.replay.folded)" "6 0"
done
# shellcheck disable=SC2086 # none or one
like "as many under way as in the trace" "$("$MLGEN" --name=again --dry-run \
	--replay_trace=b.mlt --directory="$T/own" --ioengine=io_uring $direct)" \
	'workers?, up to 3 each'
is "files are as long as the highest request" \
	"$(wc -c <own/dev/sda) $(wc -c <own/dev/block/8:16)" "81920 1048576"
is "and there are no others" "$(find own -type f ! -name '.mlgen*' | grep -c .)" 2
stat -c '%i %n' own/dev/sda own/dev/block/8:16 >before
replay b.mlt --replay_time=asap --replay_order=file
same "in the order of each device" b.mlt
is "which is that of the trace" "$(requests again.mlt | grep sda)" \
	"$(requests b.mlt | grep sda)"
stat -c '%i %n' own/dev/sda own/dev/block/8:16 >after
ok "its files are used again" cmp before after
if [ -z "$direct" ]; then
	is "the page cache is passed" \
		"$("$MLTRACE" export --format=csv again.mlt |
			awk -F, '$6 == "open" && int($9 / 16384) % 2 == 0')" ""
	replay b.mlt --direct=0
	is "unless direct=0 says otherwise" \
		"$("$MLTRACE" export --format=csv again.mlt |
			awk -F, '$6 == "open" && int($9 / 16384) % 2')" ""
else
	skip "the page cache is passed" "files are in memory here"
fi

# ---- a device that is larger than what there is ----

"$make_trace" far.mlt <<'END'
block_issue 1000000000 0 7 7 /dev/sda 9007199254740992 4096 0
block_complete 1000100000 0 0 0 /dev/sda 9007199254740992 4096 0
block_issue 1000200000 0 7 7 /dev/sda 9007199254745088 4096 0
block_complete 1000300000 0 0 0 /dev/sda 9007199254745088 4096 0
block_issue 1000400000 0 7 7 /dev/sda 8192 4096 0
block_complete 1000500000 0 0 0 /dev/sda 8192 4096 0
END
# shellcheck disable=SC2086 # none or one
exits "8 PiB are not laid out" 2 "$MLGEN" --name=far --replay_trace=far.mlt \
	--directory="$T/far" $direct
like "but said to be too much, and how there are less" "$(cat out err)" \
	'8\.?0* PiB to lay out, .*a smaller replay_span=, another directory='
not_ok "and nothing is made" test -e far
replay far.mlt --replay_span=1m
is "folded, they are behind one another as they were" "$(requests again.mlt)" \
	"$(printf 'sda R 0 4096\nsda R 4096 4096\nsda R 8192 4096\n')"
is "which is counted" \
	"$(json run.json jobs.0.io.replay.blocks jobs.0.io.replay.folded)" "3 2"
like "and said" "$("$MLGEN" --name=far --replay_trace=far.mlt \
	--replay_span=1m --dry-run | tr -s ' \n' ' ')" \
	'devices 3 requests of block devices, replayed on a file for each; 2 beyond'

# ---- where it cannot be ----

refused()
{
	title=$1 words=$2
	shift 2
	exits "$title: refused" 2 "$MLGEN" --name=r --directory="$T/no" "$@"
	like "$title: said" "$(cat out err)" "$words"
	not_ok "$title: nothing is made" test -e no
}
refused "on the devices themselves" 'replay_files=own replays them on a file for each' \
	--replay_trace=b.mlt --replay_files=traced
"$make_trace" calls.mlt <<'END'
block_issue 1000000000 0 7 7 /dev/sda 4096 4096 0
block_complete 1000100000 0 0 0 /dev/sda 4096 4096 0
read 1000000000 200000 7 7 /data/f 0 4096 4096
END
refused "a span of files" 'calls on files, which are replayed at their own offsets' \
	--replay_trace=calls.mlt --replay_span=1m
replay calls.mlt
is "beside calls they are what these came to" \
	"$(json run.json jobs.0.io.replay.asked_operations jobs.0.io.replay.blocks)" "1 0"
"$make_trace" none.mlt <<'END'
block_complete 1000100000 0 0 0 /dev/sda 4096 4096 0
block_issue 1000200000 0 7 7 /dev/sda 4096 0 0
block_issue 1000300000 0 7 7 - 4096 4096 0
block_issue 1000400000 0 7 7 /dev/sda ? 4096 0
block_issue 1000500000 0 7 7 /dev/sda 4096 4096 0
block_complete 1000600000 0 0 0 /dev/sda 4096 4096 -5
END
refused "none that could be done" \
	'left out: 1 on files without a name, 1 without an offset, 1 that failed' \
	--replay_trace=none.mlt
if [ -n "$direct" ]; then
	refused "a filesystem in memory" 'direct=0 replays them' \
		--replay_trace=b.mlt
fi

# ---- of blktrace ----

python=/usr/bin/python3
[ -x $python ] || python=python3
if command -v $python >/dev/null; then
	# As t/func/161 has them: magic, number, time, sector, bytes, act with
	# categories, pid, device, cpu, error, what is behind.
	$python - <<'END'
import struct
out = open('x.blktrace.0', 'wb')
for n, (time, sector, size, act, kind, pid) in enumerate([
        (1000, 8, 4096, 7, 1, 7), (2000, 64, 8192, 7, 0x801, 7),
        (3000, 8, 4096, 8, 1, 0), (4000, 128, 16384, 7, 2, 9),
        (5000, 64, 8192, 8, 0x801, 0), (6000, 128, 16384, 8, 2, 0)]):
    out.write(struct.pack('<IIQQIIIIIHH', 0x65617407, n + 1, time, sector,
                          size, kind << 16 | act, pid, 8 << 20 | 1, 0, 0, 0))
END
	"$MLTRACE" import --format=blktrace x.blktrace.0 --output=x.mlt >x.out 2>&1
	replay x.mlt
	same "a recording of blktrace" x.mlt
	is "whose device has a file" "$(wc -c <own/dev/block/8:1)" 81920
else
	skip "a recording of blktrace" "python3 is not here, which writes one"
fi
done_testing
