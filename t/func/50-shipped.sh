#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 50-shipped.sh - the jobs and examples that come with mlgen do what they say.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

unset MLGEN_JOBS
PATH=$(dirname "$MLGEN"):$PATH
export PATH

# accelerators_of PATH: the names of a job's accelerators.
accelerators_of()
{
	sed -n 's/^\[accelerator=\(.*\)\]/\1/p' "$1"
}

# ---- jobs
# Every job is planned once with its own accelerator and once with each other that it names.
# The plans stay in plans/JOB and plans/JOB.ACCELERATOR for the tables below.
exits "the shipped jobs are listed" 0 "$MLGEN" --list-jobs
cp out list
mkdir plans
names=
for path in "$TOP"/jobs/*.job "$TOP"/examples/*.job; do
	[ -f "$path" ] || continue
	job=${path##*/}
	exits "$job: parses without a word" 0 "$MLGEN" --parse-only "$path"
	ok "$job: at all" test ! -s out -a ! -s err
	exits "$job: dry run" 0 "$MLGEN" "$path" --dry-run=show \
		--json="plans/$job.json"
	mv out "plans/${job%.job}"
	ok "$job: says how it is run" grep -Eq \
		"^#   mlgen (examples/)?$job" "$path"
	case $path in
	*/examples/*)	continue ;;
	esac
	names="$names ${job%.job}"
	ok "$job: is listed" grep -q "^${job%.job} " list
	exits "$job: is found by its name" 0 "$MLGEN" --parse-only "$job"
	own=$(sed -n 's/^accelerator=//p' "$path")
	for accelerator in $(accelerators_of "$path"); do
		if [ "$accelerator" = "$own" ]; then
			cp "plans/${job%.job}" "plans/${job%.job}.$own"
			continue
		fi
		exits "$job: with $accelerator" 0 "$MLGEN" "$job" --dry-run=show \
			--accelerator="$accelerator"
		mv out "plans/${job%.job}.$accelerator"
	done
done
not_ok "nothing was written by any" test -e mlgen-data -o -e data
# shellcheck disable=SC2046 # one word for each plan
is "no plan is wider than 80 columns" \
	"$(awk 'length > 80 { print FILENAME; nextfile }' \
		$(find plans -type f ! -name '*.json'))" ""
if [ -x /usr/bin/python3 ]; then
	ok "every plan is JSON that another parser reads" \
		/usr/bin/python3 -I -S -c 'import json, sys
for name in sys.argv[1:]:
    json.load(open(name, encoding="utf-8"), parse_constant=int)' plans/*.json
else
	for plan in plans/*.json; do
		is_json "$plan parses" "$plan"
	done
fi
if [ -x /usr/bin/python3 ]; then	# without what is installed beside Python
	exits "examples/train.py without NumPy ends" 1 /usr/bin/python3 -I -S \
		"$TOP/examples/train.py" .
	is "with what it needs" "$(cat err)" \
		"train.py: needs NumPy; apt install python3-numpy, or pip install numpy"
else
	skip "examples/train.py says that it needs NumPy" "no /usr/bin/python3"
fi

ok "the list fits 100 columns" awk 'length > 100 { exit 1 }' list
not_ok "and has nothing that cannot be loaded" grep 'cannot be' list
like "it names the other accelerators" "$(cat list)" \
	'^unet3d .* GiB/s  h100 \(v100 a100 b200\)$'
is "and what storage sees, of every job" "$(awk '$2 == "-"' list)" ""

like "and one checkpoint of those that save" "$(cat list)" \
	'^llama3-8b-checkpoint  .* 104\.7 GiB  checkpoint  8 ranks$'

# ---- demand
# Published samples/s and MiB/s of one accelerator at 100%: batch x record / compute
# time. Of dlrm the columns that are read count, 160 bytes of a row. "-" is a job
# without a name for its accelerator.
cat >published <<-END
	unet3d v100 2.940 411.1
	unet3d a100 11.006 1538.8
	unet3d h100 21.672 3029.9
	unet3d b200 43.210 6041.1
	resnet50 tf 653.1 71.4
	resnet50 v100 328.2 35.9
	resnet50 a100 919.5 100.5
	resnet50 h100 1785.7 195.3
	cosmoflow v100 106.8 288.2
	cosmoflow a100 181.5 489.6
	cosmoflow h100 285.7 770.7
	bert v100 49.59 0.118
	retinanet a100 76.2 11.2
	retinanet h100 88.9 13.0
	retinanet b200 504.7 155.5
	retinanet mi355 504.7 155.5
	flux-jpeg a100 7.27 2.13
	flux-jpeg h100 9.41 2.76
	flux b200 35.56 73.4
	flux mi355 35.56 73.4
	dlrm-npz a100 1170286 571.4
	dlrm-npz h100 1638400 800.0
	dlrm b200 32768000 5000.0
	dlrm mi355 32768000 5000.0
	dlrm-dlio - 15.55 9954
	megatron - 6.56 0.0128
	dlio-default - 4 0.015625
END
# demands FILE: FILE has lines JOB ACCELERATOR SAMPLES MIB TITLE. Prints "ok TITLE", or
# "bad TITLE" and the figures, as the demand in the plan is within 0.5% or not.
# "-" for SAMPLES is not compared.
demands()
{
	awk '
	function near(got, want) {
		return want == "-" || (got >= want * 0.995 && got <= want * 1.005)
	}
	{
		plan = "plans/" $1 ($2 == "-" ? "" : "." $2)
		samples = mib = name = ""
		while ((getline line <plan) > 0)
			if (split(line, word, " ") && word[1] == "demand") {
				for (i = 2; word[i] != "samples/s" && word[i] != ""; i++)
					;
				samples = word[i - 1]
				mib = word[i + 1] * (word[i + 2] == "GiB/s" ? 1024 : 1)
				name = word[3]
			}
		close(plan)
		title = $5
		for (i = 6; i <= NF; i++)
			title = title " " $i
		good = samples != "" && near(samples, $3) && near(mib, $4) &&
			($2 == "-" || name == $2)
		print (good ? "ok " : "bad ") title \
			(good ? "" : ": got " name " " samples " " mib)
	}' "$1"
}
# tell FILE: a point for each line of demands().
tell()
{
	while read -r state title; do
		is "$title" "$state" ok
	done <"$1"
}
awk '{ print $0, $1, $2, "needs what was published" }' published >rows
demands rows >told
tell told
for job in $names; do
	for accelerator in $(accelerators_of "$TOP/jobs/$job.job"); do
		ok "$job $accelerator is in that table" \
			grep -q "^$job $accelerator " published
	done
done

# The first lines of a job promise a reader, for example, "v100 0.40 a100 1.50 GiB/s".
awk '/^# One accelerator at 100% needs:/ {
	job = FILENAME
	gsub(/.*\/|\.job$/, "", job)
	sub(/^[^:]*: */, "")
	factor = $NF == "GiB/s" ? 1024 : 1
	if (NF == 2)
		print job, "-", "-", $1 * factor, job, "needs what it says"
	for (i = 1; i + 1 < NF; i += 2)
		print job, $i, "-", $(i + 1) * factor, job, $i, "needs what it says"
}' "$TOP"/jobs/*.job >rows
ok "jobs promise something" test "$(wc -l <rows)" -gt 10
demands rows >told
tell told
exits "unet3d.job --scale=2%" 0 "$MLGEN" unet3d.job --scale=2% --dry-run=show
like "is 28 files, as it says" "$(cat out)" '^dataset   28 npz files'

