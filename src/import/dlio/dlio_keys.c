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
#define OBJECTS "of object storage, which mlgen does not speak to"
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
/* The reason why the key becomes no option. */
#define UNUSED(why) .unused = why
#define OTHERS_SAY(what) UNUSED("other keys say " what)
#define NO_EVALUATION UNUSED("nothing is evaluated")
#define ONE_TENSOR UNUSED("no layers, so that the state is one tensor")
#define STEPS_COUNT UNUSED("steps_between_checkpoints counts")
#define UNTRAINED UNUSED("counts where nothing is trained")
#define PARQUET UNUSED("counts with format: parquet only")

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
	{ "workflow.profiling", NULL, UNUSED("mlgen measures by itself; --log and --json have what it saw") },
	{ "workflow.debug", NULL, UNUSED("of DLIO's own messages") },

	{ "storage.storage_type", "reader.storage_type", WORD("local_fs", DLIO_LOCAL " " DLIO_FOREIGN), UNUSED("a directory, whatever it lies on") },
	{ "storage.storage_root", "reader.storage_root", TEXT("./") },
	{ "storage.storage_options", "reader.storage_options", UNUSED(OBJECTS) },
	{ "storage.storage_library", "reader.storage_library", UNUSED(OBJECTS) },
	{ "storage.fsspec_plugin", NULL, UNUSED(OBJECTS) },
	{ "storage.fsspec_extra_params", NULL, UNUSED(OBJECTS) },
	{ "storage.post_generation_settle_seconds", NULL, UNUSED("a file system has what was written at once") },

	{ "dataset.record_length_bytes", "dataset.record_length", NUMBER("65536", 1, MOST_BYTES), OTHERS_SAY("how large a sample is") },
	{ "dataset.record_length_bytes_stdev", "dataset.record_length_stdev dataset.record_length_byte_stdev", NUMBER("0", 0, MOST_BYTES), QUIET, OTHERS_SAY("how large a sample is") },
	{ "dataset.record_length_bytes_resize", "dataset.record_length_resize", UNUSED("the size of a decoded sample in memory; mlgen decodes nothing") },
	{ "dataset.format", NULL, WORD("tfrecord", FORMATS), OPTION("format") },
	{ "dataset.num_files_train", NULL, WHOLE("8", 1, MOST_FILES), AS("num_files", whole) },
	{ "dataset.num_files_eval", NULL, WHOLE("0", 0, MOST_FILES), AS("eval_files", whole), NO_EVALUATION },
	{ "dataset.num_samples_per_file", NULL, WHOLE("1", 1, MOST_SAMPLES), AS("samples_per_file", whole) },
	{ "dataset.eval_num_samples_per_file", NULL, UNUSED("files that evaluate have as many samples as the others") },
	{ "dataset.data_folder", NULL, TEXT("./data/") },
	{ "dataset.num_subfolders_train", NULL, WHOLE("0", 0, 1e6), OPTION("subfolders"), QUIET },
	{ "dataset.num_subfolders_eval", NULL, UNUSED("files that evaluate lie as the others do") },
	{ "dataset.file_prefix", NULL, UNUSED("mlgen's files have names of its own") },
	{ "dataset.keep_files", NULL, UNUSED("mlgen keeps a dataset; --replace makes it anew") },
	{ "dataset.compression", NULL, UNUSED("what mlgen writes cannot be compressed, and is not") },
	{ "dataset.compression_level", NULL, UNUSED("nothing is compressed") },
	{ "dataset.enable_chunking", NULL, UNUSED("an HDF5 file has one contiguous dataset here") },
	{ "dataset.chunk_size", NULL, UNUSED("an HDF5 file has one contiguous dataset here") },
	{ "dataset.hdf5.chunk_dims", "dataset.chunk_dims", UNUSED("an HDF5 file has one contiguous dataset here") },
	{ "dataset.hdf5.num_dset_per_record", "dataset.num_dset_per_record", UNUSED("an HDF5 file has one contiguous dataset here") },
	{ "dataset.hdf5.max_shape", "dataset.max_shape", UNUSED("an HDF5 file has one contiguous dataset here") },
	{ "dataset.record_dims", NULL, WHOLES(1, MOST_BYTES), OTHERS_SAY("how large a sample is") },
	{ "dataset.record_element_type", NULL, TEXT("uint8"), OTHERS_SAY("how large a sample is") },
	{ "dataset.record_element_bytes", NULL, UNUSED("follows from record_element_type") },
	{ "dataset.data_gen_method", NULL, UNUSED("of the library that makes DLIO's data") },
	{ "dataset.skip_listing", NULL, UNUSED("mlgen's manifest says which files there are; none are listed") },
	{ "dataset.listing_validation_interval", NULL, UNUSED("mlgen's manifest says which files there are; none are listed") },
	{ "dataset.synthetic_file_list", NULL, UNUSED("mlgen's manifest says which files there are; none are listed") },
	{ "dataset.num_files_train_on_disk", NULL, UNUSED("a larger dataset is used in part as it is: num_files says how many") },
	{ "dataset.num_files_eval_on_disk", NULL, UNUSED("a larger dataset is used in part as it is: eval_files says how many") },
	{ "dataset.daos_pool", NULL, UNUSED(OBJECTS) },
	{ "dataset.daos_cont", NULL, UNUSED(OBJECTS) },
	{ "dataset.generation_buffer_size", NULL, UNUSED(BUFFER) },
	{ "dataset.parquet.columns", NULL, MAPS, PARQUET },
	{ "dataset.parquet.row_group_size", NULL, WHOLE("1024", 1, MOST_SAMPLES), OPTION("row_group_size"), PARQUET },
	{ "dataset.parquet.partition_by", NULL, UNUSED("files lie in one folder, or in num_subfolders_train") },
	{ "dataset.parquet.generation_batch_size", NULL, UNUSED(BUFFER) },
	{ "dataset.parquet.use_s3dlio_gen", NULL, UNUSED("of the library that makes DLIO's data") },
	{ "dataset.arrow", NULL, UNUSED("Arrow files are not known here") },
	{ "dataset.parquet.read_mode", NULL, UNUSED("a row group is what is read at a time here") },

	{ "reader.data_loader", NULL, WORD("tensorflow", LOADERS) },
	{ "reader.batch_size", "dataset.batch_size", WHOLE("1", 1, MOST_BATCH), AS("batch_size", whole) },
	{ "reader.batch_size_eval", "dataset.batch_size_eval", WHOLE("1", 1, MOST_BATCH), AS("eval_batch_size", whole), NO_EVALUATION },
	{ "reader.read_threads", NULL, WHOLE("1", 0, 1024), AS("read_threads", from_one) },
	{ "reader.computation_threads", "reader.computatation_threads", WHOLE("1", 0, 1024), AS("decode_threads", from_one), UNUSED("TensorFlow has them") },
	{ "reader.prefetch_size", NULL, WHOLE("2", 0, 1024), AS("prefetch", from_one) },
	{ "reader.prefetch", NULL, UNUSED("prefetch_size says it") },
	{ "reader.write_threads", NULL, UNUSED("of how DLIO makes its files") },
	{ "reader.protocol", NULL, UNUSED(OBJECTS) },
	{ "reader.sample_shuffle", "reader.memory_shuffle", WORD("off", "off seed random"), OPTION("shuffle") },
	{ "reader.file_shuffle", "reader.read_shuffle", WORD("off", "off seed random") },
	{ "reader.shuffle_size", NULL, WHOLE("1024", 0, 1e9), UNUSED("no buffer of samples is shuffled") },
	{ "reader.transfer_size", NULL, WHOLE(NULL, 1, MOST_BYTES), UNUSED("TensorFlow has it") },
	{ "reader.preprocess_time", NULL, TIME, AS("preprocess_time", time) },
	{ "reader.preprocess_time_stdev", NULL, NUMBER(NULL, 0, MOST_SECONDS) },
	{ "reader.odirect", NULL, BOOL("False"), OPTION("direct") },
	{ "reader.read_type", NULL, UNUSED("samples are read when they are due; DLIO takes any text here for its cache in memory, even on_demand") },
	{ "reader.file_access", "dataset.file_access", UNUSED("every thread opens files of its own, as with multi") },
	{ "reader.pin_memory", NULL, UNUSED("there is no accelerator to copy to") },
	{ "reader.dont_use_mmap", NULL, UNUSED("of DLIO's readers; ioengine=mmap maps files") },
	{ "reader.multiprocessing_context", NULL, UNUSED("loaders are threads here") },
	{ "reader.data_loader_sampler", NULL, UNUSED("loader and shard stand for it") },
	{ "reader.data_loader_classname", NULL, UNUSED("a class of Python's") },
	{ "reader.reader_classname", NULL, UNUSED("a class of Python's") },
	{ "reader.transformed_record_dims", NULL, UNUSED("of decoded samples in memory; mlgen decodes nothing") },
	{ "reader.transformed_record_element_type", NULL, UNUSED("of decoded samples in memory; mlgen decodes nothing") },

	{ "train.epochs", NULL, WHOLE("1", 1, MOST_EPOCHS), AS("epochs", whole) },
	{ "train.computation_time", NULL, TIME, AS("compute_time", time) },
	{ "train.computation_time_stdev", NULL, NUMBER(NULL, 0, MOST_SECONDS), UNUSED("counts with a normal distribution") },
	{ "train.total_training_steps", NULL, WHOLE("-1", -1, MOST_STEPS), AS("steps", whole), QUIET },
	{ "train.seed", NULL, WHOLE("123", 0, MOST_SEED), AS("randseed", whole) },
	{ "train.seed_change_epoch", NULL, BOOL("True"), QUIET, UNUSED("nothing is shuffled") },
	{ "train.compute", NULL, UNUSED("an accelerator is a time here") },
	{ "train.communication", NULL, UNUSED("of accelerators with each other; barrier=step is the wait") },
	{ "train.total_eval_steps", NULL, UNUSED("an evaluation reads all files that it has") },

	{ "evaluation.eval_time", NULL, TIME, AS("eval_time", time), NO_EVALUATION },
	{ "evaluation.eval_time_stdev", NULL, NUMBER(NULL, 0, MOST_SECONDS), NO_EVALUATION },
	{ "evaluation.eval_after_epoch", NULL, WHOLE("1", 0, MOST_EPOCHS), AS("eval_after", from_one), NO_EVALUATION },
	{ "evaluation.epochs_between_evals", NULL, WHOLE("1", 0, MOST_EPOCHS), AS("eval_every", from_one), NO_EVALUATION },
	{ "evaluation.steps_between_evals", NULL, UNUSED("evaluations stand between epochs") },

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
	{ "checkpoint.recovery_after_steps", NULL, UNUSED("a restore is a section of its own (phase=restore)") },
	{ "checkpoint.rank_sync", NULL, UNUSED("a checkpoint ends here when its slowest rank has ended") },
	{ "checkpoint.randomize_tensor", NULL, UNUSED("what is written cannot be compressed or deduplicated") },
	{ "checkpoint.ksm", NULL, UNUSED("no state is held in memory that pages could be shared of") },
	{ "checkpoint.hash_consing", NULL, UNUSED("every checkpoint is written whole") },
	{ "checkpoint.hash_consing_chunk_size", NULL, UNUSED("every checkpoint is written whole") },
	{ "checkpoint.checkpoint_daos_pool", NULL, UNUSED(OBJECTS) },
	{ "checkpoint.checkpoint_daos_cont", NULL, UNUSED(OBJECTS) },
	{ "checkpoint.checkpoint_daos_chunk_size", NULL, UNUSED(OBJECTS) },
	{ "checkpoint.checkpoint_daos_chunks_limit", NULL, UNUSED(OBJECTS) },
	{ "checkpoint.checkpoint_mechanism", NULL, UNUSED("checkpoint_layout says how files are written") },
	{ "checkpoint.checkpoint_mechanism_classname", NULL, UNUSED("a class of Python's") },

	{ "metric.au", NULL, NUMBER(NULL, 0.01, 1), AS("target_au", percent) },
	{ "output.folder", "logdir", UNUSED("--output=FILE, --json=FILE") },
	{ "output.log_file", NULL, UNUSED("--output=FILE, --json=FILE") },
	{ "output.metric.exclude_start_steps", "metric.exclude_start_steps", UNUSED("the first step of an epoch is left out; ramp_time leaves out more") },
	{ "output.metric.exclude_end_steps", "metric.exclude_end_steps", UNUSED("the last step counts") },
	{ "profiling.profiler", NULL, UNUSED("the report has the devices' own counters") },
	{ "profiling.darshan_preload", NULL, UNUSED("of a profiler") },
	{ "profiling.iostat_devices", "profiling.devices reporting.devices", UNUSED("mlgen finds the devices below the directory by itself") },

	{ "defaults", NULL, UNUSED("Hydra's list of other files") },
	{ "hydra", NULL, UNUSED("of Hydra itself") },
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

/* The path with the older name of the group reader, data_reader, replaced. */
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
