#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fail-nth.sh - every operation of every engine fails once, in many kinds of jobs.
# On disk: the test uses direct=1 or measures what storage does.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../nth.sh"

engines=
for engine in null psync io_uring libaio; do
	"$MLGEN" --name=x --directory=try --format=raw --num_files=1 \
		--sample_size=4k --ioengine=$engine --quiet >out 2>&1 &&
		engines="$engines $engine"
done
note "engines:$engines"

# matrix TITLE LEAST OPTION...: with all engines, and several errors.
matrix()
{
	title=$1 least=$2
	shift 2
	"$MLGEN" --name=x "$@" --phase=prepare --quiet >out 2>&1
	for engine in $engines; do
		nth_fails "$title, $engine" "$least" EIO "Input/output error" \
			--name=x "$@" --engine=$engine
	done
	nth_fails "$title, no memory" "$least" ENOMEM \
		"Cannot allocate memory" --name=x "$@" --engine=psync
	nth_fails "$title, stale" "$least" ESTALE "Stale file handle" \
		--name=x "$@" --engine=psync
}

raw="--directory=raw --format=raw --num_files=4 --sample_size=16k --bs=4k"
npz="--directory=npz --format=npz --num_files=4 --sample_size=40k"
# shellcheck disable=SC2034 # for nth.sh
nth_samples=8
# shellcheck disable=SC2086 # several options
{
	matrix "raw" 48 $raw --epochs=2 --read_threads=1
	matrix "several readers" 48 $raw --epochs=2 --read_threads=3 \
		--accelerators=2
	matrix "requests in flight" 48 $raw --epochs=2 --read_threads=2 \
		--loader=plain --iodepth=4
	matrix "direct" 48 $raw --epochs=2 --read_threads=1 --direct=1
	matrix "npz, plain" 24 $npz --epochs=2 --read_threads=1 --access=plain
	matrix "npz, framework" 48 $npz --epochs=2 --read_threads=1 \
		--access=framework
	matrix "invalidated each epoch" 48 $raw --epochs=2 --read_threads=1 \
		--invalidate=epoch
}

# ---- what is no error, wherever it happens
# passes TITLE OPTION...: for the first 50 operations
passes()
{
	title=$1
	shift
	bad='' n=0
	while [ $n -lt 50 ] && [ -z "$bad" ]; do
		n=$((n + 1))
		# shellcheck disable=SC2086
		"$MLGEN" --name=x $raw --epochs=2 --read_threads=1 \
			--ioengine=fault --json=run.json --quiet \
			--fail_after=$n "$@" >out 2>err ||
			grep -q ': close: ' err || bad="operation $n: $(cat err)"
		[ -n "$bad" ] || [ -s err ] ||
			[ "$(ml run.json samples sample_bytes)" = "8 131072" ] ||
			bad="operation $n: $(ml run.json samples sample_bytes)"
	done
	is "$title" "$bad" ""
}
for engine in $engines; do
	[ "$engine" != null ] || continue
	passes "$engine: EINTR anywhere" --engine=$engine --fail_errno=EINTR
	passes "$engine: EAGAIN anywhere" --engine=$engine --fail_errno=EAGAIN
	passes "$engine: and everything short" --engine=$engine \
		--fail_errno=EINTR --short_every=1
	passes "$engine: and late" --engine=$engine --fail_errno=EINTR \
		--delay_every=3 --delay=1ms
done

# ---- preparation
"$MLGEN" --name=x --directory=whole --format=raw --num_files=3 \
	--sample_size=16k --phase=prepare --quiet >out 2>&1
want=$(cat whole/train/* | cksum)

# prepares OPTION...: in `new`
prepares()
{
	"$MLGEN" --name=x --directory=new --format=raw --num_files=3 \
		--sample_size=16k --phase=prepare --json=run.json "$@" \
		>out 2>err </dev/null
}
# failed_well STATUS REGEX: what is wrong with a preparation that had a fault,
# and with the next one, which mends it.
failed_well()
{
	case $1 in
	0)	;; # of a call whose failure does no harm
	1 | 2)	grep -Eq "$2" err || echo "not told: $(cat err)"
		# The announcement may stand before it.
		[ "$(wc -l <err)" -le 2 ] || echo "more than a line" ;;
	*)	echo "status $1: $(cat err)" ;;
	esac
	prepares || echo "cannot be mended: $(cat err)"
	[ "$(find new -name '*.part')" = "" ] || echo "something is left over"
	[ "$(cat new/train/* | cksum)" = "$want" ] || echo "other bytes"
}
# Files are written side by side: which operation it is differs by run.
for engine in $engines; do
	[ "$engine" != null ] || continue
	n=0 why='' failures=0
	while [ -z "$why" ] && [ $n -lt 60 ]; do
		n=$((n + 1)) code=0
		rm -rf new run.json
		prepares --ioengine=fault --engine=$engine --fail_after=$n ||
			code=$?
		[ $code -eq 0 ] || failures=$((failures + 1))
		why=$(failed_well $code \
			'^mlgen: new/.*: (open|stat|write at [0-9]+|fsync|close|rename|mkdir): Input/output error')
	done
	is "preparation, $engine: whichever operation fails" "$why" ""
	ok "preparation, $engine: $failures did" test $failures -ge 10
done

# What the engine does not do: lock and manifest. strace counts by thread.
command -v strace >/dev/null && strace -qq -o trace true 2>out || {
	skip "preparation: every call of lock and manifest" \
		"strace cannot trace here"
	done_testing
	exit 0
}
# calls_fail CALLS ERROR LEAST REGEX: the first, the second, ... until one is
# not reached.
calls_fail()
{
	n=0 why=''
	while [ -z "$why" ]; do
		n=$((n + 1)) code=0
		rm -rf new run.json
		ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" \
			timeout 60 strace -f -qq -o trace \
			-e inject="$1:error=$2:when=$n" "$MLGEN" --name=x \
			--directory=new --format=raw --num_files=3 \
			--sample_size=16k --phase=prepare --json=run.json \
			>out 2>err || code=$?
		grep -q INJECTED trace || break
		why=$(failed_well $code "$4")
	done
	[ -n "$why" ] || [ $n -gt "$3" ] || why="only $((n - 1)) calls"
	is "preparation: $1, each of $((n - 1)) calls" "${why:+$n: $why}" ""
}
calls_fail pwrite64,pwritev,pwritev2 ENOSPC 1 \
	'write at 0: No space left on device; .*still to be written'
calls_fail fsync,fdatasync EIO 4 'Input/output error'
calls_fail rename,renameat,renameat2 EIO 2 'Input/output error'
calls_fail mkdir,mkdirat EACCES 1 'Permission denied'
calls_fail flock,fcntl EIO 1 'Input/output error'

done_testing
