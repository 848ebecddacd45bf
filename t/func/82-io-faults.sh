#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 82-io-faults.sh - plain jobs on bad days: what is gone on with, what ends the run, and what is said.
# On disk: RWF_NOWAIT is asked of a disk's filesystem.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

[ "$(id -u)" -ne 0 ] || own_mounts

refuse=$BUILT/build/t/tools/refuse
[ -x "$refuse" ] || skip_all "build/t/tools/refuse is not here; make check builds it"

io()
{
	rm -f run.json
	"$MLGEN" --name=x --json=run.json "$@"
}

# with_limit LETTER N COMMAND...
with_limit()
{
	(
		# shellcheck disable=SC3045 # every sh here has it
		ulimit "$1" "$2" || exit 77
		shift 2
		"$@"
	)
}

# values KEY...: of the first record
values()
{
	json_below jobs.0 run.json "$@"
}

# What the engine has to say of buffered files is no matter here.
complaints()
{
	grep -v 'libaio without direct=1' err
}

exits "a file is laid out" 0 io --rw=read --size=64k --create_only=1

engines=
for engine in psync io_uring libaio mmap; do
	io --rw=read --size=64k --ioengine=$engine >out 2>&1 &&
		engines="$engines $engine"
done
note "engines:$engines"
depth_of()
{
	case $1 in
	psync | mmap)	echo 1 ;;
	*)		echo 4 ;;
	esac
}

# ---- no error: gone on with, until all is moved
# sum KEY: of reads and writes
sum()
{
	echo $(($(values "read.$1") + $(values "write.$1")))
}
# moves_all ENGINE TITLE OPTION...: reads and writes of 4 KiB
moves_all()
{
	title="$1: $2"
	engine=$1
	shift 2
	exits "$title" 0 io --rw=randrw --size=64k --bs=4k --ioengine=fault \
		--engine="$engine" --iodepth="$(depth_of "$engine")" "$@"
	is "$title: all is moved" \
		"$(sum io_bytes) $(sum total_ios) $(values io.complete)" \
		"65536 16 true"
	is "$title: without a word" "$(cat err)" ""
}
for engine in $engines; do
	moves_all "$engine" "transfers that stop half way" --short_every=1
	# 2048, 1024 and so on, 1, and the last byte is whole.
	is "$engine: each short transfer counts" "$(sum short_ios)" $((16 * 12))
	moves_all "$engine" "an interrupted read" --fail_after=2 \
		--fail_errno=EINTR
	is "$engine: which is no short one" "$(sum short_ios)" 0
	io --rw=write --size=64k --bs=4k --ioengine=fault --engine="$engine" \
		--iodepth="$(depth_of "$engine")" --fail_after=3 \
		--fail_errno=EAGAIN >out 2>err
	is "$engine: EAGAIN of a write is an I/O error" $? 1
	like "$engine: with the way to count it" "$(cat err)" \
		'^mlgen: .*: write at [0-9]*: Resource temporarily unavailable; .* ignore_error=EAGAIN counts such'
	exits "$engine: ignore_error counts it in the list of writes" 0 io \
		--rw=write --size=64k --bs=4k --ioengine=fault \
		--engine="$engine" --iodepth="$(depth_of "$engine")" \
		--fail_after=3 --fail_errno=EAGAIN --ignore_error=EIO,EAGAIN \
		--max_errors=1
	is "$engine: as one that failed, and is not moved" \
		"$(values total_err first_error write.total_ios)" "1 11 15"
	exits "$engine: and not in that of reads" 1 io \
		--rw=write --size=64k --bs=4k --ioengine=fault \
		--engine="$engine" --iodepth="$(depth_of "$engine")" \
		--fail_after=3 --fail_errno=EAGAIN --ignore_error=EAGAIN
	moves_all "$engine" "late completions" --delay_every=3 --delay=2ms
	# What never succeeds is no endless loop.
	for error in EINTR EAGAIN; do
		exits "$engine: $error of the open is tried again" 0 io \
			--rw=read --size=64k --ioengine=fault \
			--engine="$engine" --fail_after=1 --fail_errno=$error
	done
done

