/* SPDX-License-Identifier: Apache-2.0 */
/* import_internal.h - what importers share: tables of calls, of descriptors and of markers. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "trace/trace.h"
#include "tracing/import/import.h"

/* ---- a call on a file, as logs of several programs have it, becomes a record with its place in
 * the file ---- */

enum call_kind {
	CALL_OPEN,
	CALL_CLOSE,
	CALL_MOVES, /* bytes at the position, which goes on */
	CALL_AT,    /* at an offset of its own */
	CALL_SEEK,
	CALL_FILE,   /* anything else of a file, open or by its name */
	CALL_RENAME, /* of two names */
	CALL_DUP,
	CALL_FORK,
	CALL_QUIET, /* moves no byte, and a trace does not have it */
};

struct call {
	const char *name;
	enum call_kind kind;
	uint16_t op;   /* enum trace_op */
	bool is_stdio; /* of the C library, above others */
};

/* By the name of a system call or a function; a 64 at its end, and prefixes of the kernel and of
 * old C libraries, are nothing. NULL = not known. */
const struct call *call_find(const char *name);

/* One of them. */
struct call_seen {
	uint32_t pid, tid;
	uint64_t start_ns, duration_ns; /* TRACE_UNKNOWN = not said */
	int64_t fd;                     /* -1 = not said */
	uint32_t file, becomes;         /* ids of names; 0 = not said */
	uint64_t off;                   /* of it, or what it seeks; TRACE_UNKNOWN */
	uint64_t bytes;                 /* as asked for; TRACE_UNKNOWN */
	uint64_t flags;                 /* of open(2); TRACE_UNKNOWN */
	int64_t whence;                 /* -1 = not said */
	bool has_result;
	int64_t result; /* -errno where it failed */
};

/*
 * Positions of files that are open: by descriptor where the log has those, else by name, of which a
 * process may have one open then.
 */
struct calls;

/* `is_in_order`: calls of all processes come by time. Else a child's may come behind all of its
 * parent's, and it inherits nothing. */
struct calls *calls_new(struct importing *m, bool is_in_order);
void calls_free(struct calls *c); /* NULL is fine */

/* 0 or -errno with err. */
int calls_take(struct calls *c, const struct call *k, const struct call_seen *s,
	       struct mlgen_err *err);

/* Is this descriptor open, by a call that was taken? */
bool calls_knows(const struct calls *c, uint32_t pid, int64_t fd);

/* At the end: notes of what was left out or guessed, and whether its times are those of day
 * (m->no_clock). */
void calls_tell(struct calls *c);

/* ---- what processes had open, and where in it they were, from the calls that a log has ---- */

/*
 * A process (of threads that share descriptors) has a table of descriptors. Each is a reference to
 * an open file, which has one position, whoever moves it: so do copies by dup, and those that a
 * child has from its parent. A log often has no offset of a read: this model knows it.
 *
 * A position is inexact where two processes or threads use the same open file and their calls
 * overlap in time, and where somebody has it whose calls are not in the log. Of a file that was
 * open before the log begins it is not known until a seek says so.
 */
struct fdtable;

struct fd_open {
	uint32_t file; /* id of a name; 0 = it is no file of the trace */
	bool appends;  /* O_APPEND: writes go to the end */
	/* The open was not seen, and O_APPEND may be set: where it writes at its position is
	 * inexact. */
	bool may_append;
	bool is_position_known;
	bool is_shared; /* with somebody unseen: inexact from now on */
	uint64_t position;
	uint64_t end; /* of the file, or TRACE_UNKNOWN; moves with writes */
	unsigned references;
	uint32_t tag;      /* the user's own; 0 at first */
	uint32_t last_tid; /* that moved it, and until when */
	uint64_t last_end_ns;
};

struct fdtable *fdtable_new(void);
void fdtable_free(struct fdtable *t); /* NULL is fine */

/* A new task: one that shares descriptors with its parent (CLONE_FILES), or has a copy of its
 * table. Tasks that nobody introduced have a table of their own. */
