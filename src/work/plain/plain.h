/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - plain jobs, as fio has them. */
#pragma once

/*
 * A plain job has files (iofiles) that are laid out before it begins, and streams: threads with
 * requests in a pattern, paced by rates. A replay (work/replay) has the same reports and much of
 * the same activity, which it takes from here; nothing here knows of it but figures of its result.
 * Streams count on their own threads; all other calls are the conductor's, or the main thread's.
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

/* ---- phase=io: a plain job, as fio has them ---- */

/* Less than so much of the rate that was asked for is a rate missed. */
#define PLAIN_RATE_MET 0.99

extern const struct workload work_io;

/* plain_activity.c, plain.c */
extern const struct activity plain_activity;
extern const struct page plain_page;
extern const struct asked plain_asked;

/* ---- the files of a plain job: which, how large, may they be written ---- */

enum iofile_kind { IOFILE_REGULAR, IOFILE_BLOCK, IOFILE_CHAR };

struct iofile {
	char *path;
	enum iofile_kind kind;
	bool is_missing; /* made before the run */
	dev_t device;    /* of IOFILE_BLOCK */
	uint64_t bytes;  /* its size, or the size it is made with */
	struct pattern_region region;
};

/*
 * With filename= all workers share the files named there, else each has one of its own,
 * directory/$jobname.$jobnum.0. Owned here.
 */
struct iofiles {
	struct iofile *files;
	size_t count;
	bool is_shared;
	uint64_t missing_files, missing_bytes;
	/* For mount_read: the folder of the first file, or the device that it is; "" where no file
	 * is touched. */
	char *directory;
	/* Block devices that are written: held exclusively until fini, so that nobody can mount
	 * them meanwhile. */
	struct blockdev_guards own_guards, *guards;
	VEC(dev_t) held;
};

struct iofiles_request {
	const struct job *job;
	bool readonly, allow_fill;
	const char *allow_device; /* settings.allow_device */
	/* Of all jobs of a run, so that two may write one device; NULL: this job's alone. It
	 * outlives the iofiles. */
	struct blockdev_guards *guards;
};

/*
 * Look at what is there, change nothing: 0, or -errno with err for what must not be (readonly, a
 * block device that is not allowed or in use, no size for a file that is missing, a file too small
 * that may not be extended, a directory, a device that is neither null nor zero nor full, ...). An
 * engine that touches no files gets regions from size= alone. iofiles_fini takes a failed or zeroed
 * one, and comes before the next init.
 *
 * size= is the total of a job, so each of its files has its part; filesize= is each file's. With
 * both, regions are what filesize= and offset= leave and size= is a limit of what all of them move,
 * which is the pattern's.
 */
int iofiles_init(struct iofiles *f, const struct iofiles_request *req, struct mlgen_err *err);
void iofiles_fini(struct iofiles *f);

/* The files of one worker, from 0; their number. */
const struct iofile *iofiles_of(const struct iofiles *f, uint64_t worker, size_t *count);

uint64_t iofiles_largest_missing(const struct iofiles *f); /* bytes */

/* What a path lies in: "." for a lone name. To be freed. */
char *iofiles_folder(const char *path);

/* ---- the names of a plain job's files, where fio has them ---- */

/*
 * filename= is a list with ':' between its entries, '\:' for a colon in a name; relative names lie
 * in directory=. Without it each of numjobs has $jobname.$jobnum.0 there; a '/' in the name of a
 * job is a folder. A job that has the path of a device for its name is about that device.
 */
struct ionames {
	VEC(char *) paths;
	bool is_shared; /* by all of numjobs */
};

/* 0, or -EINVAL with err. */
int ionames_init(struct ionames *n, const struct job *job, struct mlgen_err *err);
void ionames_fini(struct ionames *n); /* takes a zeroed or failed one */

/* directory=, NULL where the job has none. To be freed. */
char *ionames_directory(const struct job *job);

/* ---- one file on its way to be laid out: made, filled in pieces, given its name ---- */

/* As they are made; .NAME.mlgen-part until then. */
extern const struct newfile_kind iopart_kind;

/* ---- what a file that is laid out has in it: bytes that no storage can compress, or only space
 * ---- */

/* What a layout says, which a replay says likewise: of a filesystem that is full, of what is about
 * to be made (time NULL: only space), and CREW_STOPPED of one that was interrupted. */
void iolayout_no_room(const struct newfile *x, const char *left, const char *way_out, char *out,
		      size_t size);
void iolayout_say(const struct job *j, const struct filemaker *m, const char *where,
		  const char *time);
int iolayout_interrupted(const char *directory, uint64_t made_files, uint64_t asked_files,
			 struct mlgen_err *err);

/* As a newfile_kind has it. */
int iocontent_next(void *source, void *buf, size_t size, uint64_t *off, size_t *len,
		   struct mlgen_err *err);

/* All of a file, as newfile_fill. Files of other names have other content, the same name the
 * same. */
int iocontent_fill(struct newfile *x, struct mlgen_err *err);

/* A large file is written in pieces, by several workers at the same time. */
uint64_t iocontent_pieces(uint64_t file_bytes);
int iocontent_fill_piece(struct newfile *x, uint64_t piece, struct mlgen_err *err);

/*
 * Its space, of a file that has some bytes. Where the filesystem cannot give any, a file without
 * content ends with a byte at its end, so that it has its size all the same. 0 or -errno with err.
 */
int iocontent_allocate(struct newfile *x, bool has_content, struct mlgen_err *err);

/* ---- make the files of a plain job that are missing ---- */

