/* SPDX-License-Identifier: Apache-2.0 */
/* test_dlio_import.c - what becomes of each key of DLIO's configuration. */
#include <check.h>
#include <string.h>

#include "base/buf.h"
#include "config.h"
#include "field/fields.h"
#include "import/dlio/dlio_config.h"
#include "job/job.h"
#include "suites.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* ---- the table of keys ---- */

START_TEST(every_key_is_found_by_every_spelling)
{
	for (const struct dlio_key *k = dlio_keys; k->path; k++) {
		char older[64];

		ck_assert_ptr_eq(dlio_key_find(k->path), k);
		for (const char *s = k->older; s && *s; s += strlen(older)) {
			s += *s == ' ';
			snprintf(older, sizeof(older), "%.*s", (int)strcspn(s, " "), s);
			ck_assert_ptr_eq(dlio_key_find(older), k);
		}
	}
	ck_assert_ptr_eq(dlio_key_find("data_reader.batch_size"), dlio_key_of("reader.batch_size"));
	ck_assert_ptr_null(dlio_key_find("dataset"));
	ck_assert_ptr_null(dlio_key_find("dataset.formats"));
	ck_assert_ptr_null(dlio_key_find(""));
}
END_TEST

START_TEST(a_key_becomes_an_option_of_mlgen)
{
	for (const struct dlio_key *k = dlio_keys; k->path; k++) {
		ck_assert_msg(!k->option || field_find(job_fields, k->option),
			      "%s: there is no option %s", k->path, k->option);
		ck_assert_msg(k->option || !k->convert, "%s", k->path);
		if (k->type == DLIO_NONE)
			ck_assert_msg(!k->option && k->unused, "%s", k->path);
	}
}
END_TEST

START_TEST(a_time_has_a_stdev)
{
	for (const struct dlio_key *k = dlio_keys; k->path; k++) {
		char path[64];

		snprintf(path, sizeof(path), "%s_stdev", k->path);
		if (k->type == DLIO_TIME)
			ck_assert_int_eq(dlio_key_of(path)->type, DLIO_NUMBER);
	}
}
END_TEST

START_TEST(groups_are_known)
{
	static const char *const groups[] = {
		"model",  "model.parallelism", "dataset.hdf5",
		"reader", "data_reader",       "output.metric",
	};
	static const char *const others[] = { "", "mod", "model.name", "dataset.format", "zoo" };

	for (int i = 0; i < COUNT(groups); i++)
		ck_assert_msg(dlio_is_group(groups[i]), "%s", groups[i]);
	for (int i = 0; i < COUNT(others); i++)
		ck_assert_msg(!dlio_is_group(others[i]), "%s", others[i]);
}
END_TEST

#ifdef HAVE_YAML

/* ---- jobs ---- */

/* The job of a YAML, or its faults; appended. */
static size_t import(const char *yaml, struct buf *job, struct buf *faults)
{
	struct yaml_tree t = { 0 };
	struct mlgen_err err = { 0 };
	struct yaml_node *root = NULL;
	struct dlio_config c;
	size_t count;
	int rc = yaml_tree_parse(&t, "f.yaml", true, yaml, strlen(yaml), &root, &err);

	ck_assert_msg(rc == 0 && root, "%s: %s", yaml, err.text);
	dlio_config_read(&c, root);
	if (!c.fault_count)
		dlio_job(&c, "folder/f.yaml", job);
	buf_add(faults, buf_str(&c.faults));
	count = c.fault_count;
	dlio_config_fini(&c);
	yaml_tree_fini(&t);
	return count;
}

/* Is it a line of the job, or with "# " before it the beginning of one? */
static bool has_line(const char *job, const char *line)
{
	size_t len = strlen(line);
	const char *at = job;

	while ((at = strstr(at, line)) != NULL) {
		bool starts = at == job || at[-1] == '\n';

		if (starts && (at[len] == '\n' || *line == '#'))
			return true;
		at++;
	}
	return false;
}