void fdtable_fork(struct fdtable *t, uint32_t parent, uint32_t child, bool shares);
void fdtable_exec(struct fdtable *t, uint32_t task); /* closes on exec */
void fdtable_exit(struct fdtable *t, uint32_t task);
void fdtable_unshare(struct fdtable *t, uint32_t task); /* a copy of its own */
/* Somebody whose calls are not in the log has a copy of its table. */
void fdtable_share(struct fdtable *t, uint32_t task);
/* What was open under another name is of this one from now on. */
void fdtable_rename(struct fdtable *t, uint32_t file, uint32_t becomes);

/* What it is from now on, at position 0, of unknown end; whatever was there is closed. Never NULL;
 * `fd` is 0 or more. */
struct fd_open *fdtable_open(struct fdtable *t, uint32_t task, int fd, uint32_t file, bool appends,
			     bool closes_on_exec);
void fdtable_dup(struct fdtable *t, uint32_t task, int from, int to, bool closes_on_exec);
void fdtable_close(struct fdtable *t, uint32_t task, int fd);
/* Both ends included; or close them on exec. */
void fdtable_close_range(struct fdtable *t, uint32_t task, unsigned first, unsigned last,
			 bool on_exec);
void fdtable_close_on_exec(struct fdtable *t, uint32_t task, int fd, bool is_on);

/* NULL = not known to be open. Until the next call that opens or closes. */
struct fd_open *fdtable_find(struct fdtable *t, uint32_t task, int fd);

/*
 * A read or write of so many bytes at the file's own position, from start to end: where it began,
 * or TRACE_UNKNOWN; *flags gets TRACE_OFF_INFERRED, or TRACE_OFF_INEXACT (trace.h). Moves the
 * position.
 */
uint64_t fd_open_advance(struct fd_open *f, uint32_t tid, uint64_t start_ns, uint64_t end_ns,
			 uint64_t bytes, bool is_write, uint16_t *flags);
/* lseek, as it returned. */
void fd_open_seek(struct fd_open *f, uint32_t tid, uint64_t end_ns, uint64_t position);

/* ---- the objects of a log, one after another, whatever stands between them ---- */

/*
 * A line each with or without commas, an array of them that may have no end, or objects over
 * several lines. One that is damaged is an unread line of the log, and what follows is found again:
 * an object ends at the latest where a line begins with the next one. One at a time is in memory,
 * of 1 MiB at most.
 */
struct json_objects {
	struct importing *m;
	struct trace_input in;
	struct mlgen_err *err;
	struct buf text;
	uint64_t line; /* on which the object begins */
	/* Of the text, so far. */
	unsigned depth;
	bool is_string, is_escaped, is_broken;
	char last; /* byte before */
};

/* What is done with one, which is gone then. 0, or -errno with o->err. */
typedef int (*json_objects_take)(void *who, const json_t *object);

/* All of a file, counted in m->tally. 0, or -errno with o->err. */
int json_objects_read(struct json_objects *o, const char *path, json_objects_take take, void *who);
/* This object is of no use, either: as import_unread. */
int json_objects_unread(struct json_objects *o, const char *why);
void json_objects_fini(struct json_objects *o);

/* The first of these members that there is; names end with NULL. NULL = none. */
const json_t *json_member(const json_t *object, const char *const *names);
/* As a whole number, which may stand in quotes. */
bool json_whole(const json_t *value, int64_t *out);
/* The same of a time: of `unit_ns` each, or a fraction of them. */
bool json_time(const json_t *value, uint64_t unit_ns, uint64_t *out);

/* ---- one line of an application's log as the marker that it is ---- */

enum marker_edge { MARKER_POINT, MARKER_BEGINS, MARKER_ENDS };

/* A zeroed one is ready; what is read last stays until the next. */
struct marker_line {
	uint64_t time_ns; /* of day, since 1970 */
	bool is_local;    /* the line had no zone, and this host's was taken */
	enum marker_edge edge;
	uint16_t op;     /* TRACE_EPOCH, STAGE, CHECKPOINT or TEXT */
	uint64_t number; /* as the log has it; TRACE_UNKNOWN = it has none */
	int64_t rank;    /* -1 = not known */
	struct buf name; /* of a stage; save or restore; a text */
	char wrong[256]; /* what is, where a line cannot be read */
};

