/* SPDX-License-Identifier: Apache-2.0 */
/* seen.h - what one worker has outstanding, for another thread to look at. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "io/io.h"

#define SEEN_PATH_WORDS (sizeof(((struct io_outstanding *)0)->path) / 8)

/*
 * Relaxed words: the worker writes, io_look in another thread reads. It only ever prints them, so a
 * mix of two operations does no harm. A path is copied, because its owner may free it before the
 * reader looks; kept apart, so that what every operation writes stays together.
 */
struct seen_slot {
	_Atomic uint64_t start_ns; /* 0 = nothing */
	_Atomic uint64_t off;
	_Atomic unsigned op;
	/* The worker's: whose path stands there, as of `paths`. */
	const struct mlgen_file *file;
	uint64_t paths;
};

struct seen_path {
	_Atomic uint64_t word[SEEN_PATH_WORDS];
};

struct seen {
	struct seen_slot *slots;
	struct seen_path *path; /* one per slot */
	unsigned count;
	uint64_t paths; /* operations on paths so far */
};

void seen_init(struct seen *s, unsigned slots);
void seen_fini(struct seen *s); /* a zeroed one is fine */

void seen_path(struct seen *s, unsigned slot, const char *path) __attribute__((cold));

/* The oldest of all; nothing is outstanding: start_ns 0. */
void seen_look(const struct seen *s, struct io_outstanding *out);

/* The worker's: whose operation is the oldest; NULL = nothing is outstanding. */
const struct mlgen_file *seen_oldest(const struct seen *s);

/* Operations after which the same file struct may have another path. */
#define SEEN_NAMES                                                                                 \
	(MLGEN_CAP(MLGEN_OPEN) | MLGEN_CAP(MLGEN_STAT) | MLGEN_CAP(MLGEN_RENAME) |                 \
	 MLGEN_CAP(MLGEN_UNLINK) | MLGEN_CAP(MLGEN_MKDIR) | MLGEN_CAP(MLGEN_RMDIR))

static inline void seen_begin(struct seen *s, const struct io_op *op)
{
	struct seen_slot *slot = &s->slots[op->slot];
	const struct mlgen_file *file = op->io.file;

	if (MLGEN_CAP(op->io.op) & SEEN_NAMES)
		s->paths++;
	if (file && (slot->file != file || slot->paths != s->paths)) {
		slot->file = file;
		slot->paths = s->paths;
		seen_path(s, op->slot, file->path ? file->path : "");
	}
	atomic_store_explicit(&slot->op, op->io.op, memory_order_relaxed);
	atomic_store_explicit(&slot->off, op->io.off, memory_order_relaxed);
	atomic_store_explicit(&slot->start_ns, op->start_ns, memory_order_relaxed);
}

static inline void seen_end(struct seen *s, const struct io_op *op)
{
	atomic_store_explicit(&s->slots[op->slot].start_ns, 0, memory_order_relaxed);
}
