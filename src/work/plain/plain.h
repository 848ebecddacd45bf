/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - plain I/O jobs like those of fio: files, streams of requests, and reports. */
#pragma once

/*
 * A plain job has files (iofiles), which are laid out before it begins, and streams: threads that
 * make requests in a pattern, paced by rates. A replay (work/replay) uses the same reports and much
 * of the same activity. This folder does not depend on replays, except for some figures in the
 * result.
 *
 * Streams update their counters on their own threads. Call all other functions on the conductor's
 * or the main thread, unless their comment names another.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/vec.h"
#include "data/pattern/pattern.h"
#include "io/devices.h"
#include "job/job.h"
#include "report/metrics/metrics.h"
#include "report/plan/plan.h"
#include "report/text/text.h"
#include "run/make/make.h"
#include "run/result/result.h"
#include "run/slot/slot.h"

/* ---- the plain job: workload, activity and page ---- */

/* A rate counts as missed below this fraction of the requested rate. */
#define PLAIN_RATE_MET 0.99

extern const struct workload work_io;

extern const struct activity plain_activity;
extern const struct page plain_page;
extern const struct asked plain_asked;

/* ---- the files of a plain job ---- */

enum iofile_kind { IOFILE_REGULAR, IOFILE_BLOCK, IOFILE_CHAR };

struct iofile {
	char *path;
	enum iofile_kind kind;
	bool is_missing; /* missing, and laid out before the run */
	dev_t device;    /* only IOFILE_BLOCK */
	uint64_t bytes;  /* size of the file, or the size to lay out */
	struct pattern_region region;
};

/*
 * All workers share the files named by filename=. Without it, each worker has a file of its own,
 * directory/$jobname.$jobnum.0. The iofiles own everything below.
 */
struct iofiles {
	struct iofile *files;
	size_t count;
	bool is_shared;
	uint64_t missing_files, missing_bytes;
	/* Argument of mount_read: the folder of the first file, or the path of a block device; ""
	 * if no file is touched. */
	char *directory;
	/* Block devices that the job writes. They are held exclusively until fini, so that nobody
	 * can mount them during the job. */
	struct blockdev_guards own_guards, *guards;
	VEC(dev_t) held;
};

struct iofiles_request {
	const struct job *job;
	bool readonly, allow_fill;
	const char *allow_device; /* settings.allow_device */
	/* Shared by all jobs of a run, so that two jobs may write one device; must outlive the
	 * iofiles. NULL: the job has guards of its own. */
	struct blockdev_guards *guards;
};

/*
 * Look at the files without changing anything. 0, or -errno with err for whatever prevents the job:
 * readonly, a block device that is not allowed or in use, a missing file of unknown size, a file
 * that is too small, a directory, a device other than null, zero and full. An engine that touches
 * no files gets regions from size= alone. iofiles_fini accepts a failed or zeroed struct, and must
 * be called before the next init.
 *
 * size= is the total of a job, which its files share equally; filesize= is the size of each file.
 * With both, filesize= and offset= set the regions, and the pattern uses size= to limit the bytes
 * moved.
 */
int iofiles_init(struct iofiles *f, const struct iofiles_request *req, struct mlgen_err *err);
void iofiles_fini(struct iofiles *f);

/* The files of worker number `worker`, from 0, and their number. */
const struct iofile *iofiles_of(const struct iofiles *f, uint64_t worker, size_t *count);

uint64_t iofiles_largest_missing(const struct iofiles *f); /* bytes */

/* Folder of a path; "." for a lone name. The caller frees it. */
char *iofiles_folder(const char *path);

/* ---- the names of a plain job's files ---- */

/*
 * filename= is a list with ':' between its entries, and '\:' for a colon in a name; relative names
 * are in directory=. Without filename=, each of numjobs workers has the file $jobname.$jobnum.0 in
 * directory=; a '/' in the name of a job makes folders. A job whose name is the path of a device
 * uses that device.
 */