# ---- guesses
for guess in unet3d:b200 retinanet:mi355 flux:mi355 dlrm:mi355; do
	ok "$guess is called a guess" grep -Eq \
		'^ +compute_time is a guess of its source$' \
		"plans/${guess%:*}.${guess#*:}"
done
not_ok "unet3d on an h100 is none" grep 'a guess' plans/unet3d.h100
unlike "nor is what the user says" "$("$MLGEN" unet3d.job --dry-run=show \
	--accelerator=b200 --compute_time=170ms)" 'a guess'
exits "a guess of no option is refused" 2 "$MLGEN" unet3d.job --guess=compute_tme \
	--parse-only
like "with the nearest" "$(cat err)" \
	"guess: 'compute_tme': unknown option; did you mean 'compute_time'"
"$MLGEN" unet3d.job --ioengine=null --accelerator=b200 --num_files=28 \
	--epochs=1 --steps=1 --json=run.json >out 2>err
like "the report of a run says it, too" "$(tr -s '\n ' ' ' <out)" \
	'compute 162 ms per step, barrier after every step; compute_time is a guess of its source '
is "and the JSON has the option" \
	"$(json run.json jobs.0.options_resolved.guess)" "compute_time"

# ---- every job runs
# Pairs that save and restore run in 103-checkpoint-plan.sh.
trainings=
for job in $names; do
	case $job in
	*-checkpoint)	;;
	*)		trainings="$trainings $job" ;;
	esac
