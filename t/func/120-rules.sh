#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 120-rules.sh - what a dry run marks with FAIL is what the run refuses, in the same words.
# On disk: direct=1 is tried, which files in memory do not have.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

refuse=$BUILT/build/t/tools/refuse

# What other programs use meanwhile.
steady()
{
	sed 's/[0-9.]* [KMGT]iB \(free\|available\)/ROOM \1/'
}

# both TITLE REGEX COMMAND...: the run ends with status 2 and one line like this
# before it has written anything, and a dry run shows that line as FAIL.
both()
{
	title=$1 regex=$2
	shift 2
	find . -path ./made -prune -o -mindepth 2 -print | sort >before
	exits "$title: the run is refused" 2 "$@" --quiet
	said=$(grep -v '^mlgen: \(note\|warning\): ' err)
	like "$title: in words" "$said" "^mlgen: $regex"
	find . -path ./made -prune -o -mindepth 2 -print | sort >after
	ok "$title: nothing is made" cmp before after
	rm -f plan.json
	exits "$title: a dry run shows it" 2 "$@" --dry-run --json=plan.json
	is "$title: in the same words" \
		"mlgen: $(json plan.json jobs.0.plan.blockers.0.text | steady)" \
		"$(echo "$said" | steady)"
	like "$title: on its page, too" "$(tr -s ' \n' ' ' <out)" "FAIL $regex"
	[ -n "$more" ] || is "$title: and nothing else" \
		"$(json plan.json jobs.0.plan.blockers.1.text)" absent
}

more= # there is more that stops it
chmod 777 "$T"
train="$MLGEN --name=train --directory=data --format=raw --num_files=20
	--sample_size=2k"
mkdir -m 777 io
plain="$MLGEN --name=plain --directory=io --rw=randread --size=64k"
save="$MLGEN --name=save --phase=checkpoint --directory=ck --ranks=2
	--checkpoint_size=64k --checkpoints=1"

name_of()
{
	expr "$1" : '.*--name=\([a-z]*\)'
}

# ---- engines
# shellcheck disable=SC2086 # several options, here and below
if "$MLGEN" --enghelp | grep -q '^io_uring ' &&
	"$refuse" statx ENOSYS true 2>/dev/null &&
	$train --ioengine=io_uring --directory=made --quiet >out 2>&1; then
	for line in "$train" "$plain" "$save"; do
		both "io_uring refused, $(name_of "$line")" \
			'ioengine=io_uring: io_uring_setup: Operation not permitted; ' \
			"$refuse" io_uring_setup EPERM $line --ioengine=io_uring
	done
else
	skip "io_uring refused" "no io_uring, or no seccomp filters"
fi

# ---- CPUs, nodes, and what a process may have
for line in "$train" "$plain" "$save"; do
	# shellcheck disable=SC2086
	both "no such CPU, $(name_of "$line")" "cpus_allowed: .*1023" \
		$line --cpus_allowed=1023
done
# shellcheck disable=SC2086
both "no such node" 'numa_cpu_nodes: node 1023 does not exist; ' \
	$train --numa_cpu_nodes=1023
# shellcheck disable=SC2086
both "a memory_limit that nobody fits in" \
	'memory_limit: 1 MiB is too little' $train --memory_limit=1m

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
for line in "$train" "$plain" "$save"; do
	# shellcheck disable=SC2086
	both "too few open files, $(name_of "$line")" \
		'[0-9]+ files may be open at once, but the limit is 20; lower .*, or raise the limit with ulimit -n [0-9]+' \
		with_files 20 $line
done
# shellcheck disable=SC2086
both "too little memory" 'memory: save needs about .*, but this host has ' \
	$save --ranks=60000 --bs=64m
more=yes
# shellcheck disable=SC2086
both "samples that memory cannot hold" 'hold_samples: prefetched samples' \
	$train --hold_samples=1 --num_files=64 --sample_size=1t --batch_size=4
