/* SPDX-License-Identifier: Apache-2.0 */
/* saves.h - the checkpoints of a trace: what was written when, by whom and by which calls. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/map.h"
#include "base/vec.h"
#include "distil/distil_inside.h"

enum {
	SAVES_MOST = 4096,        /* checkpoints; of more the first */
	SAVES_FILES_MOST = 65536, /* files of all of them */
	SAVES_CALLS_MOST = 65536, /* calls of a file that are kept ... */
	SAVES_KEPT_MOST = 64,     /* ... of so many files */
};

struct saved_call {
	uint64_t off, bytes;
};

/* A file in one checkpoint. */
struct saved_file {
	uint32_t file, save;        /* id of the entry; number of the checkpoint */
	uint32_t task;              /* that wrote first */
	bool has_tasks;             /* more than that one */
	bool is_direct, is_dropped; /* O_DIRECT; fadvise(DONTNEED) behind it */
	bool is_synced_last;        /* nothing was written behind its last fsync */
	uint32_t writes, syncs;
	uint64_t start_ns, end_ns;                     /* of what was written; of fsync, too */
	uint64_t written_end_ns;                       /* without fsync */
	uint64_t bytes;                                /* where it ends */
	uint64_t first_bytes, least_bytes, most_bytes; /* of a write */
	uint64_t hash;                                 /* of places and sizes, whatever the order */
	uint32_t depth;                                /* writes under way at a time, at most */
	uint64_t busy_until_ns;                        /* the write before ends then */
	VEC(struct saved_call) calls;                  /* none = not kept */
};

struct save {
	uint64_t start_ns, end_ns;
	uint32_t directory; /* of its files; UINT32_MAX = of any */
	uint32_t files;     /* that have bytes */
	uint64_t bytes;
	double samples;        /* read before it began, by visits */
	uint64_t steps;        /* that ended before, by markers */
	uint64_t steps_within; /* ended while it was written */
	uint64_t samples_within;
	bool is_renamed;
	uint64_t over_ns; /* names were changed and old ones deleted, too */
	uint64_t gone_ns; /* the first of its files was unlinked; 0 = never */
};

struct saves {
	struct save *at; /* in order of time */
	uint32_t count, left_out;
	VEC(struct saved_file) files;
	uint32_t files_left_out;
	bool has_steps;  /* markers of steps */
	struct map keys; /* save << 32 | file: its number in files */
};

/* Those of a party; UINT32_MAX = of all. It reads the trace once more. 0, or -errno with err: as
 * trace_reader_open. */
int saves_read(struct saves *s, struct distil *d, uint32_t party, struct mlgen_err *err);
void saves_fini(struct saves *s); /* takes a zeroed one */

/* The number of a rank that its name says: "rank_3.pt", "model_states-3.pt", UINT32_MAX = it says
 * none. */
uint32_t saves_rank_of(const char *path);
