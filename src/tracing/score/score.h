/* SPDX-License-Identifier: Apache-2.0 */
/* score.h - how alike a trace and others are: M1 to M12, phase by phase, and the worst of each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/err.h>
#include <mlgen/field.h>

#include "report/document/document.h"
#include "tracing/score/score_parts.h"
#include "stat/metric.h"

enum score_verdict {
	SCORE_PASS,
	SCORE_FAIL,
	SCORE_UNKNOWN, /* not enough is known, which is no fault */
	SCORE_SHOWN,   /* of another host or storage: it decides nothing */
};

struct scored_trace {
	const char *file;
	uint64_t records, other_calls, failed_calls;
	bool is_complete;
};

/* A figure of a phase. */
struct scored_part {
	const char *metric; /* "m6" */
	const char *name;
	double distance, limit;                  /* NaN = unknown; the largest of the reals */
	double threshold, preset, floor, chance; /* NaN = none */
	int verdict;
	const char *why; /* it is unknown */
	unsigned number; /* of the metric, from 1 */
};

struct scored_phase {
	const char *name;
	int verdict;
	struct metric_list parts; /* struct scored_part */
};

struct scored {
	const char *candidate;
	struct metric_list traces; /* struct scored_trace, in their order */
	bool same_place;           /* host and storage */
	const char *unlike;        /* why not; NULL = they are the same */
	bool whole;                /* there is no phase in common */
	int verdict;
	/* Of M1 to M12 the worst distance of all phases by its limit: up to 1 is a pass; NaN =
	 * unknown, or not judged. */
	double worst[SCORE_METRICS];
	struct metric_list phases; /* struct scored_phase */
	struct json_store store;
};

struct score_document {
	const char *version;
	uint64_t schema_version;
	struct scored score;
};

/* Real traces, one at least, and then the candidate: `count` of them, under these names in the
 * document and in messages. 0, or -errno with err: one of them is no trace, or has nothing to be
 * scored. fini in any case. */
int score_traces(struct score_document *to, const char *const *files, const char *const *names,
		 size_t count, struct mlgen_err *err);
void score_fini(struct score_document *d);

/* The tables of the document, and what is where in it. */
extern const struct mlgen_field scored_fields[];
extern const struct mlgen_field score_fields[]; /* of "score" in it */
extern const struct mlgen_choice score_verdicts[];
struct scored_section {
	const char *path;
	const struct mlgen_field *table;
};
extern const struct scored_section scored_sections[]; /* ends with NULL */

/* For people. */
void score_text(FILE *to, const struct scored *s);
