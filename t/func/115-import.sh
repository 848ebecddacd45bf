#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 115-import.sh - a workload of DLIO becomes the job file that does what its YAML says.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

unset MLGEN_JOBS
yaml=$TOP/t/func/yaml

import()
{
	"$MLGEN" --import=dlio "$@"
}

import "$yaml/unet3d.yaml" >job 2>err
if grep -q 'built without libyaml' err; then
	exits "without libyaml the question says so" 2 import "$yaml/unet3d.yaml"
	like "and which package is missing" "$(cat err)" 'Debian libyaml-dev'
	is "and prints no job" "$(cat out)" ""
	done_testing
	exit 0
fi

# ---- the workloads that come with mlgen

# What a dry run says of a job: of its training and, with checkpoints, of them.
plan_of()
{
	"$MLGEN" "$@" --dry-run 2>&1 |
		grep -E "^($lines) |^  +ranks " | sed 's/one accelerator/one/
			s/one [a-z][a-z]*[0-9]* /one /; s/  */ /g'
}

# same YAML JOB [--accelerator=NAME] [++OVERRIDE...]: imports and plans alike.
same()
{
	name=$1 job=$2 accelerator=
	shift 2
	case ${1:-} in
	--accelerator=*) accelerator=$1; shift ;;
	esac
	title="$name is $job.job${accelerator:+, ${accelerator#--}}"
	exits "$title: imports" 0 import "$yaml/$name.yaml" "$@"
	cp out import.job
	is "$title: without a word" "$(cat err)" ""
	exits "$title: loads" 0 "$MLGEN" import.job --parse-only
	is "$title: without a word, too" "$(cat out err)" ""
	plan_of import.job >got
	# shellcheck disable=SC2086 # nothing, or one word
	plan_of "$TOP/jobs/$job.job" $accelerator >want
	ok "$title: plans something" test -s want
	is "$title: plans the same" "$(cat got)" "$(cat want)"
}

lines='dataset|epoch|eval|run|demand|in flight|calls'
w=++workload
same unet3d unet3d --accelerator=h100
same unet3d_old unet3d --accelerator=h100
same unet3d unet3d --accelerator=a100 $w.train.computation_time=0.636
same unet3d unet3d --accelerator=v100 $w.train.computation_time=1.3604 \
	$w.reader.batch_size=4
same unet3d unet3d --accelerator=b200 $w.train.computation_time=0.162 \
	$w.workflow.checkpoint=False
same resnet50 resnet50 --accelerator=h100
same resnet50 resnet50 --accelerator=a100 $w.train.computation_time=0.435
same resnet50 resnet50 --accelerator=v100 $w.train.computation_time=0.195 \
	$w.reader.batch_size=64
same resnet50 resnet50 --accelerator=tf $w.train.computation_time=0.098 \
	$w.reader.batch_size=64 $w.train.epochs=1
same cosmoflow cosmoflow --accelerator=h100
same cosmoflow cosmoflow --accelerator=a100 $w.train.computation_time=0.00551
same cosmoflow cosmoflow --accelerator=v100 $w.train.computation_time=0.00936 \
	$w.reader.file_shuffle=off $w.reader.sample_shuffle=off
same bert bert
same default dlio-default
same dlrm-dlio dlrm-dlio
same dlrm-npz dlrm-npz --accelerator=h100
same dlrm-npz dlrm-npz --accelerator=a100 $w.train.computation_time=0.007
same megatron megatron
same retinanet retinanet --accelerator=b200
same retinanet retinanet --accelerator=mi355 $w.train.computation_time=0.071325 \
	$w.reader.batch_size=36
same retinanet retinanet --accelerator=h100 $w.train.computation_time=0.180 \
	$w.reader.batch_size=16 $w.train.epochs=5 \
	$w.dataset.num_files_train=1743042 \
	$w.dataset.record_length_bytes=153600 \
	$w.dataset.record_length_bytes_stdev=51200
# What is on storage is in flux_datagen.yaml.
groups=$w.dataset.parquet.row_group_size=48
same flux flux --accelerator=b200 $groups
same flux flux --accelerator=mi355 $w.train.computation_time=2.025 \
	$w.reader.batch_size=72 $groups
same flux-jpeg flux-jpeg --accelerator=h100
same flux-jpeg flux-jpeg --accelerator=a100 $w.train.computation_time=1.1

