#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 101-checkpoints.sh - checkpoints are saved whole or not at all, and restored as they were.
# On disk: direct=1 is tried, which files in memory do not have.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"
. "$(dirname "$0")/calls.sh"

# A small filesystem for some points.
own_mounts
mkdir small

model="--model_layers=2 --model_hidden=64 --model_ffn=128 --model_heads=4
	--model_kv_heads=2 --model_vocabulary=500 --ranks=2 --zero_stage=3"

# job PHASE OPTION...: of that model, in d.
job()
{
	job_phase=$1
	shift
	rm -f run.json
	# shellcheck disable=SC2086 # several options
	"$MLGEN" --name=x --phase="$job_phase" --directory=d $model \
		--bs=16k --quiet --json=run.json "$@"
}

# one PHASE OPTION...: one rank with one file of 64 KiB.
one()
{
	one_phase=$1
	shift
	rm -f run.json
	"$MLGEN" --name=x --phase="$one_phase" --directory=d --bs=16k \
		--checkpoint_size=64k --checkpoint_layout=stream --quiet \
		--json=run.json "$@"
}

names()
{
	(cd "$1" && find . -mindepth 1 -maxdepth 1 | sort | sed 's|^\./||' |
		tr '\n' ' ')
}

# ---- every engine, past the page cache and through it
# bytes TITLE OPTION...: what is saved is what psync saves, and comes back.
bytes()
{
	bytes_title=$1
	shift
	rm -rf d
	job checkpoint --checkpoints=2 "$@" >out 2>err
	bytes_status=$?
	case $bytes_status,$(cat err) in
	*io_uring_setup* | *aio-max-nr* | *O_DIRECT*)
		skip "$bytes_title" "$(cat err)"
		return
		;;
	esac
	got=$(cat d/*/*.pt 2>/dev/null | cksum)
	[ -n "$want" ] || want=$got
	is "$bytes_title: saves the same bytes" "$bytes_status $got" "0 $want"
	exits "$bytes_title: and restores them" 0 job restore --checkpoints=2 \
		--restore_shift=1 --verify=crc32c "$@"
}

# shellcheck disable=SC2086 # several options
for layout in torch deepspeed stream pattern; do
	for access in plain framework; do
		want=
		how="--checkpoint_layout=$layout --access=$access"
		[ $layout != pattern ] || how="$how --model_layers=0
			--checkpoint_size=300k --zero_stage=0"
		bytes "$layout, $access" $how
		bytes "$layout, $access, 3 threads a rank" $how \
			--checkpoint_threads=3
		[ "$layout" = torch ] || continue
		for engine in io_uring libaio mmap fault; do
			for threads in 1 2; do
				bytes "$layout, $access, $engine, $threads" \
					$how --ioengine=$engine --iodepth=4 \
					--checkpoint_threads=$threads
			done
		done
	done
	want=
	how="--checkpoint_layout=$layout"
	[ $layout != pattern ] || how="$how --model_layers=0
		--checkpoint_size=300k --zero_stage=0"
	for engine in psync io_uring libaio fault; do
		bytes "$layout, $engine, direct" $how --ioengine=$engine \
			--direct=1 --iodepth=4 --checkpoint_threads=2
	done
done
rm -rf d
exits "ioengine=null saves" 0 job checkpoint --ioengine=null --checkpoints=3
is "... as many as were asked for" "$(ml run.json saves.completed)" 3
not_ok "... in no directory" test -e d
exits "... and restores what nobody saved" 0 job restore --ioengine=null \
	--checkpoints=3
exits "... but cannot check it" 2 job restore --ioengine=null --verify=crc32c
like "... which is told" "$(cat err)" 'verify: ioengine=null reads nothing'

# ---- names, order, which ones
one checkpoint --checkpoints=3 >out 2>err
is "directories are named by epoch and step" "$(names d)" \
	"global_epoch1_step1 global_epoch1_step2 global_epoch1_step3 "
one checkpoint >out 2>err
is "... and go on where the last run ended" "$(names d)" \
	"global_epoch1_step1 global_epoch1_step2 global_epoch1_step3 global_epoch1_step4 "
one restore --checkpoints=2 >out 2>err
is "the newest are restored, oldest first" \
	"$(ml run.json restore.0.number restore.1.number restore.2.number)" \
	"3 4 absent"
exits "more than there are is refused" 2 one restore --checkpoints=5
is "... with how many there are" "$(cat err)" \
	"mlgen: d: 4 of 5 checkpoints can be restored; use checkpoints=4, or save more"
exits "another layout is refused" 2 one restore --checkpoint_layout=torch
is "... with what differs" "$(cat err)" \
	"mlgen: d: this job can restore none of its checkpoints; global_epoch1_step4: checkpoint_layout: stream in the checkpoint, torch in the job; global_epoch1_step3: checkpoint_layout: stream in the checkpoint, torch in the job; global_epoch1_step2: checkpoint_layout: stream in the checkpoint, torch in the job; global_epoch1_step1: checkpoint_layout: stream in the checkpoint, torch in the job"
exits "an empty directory is refused" 2 one restore --directory=none
like "... with the way out" "$(cat err)" \
	'^mlgen: none: contains no checkpoint; save a checkpoint with phase=checkpoint'
exits "runtime ends it between two" 0 one checkpoint --checkpoints=9 \
	--runtime=1ms --pause=1h
is "... and the one that had begun is whole" "$(ml run.json saves.count \
	saves.completed complete)" "1 1 true"

# ---- save and restore in one run
rm -rf d
cat >both.job <<'JOB'
[global]
directory=d
checkpoint_size=64k
ranks=3
checkpoints=2
[save]
phase=checkpoint
[restore]
stonewall
phase=restore
verify=crc32c
restore_shift=1
JOB
exits "a restore behind a stonewall finds what the save has written" 0 \
	"$MLGEN" both.job --quiet --json=run.json
is "... and has read all of it" \
	"$(json run.json jobs.1.ml.restores.completed jobs.1.ml.restores.bytes)" \
	"2 $(json run.json jobs.0.ml.saves.bytes)"

# ---- two hosts, each with a directory of its own
rm -rf d e
host() # PHASE RANKS DIRECTORY [OPTION..]
{
	host_phase=$1 host_ranks=$2 host_directory=$3
	shift 3
	"$MLGEN" --name=x --phase="$host_phase" --checkpoint_size=64k \
		--ranks=4 --checkpoints=1 --checkpoint_ranks="$host_ranks" \
		--directory="$host_directory" "$@"
}
host checkpoint 0-1 d >out 2>err && host checkpoint 2-3 e >out 2>err
exits "a host restores what another one has saved" 0 \
	host restore 2-3 e --verify=crc32c --restore_shift=1
like "... and restore_shift is said to go around its own ranks" \
	"$(cat "$T/err")" \
	'note: restore_shift: shifts among the 2 ranks of this host,'

# ---- which may be deleted
rm -rf d
one checkpoint --checkpoints=5 --checkpoint_keep=2 >out 2>err
is "checkpoint_keep leaves the newest" "$(names d)" \
	"global_epoch1_step4 global_epoch1_step5 "
is "... and says what it has deleted" \
	"$(ml run.json saves.deleted_checkpoints saves.deleted_files)" "3 3"
mkdir d/global_epoch1_step2 d/global_epoch1_step3
echo mine >d/global_epoch1_step2/model_states-0.pt
echo '{ "version": 99 }' >d/global_epoch1_step3/mlgen-checkpoint.json
echo mine >d/global_epoch1_step4/notes
echo mine >d/notes
exits "what mlgen did not write is left alone" 0 one checkpoint \
	--checkpoint_keep=1
is "... be it in a directory like ours, or in ours" \
	"$(names d) $(cat d/global_epoch1_step2/* d/global_epoch1_step4/notes d/notes | tr '\n' ' ')" \
	"global_epoch1_step2 global_epoch1_step3 global_epoch1_step4 global_epoch1_step6 notes  mine mine mine "
is "... and each is told" "$(grep -c 'it is left alone' err)" 2
like "... which directory stays, and why" "$(cat err)" \
	'^mlgen: warning: d/global_epoch1_step4: was not removed: it contains files that mlgen did not write$'

# ---- faults: of one file these are open, four writes, fsync, close, rename
rm -rf d
one checkpoint >out 2>err
before=$(cat d/*/* | cksum)
for fault in "1 open" "2 write at 0" "5 write at 49152" "6 fsync" "7 close" \
	"8 rename to global_epoch1_step2"; do
	exits "EIO of ${fault#* } fails the run" 1 one checkpoint \
		--rename_commit=1 --ioengine=fault --fail_after="${fault%% *}"
	like "... and says of which checkpoint and file" "$(cat err)" \
		"^mlgen: checkpoint 2(, rank 0)?: d/.global_epoch1_step2.part(/model_states-0.pt)?: ${fault#* }: Input/output error"
	is "... the report, too" \
		"$(ml run.json saves.count saves.completed checkpoints.0.complete)" \
		"1 0 false"
	is "... nothing of it is left, and the older one is whole" \
		"$(names d)$(cat d/*/* | cksum)" "global_epoch1_step1 $before"
