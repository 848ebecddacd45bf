#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 25-enough-memory.sh - a job that needs more memory than there is says so before it begins.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

job="--name=x --directory=$T/data --format=npz --num_files=20
	--sample_size=4k --json=run.json"

# ---- ulimit -s
# with_stack KIB COMMAND...
with_stack()
{
	(
		# shellcheck disable=SC3045 # every sh here has it
		ulimit -s "$1" || exit 77
		shift
		exec "$@"
	)
}
for kib in 64 255; do
	# shellcheck disable=SC2086 # several options
	exits "with a stack of $kib KiB nothing runs" 2 with_stack $kib \
		"$MLGEN" $job
	is "$kib KiB: it says so, and the way out" "$(cat err)" \
		"mlgen: ulimit -s: the stack limit is below the 256 KiB that mlgen needs; raise it (ulimit -s 256)"
done
if [ -z "${SANITIZE-}" ]; then
	# shellcheck disable=SC2086
	exits "what it names is enough" 0 with_stack 256 "$MLGEN" $job
else
	skip "what it names is enough" "sanitizers have frames of their own"
fi

# stacks COMMAND...: address space of each of the program's threads, in pages.
if command -v strace >/dev/null; then
	for kib in 512 65536 unlimited; do
		# shellcheck disable=SC2086
		with_stack $kib strace -f -qq -e trace=mmap -o calls "$MLGEN" \
			$job --phase=prepare >out 2>err
		is "threads have 512 KiB each, with ulimit -s $kib, too" \
			"$(sed -n 's/.*mmap(NULL, \([0-9]*\),.*MAP_STACK.*/\1/p' \
				calls | sort -u)" $((512 * 1024 + 4096))
	done
else
	skip "threads have 512 KiB each" "strace is not here"
fi

# ---- readers of small samples
# resident: KiB that a run with so many of them takes at most.
resident()
{
	rm -f log.csv
	background "$MLGEN" --name=x --directory="$T/none" --ioengine=null \
		--num_files=4000 --sample_size=114k --read_threads=1 \
		--compute_time=1ms --epochs=1000000 --log=log.csv \
		--log_interval=10ms --accelerators=400
	poll grep -qsE ',train,([2-9]|[1-9][0-9])' log.csv
	most=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB$/\1/p' \
		"/proc/$pid/status")
	kill -INT "$pid"
	finish
	echo "$most"
}
if [ -z "${SANITIZE-}" ]; then
	most=$(resident)
	ok "400 readers on ioengine=null take less than 400 KiB each" \
		test "$most" -gt 0 -a "$most" -lt $((400 * 400))
	note "resident: $most KiB"
else
	skip "readers on ioengine=null take little" \
		"sanitizers have memory of their own"
fi

# ---- what there is: address space
null="--name=x --directory=$T/none --ioengine=null --num_files=20000
	--sample_size=114k --read_threads=1 --steps=2 --json=run.json"
# with_memory OPTION KIB COMMAND...
with_memory()
{
	(
		# shellcheck disable=SC3045
		ulimit "$1" "$2" || exit 77
		shift 2
		exec "$@"
	)
}
if [ -z "${SANITIZE-}" ]; then
	for option in -v -d; do
		# shellcheck disable=SC2086
		exits "what ulimit $option leaves is enough, or refused" 2 \
			with_memory $option 400000 "$MLGEN" $null \
			--accelerators=250
		like "in words" "$(cat err)" \
			"^mlgen: memory: x \\(accelerators=250\\) maps about [0-9.]+ MiB, but ulimit $option leaves [0-9.]+ MiB of its 390\\.6 MiB; lower accelerators, read_threads, iodepth or bs, or allow more memory\$"
		# shellcheck disable=SC2086
		exits "fewer run" 0 with_memory $option 400000 "$MLGEN" $null \
			--accelerators=150
	done
else
	skip "what ulimit -v leaves is enough, or refused" \
		"sanitizers map terabytes"
fi