more=
if as_nobody "$MLGEN" --version >out 2>&1; then
	for line in "$train" "$plain"; do
		# shellcheck disable=SC2086
		both "caches that only root empties, $(name_of "$line")" \
			'drop_caches: /proc/sys/vm/drop_caches: ' \
			as_nobody $line --drop_caches=run
	done
	# shellcheck disable=SC2086
	as_nobody $plain --ioengine=null --memory_limit=64m >out 2>&1 ||
		both "a control group that nobody may make" \
			'memory_limit: (cannot create a control group in .*: .*; it requires root|no control groups at .*; this system cannot limit the page cache)' \
			as_nobody $plain --memory_limit=64m
else
	skip "caches that only root empties" "no other user to be"
fi

# ---- where files are to be made
# shellcheck disable=SC2086
both "nothing may be written, and files are missing" \
	'readonly: 20 of the 20 files of data are missing; ' $train --readonly
# shellcheck disable=SC2086
both "nor those to evaluate with" \
	'readonly: 24 of the 24 files of data are missing; ' \
	$train --eval_files=4 --readonly
# shellcheck disable=SC2086
both "no room" 'data: 20 TiB to write, .* free' $train --sample_size=1t
# shellcheck disable=SC2086
both "no room for files to evaluate with" 'data: 20 TiB to write, .* free' \
	$train --sample_size=1t --num_files=4 --eval_files=16
# shellcheck disable=SC2086
both "no room for a plain file" 'io: 900 TiB to lay out, .* free' \
	$plain --size=900t
# shellcheck disable=SC2086
both "a file that is smaller than a request" 'size: 64 KiB is less than one request of 128 KiB' $plain --bs=128k
mkdir -m 755 roots
if as_nobody "$MLGEN" --version >out 2>&1 &&
	! as_nobody test -w roots; then
	for what in "$train --directory=roots/data: 20 files" \
		"$plain --directory=roots: 1 file" \
		"$save --directory=roots/ck: checkpoints"; do
		# shellcheck disable=SC2086
		both "a folder that may not be written, $(name_of "$what")" \
			"roots.*: ${what##*: } to write: Permission denied; make it writable" \
			as_nobody ${what%: *}
	done
else
	skip "a folder that may not be written" "no other user to be"
fi

# ---- O_DIRECT
if [ -w /dev/shm ] && is_memory /dev/shm; then
	shm=$(mktemp -d /dev/shm/mlgen-test.XXXXXX)
	if "$MLGEN" --name=p --directory="$shm" --rw=write --size=4k --direct=1 \
		--quiet >out 2>&1; then
		skip "a filesystem without O_DIRECT" "that in memory has it here"
	else
		for line in "$train" "$plain" "$save"; do
			# shellcheck disable=SC2086
			both "no O_DIRECT, $(name_of "$line")" \
				"direct=1: tmpfs at /dev/shm" \
				$line --directory="$shm" --direct=1
		done
	fi
	rm -rf "$shm"
else
	skip "a filesystem without O_DIRECT" "there is none in memory"
fi
# shellcheck disable=SC2086
$plain --direct=1 --dry-run >out 2>&1
if grep -q 'aligned to 4 KiB' out; then
	# shellcheck disable=SC2086
	both "requests that O_DIRECT does not take" \
		'direct=1: bs or offset is a multiple of 512 B, but O_DIRECT requires multiples of 4 KiB here' \
		$plain --bs=512 --direct=1
else
	skip "requests that O_DIRECT does not take" \
		"it takes all that are multiples of 512 here"
fi
# A device of larger sectors; what is mounted and attached goes at the end.
sectors=
detach()
{
	umount sectors 2>/dev/null
	[ -z "$sectors" ] || losetup -d "$sectors"
	sectors=
}
if [ "$(id -u)" -eq 0 ] && mkdir sectors && truncate -s 32m image &&
	sectors=$(losetup -b 4096 -f --show image 2>out) &&
	mkfs.ext4 -q "$sectors" >out 2>&1 && mount "$sectors" sectors 2>out; then
	# shellcheck disable=SC2086
	both "requests that are no sectors" \
		'direct=1: bs or offset is a multiple of 512 B, but O_DIRECT requires multiples of 4 KiB here' \
		$plain --directory=sectors --bs=512 --direct=1
	# shellcheck disable=SC2086
	exits "... and those that are" 0 $plain --directory=sectors --bs=4k \
		--direct=1 --quiet
else
	skip "requests that are no sectors" "no loop device of 4096 bytes"
fi
detach

