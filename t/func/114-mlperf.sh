#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 114-mlperf.sh - what MLPerf Storage asks for: sizes, rules and summaries.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

MLGEN_DIR=$T/data
export MLGEN_DIR

# within GOT WANT PERCENT
within()
{
	awk -v got="$1" -v want="$2" -v percent="$3" 'BEGIN {
		off = 100 * (got / want - 1)
		printf "%s beside %s: %.2f%%\n", got, want, off
		exit !(off >= -percent && off <= percent)
	}'
}

# ---- the dataset that the rules ask for
exits "--datasize answers" 0 "$MLGEN" --datasize unet3d.job --accelerators=8 \
	--memory=256g
is "with every term, and the command line" "$(cat out)" \
"unet3d on 8 x h100, 1 host with 256 GiB:
  dataset that MLPerf Storage v2.0 requires
  500 steps         500 x batch 7 x 8 accelerators    28,000 samples
  5 x memory        5 x 256 GiB / 146.6 MB             9,376 samples
  larger one /      1 sample per file                 28,000 files, 3.73 TiB
mlgen unet3d.job --accelerators=8 --num_files=28000"
is "and nothing else" "$(cat err)" ""
not_ok "nothing was made" test -e "$MLGEN_DIR"
mkdir "$MLGEN_DIR"

# What it says is what --check wants, and a file less is not.
sized=$(sed -n 's/^mlgen //p' out)
# shellcheck disable=SC2086 # several words
exits "what it says is planned" 0 "$MLGEN" $sized --dry-run=show --memory=256g \
	--check=mlperf-v2
like "and large enough" "$(cat out)" '^  dataset +ok'
like "and long enough" "$(cat out)" '^  steps +ok'
# shellcheck disable=SC2086
exits "with a file less" 0 "$MLGEN" $sized --num_files=27999 --dry-run=show \
	--memory=256g --check=mlperf-v2
like "it is not" "$(cat out)" '^  steps +BROKEN +499 in an epoch'

"$MLGEN" --datasize unet3d.job --accelerator=b200 --memory=256g >out
like "a b200 is of v3.0" "$(sed -n 1,2p out | tr -s '\n ' ' ')" \
	'^unet3d on 1 x b200, 1 host with 256 GiB: dataset that MLPerf Storage v3\.0 requires ?$'