# Columns of four types by turns, 200 of them, 40 read, as the third version
# of MLPerf Storage has them.
awk 'BEGIN {
	print "model: {name: dlrm}"
	print "framework: pytorch"
	print "dataset:"
	print "  {format: parquet, num_files_train: 1024, num_samples_per_file: 1536000,"
	print "   record_length_bytes: 761, parquet: {row_group_size: 6144, read_mode: row_group, columns: ["
	split("float32 float64 float16 int8", type)
	left["float32"] = 56; left["float64"] = 49
	left["float16"] = 50; left["int8"] = 45
	read["float32"] = 27; read["float64"] = 5
	read["float16"] = 4; read["int8"] = 4
	while (n < 200)
		for (i = 1; i <= 4; i++)
			if (left[type[i]]-- > 0)
				printf "    {name: feature_%03d, dtype: %s, " \
					"size: 1, read: %s},\n", n++, type[i], \
					(read[type[i]]-- > 0 ? "true" : "false")
	print "  ]}}"
	print "reader: {data_loader: pytorch, batch_size: 12288, read_threads: 0,"
	print "  prefetch_size: 0, file_shuffle: seed}"
	print "train: {epochs: 2, computation_time: 0.000375}"
}' >dlrm.yaml
# Other names, of the same length, and another order: not the calls.
lines='epoch|run|demand|in flight'
yaml=$T same dlrm dlrm --accelerator=mi355 $w.reader.batch_size=18432 \
	$w.train.computation_time=0.0005625 $w.train.epochs=1 \
	$w.reader.read_threads=4 $w.reader.prefetch_size=2
yaml=$T same dlrm dlrm --accelerator=b200
like "columns that are too many for a line are put together" \
	"$(cat import.job)" '^columns=f000\.\.055:float32,'
like "and those that are read are named" "$(cat import.job)" \
	'^read_columns=f000\.\.026,'
yaml=$TOP/t/func/yaml

lines='model|ranks|total|layout|to write|to read|fsync|in flight'
for size in 8b 70b 405b 1t; do
	same llama3-$size llama3-$size-checkpoint
done
# One of DLIO's own says that it trains, and has nothing to train with.
same llama3-1t llama3-1t-checkpoint $w.workflow.train=True \
	$w.workflow.generate_data=True
like "a slip of DLIO's own is told" "$(cat import.job)" '^# .* says train: True'

import "$yaml/unet3d.yaml" >unet3d.job
like "a training saves what its YAML says" "$(plan_of unet3d.job)" \
	'^total one checkpoint: 1 file, 499,153,191 bytes'
import "$yaml/bert.yaml" >bert.job
like "as often as it says" "$(plan_of bert.job)" '^to write 4 checkpoints'

# ---- what the YAML says, and what DLIO does
like "a shuffle that does not shuffle is told" "$(cat unet3d.job)" \
	"^# .*DLIO itself .except v1\.0. reads each rank's"
like "and imported as it is said" "$(cat unet3d.job)" '^shuffle=sample$'
like "a size that DLIO ignores is told" "$(cat unet3d.job)" \
	'^# The YAML says model_size: 499153191'
import "$yaml/llama3-8b.yaml" >8b.job
like "an fsync that DLIO does not do is told" "$(cat 8b.job)" \
	'^# The YAML says fsync: True\. DLIO accepts the key but does not'
like "and done" "$(cat 8b.job)" '^checkpoint_fsync=file$'
import "$yaml/llama3-8b.yaml" $w.checkpoint.recovery_rank_shift=True >shift.job
like "a shift that DLIO does not make is told" "$(cat shift.job)" \
	'^# The YAML says recovery_rank_shift: True'
like "DLIO's defaults are named" "$(cat unet3d.job)" \
	"^# Not in the YAML, so DLIO's defaults: .*prefetch_size=2"
cp "$yaml/unet3d.yaml" unet3d_h100.yaml
like "a file's name says of which accelerator" \
	"$(import unet3d_h100.yaml)" '^accelerator=h100$'

