/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_events.h - what the programs in the kernel and mlgen say to each other. */
#pragma once

#include <stdint.h>

/* What a system call is to us. Its numbers differ by machine: bpf_record.c. */
enum capture_call {
	CALL_NONE = 0,
	CALL_READ, /* from the file's own position */
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
	CALL_DUP2, /* closes what was there */
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

/* Numbers of system calls that are looked at. */
#define CALL_NUMBERS 512

/* Filled in before the programs are loaded: constants to them. */
struct capture_settings {
	uint64_t wake_bytes; /* that wait in the ring: wake who reads it */
	uint8_t page_shift;
	uint8_t call_of[CALL_NUMBERS]; /* enum capture_call */
};

/* Written by either side while they run. */
struct capture_shared {
	uint32_t reader_sleeps; /* 1 by mlgen, 0 by who wakes it */
	uint32_t tasks_added;   /* by an iteration over all tasks */
	uint32_t next_request;
};

/* Longest path, of one or two that an event has. */
#define EVENT_PATH_BYTES 4096

enum event_kind {
	EVENT_CALL = 1,     /* struct capture_event alone */
	EVENT_NAME,         /* struct capture_name: of a file */
	EVENT_PATHS,        /* struct capture_paths: a call by path */
	EVENT_ASYNC_SUBMIT, /* the event alone; `number` says which */
	EVENT_ASYNC_END,    /* its record, and that it is complete */
	EVENT_TASK,         /* a new task, or one that was there: result */
	EVENT_EXEC,         /* struct capture_text: the command line */
	EVENT_EXIT,         /* struct capture_text: the task's name */
	EVENT_BLOCK,        /* dev: the whole disk; ino: 0 */
};

/* Bits of capture_event.more. */
enum {
	EVENT_NO_CLOCK = 1,    /* EVENT_TASK: start_ns is not when it began */
	EVENT_IS_THREAD = 2,   /* of a process that has others */
	EVENT_IS_LAST = 4,     /* EVENT_EXIT: the process is over */
	EVENT_IS_CUT = 8,      /* a path or text is longer than there was room */
	EVENT_IS_DELETED = 16, /* EVENT_NAME: has no name any more */
	EVENT_SEEN = 32,       /* EVENT_TASK: was there before us */
};

/* Head of all but names. What it means is what a record of a trace means: trace.h. */
struct capture_event {
	uint64_t start_ns, duration_ns;
	uint64_t off, len_bytes;
	int64_t result;
	uint64_t cpu_ns;
	uint64_t ino; /* 0 = of no file */
	uint32_t dev; /* as the kernel has it: major << 20 | minor */
	uint32_t pid, tid;
	uint32_t number; /* of a request; of a task: its parent */
	uint16_t op, flags;
	uint8_t kind, more;
	uint16_t spare;
};

/* Names from the file up to the root, each with a 0 at its end. */
struct capture_name {
	uint64_t zero; /* where other events have a start, which is never 0 */
	uint64_t ino, size_bytes;
	uint32_t dev, generation;
	uint32_t mode, rdev;
	uint32_t spare;
	uint8_t kind, more;
	uint16_t text_bytes;
	char text[EVENT_PATH_BYTES];
};

/* A call by one path, or two: what the program said, and where that begins. */
struct capture_paths {
	struct capture_event call;
	struct {
		uint64_t ino; /* of the directory; 0 = it is absolute */
		uint32_t dev;
		uint32_t bytes; /* in text, with the 0 */
	} path[2];
	char text[2 * EVENT_PATH_BYTES];
};

struct capture_text {
	struct capture_event task;
	uint32_t bytes; /* without a 0; of a command line with some inside */
	uint32_t spare;
	char text[EVENT_PATH_BYTES];
};

/* What was lost of an operation, on one CPU. */
struct capture_loss {
	uint64_t events, first_ns, last_ns;
};

/* Losses of operations by their number, and of: */
enum {
	LOSS_NAMES = 120, /* names: the file has its inode for one */
	LOSS_TASKS,       /* tasks that could not be followed */
	LOSS_COMPAT,      /* calls of programs of another architecture */
	LOSS_ASYNC,       /* requests that were too many at once to be kept */
	LOSS_KINDS = 128,
};

/* A request under way, by its address (and process). */
struct capture_request_key {
	uint64_t address;
	uint64_t pid; /* 0: of the kernel */
};

struct capture_request {
	uint64_t start_ns, off, len_bytes, ino;
	uint32_t dev, pid, tid, number;
	uint16_t op, flags, spare[2];
};
