/* SPDX-License-Identifier: Apache-2.0 */
/* memneed.h - what jobs take of memory, by their options, and whether there is as much. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "io/memroom.h"
#include "job/job.h"

/*
 * An estimate, from what was measured: what comes with each thread (the pages of its histograms and
 * of its stack, and the kernel's own), and what follows from options (buffers, rings, samples that
 * are held). A zeroed struct is a job that takes nothing.
 */
struct memneed {
	uint64_t bytes;         /* in use while it runs */
	uint64_t address_bytes; /* mapped then */
	uint64_t prepare_bytes; /* in use before that, for its files */
	uint64_t left_bytes;    /* of `bytes`: its counts, until the end */
	uint64_t threads;       /* that would have a ring each in a trace */
	const char *option;     /* that by itself takes the most; NULL = none does */
	uint64_t option_bytes;
};

/* The program itself, at rest. */
#define MEMNEED_PROGRAM_BYTES (UINT64_C(4) << 20)

/*
 * The least that a process is limited to. With few threads it takes 4 to 6 MiB (measured); the rest
 * is for the kernel's own and for as much page cache as reading takes.
 */
#define MEMNEED_LIMITED_BYTES (UINT64_C(12) << 20)

/* So much more, in use and mapped. */
void memneed_add(struct memneed *n, uint64_t bytes, uint64_t address_bytes);
/* The same, by one option. */
void memneed_add_for(struct memneed *n, const char *option, uint64_t bytes, uint64_t address_bytes);
/* Threads with so much on the heap each; their buffers, of so many bytes each, which have something
 * in the page cache beside them. */
void memneed_threads(struct memneed *n, uint64_t threads, uint64_t each_bytes);
void memneed_buffers(struct memneed *n, const struct job *job, uint64_t threads,
		     uint64_t each_bytes, bool writes);
/* Buffers that no byte is ever moved to. */
void memneed_untouched(struct memneed *n, uint64_t threads, uint64_t each_bytes);
/* Those who write so many files, the largest of so many bytes; files 0: none is missing. */
void memneed_prepare(struct memneed *n, uint64_t files, uint64_t largest_file_bytes);

/* With a trace: rings of its threads, and what is written. */
void memneed_trace(struct memneed *n);

/* "accelerators=8", " x bs=1m": what costs the memory, for a row's put_costs; nothing for a count
 * of 1. */
void memneed_put(struct buf *out, const char *option, uint64_t n);
void memneed_put_bs(struct buf *out, uint64_t bytes);

/* Both of them, job by job. */
struct memneed_jobs {
	struct job *const *jobs;
	const struct memneed *needs;
	size_t count;
};

/*
 * Do the jobs of this group, which run side by side, find what they need, with what those before
 * them have left? 0, or -ENOMEM with err, which names the options to lower.
 */
int memneed_check(const struct memneed_jobs *all, unsigned group, const struct memroom *room,
		  struct mlgen_err *err);

/* The same of memory_limit, in bytes, of which each of so many processes of this host has its part;
 * err names the least with which all groups find what they need. */
int memneed_check_limit(const struct memneed_jobs *all, unsigned group, uint64_t limit_bytes,
			uint64_t processes, struct mlgen_err *err);

/* What memneed_check compares with room->bytes. */
uint64_t memneed_bytes(const struct memneed_jobs *all, unsigned group);

/* The processes of a host take too much together: -ENOMEM with err. */
struct memneed_host {
	const char *name;
	unsigned processes;
	uint64_t bytes; /* of all of them */
	const char *of; /* as of struct memroom */
};
int memneed_fail_host(const struct memneed_jobs *all, unsigned group,
		      const struct memneed_host *host, struct mlgen_err *err);
