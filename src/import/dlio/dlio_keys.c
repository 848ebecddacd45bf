/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_keys.c - the table of DLIO's keys, and the options that they become. */
#include "import/dlio/dlio_config.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/util.h"

/* ---- conversion of DLIO's values to mlgen's ---- */

static void as_whole(struct buf *out, const struct dlio_value *v)
{
	buf_addf(out, "%.0f", v->number);
}

static void as_from_one(struct buf *out, const struct dlio_value *v)
{
	buf_addf(out, "%.0f", fmax(v->number, 1));
}

static void as_percent(struct buf *out, const struct dlio_value *v)
{
	buf_addf(out, "%.6g", 100 * v->number);
}

static void as_width(struct buf *out, const struct dlio_value *v)
{
	unsigned bytes = dlio_has_word("fp16 bf16", v->text) ? 2
			 : strcmp(v->text, "fp32") == 0      ? 4
			 : strcmp(v->text, "fp64") == 0      ? 8
							     : 1;

	buf_addf(out, "%u", bytes);
}

static void as_fsync(struct buf *out, const struct dlio_value *v)
{
	buf_add(out, v->is_true ? "file" : "none");
}

/* ---- times ---- */

static void add_seconds(struct buf *out, double s)
{
	if (s == 0)
		buf_add(out, "0");
	else if (s >= 1 && s == floor(s))
		buf_addf(out, "%.0fs", s);
	else if (s >= 1e-3)
		buf_addf(out, "%.10gms", s * 1e3);
	else
		buf_addf(out, "%.10gus", s * 1e6);
}

static void add_pair(struct buf *out, const char *name, double a, double b)
{
	buf_addf(out, "%s:", name);
	add_seconds(out, a);
	buf_addc(out, ':');
	add_seconds(out, b);
}

static void as_pause(struct buf *out, const struct dlio_value *v)
{
	add_seconds(out, fmax(v->number, 0));
}

/* Append a time. A distribution without a width is written as its mean. */
static void as_time(struct buf *out, const struct dlio_value *v)
{
	enum dlio_kind kind = v->time.kind;
	double a = v->time.a, b = v->time.b;

	if (kind == DLIO_POISSON) {
		kind = DLIO_NORMAL;
		b = sqrt(a);
	}
	if (kind == DLIO_NORMAL && a > 0 && b > 0) {
		add_pair(out, "normal", a, b);
	} else if (kind == DLIO_UNIFORM && a != b) {
		add_pair(out, "uniform", fmin(a, b), fmax(a, b));
	} else if (kind == DLIO_GAMMA) {
		if (a > 0 && b > 0)
			buf_addf(out, "gamma:%.10g:", a);
		add_seconds(out, a > 0 ? b : 0);
	} else {
		if (kind == DLIO_EXPONENTIAL && a > 0)
			buf_add(out, "exponential:");
		add_seconds(out, a);
	}
}

/* ---- the table ---- */

/* Limits of mlgen's options. */
#define MOST_FILES 1e10
#define MOST_SAMPLES 1e10
#define MOST_BYTES 1099511627776.0 /* per sample */
#define MOST_STATE 1125899906842624.0
#define MOST_EPOCHS 1e9
#define MOST_STEPS 1e15
#define MOST_BATCH 16777216.0
#define MOST_RANKS 1e6
#define MOST_SECONDS 86400.0
#define MOST_SEED 9007199254740991.0

#define FORMATS                                                                                    \
	"tfrecord hdf5 hdf5_opt csv npz npy jpeg png indexed_binary "                              \
	"mmap_indexed_binary parquet bin dcm synthetic"
#define LOADERS                                                                                    \
	"tensorflow pytorch dali native_dali native_pytorch "                                      \
	"native_tensorflow terabyte daos_pytorch custom none synthetic"
#define OBJECTS "for object storage, which mlgen does not support"
#define BUFFER "mlgen writes files of any size from a buffer of 1 MiB"
#define DATATYPES "fp16 bf16 fp32 fp64 int8 uint8"