static void expect(const char *yaml, const char *lines)
{
	struct buf job = { 0 }, faults = { 0 }, line = { 0 };

	import(yaml, &job, &faults);
	ck_assert_str_eq(buf_str(&faults), "");
	while (*lines) {
		size_t len = strcspn(lines, "|");

		buf_reset(&line);
		buf_addn(&line, lines, len);
		ck_assert_msg(has_line(buf_str(&job), buf_str(&line)), "%s: no '%s' in\n%s", yaml,
			      buf_str(&line), buf_str(&job));
		lines += len + (lines[len] == '|');
	}
	buf_fini(&job);
	buf_fini(&faults);
	buf_fini(&line);
}

#define PT "framework: pytorch\n"
#define TF "framework: tensorflow\n"
#define ONLY "workflow: {train: False, checkpoint: True}\n"
#define SAVES "workflow: {checkpoint: True}\n"

/* clang-format off */
static const struct {
	const char *yaml, *lines; /* of the job, with '|' between */
} jobs[] = {
	/* Names and directories. */
	{ "model: bert", "[bert]|directory=data|phase=train" },
	{ "model: {name: 'a b/c'}", "[a-b-c]" },
	{ "model: {name: global}", "[globalworkload]" },
	{ PT, "[f]|# f: imported by mlgen from DLIO's f.yaml." },
	{ "dataset: {data_folder: /x/y/}", "directory=/x/y" },
	{ "dataset: {data_folder: x}\nstorage: {storage_root: /r}", "directory=/r/x" },
	{ "dataset: {data_folder: /x}\nstorage: {storage_root: /r}", "directory=/x" },
	{ "dataset: {data_folder: 's3://b'}\nmodel: m", "directory=${MLGEN_DIR:-mlgen-data}/m|# The YAML says s3://b in ./ (local_fs). mlgen uses" },
	{ "dataset: {data_folder: b}\nstorage: {storage_type: adls_gen2, storage_root: r}", "directory=${MLGEN_DIR:-mlgen-data}/f|# The YAML says b in r (adls_gen2). mlgen uses" },
	{ "dataset: {data_folder: 'file:///x/y'}", "directory=/x/y" },
	{ "dataset: {data_folder: 'a #b'}\nmodel: m", "directory=${MLGEN_DIR:-mlgen-data}/m" },
	{ "dataset: {data_folder: 'a$b'}\nmodel: m", "directory=${MLGEN_DIR:-mlgen-data}/m" },
	{ "workload: {model: m}\nother: 1", "[m]|# other=1: not part of the workload" },

	/* Sizes of samples. */
	{ PT "dataset: {format: npz, record_length_bytes: 2048}", "sample_size=dlio:2048:0" },
	{ PT "dataset: {format: npz, record_length_bytes: 4096}", "sample_size=4096" },
	{ PT "dataset: {format: npz, record_length: 100.5, record_length_stdev: 3}", "sample_size=dlio:100.5:3" },
	{ PT "dataset: {format: jpeg, record_length_bytes: 2048}", "sample_size=2048" },
	{ PT "dataset: {format: png}", "format=png|access=framework" },
	{ PT "dataset: {format: hdf5, record_dims: [3, 5], record_element_type: float64}", "sample_size=120" },
	{ PT "dataset: {record_length: 1, record_length_bytes: 4}", "sample_size=4|# (older spelling)=1: the newer" },
	{ PT "dataset: {record_length_bytes: 4, record_length: 1}", "sample_size=4|# dataset.record_length=1: the newer" },

	{ PT "dataset: {record_length_byte_stdev: 3}", "sample_size=dlio:65536:3" },

	/* Formats and calls. */
	{ PT "dataset: {format: dali_npz}", "format=npz" },
	{ TF "dataset: {format: tf_tfrecord}", "format=tfrecord|access=framework" },
	{ PT "dataset: {format: dcm}", "format=raw|access=plain|# The YAML says dcm" },
	{ PT "dataset: {format: csv}", "format=csv|access=framework" },
	{ PT "dataset: {format: synthetic}", "format=raw|ioengine=null" },
	{ PT "dataset: {format: dlio_npz}", "format=npz|access=framework" },
	{ PT "dataset: {format: tfrecord}", "format=tfrecord|access=plain|loader=pytorch" },
	{ TF "dataset: {format: tfrecord}", "format=tfrecord|access=framework|loader=tfdata" },
	{ PT "dataset: {format: npz}\nreader: {odirect: True}", "access=framework|direct=1" },
	{ PT "dataset: {format: hdf5}\nreader: {odirect: True}", "access=plain|direct=1" },
	{ PT "dataset: {format: npz}\nreader: {odirect: True}\n" SAVES, "access=plain|direct=1" },
	{ "storage: {storage_type: direct_fs}", "direct=1" },

	/* Parquet. */
	{ PT "dataset: {format: parquet, num_samples_per_file: 10, record_length_bytes: 100}", "row_group_size=10|sample_size=100" },
	{ PT "dataset: {format: parquet, num_samples_per_file: 9999, parquet: {columns: [{name: a_1}, {name: a_2}, {name: b, dtype: int8, size: 3, read: false}]}}",
	  "row_group_size=909|columns=a_1..2:float32,b:int8[3]|read_columns=a_1..2|sample_size=11" },
	{ PT "dataset: {format: parquet, parquet: {columns: [{name: a09, read: false}, {name: a10}, {name: a11, size: 2}]}}",
	  "columns=a09..10:float32,a11:float32[2]|read_columns=a10..11" },

	{ PT "dataset: {format: parquet, num_samples_per_file: 1000000}", "row_group_size=1000|# 1024 does not divide the 1000000" },
	{ PT "dataset: {format: parquet, num_samples_per_file: 6, parquet: {row_group_size: 5}}", "row_group_size=3" },

	/* Loaders. */
	{ PT "reader: {data_loader: native_tensorflow}", "loader=tfdata" },
	{ PT "reader: {data_loader: terabyte}", "loader=pytorch|# The YAML says data_loader: terabyte" },
	{ PT "dataset: {batch_size: 8}", "batch_size=8" },
	{ PT "reader: {read_threads: 4, prefetch_size: 2}", "loader=pytorch|read_threads=4|prefetch=1" },
	{ PT "reader: {read_threads: 1, prefetch_size: 5}", "prefetch=5" },
	{ PT "reader: {read_threads: 3, prefetch_size: 0}", "prefetch=2" },
	{ PT "reader: {read_threads: 0}", "read_threads=0|prefetch=0" },
	{ TF "reader: {read_threads: 0, prefetch_size: 0, computation_threads: 0}", "loader=tfdata|read_threads=1|prefetch=1|decode_threads=1" },
	{ TF "reader: {computatation_threads: 7}", "decode_threads=7" },
	{ PT "data_reader: {batch_size: 9}", "batch_size=9" },
	{ "reader: {data_loader: dlio_pytorch}", "loader=pytorch" },
	{ PT "reader: {data_loader: dali}", "loader=pytorch|# The YAML says data_loader: dali" },
	{ PT "reader: {data_loader: synthetic}", "ioengine=null" },

	/* Shuffles. */
	{ PT "reader: {sample_shuffle: seed}", "shuffle=sample|shard=strided" },
	{ PT "reader: {file_shuffle: seed}", "shuffle=file|shard=strided" },
	{ PT "data_reader: {read_shuffle: seed, memory_shuffle: off}", "shuffle=file|shard=strided" },
	{ PT "reader: {file_shuffle: off, sample_shuffle: 'off'}", "shuffle=none|shard=contiguous" },
	{ PT, "shuffle=none|shard=contiguous|randseed=123" },
	{ TF "reader: {sample_shuffle: random}", "shuffle=buffer:1024|shard=file|# In DLIO, random has no seed" },
	{ TF "reader: {sample_shuffle: seed, shuffle_size: 2, file_shuffle: seed}", "shuffle=buffer:2|# The YAML also shuffles the list" },
	{ TF "reader: {file_shuffle: seed}", "shuffle=file" },
	{ TF "reader: {file_shuffle: off}", "shuffle=none|# The YAML says file_shuffle: off. DLIO treats" },
	{ PT "reader: {sample_shuffle: seed}\ntrain: {seed_change_epoch: False}", "# The YAML says seed_change_epoch: False" },

	/* Times. */
	{ "train: {computation_time: 1}", "compute_time=1s" },
	{ "train: {computation_time: 1.3604}", "compute_time=1360.4ms" },
	{ "train: {computation_time: 0.000375}", "compute_time=375us" },
	{ "train: {computation_time: 3.5e-3}", "compute_time=3.5ms" },
	{ "train: {computation_time: {}}", "compute_time=0" },
	{ "train: {computation_time: {mean: 2}}", "compute_time=2s" },
	{ "train: {computation_time: 2, computation_time_stdev: 1}", "compute_time=normal:2s:1s" },
	{ "train: {computation_time: {type: uniform, min: 3, max: 1}}", "compute_time=uniform:1s:3s" },
	{ "train: {computation_time: {type: uniform, min: 1, max: 3}, computation_time_stdev: 1}", "compute_time=uniform:1s:3s|# train.computation_time_stdev=1: used only with a normal" },
	{ "train: {computation_time: {type: gamma, shape: 2, scale: 1}}", "compute_time=gamma:2:1s" },
	{ "train: {computation_time: {type: poisson, lam: 4}}", "compute_time=normal:4s:2s" },

	/* Training. */
	{ "train: {epochs: 3, total_training_steps: 7}", "epochs=3|steps=7|# total_training_steps: DLIO ends each epoch" },
	{ "metric: {au: 0.85}", "target_au=85" },
	{ "dataset: {num_files_train: 2, num_subfolders_train: 5}", "subfolders=2" },
	{ "workflow: {evaluation: True}\ndataset: {num_files_eval: 3}\nevaluation: {eval_time: 1}", "eval_files=3|eval_time=1s|eval_every=1|eval_after=1" },
	{ "workflow: {do_eval: True}\ndataset: {num_files_eval: 3}\nevaluation: {epochs_between_evals: 0, eval_after_epoch: 0}", "eval_every=1|eval_after=1|# The YAML says do_eval. DLIO does not read" },
	{ "workflow: {evaluation: True}", "# The YAML evaluates, but has no files" },
	{ "dataset: {num_files_eval: 3}", "# dataset.num_files_eval=3: nothing is evaluated" },
	{ "workflow: {train: False, generate_data: True}", "phase=prepare|num_files=8" },

	/* Checkpoints of a training. */
	{ SAVES "model: {name: m}", "#   mlgen m.job --directory=/mnt/array/m --accelerators=8|#      --checkpoint_directory=/mnt/array/m-checkpoints" },
	{ SAVES "train: {epochs: 4}", "checkpoint_every=1 epochs|checkpoint_size=10240|checkpoint_ranks=zero|checkpoint_fsync=none" },
	{ SAVES "train: {epochs: 5}\ncheckpoint: {checkpoint_after_epoch: 5, epochs_between_checkpoints: 2}", "checkpoint_every=5 epochs" },
	{ SAVES "train: {epochs: 5}\ncheckpoint: {checkpoint_after_epoch: 1, epochs_between_checkpoints: 2}", "checkpoint_every=2 epochs|# The YAML saves after epoch 1, then every 2 epochs, 3 in all. This" },
	{ SAVES "train: {epochs: 5}\ncheckpoint: {checkpoint_after_epoch: 2, epochs_between_checkpoints: 4}", "checkpoint_every=3 epochs|# The YAML saves after epoch 2, then every 4 epochs, 1 in all. This" },
	{ SAVES "train: {epochs: 9}\ncheckpoint: {checkpoint_after_epoch: 3, epochs_between_checkpoints: 0}", "checkpoint_every=5 epochs" },
	{ SAVES "checkpoint: {checkpoint_after_epoch: 2}", "# The first checkpoint would be after epoch 2 of 1" },
	{ SAVES "checkpoint: {checkpoint_after_epoch: 0}", "# The first checkpoint would be after epoch 0 of 1" },
	{ SAVES "checkpoint: {checkpoint_folder: 'file:///nvme/x/'}\nstorage: {storage_type: s3dlio, storage_root: 's3://b/'}", "checkpoint_directory=/nvme/x|directory=${MLGEN_DIR:-mlgen-data}/f" },
	{ SAVES "checkpoint: {steps_between_checkpoints: 9, fsync: True, type: all_ranks}", "checkpoint_every=9 steps|checkpoint_fsync=file|checkpoint_ranks=all" },
	{ SAVES "model: {model_size: 77}", "checkpoint_size=77|# The YAML says model_size: 77. DLIO reads" },
	{ SAVES "checkpoint: {model_size: 78}", "checkpoint_size=78" },
	{ SAVES "model: {num_layers: 5, layer_parameters: [100, 60], optimization_groups: [7], model_size_bytes: 1000, parallelism: {tensor: 4, pipeline: 2}}",
	  /* 3 layers of 25 + 15, 3 x 7, 1000 */
	  "checkpoint_size=1141" },

	/* Checkpoints alone. */
	{ ONLY "checkpoint: {num_checkpoints_write: 3}", "[save]|phase=checkpoint|checkpoints=3|pause=0|checkpoint_keep=3|# Without time_between_checkpoints" },
	{ ONLY "checkpoint: {num_checkpoints_read: 3, num_checkpoints_write: 4, time_between_checkpoints: 2}", "[save]|checkpoints=4|[restore]|stonewall|checkpoints=3|pause=2s" },
	{ ONLY "checkpoint: {num_checkpoints_read: 3}", "[restore]|phase=restore" },
	{ ONLY, "[save]|checkpoints=1|# The YAML says neither num_checkpoints_write" },
	{ SAVES "checkpoint: {num_checkpoints_write: 3}", "[save]|# The YAML says train: True but has no dataset" },
	{ ONLY "model: {num_layers: 4, parallelism: {tensor: 2, pipeline: 2, data: 3, zero_stage: 1}, model_datatype: fp32, optimizer_datatype: bf16}",
	  "model_layers=4|ranks=12|tensor_parallel=2|pipeline_parallel=2|zero_stage=1|model_bytes=4|optimizer_bytes=2|checkpoint_layout=deepspeed" },
	{ ONLY "model: {num_layers: 80, parallelism: {tensor: 8, zero_stage: 3}, transformer: {hidden_size: 8192}}", "ranks=64" },
	{ ONLY "model: {num_layers: 6, parallelism: {tensor: 4}}", "ranks=4" },
	{ ONLY "model: {num_layers: 6, parallelism: {tensor: 4, data: 4}}\ncheckpoint: {mode: subset}", "ranks=16|checkpoint_ranks=0-7" },

	/* What is left. */
	{ "reader: {foo: 1}", "# reader.foo=1: not a key of DLIO" },
	{ "storage: {storage_options: {a: b}}", "# storage.storage_options=(not shown): " },
	{ "checkpoint: {ksm: {await_time: 200, list: [1, {b: c}], api_key: hush}}", "# checkpoint.ksm={await_time: 200, list: [1, {b: c}], api_key: (not shown)}: " },
	{ "api_token: hush", "# api_token=(not shown)" },
	{ "reader: {pin_memory: \"\\e[31m\"}", "# reader.pin_memory=?[31m: " },
};

