/* SPDX-License-Identifier: Apache-2.0 */
/* replay_internal.h - what the files of work/replay share. */
#pragma once

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/engine.h>
#include <mlgen/err.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/map.h"
#include "base/vec.h"
#include "job/job.h"
#include "report/plan/plan.h"
#include "run/make/make.h"
#include "run/result/result.h"
#include "run/slot/slot.h"
#include "trace/model/model.h"
#include "trace/trace.h"
#include "work/plain/plain.h"
#include "work/replay/replay.h"

/* ---- what replay_files*.c know of each other, and nobody else ---- */

struct replay_blocks;
struct replay_cursor;
struct replay_spool;
struct lane_thread;

/* ---- the files that a replay touches: which the trace names, where they are here, made where they
 * are missing ---- */

/* Replayed onto files of the same names below `directory`, or with replay_files=traced onto those
 * that the trace names. */
enum replay_file_flag {
	/* The trace shows that it was there before: it is made. Without it the trace itself makes
	 * the file, or never found it. */
	REPLAY_FILE_THERE = 1u << 0,
	/* The trace changes it (writes, truncates, renames, removes, makes it): it is below
	 * `directory` in any case. */
	REPLAY_FILE_CHANGED = 1u << 1,
	REPLAY_FILE_FOLDER = 1u << 2,
	/* Its bytes are read, so that it needs content and not only space. */
	REPLAY_FILE_READ = 1u << 3,
	/* The trace has made it, or emptied it, by where it is read to: what is in it from there on
	 * the trace has written. */
	REPLAY_FILE_MADE = 1u << 4,
	/* It stands for a block device, of which the trace has requests. */
	REPLAY_FILE_DEVICE = 1u << 5,
};

/* By id; while the trace is read whoever reads it writes here. */
struct replay_file {
	uint64_t bytes; /* before the replay: what the trace shows of it */
	unsigned flags; /* enum replay_file_flag; 0 = no operation is on it */
};

struct replay_files {
	const struct job *job;
	struct trace_names *names; /* as the trace has them; ids from 1 */
	struct spill list;         /* struct replay_file, by id */
	char *directory;           /* of the job, as a real path */
	/* Found by replay_files_look. Names of one place count as one file. */
	uint64_t files, bytes;  /* that have a flag; what they hold at first */
	uint64_t changed_files; /* of them, and of the folders */
	uint64_t missing_files, missing_bytes, largest_missing;
	/* That something is to be in, which counts once for each. */
	uint64_t missing_folders;
	bool are_devices;    /* by who reads the trace: they stand for such */
	bool uses_directory; /* some are below it, or are to be */
};

/* A zeroed struct is fine for fini. */
void replay_files_init(struct replay_files *f, const struct job *job);
void replay_files_fini(struct replay_files *f);

/* Its id; a new one has no flags. */
uint32_t replay_files_id(struct replay_files *f, const char *name, size_t bytes);
struct replay_file *replay_file(const struct replay_files *f, uint32_t id);

/* Is it replayed on the file that the trace names, and only read? */
bool replay_file_is_traced(const struct replay_files *f, uint32_t id);

/*
 * Where it is here: below the directory the whole path of the trace, without "." and with ".."
 * resolved within it, so that no name leads out of there; of one that replay_file_is_traced, its
 * name. 0, or -ENAMETOOLONG. Any thread.
 */
int replay_files_path(const struct replay_files *f, uint32_t id, char out[PATH_MAX]);

/*
 * What is there, what is missing; changes no file. 0, or -errno with err for what must not be: a
 * directory that holds files which the trace names (replay_files=own), a step below the directory
 * that is a symbolic link, a file in the way, a traced file that is missing, too small or cannot be
 * read (replay_files=traced), a name too long. job->directory itself may be missing: it is made.
 *
 * A directory that was empty when files were made there holds .mlgen-replay from then on, and what
 * is in it may be made anew. In another one that is not empty nothing is made and nothing changed:
 * files that are only read, and as large as in the trace, may be there.
 *
 * Names that lead to one place below the directory become one here, which may add names, but none
 * that an operation has.
 */
int replay_files_look(struct replay_files *f, struct mlgen_err *err);

