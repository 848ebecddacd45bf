#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 22-several-jobs.sh - jobs that run together or one after the other, on one directory too.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

cat >two.job <<'JOB'
[global]
directory=data
format=raw
sample_size=2k
num_files=32
compute_time=10ms
epochs=2
[a]
accelerators=2
batch_size=2
[b]
batch_size=8
JOB

# run OPTION...: both jobs, with reports in run.json and log.csv.
run()
{
	rm -f run.json
	"$MLGEN" two.job --json=run.json --log=log.csv --log_interval=10ms "$@"
}

# both KEY: of the two jobs.
both()
{
	json run.json "jobs.0.$1" "jobs.1.$1"
}

# The jobs whose rows of training follow each other in the log. The rows of one interval
# need not have the same millisecond.
turns()
{
	awk -F, '$4 == "train" { print $3 }' log.csv | uniq | paste -sd' ' -
}

exits "two trainings on one directory run together" 0 run
is "each with a report of its own" \
	"$(sed -n 's/^\([ab]\): .*samples\/s.*/\1/p' out | paste -sd' ' -)" "a b"
is "in the order of the file" "$(both jobname)" "a b"
is "each with counts of its own" \
	"$(both ml.steps) $(both ml.samples) $(both ml.sample_bytes)" \
	"16 8 64 64 131072 131072"
is "the dataset was written once" "$(both prepare.files_written)" "32 0"
is "as stderr says" "$(grep -c 'writing 32 raw files' err)" 1
is "they are one group" "$(both groupid)" "0 0"
like "they ran at the same time" "$(turns)" 'a b a b'
is_json "and their report is one document" run.json

exits "stonewall lets one wait for the other" 0 run --b.stonewall
is "which is another group" "$(both groupid)" "0 1"
is "that reads the same" "$(both ml.samples)" "64 64"
is "never at the same time, and later in the log" "$(turns)" "a b"
exits "--section runs one of them" 0 run --section=b
is "alone" "$(json run.json jobs.0.jobname jobs.1.jobname)" "b absent"
exits "--quiet prints a line for each" 0 run --quiet
is "and nothing else" "$(sed 's/: .*//' out | paste -sd' ' -)" "a b"

exits "one of them may read a part of the files" 0 run --b.num_files=16
is "which is what it counts" "$(both ml.samples) $(both dataset.files)" \
	"64 32 32 16"
is "of the files that are named after all" "$(both dataset.files_named)" "32 32"
rm -rf data
exits "also if it comes first and nothing is there yet" 0 run --a.num_files=16
is "the larger one is made" "$(both dataset.files) $(both dataset.files_named)" \
	"16 32 32 32"
is "once" "$(find data/train -type f | wc -l)" 32
rm -rf data
run --a.num_files=16 --b.stonewall >out 2>err
status=$?
if [ $status -eq 2 ]; then
	ok "before a stonewall this is refused, and nothing written" \
		test ! -e data
else
	is "before a stonewall this is served as well" \
		"$status $(both ml.samples)" "0 32 64"
fi

# ---- what cannot be
rm -rf data
exits "two jobs that contradict each other about a directory are refused" 2 \
	run --a.sample_size=1k
like "with both values" "$(cat err)" '^mlgen: .*data.*sample_size=(1k|2k).*(1k|2k)'
ok "before anything is written" test ! -e data

run --a.directory="$T/a" --b.directory="$T/b" --phase=prepare >out 2>&1
exits "an error of one job ends the other too" 1 run --a.directory="$T/a" \
	--b.directory="$T/b" --b.epochs=1000000 --a.ioengine=fault \
	--a.fail_after=40
like "the message names the file" "$(cat err)" \
	"^mlgen: $T/a/train/img_.*_of_32.raw: .*Input/output error"
like "in the report too" "$(json run.json jobs.0.error_text)" \
	"^$T/a/train/img_.*_of_32.raw: .*Input/output error"
like "both are reported" "$(sed -n 's/:.*//p' out | paste -sd' ' -)" '^a.* b'

done_testing
