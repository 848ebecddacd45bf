#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 23-memory.sh - what comes from memory is told, and what should come from storage does.
# On disk: direct=1 is tried, which files in memory do not have.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# train OPTION...: 8 MiB, once; the report goes to out and run.json.
train()
{
	rm -f run.json
	"$MLGEN" --name=x --directory="$T/data" --format=raw --num_files=32 \
		--sample_size=256k --batch_size=4 --json=run.json "$@" \
		>out 2>err </dev/null
}

total=$((32 * 262144))

# ---- a filesystem that is memory
if [ -d /dev/shm ] && [ -w /dev/shm ] && is_memory /dev/shm; then
	shm=$(mktemp -d /dev/shm/mlgen-test.XXXXXX)
	train --directory="$shm/d"
	is "tmpfs is called memory" "$(ml run.json storage.is_memory verdict.name)" \
		"true memory"
	like "in the first line" "$(head -n 1 out)" ' MEMORY, NOT STORAGE$'
	like "and where the storage stands" "$(cat out)" \
		'^storage +tmpfs ([a-z]+ )?at /dev/shm: this is memory$'
	exits "direct=1 is refused there" 2 "$MLGEN" --name=x --direct=1 \
		--directory="$shm/e" --num_files=8
	is "in words" "$(cat err)" \
		"mlgen: direct=1: tmpfs at /dev/shm keeps files in memory; O_DIRECT would have no effect"
	ok "and makes nothing" test ! -e "$shm/e"
	rm -rf "$shm"
else
	skip "tmpfs is called memory" "there is no tmpfs at /dev/shm"
fi

# ---- hold_samples: what is read ahead stays in memory
ahead="--name=x --directory=$T/held --format=raw --num_files=64
	--sample_size=2m --batch_size=2 --accelerators=2 --read_threads=2
	--prefetch=4"
held=$((2 * 2 * 4 * 2 * 2048))	# KiB: all that may be ahead
# shellcheck disable=SC2086 # several options
"$MLGEN" $ahead --phase=prepare >out 2>&1

# How large a sample is does not matter to what is read.
# shellcheck disable=SC2086
counts()
{
	rm -f run.json
	if "$MLGEN" $ahead --directory="$T/small" --sample_size=256k --epochs=2 \
		--json=run.json "$@" >out 2>err; then
		ml run.json steps samples sample_bytes io_bytes
	else
		echo "status $?: $(cat err)"
	fi
}

for how in "--loader=pytorch" "--loader=plain --iodepth=8" \
	"--loader=tfdata --shuffle=buffer:10" "--bs=64k" "--direct=1"; do
	# shellcheck disable=SC2086
	want=$(counts $how)
	case $want in
	status*)
		skip "the same is read when it is held: $how" "$(cat err)"
		continue
		;;
	esac
	for engine in psync io_uring libaio; do
		# shellcheck disable=SC2086
		got=$(counts $how --hold_samples=1 --ioengine=$engine)
		case $got in
		*io_uring_setup* | *aio-max-nr*)
			skip "the same is read when it is held: $how, $engine" \
				"$(cat err)"
			;;
		*)
			is "the same is read when it is held: $how, $engine" \
				"$got" "$want"
			;;
		esac
	done
done