# ---- of a limit, and of the host
fails='^memory +[0-9.]+ [GM]iB for mlgen \(estimate\) +FAIL$'
# shellcheck disable=SC2086
exits "a dry run compares with memory_limit" 2 "$MLGEN" $null \
	--accelerators=1000 --memory_limit=64m --dry-run
like "and marks what is too much" "$(cat out)" "$fails"
like "with what costs it" "$(tr -s '\n ' ' ' <out)" \
	'memory_limit: 64 MiB is too little: x \(accelerators=1000\) needs about [0-9.]+ MiB; memory_limit=[0-9]+MiB is the least that works, or lower accelerators,'
# Where no group can be had, that stands first.
like "in JSON, too" "$(json run.json jobs.0.plan.blockers.0.name \
	jobs.0.plan.blockers.1.name)" '^(program|memory_limit program)( |$)'
# shellcheck disable=SC2086
"$MLGEN" $null --accelerators=10 --memory_limit=64m --dry-run >out 2>err
like "and what is not" "$(cat out)" \
	'^memory +[0-9.]+ MiB for mlgen \(estimate\) +ok$'

available=$(sed -n 's/^MemAvailable:[^0-9]*\([0-9]*\) kB$/\1/p' /proc/meminfo)
huge="--name=x --directory=$T/none --ioengine=null --num_files=100000
	--accelerators=65536 --read_threads=16 --steps=2"
if [ "${available:-0}" -gt 0 ] && [ "$available" -lt 200000000 ]; then
	# shellcheck disable=SC2086
	exits "more than this host has is refused" 2 "$MLGEN" $huge
	like "in words" "$(cat err)" \
		'^mlgen: memory: x \(accelerators=65536 x read_threads=16\) needs about [0-9.]+ GiB, but '
	# shellcheck disable=SC2086
	exits "which a dry run tells" 2 "$MLGEN" $huge --dry-run
	like "in its line" "$(cat out)" "$fails"
else
	skip "more than this host has is refused" "this one has $available KiB"
fi

# ---- of a control group that others have made
group=
for memory in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	[ -z "${SANITIZE-}" ] || break
	group=$memory/mlgen-test-$$
	limit=$group/memory.limit_in_bytes
	[ $memory = /sys/fs/cgroup ] && limit=$group/memory.max
	mkdir "$group" 2>/dev/null && [ -w "$limit" ] && break
	rmdir "$group" 2>/dev/null
	group=
done
if [ -z "$group" ]; then
	skip "what a control group leaves is enough, or refused" \
		"it takes root, the memory controller, and no sanitizers"
	done_testing
	exit 0
fi
in_group()
{
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
}
echo $((16 << 20)) >"$limit"
# shellcheck disable=SC2086
exits "what a control group leaves is enough, or refused" 2 in_group \
	"$MLGEN" $null --accelerators=300
like "in words" "$(cat err)" \
	"^mlgen: memory: x \(accelerators=300\) needs about [0-9.]+ MiB, but the control group .*/mlgen-test-$$ leaves [0-9.]+ MiB of its 16 MiB; lower accelerators,"
# shellcheck disable=SC2086
exits "a dry run there ends with the same status" 2 in_group "$MLGEN" $null \
	--accelerators=300 --dry-run
like "but tells that it would be" "$(cat out)" "$fails"
# Each fits, together they do not.
exits "jobs side by side are added up" 2 in_group "$MLGEN" --ioengine=null \
	--num_files=2000 --accelerators=8 --steps=2 \
	--name=a --directory="$T/a" --name=b --directory="$T/b"
like "in words" "$(cat err)" \
	'^mlgen: memory: b .*, with the other jobs of its group, needs about '
exits "one after the other they run" 0 in_group "$MLGEN" --ioengine=null \
	--num_files=2000 --accelerators=6 --steps=2 \
	--name=a --directory="$T/a" --name=b --stonewall --directory="$T/b"
# shellcheck disable=SC2086
exits "what fits runs, preparing included" 0 in_group "$MLGEN" $job \
	--directory="$T/small" --accelerators=2 --read_threads=4
rmdir "$group"

done_testing
