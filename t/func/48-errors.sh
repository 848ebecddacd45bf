#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 48-errors.sh - what failed while a run went on is in its first line, its status, and in no figure.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

job="--name=x --directory=data --format=raw --num_files=128 --sample_size=2k
	--batch_size=4 --compute_time=1ms --read_threads=2 --shuffle=none
	--continue_on_error=all --json=run.json"

# train OPTION...
train()
{
	rm -f run.json
	# shellcheck disable=SC2086 # several options
	"$MLGEN" $job "$@"
}

# lose FIRST LAST: files of the dataset, which is whole before
lose()
{
	# shellcheck disable=SC2086
	"$MLGEN" $job --phase=prepare >out 2>&1
	ls data/train | sed -n "$1,$2s,^,data/train/,p" | xargs rm
}

train --phase=prepare >out 2>&1
first="data/train/img_0[0-9]+_of_128.raw: open: No such file or directory"

# ---- most of them
lose 2 101
exits "100 of 128 samples fail" 1 train
like "the first line begins with it" "$(head -n 1 out)" \
	'^x: ERRORS: 100 of 128 samples failed; no AU, [0-9.]+ MiB/s, '
like "it is the verdict" "$(cat out)" \
	'^  ERRORS          100 of 128 samples failed; max_errors=0 allows none$'
like "with the first of them" "$(tr -s ' \n' ' ' <out)" "because the first: $first"
unlike "storage does not keep up" "$(cat out)" 'COMPUTE-BOUND|keeps up'
like "the reason of the status is said" "$(cat err)" \
	"^mlgen: x: 100 of 128 samples failed; max_errors=0 allows none\\. The first: $first "
is "in one line" "$(wc -l <err)" 1
is "28 samples were delivered" \
	"$(ml run.json samples sample_bytes failed_samples failed_percent errors)" \
	"28 57344 100 78.125 100"
is "nobody has an AU" \
	"$(ml run.json au_percent au_percent_per_accelerator.0 epochs.0.au_percent \
		au_unmeasured target_met too_many_errors)" \
	"null null null samples failed, more than max_errors allows false true"
ok "the rate is that of 28" awk -v r="$(ml run.json samples_per_sec)" \
	-v s="$(ml run.json wall_seconds)" \
	'BEGIN { exit !(r * s > 27.9 && r * s < 28.1) }'
is "and the verdict" "$(ml run.json verdict.name)" errors
like "in the document, too" "$(ml run.json first_error)" "^$first"
is "the published windows have nothing" \
	"$(ml run.json mlperf.v2_0.train_au_mean_percentage \
		mlperf.v2_0.train_throughput_mean_samples_per_second)" "null null"

exits "--quiet" 1 train --quiet
like "says it, too" "$(cat out)" '^x: ERRORS: 100 of 128 samples failed; '
exits "--require" 1 train --quiet --require='au>=90'
like "misses its AU" "$(cat err)" '^mlgen: x: au is unknown, required >=90$'
exits "its figures can be required" 1 train --quiet --require='failed_percent<1'
like "and are missed" "$(cat err)" '^mlgen: x: failed_percent is 78\.12, required <1$'
exits "--output-format=dlio" 1 train --output-format=dlio --target_au=90
like "expects no success" "$(cat out)" '"train_au_meet_expectation": "fail"'
like "and has no mean" "$(cat out)" '"train_au_mean_percentage": null'
exits "--log" 1 train --log=log.csv --log_interval=10ms --quiet
is "has all errors" "$(awk -F, 'NR == 1 { for (i = 1; $i != "errors"; i++); next }
	{ n += $i } END { print n }' log.csv)" 100
is "and no more samples" "$(awk -F, 'NR > 1 { n += $7 } END { print n }' log.csv)" 28