/* clang-format off */
/* Type, default and limits of the value. */
#define TEXT(d) .type = DLIO_TEXT, .def = d
#define WORD(d, w) .type = DLIO_WORD, .def = d, .words = w
#define BOOL(d) .type = DLIO_BOOL, .def = d
#define WHOLE(d, least, most) .type = DLIO_WHOLE, .def = d, .min = least, .max = most
#define NUMBER(d, least, most) .type = DLIO_NUMBER, .def = d, .min = least, .max = most
#define TIME .type = DLIO_TIME, .max = MOST_SECONDS
#define WHOLES(least, most) .type = DLIO_WHOLES, .min = least, .max = most
#define MAPS .type = DLIO_MAPS
/* The option: converted by as_HOW(), or with a value that depends on other keys. */
#define AS(name, how) .option = name, .convert = as_##how
#define OPTION(name) .option = name
#define QUIET .is_quiet = true
/* The reason why the key is not converted to an option. */
#define UNUSED(why) .unused = why
#define OTHERS_SAY(what) UNUSED("other keys say " what)
#define NO_EVALUATION UNUSED("nothing is evaluated")
#define ONE_TENSOR UNUSED("there are no layers, so the state is one tensor")
#define STEPS_COUNT UNUSED("steps_between_checkpoints has precedence")
#define UNTRAINED UNUSED("used only without a training")
#define PARQUET UNUSED("used only with format: parquet")

