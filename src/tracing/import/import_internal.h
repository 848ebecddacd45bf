/* SPDX-License-Identifier: Apache-2.0 */
/* import_internal.h - shared parts of the importers: calls, descriptors, JSON, markers, strace. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "trace/trace.h"
#include "tracing/import/import.h"

/* ---- file calls of any log become records with an offset ---- */

enum call_kind {
	CALL_OPEN,
	CALL_CLOSE,
	CALL_TRANSFER, /* reads or writes at the file position and moves it */
	CALL_AT,       /* acts at an offset given as an argument */
	CALL_SEEK,
	CALL_FILE,   /* any other call on an open file or a path */
	CALL_RENAME, /* has two names */
	CALL_DUP,
	CALL_FORK,
	CALL_IGNORED, /* is not recorded in a trace and moves no position */
};

struct call {
	const char *name;
	enum call_kind kind;
	uint16_t op;   /* enum trace_op */
	bool is_stdio; /* a stdio function, which makes system calls of its own */
};

/* Look up a system call or C function by name, ignoring a trailing 64 and the prefixes of the
 * kernel and of old C libraries. NULL = unknown. */
const struct call *call_find(const char *name);

/* A call as it is in the log. */
struct call_event {
	uint32_t pid, tid;
	uint64_t start_ns, duration_ns; /* TRACE_UNKNOWN = not in the log */
	int64_t fd;                     /* -1 = not in the log */
	uint32_t file, becomes;         /* ids of the file and of a rename's target; 0 = none */
	uint64_t off;                   /* offset, or distance of a seek; TRACE_UNKNOWN */
	uint64_t bytes;                 /* requested; TRACE_UNKNOWN = not in the log */
	uint64_t flags;                 /* flags of open(2); TRACE_UNKNOWN = not in the log */
	int64_t whence;                 /* seeks only; -1 = not in the log */
	bool has_result;
	int64_t result; /* return value, or -errno */
};

/*
 * Positions of open files. Files are identified by descriptor if the log has descriptors, otherwise
 * by name, assuming that a process opens a file only once at a time.
 */
struct calls;

/* `is_in_order`: calls of all processes are sorted by time. Otherwise the calls of a child may
 * follow all calls of its parent, and the child inherits no descriptors. */
struct calls *calls_new(struct importing *m, bool is_in_order);
void calls_free(struct calls *c); /* NULL is fine */

/* Add a call: append its record to the trace, and apply its effect to the open files. 0 or -errno
 * with err. */
int calls_add(struct calls *c, const struct call *k, const struct call_event *s,
	      struct mlgen_err *err);

/* Has an earlier call opened this descriptor? */
bool calls_has_fd(const struct calls *c, uint32_t pid, int64_t fd);

/* Call at the end: note what was left out or guessed, and set m->no_clock if the log's times are
 * not times of day. */
void calls_add_notes(struct calls *c);

/* ---- pointers by number: tasks by id, open files by descriptor ---- */

/* Zeroed = empty. The owner frees `slots`. */
struct id_map {
	struct id_slot {
		void *value; /* NULL = unused slot */
		uint32_t key;
		bool closes_on_exec; /* descriptors only */
	} * slots;
	size_t count, size; /* size: a power of two; at most three quarters are used */
};

/* NULL = no such key. */
void *id_map_find(const struct id_map *m, uint32_t key);
/* Add a key, or replace its value. Returns its slot, valid until the next change. */
struct id_slot *id_map_set(struct id_map *m, uint32_t key, void *value);
/* Remove a key that is there. */
void id_map_remove(struct id_map *m, uint32_t key);

/* ---- the descriptors of processes and the positions of their open files ---- */

/*
 * Threads that share descriptors share a table. A descriptor refers to an open file, which has one
 * position; copies made by dup or fork refer to the same open file. Logs often omit the offset of a
 * read; this model infers it.
 *
 * A position is inexact if calls of two tasks on one open file overlap in time, or if a task
 * without calls in the log shares the file. The position of a file opened before the log begins is
 * unknown until a seek.
 */
struct fdtable;

struct fd_open {
	uint32_t file; /* id of a name; 0 = not a file of the trace */
	bool appends;  /* O_APPEND: writes go to the end */
	/* The open is not in the log and may have set O_APPEND: offsets of writes are inexact. */
	bool may_append;
	bool is_position_known;
	bool is_shared; /* a task that is not in the log shares it: inexact from now on */
	uint64_t position;
	uint64_t end; /* size of the file, updated by writes; TRACE_UNKNOWN */
	unsigned references;
	uint32_t tag;      /* free for the user of this table; 0 at first */
	uint32_t last_tid; /* the task whose call moved the position last, until last_end_ns */
	uint64_t last_end_ns;
};