# ---- every key
exits "every key of DLIO imports" 0 import "$yaml/every-key.yaml"
cp out every.job
is "and each is known" "$(cat err)" ""
exits "the job loads" 0 "$MLGEN" every.job --parse-only
is "without a word" "$(cat out err)" ""
for option in directory=/mnt/array/data format=npz num_files=100 subfolders=3 \
	samples_per_file=4 sample_size=2048 batch_size=5 epochs=6 steps=40 \
	compute_time=normal:250ms:50ms target_au=90 eval_files=10 \
	eval_batch_size=2 eval_time=exponential:500ms eval_every=3 \
	eval_after=2 loader=tfdata read_threads=3 decode_threads=2 prefetch=6 \
	preprocess_time=uniform:1ms:2ms shuffle=buffer:17 shard=file \
	randseed=77 'checkpoint_every=2 epochs' checkpoint_size=1048576 \
	checkpoint_directory=/mnt/array/saved checkpoint_ranks=all \
	checkpoint_fsync=file; do
	ok "a key became $option" grep -qxF "$option" every.job
done
# Whatever stands in the YAML and became no option is in a comment.
for key in workflow.debug dataset.file_prefix dataset.hdf5.chunk_dims \
	reader.pin_memory checkpoint.ksm profiling.iostat_devices \
	output.metric.exclude_start_steps dataset.parquet.row_group_size; do
	ok "$key is not dropped in silence" grep -q "^# $key=" every.job
done
ok "secrets are not shown" sh -c '! grep -q hush every.job'

printf 'model: {name: x}\nreader: {batch_sise: 3}\nzoo: 1\n' >unknown.yaml
exits "keys that nobody knows are no fault" 0 import unknown.yaml
like "but named, with their place" "$(cat err)" \
	'^unknown\.yaml:2:22: note: reader\.batch_sise: '
like "with the key that is meant" "$(cat err)" 'did you mean reader\.batch_size\?$'
like "one by one" "$(cat err)" '^unknown\.yaml:3:6: note: zoo: '
like "and listed in the job" "$(cat out)" \
	'^# reader\.batch_sise=3: not a key of DLIO .*\(line 2\)'

# ---- overrides
exits "overrides count" 0 import "$yaml/unet3d.yaml" $w.train.epochs=9 \
	"$w.train.computation_time={mean: 1, stdev: 0.5}" +workload.metric.au=0.5
for option in epochs=9 compute_time=normal:1s:500ms target_au=50; do
	ok "one became $option" grep -qx $option out
done
exits "one of a wrong type is refused" 2 import "$yaml/unet3d.yaml" \
	$w.train.epochs=many
like "by its own words" "$(cat err)" \
	"^\+\+workload\.train\.epochs=many: train\.epochs: 'many' is not a whole"
exits "one without a value, too" 2 import "$yaml/unet3d.yaml" $w.train.epochs
exits "a second file, too" 2 import "$yaml/unet3d.yaml" "$yaml/bert.yaml"
exits "standard input is a file" 0 sh -c \
	'"$0" --import=dlio - <"$1"' "$MLGEN" "$yaml/unet3d.yaml"
is "and says the same" "$(grep -v '^#' out)" "$(grep -v '^#' unet3d.job)"

# ---- the words of YAML 1.1 for true and false
for word in true True TRUE yes Yes YES on On ON; do
	exits "odirect: $word" 0 import "$yaml/unet3d.yaml" $w.reader.odirect=$word
	ok "odirect: $word is direct=1" grep -qx direct=1 out
done
exits "another word is refused" 2 import "$yaml/unet3d.yaml" $w.reader.odirect=is_true

# ---- bad input
# refused TITLE REGEX TEXT: a YAML of this text (printf's).
refused()
{
	# shellcheck disable=SC2059 # it is a format
	printf "$3" >bad.yaml
	exits "$1 is refused" 2 import bad.yaml
	like "$1: says where" "$(cat err)" "$2"
	is "$1: prints no job" "$(cat out)" ""
}

refused "a wrong type" "^bad\.yaml:3:20: dataset\.num_files_train: 'many' is" \
	'model: {name: x}\ndataset:\n  num_files_train: many\n'
refused "a number in quotes" '^bad\.yaml:1:17: train\.epochs: .*quotes' \
	'train: {epochs: "5"}\n'
refused "a list for a number" '^bad\.yaml:1:17: train\.epochs: this is a list' \
	'train: {epochs: [1]}\n'
refused "a number for a group" "^bad\.yaml:1:8: train: '5' is not a map" \
	'train: 5\n'
refused "a number out of range" '^bad\.yaml:1:17: train\.epochs: 0 is less' \
	'train: {epochs: 0}\n'
refused "an unknown format" "^bad\.yaml:1:19: dataset\.format: 'npzz' is not one of" \
	'dataset: {format: npzz}\n'
refused "what Hydra resolves" '^bad\.yaml:2:11: train\.epochs: .* Hydra' \
	'train:\n  epochs: ${x}\n'