/*
 * What a line is: 1 = a marker, 0 = none, -1 = it looks like one, and m->wrong says what is wrong
 * with it. Lines end in a zero byte.
 */

/* ":::MLLOG {...}" of MLPerf, with whatever stands before it. */
int marker_line_mllog(struct marker_line *m, const char *line, size_t bytes);
/* Does this first line begin such a table? */
bool marker_line_is_csv(const char *line);

/* "epoch 3 start", "eval_stop", "checkpoint save begin": op, edge, number and name; anything else
 * is TRACE_TEXT. */
void marker_line_words(struct marker_line *m, const char *text, size_t bytes);

void marker_line_fini(struct marker_line *m);

/*
 * A time of day: seconds since 1970, with a fraction or not, or as many ms, us or ns as their size
 * tells, or 2026-02-28T12:00:00.5 with a zone (Z, +01:00) or without. Bytes that it takes; 0 =
 * there is none.
 */
size_t marker_time(const char *s, uint64_t *ns, bool *is_local);

/* ---- a line of what McGill's bpftrace scripts print, taken apart as its header says ---- */

/* What a file has; each script prints one. */
enum mcgill_kind {
	MCGILL_NONE, /* nobody knows */
	MCGILL_READ,
	MCGILL_WRITE,
	MCGILL_OPEN,
	MCGILL_CLOSE,
	MCGILL_CREATE, /* mkdir, rmdir, unlink, creat */
	MCGILL_BLOCK,
	MCGILL_MMAP,
	MCGILL_CLOCK,
	MCGILL_OTHER, /* of the set, and no calls: load of CPUs and such */
};

enum { MCGILL_COLUMNS = 16 };

/* Of a file; a zeroed one has no header yet. */
struct mcgill_form {
	enum mcgill_kind kind;
	unsigned char column[MCGILL_COLUMNS]; /* enum mcgill_column */
	size_t count;
	bool has_sector; /* of MCGILL_BLOCK */
	bool has_queue;  /* the same: time in the queue */
};

struct mcgill_text {
	const char *s; /* in the line; not zero-terminated */
	size_t bytes;
};

/* What was not there is 0, TRACE_UNKNOWN or empty. */
struct mcgill_line {
	uint64_t time_ns; /* when it ended, since boot */
	uint64_t latency_ns;
	uint32_t pid, tid;
	uint16_t op; /* enum trace_op */
	uint64_t off, requested, bytes;
	int64_t result; /* as the call returned */
	bool has_result;
	bool writes;             /* of MCGILL_BLOCK */
	struct mcgill_text disk; /* the same: "sda" */
	struct mcgill_text path, name;
	bool has_name;  /* the form has a place for it */
	unsigned day_s; /* of MCGILL_CLOCK */
};

/* By its name: "trace_read.out". */
enum mcgill_kind mcgill_kind_of_name(const char *path);

/* A header, or what bpftrace itself says: true, and the form follows it. A file that was nobody's
 * gets its kind from it. */
bool mcgill_header(struct mcgill_form *f, const char *line);

/* NULL, or why it cannot be read. */
const char *mcgill_line_take(const struct mcgill_form *f, const char *text,
			     struct mcgill_line *out);

/* ---- the threads and processes of a log of strace, and what of them has to be known ---- */

/* What a mapping of a file is of. */
struct strace_map {
	uint64_t from, to;
	uint32_t file;
};

struct strace_process {
	uint32_t pid, parent; /* 0 = not known */
	uint64_t start_ns;    /* or TRACE_UNKNOWN */
	unsigned threads;     /* that refer to it */
	char *command, *cwd;  /* NULL = not known */
	struct strace_map *maps;
	size_t map_count, map_size; /* by address, without overlap */
};

