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

struct replay_blocks;
struct replay_cursor;
struct replay_spool;
struct lane_thread;

/* ---- files: their names in the trace, their places here, and missing ones made ---- */

/* A file of the trace is replayed on a file of the same name below `directory`, or on the file
 * itself with replay_files=traced. */
enum replay_file_flag {
	/* The file existed before the trace, so that it has to be made. Without this flag the trace
	 * makes the file, or did not find it. */
	REPLAY_FILE_PRESENT = 1u << 0,
	/* The trace writes, truncates, renames, removes or makes the file, so that it is always
	 * below `directory`. */
	REPLAY_FILE_CHANGED = 1u << 1,
	REPLAY_FILE_FOLDER = 1u << 2,
	/* The trace reads bytes of the file, so that it needs content and not only space. */
	REPLAY_FILE_READ = 1u << 3,
	/* The records that were read so far have made or emptied the file, so that later reads find
	 * what the trace wrote. */
	REPLAY_FILE_MADE = 1u << 4,
	/* The file stands for a block device of which the trace has requests. */
	REPLAY_FILE_DEVICE = 1u << 5,
	/* This name is an alias: another name of the same file is used instead. */
	REPLAY_FILE_ALIAS = 1u << 16,
	REPLAY_FILE_MISSING = 1u << 17,
};

/* A file of the trace; replay_ops_read() fills it. */
struct replay_file {
	uint64_t bytes; /* size before the replay, as far as the trace shows it */
	unsigned flags; /* enum replay_file_flag; 0 = no operation uses this file */
};

struct replay_files {
	const struct job *job;
	struct trace_names *names; /* names in the trace; ids from 1 */
	struct spill list;         /* struct replay_file, by id */
	char *directory;           /* real path of the job's directory */
	/* Filled by replay_files_look(). All names of one file count as one. */
	uint64_t files, bytes; /* files with any flag set, and their total size before the replay */
	uint64_t changed_files; /* including folders */
	uint64_t missing_files, missing_bytes, largest_missing;
	uint64_t missing_folders; /* a folder that several files need is counted for each */
	bool are_devices;         /* files stand for block devices; set by replay_ops_read() */
	bool uses_directory;      /* some files are, or will be, below the directory */
};

void replay_files_init(struct replay_files *f, const struct job *job);
void replay_files_fini(struct replay_files *f); /* accepts a zeroed struct */

/* Return the id of a name, which is added if it is new. A new file has no flags. */
uint32_t replay_files_id(struct replay_files *f, const char *name, size_t bytes);
struct replay_file *replay_file(const struct replay_files *f, uint32_t id);

/* Is the traced file itself used, and not a copy below the directory? Such a file is only read. */
bool replay_file_is_traced(const struct replay_files *f, uint32_t id);

/*
 * Store the path that the replay uses for a file: the directory, followed by the whole path of the
 * trace without "." and with ".." resolved within it, so that no name leads out of the directory;
 * or the name itself if replay_file_is_traced(). 0, or -ENAMETOOLONG. Any thread may call it.
 */
int replay_files_path(const struct replay_files *f, uint32_t id, char out[PATH_MAX]);

/*
 * Find out which files exist and which are missing, without changing any. 0, or -errno with err:
 * the directory holds files that the trace names (replay_files=own); a step below the directory is
 * a symbolic link; another file is in the way; a traced file is missing, too small or unreadable
 * (replay_files=traced); a name is too long. job->directory itself may be missing.
 *
 * The file .mlgen-replay marks a directory that was empty when files were first made in it; its
 * files may be made again. In any other directory that is not empty, nothing is made or changed; it
 * may contain files that are only read and have the right size.
 *
 * Names that lead to one file below the directory become aliases of one name here. This may add
 * names, but operations do not use the added ones.
 */
int replay_files_look(struct replay_files *f, struct mlgen_err *err);

/* May the missing files be made in their places, and is there room for them? */
int replay_files_check_writable(const struct replay_files *f, struct mlgen_err *err);
int replay_files_check_room(const struct replay_files *f, bool allow_fill, struct mlgen_err *err);