struct fdtable *fdtable_new(void);
void fdtable_free(struct fdtable *t); /* NULL is fine */

/* Add a task that shares the descriptors of its parent (CLONE_FILES) or copies them. A task
 * without this call starts with an empty table. */
void fdtable_fork(struct fdtable *t, uint32_t parent, uint32_t child, bool shares);
void fdtable_exec(struct fdtable *t, uint32_t task); /* applies close-on-exec */
void fdtable_exit(struct fdtable *t, uint32_t task);
void fdtable_unshare(struct fdtable *t, uint32_t task); /* gives the task a copy */
/* Mark the task's open files as shared with a task whose calls are not in the log. */
void fdtable_mark_shared(struct fdtable *t, uint32_t task);
/* Apply a rename: open files with the name `file` have the name `becomes` from now on. */
void fdtable_rename(struct fdtable *t, uint32_t file, uint32_t becomes);

/* Open a file at position 0 with unknown end, closing `fd` first if it is open. `fd` must not be
 * negative. Never NULL; for the lifetime see fdtable_find. */
struct fd_open *fdtable_open(struct fdtable *t, uint32_t task, int fd, uint32_t file, bool appends,
			     bool closes_on_exec);
void fdtable_dup(struct fdtable *t, uint32_t task, int from, int to, bool closes_on_exec);
void fdtable_close(struct fdtable *t, uint32_t task, int fd);
/* Close first to last, both included, or set their close-on-exec flag. */
void fdtable_close_range(struct fdtable *t, uint32_t task, unsigned first, unsigned last,
			 bool on_exec);
void fdtable_close_on_exec(struct fdtable *t, uint32_t task, int fd, bool is_on);

/* NULL = not known to be open. Valid until the next call that opens or closes. */
struct fd_open *fdtable_find(struct fdtable *t, uint32_t task, int fd);

/*
 * Move the position by a read or write of `bytes` that ran from start to end. Returns the offset at
 * which the call began, or TRACE_UNKNOWN. Adds TRACE_OFF_INFERRED to *flags, and TRACE_OFF_INEXACT
 * if the offset may be wrong.
 */
uint64_t fd_open_advance(struct fd_open *f, uint32_t tid, uint64_t start_ns, uint64_t end_ns,
			 uint64_t bytes, bool is_write, uint16_t *flags);
/* Set the position that a seek returned. */
void fd_open_seek(struct fd_open *f, uint32_t tid, uint64_t end_ns, uint64_t position);

/* ---- a log of JSON objects ---- */

/*
 * The log may be one object per line, with or without commas, an array that may lack its end, or
 * objects spanning several lines. A damaged object counts as an unread line; reading resumes at the
 * next line that begins with an object. One object of at most 1 MiB is in memory at a time.
 */
struct json_objects {
	struct importing *m;
	struct trace_input in;
	struct mlgen_err *err;
	struct buf text;
	uint64_t line; /* first line of the object */
	/* State of the scan of `text`. */
	unsigned depth;
	bool is_string, is_escaped, is_broken;
	char last; /* previous byte */
};

/* Called for each object, which is freed afterwards. 0, or -errno with o->err. */
typedef int (*json_object_fn)(void *arg, const json_t *object);

/* Read a file and count its objects in m->tally. 0, or -errno with o->err. */
int json_objects_read(struct json_objects *o, const char *path, json_object_fn each, void *arg);
/* Count the current object as unread. Returns as import_count_unread does. */
int json_objects_unread(struct json_objects *o, const char *why);
void json_objects_fini(struct json_objects *o);

/* The alternative names of a member in versions of a program. */
#define ANY_OF(...) ((const char *const[]){ __VA_ARGS__, NULL })
/* The first member that is present and not null; `names` ends with NULL. NULL = none. */
const json_t *json_member(const json_t *object, const char *const *names);
/* Read a whole number, which may be in quotes. */
bool json_whole(const json_t *value, int64_t *out);
/* Read a time, whole or fractional, in units of `unit_ns`. */
bool json_time(const json_t *value, uint64_t unit_ns, uint64_t *out);

/* ---- markers: a line of an application's log ---- */

enum marker_edge { MARKER_POINT, MARKER_BEGINS, MARKER_ENDS };

