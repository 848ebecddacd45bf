/* SPDX-License-Identifier: Apache-2.0 */
/* strace_inside.h - what the parts of the reader of strace share: its state, and the call that it
 * is at. */
#pragma once

#include "tracing/import/fdtable.h"
#include "tracing/import/importer.h"
#include "tracing/import/strace_line.h"
#include "tracing/import/strace_tasks.h"
#include "trace/trace.h"

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