struct replay_files_maker {
	struct clock *clock;
	struct filemaker_progress *progress;
	bool allow_fill;
	uint64_t made_files, made_bytes; /* out */
	bool started;                    /* out: at least one file was made */
};

/*
 * Look again and make the missing files and folders, in parallel. Each file has a temporary name
 * until it is complete, synced and dropped from the page cache, like files of plain jobs (plain.h).
 * A file that an earlier replay has made with another size is made again. 0 or -errno with err;
 * POOL_STOPPED with progress->stop.
 */
int replay_files_make(struct replay_files *f, struct replay_files_maker *m, struct mlgen_err *err);

/* ---- shared by replay_files.c and replay_files_make.c ---- */

/* A file in a directory that was empty when a replay first made files there. */
#define REPLAY_MARKER ".mlgen-replay"

/* The length of a directory's path without a final slash: 0 for "/". */
size_t replay_root(const char *directory);

/* Is the file, or will it be, below the directory? */
bool replay_file_is_below(const struct replay_files *f, uint32_t id);

/*
 * Give each file below the directory one name, as "/a/b", and count the files. 0, or -errno with
 * err: a name is too long, or is one of mlgen's own.
 */
int replay_names_settle(struct replay_files *f, struct mlgen_err *err);

/* If the trace itself makes a folder above a file, nothing below that folder is made in advance.
 * Returns the length of the name up to that folder, 0 if there is none. */
size_t replay_names_made_above(const struct replay_files *f, uint32_t id);

/* Refuse a directory that holds files which the trace names: 0 or -errno with err. With is_marked,
 * files that a replay has made are allowed. */
int replay_traced_check_apart(const struct replay_files *f, bool is_marked, struct mlgen_err *err);

/* Check, with replay_files=traced, that the files exist, are large enough and may be read. */
int replay_traced_look(const struct replay_files *f, struct mlgen_err *err);

/* ---- requests of block devices as reads and writes ---- */

/*
 * A trace has two records for each request: issue and completion. If it has no calls on files, a
 * request is replayed as a read or write of a file that stands for the device. Up to 16384 requests
 * are remembered. The end of a request is unknown if the request is older than these, or if its
 * completion was lost. With span_bytes (0 = none), offsets are taken modulo span_bytes, so that
 * sequential requests stay sequential.
 */
struct replay_blocks *replay_blocks_new(uint64_t span_bytes);
void replay_blocks_free(struct replay_blocks *b); /* NULL is fine */

/* Add a record, in the order of starts. Then call replay_blocks_next() until it returns false. */
void replay_blocks_add(struct replay_blocks *b, const struct trace_record *r);

/* Return the next request, in the order of issues, as TRACE_READ or TRACE_WRITE. False if the
 * request is not done yet, or if there is none. With is_end, unfinished requests are returned as
 * well. */
bool replay_blocks_next(struct replay_blocks *b, bool is_end, struct trace_record *out);

/* Number of requests so far whose offset was reduced modulo span_bytes. */
uint64_t replay_blocks_folded(const struct replay_blocks *b);

/* ---- the operations of a replay ---- */

enum replay_flag {
	/* The operation failed in the trace, so it may fail here. */
	REPLAY_MAY_FAIL = 1u << 0,
	/* An access to a page of a mapping: ioengine=mmap touches the page, other engines read
	 * it. */
	REPLAY_TOUCH = 1u << 1,
};

/* An operation. Times are ns since the first operation of the trace. */
struct replay_op {
	uint64_t start_ns;
	uint64_t think_ns;       /* since its worker last began or ended an operation */
	uint64_t off;            /* RENAME: id of the new name */
	uint32_t len_bytes;      /* requested bytes; OPEN: flags of open(2) */
	uint32_t moved_bytes;    /* result; less than len_bytes if a read ends at the end of file */
	uint32_t file;           /* id of a file */
	uint32_t turn;           /* number of earlier operations on its file, or on all files */
	uint16_t in_flight;      /* operations of its worker that were in flight when it began */
	uint16_t turn_in_flight; /* how many of these were in flight when it began */
	uint8_t op;              /* enum mlgen_op */
	uint8_t flags;           /* enum replay_flag */
};