/* May what is missing be made where it goes, and is there room? */
int replay_files_check_writable(const struct replay_files *f, struct mlgen_err *err);
int replay_files_check_room(const struct replay_files *f, bool allow_fill, struct mlgen_err *err);

struct replay_files_maker {
	struct clock *clock;
	struct filemaker_progress *progress;
	bool allow_fill;
	uint64_t made_files, made_bytes; /* out */
	bool started;                    /* out: something was made */
};

/*
 * Looks anew, and makes what is missing: announced, in parallel, each under a temporary name until
 * it is whole, synced and dropped from the page cache, as files of plain jobs are (plain.h). A
 * file of an earlier replay that has another size is made anew. Folders are made too. 0 or -errno
 * with err; CREW_STOPPED with progress->stop.
 */
int replay_files_make(struct replay_files *f, struct replay_files_maker *m, struct mlgen_err *err);

/* ---- what replay_files*.c know of each other, and nobody else ---- */

/* Flags of a struct replay_file besides those of the trace. */
enum replay_inside_flag {
	/* Another name leads to the same place, and stands for it. */
	REPLAY_FILE_ALIAS = 1u << 16,
	REPLAY_FILE_MISSING = 1u << 17,
};

/* In a directory that was empty when mlgen first made files for a replay there: what lies in it may
 * be made anew. */
#define REPLAY_MARKER ".mlgen-replay"

/* How much of a directory's path stands before what lies in it. */
size_t replay_root(const char *directory);

/* Is it one that lies, or is to lie, below the directory? */
bool replay_file_is_below(const struct replay_files *f, uint32_t id);

/*
 * Give each file below the directory one name, "/a/b", and count. 0, or -errno with err: a name too
 * long, or one that is mlgen's own.
 */
int replay_names_settle(struct replay_files *f, struct mlgen_err *err);

/* Is a folder above a file one that the trace makes itself, or a file of it? Then what is below it
 * is not to be made: the bytes of its name up to there,
 * 0 = none. */
size_t replay_names_made_above(const struct replay_files *f, uint32_t id);

/* Refuse a directory in which files lie that the trace names: 0 or -errno with err. With is_marked,
 * those that lie there because a replay made them do not count. */
int replay_traced_check_apart(const struct replay_files *f, bool is_marked, struct mlgen_err *err);

/* With replay_files=traced: are they there, as large, and may they be read? */
int replay_traced_look(const struct replay_files *f, struct mlgen_err *err);

/* ---- requests of block devices as reads and writes, which a trace has as two records each ---- */

/*
 * Of a trace that has no calls on files: a request is a read or write of a file that stands for its
 * device, from its issue to its completion. Remembers 16384 that were issued: of more than these,
 * and where a completion is lost, nobody knows when the oldest was done.
 */
/* With span_bytes (0 = none) what lies beyond is folded: its offset is the rest of a division by
 * it, so that what is sequential stays so. */
struct replay_blocks *replay_blocks_new(uint64_t span_bytes);
void replay_blocks_free(struct replay_blocks *b); /* NULL is fine */

/* Any record, in the order of starts. Then replay_blocks_next until there is no more. */
void replay_blocks_add(struct replay_blocks *b, const struct trace_record *r);

/* The next request, in the order of issues, as TRACE_READ or TRACE_WRITE; false: it is not done
 * yet, or there is none. At the end all that are left are given. */
bool replay_blocks_next(struct replay_blocks *b, bool is_end, struct trace_record *out);

/* So far, of those given. */
uint64_t replay_blocks_folded(const struct replay_blocks *b);

/* ---- a trace made ready to be replayed: what each worker does, one operation after the other ----
 */

enum replay_flag {
	/* It failed in the trace: it may fail here, too. */
	REPLAY_MAY_FAIL = 1u << 0,
	/* A page of a mapping: touched by ioengine=mmap, else read. */
	REPLAY_TOUCH = 1u << 1,
};

/* One operation. Times are ns of the trace, from its first operation. */
struct replay_op {
	uint64_t start_ns;
	uint64_t think_ns;    /* after what its worker had done before it */
	uint64_t off;         /* RENAME: id of the file that it becomes */
	uint32_t len_bytes;   /* as asked for; OPEN: flags of open(2) */
	uint32_t moved_bytes; /* of a read that ended at the end of the file */
	uint32_t file;        /* id of a file */
	uint32_t turn;        /* how many began before it: on its file, or at all */
	uint16_t under_way;   /* of its worker's, when it began */
	uint16_t beside;      /* of those that `turn` counts */
	uint8_t op;           /* enum mlgen_op */
	uint8_t flags;        /* enum replay_flag */
};