static const struct {
	const char *yaml, *fault; /* how it begins */
} faults[] = {
	{ "train: {epochs: x}", "f.yaml:1:17: train.epochs: 'x' is not a whole number" },
	{ "train: {epochs: 1.5}", "f.yaml:1:17: train.epochs: '1.5' is not a whole number" },
	{ "train: {epochs: 010}", "f.yaml:1:17: train.epochs: '010' is not a whole number" },
	{ "train: {epochs: .inf}", "f.yaml:1:17: train.epochs: '.inf' is not a whole number" },
	{ "train: {epochs: 1e400}", "f.yaml:1:17: train.epochs: '1e400' is not a whole number" },
	{ "train: {epochs: 1e12}", "f.yaml:1:17: train.epochs: 1e12 is more than 1000000000" },
	{ "train: {epochs: -1}", "f.yaml:1:17: train.epochs: -1 is less than 1" },
	{ "workflow: {train: 'True'}", "f.yaml:1:19: workflow.train: 'True' in quotes is a string" },
	{ "dataset: {num_samples_per_file: 20000000000}", "f.yaml:1:33: dataset.num_samples_per_file: 20000000000 is more than 10000000000, the most that mlgen accepts; add ++workload.dataset.num_samples_per_file=VALUE" },
	{ "dataset: {format: parquet, num_samples_per_file: 1000003}", "f.yaml:1:50: dataset.num_samples_per_file: 1000003 rows do not divide into row groups of 1024" },
	{ "dataset: {format: jpeg, num_samples_per_file: 2}", "f.yaml:1:47: dataset.num_samples_per_file: a file is one image, so it cannot hold 2 samples" },
	{ ONLY "model: {type: transformer}", "f.yaml:2:15: model: each rank would save 0 bytes" },
	{ "train: {epochs: '5'}", "f.yaml:1:17: train.epochs: '5' in quotes is a string" },
	{ "train: {epochs: {a: 1}}", "f.yaml:1:17: train.epochs: this is a map, but a whole number" },
	{ "workflow: {train: 1}", "f.yaml:1:19: workflow.train: '1' is not True or False" },
	{ "workflow: {train: False}", "f.yaml:1:19: workflow.train: False, and neither" },
	{ "framework: keras", "f.yaml:1:12: framework: 'keras' is not one of: tensorflow" },
	{ "dataset: {format: [npz]}", "f.yaml:1:19: dataset.format: this is a list, but a string" },
	{ "dataset: {record_dims: 5}", "f.yaml:1:24: dataset.record_dims: '5' is not a list" },
	{ "dataset: {record_dims: [a]}", "f.yaml:1:25: dataset.record_dims: 'a' is not" },
	{ "dataset: {record_dims: [0]}", "f.yaml:1:25: dataset.record_dims: 0 is less than 1" },
	{ "dataset: {record_dims: [1000000, 1000000, 2]}", "f.yaml:1:24: dataset.record_dims: a sample of 2000000000000 bytes" },
	{ "dataset: {record_dims: [2], record_element_type: str}", "f.yaml:1:50: dataset.record_element_type: 'str'" },
	{ "dataset: 5", "f.yaml:1:10: dataset: '5' is not a map of keys" },
	{ "train: {computation_time: {stdev: 1}}", "f.yaml:1:27: train.computation_time: mean is missing" },
	{ "train: {computation_time: {type: zipf}}", "f.yaml:1:34: train.computation_time: 'zipf' is not one of" },
	{ "train: {computation_time: {type: uniform, min: 1}}", "f.yaml:1:27: train.computation_time: max is missing" },
	{ "train: {computation_time: {mean: x}}", "f.yaml:1:34: train.computation_time: 'x' is not" },
	{ "train: {computation_time: -1}", "f.yaml:1:27: train.computation_time: -1 is less than 0" },
	{ "dataset: {data_folder: '${a}/b'}", "f.yaml:1:24: dataset.data_folder: '${a}/b' is for Hydra to resolve; write the value, or add ++workload.dataset.data_folder=VALUE" },
	{ "train:\n  seed: ${seed}", "f.yaml:2:9: train.seed: '${seed}' is for Hydra to resolve" },
	{ "dataset: {format: parquet, parquet: {columns: [a]}}", "f.yaml:1:48: dataset.parquet.columns: 'a' is not a map" },
	{ "dataset: {format: parquet, parquet: {columns: [{dtype: str}]}}", "f.yaml:1:56: dataset.parquet.columns: dtype: " },
	{ "dataset: {format: parquet, parquet: {columns: [{name: a, read: false}]}}", "f.yaml:1:47: dataset.parquet.columns: read: no column" },
	{ "dataset: {format: parquet, parquet: {columns: [{name: a b}]}}", "f.yaml:1:55: dataset.parquet.columns: name: " },
	{ ONLY "model: {num_layers: 4, parallelism: {pipeline: 2, zero_stage: 3}}", "f.yaml:2:63: model.parallelism.zero_stage: 3 does not work with a pipeline" },
	{ ONLY "model: {model_size_bytes: 0}", "f.yaml:2:27: model: each rank would save 0 bytes" },
};
/* clang-format on */