/*
 * The operations of a whole trace, for one job. The trace is read twice, sorted by start in bounded
 * memory. The operations of each worker go to a temporary file without a name (base/files.h), so
 * that memory grows with workers and files, and not with operations.
 *
 * Block requests are replayed only if a trace has no calls on files: otherwise the replayed calls
 * cause requests by themselves.
 *
 * Threads that existed at different times share a worker, and with replay_threads= more threads do.
 * A worker keeps the order of its operations, and begins each with as many others in flight as in
 * the trace.
 */
struct replay_ops {
	const struct job *job;
	uint64_t threads; /* threads of the trace that have operations */
	unsigned workers;
	unsigned depth;                /* most operations in flight of a worker; at least 1 */
	uint64_t operations, bytes[2]; /* read, written */
	uint64_t touches, redirected;
	uint64_t span_ns;       /* time between the first start and the last end */
	uint64_t largest_bytes; /* largest read or write */
	unsigned most_open;     /* files that a worker has open at once */
	size_t longest_name;    /* bytes of the longest name in the trace */
	bool writes;            /* the replay changes at least one file */
	/* If the trace has no calls on files: number of requests to block devices, and of those
	 * beyond replay_span. */
	uint64_t blocks, folded;
	bool is_direct;       /* requests bypass the page cache */
	uint64_t align_bytes; /* all offsets and lengths are multiples of it */
	bool was_incomplete;  /* the trace lost operations, or has no end */
	uint64_t left_operations;
	uint64_t left_writes; /* writes without an offset, among left_operations */
	char left_out[256];   /* text of replay_left_text() */
	/* Operations of the trace over its time, at replay_speed. */
	double slice_seconds;
	struct replay_slice slices[REPLAY_SLICES];
	struct replay_spool *spool;
};

/*
 * Read the trace of a job. The caller passes empty `files`, which receives all files of the trace.
 * 0, or -errno with err: no trace, no operation that could be replayed, more than 4096 threads at a
 * time, no room for the temporary file, or options that do not fit the trace.
 */
int replay_ops_read(struct replay_ops *o, struct replay_files *files, const struct job *job,
		    struct mlgen_err *err);
void replay_ops_fini(struct replay_ops *o); /* accepts a zeroed struct */
/* Fill in the figures of the trace, but not those of the run. */
void replay_fill_asked(struct replay_result *to, const struct replay_ops *o, const struct job *j);

/* A walk over the operations of one worker, on its own thread. */
struct replay_cursor *replay_cursor_new(const struct replay_ops *o, unsigned worker);
void replay_cursor_free(struct replay_cursor *c); /* NULL is fine */
/* 1 and *op, which is valid until the next call; 0 at the end; or -errno with err. */
int replay_cursor_next(struct replay_cursor *c, const struct replay_op **op, struct mlgen_err *err);

/* ---- records that are not replayed, counted by reason ---- */

enum replay_left {
	LEFT_GETDENTS, /* engines have no such operation */
	LEFT_ADVISE,
	LEFT_MAPPING, /* mmap, munmap: only accesses to pages are replayed */
	LEFT_SYSTEM,  /* files of the system and the program (trace_scope_has_path) */
	LEFT_NO_FILE, /* the file has no name */
	LEFT_NO_OFFSET,
	LEFT_FAILED,    /* reads and writes that moved nothing */
	LEFT_TOO_LARGE, /* more than REPLAY_LARGEST_BYTES */
	LEFT_CLOSE,     /* another thread had opened the file */
	LEFT_REASONS
};

struct replay_left_counts {
	uint64_t count[LEFT_REASONS];
	uint64_t writes; /* part of LEFT_NO_OFFSET; files are shorter without them */
};

/* Print "12 getdents, 3 without an offset", or "" if there are none. Returns the sum. */
uint64_t replay_left_text(const struct replay_left_counts *l, char *out, size_t bytes);

/* ---- a record as operations, and what it shows about its file ---- */

/* Is it a read, a write or a page fault? */
bool replay_moves(unsigned op);

/*
 * Convert a record of a file (0 = the file has no name) into *op, except for its times, turn and
 * bytes. Returns 1, or 0 if the record is not replayed. Calls that are not replayed are counted in
 * `left`.
 */