# ---- an error: path, operation, offset, status, report
# fails TITLE REGEX OPTION...
fails()
{
	title=$1 regex=$2
	shift 2
	exits "$title ends the run" 1 io "$@"
	like "$title: it is named with its place" "$(complaints)" \
		"^mlgen: $regex\\. The report covers what ran before$"
	is "$title: in one line" "$(complaints | wc -l)" 1
	is "$title: the report has it, too" \
		"mlgen: $(values error_text). The report covers what ran before" \
		"$(complaints)"
	is "$title: and is not complete" \
		"$(values io.complete) $(json run.json interrupted)" "false false"
	like "$title: the first line says so" "$(sed -n 1,2p out | paste -sd' ' - | tr -s ' ')" \
		'^x: .*\(stopped by an error( after .*)?\)'
}
# Each has its turn.
next_engine()
{
	turn=$((${turn:-0} + 1))
	# shellcheck disable=SC2086 # several words
	set -- $engines
	shift $(((turn - 1) % $#))
	engine=$1
}
while read -r error text; do
	next_engine
	fails "$engine: $error" "x\\.0\\.0: write at 12288: $text" --rw=write \
		--size=64k --bs=4k --ioengine=fault --engine="$engine" \
		--fail_after=5 --fail_errno="$error"
	is_json "$engine: $error: the report is JSON" run.json
	is "$engine: $error: with what was written" \
		"$(values read.io_bytes write.io_bytes)" "0 12288"
done <<'END'
EIO Input/output error
EDQUOT Disk quota exceeded; a quota of .* is exceeded on .*: raise it, or remove files
ENOSPC No space left on device; make room, or use a smaller size=
ESTALE Stale file handle
EREMOTEIO Remote I/O error
ETIMEDOUT Connection timed out
END
fails "an fsync that fails" 'x\.0\.0: fsync: Disk quota exceeded; a quota of .* remove files' --rw=write \
	--size=64k --bs=16k --fsync=2 --ioengine=fault --fail_after=4 \
	--fail_errno=EDQUOT
fails "a close that fails, as NFS has it" \
	'x\.0\.0: close: Disk quota exceeded; a quota of .* remove files' --rw=write --size=64k --bs=16k \
	--ioengine=fault --fail_after=6 --fail_errno=EDQUOT
io --rw=randread --size=64k --numjobs=3 --create_only=1 >out 2>&1
fails "one of several workers" 'x\.[0-2]\.0: read at [0-9]+: Input/output error' \
	--rw=randread --size=64k --bs=4k --numjobs=3 --ioengine=fault \
	--fail_after=10
is "each has a record" "$(json run.json jobs.2.io.complete jobs.3.jobname)" \
	"false absent"

# goes_on HOW RW FAIL_AFTER BYTES: 16 requests, one error
goes_on()
{
	exits "continue_on_error=$1: a job that ${2}s goes on" 1 io --rw="$2" \
		--size=64k --bs=4k --fsync=8 --ioengine=fault \
		--fail_after="$3" --continue_on_error="$1"
	is "which counts what failed" "$(values io.errors io.complete error)" \
		"1 true 0"
	is "and the bytes that did not" "$(sum io_bytes)" "$4"
	is "and their number, with latencies of as many" \
		"$(sum total_ios) $(($(values read.clat_ns.N) + $(values write.clat_ns.N)))" \
		"$(($4 / 4096)) $(($4 / 4096))"
	like "and says so" "$(cat out)" ' 1 error counted, the run went on'
	like "first of all" "$(sed -n 1,2p out | paste -sd' ' - | tr -s ' ')" \
		'^x: ERRORS: 1 of 1[0-9] operations failed; (read|write) [0-9]'
	like "with what failed" "$(complaints)" \
		'^mlgen: x: 1 of 1[0-9] operations failed; max_errors=0 allows none\. The first: x\.0\.0: (read at|write at|fsync)'
}
# 1 opens, 2 to 9 move bytes, 10 syncs.
goes_on read read 5 61440
goes_on write write 5 61440
goes_on io read 9 61440
goes_on all write 10 65536
for how in "none read 5" "write read 5" "read write 5" \
	"io write 10 --fsync=8"; do
	# shellcheck disable=SC2086 # several words
	set -- $how
	# shellcheck disable=SC2086 # may be none
	fails "continue_on_error=$1: operation $3 of a job that ${2}s" \
		'x\.0\.0: (((read|write) at 12288)|fsync): Input/output error' \
		--rw="$2" --size=64k --bs=4k --ioengine=fault \
		--fail_after="$3" --continue_on_error="$1" ${4-}
done

# ---- whichever operation fails
# What the run has left: the lines of nth.err, those that name path, operation and error,
# and whether the report says that the run ended too early, and is whole.
nth_results()
{
	awk -v error='^mlgen: x\\.0\\.0: ((read|write) at [0-9]+|fsync|close): Input/output error\\. ' '
	FILENAME == "nth.err" { lines++; named += $0 ~ error; next }
	/^      "io": / { in_io = 1 }
	in_io && /^        "complete": false/ { early = 1 }
	/^      "error_text": / { text = 1 }
	{ last = $0 }
	END { print lines + 0, named + 0, early && text && last == "}" }' \
		nth.err nth.json 2>/dev/null
}
# One run, in which operation $2 of engine $1 fails; 0: it failed as it should;
# 1: it passed; 2: neither, and $why says what.
nth_run()
{
	timeout 30 "$MLGEN" --name=x --rw=randrw --size=32k --bs=4k --fsync=3 \
		--end_fsync=1 --ioengine=fault --engine="$1" --fail_after="$2" \
		--iodepth="$3" --json=nth.json --quiet \
		>nth.out 2>nth.err </dev/null
	nth_status=$?
	drop_devices nth.err
	if [ $nth_status -eq 0 ] && [ ! -s nth.err ] &&
		[ "$(json nth.json jobs.0.read.io_bytes \
			jobs.0.write.io_bytes)" = "16384 16384" ]; then
		return 1
	elif [ $nth_status -eq 2 ] && [ "$2" -eq 1 ] && # nothing ran yet
		[ "$(cat nth.err)" = "mlgen: x.0.0: open: Input/output error" ] &&
		[ ! -e nth.json ]; then
		return 0
	elif [ $nth_status -ne 1 ]; then
		why="status $nth_status"
		return 2
	fi
	case $(nth_results) in
	"1 1 1")	return 0 ;;
	"1 1 "*)	why="no whole report" ;;
	"1 "*)		why="no path, operation and error" ;;
	*)		why="not one line" ;;
	esac
	return 2
}
# Open, 8 transfers, 2 syncs at least, close.
for engine in $engines null; do
	nth=0 rc=0 depth=$(depth_of "$engine")
	while [ $rc -eq 0 ]; do
		nth=$((nth + 1))
		rm -f nth.json
		rc=0
		nth_run "$engine" $nth "$depth" || rc=$?
	done
	if [ $rc -eq 1 ] && [ $nth -ge 12 ]; then
		tap_pass "$engine: each of $((nth - 1)) operations may fail"
	else
		tap_fail "$engine: each operation may fail" \
			"operation $nth: ${why:-passed}"
		note "$(cat nth.err)"
	fi
