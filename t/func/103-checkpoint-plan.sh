#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 103-checkpoint-plan.sh - a dry run tells what a checkpoint is and what would stop it; the shipped ones are those published.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

unset MLGEN_JOBS
PATH=$(dirname "$MLGEN"):$PATH
export PATH

# plan_of OPTION...: of a job with 4 ranks of 1 MiB, into out and plan.json.
plan_of()
{
	"$MLGEN" --name=x --directory=data --phase=checkpoint --ranks=4 \
		--checkpoint_size=1m --checkpoints=3 --dry-run \
		--json=plan.json "$@" >out 2>err
}

# figures KEY...: of jobs.0.plan.checkpoint.
figures()
{
	json_below jobs.0.plan.checkpoint plan.json "$@"
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

# ---- a job that saves
plan_of
is "a dry run succeeds" $? 0
like "equal ranks are one line" "$(cat out)" \
	'^          ranks 0-3: 1\.000 MiB each \(1,048,576 bytes\), 1 file$'
like "all of them are summed up" "$(cat out)" \
	'^total     one checkpoint: 4 files, 4,194,304 bytes +4\.000 MiB$'
like "what is written" "$(cat out)" '^to write  3 checkpoints +12 MiB +ok$'
like "and where" "$(cat out)" \
	'^directory data; complete checkpoints there: 0; next global_epoch1_step1$'
like "and flushed" "$(cat out)" '^fsync     each file before it is closed +ok$'
ok "at most 80 columns wide" awk 'length > 80 { exit 1 }' out
not_ok "nothing was made" test -e data
is_json "its plan in JSON parses" plan.json
is "with the same figures" "$(figures ranks bytes files local_ranks \
	local_bytes checkpoints move_bytes present first)" \
	"4 4194304 4 4 4194304 3 12582912 0 global_epoch1_step1"
is "and one class" "$(figures classes.0.ranks classes.0.count \
	classes.0.bytes classes.1.ranks)" "0-3 4 1048576 absent"
is "no blockers" "$(json plan.json jobs.0.plan.blockers)" "[]"
is "no dataset" "$(json plan.json jobs.0.dataset)" absent

plan_of --checkpoint_ranks=1,3
like "a part of the ranks" "$(cat out)" \
	'^          2 ranks on this host: 2 files, 2,097,152 bytes +2\.000 MiB$'
is "of which that is written" "$(figures bytes local_bytes move_bytes)" \
	"4194304 2097152 6291456"
plan_of --checkpoint_fsync=none
like "without fsync it warns" "$(tr -s ' \n' ' ' <out)" \
	'nothing is flushed WARNING NOT DURABLE: '
is "which stops nothing" "$(json plan.json jobs.0.plan.blockers)" "[]"
plan_of --ioengine=null --checkpoint_size=1t
like "ioengine=null touches no file" "$(cat out)" 'ioengine=null touches no file'
is "and needs no room" "$(json plan.json jobs.0.plan.blockers)" "[]"

blocked "--readonly" 'readonly: job .* saves checkpoints' --readonly
blocked "too little room" 'data: 3 checkpoints take up to [0-9.]+ TiB, but only .* are free' \
	--checkpoint_size=10t
blocked "too much for this host's memory" 'this host has .*; lower checkpoint_ranks' \
	--ranks=60000 --bs=64m
blocked "nothing that could be verified" 'reads nothing that could be checked' \
	--phase=restore --ioengine=null --verify=crc32c
blocked "nothing to restore" 'data: contains no checkpoint' --phase=restore
exits "parallelism that does not divide the model is an error" 2 \
	"$MLGEN" --name=x --phase=checkpoint --model_layers=2 \
	--pipeline_parallel=4 --dry-run
like "which names the option" "$(cat err)" 'pipeline_parallel'

# ---- a restore
"$MLGEN" --name=x --directory=data --phase=checkpoint --ranks=4 \
	--checkpoint_size=64k --checkpoints=3 >out 2>&1
before=$(find data -printf '%p %s %T@ %C@\n' | sort)
plan_of --phase=restore --checkpoint_size=64k --checkpoints=2
like "it names the newest ones" "$(tr -s ' \n' ' ' <out)" \
	'complete checkpoints there: 3; reads global_epoch1_step2 \.\. global_epoch1_step3 '
is "in JSON, too" "$(figures present first last)" \
	"3 global_epoch1_step2 global_epoch1_step3"
is "nothing of them is touched" \
	"$(find data -printf '%p %s %T@ %C@\n' | sort)" "$before"
blocked "more than there are" '3 of 4 checkpoints can be restored' \
	--phase=restore --checkpoint_size=64k --checkpoints=4
blocked "others than there are" 'this job can restore none of its checkpoints' \
	--phase=restore --checkpoint_size=65k --checkpoints=1
plan_of --phase=restore --checkpoint_size=64k --checkpoints=1 --invalidate=0
like "memory that may answer is a warning" "$(tr -s ' \n' ' ' <out)" \
	'left as they are on this host WARNING memory can deliver bytes instead of storage'
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$T"
	rm -f plan.json
	as_nobody "$MLGEN" --name=x --directory=data --phase=restore --ranks=4 \
		--checkpoint_size=64k --drop_caches=run --dry-run >out 2>err
	like "drop_caches=run takes root" "$(tr -s ' \n' ' ' <out)" \
		'everything, if more than 1% stays FAIL .*drop_caches=no'
else
	skip "drop_caches=run takes root" "this user cannot become another"
fi
rm -rf data

# ---- a pair
cat >pair.job <<-END
	[global]
	directory=data
	checkpoint_size=64k
	[save]
	phase=checkpoint
	checkpoints=3
	[restore]
	stonewall
	phase=restore
	checkpoints=3
END
pair()
{
	"$MLGEN" pair.job --dry-run --json=plan.json "$@" >out 2>err
}
pair
is "a restore that follows the save is not blocked" \
	"$(json plan.json jobs.1.plan.blockers jobs.1.plan.checkpoint.saved_by)" \
	"[] save"
like "and says so" "$(cat out)" 'reads the checkpoints that \[save\] saves before$'
pair --restore.checkpoints=4
unlike "of more than are saved it is" \
	"$(json plan.json jobs.1.plan.blockers)" '^\[\]$'
pair --save.checkpoint_keep=2
unlike "and where some are deleted" \
	"$(json plan.json jobs.1.plan.blockers)" '^\[\]$'
pair --restore.directory=other
unlike "and of another directory" \
	"$(json plan.json jobs.1.plan.blockers)" '^\[\]$'
sed '/stonewall/d' pair.job >both.job
"$MLGEN" both.job --dry-run --json=plan.json >out 2>err
unlike "and where both run at the same time" \
	"$(json plan.json jobs.1.plan.blockers)" '^\[\]$'

# ---- a training
training()
{
	"$MLGEN" --name=x --directory=data --format=raw --num_files=40 \
		--sample_size=1m --accelerators=2 --batch_size=4 --epochs=4 \
		--compute_time=100ms --checkpoint_size=1m --dry-run \
		--json=plan.json "$@" >out 2>err
}
training --checkpoint_every='6 steps' --checkpoint_keep=2
like "a training says how often it saves" "$(cat out)" \
	'^saves     every 6 steps; training waits until it is written$'
is "and how much: 20 steps" "$(figures ranks checkpoints move_bytes directory)" \
	"2 3 6291456 data/checkpoints"
like "with the room for it" "$(tr -s ' \n' ' ' <out)" \
	'to write 3 checkpoints; the newest 2 are kept 6 MiB ok free in '
training --checkpoint_every='2 epochs' --checkpoint_mode=async \
	--snapshot_bandwidth=1g
is "or by epochs" "$(figures checkpoints)" 2
like "and that it goes on" "$(tr -s ' \n' ' ' <out)" \
	'training waits for a snapshot at 1 GiB/s per rank and then continues '
training --checkpoint_every=500ms
is "by the clock it is an estimate" \
	"$(figures checkpoints checkpoints_estimate)" "4 true"
training
is "without it there are none" "$(figures ranks)" 0
unlike "and no line" "$(cat out)" '^saves'
training --checkpoint_every='6 steps' --checkpoint_size=1000t
like "no room for a checkpoint stops a training" \
	"$(json plan.json jobs.0.plan.blockers.0.name)" '^room$'

# ---- much
plan_of --ranks=1000000 --checkpoint_ranks=0-7
is "a million ranks are planned" "$(figures ranks bytes local_ranks)" \
	"1000000 1048576000000 8"
"$MLGEN" --name=x --directory=data --phase=checkpoint --model_layers=61 \
	--tensor_parallel=2 --pipeline_parallel=4 --data_parallel=50 \
	--zero_stage=1 --dry-run >out 2>err
like "ranks that are alike and far apart are one line, too" "$(cat out)" \
	'^          ranks 8-399: optimizer '

# ---- the shipped ones
# As MLPerf Storage's configurations make them: JOB RANKS, bytes of one
# checkpoint of all ranks, its files, and the bytes of the largest rank.
published='
	llama3-8b	8	112425623552	16	14053202944
	llama3-70b	64	978406572032	128	15287602688
	llama3-405b	512	5682508791808	1544	13226441600
	llama3-1t	1024	16564174094592	2072	19290344604'
while read -r job ranks bytes files largest; do
	[ -n "$job" ] || continue
	"$MLGEN" "$job-checkpoint.job" --dry-run --json=plan.json >out 2>err
	is "$job: the checkpoint that was published" \
		"$(figures ranks bytes files)" "$ranks $bytes $files"
	like "$job: its largest rank, too" "$(cat plan.json)" \
		"\"bytes\": $largest,"
	is "$job: ten of them, with an fsync and an empty cache" \
		"$(json plan.json jobs.0.plan.checkpoint.checkpoints \
			jobs.0.options_resolved.checkpoint_fsync \
			jobs.1.plan.checkpoint.checkpoints \
			jobs.1.options_resolved.drop_caches)" "10 file 10 run"
	is "$job: it restores what it has saved" \
		"$(json plan.json jobs.1.plan.checkpoint.saved_by)" save
done <<-END
	$published
END
for path in "$TOP"/jobs/*-checkpoint.job; do
	job=$(basename "$path" -checkpoint.job)
	like "$job is in that table" "$published" "^	$job	"
done

# What their first lines promise.
# figure TITLE REGEX COMMAND...
figure()
{
	title=$1 regex=$2
	shift 2
	like "$title" "$("$MLGEN" "$@" --dry-run 2>&1 | tr -s '\n ' ' ')" "$regex"
}
figure "8b, all of it" ' to write .* 1\.02 TiB' llama3-8b-checkpoint.job
figure "8b, 100 times smaller" ' to write .* 10\.47 GiB' \
	llama3-8b-checkpoint.job --scale=1%
figure "8b, one of two hosts" '4 ranks on this host: .* 52\.352 GiB ' \
	llama3-8b-checkpoint.job --checkpoint_ranks=0-3
figure "70b, one host of 8" '8 ranks on this host: .* 113\.902 GiB ' \
	llama3-70b-checkpoint.job --checkpoint_ranks=0-7
figure "70b, with the heads of the real model" ' total .* 919\.962 GiB ' \
	llama3-70b-checkpoint.job --model_heads=64
figure "405b, one host of 64" '8 ranks on this host: .* 98\.545 GiB ' \
	llama3-405b-checkpoint.job --checkpoint_ranks=0-7
figure "405b, one that saves no weights" \
	'8 ranks on this host: .* 70\.879 GiB ' \
	llama3-405b-checkpoint.job --checkpoint_ranks=256-263
figure "1t, one host of 128" '8 ranks on this host: .* 143\.724 GiB ' \
	llama3-1t-checkpoint.job --checkpoint_ranks=0-7
figure "1t, 1,000 times smaller" ' to write .* 154\.3 GiB' \
	llama3-1t-checkpoint.job --scale=1% --checkpoints=1

# Saved and restored, made small, without storage and on it.
run_pair()
{
	job=$1
	shift
	"$MLGEN" "$job" --scale=0.001% --checkpoint_ranks=0,3 --checkpoints=2 \
		--pause=0 --drop_caches=no --json=run.json "$@"
}
pair_is()
{
	is "$1" "$(json run.json jobs.0.jobname jobs.0.ml.saves.completed \
		jobs.0.ml.saves.ranks jobs.1.jobname \
		jobs.1.ml.restores.completed jobs.1.ml.restores.verified)" \
		"save 2 2 restore 2 $2"
}
for path in "$TOP"/jobs/*-checkpoint.job; do
	job=$(basename "$path")
	exits "$job runs without storage" 0 run_pair "$job" --ioengine=null
	pair_is "$job: twice" false
	for engine in psync io_uring libaio; do
		if ! "$MLGEN" --enghelp=$engine >/dev/null 2>&1; then
			skip "$job on $engine" "$engine is not built in"
			continue
		fi
		exits "$job on $engine" 0 run_pair "$job" --ioengine=$engine \
			--directory="$T/pair" --verify=crc32c
		pair_is "$job: every byte is right" true
		rm -rf "$T/pair"
	done
done

done_testing