/*
 * What a whole trace comes to, for one job. It is read twice, sorted by start with bounded memory,
 * and what each worker does is put into a temporary file without a name (base/files.h), so that
 * memory grows with workers and files, and not with operations.
 *
 * Block requests are replayed where a trace has nothing else: else they are what the calls came to.
 *
 * Threads of the trace that were there at different times share a worker; so do all with
 * replay_threads=. Of a worker operations keep their order, and as many are under way when one
 * begins as were in the trace.
 */
struct replay_ops {
	const struct job *job;
	uint64_t threads; /* of the trace that have operations */
	unsigned workers;
	unsigned depth;                /* most under way of a worker; 1 and more */
	uint64_t operations, bytes[2]; /* read, written */
	uint64_t touches, redirected;
	uint64_t span_ns;       /* from the first start to the last end */
	uint64_t largest_bytes; /* of a read or write */
	unsigned most_open;     /* files that a worker has open at once */
	size_t longest_name;    /* of the trace, bytes */
	bool writes;            /* something is changed */
	/* It has no calls on files, and these are requests of block devices: reads and writes of
	 * files that stand for them. */
	uint64_t blocks, folded; /* beyond replay_span, of them */
	bool is_direct;          /* they pass the page cache */
	uint64_t align_bytes;    /* what their offsets and lengths divide by */
	bool was_incomplete;     /* the trace lost something, or has no end */
	uint64_t left_operations;
	uint64_t left_writes; /* of them, that have no offset */
	char left_out[256];   /* as replay_result has it */
	/* Asked for, over the time of the trace at replay_speed. */
	double slice_seconds;
	struct replay_slice slices[REPLAY_SLICES];
	struct replay_spool *spool;
};

/*
 * 0, or -errno with err: no trace, one without an operation that could be replayed, more than 65535
 * threads at a time, no room for the temporary file, or options that do not fit to what it has.
 * `files` is empty, and knows all files afterwards.
 */
int replay_ops_read(struct replay_ops *o, struct replay_files *files, const struct job *job,
		    struct mlgen_err *err);
void replay_ops_fini(struct replay_ops *o); /* takes a zeroed one */
/* Fill the figures that the trace asks for, and none of those that were done. */
void replay_asked(struct replay_result *to, const struct replay_ops *o, const struct job *j);

/* The way of one worker through its operations, on its own thread. */
struct replay_cursor *replay_cursor_new(const struct replay_ops *o, unsigned worker);
void replay_cursor_free(struct replay_cursor *c); /* NULL is fine */
/* 1 and *op, until the next call; 0 = that was all; or -errno with err. */
int replay_cursor_next(struct replay_cursor *c, const struct replay_op **op, struct mlgen_err *err);

/* ---- what of a trace is not replayed, counted by its reason ---- */

enum replay_left {
	LEFT_GETDENTS, /* an engine has no such call */
	LEFT_ADVISE,
	LEFT_MAPPING, /* mmap, munmap: pages are touched without */
	LEFT_SYSTEM,  /* on files of the system and the program (trace_scope_has_path) */
	LEFT_NO_FILE, /* nothing names it */
	LEFT_NO_OFFSET,
	LEFT_FAILED,    /* reads and writes, which moved nothing */
	LEFT_TOO_LARGE, /* for a file: REPLAY_LARGEST_BYTES */
	LEFT_CLOSE,     /* of what another thread had opened */
	LEFT_REASONS
};

struct replay_left_counts {
	uint64_t count[LEFT_REASONS];
	uint64_t writes; /* of LEFT_NO_OFFSET: files are shorter without them */
};

/* "12 getdents, 3 without an offset"; "" where there is none. The sum. */
uint64_t replay_left_put(const struct replay_left_counts *l, char *out, size_t bytes);

/* ---- a record of a trace as operations of a replay, and what it shows of its file ---- */

/* A read, write or page of a mapping: of those a replay has bytes. */
bool replay_moves(unsigned op);

/*
 * The operation that a record of this file (0 = it has no name) becomes, into *op, but for its
 * times, its turn and its part: 1. 0: it is none, and counted in `left` where a person would miss
 * it.
 */
