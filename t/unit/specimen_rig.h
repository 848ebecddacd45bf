/* SPDX-License-Identifier: Apache-2.0 */
/* specimen_rig.h - specimens made of mlgen's own plans, and of calls that are typed in. */
#pragma once

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "tracing/distil/data/data_internal.h"
#include "trace/trace.h"

static inline void specimen_add(struct specimen *s, unsigned op, uint64_t off, uint64_t len,
				int64_t result)
{
	if (s->count == SPECIMEN_CALLS_MOST) {
		s->visit.calls++;
		return;
	}
	s->calls = mem_realloc(s->calls, (s->count + 1) * sizeof(*s->calls));
	s->calls[s->count++] = (struct specimen_call){
		.off = off,
		.len_bytes = len,
		.result = result,
		.op = (uint16_t)op,
	};
	s->visit.calls++;
	if (op == TRACE_OPEN)
		s->visit.flags |= VISIT_OPENS;
	if (op == TRACE_READ)
		s->visit.flags |= VISIT_READS;
}

/* What mlgen's own trace would have of an extent. */
static inline void specimen_of_plan(struct specimen *s, const struct plan_config *config,
				    const struct extent *x)
{
	static const uint16_t ops[MLGEN_OPS] = { [MLGEN_OPEN] = TRACE_OPEN,
						 [MLGEN_STAT] = TRACE_STAT,
						 [MLGEN_READ] = TRACE_READ,
						 [MLGEN_CLOSE] = TRACE_CLOSE };
	struct plan p;
	struct plan_op op;

	memset(s, 0, sizeof(*s));
	plan_init(&p, config, x);
	while (plan_next(&p, &op)) {
		bool is_read = op.op == MLGEN_READ;

		specimen_add(s, ops[op.op], is_read ? op.off : TRACE_UNKNOWN, op.len_bytes,
			     is_read ? (int64_t)op.got_bytes : 0);
	}
	s->file_bytes = p.file_bytes;
}

/* "open stat 4096@0 23@100=22": calls, and where less came than was asked for. */
static inline void specimen_of_text(struct specimen *s, const char *text)
{
	char *copy = mem_strdup(text), *save = NULL;

	memset(s, 0, sizeof(*s));
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		char *at = strchr(w, '@'), *got = strchr(w, '=');

		if (at)
			specimen_add(s, TRACE_READ, strtoull(at + 1, NULL, 10),
				     strtoull(w, NULL, 10), strtoll(got ? got + 1 : w, NULL, 10));
		else
			specimen_add(s,
				     strcmp(w, "open") == 0   ? TRACE_OPEN
				     : strcmp(w, "stat") == 0 ? TRACE_STAT
				     : strcmp(w, "mmap") == 0 ? TRACE_MMAP
							      : TRACE_CLOSE,
				     TRACE_UNKNOWN, 0, 0);
	}
	mem_free(copy);
}

static inline void specimen_rig_fini(struct specimen *s)
{
	mem_free(s->calls);
	memset(s, 0, sizeof(*s));
}