unlike "which has that workload" "$(cat out)" 'not one of its workloads'
exits "this host's memory is the default" 0 "$MLGEN" --datasize unet3d.job
like "and said" "$(cat out)" '^unet3d on 1 x h100, 1 host with [0-9.]+ [GMT]iB:$'
for job in "$TOP"/jobs/*.job; do
	name=$(basename "$job")
	case $name in
	*-checkpoint.job)
		exits "--datasize of $name is refused" 2 \
			"$MLGEN" --datasize "$name"
		like "as its size follows from the model" "$(cat err)" \
			'phase=checkpoint.*depend on the model'
		;;
	*)
		exits "--datasize of $name" 0 "$MLGEN" --datasize "$name" \
			--accelerators=8 --memory=1t
		like "has a command line" "$(cat out)" \
			"^mlgen $name --accelerators=8 --num_files=[0-9]+\$"
		;;
	esac
done
exits "memory without a unit is not taken for bytes" 2 "$MLGEN" \
	--datasize unet3d.job --memory=256
like "but asked about" "$(cat err)" 'memory: 256 bytes are too few for a host; .*256g'
exits "memory without a question about it is refused" 2 "$MLGEN" unet3d.job \
	--memory=256g --dry-run=show
like "by name" "$(cat err)" 'memory: works only with --datasize and --check'
echo old >run.json
exits "--datasize has no JSON" 2 "$MLGEN" --datasize unet3d.job --json=run.json
is "and leaves the file alone" "$(cat run.json)" old
rm run.json
exits "it does not run, with --dry-run=show or without" 0 "$MLGEN" --datasize \
	--dry-run=show unet3d.job --accelerators=8 --memory=256g
like "and keeps that" "$(cat out)" \
	'^mlgen --dry-run=show unet3d.job --accelerators=8 --num_files=28000$'
exits "with memory_limit that counts" 0 "$MLGEN" --datasize unet3d.job \
	--memory_limit=1g --accelerators=1
like "as the host's" "$(cat out)" '^  5 x memory +5 x 1 GiB / '
# What their tools count is rounded down to whole files.
"$MLGEN" resnet50.job --accelerators=8 --num_files=1278 --memory=16g \
	--dry-run=show --check=mlperf-v2 >out
like "1,278 files of resnet50 are enough, as their datasize says" \
	"$(tr -s ' \n' ' ' <out)" 'steps ok 499 in an epoch; at least 500, which'
"$MLGEN" resnet50.job --accelerators=8 --num_files=1277 --memory=16g \
	--dry-run=show --check=mlperf-v2 >out
like "1,277 are not" "$(cat out)" '^  steps +BROKEN'
exits "nor has a plain job one" 2 "$MLGEN" --datasize --name=p --rw=read \
	--size=1m
like "which is said" "$(cat err)" 'name a training'

# ---- rules, before a run
plan_of()
{
	"$MLGEN" "$@" --memory=256g --dry-run=show >out 2>err
}
plan_of unet3d.job --accelerators=8 --check=mlperf-v2
is "a dry run is checked, and succeeds" $? 0
like "with what is wrong in its headline" "$(cat out)" \
	'^unet3d: MLPerf Storage v2\.0: NOT VALID, 3 of 9 rules broken, 3 not checked$'
like "what to do about the dataset" "$(tr -s ' \n' ' ' <out)" \
	'dataset BROKEN 22\.94 GiB is .* the rules ask for 5 x: --num_files=28000'
ok "at most 80 columns wide" awk 'length > 80 { exit 1 }' out
for accelerator in a100 h100; do
	for job in unet3d resnet50 cosmoflow; do
		plan_of $job.job --accelerator=$accelerator --check=mlperf-v1
		like "$job on $accelerator is one of v1.0" "$(cat out)" \
			"^  workload +ok +$job on 1 x $accelerator\$"
		like "with its shipped options" "$(cat out)" '^  options +ok'
	done
done
plan_of resnet50.job --check=mlperf-v1 --num_files=20000 --randseed=7 \
	--read_threads=16 --subfolders=10
like "nothing is wrong with one that is large enough" "$(cat out)" \
	'^resnet50: MLPerf Storage v1\.0: no rule broken, 3 not checked$'
plan_of resnet50.job --check=mlperf-v1 --num_files=20000 --batch_size=100
like "but with another batch" "$(cat out)" \
	'^  options +BROKEN +batch_size=100, the rules have 400$'
cp "$TOP/jobs/resnet50.job" .
sed -i 's/^read_threads=.*/&\nshard=contiguous/; /^shard=file/d' resnet50.job
plan_of ./resnet50.job --check=mlperf-v1
like "also where the job file was changed" "$(cat out)" \
	'^  options +BROKEN +shard=contiguous, the rules have file$'
for model in 8b 70b 405b 1t; do
	plan_of llama3-$model-checkpoint.job --check=mlperf-v2 \
		--checkpoint_ranks=0-7
	is "both parts of llama3-$model keep the rules" \
		"$(grep -c 'v2.0: no rule broken' out)" 2
	plan_of llama3-$model-checkpoint.job --check=mlperf-v1 \
		--checkpoint_ranks=0-7
	is "and are none of v1.0" "$(grep -c '^  workload.*BROKEN' out)" 2
done
plan_of llama3-8b-checkpoint.job --check=mlperf-v2 --checkpoint_fsync=none \
	--drop_caches=no --checkpoints=3
is "checkpoints that do not" \
	"$(sed -n 's/^  \([a-z]*\) *BROKEN.*/\1/p' out | paste -sd ' ' -)" \
	"checkpoints fsync checkpoints cache"
for job in "unet3d b200" "retinanet b200" "retinanet mi355"; do
	# shellcheck disable=SC2086 # two words
	set -- $job
	files=$("$MLGEN" --datasize "$1.job" --accelerator="$2" --memory=256g \
		--check=mlperf-v3 | sed -n 's/.*--num_files=//p')
	plan_of "$1.job" --accelerator="$2" --check=mlperf-v3 \
		--num_files="$files" --invalidate=epoch
	like "$job is one of v3.0" "$(cat out)" \
		"^$1: MLPerf Storage v3\.0: no rule broken, 3 not checked\$"
done
plan_of retinanet.job --check=mlperf-v3 --num_files=99999999 --epochs=5
like "which asks for empty caches before each epoch" \
	"$(tr -s ' \n' ' ' <out)" 'cache BROKEN invalidate=run: .* each epoch: '
like "for as many epochs as the workload has" "$(cat out)" \
	'^  epochs +BROKEN +5 of 8: --epochs=8'