done
exits "EIO of the unlink of an old one fails the run" 1 one checkpoint \
	--checkpoint_keep=1 --ioengine=fault --fail_after=8
is "... whose checkpoint is whole" \
	"$(ml run.json saves.completed checkpoints.0.complete)" "1 true"
exits "... and is restored" 0 one restore --verify=crc32c
like "... the other one is known to be broken" "$(cat err)" \
	'^mlgen: note: x: d/global_epoch1_step1 is not complete, and will never be restored$'

# ---- kill -9, interruption
slowly="--ioengine=fault --engine=psync --delay_every=1 --delay=1h"
under_way()
{
	rm -f run.json
	# shellcheck disable=SC2086 # several options
	background "$MLGEN" --name=x --phase=checkpoint --directory=d --bs=16k \
		--checkpoint_size=64k --checkpoint_layout=stream --quiet \
		--json=run.json $slowly "$@"
	poll test -e "d/$part/model_states-0.pt"
}
for commit in 0 1; do
	part=global_epoch1_step2
	[ $commit = 0 ] || part=.$part.part
	rm -rf d
	one checkpoint >out 2>err
	under_way --rename_commit=$commit
	kill -9 "$pid"
	finish 2>/dev/null
	is "rename_commit=$commit: kill -9 leaves a part" "$(names d)" \
		"$(printf '%s\n' global_epoch1_step1 $part | sort | tr '\n' ' ')"
	exits "... which is not restored; the one before is" 0 one restore \
		--verify=crc32c
	is "... namely the first" "$(ml run.json restore.0.number)" 1
	is "... and that is told" "$(cat err)" \
		"mlgen: note: x: d/$part is not complete, and will never be restored"
	exits "... it is not enough for two" 2 one restore --checkpoints=2
	like "... which is told" "$(cat err)" \
		"^mlgen: d: 1 of 2 checkpoints can be restored; .*; $part: not complete\$"
	exits "... the next save goes on behind it" 0 one checkpoint \
		--rename_commit=$commit
	is "... under a name that is free" "$(ml run.json checkpoints.0.name)" \
		"global_epoch1_step3"
	exits "... and with checkpoint_keep deletes it" 0 one checkpoint \
		--rename_commit=$commit --checkpoint_keep=2
	is "... with the older one" "$(names d)" \
		"global_epoch1_step3 global_epoch1_step4 "