const struct dlio_key dlio_keys[] = {
	{ "framework", NULL, WORD("tensorflow", "tensorflow pytorch") },

	{ "model.name", "model", TEXT(NULL) },
	{ "model.type", NULL, TEXT(NULL) },
	{ "model.model_size_bytes", "checkpoint.model_size", WHOLE("10240", 0, MOST_STATE), OTHERS_SAY("what is saved") },
	{ "model.model_size", NULL, WHOLE(NULL, 0, MOST_STATE), OTHERS_SAY("what is saved") },
	{ "model.num_layers", "checkpoint.num_layers", WHOLE("-1", -1, 1e6), AS("model_layers", whole), ONE_TENSOR },
	{ "model.model_datatype", NULL, WORD("fp16", DATATYPES), AS("model_bytes", width), ONE_TENSOR },
	{ "model.optimizer_datatype", NULL, WORD("fp32", DATATYPES), AS("optimizer_bytes", width), ONE_TENSOR },
	{ "model.optimization_groups", "checkpoint.optimization_groups", WHOLES(0, MOST_STATE), ONE_TENSOR },
	{ "model.layer_parameters", "checkpoint.layer_parameters", WHOLES(0, MOST_STATE), ONE_TENSOR },
	{ "model.parallelism.tensor", "checkpoint.tensor_parallelism", WHOLE("1", 1, MOST_RANKS), AS("tensor_parallel", whole), ONE_TENSOR },
	{ "model.parallelism.pipeline", "checkpoint.pipeline_parallelism", WHOLE("1", 1, MOST_RANKS), AS("pipeline_parallel", whole), ONE_TENSOR },
	{ "model.parallelism.data", NULL, WHOLE("-1", -1, MOST_RANKS), QUIET, ONE_TENSOR },
	{ "model.parallelism.zero_stage", NULL, WHOLE("0", 0, 3), AS("zero_stage", whole), ONE_TENSOR },
	{ "model.transformer.vocab_size", NULL, WHOLE("32000", 1, 1e9), AS("model_vocabulary", whole), ONE_TENSOR },
	{ "model.transformer.hidden_size", NULL, WHOLE("2048", 1, 1e7), AS("model_hidden", whole), ONE_TENSOR },
	{ "model.transformer.ffn_hidden_size", NULL, WHOLE("8192", 1, 1e8), AS("model_ffn", whole), ONE_TENSOR },
	{ "model.transformer.num_attention_heads", NULL, WHOLE("32", 1, 1e6), AS("model_heads", whole), ONE_TENSOR },
	{ "model.transformer.num_kv_heads", NULL, WHOLE("8", 1, 1e6), AS("model_kv_heads", whole), ONE_TENSOR },

	{ "workflow.generate_data", NULL, BOOL("False") },
	{ "workflow.train", NULL, BOOL("True") },
	{ "workflow.evaluation", "workflow.do_eval", BOOL("False") },
	{ "workflow.checkpoint", NULL, BOOL("False") },
	{ "workflow.profiling", NULL, UNUSED("mlgen measures by itself; see --log and --json") },
	{ "workflow.debug", NULL, UNUSED("for DLIO's own messages") },

	{ "storage.storage_type", "reader.storage_type", WORD("local_fs", DLIO_LOCAL " " DLIO_FOREIGN), UNUSED("mlgen uses a directory of any file system") },
	{ "storage.storage_root", "reader.storage_root", TEXT("./") },
	{ "storage.storage_options", "reader.storage_options", UNUSED(OBJECTS) },
	{ "storage.storage_library", "reader.storage_library", UNUSED(OBJECTS) },
	{ "storage.fsspec_plugin", NULL, UNUSED(OBJECTS) },
	{ "storage.fsspec_extra_params", NULL, UNUSED(OBJECTS) },
	{ "storage.post_generation_settle_seconds", NULL, UNUSED("a file system shows at once what was written") },

	{ "dataset.record_length_bytes", "dataset.record_length", NUMBER("65536", 1, MOST_BYTES), OTHERS_SAY("how large a sample is") },
	{ "dataset.record_length_bytes_stdev", "dataset.record_length_stdev dataset.record_length_byte_stdev", NUMBER("0", 0, MOST_BYTES), QUIET, OTHERS_SAY("how large a sample is") },
	{ "dataset.record_length_bytes_resize", "dataset.record_length_resize", UNUSED("the size of a decoded sample in memory; mlgen decodes nothing") },
	{ "dataset.format", NULL, WORD("tfrecord", FORMATS), OPTION("format") },
	{ "dataset.num_files_train", NULL, WHOLE("8", 1, MOST_FILES), AS("num_files", whole) },
	{ "dataset.num_files_eval", NULL, WHOLE("0", 0, MOST_FILES), AS("eval_files", whole), NO_EVALUATION },
	{ "dataset.num_samples_per_file", NULL, WHOLE("1", 1, MOST_SAMPLES), AS("samples_per_file", whole) },
	{ "dataset.eval_num_samples_per_file", NULL, UNUSED("evaluation files have as many samples as training files") },
	{ "dataset.data_folder", NULL, TEXT("./data/") },
	{ "dataset.num_subfolders_train", NULL, WHOLE("0", 0, 1e6), OPTION("subfolders"), QUIET },
	{ "dataset.num_subfolders_eval", NULL, UNUSED("evaluation files are placed in folders as training files are") },
	{ "dataset.file_prefix", NULL, UNUSED("mlgen chooses the names of its files") },
	{ "dataset.keep_files", NULL, UNUSED("mlgen keeps a dataset; --replace makes it anew") },
	{ "dataset.compression", NULL, UNUSED("mlgen writes data that cannot be compressed") },
	{ "dataset.compression_level", NULL, UNUSED("nothing is compressed") },
	{ "dataset.enable_chunking", NULL, UNUSED("an HDF5 file has one contiguous dataset here") },
	{ "dataset.chunk_size", NULL, UNUSED("an HDF5 file has one contiguous dataset here") },
	{ "dataset.hdf5.chunk_dims", "dataset.chunk_dims", UNUSED("an HDF5 file has one contiguous dataset here") },
	{ "dataset.hdf5.num_dset_per_record", "dataset.num_dset_per_record", UNUSED("an HDF5 file has one contiguous dataset here") },
	{ "dataset.hdf5.max_shape", "dataset.max_shape", UNUSED("an HDF5 file has one contiguous dataset here") },
	{ "dataset.record_dims", NULL, WHOLES(1, MOST_BYTES), OTHERS_SAY("how large a sample is") },
	{ "dataset.record_element_type", NULL, TEXT("uint8"), OTHERS_SAY("how large a sample is") },
	{ "dataset.record_element_bytes", NULL, UNUSED("follows from record_element_type") },
	{ "dataset.data_gen_method", NULL, UNUSED("for the library that makes DLIO's data") },
	{ "dataset.skip_listing", NULL, UNUSED("mlgen's manifest names the files, so mlgen lists no folder") },
	{ "dataset.listing_validation_interval", NULL, UNUSED("mlgen's manifest names the files, so mlgen lists no folder") },
	{ "dataset.synthetic_file_list", NULL, UNUSED("mlgen's manifest names the files, so mlgen lists no folder") },
	{ "dataset.num_files_train_on_disk", NULL, UNUSED("mlgen can use a part of a larger dataset: num_files files") },
	{ "dataset.num_files_eval_on_disk", NULL, UNUSED("mlgen can use a part of a larger dataset: eval_files files") },
	{ "dataset.daos_pool", NULL, UNUSED(OBJECTS) },
	{ "dataset.daos_cont", NULL, UNUSED(OBJECTS) },
	{ "dataset.generation_buffer_size", NULL, UNUSED(BUFFER) },
	{ "dataset.parquet.columns", NULL, MAPS, PARQUET },
	{ "dataset.parquet.row_group_size", NULL, WHOLE("1024", 1, MOST_SAMPLES), OPTION("row_group_size"), PARQUET },
	{ "dataset.parquet.partition_by", NULL, UNUSED("files are in one folder, or in num_subfolders_train folders") },
	{ "dataset.parquet.generation_batch_size", NULL, UNUSED(BUFFER) },
	{ "dataset.parquet.use_s3dlio_gen", NULL, UNUSED("for the library that makes DLIO's data") },
	{ "dataset.arrow", NULL, UNUSED("mlgen does not support Arrow files") },
	{ "dataset.parquet.read_mode", NULL, UNUSED("mlgen reads one row group at a time") },

	{ "reader.data_loader", NULL, WORD("tensorflow", LOADERS) },
	{ "reader.batch_size", "dataset.batch_size", WHOLE("1", 1, MOST_BATCH), AS("batch_size", whole) },
	{ "reader.batch_size_eval", "dataset.batch_size_eval", WHOLE("1", 1, MOST_BATCH), AS("eval_batch_size", whole), NO_EVALUATION },
	{ "reader.read_threads", NULL, WHOLE("1", 0, 1024), AS("read_threads", from_one) },
	{ "reader.computation_threads", "reader.computatation_threads", WHOLE("1", 0, 1024), AS("decode_threads", from_one), UNUSED("only TensorFlow has them") },
	{ "reader.prefetch_size", NULL, WHOLE("2", 0, 1024), AS("prefetch", from_one) },
	{ "reader.prefetch", NULL, UNUSED("see prefetch_size") },
	{ "reader.write_threads", NULL, UNUSED("for DLIO's way of making files") },
	{ "reader.protocol", NULL, UNUSED(OBJECTS) },
	{ "reader.sample_shuffle", "reader.memory_shuffle", WORD("off", "off seed random"), OPTION("shuffle") },
	{ "reader.file_shuffle", "reader.read_shuffle", WORD("off", "off seed random") },
	{ "reader.shuffle_size", NULL, WHOLE("1024", 0, 1e9), UNUSED("no buffer of samples is shuffled") },
	{ "reader.transfer_size", NULL, WHOLE(NULL, 1, MOST_BYTES), UNUSED("only TensorFlow has it") },
	{ "reader.preprocess_time", NULL, TIME, AS("preprocess_time", time) },
	{ "reader.preprocess_time_stdev", NULL, NUMBER(NULL, 0, MOST_SECONDS) },
	{ "reader.odirect", NULL, BOOL("False"), OPTION("direct") },
	{ "reader.read_type", NULL, UNUSED("samples are read when they are needed; DLIO caches in memory for any text here, even on_demand") },
	{ "reader.file_access", "dataset.file_access", UNUSED("every thread opens its own files, as with multi") },
	{ "reader.pin_memory", NULL, UNUSED("there is no accelerator to copy to") },
	{ "reader.dont_use_mmap", NULL, UNUSED("for DLIO's readers; ioengine=mmap maps files") },
	{ "reader.multiprocessing_context", NULL, UNUSED("mlgen uses threads, not processes") },
	{ "reader.data_loader_sampler", NULL, UNUSED("loader and shard take its place") },
	{ "reader.data_loader_classname", NULL, UNUSED("a Python class") },
	{ "reader.reader_classname", NULL, UNUSED("a Python class") },
	{ "reader.transformed_record_dims", NULL, UNUSED("for decoded samples in memory; mlgen decodes nothing") },
	{ "reader.transformed_record_element_type", NULL, UNUSED("for decoded samples in memory; mlgen decodes nothing") },

	{ "train.epochs", NULL, WHOLE("1", 1, MOST_EPOCHS), AS("epochs", whole) },
	{ "train.computation_time", NULL, TIME, AS("compute_time", time) },
	{ "train.computation_time_stdev", NULL, NUMBER(NULL, 0, MOST_SECONDS), UNUSED("used only with a normal distribution") },
	{ "train.total_training_steps", NULL, WHOLE("-1", -1, MOST_STEPS), AS("steps", whole), QUIET },
	{ "train.seed", NULL, WHOLE("123", 0, MOST_SEED), AS("randseed", whole) },
	{ "train.seed_change_epoch", NULL, BOOL("True"), QUIET, UNUSED("nothing is shuffled") },
	{ "train.compute", NULL, UNUSED("mlgen simulates accelerators by their times") },
	{ "train.communication", NULL, UNUSED("for accelerators among each other; barrier=step simulates the wait") },
	{ "train.total_eval_steps", NULL, UNUSED("an evaluation reads all its files") },

	{ "evaluation.eval_time", NULL, TIME, AS("eval_time", time), NO_EVALUATION },
	{ "evaluation.eval_time_stdev", NULL, NUMBER(NULL, 0, MOST_SECONDS), NO_EVALUATION },
	{ "evaluation.eval_after_epoch", NULL, WHOLE("1", 0, MOST_EPOCHS), AS("eval_after", from_one), NO_EVALUATION },
	{ "evaluation.epochs_between_evals", NULL, WHOLE("1", 0, MOST_EPOCHS), AS("eval_every", from_one), NO_EVALUATION },
	{ "evaluation.steps_between_evals", NULL, UNUSED("evaluations run between epochs") },

	{ "checkpoint.checkpoint_folder", NULL, TEXT("./checkpoints/"), UNTRAINED },
	{ "checkpoint.checkpoint_after_epoch", NULL, WHOLE("1", 0, MOST_EPOCHS), STEPS_COUNT },
	{ "checkpoint.epochs_between_checkpoints", NULL, WHOLE("1", 0, MOST_EPOCHS), OPTION("checkpoint_every"), STEPS_COUNT },
	{ "checkpoint.steps_between_checkpoints", NULL, WHOLE("-1", -1, MOST_STEPS), OPTION("checkpoint_every"), QUIET, UNTRAINED },
	{ "checkpoint.type", NULL, WORD("rank_zero", "rank_zero all_ranks"), OPTION("checkpoint_ranks"), UNUSED("the parallelism says which ranks save") },
	{ "checkpoint.mode", NULL, WORD("default", "default subset"), OPTION("checkpoint_ranks"), QUIET, UNTRAINED },
	{ "checkpoint.fsync", NULL, BOOL("False"), AS("checkpoint_fsync", fsync) },
	{ "checkpoint.recovery_rank_shift", "checkpoint.load_rank_shift", BOOL("False"), QUIET, UNTRAINED },
	{ "checkpoint.time_between_checkpoints", NULL, NUMBER("-1", -1, MOST_SECONDS), AS("pause", pause), UNTRAINED },
	{ "checkpoint.num_checkpoints_write", "checkpoint.num_checkpoints", WHOLE("-1", -1, 1e6), OPTION("checkpoints"), UNTRAINED },
	{ "checkpoint.num_checkpoints_read", NULL, WHOLE("-1", -1, 1e6), AS("checkpoints", whole), QUIET, UNTRAINED },
	{ "checkpoint.recovery_after_steps", NULL, UNUSED("a restore needs its own section (phase=restore)") },
	{ "checkpoint.rank_sync", NULL, UNUSED("a checkpoint ends here when its slowest rank has ended") },
	{ "checkpoint.randomize_tensor", NULL, UNUSED("what is written cannot be compressed or deduplicated") },
	{ "checkpoint.ksm", NULL, UNUSED("mlgen keeps no state in memory, so it has no pages to share") },
	{ "checkpoint.hash_consing", NULL, UNUSED("every checkpoint is written whole") },
	{ "checkpoint.hash_consing_chunk_size", NULL, UNUSED("every checkpoint is written whole") },
	{ "checkpoint.checkpoint_daos_pool", NULL, UNUSED(OBJECTS) },
	{ "checkpoint.checkpoint_daos_cont", NULL, UNUSED(OBJECTS) },
	{ "checkpoint.checkpoint_daos_chunk_size", NULL, UNUSED(OBJECTS) },
	{ "checkpoint.checkpoint_daos_chunks_limit", NULL, UNUSED(OBJECTS) },
	{ "checkpoint.checkpoint_mechanism", NULL, UNUSED("checkpoint_layout says how files are written") },
	{ "checkpoint.checkpoint_mechanism_classname", NULL, UNUSED("a Python class") },

	{ "metric.au", NULL, NUMBER(NULL, 0.01, 1), AS("target_au", percent) },
	{ "output.folder", "logdir", UNUSED("--output=FILE, --json=FILE") },
	{ "output.log_file", NULL, UNUSED("--output=FILE, --json=FILE") },
	{ "output.metric.exclude_start_steps", "metric.exclude_start_steps", UNUSED("the first step of an epoch is left out; ramp_time leaves out more") },
	{ "output.metric.exclude_end_steps", "metric.exclude_end_steps", UNUSED("the last step is included") },
	{ "profiling.profiler", NULL, UNUSED("the report has the devices' own counters") },
	{ "profiling.darshan_preload", NULL, UNUSED("for a profiler") },
	{ "profiling.iostat_devices", "profiling.devices reporting.devices", UNUSED("mlgen finds the devices below the directory by itself") },

	{ "defaults", NULL, UNUSED("Hydra's list of other files") },
	{ "hydra", NULL, UNUSED("for Hydra itself") },
	{ 0 },
};
/* clang-format on */

