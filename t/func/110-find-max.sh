#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 110-find-max.sh - how many accelerators: what arithmetic says, and why it is not more.
# In virtual time, where arithmetic holds whatever else the machine does.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

in_real_time=$MLGEN
virtual_time

# find ARGUMENT...: which is all but instant where nothing is played slowly
find_max()
{
	rm -f run.json
	"$MLGEN" --name=x --ioengine=null --format=raw --num_files=4096 \
		--sample_size=1k --batch_size=8 --compute_time=5ms --steps=40 \
		--read_threads=1 --prefetch=1 --json=run.json "$@"
}

# found KEY...: of the answer
found()
{
	# shellcheck disable=SC2046 # one word for each key
	json run.json $(printf 'find_max.%s\n' "$@")
}

# ---- five workloads against arithmetic, side by side: they mostly sleep
#
# One accelerator asks for `demand` bytes per second; n of them are at 90 % or
# more while n * demand * 0.9 is no more than there is. In the middle between
# that and the same for n + 1 neither is near its limit.
#
# plays NAME ANSWER OPTION...
plays()
{
	name=$1
	n=$2
	shift 2
	set -- "$name.job" --ioengine=null --compute_time=25ms --steps=60 \
		--read_threads=1 --prefetch=1 "$@"
	"$MLGEN" "$@" --accelerators=1 --dry-run --json="$name.plan" >/dev/null
	demand=$(json "$name.plan" jobs.0.ml.demand_io_bytes_per_sec)
	bandwidth=$(awk -v d="$demand" -v n="$n" \
		'BEGIN { printf "%.0f", d * 0.9 * (n + 0.5) }')
	"$MLGEN" "$@" --bandwidth="$bandwidth" --find-max=accelerators \
		--require='au>=90' --json="$name.json" >"$name.out" \
		2>"$name.err" </dev/null
	echo $? >"$name.status"
}

plays quickstart 3 --num_files=16384 &
plays unet3d 2 --num_files=16384 --sample_size=1m &
plays retinanet 3 --num_files=16384 &
wait
plays cosmoflow 1 &
plays dlrm 2 &
wait
for row in quickstart:3 unet3d:2 retinanet:3 cosmoflow:1 dlrm:2; do
	name=${row%:*}
	is "$name: as many as bandwidth / demand / 90% says" \
		"$(cat "$name.status") $(json "$name.json" find_max.answer \
			find_max.limited_by find_max.limit)" \
		"0 ${row#*:} $((${row#*:} + 1)) storage"
	[ "$(json "$name.json" find_max.answer)" = "${row#*:}" ] ||
		note "$(cat "$name.out" "$name.err")"
done

# ---- what is printed
cp unet3d.out out
like "the question comes first" "$(sed -n 1p out)" \
	'^unet3d: most accelerators with au >= 90$'
like "a column for each figure" "$(cat out)" \
	'^probe +accelerators +AU +.iB/s +stall p99, ms +steps$'
is "a row for each run" "$(grep -Ec ' (pass|fail)' out)" \
	"$(grep -c '"margin_percent"' unet3d.json)"
like "the answer, and what its neighbour had" "$(cat out)" \
	'^ANSWER    2 x h100 \([0-9.]+% AU, [0-9.]+ .iB/s\)\. The 3rd reached [0-9.]+%$'
like "the limit, and what would be needed" "$(cat out)" \
	'^limit     the storage .* 3 x h100 need [0-9.]+ .iB/s for 90%$|^limit     the storage '
like "whether it is the host" "$(cat out)" \
	'^host      not the limit: without storage, 3 x h100'
like "how sure it is" "$(cat out)" '^sure      each side confirmed by a full run'
is_json "the document parses" unet3d.json
is "it is about the run that shows the answer" \
	"$(json unet3d.json jobs.0.ml.accelerators jobs.0.ml.steps)" "2 60"
is "and says what was asked" \
	"$(json unet3d.json find_max.option find_max.job find_max.requirement find_max.confirmed)" \
	"accelerators unet3d au>=90 true"

# ---- a full run that has missed it is not run to its end
exits "storage for one" 0 find_max --steps=0 --num_files=256 --epochs=6 \
	--bandwidth=2m --find-max=accelerators --require='au>=90'
is "another one is known to be too many behind the first epoch" \
	"$(found answer limited_by probes.1.full probes.1.cut_short)" \
	"1 2 true true"
