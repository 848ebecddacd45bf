/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_keys.h - every key of DLIO's configuration, and what becomes of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

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

struct buf;
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