done

# ---- no room
for engine in $engines; do
	[ "$engine" != libaio ] || continue # /dev/full has no such requests
	fails "$engine: /dev/full" \
		'/dev/full: write at 0: No space left on device; make room.*' --rw=write \
		--filename=/dev/full --size=64k --ioengine="$engine"
done
if mount_small small 1m; then
	for engine in $engines; do
		truncate -s 3m small/holes
		text="No space left on device; make room, or use a smaller size="
		# The kernel does not tell a mapping why.
		[ "$engine" != mmap ] || text="($text|Input/output error)"
		fails "$engine: holes that find no room" \
			"small/holes: write at [0-9]{7}: $text" --rw=write \
			--filename=small/holes --bs=64k --ioengine="$engine"
		rm small/holes
	done
	umount small
else
	skip "holes that find no room" "may not mount here"
fi

# ---- files that may not be as large; SIGXFSZ is no death. The document of the run
# has to be smaller than that.
for engine in $engines; do
	[ "$engine" != mmap ] || continue # nothing grows there
	rm -f run.json
	truncate -s 256k limited
	with_limit -f 256 "$MLGEN" --name=x --rw=write --size=256k --bs=4k \
		--filename=limited --ioengine="$engine" --json=run.json \
		>out 2>err
	is "$engine: a limit of the file size ends the run" $? 1
	like "$engine: and is named with its place" "$(complaints)" \
		'^mlgen: limited: write at 131072: File too large; ulimit -f allows files of 128 KiB: raise it, or make smaller files'
	is "$engine: after what fits" \
		"$(values write.io_bytes io.complete)" "131072 false"
done