# ---- allowed
exits "--max_errors=99 is not enough" 1 train --max_errors=99
exits "--max_errors=100 is" 0 train --max_errors=100
is "without a word" "$(cat err)" ""
like "the first line has them all the same" "$(head -n 1 out)" \
	'^x: ERRORS: 100 of 128 samples failed; [0-9.]+% AU.*, [0-9.]+ MiB/s'
ok "and an AU of no more than was delivered" awk \
	-v au="$(ml run.json au_percent)" 'BEGIN { exit !(au > 0 && au < 22) }'
exits "--max_errors=78% is not enough" 1 train --max_errors=78%
exits "--max_errors=78.2% is" 0 train --max_errors=78.2%
is "there are no more of them then" "$(ml run.json too_many_errors)" false

# ---- a few
lose 2 2
exits "1 of 128 samples fails" 1 train
like "which takes the AU, too" "$(head -n 1 out)" \
	'^x: ERRORS: 1 of 128 samples failed; no AU, '
exits "--max_errors=1% allows it" 0 train --max_errors=1%
like "and leaves the figures in front" "$(head -n 1 out)" \
	'^x: [0-9.]+% AU.*; 1 of 128 samples failed'
unlike "and the verdict to others" "$(cat out)" '^  ERRORS'
exits "it misses nothing that holds" 0 train --max_errors=1% --quiet \
	--require='errors<=1'
exits "status 3 is left to what is missed" 3 train --max_errors=1% --quiet \
	--require='errors<1'
exits "beside a job without errors" 1 train --quiet --name=y \
	--directory=data2 --format=raw --num_files=8 --sample_size=2k
is "each has its own" \
	"$(json run.json jobs.0.ml.too_many_errors jobs.1.ml.too_many_errors)" \
	"true false"
like "whose line is as ever" "$(cat out)" '^y: [0-9.]+ [MG]iB/s, '
exits "a record of both" 1 train --quiet --group_reporting --name=y \
	--directory=data2 --format=raw --num_files=8 --sample_size=2k \
	--group_reporting
is "has the errors of both" \
	"$(json run.json jobs.0.ml.failed_samples jobs.0.ml.too_many_errors jobs.1.ml)" \
	"1 true absent"

# ---- documents
for run in bad allowed; do
	max=$([ $run = bad ] && echo 0 || echo 5)
	train --quiet --max_errors="$max" --json=$run.json >out 2>&1
done
"$MLGEN" $job --phase=prepare >out 2>&1
train --quiet --json=good.json >out 2>&1
exits "--compare: one with errors is worse" 3 "$MLGEN" --compare good.json bad.json
like "by these" "$(cat out)" '^errors +0 +1 +\+1 +worse$'
like "whatever else it has" "$(cat out)" '^AU +[0-9.]+% +- +-$'
exits "by any tolerance" 3 "$MLGEN" --compare --tolerance=100 good.json bad.json
exits "the other way it is better" 0 "$MLGEN" --compare --tolerance=100 \
	bad.json good.json
like "which is said" "$(cat out)" '^errors +1 +0 +-1 +better$'
exits "what is allowed is not worse" 0 "$MLGEN" --compare --tolerance=100 \
	good.json allowed.json
like "but said" "$(cat out)" '^errors +0 +1 +\+1 +allowed$'
exits "--table" 0 "$MLGEN" --table=file,au,errors,failed_samples good.json bad.json \
	allowed.json
like "has no AU of it" "$(cat out)" '^ *bad.json +- +1 +1$'
is "and notes which is not what it looks like" "$(cat err)" \
	"mlgen: note: bad.json: job 'x' had more errors than max_errors allows; its figures cover only what did not fail"
exits "--merge" 1 "$MLGEN" --merge good.json bad.json --json=merged.json
like "has the errors of all" "$(head -n 1 out)" \
	'^x: ERRORS: 1 of 256 samples failed; no AU, '
is "in its document, too" \
	"$(ml merged.json errors failed_samples too_many_errors au_percent)" \
	"1 1 true null"