/* The marker read last; valid until the next line. A zeroed struct is ready for use. */
struct marker_line {
	uint64_t time_ns; /* since 1970 */
	bool is_local;    /* the line has no zone, and this host's was assumed */
	enum marker_edge edge;
	uint16_t op;     /* TRACE_EPOCH, STAGE, CHECKPOINT or TEXT */
	uint64_t number; /* number in the log; TRACE_UNKNOWN = none */
	int64_t rank;    /* -1 = unknown */
	struct buf name; /* a stage's name, "save" or "restore", or the text */
	char wrong[256]; /* why the line cannot be read */
};

/* Parse ":::MLLOG {...}" of MLPerf, with or without a prefix. The line is zero-terminated. 1 = a
 * marker, 0 = none, -1 = a damaged marker, with the reason in m->wrong. */
int marker_line_mllog(struct marker_line *m, const char *line, size_t bytes);
/* Does this first line of a log begin a table of time,text? */
bool marker_line_is_csv(const char *line);

/* Parse words such as "epoch 3 start", "eval_stop" or "checkpoint save begin" into op, edge, number
 * and name. Any other text is TRACE_TEXT. */
void marker_line_words(struct marker_line *m, const char *text, size_t bytes);

void marker_line_fini(struct marker_line *m);

/*
 * Parse a time of day: seconds since 1970, optionally with a fraction; ms, us or ns since 1970,
 * told apart by their magnitude; or 2026-02-28T12:00:00.5 with or without a zone (Z, +01:00).
 * Returns the number of bytes parsed; 0 = no time.
 */
size_t marker_time(const char *s, uint64_t *ns, bool *is_local);

/* ---- a line printed by McGill's bpftrace scripts ---- */

/* The kind of lines in a file; each script prints one kind. */
enum mcgill_kind {
	MCGILL_NONE, /* unknown */
	MCGILL_READ,
	MCGILL_WRITE,
	MCGILL_OPEN,
	MCGILL_CLOSE,
	MCGILL_CREATE, /* mkdir, rmdir, unlink, creat */
	MCGILL_BLOCK,
	MCGILL_MMAP,
	MCGILL_CLOCK,
	MCGILL_OTHER, /* part of the set, but without calls, such as CPU load */
};

enum { MCGILL_COLUMNS = 16 };

/* The columns of a file; zeroed = no header read yet. */
struct mcgill_format {
	enum mcgill_kind kind;
	unsigned char column[MCGILL_COLUMNS]; /* enum mcgill_column */
	size_t count;
	bool has_sector; /* MCGILL_BLOCK only */
	bool has_queue;  /* MCGILL_BLOCK only: has the time in the queue */
};

struct mcgill_text {
	const char *s; /* part of the line, not zero-terminated */
	size_t bytes;
};

/* A parsed line. Absent values are 0, TRACE_UNKNOWN or empty. */
struct mcgill_line {
	uint64_t time_ns; /* end of the call, since boot */
	uint64_t latency_ns;
	uint32_t pid, tid;
	uint16_t op; /* enum trace_op */
	uint64_t off, requested, bytes;
	int64_t result; /* return value */
	bool has_result;
	bool writes;             /* MCGILL_BLOCK only */
	struct mcgill_text disk; /* MCGILL_BLOCK only: "sda" */
	struct mcgill_text path, name;
	bool has_name;  /* the format has a column for the name */
	unsigned day_s; /* MCGILL_CLOCK only: seconds since midnight */
};

/* The kind by file name, such as "trace_read.out". */
enum mcgill_kind mcgill_kind_of_name(const char *path);

/* Parse a header: set the columns, and the kind if it is unknown. True: the line is a header, or a
 * message of bpftrace itself. */
bool mcgill_header_parse(struct mcgill_format *f, const char *line);

/* NULL, or why the line cannot be read. */
const char *mcgill_line_parse(const struct mcgill_format *f, const char *text,
			      struct mcgill_line *out);

/* ---- strace: threads and processes ---- */

/* A mapping of a file, from the address `from` up to but not including `to`. */
struct strace_map {
	uint64_t from, to;
	uint32_t file;
};

struct strace_process {
	uint32_t pid, parent; /* 0 = unknown */
	uint64_t start_ns;    /* or TRACE_UNKNOWN */
	unsigned threads;     /* number of tasks that refer to it */
	char *command, *cwd;  /* NULL = unknown */
	struct strace_map *maps;
	size_t map_count, map_size; /* sorted by address, without overlap */
};