# ---- what lies in the place of files
mkdir -p io/plain.0.0 theirs
for kind in directory fifo link; do
	rm -rf io/plain.0.0
	case $kind in
	directory)	mkdir io/plain.0.0; seen="is a directory" ;;
	fifo)		mkfifo io/plain.0.0; seen="is a fifo" ;;
	link)		ln -s none io/plain.0.0; seen="is a link to a file that does not exist" ;;
	esac
	# shellcheck disable=SC2086
	both "a $kind of the name of a plain file" "io/plain.0.0: $seen" $plain
done
rm -rf io/plain.0.0
: >theirs/img_1.npz
for line in "$train" "$save"; do
	# shellcheck disable=SC2086
	both "files of others, $(name_of "$line")" 'theirs: contains img_1\.npz, but' \
		$line --directory=theirs
done

# ---- files of a dataset, by their names
read="$train --directory=set"
file=set/train/img_13_of_20.raw
prepare()
{
	# shellcheck disable=SC2086
	$read --phase=prepare --quiet >out 2>&1
}
prepare
ok "names are at hand" test -f $file
rm $file
# shellcheck disable=SC2086
both "a file that is gone" \
	"$file: open: No such file or directory; the dataset was complete: --phase=prepare writes what is missing" \
	$read
exits "... but where its reader may fail" 0 $read --continue_on_error=all \
	--max_errors=1 --dry-run --json=plan.json
is "... it is for the run to count" "$(json plan.json jobs.0.plan.blockers)" "[]"
cat >mends.job <<'JOB'
[global]
directory=set
format=raw
num_files=20
sample_size=2k
[mend]
phase=prepare
[train]
JOB
exits "... or a job before mends it: a dry run" 0 "$MLGEN" mends.job --dry-run \
	--json=plan.json
is "... says so" "$(json plan.json jobs.1.plan.blockers)" "[]"
exits "... as the run" 0 "$MLGEN" mends.job --quiet
: >$file
# shellcheck disable=SC2086
both "a file that was truncated" \
	"$file: has 0 bytes instead of 2048; it was truncated or replaced" $read
rm $file
mkfifo $file
# shellcheck disable=SC2086
both "a fifo in its place" "$file: is a fifo, not a regular file; remove it" \
	$read
# shellcheck disable=SC2086
both "... that a preparation meets" \
	"$file: is a fifo, not a regular file; remove it" $read --phase=prepare
sed 's/"complete": true/"complete": false/' set/mlgen-dataset.json >manifest
cp manifest set/mlgen-dataset.json
# shellcheck disable=SC2086
both "... also of half a dataset" \
	"$file: is a fifo, not a regular file; remove it" $read
rm $file
prepare
chmod -R a+rX set
chmod 000 $file
if as_nobody "$MLGEN" --version >out 2>&1 && ! as_nobody test -r $file; then
	# shellcheck disable=SC2086
	both "a file that may not be read" \
		"$file: open: Permission denied; the dataset was complete: make it readable" \
		as_nobody $read
else
	skip "a file that may not be read" "no other user to be"
fi
chmod 644 $file

many="$MLGEN --name=train --directory=many --format=raw --num_files=1500
	--sample_size=16"
# shellcheck disable=SC2086
$many --phase=prepare --quiet >out 2>&1
rm many/train/img_0002_of_1500.raw
# shellcheck disable=SC2086
exits "of many files a thousand are asked for" 0 $many --dry-run --json=plan.json
is "... which may not be that one" "$(json plan.json jobs.0.plan.blockers)" "[]"
# shellcheck disable=SC2086
both "--thorough asks for all" \
	'many/train/img_0002_of_1500.raw: open: No such file or directory; ' \
	$many --thorough

# ---- several jobs
cat >two.job <<'JOB'
[global]
directory=data
num_files=20
sample_size=2k
[a]
format=raw
[b]
format=npz
JOB
exits "two datasets in one directory: the run is refused" 2 "$MLGEN" two.job
said=$(cat err)
like "... in words" "$said" '^mlgen: b: dataset data is also used by a, with format=raw'
exits "... a dry run shows it" 2 "$MLGEN" two.job --dry-run --json=plan.json
is "... in the same words" "mlgen: $(json plan.json jobs.1.plan.blockers.0.text)" \
	"$said"

done_testing
