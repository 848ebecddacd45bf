/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_keys.h - every key of DLIO's configuration, and what becomes of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What lies in directories, and what mlgen does not speak to. */
#define DLIO_LOCAL "local_fs parallel_fs direct_fs"
#define DLIO_FOREIGN "s3 s3dlio aistore adls_gen2 msc fsspec_fs daos_pytorch"

/* Keys that an option of mlgen, or several, are made of. */
enum dlio_id {
	DLIO_FRAMEWORK,
	DLIO_MODEL_NAME,
	DLIO_MODEL_TYPE,
	DLIO_MODEL_BYTES,
	DLIO_MODEL_SIZE,
	DLIO_LAYERS,
	DLIO_MODEL_DATATYPE,
	DLIO_OPTIMIZER_DATATYPE,
	DLIO_GROUPS,
	DLIO_LAYER_PARAMETERS,
	DLIO_TENSOR,
	DLIO_PIPELINE,
	DLIO_DATA,
	DLIO_ZERO,
	DLIO_VOCABULARY,
	DLIO_HIDDEN,
	DLIO_FFN,
	DLIO_HEADS,
	DLIO_KV_HEADS,
	DLIO_GENERATE,
	DLIO_TRAIN,
	DLIO_EVALUATION,
	DLIO_CHECKPOINT,
	DLIO_STORAGE_TYPE,
	DLIO_STORAGE_ROOT,
	DLIO_RECORD_LENGTH,
	DLIO_RECORD_STDEV,
	DLIO_FORMAT,
	DLIO_FILES,
	DLIO_EVAL_FILES,
	DLIO_SAMPLES,
	DLIO_DATA_FOLDER,
	DLIO_SUBFOLDERS,
	DLIO_RECORD_DIMS,
	DLIO_ELEMENT_TYPE,
	DLIO_COLUMNS,
	DLIO_ROW_GROUP,
	DLIO_DATA_LOADER,
	DLIO_BATCH,
	DLIO_EVAL_BATCH,
	DLIO_READ_THREADS,
	DLIO_COMPUTATION_THREADS,
	DLIO_PREFETCH,
	DLIO_SAMPLE_SHUFFLE,
	DLIO_FILE_SHUFFLE,
	DLIO_SHUFFLE_SIZE,
	DLIO_TRANSFER_SIZE,
	DLIO_PREPROCESS,
	DLIO_PREPROCESS_STDEV,
	DLIO_ODIRECT,
	DLIO_EPOCHS,
	DLIO_COMPUTATION,
	DLIO_COMPUTATION_STDEV,
	DLIO_STEPS,
	DLIO_SEED,
	DLIO_SEED_CHANGE,
	DLIO_EVAL_TIME,
	DLIO_EVAL_STDEV,
	DLIO_EVAL_AFTER,
	DLIO_EVAL_EVERY,
	DLIO_FOLDER,
	DLIO_AFTER_EPOCH,
	DLIO_EVERY_EPOCHS,
	DLIO_EVERY_STEPS,
	DLIO_LOCATION,
	DLIO_MODE,
	DLIO_FSYNC,
	DLIO_SHIFT,
	DLIO_PAUSE,
	DLIO_WRITES,
	DLIO_READS,
	DLIO_AU,
	DLIO_USED, /* their number; and the id of all others */
};

enum dlio_type {
	DLIO_ANY, /* taken as it is */
	DLIO_TEXT,
	DLIO_WORD, /* one of `words` */
	DLIO_BOOL,
	DLIO_WHOLE,
	DLIO_NUMBER,
	DLIO_TIME,   /* seconds, or a map that describes a distribution */
	DLIO_WHOLES, /* a list */
	DLIO_MAPS    /* a list of maps */
};

struct dlio_key {
	const char *path;  /* "dataset.format" */
	const char *older; /* other spellings, with blanks; NULL = none */
	enum dlio_id id;
	enum dlio_type type;
	const char *def;   /* as the YAML would have it; NULL = nothing */
	double min, max;   /* WHOLE, WHOLES, NUMBER */
	const char *words; /* WORD: with blanks */
	/* DLIO_USED: why nothing becomes of it. */
	const char *without;
};

/* Ends with path NULL; has fewer rows than this. */
#define DLIO_ROWS_MAX 200
extern const struct dlio_key dlio_keys[];

/* The row of a path in any spelling; NULL = none. */
const struct dlio_key *dlio_key_find(const char *path);
const struct dlio_key *dlio_key_of(enum dlio_id id);

/* Do keys begin with this path and a dot? */
bool dlio_is_group(const char *path);

/* Is `word` one of those in `words`, which have blanks between them? */
bool dlio_has_word(const char *words, const char *word);