/* The unfinished call of a task. */
struct strace_pending {
	struct buf text;
	bool is_open;
	uint64_t start_ns;
	const struct strace_row *row; /* NULL = unknown call */
	int fd;                       /* descriptor whose position the call moves; -1 = none */
	uint32_t closed;              /* file of a close, which is applied when the call starts */
	bool has_closed;
	uint32_t child; /* presumed child of a fork that has not returned; 0 = none */
};

struct strace_task {
	uint32_t tid;
	struct strace_process *process;
	struct strace_pending pending;
	/* Links in one of the lists `forking` and `moving` of the reader. */
	struct strace_task *prev, *next;
	struct strace_task **list;
};

/* Tasks by thread id are an id_map. Add a task to `process`, or to a new process (NULL). */
struct strace_task *strace_tasks_add(struct id_map *t, uint32_t tid,
				     struct strace_process *process);
void strace_tasks_remove(struct id_map *t, struct strace_task *task);
/* Move a task to another process, or to a new one (NULL). */
void strace_task_move(struct strace_task *task, struct strace_process *to);
/* Change the id of a task; `tid` must be unused. */
void strace_tasks_rename(struct id_map *t, struct strace_task *task, uint32_t tid);
/* The only task; NULL = none or several. */
struct strace_task *strace_tasks_only(const struct id_map *t);
void strace_tasks_fini(struct id_map *t);

/* Add a task at the head of a list, or remove it from its list. A task is in at most one list. */
void strace_task_link(struct strace_task *task, struct strace_task **list);
void strace_task_unlink(struct strace_task *task);

/* A fork: copy command, working directory and mappings. */
void strace_process_copy(struct strace_process *to, const struct strace_process *from);

/* Map a range to `file`, or unmap it (0). */
void strace_process_map(struct strace_process *p, uint64_t at, uint64_t bytes, uint32_t file);
/* The file mapped anywhere in a range; 0 = none. */
uint32_t strace_process_mapped(const struct strace_process *p, uint64_t at, uint64_t bytes);

/* ---- strace: state of the reader and its current call ---- */

/* A log file or pipe. */
struct strace_source {
	const char *name;
	uint32_t tid;              /* task of lines without a thread id; 0 = unknown */
	uint64_t days_ns, last_ns; /* ns of the midnights passed; the last time read */
	bool has_time;
	bool is_first;      /* the current line is the first one with a time */
	bool is_over;       /* the rest is the summary of -c */
	struct buf partial; /* beginning of a line that a message of strace interrupted */
};

/* A request of libaio in flight. */
struct strace_aio {
	uint32_t pid, tid, file;
	uint64_t context, data;
	uint64_t start_ns, off, bytes;
	uint16_t op; /* TRACE_NONE = unused slot */
	uint16_t flags;
};

enum { STRACE_HELD_MAX = 4096, STRACE_AIO_MAX = 4096 };

struct strace_reader {
	struct importing *m;
	struct strace_words rows, words; /* names of calls; names of errors, flags and signals */
	struct fdtable *fds;
	struct id_map tasks;
	struct strace_task *forking, *moving; /* tasks that are forking, or moving a position */
	struct strace_source own, *source;
	struct trace_names *folders; /* paths of open directories, by fd_open.tag */
	struct buf line, scratch, path;
	bool is_followed; /* -f: lines have a thread id */
	/* Records of a process whose pid is not known yet. */
	struct trace_record *held;
	size_t held_count;
	bool is_holding;
	struct strace_aio *aio; /* a ring; a new request replaces the oldest */
	size_t aio_at;
	uint64_t unknown_fds;      /* calls on descriptors of unknown files */
	uint64_t without_duration; /* calls without a duration */
	uint64_t uring_calls;      /* calls of io_uring_enter */
	uint64_t aio_lost;         /* libaio requests without a completion */
	bool is_of_day;            /* times have no date */
};

/* Values of include/uapi/linux/sched.h. */
#define STRACE_CLONE_FILES UINT64_C(0x400)
#define STRACE_CLONE_THREAD UINT64_C(0x10000)

/* fd_open.tag of a character device; other tags are ids of directories. */
#define STRACE_TAG_CHAR UINT32_MAX

/* The call that is being applied. */
struct strace_event {
	struct strace_reader *r;
	struct strace_task *task;
	const struct strace_row *row;
	struct strace_call call;
	uint64_t start_ns, duration_ns; /* times of the trace's clock */
	uint64_t end_ns;                /* the start if the duration is unknown */
	struct mlgen_err *err;
	const char *why; /* the reason of STRACE_BAD */
};