_Static_assert(ARRAY_LEN(dlio_keys) <= DLIO_ROWS_MAX, "a value for each row");

/* ---- searching ---- */

bool dlio_has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	while (words && *words) {
		size_t n = strcspn(words, " ");

		if (n == len && memcmp(words, word, n) == 0)
			return true;
		words += n + (words[n] == ' ');
	}
	return false;
}

/* Replace the older name of the group "reader", data_reader, in the path. */
static const char *newer(const char *path)
{
	const char *const older = "data_reader";

	return strncmp(path, older, strlen(older)) == 0 ? path + strlen("data_") : path;
}

const struct dlio_key *dlio_key_find(const char *path)
{
	path = newer(path);
	for (const struct dlio_key *k = dlio_keys; k->path; k++)
		if (strcmp(k->path, path) == 0 || dlio_has_word(k->older, path))
			return k;
	return NULL;
}

const struct dlio_key *dlio_key_of(const char *path)
{
	const struct dlio_key *k = dlio_keys;

	while (k->path && strcmp(k->path, path) != 0)
		k++;
	assert(k->path && k->type != DLIO_NONE);
	return k;
}

static bool dlio_keys_begins(const char *words, const char *path, size_t len)
{
	for (; words && *words; words += strcspn(words, " ")) {
		words += *words == ' ';
		if (strncmp(words, path, len) == 0 && words[len] == '.')
			return true;
	}
	return false;
}

bool dlio_is_group(const char *path)
{
	size_t len;

	path = newer(path);
	len = strlen(path);
	for (const struct dlio_key *k = dlio_keys; k->path; k++)
		if (dlio_keys_begins(k->path, path, len) || dlio_keys_begins(k->older, path, len))
			return true;
	return false;
}
