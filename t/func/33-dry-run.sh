#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 33-dry-run.sh - a dry run tells what a run needs and what would stop it, and touches nothing.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# plan OPTION...: into out and, as JSON, into plan.json.
plan_of()
{
	"$MLGEN" --name=x --directory=data --format=raw --num_files=40 \
		--sample_size=1m --accelerators=2 --batch_size=4 --epochs=3 \
		--compute_time=10ms --dry-run --json=plan.json "$@" >out 2>err
}

# blocked TITLE TEXT-REGEX OPTION...: status 0, a FAIL line and a blocker.
blocked()
{
	title=$1 regex=$2
	shift 2
	plan_of "$@"
	is "$title: is status 2 of a dry run" $? 2
	like "$title: but a FAIL" "$(cat out)" ' FAIL$'
	like "$title: in words" "$(tr -s ' \n' ' ' <out)" "$regex"
	like "$title: and in JSON" \
		"$(json plan.json jobs.0.plan.blockers.0.text)" "$regex"
}

listing()
{
	find data -printf '%p %s %T@ %C@\n' 2>/dev/null | sort
}

plan_of
is "a dry run succeeds" $? 0
like "says what it is" "$(sed -n 1p out)" \
	'^x: dry run, nothing was read or written$'
like "what the dataset is" "$(cat out)" \
	'^dataset   40 raw files x 1 sample, 1\.049 MB mean +40(\.00)? MiB$'
like "what there is and what is missing" "$(cat out)" \
	'^          present 0 files; to write 40 +40(\.00)? MiB +ok$'
like "the steps of an epoch" "$(tr -s ' \n' ' ' <out)" \
	' epoch 40 / \(2 accelerators x batch 4\) = 5 steps, 0 samples left over '
like "the run" "$(cat out)" \
	'^run       3 epochs = 15 steps, 120(\.0+)? MiB read, at least 150(\.0)? ms \(100% AU\)$'
like "the demand" "$(cat out)" '^ +2 accelerators +800(\.0)? +samples/s +800(\.0)? MiB/s$'
like "the operations of a sample" "$(cat out)" \
	'^calls     per sample: open 1, read 1 .*, close 1$'
like "the files it needs open" "$(cat out)" \
	'^files     40 open at once; limit [0-9,]+ +ok$'
ok "at most 80 columns wide" awk 'length > 80 { exit 1 }' out
not_ok "nothing was made" test -e data
is_json "its plan in JSON parses" plan.json
is "with the same figures" \
	"$(json plan.json jobs.0.plan.present_files jobs.0.plan.write_files \
		jobs.0.plan.write_bytes jobs.0.plan.steps_per_epoch \
		jobs.0.plan.total_steps jobs.0.plan.read_bytes)" \
	"0 40 41943040 5 15 125829120.0"
is "the ml keys that apply" \
	"$(json plan.json jobs.0.ml.accelerators jobs.0.ml.demand_bytes_per_sec)" \
	"2 838860800.0"
is "no blockers" "$(json plan.json jobs.0.plan.blockers)" "[]"
is "and the other keys of a report" \
	"$(json plan.json schema_version jobs.0.jobname jobs.0.error)" "2 x 0"
plan_of --output-format=json
is_json "or on standard output" out

# ---- with a dataset
small="--num_files=40 --sample_size=1k"
# shellcheck disable=SC2086 # several options
"$MLGEN" --name=x --phase=prepare --format=raw $small --directory=data >out 2>&1
before=$(listing)
# shellcheck disable=SC2086
plan_of $small
like "what is there is counted" "$(cat out)" \
	'^          present 40 files; to write 0 +ok$'
# shellcheck disable=SC2086
plan_of $small --phase=prepare --replace
is "nothing of it is touched" "$(listing)" "$before"
# shellcheck disable=SC2086
plan_of $small --num_files=16
like "also a part of it" "$(cat out)" '^          present 16 files; to write 0 +ok$'

blocked "another dataset" 'made with sample_size=1k, the job says 2k' \
	--sample_size=2k
rm data/train/img_07_of_40.raw
sed 's/"complete": true/"complete": false/' data/mlgen-dataset.json >manifest
cp manifest data/mlgen-dataset.json
# shellcheck disable=SC2086
plan_of $small
like "an interrupted preparation is seen" "$(cat out)" \
	'^          present 39 files; to write 1 +1 KiB +ok$'
rm -rf data

blocked "no dataset and no permission" 'readonly' --readonly
blocked "no space" 'data: 953\.7 PiB to write, .* free' \
	--num_files=1000000000 --sample_size=1g
fits=$(sed -n 's/.*--num_files=\([0-9]*\) would fit.*/\1/p' out | head -n 1)
plan_of --num_files="$fits" --sample_size=1g
is "and as many files as it says would fit" \
	"$(json plan.json jobs.0.plan.blockers)" "[]"
(
	# shellcheck disable=SC3045 # every shell of Linux has it
	ulimit -n 39
	plan_of
)
like "too few open files" "$(cat out)" \
	'^files     40 open at once; limit 39 +FAIL$'