int replay_op_from(struct replay_op *op, const struct trace_record *r, uint32_t file,
		   struct replay_left_counts *left);

/* Add what a record shows about its file before the replay, and what it does to the file. */
void replay_file_add_record(struct replay_file *f, const struct trace_record *r);

/* Add a request to a block device, and extend the file to the end of the request. */
void replay_file_add_device(struct replay_file *f, const struct trace_record *r);

/* The length of a record, which is split into operations of at most REPLAY_MOST_BYTES. */
uint64_t replay_bytes(const struct trace_record *r);

/* ---- the operations of each worker, in a temporary file without a name ---- */

/*
 * Operations of a worker are stored in linked chunks of this size. This takes the memory of a chunk
 * per worker while the file is written, and of a chunk per cursor while it is read. A cursor
 * belongs to one thread; several cursors may read at once.
 */
enum { REPLAY_CHUNK_BYTES = 8 << 10 };

/* Create the file in unnamed_folder(), which avoids the filesystem of `measured` if there is a
 * choice. 0 or -errno with err. */
int replay_spool_new(struct replay_spool **out, const char *measured, struct mlgen_err *err);
void replay_spool_free(struct replay_spool *s); /* NULL is fine */

/* Append an operation of a worker. 0, or -errno with err: no room. */
int replay_spool_add(struct replay_spool *s, unsigned worker, const struct replay_op *op,
		     struct mlgen_err *err);
/* Call after the last operation. 0 or -errno with err. */
int replay_spool_end(struct replay_spool *s, struct mlgen_err *err);

/* ---- number of files that each worker will have open ---- */

/*
 * A worker only uses descriptors of its own. The trace may use a descriptor that another thread
 * opened, or that was open before. The worker then opens the file at its first use, and closes it
 * where the trace does or at the end.
 */
struct replay_opened {
	struct keyed open;   /* uint32_t by worker and file: number of opens */
	struct spill counts; /* uint32_t by worker: number of open files */
	unsigned most;
};

/* Add an operation, in the order of the trace. False if it is a close of a file that the worker
 * does not have open: do not replay that. */
bool replay_opened_add(struct replay_opened *x, unsigned worker, const struct replay_op *op);
unsigned replay_opened_most(const struct replay_opened *x);
void replay_opened_fini(struct replay_opened *x);

/* ---- threads of the trace and workers ---- */

/* A zeroed struct is empty. Memory grows with the threads of the trace. */
struct replay_lanes {
	struct map keys;                 /* process and thread */
	VEC(struct lane_thread) threads; /* ordered by number */
	unsigned workers;
};

/* Add an operation that is replayed, in the order of the trace. */
void replay_lanes_add(struct replay_lanes *l, const struct trace_record *r);

/*
 * Assign threads to workers after all operations were added. Threads that ran at different times
 * share a worker. There are at most `most` workers (0 = no limit), and further threads share them
 * in turn. 0, or -E2BIG with err.
 */
int replay_lanes_share(struct replay_lanes *l, uint64_t most, struct mlgen_err *err);

/* The worker of a record that was added. */
unsigned replay_lanes_of(const struct replay_lanes *l, const struct trace_record *r);
void replay_lanes_fini(struct replay_lanes *l);

/* ---- operations over time ---- */

/* Bytes and operations over time, in slices of `seconds` each. When a time is after the last slice,
 * pairs of slices are merged. */
struct replay_slices {
	double seconds; /* set by the caller before the first add */
	struct replay_slice slices[REPLAY_SLICES];
	uint64_t count; /* number of slices in use */
};

/* Add the bytes of one read or write that ended at that time. */
void replay_slices_add(struct replay_slices *s, double at, uint64_t bytes);

/* Add `b` to `to`. The slices of both become as long as the longer ones; both must have started
 * with the same length. */
void replay_slices_merge(struct replay_slices *to, const struct replay_slices *b);

/* ---- the files that one worker has open ---- */

struct replay_handle {
	struct mlgen_file file;
	uint32_t id; /* file id */
	unsigned in_flight;
	struct replay_handle *next; /* next in the bucket, or in the list of free handles */
	char *path;                 /* path_bytes of memory */
};

