/* SPDX-License-Identifier: Apache-2.0 */
/* markbook.h - epochs, stages and checkpoints of a trace, as its markers say or as its reads
 * show. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/files.h"
#include "base/map.h"
#include "tracing/describe/fairness.h"
#include "tracing/describe/filebook.h"
#include "trace/trace.h"

/* A time that markers name, those of several ranks as one. */
struct mark_account {
	uint64_t number;
	uint32_t name; /* id of an entry; 0 = none */
	uint32_t ranks;
	uint64_t start_ns, end_ns;
	uint64_t bytes;
	/* Epochs, in the second pass. */
	uint64_t files, samples, reads, read_bytes;
	struct order order; /* with the one before */
};

struct mark_list {
	struct spill marks; /* struct mark_account */
	struct map keys;
	uint32_t count;
	uint64_t left_out; /* beyond MARKS_MOST */
};

enum { MARKS_MOST = 65536 };

struct markbook {
	struct mark_list epochs, stages, checkpoints;
	/* Of epochs that were not marked: how many times most bytes were read, and what part of all
	 * bytes that is true of. */
	uint64_t passes;
	double agree_percent;
	bool is_inferred;
	/* Samples by their ids: where they came in the epoch they came last. */
	struct map sample_keys;
	struct spill samples; /* struct sample_place */
	bool has_samples;
};

void markbook_fini(struct markbook *b);

/* Pass one: a marker; others are passed over. */
void markbook_note(struct markbook *b, const struct trace_record *r);

/*
 * Between the passes: put the epochs into order of time, or find out whether files that are read
 * again say something of epochs.
 */
void markbook_settle(struct markbook *b, const struct filebook *files);

/* Pass two: which epoch does a read, or a sample, belong to? */
void markbook_add(struct markbook *b, const struct filebook *files, const struct trace_record *r,
		  unsigned kind);

static inline struct mark_account *mark_at(const struct mark_list *l, uint32_t i)
{
	return (struct mark_account *)l->marks.at + i;
}