struct ionames {
	VEC(char *) paths;
	bool is_shared; /* all workers use all paths */
};

/* 0, or -EINVAL with err. */
int ionames_init(struct ionames *n, const struct job *job, struct mlgen_err *err);
void ionames_fini(struct ionames *n); /* accepts a zeroed or failed struct */

/* directory=; NULL if the job has none. The caller frees it. */
char *ionames_directory(const struct job *job);

/* ---- laying out a file: creation, content in pieces, final name ---- */

/* Files have the temporary name .NAME.mlgen-part until they are whole. */
extern const struct newfile_kind iopart_kind;

/* ---- the content of laid-out files: incompressible bytes, or only space ---- */

/* Messages that a layout and a replay share. describe_no_room: describe that the filesystem is
 * full. log_start: log the start of a layout (time NULL: only space is allocated).
 * fail_interrupted: report that the layout was interrupted; returns POOL_STOPPED. */
void iolayout_describe_no_room(const struct newfile *x, const char *left, const char *way_out,
			       char *out, size_t size);
void iolayout_log_start(const struct job *j, const struct filemaker *m, const char *where,
			const char *time);
int iolayout_fail_interrupted(const char *directory, uint64_t made_files, uint64_t asked_files,
			      struct mlgen_err *err);

/* Implements newfile_kind.next. */
int iocontent_next(void *source, void *buf, size_t size, uint64_t *off, size_t *len,
		   struct mlgen_err *err);

/* Write the whole content of a file; see newfile_fill. The content depends only on the file's
 * name. */
int iocontent_fill(struct newfile *x, struct mlgen_err *err);

/* Large files are written in pieces, by several workers at the same time. */
uint64_t iocontent_pieces(uint64_t file_bytes);
int iocontent_fill_piece(struct newfile *x, uint64_t piece, struct mlgen_err *err);

/*
 * Allocate the space of a file that is not empty. If the filesystem cannot allocate, a file without
 * content gets a byte at its end, so that its size is right. 0, or -errno with err.
 */
int iocontent_allocate(struct newfile *x, bool has_content, struct mlgen_err *err);

/* ---- make the files of a plain job that are missing ---- */

struct iolayout {
	const struct iofiles_request *req;
	struct clock *clock;
	struct filemaker_progress *progress;
	uint64_t made_files, made_bytes; /* out */
	bool started;                    /* out: something was created */
};

/* Check that missing files can be written, and that there is room for them. Changes nothing. A run
 * calls this before any job has made a file, and again after the earlier jobs. 0, or -errno with
 * err. */
int iolayout_check_writable(struct iofiles *f, const struct iofiles_request *req,
			    struct mlgen_err *err);
int iolayout_check_room(struct iofiles *f, const struct iofiles_request *req,
			struct mlgen_err *err);

/*
 * Lay out the missing files: log how much and where, check the space, and write in parallel through
 * the job's engine. Each file is completed under a temporary name, .NAME.mlgen-part in the same
 * folder, and then renamed; an existing file is never replaced. Files of jobs that read are filled
 * with content, synced, and dropped from the page cache. Files of jobs that only write get space
 * (fallocate where the filesystem can).
 *
 * A killed run leaves temporary files, which the next run removes. A run that fails or is stopped
 * leaves only whole files. 0, or -errno with err; POOL_STOPPED with progress->stop. The calling
 * thread must have joined the clock.
 */
int iolayout_run(struct iofiles *f, struct iolayout *l, struct mlgen_err *err);

/* ---- the workers of a running job, and what they share ---- */

struct stream;

/*
 * The work of a job's workers: requests of a pattern, or of a trace. All functions run on the
 * worker's own thread, except fini.
 */