like "which is said of the run" "$(tr -s ' \n' ' ' <out)" \
	' full 2 .* fail .*ended early '
like "and of how sure that is" "$(tr -s ' \n' ' ' <out)" \
	'full run of 6 epochs; .*; the run of 2 ended when 90% was out of reach'

# ---- other ends
exits "none is status 3" 3 find_max --bandwidth=300k --find-max=accelerators \
	--require='au>=90' --html=answer.html
is "and null" "$(found answer limited_by confirmed)" "null 1 true"
like "with the part of one that it feeds" "$(cat out)" \
	'^ANSWER    none: the modelled storage feeds 0\.[0-9]+ of one accelerator at 90% AU$'
like "and a command that plays the part" "$(tr -s ' \\\\\n' ' ' <out)" \
	' play it [^ ]*/mlgen --name=x --ioengine=null '
not_ok "which writes nothing over the answer" grep -q 'answer[.]' out
is "no more were tried" "$(grep -Ec '^ *(full|[0-9]+) +[0-9]+ .* fail' out)" \
	"$(grep -Ec '^ *(full|[0-9]+) +1 .* fail' out)"
exits "the dataset may be too small for more" 0 find_max --num_files=64 \
	--steps=0 --epochs=20 --find-max=accelerators --require='au>=50'
is "which is not a failure" \
	"$(found answer limited_by limit)" "4 null files"
like "but said, with what it takes" "$(tr -s ' \n' ' ' <out)" \
	'ANSWER at least 4 .* limit not found: 5 accelerators need 80 files for two steps per epoch, but there are 64; more num_files'
exits "an option has a limit of its own" 0 "$MLGEN" --name=io --ioengine=null \
	--rw=read --size=1m --runtime=5ms --time_based \
	--find-max=iodepth_batch_submit --require='numjobs<=9' --json=run.json
is "that is said" "$(found answer limited_by limit)" "4096 null option"
exits "a plain job's option" 0 "$in_real_time" --name=io --ioengine=null --rw=read \
	--size=1m --runtime=40ms --time_based --find-max=numjobs \
	--require='numjobs<=5' --json=run.json
is "is found likewise" "$(found answer limited_by)" "5 6"
exits "a depth where there is none" 2 "$MLGEN" --name=io --ioengine=psync \
	--rw=read --size=1m --find-max=iodepth --require='read.iops>=1'
like "is refused" "$(cat err)" 'find-max=iodepth: ioengine=psync has one request'
exits "where the least is not possible the search begins with the job's own" 3 \
	"$MLGEN" --name=save --phase=checkpoint --ioengine=null \
	--model_layers=8 --model_hidden=64 --model_ffn=128 --model_heads=4 \
	--model_kv_heads=4 --model_vocabulary=1000 --tensor_parallel=4 \
	--ranks=8 --checkpoints=1 --find-max=ranks --require='saves.completed>=9' --json=run.json
is "and goes on from there" "$(found probes.0.value probes.1.value)" "8 16"
exits "a latency has units" 3 find_max --bandwidth=300k \
	--find-max=accelerators --require='stall_ns.p99 < 1.5ms'
like "in the table's head, too" "$(sed -n 1p out)" 'with stall_ns.p99 < 1.5ms$'
exits "several requirements at once" 0 find_max --find-max=accelerators \
	--require='steps>=40 and accelerators<=3 and samples<1e9'
is "all have to hold" "$(found answer probes.0.possible)" "3 true"

# ---- one job of several
cat >mix.job <<EOF
[global]
ioengine=null
format=raw
num_files=4096
sample_size=1k
batch_size=8
compute_time=10ms
read_threads=1
prefetch=1
runtime=500ms
time_based
[one]
[other]
accelerators=2
EOF
exits "an option of which job?" 2 "$MLGEN" mix.job --find-max=accelerators
like "is asked back" "$(cat err)" 'which job\? Jobs: one other; write --one.find-max=accelerators'
exits "one of them is varied" 0 "$MLGEN" mix.job \
	--one.find-max=accelerators --require='accelerators<=2' --json=run.json
is "while the other one runs as it is" \
	"$(found answer job) $(json run.json jobs.0.ml.accelerators jobs.1.ml.accelerators)" \
	"2 one 2 2"
exits "the other spelling" 0 "$MLGEN" mix.job --find-max=one.accelerators \
	--require='accelerators<=1' --quiet