like "and for a dataset of that size" "$(tr -s ' \n' ' ' <out)" \
	'dataset not checked .* the rules ask for exactly: --num_files=[0-9]+ '
for job in unet3d.job dlrm.job flux.job resnet50.job; do
	plan_of $job --check=mlperf-v3
	like "$job is none of v3.0 as it is" "$(cat out)" '^  workload +BROKEN'
done
for model in 8b 70b 405b 1t; do
	plan_of llama3-$model-checkpoint.job --check=mlperf-v3 \
		--checkpoint_ranks=0-7
	is "a part of llama3-$model breaks no rule of v3.0" \
		"$(grep -c 'v3.0: no rule broken' out)" 2
	is "and is a result of 8 only" "$(grep -c '^  ranks.* ok ' out)" \
		"$([ $model = 8b ] && echo 2 || echo 0)"
	is "accelerators hold it" "$(grep -c '^  memory .* ok ' out)" 2
done
is "--quiet is a line for each" \
	"$("$MLGEN" unet3d.job --check=mlperf-v2 --dry-run=show --quiet |
		grep -c '^unet3d: MLPerf Storage v2.0: NOT VALID, ')" 1

# ---- and after one
small="--sample_size=2k --compute_time=1ms --num_files=32 --epochs=3"
# shellcheck disable=SC2086 # several options
exits "a run is checked, and its status is its own" 0 "$MLGEN" quickstart.job \
	$small --check=mlperf-v2 --json=run.json
like "the report comes first" "$(sed -n 1p out)" '^quickstart: .* AU'
like "then the rules" "$(cat out)" \
	'^quickstart: MLPerf Storage v2\.0: NOT VALID, '
is "a dry run has the rules in its JSON" "$("$MLGEN" unet3d.job --dry-run=show \
	--check=mlperf-v2 --json=plan.json >/dev/null &&
	ml plan.json mlperf_check.0.rule mlperf_check.0.state \
		mlperf_check.3.rule mlperf_check.3.state)" \
	"workload ok steps broken"
like "it is none of theirs" "$(cat out)" \
	'^  workload +BROKEN +quickstart is not one of its workloads'
like "it reached its end" "$(cat out)" '^  complete +ok'
like "with too few epochs" "$(cat out)" '^  epochs +BROKEN +3 of 5: --epochs=5'
is "the rules are in the JSON" \
	"$(ml run.json mlperf_check.0.rule mlperf_check.0.state \
		mlperf_check.2.rule mlperf_check.2.state)" \
	"workload broken steps broken"
# shellcheck disable=SC2086
exits "without --check there are none" 0 "$MLGEN" quickstart.job $small \
	--json=run.json
is "there either" "$(ml run.json mlperf_check)" "[]"
# shellcheck disable=SC2086
"$MLGEN" unet3d.job --accelerators=1 $small --num_files=28 --check=mlperf-v2 >out
like "the AU is that of their window" "$(cat out)" \
	'^  au +(ok|BROKEN) +[0-9.]+% in the window of v2\.0'

# ---- five runs, and one to warm up
# One short run without storage, told as if it had been a whole one on a disk.
"$MLGEN" cosmoflow.job --ioengine=null --num_files=5 --json=run.json --quiet \
	>out
told()	# N RANDSEED NUM_FILES
{
	sed -e "s/\"timestamp_ms\": .*/\"timestamp_ms\": $((1700000000 + $1))000,/" \
		-e "s/\"randseed\": \"123\"/\"randseed\": \"$2\"/" \
		-e "s/\"num_files\": \"5\"/\"num_files\": \"$3\"/" \
		-e "s/\"\(files\|samples\)\": 5,/\"\1\": $3,/" \
		-e 's/"ioengine": "null"/"ioengine": "psync"/' \
		-e 's/"memory_percent": null/"memory_percent": 1.5/' run.json
}
for i in 0 1 2 3 4 5; do
	told "$((i * 100))" "$i" 500 >"r$i.json"
done
exits "five runs and one to warm up make a result" 0 "$MLGEN" \
	--check=mlperf-v2 --memory=256m r0.json r1.json r2.json r3.json \
	r4.json r5.json
like "which is valid" "$(cat out)" \
	'^cosmoflow: MLPerf Storage v2\.0: VALID, all 9 rules kept$'
like "and has a mean" "$(tr -s ' \n' ' ' <out)" \
	'runs ok 5 runs within 0\.0%, without the first \(warm-up\), mean [0-9.]+ samples/s'