struct stream_kind {
	/* Do everything up to the first request. 0, or -errno with err. */
	int (*set_up)(struct stream *s, struct mlgen_err *err);
	/* Run from time zero until all is done or stream_is_over(). */
	void (*run)(struct stream *s);
	void (*close_files)(struct stream *s);
	void (*fini)(struct stream *s); /* called after join */
	/* Returns a reason why a file may be shorter than a read expects, though nobody has
	 * truncated it; "" = no reason. NULL = there is never a reason. */
	const char *(*why_short)(const struct stream *s);
};

/* Initialised by streams_init; streams_start starts its threads. streams_fini accepts a zeroed
 * struct. */
struct streams {
	const struct job *job;
	const struct stream_kind *kind;
	void *own; /* data of the kind; the caller owns it */
	const struct iofiles *files;
	const struct placement *place; /* set before streams_start */
	const struct traced *traced;   /* set before streams_start; NULL = no trace */
	struct worker_list *workers;   /* the streams' threads join it; NULL = none */
	struct mlgen_engine_job engine_job;
	struct clock *clock;
	struct failure *failure;
	const _Atomic bool *interrupted;
	struct stop *stop; /* set before streams_start; NULL = none */
	struct peers peers;
	struct stream *streams;
	uint64_t count;                /* number of streams */
	_Atomic uint64_t bytes;        /* total of all streams; UINT64_MAX = no end; 0 = unknown */
	uint64_t start_after_ns;       /* startdelay, on the run's clock */
	const struct run_watch *watch; /* NULL = nobody watches */
	void *watch_arg;               /* argument of watch */
	struct eventcount start_event;
	_Atomic uint64_t start_ns; /* time zero; 0 = not yet */
	_Atomic bool is_closed;    /* after an error: end at once */
};

int streams_init(struct streams *p, const struct job *job, const struct stream_kind *kind,
		 uint64_t count, const struct iofiles *files, struct clock *clock,
		 struct failure *failure, const _Atomic bool *interrupted, struct mlgen_err *err);
void streams_fini(struct streams *p);

/* Start and join all threads. Call on the conductor's thread (run.c). */
int streams_start(struct streams *p, struct mlgen_err *err);
void streams_join(struct streams *p);

/* Stop all streams after an error, or make them look for an interruption. Any thread. */
void streams_close(struct streams *p);
void streams_wake(struct streams *p);

/* ---- a worker of a plain job ---- */

/* A request in flight. */
struct stream_op {
	struct io_op io; /* io.owner points back to this struct */
	uint64_t due_ns; /* intended start, if paced; otherwise 0 */
};

/* Created before its thread starts; belongs to the thread while the thread runs. */
struct stream {
	struct worker worker;
	struct streams *all;
	uint64_t index; /* 0 to all->count - 1 */
	void *own;      /* data of the kind */
	struct pattern *pattern;
	struct mlgen_file *files; /* in the order of iofiles_of; the first open_files are open */
	struct mlgen_file *last_written;
	size_t file_count, open_files;
	struct stream_op *ops;
	struct stream_op **free_ops; /* a stack of free_count */
	struct io_op **done;
	unsigned depth, free_count;
	bool is_sync;       /* synchronous engine: nothing is ever in flight */
	bool has_completed; /* a synchronous request was made in this turn */
	struct pace pace;
	/* Progress. */
	struct pattern_op next; /* drawn from the pattern, not yet submitted, if has_next */
	bool has_next, is_exhausted;
	uint64_t unsynced;      /* writes since the last fsync */
	uint64_t unsynced_data; /* writes since the last fdatasync */
	bool has_written;
	uint64_t since_thought;           /* requests since the last thinktime */
	unsigned unflushed, batch_submit; /* submitted but not flushed; flushed at batch_submit */
	uint64_t end_ns;                  /* end of runtime; UINT64_MAX = none */
	uint64_t count_from_ns;           /* end of ramp_time */
	uint64_t late_ns;                 /* see clock_sleep_exactly */
	/* Results, which other threads may read after join. */
	bool is_complete; /* all bytes moved, or runtime reached */
	uint64_t lag_ns;  /* delay of the last paced request after its due time */
	bool was_late;    /* the last request was long past its due time */
	uint64_t wall_ns; /* time from the start of counting to the end */
};