if [ -d /dev/shm ] && [ -w /dev/shm ] && is_memory /dev/shm; then
	blocked "no O_DIRECT" 'direct=1: tmpfs at /dev/shm' --direct=1 \
		--directory=/dev/shm/mlgen-none
else
	skip "no O_DIRECT" "there is no tmpfs at /dev/shm"
fi

# ---- much
plan_of --num_files=1000000000 --sample_size=4k --batch_size=100
is "a billion samples are planned" \
	"$(json plan.json jobs.0.plan.write_files jobs.0.plan.steps_per_epoch)" \
	"1000000000 5000000"
plan_of --ioengine=null --num_files=1000000000 --sample_size=1g
is "ioengine=null needs no space" "$(json plan.json jobs.0.plan.blockers)" "[]"
like "and says so" "$(cat out)" 'ioengine=null touches no file'

# ---- sizes from this host
memory=$(json plan.json machine.memory_bytes)
plan_of --dataset_ratio=5 --sample_size=100m --readonly
ok "dataset_ratio chooses enough files" \
	test "$(json plan.json jobs.0.dataset.bytes)" -ge $((memory * 5))
ok "and not many more" test "$(json plan.json jobs.0.dataset.bytes)" -le \
	$((memory * 5 + 2 * 104857600))
like "so that memory is no WARNING any more" \
	"$(grep '^ *memory of this host' out)" ' ok( |$)'
plan_of --dataset_ratio=5 --sample_size=dlio:146600628:68341808 --format=npz
like "also where sizes are drawn" "$(grep '^ *memory of this host' out)" \
	' ok( |$)'
plan_of --scale=50% --num_files=1000
is "scale takes its part" "$(json plan.json jobs.0.dataset.files)" 500
plan_of --scale=1% --num_files=1000
is "but four batches for every accelerator" \
	"$(json plan.json jobs.0.dataset.files)" 32

not_ok "nothing was made by any of them" test -e data

# ---- plain jobs
# io_plan OPTION...: into out and plan.json, in a folder of its own.
mkdir io
io_plan()
{
	"$MLGEN" --name=p --directory=io --rw=randrw --bs=4k,16k --size=8m \
		--numjobs=2 --dry-run --json=plan.json "$@" >out 2>err
}
io_plan
is "a plain job is planned" $? 0
like "what it does" "$(cat out)" \
	'^pattern   randrw \(50% reads\), 4 KiB reads, 16 KiB writes, 2 workers$'
like "its files" "$(cat out)" '^data      2 files in io +16(\.00)? MiB$'
like "what is missing" "$(cat out)" \
	'^          present 0 files; to write 2 +16(\.00)? MiB +ok$'
like "what it moves" "$(cat out)" '^run       16(\.00)? MiB read and written$'
ok "at most 80 columns wide" awk 'length > 80 { exit 1 }' out
is "nothing was made" "$(ls io)" ""
is_json "its plan in JSON parses" plan.json
is "with the same figures" \
	"$(json plan.json jobs.0.plan.write_files jobs.0.plan.write_bytes \
		jobs.0.plan.move_bytes jobs.0.io.numjobs jobs.0.io.files \
		jobs.0.plan.blockers)" "2 16777216 16777216 2 2 []"
"$MLGEN" --name=p --directory=io --rw=write --size=8m --create_only \
	>out 2>&1
io_plan
like "what is there is counted" "$(cat out)" \
	'^          present 1 file; to write 1 +8(\.00)? MiB +ok$'
io_plan --rw=randread --readonly
for how in 1 yes; do
	io_plan --rw=randread --readonly --dry-run=$how
	is "--dry-run=$how: so that scripts can ask before a run" $? 2
done
io_plan --rw=randread --readonly --dry-run=show
is "--dry-run=show is the plan alone" $? 0
like "which says the same" "$(cat out)" ' FAIL$'
io_plan --rw=randread --readonly
is "a job that may not write is status 2 of a dry run" $? 2
like "but a blocker" "$(json plan.json jobs.0.plan.blockers.0.text)" 'readonly'
rm io/*
io_plan --size=900t
like "nor one without room" "$(json plan.json jobs.0.plan.blockers.0.text)" \
	'io: .* to lay out, .* free'
io_plan --rate=1m,2m --time_based --runtime=30s --loops=3
like "a pace and a time are said" "$(cat out)" \
	'^rate      reads 2 MiB/s; writes 4 MiB/s$'
like "for as long as it takes" "$(cat out)" '^run       for 30 s$'
is "which is no number of bytes" "$(json plan.json jobs.0.plan.move_bytes)" \
	null
io_plan --ioengine=null
like "ioengine=null needs none" "$(cat out)" 'ioengine=null touches no file'

# ---- an evaluation has files and steps of its own
exits "a job that evaluates" 0 "$MLGEN" --name=x --directory="$T/none" \
	--num_files=64 --batch_size=4 --eval_files=8 --eval_every=2 \
	--eval_after=3 --epochs=9 --sample_size=4k --format=raw --dry-run
like "tells its files and steps" "$(cat out)" \
	'^eval +8 more files, 32 KiB; 2 steps after every 2 epochs, from 3 on$'

done_testing