START_TEST(a_workload_becomes_a_job)
{
	expect(jobs[_i].yaml, jobs[_i].lines);
}
END_TEST

START_TEST(a_wrong_value_has_its_place)
{
	struct buf job = { 0 }, got = { 0 };
	size_t count = import(faults[_i].yaml, &job, &got);

	ck_assert_uint_ge(count, 1);
	ck_assert_msg(strncmp(buf_str(&got), faults[_i].fault, strlen(faults[_i].fault)) == 0,
		      "%s: %s", faults[_i].yaml, buf_str(&got));
	buf_fini(&job);
	buf_fini(&got);
}
END_TEST

START_TEST(only_so_many_faults_are_told)
{
	struct buf yaml = { 0 }, job = { 0 }, got = { 0 };
	size_t lines = 0;

	buf_add(&yaml, "dataset: {record_dims: [");
	for (unsigned i = 0; i < 1000; i++)
		buf_add(&yaml, "x,");
	buf_add(&yaml, "]}");
	ck_assert_uint_eq(import(buf_str(&yaml), &job, &got), 1000);
	for (const char *s = buf_str(&got); *s; s++)
		lines += *s == '\n';
	ck_assert_uint_eq(lines, DLIO_FAULTS_MAX);
	buf_fini(&yaml);
	buf_fini(&job);
	buf_fini(&got);
}
END_TEST