refused "nothing to do" '^bad\.yaml:1:19: workflow\.train: ' \
	'workflow: {train: False}\n'
refused "a tab" '^mlgen: bad\.yaml:2:1: a tab' 'model:\n\tname: x\n'
refused "a key twice" '^mlgen: bad\.yaml:3:3: name: is already in line 2' \
	'model:\n  name: x\n  name: y\n'
refused "a second document" '^mlgen: bad\.yaml:2:1: a second document' \
	'model: {name: x}\n---\nmodel: {name: y}\n'
refused "an alias without an anchor" '^mlgen: bad\.yaml:1:8: \*x: ' \
	'model: *x\n'
refused "an alias of itself" '^mlgen: bad\.yaml:1:12: \*x: ' 'model: &x [*x]\n'
refused "no YAML at all" '^mlgen: bad\.yaml:2:1: not YAML' 'model: {\n'
refused "a list" '^mlgen: bad\.yaml:1:1: not a workload' '[a, b]\n'
refused "another program's YAML" '^mlgen: bad\.yaml: not a workload' \
	'version: 3\nservices: {web: {image: x}}\n'
refused "Hydra's own file" '^mlgen: bad\.yaml:2:3: defaults names other' \
	'defaults:\n  - workload: default\n'
refused "an empty file" '^mlgen: bad\.yaml: contains no values' ''
refused "bytes that are no text" '^mlgen: bad\.yaml:2:3: not text' 'a: 1\nb:\001\n'
refused "a model that mlgen refuses" \
	'^mlgen: bad\.yaml: mlgen refuses the job made from it: pipeline_parallel: 4 ' \
	'workflow: {train: False, checkpoint: True}
model: {num_layers: 2, parallelism: {pipeline: 4}}'
refused "the configuration of a database" '^mlgen: bad\.yaml: not a workload' \
	'database: {host: x}\ndataset: {chunk_size: 10, batch_size: 10}\n'
exits "a directory is refused" 2 import "$T"
like "as one" "$(cat err)" 'a directory'
exits "a file that is not there, too" 2 import nowhere.yaml
exits "and no file" 2 import

# Ten lists of ten aliases each: more values than atoms, were they copied.
awk 'BEGIN {
	print "a: &a [1]"
	for (i = 98; i < 108; i++) {
		printf "%c: &%c [", i, i
		for (k = 0; k < 10; k++)
			printf "*%c,", i - 1
		print "]"
	}
	print "model: {name: x, type: cnn}\nstorage: {storage_options: *k}"
}' >laughs.yaml
exits "aliases of aliases take no memory" 0 import laughs.yaml
cp out laughs.job
exits "and the job loads" 0 "$MLGEN" laughs.job --parse-only

awk 'BEGIN {
	print "model: {name: x}\nreader:"
	for (i = 0; i < 10000; i++)
		print "  key_" i ": " i
}' >many.yaml
exits "ten thousand keys import" 0 import many.yaml
is "all are listed" "$(grep -c '^# reader\.key_' out)" 10000
is "and some are told" "$(grep -c ': note: reader' err)" 20
like "with the number of the others" "$(cat err)" 'note: 9980 more keys'

printf 'defaults: [base]\nframework: pytorch\n' >defaults.yaml
exits "a workload that is based on another imports" 0 import defaults.yaml
like "with a word about what is not in it" "$(cat err)" \
	'^defaults\.yaml:1:11: note: defaults: names other files'

# ---- a run: the job of every format does what its YAML says
for format in tfrecord hdf5 csv npz npy png indexed_binary mmap_indexed_binary \
	parquet synthetic; do
	samples=2
	[ $format != png ] || samples=1
	cat >run.yaml <<-END
		model: {name: run, model_size_bytes: 5000}
		framework: pytorch
		workflow: {evaluation: True, checkpoint: True}
		dataset: {data_folder: $T/data-$format, format: $format,
		  num_files_train: 4, num_files_eval: 2,
		  num_samples_per_file: $samples, record_length_bytes: 5000}
		reader: {batch_size: 1, file_shuffle: seed, odirect: False}
		checkpoint: {checkpoint_folder: $T/saved-$format}
	END
	exits "$format imports" 0 import run.yaml
	cp out run.job
	exits "$format runs" 0 "$MLGEN" run.job --json=run.json
	is "$format: delivers every sample" "$(ml run.json samples)" \
		$((4 * samples))
done

done_testing
