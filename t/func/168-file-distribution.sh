#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 168-file-distribution - file:PATH: sizes and times from a file of values, beside the job that names it.

. "$(dirname "$0")/tap.sh"
. "$TOP/t/func/runs.sh"

mkdir jobs
cat >jobs/few.sizes <<'EOS'
# three sizes, as often as they were there
1000 x2
4k x1
70000 x1
EOS
cat >jobs/few.job <<'EOS'
[few]
directory=data
format=raw
access=plain
num_files=64
batch_size=4
sample_size=file:few.sizes
phase=train
ioengine=psync
EOS

sizes()
{
	find data -type f -name 'img*' -printf '%s\n' | sort -n | uniq |
		tr '\n' ' '
}

exits "a dataset is made with sizes of a file beside the job" 0 \
	"$MLGEN" --phase=prepare jobs/few.job
is "its files have these sizes and no others" "$(sizes)" "1000 4096 70000 "
exits "it is read" 0 "$MLGEN" jobs/few.job --output-format=json
cp "$T/out" few.json
is "the result says where the sizes are from" \
	"$(json few.json jobs.0.options_resolved.sample_size)" \
	"file:jobs/few.sizes"

# ---- what is shown reads back

"$MLGEN" --showjob jobs/few.job >shown.job
like "--showjob has the path from here" "$(cat shown.job)" \
	'^sample_size=file:jobs/few.sizes'
"$MLGEN" --showjob shown.job >again.job
is "and it reads back the same" "$(grep '^sample_size' again.job)" \
	"$(grep '^sample_size' shown.job)"
exits "on the command line the path is from the current directory" 0 \
	"$MLGEN" jobs/few.job --sample_size=file:jobs/few.sizes --dry-run
exits "and not from the job's" 2 \
	"$MLGEN" jobs/few.job --sample_size=file:few.sizes --dry-run
sed 's/sample_size=.*/include size.inc/' jobs/few.job >jobs/included.job
mkdir jobs/sub
echo 'sample_size=file:../few.sizes' >jobs/sub/size.inc
sed 's,size.inc,sub/size.inc,' jobs/included.job >jobs/deep.job
exits "in an included file it is from that file's folder" 0 \
	"$MLGEN" jobs/deep.job

# ---- the dataset knows by what it was made

echo '8k x1' >>jobs/few.sizes
exits "values out of order are refused" 2 "$MLGEN" jobs/few.job
like "by line" "$(cat "$T/err")" \
	"few.job:7: sample_size: jobs/few.sizes:5: '8k': is below"
sed -i '$d' jobs/few.sizes
echo '80000 x1' >>jobs/few.sizes
exits "another content is another dataset" 2 "$MLGEN" jobs/few.job
like "which is said" "$(cat "$T/err")" "was made with sample_size=file-"
sed -i '$d' jobs/few.sizes
echo '# only a comment more' >>jobs/few.sizes
exits "another comment is not" 0 "$MLGEN" jobs/few.job --output-format=json
cp "$T/out" second.json
mv jobs/few.sizes jobs/moved.sizes
# One may be slower than the other, which is status 3.
exits "results are compared where the file is not" 0 \
	"$MLGEN" --compare few.json second.json --tolerance=100
exits "and the dataset is cleaned away" 0 "$MLGEN" --clean data --yes
is "all of it" "$(sizes)" ""

# ---- times

cat >jobs/step.times <<'EOS'
# steps of a model with two kinds of batches; a bare number is in seconds
20ms x3
0.1 x1
EOS
cat >jobs/step.job <<'EOS'
[step]
phase=train
ioengine=null
num_files=4000
sample_size=4k
batch_size=1
compute_time=file:step.times*0.5
read_threads=8
EOS
virtual_time
exits "steps compute as long as a file says" 0 "$MLGEN" \
	--output-format=json --output=step.json jobs/step.job

# within KEY LOW HIGH
within()
{
	json step.json "jobs.0.ml.$1" | awk -v low="$2" -v high="$3" '
		{ print ($1 >= low && $1 <= high) ? "yes" : $1 }'
}

is "half as long by a factor: 20 ms on average, within 5 %" \
	"$(within step_ns.mean 19e6 21e6)" "yes"
is "no step lasts less than the shortest time" \
	"$(within step_ns.min 9.9e6 10.1e6)" "yes"
is "nor more than the longest" "$(within step_ns.max 49.5e6 50.5e6)" "yes"

done_testing
