/* SPDX-License-Identifier: Apache-2.0 */
/* visiting.h - records of calls become visits, and of some of these all calls are kept. */
#pragma once

#include "distil/specimen.h"
#include "distil/visit.h"

struct visiting;

/* What they are added to is the caller's. */
struct visiting *visiting_new(struct visits *to, struct specimens *read, struct specimens *written);
void visiting_free(struct visiting *v); /* NULL is fine */

/*
 * A record, by start; `task` is its thread's number. Others than calls and faults are passed over,
 * and so are calls that failed. `is_kept`: the file is one whose visits may be specimens. 0, or
 * -errno with err: as visits_add.
 */
int visiting_add(struct visiting *v, const struct trace_record *r, uint32_t task, bool is_kept,
		 struct mlgen_err *err);
/* That was all: what is under way ends. */
void visiting_end(struct visiting *v);

/* Of specimens that are owned by nobody else. */
void specimens_fini(struct specimens *s);