# The most that was resident, KiB; nothing once it is gone.
most()
{
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB$/\1/p' "/proc/$pid/status"
}
reaches()
{
	[ "$(most)" -ge "$1" ]
}
# A batch takes so long that all that may be ahead is there soon; then epochs
# pass.
under_way()
{
	rm -f log.csv
	# shellcheck disable=SC2086
	background "$MLGEN" $ahead --compute_time="$1" --epochs=1000000 \
		--log=log.csv --log_interval=10ms --hold_samples="$2"
	poll grep -qsE ",train,$3" log.csv
}
stop()
{
	kill -INT "$pid"
	finish
	is "$1" "$status" 130
}
if [ -z "${SANITIZE-}" ]; then
	under_way 2ms 0 '([5-9]|[1-9][0-9])'
	without=$(most)
	ok "without, little is resident" test "$without" -lt $((held / 2))
	stop "and the run ends"
	under_way 1s 1 1
	ok "with hold_samples, all that is ahead is" \
		poll reaches $((without + held * 9 / 10))
	stop "in the first epoch, too, the run ends"
	under_way 2ms 1 '([5-9]|[1-9][0-9])'
	ok "epochs later it is no more" \
		test "$(most)" -lt $((without + held * 5 / 4))
	note "resident: $without KiB without, $(most) KiB with hold_samples=1," \
		"$held KiB ahead"
	stop "and that one ends"
else
	skip "with hold_samples, all that is ahead is resident" \
		"sanitizers have memory of their own"
fi

# shellcheck disable=SC2086
"$MLGEN" $ahead --dry-run=show >out 2>&1
like "a dry run tells what a framework would hold" "$(cat out)" \
	'PyTorch would also hold 64 MiB of prefetched'
like "and how to do the same" "$(tr -s '\n ' ' ' <out)" \
	'hold_samples=1 holds them, too, which leaves less page cache'
# shellcheck disable=SC2086
"$MLGEN" $ahead --dry-run=show --hold_samples=1 >out 2>&1
like "or what is held" "$(cat out)" \
	'^ +prefetched samples, held as PyTorch does +64 MiB +ok$'
unlike "which is not told twice" "$(cat out)" 'would also'

large="--name=x --directory=$T/large --format=raw --num_files=40000
	--sample_size=4g --prefetch=1024 --batch_size=4 --read_threads=1
	--hold_samples=1"
# shellcheck disable=SC2086
exits "more than this host's memory is refused" 2 "$MLGEN" $large
like "with the number and the way out" "$(cat err)" \
	'^mlgen: hold_samples: prefetched samples would need 16 TiB, but the memory of this host is .*; lower prefetch, .* or set hold_samples=0$'
ok "and nothing is made" test ! -e large
# shellcheck disable=SC2086
exits "a small evaluation beside it hides nothing" 2 "$MLGEN" $large \
	--eval_files=4 --eval_batch_size=1
# shellcheck disable=SC2086
exits "and a large one is refused, too" 2 "$MLGEN" $large --prefetch=1 \
	--batch_size=1 --eval_files=40000 --eval_batch_size=4096
like "by its own name" "$(cat err)" \
	'^mlgen: hold_samples: prefetched samples in an evaluation would need 16 TiB, .*eval_batch_size'
# shellcheck disable=SC2086
exits "a dry run of it is no failure" 0 "$MLGEN" $large --dry-run=show \
	--json=plan.json
like "but tells that it would be" "$(cat out)" \
	'prefetched samples, held as PyTorch does +16 TiB +FAIL$'
like "in JSON, too" "$(json plan.json jobs.0.plan.blockers.0.text \
	jobs.0.plan.blockers.1.text)" 'hold_samples: prefetched samples'
# shellcheck disable=SC2086
exits "an engine that moves nothing holds nothing" 0 "$MLGEN" $large \
	--ioengine=null --steps=2
rm -rf held

# ---- the page cache
if is_memory "$T"; then
	skip "the page cache is told from storage" "$T is in memory"
	done_testing
	exit 0
fi

train --phase=prepare
like "files leave the page cache as they are written" \
	"$(json run.json jobs.0.prepare.resident_percent)" '^0(\.[0-9]*)?$'
like "which the report says" "$(cat out)" \
	'^  in memory now   0.0%: each file was synced and dropped from the page cache$'
train --invalidate=0
like "so that the first epoch finds nothing there" \
	"$(ml run.json storage.resident_before_percent)" '^0(\.[0-9]*)?$'
is "of all files, which are few" \
	"$(json run.json jobs.0.prepare.resident_files) $(ml run.json \
		storage.resident_files)" "32 32"
