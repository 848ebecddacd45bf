/* SPDX-License-Identifier: Apache-2.0 */
/* plain_inside.h - a plain job in a run, and what a replay has alike. */
#pragma once

#include <stdint.h>

#include <mlgen/err.h>

#include "job/job.h"
#include "run/slot/slot.h"
#include "work/plain/iofiles.h"
#include "work/plain/streams.h"

/* What a plain job has of its own in a slot. */
struct plain {
	struct iofiles files; /* of a replay only its directory */
	struct streams streams;
	uint64_t made_files, made_bytes; /* laid out, in all groups */
};

/* The first member of what a replay has. */
static inline struct plain *plain_of(const struct slot *s)
{
	return s->own;
}

/* As struct activity has them (run/slot/slot.h). */
void plain_join_threads(struct slot *s);
void plain_close_all(struct slot *s);
void plain_wake_all(struct slot *s);
uint64_t plain_start_ns(const struct slot *s);
struct worker *plain_worker_at(const struct slot *s, uint64_t i);
void plain_look(const struct slot *s, struct live *live);

/* What its threads know of the run, after streams_init. */
void plain_begin(struct slot *s, uint64_t now_ns);

/* After join: what one worker did, or with is_one all of them; nothing of the files that they
 * worked on. */
void plain_collect_workers(struct job_result *out, size_t record, bool is_one, struct slot *s);
/* The same where none was begun: it came no further than the layout. */
void plain_collect_none(struct job_result *out, struct slot *s, uint64_t workers);

/* Members of a struct activity. */
#define PLAIN_ACTIVITY                                                                             \
	.join = plain_join_threads, .close = plain_close_all, .wake = plain_wake_all,              \
	.start_ns = plain_start_ns, .worker = plain_worker_at, .look = plain_look

/* ---- what a plain job takes of memory, and what can be lowered ---- */

/* Add what it takes, with so many files for each of its workers. */
void plain_need(struct memneed *n, const struct job *job, size_t files);

/* As put_costs of run/slot/slot.h. */
void plain_put_costs(struct buf *out, const struct job *job);

/* ---- can the requests of a plain job be made, of its files as they are? ---- */

/* Bytes that one worker moves; UINT64_MAX where nothing but time ends it. 0, or -errno with err
 * where its files have no room for a request. */
int requests_bytes(const struct job *j, const struct iofiles *f, uint64_t worker, uint64_t *bytes,
		   struct mlgen_err *err);

/* With direct=1: what O_DIRECT asks for there, and are all sizes and offsets multiples of it? 0, or
 * -errno with err. */
int requests_check_direct(const struct job *j, const struct iofiles *f, uint64_t *align_bytes,
			  struct mlgen_err *err);