/* A call that began and has not ended. */
struct strace_pending {
	struct buf text;
	bool is_open;
	uint64_t start_ns;
	const struct strace_row *row; /* NULL = not known */
	int fd;                       /* of a call that moves a position; else -1 */
	uint32_t closed;              /* file that a close has closed already */
	bool has_closed;
	uint32_t child; /* that a fork seems to have made; 0 = none yet */
};

struct strace_task {
	uint32_t tid;
	struct strace_process *process;
	struct strace_pending pending;
	struct strace_task *next; /* of the same place */
	/* Of those whose pending call forks, or moves a position. */
	struct strace_task *before, *behind;
	struct strace_task **list;
};

struct strace_tasks {
	struct strace_task **places;
	size_t size, count;
};

struct strace_task *strace_tasks_find(const struct strace_tasks *t, uint32_t tid);
/* Of a process of its own (NULL), or of one that there is. */
struct strace_task *strace_tasks_add(struct strace_tasks *t, uint32_t tid,
				     struct strace_process *process);
void strace_tasks_remove(struct strace_tasks *t, struct strace_task *task);
/* It is one of that process, or of one of its own (NULL), from now on. */
void strace_task_move(struct strace_task *task, struct strace_process *to);
/* It is called so from now on; nobody else is. */
void strace_tasks_rename(struct strace_tasks *t, struct strace_task *task, uint32_t tid);
/* The one that there is, if there is only one. */
struct strace_task *strace_tasks_only(const struct strace_tasks *t);
void strace_tasks_fini(struct strace_tasks *t);

/* The first in a list, or out of the one that it is in. */
void strace_task_list(struct strace_task *task, struct strace_task **list);
void strace_task_unlist(struct strace_task *task);

/* Command, folder and mappings as the parent has them. */
void strace_process_copy(struct strace_process *to, const struct strace_process *from);
void strace_process_exec(struct strace_process *p);

/* What is there is of this file, or of none (0), from now on. */
void strace_process_map(struct strace_process *p, uint64_t at, uint64_t bytes, uint32_t file);
/* The file of some of it; 0 = none. */
uint32_t strace_process_mapped(const struct strace_process *p, uint64_t at, uint64_t bytes);

/* ---- what the parts of the reader of strace share: its state, and the call that it is at ---- */

/* A file of lines, or the pipe. */
struct strace_source {
	const char *name;
	uint32_t tid;              /* of lines without one; 0 = not known */
	uint64_t days_ns, last_ns; /* of times of day */
	bool has_time;
	bool is_first;    /* nothing was read of it before this line */
	bool is_over;     /* what follows is the summary of -c */
	struct buf begun; /* of a line that a message of strace's cut */
};

/* A request of libaio. */
struct strace_aio {
	uint32_t pid, tid, file;
	uint64_t context, data;
	uint64_t start_ns, off, bytes;
	uint16_t op; /* TRACE_NONE = the place is empty */
	uint16_t flags;
};

enum { STRACE_HELD = 4096, STRACE_AIO = 4096 };

struct strace_reader {
	struct importing *m;
	struct strace_words rows, words; /* of calls; of errors, flags, signals */
	struct fdtable *fds;
	struct strace_tasks tasks;
	struct strace_task *forking, *moving; /* with such a call pending */
	struct strace_source own, *source;
	struct trace_names *folders; /* paths of open ones, by fd_open.tag */
	struct buf line, scratch, path, other;
	bool is_followed; /* lines say whose they are */
	/* Records of a process whose pid nobody has said yet. */
	struct trace_record *held;
	size_t held_count;
	bool is_holding;
	struct strace_aio *aio; /* a ring: the oldest has to go */
	size_t aio_at;
	uint64_t unnamed;  /* calls on descriptors of unknown files */
	uint64_t timeless; /* without a duration */
	uint64_t rings;    /* calls of io_uring */
	uint64_t aio_lost; /* requests whose end nobody saw */
	bool is_of_day;
};

/* As the kernel has them. */
#define STRACE_CLONE_FILES UINT64_C(0x400)
#define STRACE_CLONE_THREAD UINT64_C(0x10000)

/* fd_open.tag of what is open and has no place on storage; others are folders. */
#define STRACE_TAG_CHAR UINT32_MAX