done
rm -rf d
one checkpoint >out 2>err
part=global_epoch1_step2
slowly="--ioengine=fault --engine=psync --delay_every=1 --delay=20ms"
under_way --checkpoints=5000
kill -INT "$pid"
finish
is "an interruption ends it" "$status $(ml run.json interrupted complete)" \
	"130 true false"
left=$(ls -d d/global_epoch1_step* | sort -t p -k 3 -n | tail -n 1)
like "... and the one under way stays, and is named" "$(cat err)" \
	"^mlgen: note: x: $left was being saved; it is not complete, and will never be restored$"
not_ok "... with the manifest of a broken one" grep -q '"complete": true' \
	"$left/mlgen-checkpoint.json"
exits "... a restore takes the one before it" 0 one restore --verify=crc32c
like "... and knows it" "$(cat err)" \
	"^mlgen: note: x: $left is not complete, and will never be restored$"

# ---- files that are not what they were
spoil()
{
	spoil_title=$1 spoil_want=$2
	shift 2
	rm -rf d
	job checkpoint --checkpoint_layout=torch >out 2>err
	"$@"
	exits "$spoil_title: the restore fails" 1 job restore --verify=crc32c
	like "... with the place" "$(cat err)" \
		"^mlgen: checkpoint 1, rank 1: d/global_epoch1_step1/rank_1.pt: $spoil_want\\. The report"
	is "... in the report, too" \
		"$(ml run.json restores.completed restore.0.complete complete)" \
		"0 false false"
}
flip()
{
	flip_byte=$(od -An -tu1 -j "$1" -N 1 d/global_epoch1_step1/rank_1.pt)
	# shellcheck disable=SC2059 # an octal number
	printf "\\$(printf '%03o' $((255 - flip_byte)))" |
		dd of=d/global_epoch1_step1/rank_1.pt bs=1 seek="$1" \
			conv=notrunc 2>/dev/null
}
rm -rf d
job checkpoint --checkpoint_layout=torch >out 2>err
bytes=$(wc -c <d/global_epoch1_step1/rank_1.pt)
spoil "a byte of a tensor" 'byte 100000 is wrong \(tensor [a-z_0-9.]+\)' \
	flip 100000
