/* SPDX-License-Identifier: Apache-2.0 */
/* facts_internal.h - records of calls become visits. */
#pragma once

#include "tracing/distil/facts/facts.h"

struct visits *visits_new(void);
void visits_free(struct visits *v); /* NULL is fine */

/* Add a visit. Visits must be added by start. `number` is set to the number of the visit, from 0.
 * 0, or -errno with err: there is no room in TMPDIR. */
int visits_add(struct visits *v, const struct visit *x, uint64_t *number, struct mlgen_err *err);
/* A visit that may still change: one of the last VISITS_WINDOW visits. NULL if it is older. */
enum { VISITS_WINDOW = 1 << 16 };
struct visit *visits_at(struct visits *v, uint64_t number);
uint64_t visits_count(const struct visits *v);

enum { SPECIMENS_MOST = 1024 }; /* evenly spread over the trace's visits */
void specimens_fini(struct specimens *s);

struct visiting;

/* The caller owns the visits and specimens, to which visiting_add() adds. */
struct visiting *visiting_new(struct visits *to, struct specimens *read, struct specimens *written);
void visiting_free(struct visiting *v); /* NULL is fine */

/*
 * Add a record. Records must be added by start. `task` is the number of the record's thread. Failed
 * calls, and records other than calls and page faults, are ignored. With is_kept, visits of the
 * file may become specimens. 0, or -errno with err: see visits_add.
 */
int visiting_add(struct visiting *v, const struct trace_record *r, uint32_t task, bool is_kept,
		 struct mlgen_err *err);
/* Close the visits in progress. */
void visiting_end(struct visiting *v);
