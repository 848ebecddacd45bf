#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 116-honesty.sh - a report says what it ran on, what disturbed it, and keeps to its memory_limit.
# On disk: the page cache is told from storage.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# train OPTION...: 64 MiB in 64 files; the report goes to out and run.json.
train()
{
	rm -f run.json
	"$MLGEN" --name=x --directory="$T/data" --format=raw --num_files=64 \
		--sample_size=1m --batch_size=4 --accelerators=1 \
		--read_threads=1 --json=run.json "$@" >out 2>err </dev/null
}
train --phase=prepare

# ---- what it ran on
train --name='a job' --read_threads=2
is "the command line is there as it was given" \
	"$(json run.json machine.command)" \
	"$MLGEN --name=x --directory=$T/data --format=raw --num_files=64 --sample_size=1m --batch_size=4 --accelerators=1 --read_threads=1 --json=run.json '--name=a job' --read_threads=2"
ln -s "$T/data" d
"$MLGEN" --name=x --directory=d --format=raw --num_files=64 --sample_size=1m \
	--epochs=2 --require='samples>=1 and au <= 100' >out 2>err </dev/null
like "and in the report" "$(cat out)" \
	'^command   .*mlgen --name=x --directory='
command=$(sed -n '/^command/,/^$/p' out | sed 's/^command//')
is "to be copied into a shell" "$(printf '%s\n' "$command" |
	sed "s:$MLGEN:printf '%s,':" | sh)" \
	"$(printf '%s,' --name=x --directory=d --format=raw --num_files=64 \
		--sample_size=1m --epochs=2 \
		--require='samples>=1 and au <= 100')"
like "and the CPU" "$(tr '\n' ' ' <out)" ' CPUs? \(.* NUMA nodes?\), '
ok "which fits a screen" test "$(wc -l <out)" -le 52
for key in cpu_model numa_nodes liburing libaio memory_limit_bytes; do
	case $(json run.json machine.$key) in
	absent)	ok "machine.$key is there" false ;;
	*)	ok "machine.$key is there" true ;;
	esac
done
if grep -q '^model name' /proc/cpuinfo; then
	is "the CPU is the kernel's" "$(json run.json machine.cpu_model)" \
		"$(sed -n 's/^model name[[:blank:]]*: //p' /proc/cpuinfo |
			head -n 1)"
fi
is "a dry run has it, too" "$(
	"$MLGEN" --name=x --dry-run --json=plan.json >/dev/null 2>&1
	json plan.json machine.command
)" "$MLGEN --name=x --dry-run --json=plan.json"
disk=$(ml run.json storage.device)
if [ -r "/sys/block/$disk/device/model" ]; then
	is "the disk's model is the kernel's" \
		"$(ml run.json storage.device_model)" \
		"$(sed 's/ *$//' "/sys/block/$disk/device/model")"
else
	is "a disk without a model has none" \
		"$(ml run.json storage.device_model)" null
fi

if train --ioengine=io_uring; then
	like "flags of the ring are those in use" "$(ml run.json in_use)" \
		'(SQPOLL|TASKRUN|SUBMIT_ALL)'
	train --ioengine=io_uring --sqthread_poll=1 &&
		like "others where they are others" "$(ml run.json in_use)" \
			'SQPOLL'
else
	skip "flags of the ring are those in use" "$(cat err)"
fi

# ---- what disturbed it
train
for key in steal_percent guest_percent other_percent throttled \
	throttled_percent hot pressure_cpu_percent pressure_io_percent \
	pressure_memory_percent clock_mhz most_mhz; do
	like "host.noise.$key is a number, or unknown" \
		"$(ml run.json host.noise.$key)" '^([0-9.e+-]+|null)$'
done

# With the fault engine operation 100, which belongs to the 34th file, is late.
exits "a run with one slow file" 0 train --loader=plain --shuffle=none \
	--ioengine=fault --delay_every=100 --delay=500ms
slow=$(find "$T/data/train" -name '*.raw' | sort | sed -n 34p)
is "the slowest file is named" "$(ml run.json storage.slowest_file \
	storage.slowest_file_bytes)" "$slow 1048576"
ok "with how long its sample took" \
	test "$(ml run.json storage.slowest_sample_ns | cut -d. -f1)" -ge 500000000
