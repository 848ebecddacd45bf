/* SPDX-License-Identifier: Apache-2.0 */
/* streams.h - a plain job while it runs: numjobs workers, and what they share. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "job/job.h"
#include "run/slot/slot.h"
#include "work/plain/iofiles.h"

struct stream;

/*
 * What the workers of a job do: requests of a pattern, or what a trace says. All on the worker's
 * own thread, but fini.
 */
struct stream_kind {
	/* Everything up to the first request. 0 or -errno with err. */
	int (*set_up)(struct stream *s, struct mlgen_err *err);
	/* From time zero on. Until it has done all, or stream_is_over(). */
	void (*run)(struct stream *s);
	void (*close_files)(struct stream *s);
	void (*fini)(struct stream *s); /* after join */
	/* Why a file may be shorter than a read expects, though nobody has truncated it: "" = for
	 * no such reason. NULL = there never is one. */
	const char *(*why_short)(const struct stream *s);
};

/* Set up by streams_init, its threads by streams_start; a zeroed one is fine for streams_fini. */
struct streams {
	const struct job *job;
	const struct stream_kind *kind;
	void *own; /* of the kind; the caller's */
	const struct iofiles *files;
	const struct placement *place; /* set before streams_start */
	const struct traced *traced;   /* the same; NULL = there is no trace */
	struct worker_list *workers;   /* for their threads to join; NULL = none */
	struct mlgen_engine_job engine_job;
	struct clock *clock;
	struct failure *failure;
	const _Atomic bool *interrupted;
	struct stop *stop; /* set before streams_start; NULL = none */
	struct peers peers;
	struct stream *streams;
	uint64_t count;                /* of them */
	_Atomic uint64_t bytes;        /* of all; UINT64_MAX = no end; 0 = not yet */
	uint64_t start_after_ns;       /* startdelay */
	const struct run_watch *watch; /* NULL = nobody watches */
	void *watched;                 /* its argument */
	struct bell go;
	_Atomic uint64_t start_ns; /* time zero; 0 = not yet */
	_Atomic bool closed;       /* an error: leave everything */
};

int streams_init(struct streams *p, const struct job *job, const struct stream_kind *kind,
		 uint64_t count, const struct iofiles *files, struct clock *clock,
		 struct failure *failure, const _Atomic bool *interrupted, struct mlgen_err *err);
void streams_fini(struct streams *p);

/* Start all threads; join them. On the conductor's thread (run.c). */
int streams_start(struct streams *p, struct mlgen_err *err);
void streams_join(struct streams *p);

/* Any thread: an error somewhere; or look again (an interruption). */
void streams_close(struct streams *p);
void streams_wake(struct streams *p);