is "no line is wider than 80" "$(awk 'length > 80' out)" ""
exits "v1.0 has none to warm up" 0 "$MLGEN" --check=mlperf-v1 --memory=256m \
	r1.json r2.json r3.json r4.json r5.json --quiet
is "and is as content" "$(cat out)" \
	"cosmoflow: MLPerf Storage v1.0: VALID, all 9 rules kept"
exits "with v2.0 the sixth is missed" 0 "$MLGEN" --check=mlperf-v2 \
	--memory=256m r1.json r2.json r3.json r4.json r5.json --quiet
is "but nothing is broken" "$(cat out)" \
	"cosmoflow: MLPerf Storage v2.0: VALID as runs; for a result 1 not checked"
told 350 3 500 >r6.json
exits "a seed that was used before is found" 3 "$MLGEN" --check=mlperf-v2 \
	--memory=256m r0.json r1.json r2.json r3.json r4.json r6.json
like "and named" "$(tr -s ' \n' ' ' <out)" 'runs BROKEN .*randseed=3 twice'
told 350 7 400 >r6.json
exits "as is a run of fewer files" 3 "$MLGEN" --check=mlperf-v2 \
	--memory=256m r6.json r0.json r1.json r2.json r4.json r5.json
like "by its document" "$(cat out)" '^  steps +BROKEN +r6\.json: 400 in an'
exits "this host's memory is too large for that" 3 "$MLGEN" \
	--check=mlperf-v2 r0.json r1.json
like "and says what would do" "$(tr -s ' \n' ' ' <out)" \
	'dataset BROKEN .* the rules ask for 5 x: --num_files=[0-9]+ '
told 150 8 500 >r6.json
exits "two hosts at a time are one run" 0 "$MLGEN" --check=mlperf-v2 \
	--memory=128m r0.json r1.json
like "of each" "$(cat out)" '^  workload +ok +cosmoflow on 1 x h100$'
sed 's/"timestamp_ms": 1700000000000/"timestamp_ms": 1700000000020/' r0.json >h.json
exits "though a step then needs samples for both" 3 "$MLGEN" \
	--check=mlperf-v2 --memory=128m r0.json h.json
like "which are counted" "$(cat out)" \
	'^  workload +ok +cosmoflow on 1 x h100, 2 hosts$'
like "and named" "$(tr -s ' \n' ' ' <out)" \
	'runs .*one run; r0[.]json and h[.]json overlap and count as hosts of one run'
# Of a run of less than a second `elapsed` is 1, so that it seemed to last until then.
later=$(awk -F'[:,]' '/"elapsed_seconds"/ { printf "%d", 141 + 1000 * $2; exit }' r0.json)
ok "the run took less than a second" [ "$later" -lt 900 ]
sed "s/\"timestamp_ms\": 1700000000000/\"timestamp_ms\": $((1700000000000 + later))/" r0.json >h.json
"$MLGEN" --check=mlperf-v2 --memory=128m r0.json h.json >out 2>&1
like "0.14 s behind the end of a run the next one is another" "$(cat out)" \
	'^  workload +ok +cosmoflow on 1 x h100$'
exits "the same run twice is refused" 2 "$MLGEN" --check=mlperf-v2 r0.json \
	r0.json
like "as one run" "$(cat err)" 'r0\.json: is the same run as r0\.json'
exits "as is a plan" 2 "$MLGEN" --check=mlperf-v2 plan.json r0.json
like "which measured nothing" "$(cat err)" "plan\.json: is from a dry run"
echo old >old.json
exits "as is a file for the JSON of a run" 2 "$MLGEN" --check=mlperf-v2 \
	r0.json --json=old.json
is "which is left alone" "$(cat old.json)" old
exits "as is what is no JSON" 2 "$MLGEN" --check=mlperf-v2 r0.json out.json
exits "a search has too many runs to check" 2 "$MLGEN" unet3d.job \
	--check=mlperf-v2 --find-max=accelerators --require='au>=90'
like "and says so" "$(cat err)" 'check: is for a single run'
exits "and --merge at the same time" 2 "$MLGEN" --check=mlperf-v2 --merge \
	r0.json r1.json
like "of which one is asked" "$(cat err)" 'only one of table, compare, merge'