like "--quiet leaves the answer" "$(cat out)" '^one: .*1 accelerator \('
is "alone" "$(wc -l <out)" 1

# ---- they run beside it as long as it does, be they shorter by themselves
cat >mix.job <<EOF
[global]
ioengine=null
format=raw
num_files=64
sample_size=1k
batch_size=8
compute_time=10ms
read_threads=1
prefetch=1
[one]
runtime=400ms
time_based
[short]
epochs=1
bandwidth=700k
target_au=99.999
EOF
exits "one of two that differ" 0 "$MLGEN" mix.job --one.find-max=accelerators \
	--require='accelerators<=1' --json=run.json
ok "the other one goes on" test "$(json run.json jobs.1.ml.steps)" -gt 20
like "what it came to is said" "$(cat out)" \
	'^jobs      with 1: short [0-9.]+% AU \(target 99.999%: missed\);'

# ---- MLPerf Storage has a rule about the dataset
exits "one of its workloads" 0 "$MLGEN" unet3d.job --directory="$T/unet3d" \
	--num_files=1100 --sample_size=1k --batch_size=1 --compute_time=1ms \
	--epochs=1 --steps=4 --find-max=accelerators \
	--require='accelerators<=3'
is "for how many there are steps enough" "$(tail -n 2 out)" \
	"valid for MLPerf Storage up to 2 accelerators with these 1,100 files (500 steps each)
  3 accelerators need 1,500 files"

# ---- without --require, and what is wrong with one
exits "the job's target is required" 3 find_max --find-max=accelerators \
	--target_au=99 --bandwidth=300k
is "without --require" "$(found requirement)" "au>=99"
exits "a text option has no largest value" 2 find_max --find-max=format
like "which is told, with those that have" "$(cat err)" \
	'find-max=format: format cannot be increased .* for phase=train: accelerators, batch_size, '
for option in randseed epochs steps checkpoint_keep num_files zero_stage; do
	exits "more of $option is no more of the same job" 2 find_max \
		--find-max=$option --require='steps>=1'
done
exits "nor is that of a plain job" 2 "$MLGEN" --name=io --ioengine=null \
	--rw=read --size=1m --find-max=loops --require='read.iops>=1'
like "which has options of its own" "$(cat err)" \
	'find-max=loops: .* for phase=io: numjobs, iodepth, '
exits "an option that does not exist" 2 find_max --find-max=acelerators
like "is guessed" "$(cat err)" "did you mean 'accelerators'"
exits "a job that does not exist" 2 find_max --y.find-max=accelerators
like "neither" "$(cat err)" "there is no job 'y'; jobs: x"
exits "a requirement that names no metric" 2 find_max \
	--find-max=accelerators --require='au_percnt>=90'
like "is guessed, too" "$(cat err)" "did you mean 'au_percent'"
exits "one with a unit, too" 2 find_max \
	--find-max=accelerators --require='reed.iops>=1m'
like "is told so, and not of its unit" "$(cat err)" \
	"reed.iops: not a figure of a run; did you mean 'read.iops'"
exits "one that can never hold" 2 find_max --find-max=accelerators \
	--require='au>=101'
like "is refused" "$(cat err)" 'au>=101 can never hold; au is between 0 and 100'
exits "an AU without compute_time" 2 find_max --find-max=accelerators \
	--require='au>=90' --compute_time=0
exits "a log is of one run" 2 find_max --find-max=accelerators --log=x.log
ok "and none was written" test ! -e x.log
exits "what cannot run at all is no answer" 2 "$MLGEN" --name=x \
	--directory="$T/none" --readonly --compute_time=1ms \
	--find-max=accelerators --json=run.json
not_ok "and leaves no document" test -e run.json

# ---- stopped
background "$in_real_time" --name=x --ioengine=null --format=raw --num_files=4096 \
	--sample_size=1k --batch_size=8 --compute_time=10ms --steps=20 \
	--read_threads=1 --prefetch=1 --find-max=accelerators \
	--require='au>=1' --json=stop.json
poll grep -q '^ *full  *2 ' out
kill -INT "$pid"
finish
is "a signal ends the search" "$status" 130
like "with what is known" "$(cat out)" '^ANSWER    at least [0-9]+ accelerators'
is "in the document, too" "$(json stop.json find_max.interrupted)" true

done_testing