# ---- a file that shrinks
has_moved()
{
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["read_ios"] + $at["write_ios"] > 0 { found = 1 }
		END { exit !found }' log.csv 2>/dev/null
}
# under_way OPTION...: a job that goes on for a minute, and has begun
under_way()
{
	rm -f run.json log.csv
	background "$MLGEN" --name=x --json=run.json --size=64k \
		--time_based=1 --runtime=60 --log=log.csv --log_interval=10ms \
		"$@"
	poll has_moved
}
# shrinks ENGINE SIZE TEXT
shrinks()
{
	cp x.0.0 shrinks
	under_way --rw=read --bs=64k --rate_iops=100 --filename=shrinks \
		--ioengine="$1"
	truncate -s "$2" shrinks
	# shellcheck disable=SC2154 # of background
	poll is_gone 2>/dev/null || kill -9 "$pid"
	finish
	# shellcheck disable=SC2154 # of finish
	is "$1: a file cut to $2 ends the run" "$status" 1
	like "$1: which is told" "$(complaints)" \
		"^mlgen: shrinks: read at 0: $3\\. The report"
	is_json "$1: with a report" run.json
}
for engine in $engines; do
	shrinks "$engine" 0 \
		'after the end of the file; it was truncated while x ran'
	shrinks "$engine" 4097 \
		'it ends at 4097; it was truncated while x ran'
done
rm -f shrinks

# ---- interrupted
# interrupts TITLE OPTION...
interrupts()
{
	title=$1
	shift
	under_way --bs=4k "$@"
	kill -INT "$pid"
	poll is_gone 2>/dev/null || kill -9 "$pid"
	finish
	is "$title: SIGINT ends it with 130" "$status" 130
	is_json "$title: and a report" run.json
	is "$title: which says so" \
		"$(json run.json interrupted) $(values io.complete error)" \
		"true false 0"
	is "$title: whose requests are whole" \
		"$(values read.io_bytes write.io_bytes)" \
		"$(($(values read.total_ios) * 4096)) $(($(values write.total_ios) * 4096))"
	like "$title: and its first line, too" "$(sed -n 1,2p out | paste -sd' ' - | tr -s ' ')" \
		'^x: .*\(interrupted( after .*)?\)'
	# A disk may be too busy for the second that threads have; t/func/43 looks at that.
	is "$title: stderr has one note" \
		"$(complaints | grep -v ': thread left hanging in ')" \
		"mlgen: note: interrupted: no new operations are started, and the report follows within a second (interrupt again to exit at once)"
}
for engine in $engines; do
	interrupts "$engine" --rw=randrw --ioengine="$engine" \
		--iodepth="$(depth_of "$engine")" --rate_iops=1000
done
interrupts "a pause of an hour" --rw=read --thinktime=1h
interrupts "a request due in an hour" --rw=read --rate=1
interrupts "several workers" --rw=randwrite --numjobs=3 --rate_iops=100 \
	--group_reporting=1

# ---- what the kernel refuses
# refused TITLE STATUS REGEX COMMAND...
refused()
{
	title=$1 want=$2 regex=$3
	shift 3
	rm -f run.json
	exits "$title" "$want" "$@"
	like "$title: is told" "$(complaints)" "^mlgen: $regex"
	is "$title: in one line" "$(complaints | wc -l)" 1
}
plain="$MLGEN --name=x --rw=randread --size=64k --bs=4k --json=run.json"
if ! "$refuse" statx ENOSYS true; then
	skip "what the kernel refuses is told" "no seccomp filters here"
else
	case $engines in
	*io_uring*)
		for error in EPERM ENOSYS; do
			# shellcheck disable=SC2086 # several options
			refused "io_uring refused with $error" 2 \
				'ioengine=io_uring: io_uring_setup: .*use ioengine=libaio$' \
				"$refuse" io_uring_setup $error $plain \
				--ioengine=io_uring --filename=fresh
			not_ok "and nothing is laid out" test -e fresh
			not_ok "nor reported" test -e run.json
		done
		# shellcheck disable=SC2086
		refused "io_uring that cannot go on" 2 \
			'ioengine=io_uring: cannot continue: Operation not permitted$' \
			"$refuse" io_uring_enter EPERM $plain --ioengine=io_uring
		# shellcheck disable=SC2086
		refused "io_uring without registration" 0 \
			'note: x: registerfiles: .*fixedbufs: .*figures remain comparable$' \
			"$refuse" io_uring_register EPERM $plain --ioengine=io_uring
		unlike "and says what was in use" "$(values io.in_use)" \
			'registered'
		;;
	esac
	case $engines in
	*libaio*)
		# shellcheck disable=SC2086
		refused "no AIO requests left" 2 \
			'ioengine=libaio: io_setup: .*; fs\.aio-max-nr is [0-9]+, .*: raise it \(sysctl -w fs\.aio-max-nr=[0-9]+\) or lower iodepth$' \
			"$refuse" io_setup EAGAIN $plain --ioengine=libaio \
			--numjobs=3 --iodepth=64 --filename=fresh
		not_ok "and nothing is laid out" test -e fresh
		not_ok "nor reported" test -e run.json
		# A full ring with nothing in it never moves.
		# shellcheck disable=SC2086
		refused "a context that takes nothing" 1 \
			'ioengine=libaio: cannot continue: Resource temporarily unavailable\. ' \
			"$refuse" io_submit EAGAIN $plain --ioengine=libaio \
			--iodepth=8
		;;
	esac
