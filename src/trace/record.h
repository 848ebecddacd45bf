/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - the contents of a trace: records of operations, and entries that explain them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A trace contains the requests that programs made to storage, with their times and results. Events
 * are records of one size; facts stated once (a path, a process, a mount) are entries. trace.h and
 * mlgen-trace(5) describe the file.
 *
 * Times are ns of the host's CLOCK_MONOTONIC; the head relates them to the time of day. Records are
 * stored in the order of writing. The records of one thread are in the order in which operations
 * ended; the records of different threads are only roughly in this order.
 */
#define TRACE_UNKNOWN UINT64_MAX

/* These numbers never change, so that readers of other versions agree on them. */
enum trace_op {
	TRACE_NONE = 0,
	/* Calls on files. */
	TRACE_OPEN = 1, /* len_bytes: flags of open(2) */
	TRACE_CLOSE = 2,
	TRACE_STAT = 3,  /* len_bytes: the size of the file */
	TRACE_READ = 4,  /* off, len_bytes; result: bytes */
	TRACE_WRITE = 5, /* see TRACE_READ */
	TRACE_FSYNC = 6,
	TRACE_FDATASYNC = 7,
	TRACE_RENAME = 8, /* off: id of the new name */
	TRACE_UNLINK = 9,
	TRACE_MKDIR = 10,
	TRACE_RMDIR = 11,
	TRACE_GETDENTS = 12,
	TRACE_MMAP = 13,     /* off, len_bytes; result: the address */
	TRACE_MUNMAP = 14,   /* len_bytes; off: the address */
	TRACE_ALLOCATE = 15, /* off, len_bytes */
	TRACE_ADVISE = 16,   /* off, len_bytes; result: as returned by the call */
	/* Actions of the kernel. */
	TRACE_FAULT = 32,       /* a page of a mapping; off */
	TRACE_CACHE_ADD = 33,   /* off, len_bytes added to the page cache */
	TRACE_BLOCK_ISSUE = 34, /* off, len_bytes on the device; file: device */
	TRACE_BLOCK_COMPLETE = 35,
	TRACE_ASYNC_SUBMIT = 36,   /* off: the request's own number */
	TRACE_ASYNC_COMPLETE = 37, /* off: as submitted */
	/* Events of processes. */
	TRACE_FORK = 48, /* result: the child's pid */
	TRACE_EXEC = 49, /* file: the program */
	TRACE_EXIT = 50, /* result: its status; cpu_ns: all its CPU time */
	TRACE_ON_CPU = 51,
	/*
	 * Markers, which state the purpose of operations. `result` is the number of the rank, from
	 * 0, or -1 if unknown.
	 */
	TRACE_SAMPLE = 64,     /* off: its id, len_bytes: its bytes */
	TRACE_STEP = 65,       /* off: number from 0, len_bytes: samples */
	TRACE_EPOCH = 66,      /* off: number from 0 */
	TRACE_STAGE = 67,      /* file: its name, such as train or eval */
	TRACE_CHECKPOINT = 68, /* off: number from 0, len_bytes: its bytes;
				  file: "save" or "restore" */
	TRACE_COMPUTE = 69, /* computation of a step, on an accelerator or emulated by sleeping */
	TRACE_TEXT = 70,    /* file: the text */
	TRACE_OPS
};

enum trace_flag {
	TRACE_OFF_INEXACT = 1u << 0,  /* another task may have moved the file position */
	TRACE_OFF_INFERRED = 1u << 1, /* offset from a model of file positions */
	TRACE_CHAINED = 1u << 2,      /* times are those of the whole chain */
	TRACE_WRITES = 1u << 3,       /* block requests: a write */
	TRACE_READ_AHEAD = 1u << 4,   /* block requests and pages added */
	TRACE_ASYNC = 1u << 5,        /* duration is from submit to completion */
	TRACE_BEGINS = 1u << 6,       /* a marker without an end */
};

/* Files contain records in this form, little endian. */
struct trace_record {
	uint64_t start_ns, duration_ns;
	uint64_t off;       /* TRACE_UNKNOWN = not known */
	uint64_t len_bytes; /* requested */
	int64_t result;     /* bytes, or 0; -errno */
	uint64_t cpu_ns;    /* CPU time of the thread since its last record */
	uint32_t pid, tid;  /* 0 = not known */
	uint32_t file;      /* id of an entry with a name; 0 = none */
	uint16_t op;        /* enum trace_op */
	uint16_t flags;     /* enum trace_flag */
};

/*
 * Entries explain the numbers in records and state facts about the whole trace. An entry precedes
 * the first record that needs it. An entry is repeated when more is known, such as the end of a
 * process; the last one is valid.
 */
enum trace_entry_kind {
	/* A name that `file` refers to: id, size when first seen, device, inode, generation. The
	 * text is the path as the program used it, or the text of a marker: any bytes but 0, and no
	 * newline at the end. */
	TRACE_FILE = 1,
	/* pid, parent, start_ns, end_ns; the command line, with spaces. */
	TRACE_PROCESS = 2,
	/* tid, pid; the role, if the program stated it: "rank 0", "loader 1 of rank 0", "saver 0",
	 * "worker 2". */
	TRACE_THREAD = 3,
	/* device; "FSTYPE MOUNTPOINT SOURCE", octal escapes as in /proc/self/mountinfo. */
	TRACE_MOUNT = 4,
	/* "key=value": program, version, host, kernel, cpus, memory_bytes, job, command ... */
	TRACE_FACT = 5,
	/* op, events lost, time of the first, of the last, tid (0 = several); the text is the
	 * reason. Counts of several entries add up. */
	TRACE_LOST = 6,
};

enum { TRACE_NUMBERS = 6 };

struct trace_entry {
	uint32_t kind;                  /* enum trace_entry_kind; ignore unknown kinds */
	uint64_t number[TRACE_NUMBERS]; /* by kind; TRACE_UNKNOWN = not known */
	const char *text;               /* NUL-terminated; never NULL when read */
	size_t text_bytes;              /* without the 0 */
};

/* A trace may be several files, which share the id of the run. */
struct trace_head {
	unsigned char run_id[16];
	uint32_t part;    /* from 0 */
	uint64_t wall_ns; /* time of day since 1970 at clock_ns */
	uint64_t clock_ns;
};

/* The name of an operation or marker, such as "read"; NULL if unknown. */
const char *trace_op_name(unsigned op);
/* The operation or marker of a name; TRACE_NONE if unknown. */
unsigned trace_op_find(const char *name);

static inline bool trace_is_marker(unsigned op)
{
	return op >= TRACE_SAMPLE && op < TRACE_OPS;
}

/* Is it a marker of a phase of the run (struct trace_phases)? */
static inline bool trace_is_phase(unsigned op)
{
	return op == TRACE_EPOCH || op == TRACE_STAGE || op == TRACE_CHECKPOINT;
}