struct iolayout {
	const struct iofiles_request *req;
	struct clock *clock;
	struct filemaker_progress *progress;
	uint64_t made_files, made_bytes; /* out */
	bool started;                    /* out: something was made */
};

/* May what is missing be written where it goes, and is there room? Changes nothing; a run asks it
 * before any job has made something, and again behind those. 0, or -errno with err. */
int iolayout_check_writable(struct iofiles *f, const struct iofiles_request *req,
			    struct mlgen_err *err);
int iolayout_check_room(struct iofiles *f, const struct iofiles_request *req,
			struct mlgen_err *err);

/*
 * Says on stderr how much and where, checks the space, writes in parallel through the job's engine.
 * Each file is made whole under a temporary name, .NAME.mlgen-part beside it, and then gets its
 * name; never in the place of a file that is there. Jobs that read get content, synced and dropped
 * from the page cache; those that only write get space (fallocate where the filesystem can). Large
 * files are written in pieces, by several workers at the same time.
 *
 * A killed run leaves temporary files, which the next one removes; one that fails or is stopped
 * leaves whole files and nothing else. 0 or -errno with err; CREW_STOPPED with progress->stop. The
 * calling thread has joined the clock.
 */
int iolayout_run(struct iofiles *f, struct iolayout *l, struct mlgen_err *err);

/* ---- a plain job while it runs: numjobs workers, and what they share ---- */

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

/* ---- one worker of a plain job: its requests, as fast or as paced as it may ---- */

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

/* ---- a plain job in a run, and what a replay has alike ---- */

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

/* Do its requests pass by the page cache: as direct= says where it is given, else as those of the
 * trace that is replayed did? */
bool plain_passes_cache(const struct job *j, bool was_direct);

/* ---- can the requests of a plain job be made, of its files as they are? ---- */

/* Bytes that one worker moves; UINT64_MAX where nothing but time ends it. 0, or -errno with err
 * where its files have no room for a request. */
int requests_bytes(const struct job *j, const struct iofiles *f, uint64_t worker, uint64_t *bytes,
		   struct mlgen_err *err);

/* With direct=1: what O_DIRECT asks for there, and are all sizes and offsets multiples of it? 0, or
 * -errno with err. */
int requests_check_direct(const struct job *j, const struct iofiles *f, uint64_t *align_bytes,
			  struct mlgen_err *err);

/* ---- the dry run of a plain job ---- */

/* Fill p, whose job is set, by looking at the job's files. Always 0: what would stop the run is a
 * check that fails. */
int plan_io(struct plan_report *p, const struct plan_input *in, struct mlgen_err *unused);

/* ---- of any kind of plain job ---- */

/* Where its files lie; NULL = not known. */
char *plan_io_directory(const struct plan_report *p);

/* The checks `data`, `space` and `storage`, by where io.directory is mounted; and `memory`, which
 * may hold what is read again. */
void plan_io_check_mount(struct plan_report *p);
void plan_io_check_memory(struct plan_report *p, bool reads_cached);

/* Lines about the files, which lie `where` their directory is, "in" or "below"; and what is said of
 * memory. */
void plan_io_put_data(FILE *to, const struct plan_report *p, const char *where);
void plan_io_put_memory(struct buf *text, const struct plan_report *p);

/* ---- the text report of a plain job ---- */

/* What a kind of plain jobs has of its own in its report. */
struct text_io_kind {
	/* Below the first line. */
	const struct text_line *answer;
	const struct text_line *settings;
	/* Behind these, before the tables of a plain job; NULL = nothing. */
	void (*table)(struct buf *out, const struct text_block *b);
	/* Ahead of the evidence of any; NULL = none. */
	const struct text_line *evidence;
};

/*
 * One block for a job: `n` records of it one after the other, one for each worker, or one for all
 * of them. The answer, one line per direction as fio has it, the settings, the workers where there
 * are several records, the latencies and the evidence.
 */
void text_io_report(FILE *to, const struct run_result *run, const struct job_result *records,
		    size_t n, enum detail detail);

/* The same of such a kind. */
void text_io_print(FILE *to, const struct run_result *run, const struct job_result *records,
		   size_t n, enum detail detail, const struct text_io_kind *kind);

/* Over which bytes and operations are counted. */
double text_io_seconds(const struct job_result *r);

/* ---- the parts of a plain job's report below its answer ---- */

/* Lines of the settings: how many workers do it and by what means, of which the engine is the first
 * part; so many files, which lie `where` their directory is, "in" or "below". */
void text_io_put_engine(struct buf *text, const struct text_block *b);
void text_io_put_workers(struct buf *text, const struct text_block *b);
void text_io_put_files(struct buf *text, const struct text_block *b, const char *where);

/* What ran, on what: job, workers, files, storage, host. */
extern const struct text_line text_io_settings[];

/* Where time and bytes went. */
extern const struct text_line text_io_evidence[];

/* ---- when the figures of a plain job are not those of the storage ---- */

/*
 * Only two verdicts, by the limits of text.h; where neither holds there is none, since such a
 * job has no demand that could be missed:
 *   memory   reads that did not come from storage, without direct=1
 *   host     the CPUs are busy for 90 % or more
 * Fills io.verdict; its strings belong to the result.
 */
void verdict_fill_io(const struct run_result *run, struct job_result *j);

/* ---- what a plain job and a replay show alike in reports and plans ---- */

/* Members of a struct page. */
#define PLAIN_PAGE                                                                                 \
	.directory = plan_io_directory, .verdict = verdict_fill_io, .seconds = text_io_seconds,    \
	.workers = "workers", .looked_at = "time", .key = "io", .fields = metrics_io_fields,       \
	.has_row = metrics_io_has
