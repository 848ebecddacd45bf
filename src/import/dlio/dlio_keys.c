/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_keys.c - every key of DLIO's configuration, and what becomes of it. */
#include "import/dlio/dlio_keys.h"

#include <string.h>

/* What mlgen's options take, where it is less than a number holds. */
#define MOST_FILES 1e10
#define MOST_SAMPLES 1e10
#define MOST_BYTES 1099511627776.0 /* of a sample */
#define MOST_STATE 1125899906842624.0
#define MOST_EPOCHS 1e9
#define MOST_STEPS 1e15
#define MOST_BATCH 16777216.0
#define MOST_RANKS 1e6
#define MOST_SECONDS 86400.0
#define MOST_SEED 9007199254740991.0

#define FORMATS                                                                \
	"tfrecord hdf5 hdf5_opt csv npz npy jpeg png indexed_binary "          \
	"mmap_indexed_binary parquet bin dcm synthetic"
#define LOADERS                                                                \
	"tensorflow pytorch dali native_dali native_pytorch "                  \
	"native_tensorflow terabyte daos_pytorch custom none synthetic"
#define OBJECTS "of object storage, which mlgen does not speak to"
#define BUFFER "mlgen writes files of any size from a buffer of 1 MiB"
#define DATATYPES "fp16 bf16 fp32 fp64 int8 uint8"

/* clang-format off */
#define TEXT(id, def) DLIO_##id, DLIO_TEXT, def, 0, 0, NULL, NULL
#define WORD(id, def, words) DLIO_##id, DLIO_WORD, def, 0, 0, words, NULL
#define BOOL(id, def) DLIO_##id, DLIO_BOOL, def, 0, 0, NULL, NULL
#define WHOLE(id, def, min, max) DLIO_##id, DLIO_WHOLE, def, min, max, NULL, NULL
#define NUMBER(id, def, min, max) DLIO_##id, DLIO_NUMBER, def, min, max, NULL, NULL
#define TIME(id) DLIO_##id, DLIO_TIME, NULL, 0, MOST_SECONDS, NULL, NULL
#define WHOLES(id, min, max) DLIO_##id, DLIO_WHOLES, NULL, min, max, NULL, NULL
#define MAPS(id) DLIO_##id, DLIO_MAPS, NULL, 0, 0, NULL, NULL
#define NOTHING(why) DLIO_USED, DLIO_ANY, NULL, 0, 0, NULL, why