# v3.0: saves and restores may be two runs, and the caches of a host that cannot
# hold what was saved need not be emptied. Small ones without storage, told as if
# they had been whole.
for phase in save restore; do
	"$MLGEN" llama3-8b-checkpoint.job --section=$phase --ioengine=null \
		--drop_caches=no --pause=0 --scale=0.01% --json=$phase.json \
		--quiet >out
	sed -i -e 's/"ioengine": "null"/"ioengine": "psync"/' \
		-e 's/"pause": "0"/"pause": "5s"/' \
		-e 's/"scale": "0.01%"/"scale": "100%"/' $phase.json
done
at_save()	# SECONDS: the restore began so much after the save
{
	sed "s/\"timestamp_ms\": .*/\"timestamp_ms\": 1700000000000,/" \
		save.json >s.json
	sed "s/\"timestamp_ms\": .*/\"timestamp_ms\": $((1700000000 + $1))000,/" \
		restore.json >r.json
}
at_save 20
exits "a save and a restore are a result of v3.0" 0 "$MLGEN" \
	--check=mlperf-v3 --memory=64g s.json r.json
is "with all its rules" "$(grep -c ': VALID, all 8 rules kept$' out)" 2
like "such as an order" "$(cat out)" \
	'^  phases +ok +saves of s\.json, [0-9.]+ s earlier$'
like "and memory that cannot hold them" "$(tr -s ' \n' ' ' <out)" \
	'cache ok 10 x 104\.7 GiB of this host are more than 3 x its memory'
exits "but not of a host with more" 3 "$MLGEN" --check=mlperf-v3 --memory=1t \
	s.json r.json
like "whose caches are to be emptied" "$(cat out)" \
	'^  cache +BROKEN +drop_caches=no'
at_save 3600
exits "nor an hour later" 3 "$MLGEN" --check=mlperf-v3 --memory=64g s.json \
	r.json
like "which is told" "$(tr -s ' \n' ' ' <out)" \
	'phases BROKEN .* restores must begin after the saves have ended, at most 30 s later'

# ---- DLIO's summary
# shellcheck disable=SC2086
exits "a run has a summary as DLIO writes it" 0 "$MLGEN" quickstart.job $small \
	--output-format=dlio --json=run.json
cp out summary.json
is_json "which is JSON and nothing else" summary.json
is "with its figures" "$(json summary.json num_accelerators num_hosts \
	num_files_train num_samples_per_file epochs host_cpu_count.0)" \
	"2 1 32 1 3 $(json run.json machine.cpus_online)"
for key in train_au_mean_percentage train_au_stdev_percentage \
	train_throughput_mean_samples_per_second \
	train_throughput_stdev_samples_per_second \
	train_io_mean_MB_per_second; do
	got=$(json summary.json metric.$key)
	want=$(ml run.json mlperf.v2_0.$key)
	ok "$key is that of v2.0" within "$got" "$want" 0.000001
done
ok "and the mean of its list" within \
	"$(json summary.json metric.train_au_percentage.0 \
		metric.train_au_percentage.1 metric.train_au_percentage.2 |
		awk '{ print ($1 + $2 + $3) / 3 }')" \
	"$(json summary.json metric.train_au_mean_percentage)" 0.01
is "one item an epoch" "$(json summary.json \
	metric.train_throughput_samples_per_second.3)" absent
like "it says whether that was enough" \
	"$(json summary.json metric.train_au_meet_expectation)" \
	'^(success|fail)$'
for key in start end hostname data_size_per_host_GB host_memory_GB.0 \
	host_processor_name host_meminfo.MemTotal potential_caching.0; do
	unlike "$key is there" "$(json summary.json $key)" '^(absent|null)$'
done
exits "checkpoints have one" 0 "$MLGEN" --name=save --phase=checkpoint \
	--directory=ckpt --ranks=2 --checkpoint_size=1m --checkpoints=2 \
	--output-format=dlio
cp out summary.json
like "with their figures" "$(json summary.json num_accelerators \
	metric.checkpoint_size_GB metric.train_au_mean_percentage)" \
	'^2 0\.00195[0-9]* absent$'
is "and without files" "$(json summary.json num_files_train num_samples_per_file \
	data_size_per_host_GB epochs)" "0 1 0.0 0"
exits "a dry run has none" 2 "$MLGEN" quickstart.job --dry-run=show \
	--output-format=dlio
like "which is said" "$(cat err)" 'output-format=dlio: a dry run has no results'
exits "nor has a plain job" 2 "$MLGEN" --name=p --rw=read --size=1m \
	--output-format=dlio
like "and nothing was run" "$(cat err)" 'DLIO.s summary needs a training'
is "or printed" "$(cat out)" ""

done_testing