int replay_take(struct replay_op *op, const struct trace_record *r, uint32_t file,
		struct replay_left_counts *left);

/* What the record shows of the file before the replay, and what it does to it. */
void replay_take_file(struct replay_file *f, const struct trace_record *r);

/* The same of a request of a block device: all of it up to there is made. */
void replay_take_device(struct replay_file *f, const struct trace_record *r);

/* The whole length of what it moves; one operation has at most REPLAY_MOST_BYTES of it. */
uint64_t replay_bytes(const struct trace_record *r);

/* ---- the operations of each worker of a replay, in a temporary file without a name ---- */

/*
 * Workers have chunks of so many bytes each, of which one knows where the next is: memory is that
 * of a chunk a worker while it is written, and of one chunk a cursor while it is read. A cursor is
 * on one thread; several may read at once.
 */
enum { REPLAY_CHUNK_BYTES = 8 << 10 };

/* In the folder of base/files.h, not on the filesystem of `beside` where there is a choice. 0 or
 * -errno with err. */
int replay_spool_new(struct replay_spool **out, const char *beside, struct mlgen_err *err);
void replay_spool_free(struct replay_spool *s); /* NULL is fine */

/* Behind what this worker does so far. 0, or -errno with err: no room. */
int replay_spool_add(struct replay_spool *s, unsigned worker, const struct replay_op *op,
		     struct mlgen_err *err);
/* Nothing more is added. 0 or -errno with err. */
int replay_spool_end(struct replay_spool *s, struct mlgen_err *err);

/* ---- how many files each worker of a replay will have open ---- */

/*
 * What a worker opens is its own. Where the trace uses a descriptor that another thread has opened,
 * or that was open before, the worker opens the file itself, at its first use, and keeps it until
 * the trace closes it or the end.
 */
struct replay_opened {
	struct keyed open;   /* uint32_t by worker and file: how often it is open */
	struct spill counts; /* uint32_t by worker: all its open files */
	unsigned most;
};

/* In the order of the trace. False: a close of what this worker does not have open, so that it has
 * nothing to do. */
bool replay_opened_take(struct replay_opened *x, unsigned worker, const struct replay_op *op);
unsigned replay_opened_most(const struct replay_opened *x);
void replay_opened_fini(struct replay_opened *x);

/* ---- which worker of a replay does what which thread of the trace did ---- */

/* A zeroed one is empty. Memory grows with the threads of the trace. */
struct replay_lanes {
	struct map keys;                 /* process and thread */
	VEC(struct lane_thread) threads; /* as they are numbered */
	unsigned workers;
};

/* An operation that is replayed; in the order of the trace. */
void replay_lanes_add(struct replay_lanes *l, const struct trace_record *r);

/*
 * All are known: threads that did something at different times share a worker. With `most` (0 = no
 * limit) there are no more than so many, and the others share them in turn. 0, or -E2BIG with err.
 */
int replay_lanes_share(struct replay_lanes *l, uint64_t most, struct mlgen_err *err);

/* Of a record that was added. */
unsigned replay_lanes_of(const struct replay_lanes *l, const struct trace_record *r);
void replay_lanes_fini(struct replay_lanes *l);

/* ---- what was done over time, in so many slices of any length of time ---- */

/* Slices of `seconds` each; a time behind the last of them makes each twice as long, so that two
 * become one. */
struct replay_slices {
	double seconds; /* set before the first is added */
	struct replay_slice slices[REPLAY_SLICES];
	uint64_t count; /* in use */
};

/* So many bytes of one read or write were done, at so many seconds. */
void replay_slices_add(struct replay_slices *s, double at, uint64_t bytes);

/* Both become as long as the longer; `b` goes into `to`. Slices of both are of the same first
 * length. */
void replay_slices_merge(struct replay_slices *to, const struct replay_slices *b);

/* ---- the files that one worker of a replay has open ---- */

struct replay_handle {
	struct mlgen_file file;
	uint32_t id; /* of its file */
	unsigned in_flight;
	struct replay_handle *next; /* in its bucket, or free */
	char *path;                 /* room for it */
};

/* All there will be, made before the first operation; a zeroed one is fine for fini. */
struct replay_handles {
	struct replay_handle *all, *free;
	struct replay_handle **buckets;
	char *paths;
	size_t count, mask, path_bytes;
};

