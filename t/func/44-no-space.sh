#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 44-no-space.sh - a filesystem that is small or fills up: told before, or resumed after.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

if ! own_mounts || ! mount_small small 4m; then
	skip_all "may not mount a small filesystem here"
fi

prepare()
{
	"$MLGEN" --name=x --directory=small/data --format=raw \
		--sample_size=100k --phase=prepare --json=run.json "$@"
}

exits "more than half of the free space is refused" 2 prepare --num_files=21
is "with what would fit" "$(cat err)" \
	"mlgen: small/data: 2.05 MiB to write, 4 MiB free, of which half may be used; --num_files=20 would fit (or --allow_fill)"
not_ok "and nothing is written" test -e small/data
exits "as many as would fit do" 0 prepare --num_files=20
rm -r small/data
exits "--allow_fill takes more" 0 prepare --num_files=30 --allow_fill
rm -r small/data
exits "but not more than all" 2 prepare --num_files=41 --allow_fill
is "with what would fit then" "$(cat err)" \
	"mlgen: small/data: 4.00 MiB to write, 4 MiB free; --num_files=40 would fit"
not_ok "and again nothing is written" test -e small/data

# ---- full in the middle: a file of 4097 bytes takes two pages there
in_the_middle()
{
	rm -f run.json
	"$MLGEN" --name=x --directory=small/data --format=raw --num_files=600 \
		--sample_size=4097 --phase=prepare --allow_fill --json=run.json \
		"$@"
}
exits "no room during the preparation is an error of the run" 1 in_the_middle
like "with the file and the way out" "$(cat err)" \
	'^mlgen: small/data/train/img_[0-9]+_of_600.raw: (write at [0-9]+|open|fsync): No space left on device; [0-9.]+ .iB of the dataset are still to be written: make room and start again \(complete files are kept\), or lower num_files'
is_json "the report is there" run.json
like "and says that it is not whole" "$(cat out)" \
	'the dataset is incomplete; the next run continues where this run ended'
is "nothing half-written is left" "$(find small -name '*part*')" ""
written=$(json run.json jobs.0.prepare.files_written)
is "what is complete is kept" "$(find small -name '*.raw' | wc -l)" "$written"
mount -o remount,size=8m small
exits "with more room the next run goes on" 0 in_the_middle
is "with what was missing" \
	"$(json run.json jobs.0.prepare.files_written jobs.0.prepare.files_kept)" \
	"$((600 - written)) $written"
in_the_middle --directory=other >out 2>&1
is "and all of it is as it should be" "$(cat small/data/train/* | cksum)" \
	"$(cat other/train/* | cksum)"
rm -r small/data

# ---- no inodes, of which a few are in use there
mount -o remount,size=8m,nr_inodes=10 small
exits "no inodes left is an error of the run, too" 1 in_the_middle
like "told apart from space" "$(cat err)" \
	"^mlgen: small/data/.*: No space left on device; $T/small has no free inodes \(df -i\), although [78].* are free: use fewer and larger files, or remove files; [0-9.]+ .iB of the dataset are still to be written"
rm -r small/data
mkdir small/1 small/2 small/3 small/4 small/5 small/6 small/7 small/8 small/9 \
	2>/dev/null
exits "before there is a directory, too" 2 prepare --num_files=4
like "which is told" "$(cat err)" \
	'^mlgen: small/data: mkdir: No space left on device; .* has no free inodes'
exits "of a plain job" 2 "$MLGEN" --name=p --rw=read --size=64k \
	--filename=small/new
like "too" "$(cat err)" '^mlgen: small: cannot write .*; .* has no free inodes '
exits "and of a checkpoint" 2 "$MLGEN" --name=c --phase=checkpoint \
	--directory=small --model_layers=1 --model_hidden=64 --model_ffn=128 \
	--model_heads=4 --model_kv_heads=4 --model_vocabulary=1000
like "too" "$(cat err)" '^mlgen: small: cannot write .*; .* has no free inodes '
rmdir small/[1-9]
mount -o remount,size=8m,nr_inodes=0 small

# ---- read-only, in the middle of its life
prepare --num_files=40 --allow_fill >out 2>&1
mount -o remount,ro small
exits "a complete dataset is read on a read-only filesystem" 0 "$MLGEN" \
	--name=x --directory=small/data --format=raw --sample_size=100k \
	--num_files=40 --quiet
exits "and prepared, as nothing is to be done" 0 prepare --num_files=40
mount -o remount,rw small
rm small/data/train/img_03_of_40.raw
mount -o remount,ro small
exits "what is missing cannot be written there" 2 prepare --num_files=40
like "which is told" "$(cat err)" '^mlgen: small/data: .*Read-only file system'

# ---- reports
mount -o remount,rw,size=4m small
head -c 8m /dev/zero >small/fill 2>/dev/null
exits "no room for a JSON file fails the run" 1 "$MLGEN" --name=x \
	--ioengine=null --json=small/run.json --epochs=3
like "and is told" "$(cat err)" \
	'^mlgen: small/run.json: cannot be written: No space left on device$'
is "without leaving half of one" "$(ls small)" "data
fill"

umount small
done_testing
