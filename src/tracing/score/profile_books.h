/* SPDX-License-Identifier: Apache-2.0 */
/* profile_books.h - what is remembered of files, samples and threads while a trace is profiled. */
#pragma once

#include "base/files.h"
#include "base/map.h"
#include "tracing/describe/follow.h"
#include "tracing/score/profile.h"
#include "tracing/score/reuse.h"

/* Of one phase. Files and samples grow it, and leave memory (base/files.h); threads do, too. */
struct phase_book {
	struct rounds samples, files;
	struct map file_keys, thread_keys;
	struct spill file_list;   /* struct file_seen */
	struct spill thread_list; /* struct thread_seen */
};

struct profile_books {
	struct phase_book *of[PROFILE_PHASES];
	struct follow *follow;
	struct reuse *reuse; /* of all phases: there is one page cache */
};

void books_init(struct profile_books *b);
void books_fini(struct profile_books *b);

/* A call in phase number n, `p`, that did not fail. */
void books_call(struct profile_books *b, struct profile_phase *p, size_t n,
		const struct trace_record *r);
/* The marker of a sample. */
void books_sample(struct profile_books *b, struct profile_phase *p, size_t n,
		  const struct trace_record *r);
/* All was read. */
void books_finish(struct profile_books *b, struct profile *p);
