/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_config.h - the values of a workload's YAML, and what is wrong with them. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "import/dlio/dlio_keys.h"
#include "import/yaml_tree.h"

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
