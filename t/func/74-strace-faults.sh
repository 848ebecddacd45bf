#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 74-strace-faults.sh - system calls that are interrupted or fail, on each engine.
# On disk: direct=1 is tried, which files in memory do not have.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

command -v strace >/dev/null || skip_all "strace is not here"
strace -qq -o trace -e inject=getpid:error=EIO true 2>out ||
	skip_all "strace cannot trace here: $(head -n 1 out)"

# Absolute: strace would tell on stderr what it takes a relative one for.
job="--name=x --directory=$T/data --format=raw --num_files=4 --sample_size=16k
	--bs=4k --read_threads=1 --shuffle=none --json=run.json"

# shellcheck disable=SC2086 # several options
"$MLGEN" $job --phase=prepare --quiet >out 2>&1
file=$T/data/train/img_2_of_4.raw

# faulty CALLS:FAULT FILE|- ENGINE: calls on that file only, or all.
faulty()
{
	inject=$1 on=$2 engine=$3
	shift 3
	[ "$on" = - ] || set -- -P "$on" "$@"
	rm -f run.json
	# The leak checker cannot work under a tracer.
	# shellcheck disable=SC2086
	ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" \
		strace -f -qq -o trace "$@" -e inject="$inject" \
		"$MLGEN" $job --ioengine="$engine"
}
# meets CALLS:FAULT FILE|- ENGINE: a run that met the fault, or failed. Whether it waits
# for a completion depends on how quick the device is, so it has five tries.
meets()
{
	for _ in 1 2 3 4 5; do
		faulty "$@" >out 2>err </dev/null
		status=$?
		drop_devices err
		[ $status -eq 0 ] && ! grep -q INJECTED trace || return 0
	done
	return 1
}
# goes_on TITLE: after meets(), all samples are read.
goes_on()
{
	is "$1: the run goes on" $status 0
	like "$1: it was met" "$(cat trace)" 'INJECTED'
	is "$1: all samples are read" \
		"$(ml run.json samples sample_bytes io_bytes)" "4 65536 65536"
	is "$1: without a word" "$(cat err)" ""
}

reads=pread64,preadv,preadv2
meets $reads:error=EINTR:when=2 $file psync
goes_on "psync: an interrupted read"
meets $reads:error=EINTR:when=1+2 $file psync
goes_on "psync: every second read interrupted"
exits "psync: reads that are interrupted for ever end" 1 \
	faulty $reads:error=EINTR $file psync
like "psync: and are named" "$(cat err)" \
	"^mlgen: $file: read at 0: Interrupted system call"
exits "psync: a read that fails" 1 faulty $reads:error=EIO:when=3 $file psync
like "psync: is named with its offset" "$(cat err)" \
	"^mlgen: $file: read at 8192: Input/output error \(epoch 1, step [0-9], accelerator 1\)"
exits "psync: an open that fails" 1 faulty openat:error=EMFILE $file psync
like "psync: is named" "$(cat err)" "^mlgen: $file: open: Too many open files"

# usable ENGINE
usable()
{
	# shellcheck disable=SC2086
	"$MLGEN" $job --ioengine="$1" --quiet >out 2>&1
}
if usable io_uring; then
	meets io_uring_enter:error=EINTR:when=1+2 - io_uring
	goes_on "io_uring: an interrupted io_uring_enter"
	exits "io_uring: one that fails ends the run" 1 \
		faulty io_uring_enter:error=ENOMEM:when=5 - io_uring
	like "io_uring: and the engine is named" "$(cat err)" \
		'^mlgen: ioengine=io_uring: cannot continue: Cannot allocate memory'
else
	skip "io_uring: an interrupted io_uring_enter" "it may not be used here"
fi
if usable libaio; then
	# The library's own wait looks at the ring first.
	meets io_submit:error=EINTR:when=1+2 - libaio
	goes_on "libaio: an interrupted io_submit"
	exits "libaio: a request that is refused ends the run" 1 \
		faulty io_submit:error=EIO:when=5 - libaio
	like "libaio: and is named" "$(cat err)" \
		'/data/train/img_[0-9]_of_4\.raw: read at [0-9]+: Input/output error'
	job="$job --direct=1"
	if usable libaio && meets io_getevents:error=EINTR:when=1+2 - libaio; then
		goes_on "libaio: an interrupted io_getevents"
	else
		skip "libaio: an interrupted io_getevents" \
			"nothing waits there: no real O_DIRECT"
	fi
else
	skip "libaio: an interrupted io_submit" "it may not be used here"
fi

done_testing
