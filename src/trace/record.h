/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - what a trace holds: records of operations, and what their numbers mean. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A trace says what programs asked of storage, when, and what they got. Events are records of one
 * size; what is said once (a path, a process, a mount) is an entry. How both lie in a file:
 * trace.h and mlgen-trace(5).
 *
 * Times are ns of CLOCK_MONOTONIC of the host, of which the head knows the time of day. Records
 * stand in the order in which they were written: those of a thread in the order in which they
 * ended, those of several roughly so.
 */
#define TRACE_UNKNOWN UINT64_MAX

/* Numbers are kept for ever: a reader of another version has them, too. */
enum trace_op {
	TRACE_NONE = 0,
	/* Calls on files. */
	TRACE_OPEN = 1, /* len_bytes: flags of open(2) */
	TRACE_CLOSE = 2,
	TRACE_STAT = 3,  /* len_bytes: the size found */
	TRACE_READ = 4,  /* off, len_bytes; result: bytes */
	TRACE_WRITE = 5, /* the same */
	TRACE_FSYNC = 6,
	TRACE_FDATASYNC = 7,
	TRACE_RENAME = 8, /* off: the file that it becomes */
	TRACE_UNLINK = 9,
	TRACE_MKDIR = 10,
	TRACE_RMDIR = 11,
	TRACE_GETDENTS = 12,
	TRACE_MMAP = 13,     /* off, len_bytes; result: the address */
	TRACE_MUNMAP = 14,   /* len_bytes; off: the address */
	TRACE_ALLOCATE = 15, /* off, len_bytes */
	TRACE_ADVISE = 16,   /* off, len_bytes; result: of the call */
	/* What the kernel did. */
	TRACE_FAULT = 32,       /* a page of a mapping; off */
	TRACE_CACHE_ADD = 33,   /* off, len_bytes came into the page cache */
	TRACE_BLOCK_ISSUE = 34, /* off, len_bytes on the device; file: device */
	TRACE_BLOCK_COMPLETE = 35,
	TRACE_ASYNC_SUBMIT = 36,   /* off: the request's own number */
	TRACE_ASYNC_COMPLETE = 37, /* the same */
	/* Of processes. */
	TRACE_FORK = 48, /* result: the child's pid */
	TRACE_EXEC = 49, /* file: the program */
	TRACE_EXIT = 50, /* result: its status; cpu_ns: all its CPU time */
	TRACE_ON_CPU = 51,
	/*
	 * Markers: what the operations were for. Those of a rank have its number, from 0, as
	 * `result`, or -1 where none is known.
	 */
	TRACE_SAMPLE = 64,     /* off: its id, len_bytes: its bytes */
	TRACE_STEP = 65,       /* off: number from 0, len_bytes: samples */
	TRACE_EPOCH = 66,      /* off: number from 0 */
	TRACE_STAGE = 67,      /* file: its name, such as train or eval */
	TRACE_CHECKPOINT = 68, /* off: number from 0, len_bytes: its bytes;
				  file: "save" or "restore" */
	TRACE_COMPUTE = 69,    /* of a step: an accelerator's, or asleep */
	TRACE_TEXT = 70,       /* file: the text */
	TRACE_OPS
};

enum trace_flag {
	TRACE_OFF_INEXACT = 1u << 0,  /* somebody else moved the position */
	TRACE_OFF_INFERRED = 1u << 1, /* a model of positions says so */
	TRACE_CHAINED = 1u << 2,      /* has the times of its chain as a whole */
	TRACE_WRITES = 1u << 3,       /* of block requests */
	TRACE_READ_AHEAD = 1u << 4,   /* of block requests, and of pages added */
	TRACE_ASYNC = 1u << 5,        /* duration is from submit to completion */
	TRACE_BEGINS = 1u << 6,       /* a marker whose end was not seen */
};

/* As it lies in a file, little endian. */
struct trace_record {
	uint64_t start_ns, duration_ns;
	uint64_t off;       /* TRACE_UNKNOWN = not known */
	uint64_t len_bytes; /* as asked for */
	int64_t result;     /* bytes, or 0; -errno */
	uint64_t cpu_ns;    /* of the thread since its last record */
	uint32_t pid, tid;  /* 0 = not known */
	uint32_t file;      /* id of an entry with a name; 0 = none */
	uint16_t op;        /* enum trace_op */
	uint16_t flags;     /* enum trace_flag */
};

/*
 * What a record's numbers mean, and what holds for the whole trace. An entry comes before the first
 * record that needs it, and once more when it is known better (a process that has ended): the later
 * one counts.
 */
enum trace_entry_kind {
	/* Name of what `file` says: id, size when first seen, device, inode, generation. The text
	 * is its path as the program had it, or of a marker its text; not terminated by a newline,
	 * and any bytes but 0. */
	TRACE_FILE = 1,
	/* pid, parent, start_ns, end_ns; the command line, with blanks. */
	TRACE_PROCESS = 2,
	/* tid, pid; what it does, where the program itself says so: "rank 0", "loader 1 of rank 0",
	 * "saver 0", "worker 2". */
	TRACE_THREAD = 3,
	/* device; "FSTYPE MOUNTPOINT SOURCE", octal escapes as in /proc/self/mountinfo. */
	TRACE_MOUNT = 4,
	/* "key=value": program, version, host, kernel, cpus, memory_bytes, job, command ... */
	TRACE_FACT = 5,
	/* op, events lost, time of the first, of the last, tid (0 = several): the text says why.
	 * They add up over entries. */
	TRACE_LOST = 6,
};

enum { TRACE_NUMBERS = 6 };

struct trace_entry {
	uint32_t kind;                  /* enum trace_entry_kind; others are skipped */
	uint64_t number[TRACE_NUMBERS]; /* as above; TRACE_UNKNOWN = not known */
	const char *text;               /* 0-terminated; never NULL when read */
	size_t text_bytes;              /* without the 0 */
};

/* One trace may be several files: all of a run have its id. */
struct trace_head {
	unsigned char run_id[16];
	uint32_t part;    /* from 0 */
	uint64_t wall_ns; /* time of day, since 1970, at ... */
	uint64_t clock_ns;
};

/* "read"; NULL where it is no operation, nor a marker, that this knows. */
const char *trace_op_name(unsigned op);
/* The other way; TRACE_NONE = there is none. */
unsigned trace_op_find(const char *name);

/* "async" of TRACE_ASYNC; NULL where the bit means nothing to this. */
const char *trace_flag_name(unsigned bit);
/* The other way, of so many bytes; 0 = there is none. */
unsigned trace_flag_find(const char *name, size_t bytes);

static inline bool trace_is_marker(unsigned op)
{
	return op >= TRACE_SAMPLE && op < TRACE_OPS;
}

/* A marker that says which part of a run holds (trace_phase.h). */
static inline bool trace_is_phase(unsigned op)
{
	return op == TRACE_EPOCH || op == TRACE_STAGE || op == TRACE_CHECKPOINT;
}