/* ---- nothing is dropped in silence ---- */

/* A value that is no default of the key. */
static const char *some_value(const struct dlio_key *k)
{
	switch (k->type) {
	case DLIO_BOOL:
		return strcmp(k->def, "True") == 0 ? "False" : "True";
	case DLIO_WORD:
		return strstr(k->words, " ") + 1;
	case DLIO_WHOLES:
		return "[3]";
	case DLIO_MAPS:
		return "[{name: x}]";
	case DLIO_WHOLE:
		return k->max < 7 ? "2" : "7";
	case DLIO_NUMBER:
		return k->max <= 1 ? "0.5" : "7";
	case DLIO_TIME:
		return "0.125";
	case DLIO_NONE:
	case DLIO_TEXT:
		break;
	}
	return "int16";
}

/* "a.b.c" with its value, in YAML's short form. */
static void add_key(struct buf *yaml, const struct dlio_key *k)
{
	const char *path = k->path, *dot, *value;
	unsigned depth = 0;

	while ((dot = strchr(path, '.')) != NULL) {
		buf_addf(yaml, "%.*s: {", (int)(dot - path), path);
		path = dot + 1;
		depth++;
	}
	value = some_value(k);
	buf_addf(yaml, "%s: %.*s", path, (int)strcspn(value, " "), value);
	while (depth--)
		buf_addc(yaml, '}');
	buf_addc(yaml, '\n');
}