train --quiet --max_errors=5 --json=none.json >out 2>&1
exits "of allowed ones" 0 "$MLGEN" --merge none.json allowed.json
like "they are behind the figures" "$(head -n 1 out)" \
	'^x: [0-9.]+% (AU|busy).*; 1 of 256 samples failed'
sed '/too_many_errors/d; /failed_samples/d; /failed_percent/d' bad.json >old.json
exits "a document of before there was max_errors is worse, too" 3 \
	"$MLGEN" --compare good.json old.json
exits "and is merged as what it is" 1 "$MLGEN" --merge good.json old.json --quiet
like "with its errors" "$(cat out)" '^x: ERRORS: 1 error; '
exits "--check breaks a rule" 3 "$MLGEN" --check=mlperf-v2 bad.json
like "that of complete runs" "$(tr -s ' \n' ' ' <out)" \
	'complete BROKEN 1 errors were counted'

# ---- --find-max
lose 60 60
exits "--find-max: a run with errors holds nothing" 3 train --num_files=128 \
	--find-max=accelerators --require='au>=1'
like "its row says so" "$(cat out)" ' fail +errors$'
like "and that is the limit" "$(cat out)" \
	'^limit +errors: x: [0-9]+ of [0-9]+ samples failed; max_errors=0 allows none'
exits "but what is allowed" 0 train --find-max=accelerators --batch_size=32 \
	--max_errors=50% --require='au>=1' --quiet
like "does" "$(cat out)" '^x: (at least )?[1-4] accelerators? \('

# ---- evaluations
train --eval_files=8 --phase=prepare >out 2>&1
rm data/valid/img_3_of_8.raw
exits "samples of an evaluation fail" 1 train --eval_files=8
like "which is said" "$(head -n 1 out)" \
	'^x: ERRORS: 1 of 136 samples failed; [0-9.]+% (AU|busy)'
is "and counted there" "$(ml run.json failed_samples eval.failed_samples eval.samples)" \
	"0 1 7"

# ---- plain jobs
io()
{
	rm -f run.json
	"$MLGEN" --name=io --filename=f --rw=randread --size=256k --bs=4k \
		--ioengine=fault --continue_on_error=io --json=run.json "$@"
}
"$MLGEN" --name=io --filename=f --rw=randread --size=256k --create_only=1 >out 2>&1
exits "a request of a plain job fails" 1 io --fail_after=9
like "the first line begins with it" "$(head -n 1 out)" \
	'^io: ERRORS: 1 of 64 operations failed; read [0-9.k]+ IOPS, '
like "it is the verdict" "$(cat out)" \
	'^  ERRORS          1 of 64 operations failed; max_errors=0 allows none$'
like "the reason of the status is said" "$(cat err)" \
	'^mlgen: io: 1 of 64 operations failed; max_errors=0 allows none\. The first: f: read at [0-9]+: Input/output error$'
is "63 were done" "$(json run.json jobs.0.read.total_ios jobs.0.read.io_bytes \
	jobs.0.io.errors jobs.0.io.failed_percent jobs.0.io.verdict.name jobs.0.error)" \
	"63 258048 1 1.5625 errors 0"
is "fio's readers find them where fio has them" \
	"$(json run.json jobs.0.total_err jobs.0.first_error)" "1 5"
exits "one that is allowed" 0 io --fail_after=9 --max_errors=1 --bs=1k
like "stands behind the figures" "$(head -n 1 out)" \
	'^io: read [0-9.k]+ IOPS, .*; 1 of 256 operations failed'
exits "of two workers" 1 io --fail_after=9 --numjobs=2
like "it is one of all" "$(head -n 1 out)" '^io: ERRORS: 1 of 128 operations failed; '
is "told once" "$(wc -l <err)" 1
exits "which a percentage counts" 0 io --fail_after=9 --numjobs=2 --max_errors=0.8%

done_testing