const struct dlio_key dlio_keys[] = {
	{ "framework", NULL, WORD(FRAMEWORK, "tensorflow", "tensorflow pytorch") },

	{ "model.name", "model", TEXT(MODEL_NAME, NULL) },
	{ "model.type", NULL, TEXT(MODEL_TYPE, NULL) },
	{ "model.model_size_bytes", "checkpoint.model_size", WHOLE(MODEL_BYTES, "10240", 0, MOST_STATE) },
	{ "model.model_size", NULL, WHOLE(MODEL_SIZE, NULL, 0, MOST_STATE) },
	{ "model.num_layers", "checkpoint.num_layers", WHOLE(LAYERS, "-1", -1, 1e6) },
	{ "model.model_datatype", NULL, WORD(MODEL_DATATYPE, "fp16", DATATYPES) },
	{ "model.optimizer_datatype", NULL, WORD(OPTIMIZER_DATATYPE, "fp32", DATATYPES) },
	{ "model.optimization_groups", "checkpoint.optimization_groups", WHOLES(GROUPS, 0, MOST_STATE) },
	{ "model.layer_parameters", "checkpoint.layer_parameters", WHOLES(LAYER_PARAMETERS, 0, MOST_STATE) },
	{ "model.parallelism.tensor", "checkpoint.tensor_parallelism", WHOLE(TENSOR, "1", 1, MOST_RANKS) },
	{ "model.parallelism.pipeline", "checkpoint.pipeline_parallelism", WHOLE(PIPELINE, "1", 1, MOST_RANKS) },
	{ "model.parallelism.data", NULL, WHOLE(DATA, "-1", -1, MOST_RANKS) },
	{ "model.parallelism.zero_stage", NULL, WHOLE(ZERO, "0", 0, 3) },
	{ "model.transformer.vocab_size", NULL, WHOLE(VOCABULARY, "32000", 1, 1e9) },
	{ "model.transformer.hidden_size", NULL, WHOLE(HIDDEN, "2048", 1, 1e7) },
	{ "model.transformer.ffn_hidden_size", NULL, WHOLE(FFN, "8192", 1, 1e8) },
	{ "model.transformer.num_attention_heads", NULL, WHOLE(HEADS, "32", 1, 1e6) },
	{ "model.transformer.num_kv_heads", NULL, WHOLE(KV_HEADS, "8", 1, 1e6) },

	{ "workflow.generate_data", NULL, BOOL(GENERATE, "False") },
	{ "workflow.train", NULL, BOOL(TRAIN, "True") },
	{ "workflow.evaluation", "workflow.do_eval", BOOL(EVALUATION, "False") },
	{ "workflow.checkpoint", NULL, BOOL(CHECKPOINT, "False") },
	{ "workflow.profiling", NULL, NOTHING("mlgen measures by itself; --log and --json have what it saw") },
	{ "workflow.debug", NULL, NOTHING("of DLIO's own messages") },

	{ "storage.storage_type", "reader.storage_type", WORD(STORAGE_TYPE, "local_fs", DLIO_LOCAL " " DLIO_FOREIGN) },
	{ "storage.storage_root", "reader.storage_root", TEXT(STORAGE_ROOT, "./") },
	{ "storage.storage_options", "reader.storage_options", NOTHING(OBJECTS) },
	{ "storage.storage_library", "reader.storage_library", NOTHING(OBJECTS) },
	{ "storage.fsspec_plugin", NULL, NOTHING(OBJECTS) },
	{ "storage.fsspec_extra_params", NULL, NOTHING(OBJECTS) },
	{ "storage.post_generation_settle_seconds", NULL, NOTHING("a file system has what was written at once") },

	{ "dataset.record_length_bytes", "dataset.record_length", NUMBER(RECORD_LENGTH, "65536", 1, MOST_BYTES) },
	{ "dataset.record_length_bytes_stdev", "dataset.record_length_stdev dataset.record_length_byte_stdev", NUMBER(RECORD_STDEV, "0", 0, MOST_BYTES) },
	{ "dataset.record_length_bytes_resize", "dataset.record_length_resize", NOTHING("the size of a decoded sample in memory; mlgen decodes nothing") },
	{ "dataset.format", NULL, WORD(FORMAT, "tfrecord", FORMATS) },
	{ "dataset.num_files_train", NULL, WHOLE(FILES, "8", 1, MOST_FILES) },
	{ "dataset.num_files_eval", NULL, WHOLE(EVAL_FILES, "0", 0, MOST_FILES) },
	{ "dataset.num_samples_per_file", NULL, WHOLE(SAMPLES, "1", 1, MOST_SAMPLES) },
	{ "dataset.eval_num_samples_per_file", NULL, NOTHING("files that evaluate have as many samples as the others") },
	{ "dataset.data_folder", NULL, TEXT(DATA_FOLDER, "./data/") },
	{ "dataset.num_subfolders_train", NULL, WHOLE(SUBFOLDERS, "0", 0, 1e6) },
	{ "dataset.num_subfolders_eval", NULL, NOTHING("files that evaluate lie as the others do") },
	{ "dataset.file_prefix", NULL, NOTHING("mlgen's files have names of its own") },
	{ "dataset.keep_files", NULL, NOTHING("mlgen keeps a dataset; --replace makes it anew") },
	{ "dataset.compression", NULL, NOTHING("what mlgen writes cannot be compressed, and is not") },
	{ "dataset.compression_level", NULL, NOTHING("nothing is compressed") },
	{ "dataset.enable_chunking", NULL, NOTHING("an HDF5 file has one contiguous dataset here") },
	{ "dataset.chunk_size", NULL, NOTHING("an HDF5 file has one contiguous dataset here") },
	{ "dataset.hdf5.chunk_dims", "dataset.chunk_dims", NOTHING("an HDF5 file has one contiguous dataset here") },
	{ "dataset.hdf5.num_dset_per_record", "dataset.num_dset_per_record", NOTHING("an HDF5 file has one contiguous dataset here") },
	{ "dataset.hdf5.max_shape", "dataset.max_shape", NOTHING("an HDF5 file has one contiguous dataset here") },
	{ "dataset.record_dims", NULL, WHOLES(RECORD_DIMS, 1, MOST_BYTES) },
	{ "dataset.record_element_type", NULL, TEXT(ELEMENT_TYPE, "uint8") },
	{ "dataset.record_element_bytes", NULL, NOTHING("follows from record_element_type") },
	{ "dataset.data_gen_method", NULL, NOTHING("of the library that makes DLIO's data") },
	{ "dataset.skip_listing", NULL, NOTHING("mlgen's manifest says which files there are; none are listed") },
	{ "dataset.listing_validation_interval", NULL, NOTHING("mlgen's manifest says which files there are; none are listed") },
	{ "dataset.synthetic_file_list", NULL, NOTHING("mlgen's manifest says which files there are; none are listed") },
	{ "dataset.num_files_train_on_disk", NULL, NOTHING("a larger dataset is used in part as it is: num_files says how many") },
	{ "dataset.num_files_eval_on_disk", NULL, NOTHING("a larger dataset is used in part as it is: eval_files says how many") },
	{ "dataset.daos_pool", NULL, NOTHING(OBJECTS) },
	{ "dataset.daos_cont", NULL, NOTHING(OBJECTS) },
	{ "dataset.generation_buffer_size", NULL, NOTHING(BUFFER) },
	{ "dataset.parquet.columns", NULL, MAPS(COLUMNS) },
	{ "dataset.parquet.row_group_size", NULL, WHOLE(ROW_GROUP, "1024", 1, MOST_SAMPLES) },
	{ "dataset.parquet.partition_by", NULL, NOTHING("files lie in one folder, or in num_subfolders_train") },
	{ "dataset.parquet.generation_batch_size", NULL, NOTHING(BUFFER) },
	{ "dataset.parquet.use_s3dlio_gen", NULL, NOTHING("of the library that makes DLIO's data") },
	{ "dataset.arrow", NULL, NOTHING("Arrow files are not known here") },
	{ "dataset.parquet.read_mode", NULL, NOTHING("a row group is what is read at a time here") },

	{ "reader.data_loader", NULL, WORD(DATA_LOADER, "tensorflow", LOADERS) },
	{ "reader.batch_size", "dataset.batch_size", WHOLE(BATCH, "1", 1, MOST_BATCH) },
	{ "reader.batch_size_eval", "dataset.batch_size_eval", WHOLE(EVAL_BATCH, "1", 1, MOST_BATCH) },
	{ "reader.read_threads", NULL, WHOLE(READ_THREADS, "1", 0, 1024) },
	{ "reader.computation_threads", "reader.computatation_threads", WHOLE(COMPUTATION_THREADS, "1", 0, 1024) },
	{ "reader.prefetch_size", NULL, WHOLE(PREFETCH, "2", 0, 1024) },
	{ "reader.prefetch", NULL, NOTHING("prefetch_size says it") },
	{ "reader.write_threads", NULL, NOTHING("of how DLIO makes its files") },
	{ "reader.protocol", NULL, NOTHING(OBJECTS) },
	{ "reader.sample_shuffle", "reader.memory_shuffle", WORD(SAMPLE_SHUFFLE, "off", "off seed random") },
	{ "reader.file_shuffle", "reader.read_shuffle", WORD(FILE_SHUFFLE, "off", "off seed random") },
	{ "reader.shuffle_size", NULL, WHOLE(SHUFFLE_SIZE, "1024", 0, 1e9) },
	{ "reader.transfer_size", NULL, WHOLE(TRANSFER_SIZE, NULL, 1, MOST_BYTES) },
	{ "reader.preprocess_time", NULL, TIME(PREPROCESS) },
	{ "reader.preprocess_time_stdev", NULL, NUMBER(PREPROCESS_STDEV, NULL, 0, MOST_SECONDS) },
	{ "reader.odirect", NULL, BOOL(ODIRECT, "False") },
	{ "reader.read_type", NULL, NOTHING("samples are read when they are due; DLIO takes any text here for its cache in memory, even on_demand") },
	{ "reader.file_access", "dataset.file_access", NOTHING("every thread opens files of its own, as with multi") },
	{ "reader.pin_memory", NULL, NOTHING("there is no accelerator to copy to") },
	{ "reader.dont_use_mmap", NULL, NOTHING("of DLIO's readers; ioengine=mmap maps files") },
	{ "reader.multiprocessing_context", NULL, NOTHING("loaders are threads here") },
	{ "reader.data_loader_sampler", NULL, NOTHING("loader and shard stand for it") },
	{ "reader.data_loader_classname", NULL, NOTHING("a class of Python's") },
	{ "reader.reader_classname", NULL, NOTHING("a class of Python's") },
	{ "reader.transformed_record_dims", NULL, NOTHING("of decoded samples in memory; mlgen decodes nothing") },
	{ "reader.transformed_record_element_type", NULL, NOTHING("of decoded samples in memory; mlgen decodes nothing") },

	{ "train.epochs", NULL, WHOLE(EPOCHS, "1", 1, MOST_EPOCHS) },
	{ "train.computation_time", NULL, TIME(COMPUTATION) },
	{ "train.computation_time_stdev", NULL, NUMBER(COMPUTATION_STDEV, NULL, 0, MOST_SECONDS) },
	{ "train.total_training_steps", NULL, WHOLE(STEPS, "-1", -1, MOST_STEPS) },
	{ "train.seed", NULL, WHOLE(SEED, "123", 0, MOST_SEED) },
	{ "train.seed_change_epoch", NULL, BOOL(SEED_CHANGE, "True") },
	{ "train.compute", NULL, NOTHING("an accelerator is a time here") },
	{ "train.communication", NULL, NOTHING("of accelerators with each other; barrier=step is the wait") },
	{ "train.total_eval_steps", NULL, NOTHING("an evaluation reads all files that it has") },

	{ "evaluation.eval_time", NULL, TIME(EVAL_TIME) },
	{ "evaluation.eval_time_stdev", NULL, NUMBER(EVAL_STDEV, NULL, 0, MOST_SECONDS) },
	{ "evaluation.eval_after_epoch", NULL, WHOLE(EVAL_AFTER, "1", 0, MOST_EPOCHS) },
	{ "evaluation.epochs_between_evals", NULL, WHOLE(EVAL_EVERY, "1", 0, MOST_EPOCHS) },
	{ "evaluation.steps_between_evals", NULL, NOTHING("evaluations stand between epochs") },

	{ "checkpoint.checkpoint_folder", NULL, TEXT(FOLDER, "./checkpoints/") },
	{ "checkpoint.checkpoint_after_epoch", NULL, WHOLE(AFTER_EPOCH, "1", 0, MOST_EPOCHS) },
	{ "checkpoint.epochs_between_checkpoints", NULL, WHOLE(EVERY_EPOCHS, "1", 0, MOST_EPOCHS) },
	{ "checkpoint.steps_between_checkpoints", NULL, WHOLE(EVERY_STEPS, "-1", -1, MOST_STEPS) },
	{ "checkpoint.type", NULL, WORD(LOCATION, "rank_zero", "rank_zero all_ranks") },
	{ "checkpoint.mode", NULL, WORD(MODE, "default", "default subset") },
	{ "checkpoint.fsync", NULL, BOOL(FSYNC, "False") },
	{ "checkpoint.recovery_rank_shift", "checkpoint.load_rank_shift", BOOL(SHIFT, "False") },
	{ "checkpoint.time_between_checkpoints", NULL, NUMBER(PAUSE, "-1", -1, MOST_SECONDS) },
	{ "checkpoint.num_checkpoints_write", "checkpoint.num_checkpoints", WHOLE(WRITES, "-1", -1, 1e6) },
	{ "checkpoint.num_checkpoints_read", NULL, WHOLE(READS, "-1", -1, 1e6) },
	{ "checkpoint.recovery_after_steps", NULL, NOTHING("a restore is a section of its own (phase=restore)") },
	{ "checkpoint.rank_sync", NULL, NOTHING("a checkpoint ends here when its slowest rank has ended") },
	{ "checkpoint.randomize_tensor", NULL, NOTHING("what is written cannot be compressed or deduplicated") },
	{ "checkpoint.ksm", NULL, NOTHING("no state is held in memory that pages could be shared of") },
	{ "checkpoint.hash_consing", NULL, NOTHING("every checkpoint is written whole") },
	{ "checkpoint.hash_consing_chunk_size", NULL, NOTHING("every checkpoint is written whole") },
	{ "checkpoint.checkpoint_daos_pool", NULL, NOTHING(OBJECTS) },
	{ "checkpoint.checkpoint_daos_cont", NULL, NOTHING(OBJECTS) },
	{ "checkpoint.checkpoint_daos_chunk_size", NULL, NOTHING(OBJECTS) },
	{ "checkpoint.checkpoint_daos_chunks_limit", NULL, NOTHING(OBJECTS) },
	{ "checkpoint.checkpoint_mechanism", NULL, NOTHING("checkpoint_layout says how files are written") },
	{ "checkpoint.checkpoint_mechanism_classname", NULL, NOTHING("a class of Python's") },

	{ "metric.au", NULL, NUMBER(AU, NULL, 0.01, 1) },
	{ "output.folder", "logdir", NOTHING("--output=FILE, --json=FILE") },
	{ "output.log_file", NULL, NOTHING("--output=FILE, --json=FILE") },
	{ "output.metric.exclude_start_steps", "metric.exclude_start_steps", NOTHING("the first step of an epoch is left out; ramp_time leaves out more") },
	{ "output.metric.exclude_end_steps", "metric.exclude_end_steps", NOTHING("the last step counts") },
	{ "profiling.profiler", NULL, NOTHING("the report has the devices' own counters") },
	{ "profiling.darshan_preload", NULL, NOTHING("of a profiler") },
	{ "profiling.iostat_devices", "profiling.devices reporting.devices", NOTHING("mlgen finds the devices below the directory by itself") },

	{ "defaults", NULL, NOTHING("Hydra's list of other files") },
	{ "hydra", NULL, NOTHING("of Hydra itself") },
	{ 0 },
};
/* clang-format on */

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

/* The group reader was data_reader. */
static const char *newer(const char *path)
{
	const char *const older = "data_reader";

	return strncmp(path, older, strlen(older)) == 0 ? path + strlen("data_")
							: path;
}

const struct dlio_key *dlio_key_find(const char *path)
{
	path = newer(path);
	for (const struct dlio_key *k = dlio_keys; k->path; k++)
		if (strcmp(k->path, path) == 0 || dlio_has_word(k->older, path))
			return k;
	return NULL;
}

const struct dlio_key *dlio_key_of(enum dlio_id id)
{
	const struct dlio_key *k = dlio_keys;

	while (k->path && k->id != id)
		k++;
	return k;
}

static bool begins(const char *words, const char *path, size_t len)
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
		if (begins(k->path, path, len) || begins(k->older, path, len))
			return true;
	return false;
}
