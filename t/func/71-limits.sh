#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 71-limits.sh - limits of the system and of the user: each is named with the way out.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

refuse=$BUILT/build/t/tools/refuse
hold_aio=$BUILT/build/t/tools/hold_aio
[ -x "$refuse" ] || skip_all "build/t/tools/refuse is not here; make check builds it"

job="--name=x --directory=data --format=raw --num_files=20 --sample_size=2k
	--json=run.json"

# shellcheck disable=SC2086 # several options
"$MLGEN" $job --phase=prepare --quiet >out 2>&1

is_built()
{
	"$MLGEN" --enghelp | grep -q "^$1 "
}

# ---- fs.aio-max-nr
no_requests='^mlgen: ioengine=libaio: io_setup: Resource temporarily unavailable; fs\.aio-max-nr is [0-9]+, [0-9]+ of them in use, and [0-9]+ workers? of iodepth=[0-9]+ need [0-9]+: raise it \(sysctl -w fs\.aio-max-nr=[0-9]+\) or lower iodepth$'
if is_built libaio && "$refuse" io_setup EAGAIN true; then
	rm -f run.json
	# shellcheck disable=SC2086
	exits "without AIO requests left the run does not begin" 2 "$refuse" \
		io_setup EAGAIN "$MLGEN" $job --ioengine=libaio
	like "which names the sysctl and the need" "$(cat err)" "$no_requests"
	is "without a report" "$(cat out)" ""
	# shellcheck disable=SC2086
	exits "a kernel without AIO ends the run" 2 "$refuse" io_setup ENOSYS \
		"$MLGEN" $job --ioengine=libaio
	like "in words" "$(cat err)" \
		'^mlgen: ioengine=libaio: io_setup: Function not implemented; .*seccomp.* use ioengine=io_uring or psync$'
else
	skip "without AIO requests left the run does not begin" \
		"no libaio, or no seccomp filters"
fi

# The real one: it is the whole system's, so 4000 are left to others.
left=4000
max=$(cat /proc/sys/fs/aio-max-nr 2>/dev/null || echo 0)
if is_built libaio && [ "$max" -ge 8000 ] && [ "$max" -le 1048576 ]; then
	too_many='^mlgen: ioengine=libaio: fs\.aio-max-nr is [0-9]+, [0-9]+ of these are in use, and all workers together need 4096; raise it \(sysctl -w fs\.aio-max-nr=[0-9]+\) or lower iodepth'
	mkfifo hold
	"$hold_aio" $left <hold >held &
	holder=$!
	exec 3>hold
	poll test -s held
	rm -f run.json
	# shellcheck disable=SC2086
	exits "when others hold the AIO requests the run does not begin" 2 \
		"$MLGEN" $job --ioengine=libaio --loader=plain --read_threads=4 \
		--iodepth=1024
	like "which says how many are in use, and how many it needs" \
		"$(cat err)" "$too_many"
	# shellcheck disable=SC2086
	"$MLGEN" $job --ioengine=libaio --loader=plain --read_threads=4 \
		--iodepth=1024 --dry-run >out 2>err
	like "a dry run says the same" "$(tr -s ' \n' ' ' <out)" \
		"engine ioengine=libaio FAIL.*${too_many#^mlgen: }"
	# shellcheck disable=SC2086
	exits "plain jobs, too" 2 "$MLGEN" --name=p --directory=. \
		--rw=read --size=4k --bs=1k --numjobs=5 --iodepth=1000 \
		--ioengine=libaio
	like "count them before the first byte" "$(cat err)" \
		'all workers together need 5000; .*'
	# shellcheck disable=SC2086
	exits "a need that fits is met" 0 "$MLGEN" $job --ioengine=libaio \
		--read_threads=2 --iodepth=4
	exec 3>&-
	wait $holder
	# shellcheck disable=SC2086
	exits "and all of it afterwards" 0 "$MLGEN" $job --ioengine=libaio \
		--loader=plain --read_threads=4 --iodepth=1024
else
	skip "when others hold the AIO requests the run does not begin" \
		"fs.aio-max-nr is $max"
fi

# ---- open files: rings and contexts beside the files of the readers
# with_files N COMMAND...
with_files()
{
	(
		# shellcheck disable=SC3045 # every sh here has it
		ulimit -n "$1" || exit 77
		shift
		exec "$@"
	)
}
for engine in psync io_uring libaio; do
	is_built $engine || continue
	# shellcheck disable=SC2086
	exits "$engine: 11 open files are too few" 2 with_files 11 "$MLGEN" \
		$job --ioengine=$engine
	like "$engine: which names the limit" "$(cat err)" \
		'^mlgen: [0-9]+ files may be open at once, but the limit is 11; lower .*, or raise the limit with ulimit -n [0-9]+$'
	needed=$(sed -n 's/.*ulimit -n //p' err)
	# shellcheck disable=SC2086
	exits "$engine: what it names is enough" 0 with_files "$needed" \
		"$MLGEN" $job --ioengine=$engine
done

# ---- locked memory, for one who is not root
chmod 755 "$T"
chmod -R a+rX data
if is_built io_uring && as_nobody "$MLGEN" --version >out 2>&1; then
	(
		# shellcheck disable=SC3045
		ulimit -l 0 || exit 77
		# Old kernels and some hardened ones count rings; others do not.
		# shellcheck disable=SC2086
		as_nobody "$MLGEN" $job --ioengine=io_uring --json=/dev/null \
			--quiet
	) >out 2>err
	case $? in
	0)	ok "rings are not locked memory here" true ;;
	2)	like "rings that may not be locked are told" "$(cat err)" \
			'^mlgen: ioengine=io_uring: io_uring_setup: Cannot allocate memory; .* the limit is 0 KiB: raise it \(ulimit -l\) or lower iodepth$' ;;
	*)	like "rings that may not be locked are told, before the run" \
			"status $?: $(cat err)" '^status 2' ;;
	esac
else
	skip "rings that may not be locked are told" "no other user to be"
fi

done_testing
