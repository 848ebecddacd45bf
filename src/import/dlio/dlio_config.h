/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_config.h - every key of DLIO's configuration and what becomes of it; the values of a
 * workload's YAML, and what is wrong with them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "import/dlio/yaml_tree.h"

/* ---- keys ---- */

/* What lies in directories, and what mlgen does not speak to. */
#define DLIO_LOCAL "local_fs parallel_fs direct_fs"
#define DLIO_FOREIGN "s3 s3dlio aistore adls_gen2 msc fsspec_fs daos_pytorch"

enum dlio_type {
	DLIO_NONE, /* no option follows from it */
	DLIO_TEXT,
	DLIO_WORD, /* one of `words` */
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
	const char *older; /* other spellings, with blanks; NULL = none */
	enum dlio_type type;
	const char *def;   /* as the YAML would have it; NULL = nothing */
	double min, max;   /* WHOLE, WHOLES, NUMBER, TIME */
	const char *words; /* WORD: with blanks */
	/* What it becomes in a job file; NULL = other options follow from it, or none. */
	const char *option;
	/* How the option's value is written; NULL = it takes more than this key to know. */
	void (*convert)(struct buf *out, const struct dlio_value *v);
	bool is_quiet; /* the default makes no option, and is not told */
	/* Why nothing becomes of it: never (NONE), or where the workload does something else. */
	const char *unused;
};

/* Ends with path NULL; has fewer rows than this. */
#define DLIO_ROWS_MAX 200
extern const struct dlio_key dlio_keys[];

/* The row of a path in any spelling; NULL = none. */
const struct dlio_key *dlio_key_find(const char *path);

/* The row of a path as DLIO spells it today, which may become an option. */
const struct dlio_key *dlio_key_of(const char *path);

/* Do keys begin with this path and a dot? */
bool dlio_is_group(const char *path);

/* Is `word` one of those in `words`, which have blanks between them? */
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

/* A time as DLIO draws it, in seconds. */
struct dlio_time {
	enum dlio_kind kind;
	double a, b;
};

struct dlio_value {
	const struct yaml_node *node; /* NULL: not in the YAML, so DLIO's
					 default */
	const struct yaml_node *key;  /* as it was spelt there */
	bool is_used;                 /* an option follows from it */
	const char *text;             /* TEXT, WORD; NULL = nothing */
	double number;                /* WHOLE, NUMBER */
	bool yes;                     /* BOOL */
	struct dlio_time time;        /* TIME */
};

/* Something of the YAML that nothing becomes of. */
struct dlio_extra {
	char *path; /* as written */
	const struct yaml_node *node;
	const char *why; /* NULL: not known */
};

struct dlio_config {
	struct dlio_value values[DLIO_ROWS_MAX]; /* as dlio_keys has them */
	VEC(struct dlio_extra) extras;
	/* Keys that options are made of, as DLIO spells them today; others stand in many a YAML
	 * that is not DLIO's. */
	size_t known;
	/* "FILE:3:7: dataset.format: ...", a line each. */
	struct buf faults;
	size_t fault_count;
};

/* Only so many faults, and as many keys unknown, are told one by one. */
#define DLIO_TOLD_MAX 100u

/*
 * Take what stands in a workload's YAML; the tree has to live as long as the configuration. Look at
 * fault_count. fini takes a zeroed struct.
 */
void dlio_config_read(struct dlio_config *c, const struct yaml_node *root);
void dlio_config_fini(struct dlio_config *c);

/* One more fault; `n` may be NULL. Signs that are no text become '?'. */
__attribute__((format(printf, 4, 5))) void dlio_fault(struct dlio_config *c,
						      const struct yaml_node *n, const char *path,
						      const char *fmt, ...);

/* The same where the value of this key stands. */
#define dlio_fault_of(c, path, ...) dlio_fault(c, dlio_value(c, path)->node, path, __VA_ARGS__)

/* The value of a key of the table, which a type that is not NONE has. */
const struct dlio_value *dlio_value(const struct dlio_config *c, const char *path);

/* Is it in the YAML, and not null? */
bool dlio_is_set(const struct dlio_config *c, const char *path);

/* Is its text one of the words? No text is none. */
bool dlio_is_word(const struct dlio_config *c, const char *path, const char *words);

/*
 * A number of YAML, or a whole one, of a plain text; false = it is none. What YAML takes for octal
 * is none.
 */
bool dlio_number(const struct yaml_node *n, double *number);

/* What no terminal or job file should see becomes '?'; appended. */
void dlio_clean(struct buf *out, const char *text, size_t most);

/* ---- the job file that does what a workload of DLIO says ---- */

/*
 * Append the job file. `file` is the YAML's path, for comments, and for a name where it has none.
 * What cannot be said in a job file becomes a fault of the configuration: look at fault_count, and
 * use nothing of `out` then.
 */
void dlio_job(struct dlio_config *c, const char *file, struct buf *out);