fi

# ---- locked memory, for one who is not root
case $engines in
*io_uring*)
	mkdir open
	chmod 755 "$T"
	chmod 777 open
	chmod a+r x.0.0
	if ! as_nobody "$MLGEN" --version >out 2>&1; then
		skip "a buffer that may not be locked" "no other user to be"
	else
		with_limit -l 64 as_nobody "$MLGEN" --name=x --rw=randread \
			--filename=x.0.0 --bs=16k --iodepth=8 \
			--ioengine=io_uring --json=open/run.json >out 2>err
		is "a buffer that may not be locked is not registered" $? 0
		drop_devices err
		is "which one note says" "$(cat err)" \
			"mlgen: note: x: fixedbufs: not registered: needs 128 KiB of locked memory, ulimit -l is 64 KiB; figures remain comparable"
		is "all is read" "$(json open/run.json \
			jobs.0.read.io_bytes jobs.0.io.complete)" "65536 true"
		in_use=$(json open/run.json jobs.0.io.in_use)
		like "what was in use is reported" "$in_use" 'registered files'
		unlike "and what was not is not" "$in_use" 'buffers'
		is "each worker is told of once" "$(with_limit -l 256 as_nobody \
			"$MLGEN" --name=x --rw=randread --filename=x.0.0 \
			--bs=64k --iodepth=8 --ioengine=io_uring --numjobs=3 \
			--quiet --eta=never 2>&1 >out | grep -c note)" 1
	fi
	;;
*)	skip "a buffer that may not be locked" "no io_uring here" ;;
esac

# ---- options that fio has
refused "an option that mlgen lacks" 2 \
	'trim_percentage: fio option, not in mlgen' "$MLGEN" --name=x \
	--rw=randwrite --size=64k --trim_percentage=10
refused "a value that mlgen lacks" 2 \
	'zonemode=zbd: fio option; mlgen supports only zonemode=none' "$MLGEN" \
	--name=x --rw=randwrite --size=64k --zonemode=zbd
refused "one that nobody has" 2 'frobnicate: unknown option' "$MLGEN" \
	--name=x --rw=read --size=64k --frobnicate=1
refused "one that changes nothing" 0 \
	'note: gtod_reduce: fio option without effect in mlgen' "$MLGEN" \
	--name=x --rw=read --size=64k --gtod_reduce=1 --quiet
refused "a job that writes under --readonly" 2 "readonly: job 'x' writes" \
	"$MLGEN" --name=x --rw=randrw --size=64k --readonly

# ---- nowait=1: a read that would have to wait is one call, and fails
exits "a file is read that is not in the page cache" 0 io --rw=read --size=4m \
	--create_only=1 --filename=cold
exits "what would have to wait ends the run" 1 io --rw=randread --bs=4k \
	--size=4m --filename=cold --nowait=1
if grep -q 'Operation not supported' err; then
	skip "the error is EAGAIN" "this filesystem knows no RWF_NOWAIT"
else
	like "the error is EAGAIN" "$(cat err)" \
		': Resource temporarily unavailable; it would have had to wait;'
	exits "ignore_error=EAGAIN goes on with the next" 0 io --rw=randread \
		--bs=4k --size=4m --filename=cold --nowait=1 --ignore_error=EAGAIN \
		--max_errors=100%
	ok "each that failed is counted" test "$(values total_err)" -gt 0
	is "none is read twice" \
		"$(($(values read.total_ios) + $(values total_err)))" 1024
fi
done_testing