spoil "the first byte" 'byte 0 is wrong \([a-z ]*rank_1/data.pkl\)' flip 0
spoil "the last byte" "byte $((bytes - 1)) is wrong \\(.*\\)" flip $((bytes - 1))
spoil "a short file" "the file ends at 100000 of $bytes bytes" \
	truncate -s 100000 d/global_epoch1_step1/rank_1.pt
spoil "a missing file" "open: No such file or directory" \
	rm d/global_epoch1_step1/rank_1.pt
spoil "an empty file" "the file ends at 0 of $bytes bytes" \
	truncate -s 0 d/global_epoch1_step1/rank_1.pt
rm -rf d
job checkpoint >out 2>err
flip 100000
exits "without verify nobody looks" 0 job restore
exits "another seed cannot be verified" 2 job restore --verify=crc32c \
	--randseed=7
like "... which is told" "$(cat err)" 'randseed: [0-9]+ in the checkpoint, 7 in the job'
exits "... but restored" 0 job restore --randseed=7

# ---- where it may not be done
rm -rf d
exits "--readonly saves nothing" 2 one checkpoint --readonly
like "... and says so" "$(cat err)" \
	"^mlgen: readonly: job 'x' saves checkpoints; run it without --readonly"
not_ok "... and makes nothing" test -e d
exits "two that save into one directory at the same time are refused" 2 \
	"$MLGEN" --checkpoint_size=64k --directory=d --phase=checkpoint \
	--name=a --name=b
like "... by their names" "$(cat err)" \
	"^mlgen: checkpoint_directory: d is used by 'a' and by 'b'"
one checkpoint --directory=w/d >out 2>err
chmod 755 .
chmod 555 w
exits "a directory that may not be written is an error before the start" 2 \
	as_nobody "$MLGEN" --name=x --checkpoint_size=64k --directory=w/e \
	--phase=checkpoint
like "... with its path" "$(cat err)" \
	'^mlgen: w/e: checkpoints to write: Permission denied; '
chmod 755 w w/d
exits "drop_caches=run without root does not start" 2 \
	as_nobody "$MLGEN" --name=x --checkpoint_size=64k --directory=w/d \
	--checkpoint_layout=stream --bs=16k --phase=restore --drop_caches=run
like "... and names the way out" "$(cat err)" \
	'^mlgen: drop_caches: /proc/sys/vm/drop_caches: .*; it requires root. --drop_caches=no leaves this host.s caches as they are; '
exits "... which helps" 0 as_nobody "$MLGEN" --name=x --checkpoint_size=64k \
	--directory=w/d --checkpoint_layout=stream --bs=16k --phase=restore \
	--drop_caches=no --quiet

# In its dry run, too.
as_nobody "$MLGEN" --name=t --num_files=4 --format=raw --sample_size=4k \
	--directory=w/f --drop_caches=epoch --dry-run >out 2>err
like "a training cannot empty caches without root, either" \
	"$(tr -s ' \n' ' ' <out)" \
	"caches emptied on this host before each epoch FAIL drop_caches: .*; it requires root"
exits "... and does not start" 2 as_nobody "$MLGEN" --name=t --num_files=4 \
	--format=raw --sample_size=4k --directory=w/f --drop_caches=epoch
like "... for that reason" "$(cat err)" '^mlgen: drop_caches: .*; it requires root'
not_ok "... nor makes its files" test -e w/f