source=$(ml run.json storage.source)
from_device()
{
	[ "$(ml run.json storage.device_read_bytes)" -ge "$1" ]
}
if [ "$source" = "device counters" ]; then
	ok "and storage answers" from_device $total
else
	skip "and storage answers" "bytes from memory: $source"
fi

# Whoever else reads from the device now blurs this: more than one try.
from_memory()
{
	train --invalidate=0
	[ "$(ml run.json verdict.name)" = memory ]
}
if [ "$source" = "device counters" ]; then
	ok "a second run reads memory, and says so" poll from_memory
	like "with the part that did" "$(cat out)" \
		'^from memory +[0-9.]+% of the bytes read \(device counters\)'
	like "and the figure that decided" "$(cat out)" \
		'^  NOT A STORAGE RESULT   [0-9.]+% of the bytes came from this host'
	like "everything was there before" \
		"$(ml run.json storage.resident_before_percent)" '^100(\.0)?$'
	like "as a sample of files showed" "$(cat out)" \
		'100.0% of the dataset was cached before \([0-9]+ files? sampled\)'
else
	train --invalidate=0
	like "a second run may read memory, and says so" \
		"$(ml run.json storage.resident_before_percent)" '^100(\.0)?$'
fi

for invalidate in run epoch 1; do
	train --invalidate=$invalidate --epochs=2
	times=1
	[ $invalidate = epoch ] && times=2
	if [ "$source" = "device counters" ]; then
		ok "invalidate=$invalidate: storage answers $times of 2 epochs" \
			from_device $((total * times))
	else
		skip "invalidate=$invalidate" "bytes from memory: $source"
	fi
done

# below PERCENT KEY: a share that is told, and no larger.
below()
{
	ml run.json "$2" | awk -v most="$1" \
		'{ exit !($1 ~ /^[0-9.]+$/ && $1 <= most) }'
}
from_storage()
{
	train "$@"
	below 10 storage.memory_percent
}
if [ "$source" = "device counters" ]; then
	ok "invalidate=epoch leaves nothing to memory, and tells so" \
		poll from_storage --invalidate=epoch --epochs=3
fi

# ---- dropped only where there is something
drops()
{
	ml run.json storage.cache_drops
}
train --invalidate=0
is "invalidate=0 drops nothing" "$(drops)" 0
train --invalidate=run --epochs=2
is "invalidate=run drops before the first epoch" "$(drops)" 1
train --invalidate=epoch --epochs=3
is "invalidate=epoch before each" "$(drops)" 3
train --phase=prepare
like "a preparation that has nothing to write leaves nothing there, too" \
	"$(json run.json jobs.0.prepare.files_written \
		jobs.0.prepare.resident_percent)" '^0 0(\.[0-9]*)?$'
