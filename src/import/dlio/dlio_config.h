/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_config.h - the keys of DLIO's configuration, and the values and faults of a YAML file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "import/dlio/yaml_tree.h"

/* ---- keys ---- */

/*
 * The keys are rows of one table (dlio_keys.c): spellings, type, default, the option that the key
 * becomes and how its value is converted, or the reason why there is none. The code that reads the
 * YAML, writes the job file and lists the unused keys walks the same rows. A key without a row is
 * listed and never dropped.
 */

/* Values of storage_type: file systems, and storage that mlgen does not support. */
#define DLIO_LOCAL "local_fs parallel_fs direct_fs"
#define DLIO_FOREIGN "s3 s3dlio aistore adls_gen2 msc fsspec_fs daos_pytorch"

enum dlio_type {
	DLIO_NONE, /* the key is not converted to an option */
	DLIO_TEXT,
	DLIO_WORD, /* a word out of `words` */
	DLIO_BOOL,
	DLIO_WHOLE,
	DLIO_NUMBER,
	DLIO_TIME,   /* seconds, or a map that describes a distribution */
	DLIO_WHOLES, /* a list */
	DLIO_MAPS    /* a list of maps */
};

struct dlio_value;

struct dlio_key {
	const char *path;  /* "dataset.format" */
	const char *older; /* older spellings, separated by spaces; NULL = none */
	enum dlio_type type;
	const char *def;   /* default, as YAML; NULL = no default */
	double min, max;   /* WHOLE, WHOLES, NUMBER, TIME */
	const char *words; /* WORD: the values, separated by spaces */
	/* The option of a job file; NULL = no single option. */
	const char *option;
	/* Append the option's value; NULL = the value depends on other keys, too. */
	void (*convert)(struct buf *out, const struct dlio_value *v);
	bool is_quiet; /* the default makes no option, and no comment */
	/* The reason why the key is not converted to an option: always (NONE), or in some
	 * workloads. */
	const char *unused;
};

/* Maximum number of rows. The table ends with a row whose path is NULL. */
#define DLIO_ROWS_MAX 200
extern const struct dlio_key dlio_keys[];

/* The row of a path in any spelling, or NULL. */
const struct dlio_key *dlio_key_find(const char *path);

/* The row of a path in its current spelling. The row must exist, and its type must not be NONE. */
const struct dlio_key *dlio_key_of(const char *path);

/* Do any keys begin with this path and a dot? */
bool dlio_is_group(const char *path);

/* Is `word` in the list `words`, which is separated by spaces? */
bool dlio_has_word(const char *words, const char *word);

/* ---- values ---- */

enum dlio_kind {
	DLIO_CONST,
	DLIO_NORMAL,
	DLIO_UNIFORM,
	DLIO_GAMMA,
	DLIO_EXPONENTIAL,
	DLIO_POISSON
};

/* The distribution of a time, in seconds. */
struct dlio_time {
	enum dlio_kind kind;
	double a, b;
};

struct dlio_value {
	const struct yaml_node *node; /* NULL: not in the YAML, so the value is DLIO's default */
	const struct yaml_node *key;  /* the key as spelled in the YAML */
	bool is_used;                 /* an option was made from it */
	const char *text;             /* TEXT, WORD; NULL = no default */
	double number;                /* WHOLE, NUMBER */
	bool is_true;                 /* BOOL */
	struct dlio_time time;        /* TIME */
};

/* A key of the YAML that is not converted to an option. */
struct dlio_extra {
	char *path; /* the path as written */
	const struct yaml_node *node;
	const char *why; /* NULL: the key is unknown */
};

struct dlio_config {
	struct dlio_value values[DLIO_ROWS_MAX]; /* in the order of dlio_keys */
	VEC(struct dlio_extra) extras;
	/* Number of keys in the YAML that become options and have their current spelling. A YAML
	 * file without such keys is not a workload of DLIO. */
	size_t known;
	/* "FILE:3:7: dataset.format: ...", one line per fault. */
	struct buf faults;
	size_t fault_count;
};

/* Limit of faults that are stored; further faults are only counted. */
#define DLIO_FAULTS_MAX 100u

/*
 * Read the YAML of a workload. The tree has to live as long as the configuration. Check fault_count
 * afterwards. dlio_config_fini() accepts a zeroed struct.
 */
void dlio_config_read(struct dlio_config *c, const struct yaml_node *root);
void dlio_config_fini(struct dlio_config *c);

/* Add a fault; `n` may be NULL. Control characters become '?'. */
__attribute__((format(printf, 4, 5))) void dlio_fault(struct dlio_config *c,
						      const struct yaml_node *n, const char *path,
						      const char *fmt, ...);

/* Add a fault at the place of this key's value. */
#define dlio_fault_of(c, path, ...) dlio_fault(c, dlio_value(c, path)->node, path, __VA_ARGS__)

/* The value of a key of the table. The key must have a type other than NONE. */
const struct dlio_value *dlio_value(const struct dlio_config *c, const char *path);

/* Is the key in the YAML, and its value not null? */
bool dlio_is_set(const struct dlio_config *c, const char *path);

/* Is the key's text one of the words? */
bool dlio_is_word(const struct dlio_config *c, const char *path, const char *words);

/* Parse the number in a plain text. False if the text is not a number, or is octal in YAML. */
bool dlio_number(const struct yaml_node *n, double *number);

/* Append up to `most` bytes of the text, with control characters replaced by '?'. */
void dlio_clean(struct buf *out, const char *text, size_t most);

/* ---- the job file of a workload ---- */

/*
 * Append the job file. `file` is the path of the YAML, for comments, and for the job's name if the
 * YAML has none. Values that a job file cannot express are faults of the configuration: check
 * fault_count afterwards, and discard `out` if it is not 0.
 */
void dlio_job(struct dlio_config *c, const char *file, struct buf *out);