# ---- the host's caches
caches=/proc/sys/vm/drop_caches
echo 0 >caches
if [ -n "${MLGEN_TEST_MOUNTED-}" ] && mount --bind caches $caches; then
	rm -rf d
	exits "drop_caches=run goes before the restore" 0 "$MLGEN" both.job \
		--quiet --json=run.json --restore.drop_caches=run
	is "... which says so" "$(json run.json \
		jobs.1.ml.restores.caches_dropped)" true
	like "... before it begins" "$(cat err)" \
		"^mlgen: note: [^ ]+: drop_caches=run: its files are dropped from this host's page cache"
	is "... and drops no more than its own files where that is enough" \
		"$(cat caches)" 0
	mkdir memory
	mount_small memory 4m
	exits "files that stay in the page cache" 0 "$MLGEN" both.job \
		--quiet --json=run.json --restore.drop_caches=run \
		--directory=memory
	is "... take pages, dentries and inodes of all" "$(cat caches)" 3
	like "... and that is told" "$(cat err)" \
		'^mlgen: note: [^ ]+: drop_caches: 100% of its files stay in the page cache, so the whole page cache is emptied$'
	is "... once more in the report" "$(json run.json \
		jobs.1.ml.restores.caches_dropped)" true
	umount memory
	echo 0 >caches
	exits "ioengine=null has no use for it" 0 "$MLGEN" both.job --quiet \
		--verify=none --ioengine=null --drop_caches=run
	is "... and does not do it" "$(cat caches)" 0
	train="--name=t --phase=train --format=raw --num_files=4 --epochs=3
		--sample_size=4k --directory=cold --json=run.json --quiet"
	# shellcheck disable=SC2086 # several options
	exits "drop_caches=epoch goes before each epoch of a training" 0 \
		"$MLGEN" $train --invalidate=0 --drop_caches=epoch
	is "... which the run says" "$(ml run.json storage.caches_dropped \
		storage.cache_drops)" "true 0"
	is "... and does" "$(cat caches)" 3
	like "... which is told first" "$(cat err)" \
		"^mlgen: note: t: drop_caches=epoch: this host's whole page cache is emptied, including files of other programs$"
	if can_trace; then
		# shellcheck disable=SC2086
		trace_only write 9 "$MLGEN" $train --drop_caches=epoch
		is "... three times in three" \
			"$(grep -c '^write([0-9]*, "3.n", 2)' trace)" 3
		# strace counts by thread; the check before the run is not of this one.
		# shellcheck disable=SC2086
		exits "caches that cannot be emptied any more end the run" 1 \
			strace -f -qq -o trace -P $caches -e \
			inject=openat:error=EROFS:when=2+ "$MLGEN" $train \
			--drop_caches=epoch
		like "... for that reason" "$(cat err)" \
			"^mlgen: drop_caches: $caches: Read-only file system; .* The report covers what ran before"
	else
		skip "... three times in three" "no strace"
	fi
	# shellcheck disable=SC2086
	exits "without, it does not" 0 "$MLGEN" $train
	is "... and says so" "$(ml run.json storage.caches_dropped)" false
	umount $caches
else
	skip "drop_caches=epoch" "may not put a file in place of $caches"
	skip "drop_caches=run" "may not put a file in place of $caches"
fi

# ---- no room
if ! mount_small small 4m; then
	skip "a small filesystem" "may not mount one here"
	done_testing
	exit 0
fi
save()
{
	"$MLGEN" --name=x --phase=checkpoint --directory=small/d \
		--checkpoint_layout=stream --quiet --json=run.json "$@"
}
exits "more than there is room for is refused before the first byte" 2 save \
	--checkpoint_size=1m --checkpoints=5
is "... with the shortfall and the ways out" "$(cat err)" \
	"mlgen: small/d: 5 checkpoints take up to 5 MiB, but only 4 MiB are free: 1 MiB too few; use fewer checkpoints, checkpoint_keep=1, --scale=, or another checkpoint_directory="
not_ok "... and nothing is written" test -e small/d
exits "with checkpoint_keep there is room" 0 save --checkpoint_size=1m \
	--checkpoints=5 --checkpoint_keep=2
is "... for as many as it keeps" "$(names small/d)" \
	"global_epoch1_step4 global_epoch1_step5 "
exits "what older ones leave when they go is counted" 0 save \
	--checkpoint_size=1m --checkpoints=9 --checkpoint_keep=2
# Two at a time of which each has room.
cat >two.job <<'JOB'
[global]
checkpoint_size=1500k
checkpoint_layout=stream
phase=checkpoint
[a]
directory=small/d
[b]
directory=small/e
JOB
exits "no room in the middle fails the run" 1 "$MLGEN" two.job --quiet \
	--json=run.json
like "... with the file and the reason" "$(cat err)" \
	'^mlgen: checkpoint [0-9]+(, rank 0)?: small/[de]/global_epoch1_step[0-9]+/(model_states-0.pt: write at [0-9]+|mlgen-checkpoint.json): No space left on device'
exits "... and older ones can be restored" 0 "$MLGEN" --name=x \
	--phase=restore --directory=small/d --checkpoint_layout=stream \
	--checkpoint_size=1m --checkpoints=2 --verify=crc32c --quiet
is "... while nothing is left of the one that failed" \
	"$(find small -name '*.pt' | wc -l)" \
	"$((2 + $(json run.json jobs.0.ml.saves.completed) + \
		$(json run.json jobs.1.ml.saves.completed)))"
umount small
done_testing