like "in the report, too" "$(cat out)" "^slowest            sample in "
like "by its name" "$(tr -d '\n ' <out)" "$(basename "$slow")"
train --accelerators=3 --batch_size=1 --compute_time=1ms
like "the slowest accelerator is one of them" \
	"$(ml run.json slowest_rank.rank)" '^[012]$'
like "with its mean" "$(ml run.json slowest_rank.stall_mean_ns \
	slowest_rank.stall_median_ns)" '^[0-9.e+]+ [0-9.e+]+$'

# ---- memory_limit: what can be told without permission
exits "less than it takes itself is refused" 2 train --memory_limit=4m
like "in words" "$(cat err)" \
	'^mlgen: memory_limit: 4 MiB is too little: .* needs about [0-9.]+ MiB.*; memory_limit=[0-9]+MiB is the least that works'
is "once" "$(wc -l <err)" 1
least=$(sed -n 's/.*memory_limit=\([0-9]*MiB\) is .*/\1/p' err)
train --memory_limit="$least" --steps=2
unlike "and that works, where there can be a limit" "$(cat err)" \
	'too little|needs about'
exits "and more than there is" 2 train --memory_limit=512t
like "in words" "$(cat err)" \
	'^mlgen: memory_limit: 512 TiB is more than the .* of this process; '
exits "and jobs that do not agree" 2 "$MLGEN" \
	--name=a --directory=a --memory_limit=64m --name=b --directory=b
is "in words" "$(cat err)" \
	"mlgen: memory_limit: is 64 MiB in a and none in b, but it applies to the whole process; set it once, in [global] or on the command line"
ok "before anything is made" test ! -e a
"$MLGEN" --name=x --directory="$T/new" --format=raw --sample_size=1m \
	--memory_limit=64m --dataset_ratio=2 --dry-run --json=plan.json \
	>out 2>&1
is "a dry run counts from it" "$(json plan.json jobs.0.dataset.files)" 128

chmod 755 "$T"
can_drop()
{
	[ "$(id -u)" -ne 0 ] || command -v setpriv >/dev/null
}
# A user of a systemd session may have a group of his own.
if can_drop && as_nobody test -r "$T/data/train" -a -x "$MLGEN"; then
	as_nobody "$MLGEN" --name=x --directory="$T/data" --format=raw \
		--num_files=64 --sample_size=1m --memory_limit=64m --readonly \
		>out 2>err </dev/null
	status=$?
	if grep -q 'no control group' err; then
		is "without permission nothing runs" "$status" 2
		like "it says what that means, and the way out" "$(cat err)" \
			'may use all .* here; --memory_limit_required=0 runs the job without it$'
		exits "which does" 0 as_nobody "$MLGEN" --name=x \
			--directory="$T/data" --format=raw --num_files=64 \
			--sample_size=1m --memory_limit=64m --readonly \
			--memory_limit_required=0 --output-format=json
		like "with a warning" "$(cat err)" \
			'^mlgen: warning: memory_limit: no control groups? .*may come from memory'
		like "and no limit in the report" "$(cat out)" \
			'"memory_limit_bytes": null'
	else
		skip "without permission nothing runs" \
			"here others may make groups"
	fi
else
	skip "without permission nothing runs" "no other user can be had"
fi

if ! train --memory_limit=32m --steps=2; then
	skip "memory_limit holds" "$(head -n 1 err)"
	done_testing
	exit 0
fi

# ---- memory_limit: a group of its own
is "the limit is this host's memory for the run" "$(json run.json \
	machine.memory_limit_bytes machine.memory_bytes)" "33554432 33554432"
like "and what the dataset is compared with" "$(cat out)" \
	'^dataset .* 64 MiB = 2\.0 x memory_limit$'
train --memory_limit=32m --steps=2 --invalidate=0
like "what was cached before is not limited, it says" "$(cat err)" \
	'^mlgen: warning: x: memory_limit: pages of its files that are already in the page cache are not limited; invalidate=run drops them first$'