/* Bytes of a stream's buffer for its requests. */
size_t stream_buffer_bytes(const struct job *j, unsigned depth);

/* The kind of a plain job: requests of a pattern. */
extern const struct stream_kind stream_pattern;

/* ---- functions for every kind ---- */

/* Open the worker's engine and its buffer, which is filled if the worker writes. Call on the
 * worker's thread. 0, or -errno with err. */
struct stream_needs {
	unsigned depth, files;
	size_t buffer_bytes;
	bool writes;
};
int stream_open_io(struct stream *s, const struct stream_needs *needs, struct mlgen_err *err);

/* True if no new request may start. The caller then waits for the requests in flight. */
bool stream_is_over(const struct stream *s);

/* End the run with an error. */
void stream_fail(struct stream *s, const struct mlgen_err *err);
/* End the run because the engine itself failed. Returns rc. */
int stream_engine_failed(struct stream *s, int rc);

/* Sleep until a time, but not longer than the run lasts. */
void stream_sleep_until(struct stream *s, uint64_t until_ns);

/* Handle a failed operation: count the error if continue_on_error allows it, or end the run. */
void stream_handle_error(struct stream *s, const struct io_op *op);

static inline struct io *stream_io(const struct stream *s)
{
	return atomic_load_explicit(&s->worker.io, memory_order_relaxed);
}

static inline unsigned stream_in_flight(const struct stream *s)
{
	return s->depth - s->free_count;
}

/* ---- the activity of a plain job, much of which a replay shares ---- */

/* State of a plain job in a slot. */
struct plain {
	struct iofiles files; /* a replay uses only its directory */
	struct streams streams;
	uint64_t made_files, made_bytes; /* laid out so far, in all groups */
};

/* A replay's state has a struct plain as its first member. */
static inline struct plain *plain_of(const struct slot *s)
{
	return s->own;
}

/* Implement members of struct activity (run/slot/slot.h). */
void plain_join_threads(struct slot *s);
void plain_close_all(struct slot *s);
void plain_wake_all(struct slot *s);
uint64_t plain_start_ns(const struct slot *s);
struct worker *plain_worker_at(const struct slot *s, uint64_t i);
void plain_look(const struct slot *s, struct live *live);

/* Set the members of the streams that depend on the run. Call after streams_init. */
void plain_set_streams(struct slot *s, uint64_t now_ns);

/* Collect the result of worker number `record` or, with is_one, of all workers. Figures about their
 * files are not included. Call it after join. */
void plain_collect_workers(struct job_result *out, size_t record, bool is_one, struct slot *s);
/* Collect the result of a job that ended during its layout. */
void plain_collect_none(struct job_result *out, struct slot *s, uint64_t workers);

/* Members of struct activity that plain jobs and replays share. */
#define PLAIN_ACTIVITY                                                                             \
	.join = plain_join_threads, .close = plain_close_all, .wake = plain_wake_all,              \
	.start_ns = plain_start_ns, .worker = plain_worker_at, .look = plain_look

/* ---- the memory of a plain job ---- */

/* Add the memory of a job whose workers have this many files each. */
void plain_need(struct memneed *n, const struct job *job, size_t files);

/* Implements activity.append_costs (run/slot/slot.h). */
void plain_append_costs(struct buf *out, const struct job *job);

/* True if requests bypass the page cache: as direct= says, or, if it is not given, as the requests
 * in the replayed trace did. */
bool plain_passes_cache(const struct job *j, bool was_direct);

/* ---- checks of the requests of a plain job ---- */

/* Store the number of bytes that a worker moves; UINT64_MAX if only time ends the worker. 0, or
 * -errno with err if its files have no room for a request. */