void replay_handles_init(struct replay_handles *h, size_t count, size_t path_bytes);
void replay_handles_fini(struct replay_handles *h);

/* The one that was opened last; NULL = it is not open. */
struct replay_handle *replay_handles_find(const struct replay_handles *h, uint32_t id);
/* A free one, whose path and file the caller sets; NULL = all are taken. */
struct replay_handle *replay_handles_take(struct replay_handles *h, uint32_t id);
/* It is closed. */
void replay_handles_give(struct replay_handles *h, struct replay_handle *handle);
/* Any that is open; NULL = none is. */
struct replay_handle *replay_handles_any(const struct replay_handles *h);

/* ---- one worker of a replay: does what its threads did in the trace ---- */

/* Of those that begin behind one another: of a file, or of all. */
struct replay_turns {
	_Atomic uint32_t begun, done;
};

/* What the workers of a replay share; streams.own. */
struct replay_shared {
	const struct replay_ops *ops;
	const struct replay_files *files;
	struct replay_turns *turns; /* by file, or one; NULL = none */
	struct bell go_on;          /* somebody began, or is done */
	/* Where each worker is: ns of the trace, or UINT64_MAX behind its end. */
	_Atomic uint64_t *positions;
};

/* What a worker has of its own for others, after join; stream.own. */
struct replay_done {
	uint64_t operations, bytes;
	uint64_t waits, wait_ns; /* for threads that were a second behind */
	struct replay_slices slices;
};

extern const struct stream_kind stream_replay;

/* After join; NULL where it was not set up. */
const struct replay_done *replay_done_of(const struct stream *s);

/* What a worker has for its requests, and for files that are open. */
size_t replay_buffer_bytes(const struct replay_ops *o);
size_t replay_open_bytes(const struct replay_ops *o, const char *directory);

/* ---- one worker of a replay, for replay_lane*.c alone ---- */

/* One operation on its way. */
struct lane_op {
	struct stream_op so;          /* the first member: owner of its io_op is this */
	struct replay_handle *handle; /* NULL = by a name */
	struct replay_turns *turns;
	bool may_fail, is_extra; /* not of the trace: it is not counted */
	bool is_back;
};

struct lane {
	struct stream *s;
	struct replay_shared *all;
	struct replay_cursor *cursor;
	struct replay_handles handles;
	struct lane_op *ops, **free;
	unsigned free_count;
	struct io_op **done;
	char path[PATH_MAX], path2[PATH_MAX];
	struct mlgen_file named;
	uint64_t last_ns;  /* its last submission or completion */
	uint64_t limit_ns; /* up to there of the trace it need not look */
	double ns_per_ns;  /* 1 / replay_speed */
	/* Of those that the engine was not given yet: they go together, as they did in the
	 * trace. */
	uint64_t kept_start_ns;
	bool has_kept;
	struct replay_done told;
};

/* ---- what a replay takes of memory, and what can be lowered ---- */

void replay_need(struct memneed *n, const struct job *j, const struct replay_ops *o,
		 const struct replay_files *f);

/* ---- the text report of a replay: that of a plain job, and what was asked and done of its trace
 * ---- */

/* As text_io_report(). */
void replay_text(FILE *to, const struct run_result *run, const struct job_result *records, size_t n,
		 enum detail detail);

/* ---- the dry run of a replay ---- */

/* Fill p, whose job is set, by reading the trace and looking at its files. Always 0: what would
 * stop the run is a check that fails. */
int plan_replay(struct plan_report *p, const struct plan_input *in, struct mlgen_err *unused);

/* ---- how a file of a replay is opened ---- */

/*
 * Flags of open(2), by those that the trace has: what is only read of a traced file, and what a
 * replay can do again elsewhere. With direct= given it is said there whether O_DIRECT is among
 * them, else in the trace. Offsets are those of the trace, so that O_APPEND is not; and no link
 * leads out of the directory.
 */
int replay_flags(const struct job *j, const struct replay_files *f, uint32_t id, uint32_t traced);

/* Where the trace does not show how it was opened. What a device was asked for had passed the page
 * cache. */
int replay_flags_unseen(const struct job *j, const struct replay_files *f, uint32_t id);
