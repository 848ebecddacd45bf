/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - one worker of a plain job: its requests, as fast or as paced as it may. */
#pragma once

#include "data/pattern/pattern.h"
#include "run/slot/slot.h"
#include "work/plain/streams.h"

/* One request on its way. */
struct stream_op {
	struct io_op io; /* its owner is this */
	uint64_t due_ns; /* intended start of a paced one */
};

/* Made before the thread starts; its own while that runs. */
struct stream {
	struct worker worker;
	struct streams *all;
	uint64_t index; /* of all->count */
	void *own;      /* of its kind */
	struct pattern *pattern;
	struct mlgen_file *files; /* open, in the order of iofiles_of */
	struct mlgen_file *last_written;
	size_t file_count, open_files;
	struct stream_op *ops;
	struct stream_op **free_ops; /* a stack */
	struct io_op **done;
	unsigned depth, free_count;
	bool is_sync;  /* the engine: nothing is ever in flight */
	bool has_done; /* ... it did something in this turn */
	struct pace pace;
	/* Where it is. */
	struct pattern_op next; /* with has_next: drawn, not yet submitted */
	bool has_next, is_exhausted;
	uint64_t unsynced;      /* writes since the last fsync */
	uint64_t unsynced_data; /* ... fdatasync */
	bool has_written;
	uint64_t since_thought;           /* requests since the last thinktime */
	unsigned kept_back, batch_submit; /* submitted, not flushed */
	uint64_t end_ns;                  /* of runtime; UINT64_MAX = none */
	uint64_t count_from_ns;           /* end of ramp_time */
	uint64_t late_ns;                 /* see clock_sleep_exactly */
	/* For others, after join. */
	bool is_complete; /* all bytes moved, or runtime reached */
	uint64_t lag_ns;  /* of the last paced request, behind its due time */
	bool was_late;    /* the last request was long past its due time */
	uint64_t wall_ns; /* from where it counts to its last completion */
};

/* What each has for its requests. */
size_t stream_buffer_bytes(const struct job *j, unsigned depth);

/* Of a plain job: its requests are those of a pattern. */
extern const struct stream_kind stream_pattern;

/* ---- for every kind ---- */

/* On its own thread: the worker's engine and buffer, filled where it writes. 0 or -errno with
 * err. */
struct stream_needs {
	unsigned depth, files;
	size_t buffer_bytes;
	bool writes;
};
int stream_open_io(struct stream *s, const struct stream_needs *needs, struct mlgen_err *err);

/* Nothing new is begun; what is under way is waited for. */
bool stream_is_over(const struct stream *s);

/* An error that ends the run. */
void stream_fail(struct stream *s, const struct mlgen_err *err);
/* The engine itself failed: ends the run, gives rc back. */
int stream_engine_failed(struct stream *s, int rc);

/* Sleep until then, but for no longer than the run lasts. */
void stream_nap(struct stream *s, uint64_t until_ns);

/* An operation failed: counted, where continue_on_error says so, or it ends the run. */
void stream_take_error(struct stream *s, const struct io_op *op);

static inline struct io *stream_io(const struct stream *s)
{
	return atomic_load_explicit(&s->worker.io, memory_order_relaxed);
}

static inline unsigned stream_in_flight(const struct stream *s)
{
	return s->depth - s->free_count;
}