int requests_bytes(const struct job *j, const struct iofiles *f, uint64_t worker, uint64_t *bytes,
		   struct mlgen_err *err);

/* Get the alignment that O_DIRECT needs, and check all sizes and offsets against it. 0, or -errno
 * with err. */
int requests_check_direct(const struct job *j, const struct iofiles *f, uint64_t *align_bytes,
			  struct mlgen_err *err);

/* ---- the dry run of a plain job ---- */

/* Fill in p, whose job is set, by looking at the job's files. Always returns 0: a fault that would
 * stop the run is a failed check in the plan. */
int plan_io(struct plan_report *p, const struct plan_input *in, struct mlgen_err *unused);

/* ---- parts of the dry run that a replay shares ---- */

/* Directory of the job's files; NULL = not known. */
char *plan_io_directory(const struct plan_report *p);

/* Add the checks `data`, `space` and `storage`, from the mount of io.directory; and the check
 * `memory`, for data that memory may serve when it is read again. */
void plan_io_check_mount(struct plan_report *p);
void plan_io_check_memory(struct plan_report *p, bool reads_cached);

/* Print the lines about the files, with `where` = "in" or "below" before their directory; append
 * the memory of the job. */
void plan_io_print_data(FILE *to, const struct plan_report *p, const char *where);
void plan_io_append_memory(struct buf *text, const struct plan_report *p);

/* ---- the text report of a plain job ---- */

/* Parts of the report that depend on the kind of job. */
struct text_io_kind {
	/* Lines after the first line. */
	const struct text_line *answer;
	const struct text_line *settings;
	/* Prints a table after the settings and before those of a plain job; NULL = none. */
	void (*table)(struct buf *out, const struct text_block *b);
	/* Lines before the evidence that all kinds have; NULL = none. */
	const struct text_line *evidence;
};

/*
 * Print the block of a job that has `n` records, one for each worker or one for all workers. The
 * block has the answer, with a line per direction as in fio, the settings, the workers if there are
 * several records, the latencies and the evidence.
 */
void text_io_report(FILE *to, const struct run_result *run, const struct job_result *records,
		    size_t n, enum detail detail);

/* Print the block of a job of any kind; otherwise like text_io_report. */
void text_io_print(FILE *to, const struct run_result *run, const struct job_result *records,
		   size_t n, enum detail detail, const struct text_io_kind *kind);

/* Seconds over which bytes and operations are counted. */
double text_io_seconds(const struct job_result *r);

/* ---- lines of a plain job's report below its answer ---- */

/* Append values of the settings. _engine: the engine. _workers: the number of workers, and the
 * engine. _files: the number of files, with `where` = "in" or "below" before their directory. */
void text_io_append_engine(struct buf *text, const struct text_block *b);
void text_io_append_workers(struct buf *text, const struct text_block *b);
void text_io_append_files(struct buf *text, const struct text_block *b, const char *where);

/* The settings: job, workers, files, storage, host. */
extern const struct text_line text_io_settings[];

/* The evidence: how time was spent and where bytes came from. */
extern const struct text_line text_io_evidence[];

/* ---- verdict: the figures may not be those of the storage ---- */

/*
 * Fill io.verdict, whose strings belong to the result. The verdicts, by the limits of text.h:
 *   errors   operations failed, and the run went on
 *   memory   reads did not come from storage, without direct=1
 *   host     the CPUs are busy for 90 % or more
 * If none of them holds there is no verdict: a plain job has no demand that could be missed.
 */
void verdict_fill_io(const struct run_result *run, struct job_result *j);

/* ---- parts that a plain job and a replay share in reports and plans ---- */

/* Members of struct page that plain jobs and replays share. */
#define PLAIN_PAGE                                                                                 \
	.directory = plan_io_directory, .verdict = verdict_fill_io, .seconds = text_io_seconds,    \
	.workers = "workers", .looked_at = "time", .key = "io", .fields = metrics_io_fields,       \
	.has_row = metrics_io_has
