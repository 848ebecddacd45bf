/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_events.h - structures shared by the programs in the kernel and mltrace. */
#pragma once

#include <stdint.h>

/* System calls independent of the machine; bpf_kernel.c has their numbers. */
enum capture_call {
	CALL_NONE = 0,
	CALL_READ, /* at the position of the open file */
	CALL_WRITE,
	CALL_PREAD,
	CALL_PWRITE,
	CALL_READV,
	CALL_WRITEV,
	CALL_PREADV,
	CALL_PWRITEV,
	CALL_PREADV2,
	CALL_PWRITEV2,
	CALL_CLOSE,
	CALL_DUP2, /* closes the file that the new descriptor had */
	CALL_OPEN,
	CALL_CREAT,
	CALL_OPENAT,
	CALL_OPENAT2,
	CALL_FSTAT,
	CALL_STAT,
	CALL_NEWFSTATAT,
	CALL_STATX,
	CALL_FSYNC,
	CALL_FDATASYNC,
	CALL_SYNC_RANGE,
	CALL_RENAME,
	CALL_RENAMEAT,
	CALL_UNLINK,
	CALL_UNLINKAT,
	CALL_MKDIR,
	CALL_MKDIRAT,
	CALL_RMDIR,
	CALL_GETDENTS,
	CALL_MMAP,
	CALL_MUNMAP,
	CALL_FALLOCATE,
	CALL_FTRUNCATE,
	CALL_FADVISE,
	CALL_MADVISE,
	CALL_SENDFILE,
	CALL_COPY_RANGE,
	CALL_SPLICE,
	CALL_IO_SUBMIT,
	CALL_IO_GETEVENTS,
};

/* System calls with a higher number are not recorded. */
#define CALL_NUMBERS 512

/* Set before the programs are loaded; the programs see constants. */
struct capture_settings {
	uint64_t wake_bytes; /* mltrace is woken when the ring holds this many bytes */
	uint8_t page_shift;
	uint8_t call_of[CALL_NUMBERS]; /* enum capture_call */
};

/* Written by both sides while the programs run. */
struct capture_shared {
	uint32_t reader_sleeps; /* mltrace sets 1, the program that wakes it sets 0 */
	uint32_t tasks_added;   /* number of tasks added by iterations over all tasks */
	uint32_t next_request;
};

/* Longest path; an event has one or two. */
#define EVENT_PATH_BYTES 4096

enum event_kind {
	EVENT_CALL = 1,     /* struct capture_event alone */
	EVENT_NAME,         /* struct capture_name: the name of a file */
	EVENT_PATHS,        /* struct capture_paths: a call by path */
	EVENT_ASYNC_SUBMIT, /* the event alone; `number` is the request's */
	EVENT_ASYNC_END,    /* the request and its completion */
	EVENT_TASK,  /* a new task, or with EVENT_SEEN a running task; result: the creator's tid */
	EVENT_EXEC,  /* struct capture_text: the command line */
	EVENT_EXIT,  /* struct capture_text: the task's name */
	EVENT_BLOCK, /* dev: the whole disk; ino: 0 */
};

/* Bits of capture_event.more. */
enum {
	EVENT_IS_THREAD = 2,   /* not the only thread of its process */
	EVENT_IS_LAST = 4,     /* EVENT_EXIT: the process is over */
	EVENT_IS_CUT = 8,      /* a path or text was too long */
	EVENT_IS_DELETED = 16, /* EVENT_NAME: the file has been deleted */
	EVENT_SEEN = 32,       /* EVENT_TASK: ran before the recording */
};

/* Head of all events but names. The members mean the same as in a trace record: trace.h. */
struct capture_event {
	uint64_t start_ns, duration_ns;
	uint64_t off, len_bytes;
	int64_t result;
	uint64_t cpu_ns;
	uint64_t ino; /* 0 = no file */
	uint32_t dev; /* the kernel's form: major << 20 | minor */
	uint32_t pid, tid;
	uint32_t number; /* request number; EVENT_TASK: the parent */
	uint16_t op, flags;
	uint8_t kind, more;
	uint16_t spare;
};

/* Path components from the file up to the root, each with a 0 at its end. */
struct capture_name {
	uint64_t zero; /* other events have start_ns here, which is never 0 */
	uint64_t ino, size_bytes;
	uint32_t dev, generation;
	uint32_t mode, rdev;
	uint32_t spare;
	uint8_t kind, more;
	uint16_t text_bytes;
	char text[EVENT_PATH_BYTES];
};

/* A call with one or two paths as the program gave them, and the directories they start from. */
struct capture_paths {
	struct capture_event call;
	struct {
		uint64_t ino; /* the directory's; 0 = an absolute path */
		uint32_t dev;
		uint32_t bytes; /* length in `text`, including the 0 */
	} path[2];
	char text[2 * EVENT_PATH_BYTES];
};

struct capture_text {
	struct capture_event task;
	uint32_t bytes; /* without a final 0; a command line has zeros inside */
	uint32_t spare;
	char text[EVENT_PATH_BYTES];
};

/* Events of one operation that were lost on one CPU. */
struct capture_loss {
	uint64_t events, first_ns, last_ns;
};

/* Kinds of losses: the number of an operation, or one of these. */
enum {
	LOSS_NAMES = 120, /* names; the file is named after its inode */
	LOSS_TASKS,       /* tasks that could not be followed */
	LOSS_COMPAT,      /* calls of programs of another architecture */
	LOSS_ASYNC,       /* requests that did not fit the map */
	LOSS_KINDS = 128,
};

/* Key of a request in flight: its address, and for libaio also its process. */
struct capture_request_key {
	uint64_t address;
	uint64_t pid; /* 0: `address` is in the kernel */
};

struct capture_request {
	uint64_t start_ns, off, len_bytes, ino;
	uint32_t dev, pid, tid, number;
	uint16_t op, flags, spare[2];
};