train --invalidate=run
is "so that there is nothing to drop" "$(drops)" 0
like "as the report says" "$(cat out)" 'invalidate=run found nothing to drop'
rm data/train/img_07_of_32.raw
cat data/train/*.raw >/dev/null
train --phase=prepare
like "nor does one that completes a dataset which was read before" \
	"$(json run.json jobs.0.prepare.files_written \
		jobs.0.prepare.resident_percent)" '^1 0(\.[0-9]*)?$'

many="--directory=$T/many --num_files=300 --sample_size=4k"
# shellcheck disable=SC2086 # several options
train $many --phase=prepare
is "of many files, 256 are looked at" \
	"$(json run.json jobs.0.prepare.resident_files)" 256
cat many/train/*.raw >/dev/null
# shellcheck disable=SC2086
train $many --phase=prepare
like "all of them are dropped" \
	"$(json run.json jobs.0.prepare.resident_percent)" '^0(\.[0-9]*)?$'
rm -rf many

# ---- jobs on one device, and bytes that do not count
if [ "$source" = "device counters" ]; then
	two()
	{
		cat data/train/*.raw >/dev/null
		rm -f run.json
		"$MLGEN" --format=raw --num_files=32 --sample_size=256k \
			--batch_size=4 --epochs=3 --compute_time=20ms \
			--json=run.json \
			--name=cached --directory="$T/data" --invalidate=0 \
			--name=stored --directory="$T/other" --invalidate=epoch \
			>out 2>err </dev/null
		both=$(json run.json jobs.0.ml.storage.memory_percent \
			jobs.1.ml.storage.memory_percent)
		echo "$both" | awk '{ exit !($1 > 30 && $1 < 70 &&
			$2 > 30 && $2 < 70) }'
	}
	ok "jobs on one device share the figure" poll two
	note "memory_percent $both"
	like "which says that it is not of one of them alone" "$(cat out)" \
		'^from memory +[0-9.]+% of the [0-9.]+ MiB that mlgen read there'
	ramped()
	{
		train --invalidate=epoch --epochs=20 --compute_time=1ms \
			--ramp_time=50ms
		below 10 storage.memory_percent &&
			[ "$(ml run.json storage.device_read_bytes)" \
				-lt $((total * 20)) ]
	}
	cached_ramped()
	{
		train --invalidate=0 --epochs=20 --compute_time=1ms \
			--ramp_time=50ms
		! below 90 storage.memory_percent
	}
	ok "what ramp_time leaves out is in neither part" poll ramped
	train --invalidate=0
	ok "wherever it came from" poll cached_ramped
	rm -rf other
else
	skip "jobs on one device share the figure" "bytes from memory: $source"
fi

# ---- where no device counts
mkdir -p lower upper work merged
if [ "$(id -u)" -eq 0 ] && mount -t overlay overlay -o \
	"lowerdir=$T/lower,upperdir=$T/upper,workdir=$T/work" \
	"$T/merged" 2>/dev/null; then
	over="--directory=$T/merged/data"
	# shellcheck disable=SC2086
	train $over --phase=prepare
	train "$over" --invalidate=epoch --epochs=2
	is "on overlay the process counts" \
		"$(ml run.json storage.filesystem storage.source \
			storage.device_reads)" "overlay /proc/self/io null"
	ok "what storage delivered" below 10 storage.memory_percent
	train "$over" --invalidate=0
	train "$over" --invalidate=0
	like "and what memory did" "$(ml run.json verdict.name \
		storage.memory_percent)" '^memory (100|9[0-9])(\.|$)'
	umount "$T/merged"
else
	skip "on overlay the process counts" "no overlay can be mounted in $T"
fi
is "a local mount has no network" \
	"$(ml run.json network.interface network.received_bytes \
		network.percent)" "null null null"

# ---- past it
if dd if=/dev/zero of=probe bs=4096 count=1 oflag=direct 2>/dev/null; then
	train --direct=1 --epochs=2
	is "direct=1 reads each sample once" \
		"$(ml run.json samples sample_bytes io_bytes)" \
		"64 $((total * 2)) $((total * 2))"
	like "and nothing from memory" "$(ml run.json storage.memory_percent)" \
		'^(0(\.0)?|null)$'
	ok "in multiples of what the filesystem wants" \
		test "$(json run.json jobs.0.read_align_bytes)" -ge 512
	rm -rf data
	train --direct=1 --sample_size=10001 --format=npz
	is "sizes that are no multiple are read to their end" \
		"$(ml run.json samples sample_bytes) $(ml run.json io_bytes)" \
		"32 320032 $(find data/train -type f -exec cat {} + | wc -c)"
	exits "a bs that is none is refused" 2 "$MLGEN" --name=x --direct=1 \
		--directory="$T/data" --bs=5000
	like "with the multiple that is wanted" "$(cat err)" \
		'^mlgen: bs: 5000 is (no|not a) multiple of [0-9]+, which direct=1 needs$'
else
	skip "direct=1 reads each sample once" "no O_DIRECT in $T"
fi

done_testing