delivered()
{
	ml run.json storage.device_read_bytes
}
# Whoever else reads from the device now blurs this: more than one try.
answers_from_memory()
{
	train --epochs=3 --shuffle=none
	[ "$(delivered)" -lt $((2 * 67108864)) ]
}
if [ "$(ml run.json storage.source)" = "device counters" ]; then
	ok "without a limit memory answers from the second epoch on" \
		poll answers_from_memory
	train --epochs=3 --shuffle=none --memory_limit=32m
	ok "with half the dataset it cannot" \
		test "$(delivered)" -ge $((2 * 67108864))
else
	skip "a cache that is too small does not answer" \
		"bytes from memory: $(ml run.json storage.source)"
fi

# groups PID: those that it has made.
pid=
groups()
{
	find /sys/fs/cgroup -type d -name "mlgen-$1" 2>/dev/null
}
has_group()
{
	[ -n "$(groups "$pid")" ]
}
# limited: a run that has begun.
limited()
{
	rm -f log.csv
	background "$MLGEN" --name=x --directory="$T/data" --format=raw \
		--num_files=64 --sample_size=1m --batch_size=4 \
		--memory_limit=64m --compute_time=1ms --epochs=1000000 \
		--log=log.csv --log_interval=10ms
	poll grep -qsE ',train,([2-9]|[1-9][0-9])' log.csv
}
limited
ok "the process has a group of its own" has_group
ok "and is in it" grep -q "/mlgen-$pid\$" "/proc/$pid/cgroup"
kill -INT "$pid"
finish
is "an interrupted run ends as ever" "$status" 130
ok "and removes its group" test -z "$(groups "$pid")"

limited
rm -f "$T"/data/train/img_0[1-9]*
finish
is "a run that fails ends as ever" "$status" 1
ok "and removes its group, too" test -z "$(groups "$pid")"
train --phase=prepare

background "$MLGEN" --name=x --directory="$T/data" --format=raw \
	--num_files=64 --sample_size=1m --memory_limit=64m
finish
is "one that is through" "$status $(groups "$pid")" "0 "

# has_no_group: nor a process that could still remove it.
has_no_group()
{
	! has_group
}
limited
kill -KILL "$pid"
finish
ok "one that was killed leaves none" poll has_no_group
limited
left=$(groups "$pid")
# The child that would remove the group is in it, too.
for each in $(cat "$left/cgroup.procs"); do
	kill -KILL "$each"
done
finish
ok "one that was killed with all that it started does" has_group
train --memory_limit=64m --steps=1
ok "to the next, which removes it" test -z "$(groups "$pid")"

# Sixteen writers with a buffer each.
exits "who needs more than the limit is refused" 2 \
	"$MLGEN" --name=x --phase=checkpoint --checkpoint_size=16m --ranks=16 \
	--directory="$T/save" --memory_limit=13m
like "in words" "$(cat err)" \
	'^mlgen: memory_limit: 13 MiB is too little: x needs about [0-9.]+ MiB; memory_limit=[0-9]+MiB is the least that works, or lower checkpoint_ranks, .*$'
ok "and nothing is made" test ! -e save

# What an engine of others takes nobody can know.
cat >hog.c <<'EOF'
#include <stdlib.h>
#include <string.h>

#include <mlgen/engine.h>

static int hog_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	char *volatile p = malloc(64 << 20);

	(void)ctx;
	(void)n;
	memset(p, 1, 64 << 20);
	io[0]->result = io[0]->op == MLGEN_READ ? (int64_t)io[0]->len_bytes : 0;
	return 1;
}

const struct mlgen_engine mlgen_engine = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "hog",
	.help = "takes memory",
	.caps = (MLGEN_CAP(MLGEN_OPS) - 1) | MLGEN_CAP_NO_FILES,
	.submit = hog_submit,
};
EOF
if "${CC:-cc}" -shared -fPIC -I"$TOP/include" -o hog.so hog.c 2>err &&
	[ -z "${SANITIZE-}" ]; then
	exits "who takes more all the same is killed" 137 "$MLGEN" --name=x \
		--ioengine=./hog.so --num_files=64 --memory_limit=24m
	# By the child that outlives it, so perhaps a moment later.
	is_said()
	{
		grep -q '^mlgen: memory_limit: the kernel killed mlgen because it needed more than 24 MiB; there is no report\.' err
	}
	ok "and that is said" poll is_said
else
	skip "who takes more all the same is killed" \
		"no compiler, or one with sanitizers"
fi

done_testing