done

# Without storage only the compute time is not the shipped one.
for job in $trainings; do
	exits "$job.job runs without storage" 0 "$MLGEN" "$job.job" \
		--ioengine=null --steps=2 --compute_time=1ms --eval_files=0 \
		--json=run.json
	# shellcheck disable=SC2046 # four words
	set -- $(json run.json jobs.0.ml.steps jobs.0.ml.samples \
		jobs.0.options_resolved.batch_size \
		jobs.0.options_resolved.accelerators)
	is "$job.job: two steps" "$1 $2" "2 $((2 * $3 * $4))"
done

# On storage, made small: JOB OPTION...
small='
	quickstart	--num_files=64 --sample_size=2k
	unet3d		--num_files=28 --sample_size=2k
	resnet50	--num_files=16 --samples_per_file=25 --sample_size=900 --batch_size=8
	cosmoflow	--num_files=64 --sample_size=2k
	bert		--num_files=4 --samples_per_file=100 --sample_size=900 --batch_size=8
	retinanet	--num_files=96 --sample_size=8k
	flux-jpeg	--num_files=64 --sample_size=8k
	flux		--num_files=4 --samples_per_file=8 --row_group_size=4 --batch_size=4 --columns=a:float32[64],b:float32[16] --sample_size=320
	dlrm		--num_files=4 --samples_per_file=64 --row_group_size=16 --batch_size=16
	dlrm-npz	--num_files=64 --batch_size=8
	dlrm-dlio	--samples_per_file=16 --sample_size=2k
	megatron	--samples_per_file=128
	dlio-default	--eval_time=1ms'
mkdir small
run_small()
{
	engine=$1
	shift
	"$MLGEN" "$@" --ioengine="$engine" --compute_time=1ms --epochs=1 \
		--invalidate=0 --json=run.json --directory="$T/small/${1%.job}"
}
turn=
while read -r job options; do
	[ -n "$job" ] || continue
	set -f
	# shellcheck disable=SC2086 # several options
	exits "$job.job runs on psync" 0 run_small psync "$job.job" $options
	want=$(ml run.json steps samples sample_bytes io_bytes)
	unlike "$job.job: something" "$want" '(^| )(absent|0|null)( |$)|^$'
	# 65-engines.sh compares the engines with each other; here they take turns.
	case $turn in
	io_uring)	turn=libaio ;;
	*)		turn=io_uring ;;
	esac
	if ! "$MLGEN" --enghelp=$turn >/dev/null 2>&1; then
		skip "$job.job on $turn" "$turn is not built in"
		continue
	fi
	# shellcheck disable=SC2086
	run_small $turn "$job.job" $options >out 2>err
	is "$job.job on $turn: the same" \
		"$(ml run.json steps samples sample_bytes io_bytes)" "$want"
	set +f