/*
 * A kind of call. `apply` updates the model and adds records; it returns 0, STRACE_BAD with e->why,
 * or -errno. `at` is the index of the directory argument, `arg` that of the path or descriptor; in
 * a call on a range of a file, those of the offset and the length. -1 = none.
 */
enum { STRACE_BAD = 1 };
enum strace_trait {
	STRACE_MOVES_POSITION = 1, /* position of the descriptor in `arg` */
	STRACE_FORKS = 2,
	STRACE_CLOSES = 4, /* frees its descriptor before it returns */
	STRACE_WRITES = 8,
	STRACE_HAS_OFFSET = 16, /* offset is the argument after the length */
	STRACE_VECTOR = 32,     /* has an iovec instead of a length */
};

struct strace_row {
	const char *name;
	int (*apply)(struct strace_event *e);
	int at, arg;
	unsigned traits;
	uint16_t op;
};

/* Fill the names of calls and the symbolic constants. */
void strace_tables_fill(struct strace_words *calls, struct strace_words *words);
/* NULL = unknown call; a row without `apply` is a call to ignore. */
const struct strace_row *strace_row_of(const struct strace_reader *r, struct strace_text name);

/* ---- strace: helpers for calls ---- */

/* Sum of the lengths in a list of iovecs in []. TRACE_UNKNOWN if strace cut the list, which then
 * ends in "...". */
uint64_t strace_iovec_bytes(struct strace_text list);

/* Set e->why and return STRACE_BAD. */
int strace_bad(struct strace_event *e, const char *why);

/* Read a number from an argument. 0 or STRACE_BAD. */
int strace_arg(struct strace_event *e, size_t arg, uint64_t *value);

/* A descriptor argument and its open file. */
struct strace_ref {
	int fd;
	struct fd_open *open; /* NULL = unknown */
};

/* Read a descriptor argument. An annotation overrides the model. 0 or STRACE_BAD. */
int strace_ref(struct strace_event *e, int arg, struct strace_ref *ref);
/* Does the descriptor refer to a file on storage? An unknown open file is counted in
 * r->unknown_fds. */
bool strace_ref_is_file(struct strace_event *e, const struct strace_ref *ref);

/* Is the path a character device? Only strace -yy shows this for certain. */
bool strace_is_char(const char *path);

/* Set r->path to the directory in argument `at`, or to the working directory (-1); empty =
 * unknown. 0 or STRACE_BAD. */
int strace_folder(struct strace_event *e, int at);
/* Set r->path to the path in argument `arg`, relative to the directory in `at`. 0, STRACE_BAD, or
 * STRACE_NO_PATH if strace printed no string. */
enum { STRACE_NO_PATH = 2 };
int strace_path(struct strace_event *e, int at, int arg);
/* The file id of r->path; 0 = empty path. */
uint32_t strace_path_file(struct strace_event *e);

/* The parts of a record that differ from call to call. */
struct strace_record {
	uint16_t op, flags;
	uint32_t file;
	uint64_t off, bytes;
	int64_t result;
};
/* Add a record with the task and times of the current call. 0 or -errno with e->err. */
int strace_emit(struct strace_event *e, const struct strace_record *rec);

/* Return the offset of a read or write: *off, or the file position if `off` is NULL. `done` is the
 * number of bytes moved, or -errno. Updates the position and the end of the file. */
uint64_t strace_transfer_offset(struct strace_event *e, const struct strace_ref *ref, bool is_write,
				const uint64_t *off, int64_t done, uint16_t *flags);

/* The task of a thread id, added if new. */
struct strace_task *strace_task_of(struct strace_reader *r, uint32_t tid, uint64_t now_ns);
/* Apply a line "+++ exited with 0 +++" of the task. */
int strace_exited(struct strace_event *e, struct strace_text status);
/* Set the pid of the task whose pid was unknown, and add its stored records. `task` NULL: the pid
 * remains unknown. */
int strace_learn_pid(struct strace_reader *r, struct strace_task *task, uint32_t pid,
		     struct mlgen_err *err);

/* ---- strace: calls that create tasks, and asynchronous requests ---- */

int strace_apply_fork(struct strace_event *e);
int strace_apply_exec(struct strace_event *e);
int strace_apply_unshare(struct strace_event *e);
int strace_apply_own_pid(struct strace_event *e);

int strace_apply_submit(struct strace_event *e);
int strace_apply_events(struct strace_event *e);
int strace_apply_ring(struct strace_event *e);
/* Add the requests without a completion. 0 or -errno with err. */
int strace_aio_flush(struct strace_reader *r, struct mlgen_err *err);