/* All handles are allocated before the first operation. */
struct replay_handles {
	struct replay_handle *all, *free;
	struct replay_handle **buckets;
	char *paths;
	size_t count, mask, path_bytes;
};

void replay_handles_init(struct replay_handles *h, size_t count, size_t path_bytes);
void replay_handles_fini(struct replay_handles *h); /* accepts a zeroed struct */

/* The most recently opened handle of a file; NULL if the file is not open. */
struct replay_handle *replay_handles_find(const struct replay_handles *h, uint32_t id);
/* Get a free handle, whose path and file the caller sets; NULL if all are in use. */
struct replay_handle *replay_handles_acquire(struct replay_handles *h, uint32_t id);
/* Free the handle of a file that was closed. */
void replay_handles_release(struct replay_handles *h, struct replay_handle *handle);
/* Any handle that is open; NULL if there is none. */
struct replay_handle *replay_handles_any(const struct replay_handles *h);

/* ---- a worker, which replays the operations of its threads ---- */

/* Operations that begin one after another, on a file or on all files. */
struct replay_turns {
	_Atomic uint32_t begun, done;
};

/* Shared by the workers; streams.own. */
struct replay_shared {
	const struct replay_ops *ops;
	const struct replay_files *files;
	struct replay_turns *turns; /* a struct for each file, or a single one; NULL = no turns */
	struct eventcount turn_changed; /* notified when an operation begins or ends */
	/* The time of the trace that each worker has reached, in ns; UINT64_MAX after its end. */
	_Atomic uint64_t *positions;
};

/* Figures of a worker's operations. Other threads read them only after join. */
struct replay_done {
	uint64_t operations, bytes;
	uint64_t waits, wait_ns; /* waits for workers that were a second late */
	struct replay_slices slices;
};

extern const struct stream_kind stream_replay;

/* Bytes of memory that a worker needs for its requests, and for its open files. */
size_t replay_buffer_bytes(const struct replay_ops *o);
size_t replay_open_bytes(const struct replay_ops *o, const char *directory);

/* ---- a worker, for replay_lane.c and its tests ---- */

/* An operation in flight. */
struct lane_op {
	struct stream_op so;          /* the first member; its io_op.owner is this struct */
	struct replay_handle *handle; /* NULL = the operation is on a name */
	struct replay_turns *turns;
	bool may_fail, is_extra; /* is_extra: not in the trace, and not counted */
	bool is_complete;
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
	uint64_t last_ns;  /* time of the last submission or completion */
	uint64_t limit_ns; /* operations up to this time of the trace need not wait */
	double time_scale; /* 1 / replay_speed */
	/* Start of the operations that are not submitted yet. Operations with the same start are
	 * submitted together, as in the trace. */
	uint64_t batch_start_ns;
	bool has_batch;
	struct replay_done figures;
};

/* ---- the memory that a replay needs ---- */

void replay_need(struct memneed *n, const struct job *j, const struct replay_ops *o,
		 const struct replay_files *f);

/* ---- the text report ---- */

/* Print the report of text_io_report(), with the operations of the trace and those done. */
void replay_text(FILE *to, const struct run_result *run, const struct job_result *records, size_t n,
		 enum detail detail);

/* ---- the dry run ---- */

/* Fill p, whose job is set, from the trace and its files. Always 0; a reason that would stop the
 * run is reported as a failed check. */
int plan_replay(struct plan_report *p, const struct plan_input *in, struct mlgen_err *unused);

/* ---- flags of open(2) ---- */

/*
 * Convert the flags of the trace: a traced file is only read, and some flags cannot be repeated.
 * O_DIRECT follows direct= if that is given, and otherwise the trace. O_APPEND is dropped, as the
 * trace has the offsets. O_NOFOLLOW is added, so that no link leads out of the directory.
 */
int replay_flags(const struct job *j, const struct replay_files *f, uint32_t id, uint32_t traced);

/* The flags for a file whose open the trace does not show. Requests to a device bypassed the page
 * cache in the trace. */
int replay_flags_unseen(const struct job *j, const struct replay_files *f, uint32_t id);