done <<-END
	$small
END
for job in $trainings; do
	like "$job is among these" "$small" "^	$job	"
done

exits "quickstart.job runs, made small" 0 "$MLGEN" quickstart.job \
	--sample_size=2k --compute_time=1ms --num_files=32 --epochs=2 \
	--json=run.json
is "into MLGEN_DIR" "$(find "$MLGEN_DIR/quickstart/train" -type f | wc -l)" 32
is "with its two accelerators" \
	"$(ml run.json accelerators steps samples)" "2 4 64"
exits "unet3d.job too" 0 "$MLGEN" unet3d.job --sample_size=2k \
	--compute_time=1ms --num_files=28 --epochs=2 --json=run.json
is "four steps an epoch" "$(ml run.json steps samples sample_bytes)" \
	"8 56 114688"
like "as an h100" "$(cat out)" '^job       .*h100, batch 7'

# ---- what changed at its source
# option JOB ACCELERATOR OPTION...: as one line
option()
{
	option_job=$1 option_accelerator=$2
	shift 2
	"$MLGEN" "$option_job.job" --accelerator="$option_accelerator" \
		--showjob >shown
	for option; do
		sed -n "s/^$option=//p" shown
	done | tr '\n' ' '
}
is "dlrm on a b200 reads itself, two row groups a batch" \
	"$(option dlrm b200 samples_per_file batch_size read_threads prefetch \
		epochs compute_time)" "1536000 12288 0 0 2 375us "
is "on an mi355 four workers read three" \
	"$(option dlrm mi355 samples_per_file batch_size read_threads prefetch \
		epochs compute_time)" "1536000 18432 4 1 1 562.5us "
is "retinanet on an mi355 has a larger batch" \
	"$(option retinanet mi355 batch_size compute_time)" "36 71325us "
is "flux has six row groups a file" \
	"$(option flux b200 samples_per_file row_group_size batch_size)" \
	"288 48 48 "
exits "workers can be tried on a b200" 0 "$MLGEN" dlrm.job --read_threads=4 \
	--dry-run=show

# ---- examples
exits "train-with-checkpoints.job runs, made small" 0 \
	"$MLGEN" "$TOP/examples/train-with-checkpoints.job" --sample_size=2k \
	--compute_time=1ms --checkpoint_size=1m --json=run.json
is "three checkpoints each" "$(json run.json jobs.0.ml.saves.completed \
	jobs.1.ml.saves.completed)" "3 3"

# ---- about the program
exits "--version" 0 "$MLGEN" --version
like "says which in one line" "$(sed -n 1p out)" \
	'^mlgen [0-9]+\.[0-9]+\.[0-9]+( \(commit [0-9a-f]{12}(-dirty)?\))?$'
is "with the commit, where there is one" \
	"$(sed -n '1s/.*(commit \([0-9a-f]*\).*/\1/p' out)" \
	"$([ ! -e "$TOP/.git" ] || git -C "$TOP" rev-parse HEAD 2>/dev/null |
		cut -c 1-12)"
like "the engines" "$(cat out)" "^engines .* null psync"
like "and the libraries" "$(tr '\n' ' ' <out)" \
	' libraries .*liburing [0-9.]+, libaio so[0-9.]+,.* zlib [0-9.]+'
exits "--enghelp" 0 "$MLGEN" --enghelp
cp out engines
for engine in psync null; do
	like "lists $engine" "$(cat engines)" "^$engine +[a-z]"
	exits "and explains it" 0 "$MLGEN" --enghelp=$engine
done
exits "but none that is not built in" 2 "$MLGEN" --enghelp=psink
like "with the nearest" "$(cat err)" 'psync'

done_testing