START_TEST(every_key_is_seen_in_the_job)
{
	const struct dlio_key *k = &dlio_keys[_i];
	struct buf yaml = { 0 }, job = { 0 }, without = { 0 }, told = { 0 };
	struct buf key = { 0 };

	if (k->type == DLIO_MAPS)
		buf_addf(&yaml, "%s", "dataset: {parquet: {columns: [{name: x}]}}\n");
	else
		add_key(&yaml, k);
	import("zzz: 1\n", &without, &told);
	/* One that leaves nothing to do is told, too. */
	if (import(buf_str(&yaml), &job, &told) == 0) {
		buf_addf(&key, "# %s=", k->path);
		ck_assert_msg(has_line(buf_str(&job), buf_str(&key)) ||
				      (k->type != DLIO_NONE &&
				       strcmp(buf_str(&job), buf_str(&without)) != 0),
			      "%s in\n%s", buf_str(&yaml), buf_str(&job));
	}
	buf_fini(&yaml);
	buf_fini(&job);
	buf_fini(&without);
	buf_fini(&told);
	buf_fini(&key);
}
END_TEST

static int key_count(void)
{
	int count = 0;

	while (dlio_keys[count].path)
		count++;
	return count;
}

static TCase *importing(void)
{
	TCase *t = tcase_create("importing");

	tcase_add_loop_test(t, a_workload_becomes_a_job, 0, COUNT(jobs));
	tcase_add_loop_test(t, a_wrong_value_has_its_place, 0, COUNT(faults));
	tcase_add_test(t, only_so_many_faults_are_told);
	tcase_add_loop_test(t, every_key_is_seen_in_the_job, 0, key_count());
	return t;
}

#endif

Suite *suite_dlio_import(void)
{
	Suite *s = suite_create("dlio_import");
	TCase *t = tcase_create("keys");

	tcase_add_test(t, every_key_is_found_by_every_spelling);
	tcase_add_test(t, a_key_becomes_an_option_of_mlgen);
	tcase_add_test(t, a_time_has_a_stdev);
	tcase_add_test(t, groups_are_known);
	suite_add_tcase(s, t);
#ifdef HAVE_YAML
	suite_add_tcase(s, importing());
#endif
	return s;
}