/* The call that is being read, of which everything is known. */
struct strace_event {
	struct strace_reader *r;
	struct strace_task *task;
	const struct strace_row *row;
	struct strace_call call;
	uint64_t start_ns, duration_ns; /* on the trace's clock */
	uint64_t end_ns;                /* start where nobody knows */
	struct mlgen_err *err;
	const char *why; /* what is wrong with it */
};

/*
 * A kind of call. `take` gives 0, STRACE_BAD (with e->why), or -errno. `at` is the argument with
 * the folder and `arg` that with the path or descriptor; -1 = none.
 */
enum { STRACE_BAD = 1 };
enum strace_trait {
	STRACE_MOVES = 1, /* a position, of the descriptor in `arg` */
	STRACE_FORKS = 2,
	STRACE_CLOSES = 4, /* before it has ended */
	STRACE_WRITES = 8,
	STRACE_AT = 16, /* an offset stands behind the length */
};

struct strace_row {
	const char *name;
	int (*take)(struct strace_event *e);
	int at, arg;
	unsigned traits;
	uint16_t op;
};

/* All rows, and the words that stand for numbers. */
void strace_tables_fill(struct strace_words *calls, struct strace_words *words);
/* NULL = no such name; take NULL = there is nothing to be done. */
const struct strace_row *strace_row_of(const struct strace_reader *r, struct strace_text name);

/* ---- what calls need ---- */

int strace_bad(struct strace_event *e, const char *why);

/* A number as an argument; 0 or STRACE_BAD. */
int strace_arg(struct strace_event *e, size_t arg, uint64_t *value);

/* A descriptor of a call, and what it is of. */
struct strace_ref {
	int fd;
	struct fd_open *open; /* NULL = nobody knows */
};

/* What stands behind it counts where it is there. 0 or STRACE_BAD. */
int strace_ref(struct strace_event *e, int arg, struct strace_ref *ref);
/* Is it of a file, that has bytes on storage? Else it is counted if it is not known. */
bool strace_ref_is_file(struct strace_event *e, const struct strace_ref *ref);

/* Without -yy a path has to say whether it is of a character device. */
bool strace_is_char(const char *path);

/* The folder that a path begins at (-1: where the process is), in r->path; empty = not known. 0 or
 * STRACE_BAD. */
int strace_folder(struct strace_event *e, int at);
/* The path of an argument, with that of its folder, in r->path; 0, STRACE_BAD, or 2: the call did
 * not get that far. */
enum { STRACE_NO_PATH = 2 };
int strace_path(struct strace_event *e, int at, int arg);
/* The file of r->path. */
uint32_t strace_path_file(struct strace_event *e);

/* One record with the times of the call. */
struct strace_what {
	uint16_t op, flags;
	uint32_t file;
	uint64_t off, bytes;
	int64_t result;
};
int strace_emit(struct strace_event *e, const struct strace_what *what);

/* Where a read or write was of which `done` bytes were moved (or -errno): at *off, or with NULL at
 * its own position. */
uint64_t strace_move(struct strace_event *e, const struct strace_ref *ref, bool is_write,
		     const uint64_t *off, int64_t done, uint16_t *flags);

/* The task of a number, known or new. */
struct strace_task *strace_task_of(struct strace_reader *r, uint32_t tid, uint64_t now_ns);
int strace_exited(struct strace_event *e, struct strace_text status);
/* A process without a name says its number. */
int strace_learn_pid(struct strace_reader *r, struct strace_task *task, uint32_t pid,
		     struct mlgen_err *err);

/* ---- calls ---- */

int strace_take_fork(struct strace_event *e);
int strace_take_exec(struct strace_event *e);
int strace_take_unshare(struct strace_event *e);
int strace_take_own_pid(struct strace_event *e);

int strace_take_submit(struct strace_event *e);
int strace_take_events(struct strace_event *e);
int strace_take_ring(struct strace_event *e);
/* What is under way: nobody saw the end. */
int strace_aio_flush(struct strace_reader *r, struct mlgen_err *err);
