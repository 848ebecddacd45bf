/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - what a trace shows: files, tasks, markers, scope, and operations in flight. */
#pragma once

/*
 * Descriptions, scores, distilled jobs and replays are made from the same records. This is their
 * common model of a trace:
 *
 *	opkind		the kind of an operation, its end and its bytes
 *	pairing		requests whose start was seen and whose end was not
 *	inflight	the number of operations in flight
 *	positions	whether a thread's next access of a file is in sequence
 *	extent_set	which bytes of a file were accessed
 *	fault_run	the reads that page faults amount to
 *	mappings	files that are open or mapped
 *	trace_files	an account of each file
 *	trace_tasks	an account of each thread and process, and its role
 *	trace_marks	epochs, stages and checkpoints
 *	trace_scope	which files are data of the job, and which mount they are on
 *
 * A caller adds entries and records to the parts that it needs. Files are known by the ids in
 * records, which are small numbers from 1. Data that grows with files, tasks or samples is in
 * spills (base/files.h), which the kernel can write out to files; all other data has a fixed size.
 * A struct without a function to initialise it is empty when zeroed. One thread owns each struct.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/files.h"
#include "base/map.h"
#include "base/vec.h"
#include "trace/trace.h"

/* ---- operations ---- */

enum opkind {
	OPKIND_CALL = 1,     /* a call on a file, during which the thread waits */
	OPKIND_METADATA = 2, /* moves no byte of a file */
	OPKIND_READ = 4,
	OPKIND_WRITE = 8,
};

/* The bits of enum opkind that an operation has; 0 for events, markers and unknown operations. */
unsigned opkind_of(unsigned op);

/* Bytes that a read or write moved, or that an event or marker states. */
uint64_t opkind_bytes(const struct trace_record *r);

/* Records that come from the logs of other programs may have no durations. */
static inline bool opkind_has_duration(const struct trace_record *r)
{
	return r->duration_ns != TRACE_UNKNOWN;
}

/* The duration; 0 if it is unknown. */
static inline uint64_t opkind_duration_ns(const struct trace_record *r)
{
	return opkind_has_duration(r) ? r->duration_ns : 0;
}

/* The end; the start if the duration is unknown. An end that overflows is UINT64_MAX. */
static inline uint64_t opkind_end_ns(const struct trace_record *r)
{
	uint64_t end = r->start_ns + opkind_duration_ns(r);

	return end < r->start_ns ? UINT64_MAX : end;
}

static inline bool opkind_failed(const struct trace_record *r)
{
	return r->op < TRACE_FAULT && r->op != TRACE_MMAP && r->result < 0;
}

/* Records of damaged traces may have no start time. */
static inline bool opkind_has_time(const struct trace_record *r)
{
	return r->start_ns != TRACE_UNKNOWN;
}

/* ---- elements that are numbered by a key ---- */

/* Elements by key, numbered in the order in which their keys were first used. */
struct keyed {
	struct map keys;
	struct spill items;
};

/* Returns the element of a key, valid until the next call; a new element is zeroed. `is_new` may be
 * NULL. */
void *keyed_item(struct keyed *k, uint64_t key, size_t item_bytes, bool *is_new);
void keyed_fini(struct keyed *k);

/* The key of a thread in a map. */
static inline uint64_t thread_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

/* ---- fairness and order ---- */

/* Two measures of uneven sharing; NaN if there is nothing to share. */
struct fairness {
	double most_over_mean; /* 1 = all shares are equal */
	double gini;           /* 0 = all shares are equal; near 1 = one has everything */
};

/* Compute the measures of n shares, which are not negative. The shares are sorted in place. */
struct fairness fairness_of(double *shares, size_t n);

/* Sums for the correlation between two positions of each item; items are added one by one. If both
 * positions are ranks from 0 without gaps, this is Spearman's correlation. */
struct order {
	uint64_t count;
	double x, y, xx, yy, xy;
};

void order_add(struct order *o, uint64_t x, uint64_t y);
/* -1 to 1; NaN for fewer than two items, or if all have the same position. */
double order_correlation(const struct order *o);

/* The position of an item in the last round (such as an epoch) that visited the item. */
struct round_place {
	uint32_t round; /* numbered from 1; 0 = never visited */
	uint32_t position;
};

/* Visit an item. If its last visit was in the round before, both positions are added to `order`,
 * unless `order` is NULL. A second visit in a round changes nothing. */
void round_place_visit(struct round_place *p, uint32_t round, uint32_t position,
		       struct order *order);

/* ---- requests between begin and end ---- */

/* Up to 65536 requests in progress. A full set drops its oldest request, so requests without a
 * recorded end disappear. */
struct pairing {
	uint64_t depth, depth_most; /* stored requests: now, and at most so far */
	struct recent_entry *entries;
};

void pairing_init(struct pairing *p);
void pairing_fini(struct pairing *p); /* accepts a zeroed struct */

void pairing_begin(struct pairing *p, uint64_t key, uint64_t now_ns);
/* End a request. True if its start was seen; *began_ns is the time of the start. */
bool pairing_end(struct pairing *p, uint64_t key, uint64_t *began_ns);

/* Multiplier of Fibonacci hashing: the upper bits of a product are the best hash. */
#define FIBONACCI_HASH UINT64_C(0x9e3779b97f4a7c15)

/* Make a key from two numbers. */
static inline uint64_t pairing_key(uint32_t owner, uint64_t number)
{
	return (number ^ (uint64_t)owner << 40) * FIBONACCI_HASH;
}

/* ---- operations in flight, by their known ends ---- */

/* Up to INFLIGHT_MAX operations. If there are more, the operations that would end first are
 * dropped. */
struct inflight {
	uint64_t *ends; /* a heap; the first to end comes first */
	size_t count, room;
	uint64_t now_ns;
	uint64_t ended_ns; /* the last end that has passed */
};

enum { INFLIGHT_MAX = 65536 };

/* A period in which no operation begins or ends. */
struct inflight_piece {
	uint64_t start_ns, end_ns; /* if the end is before the start, the period is empty */
	uint64_t depth;            /* operations in flight */
};

/* Advance towards now_ns by one piece. False once now_ns is reached. */
bool inflight_next(struct inflight *f, uint64_t now_ns, struct inflight_piece *piece);
/* Advance to now_ns. */
void inflight_advance(struct inflight *f, uint64_t now_ns);
/* Add an operation that begins now. */
void inflight_begin(struct inflight *f, uint64_t end_ns);
void inflight_fini(struct inflight *f);

/* ---- accesses in sequence ---- */

/* Last positions of up to 262144 pairs of a thread and a file. If there are more, the oldest pairs
 * are dropped, and their next access is ACCESS_FIRST. */
struct positions {
	struct recent_entry *entries;
	uint64_t clock;
};

enum access_kind {
	ACCESS_FIRST,      /* no earlier access, or none since the open */
	ACCESS_SEQUENTIAL, /* begins at the end of the previous access */
	ACCESS_AHEAD,      /* skips some bytes */
	ACCESS_BACK,       /* begins before the end of the previous access */
	ACCESS_KINDS
};

void positions_init(struct positions *p);
void positions_fini(struct positions *p); /* accepts a zeroed struct */

/* Add an access of the bytes in [from, end). *apart is the distance to the end of the previous
 * access, 0 if there was none; `apart` may be NULL. */
enum access_kind positions_access(struct positions *p, uint32_t file, uint32_t thread,
				  uint64_t from, uint64_t end, uint64_t *apart);
/* Remove a pair, when the thread opens or closes the file. */
void positions_remove(struct positions *p, uint32_t file, uint32_t thread);

/* ---- which bytes of a file were accessed ---- */

/*
 * Up to two extents are stored in the set itself, and up to EXTENTS_MAX in the pool; both are
 * exact. A file with more extents is counted in blocks of EXTENT_BLOCK_BYTES, or in larger blocks
 * if there would be more than 2^27. A block counts as a whole once one of its bytes was accessed.
 */
#define EXTENTS_MAX 256
#define EXTENT_BLOCK_BYTES 4096

struct byte_range {
	uint64_t from, to; /* `to` is the first byte after the range */
};

/* The accessed bytes of one file. */
struct extent_set {
	struct byte_range at[2];
	uint32_t count; /* elements in `at` */
	uint32_t more;  /* index in the pool plus 1; 0 = all extents are in `at` */
};

/* The memory of the sets of all files. */
struct extent_pool {
	struct spill sets;  /* struct pool_set */
	struct spill arena; /* extents, and bits of blocks */
	uint64_t arena_used;
	uint32_t set_count, free_set; /* free_set: index of a free set plus 1; 0 = none */
	uint64_t free_at[64];         /* offset in `arena` plus 1, by size class; 0 = none */
};

/* Add the bytes in [from, to). Returns how many of them are new. */
uint64_t extent_set_add(struct extent_pool *p, struct extent_set *t, uint64_t from, uint64_t to);
uint64_t extent_set_bytes(const struct extent_pool *p, const struct extent_set *t);
bool extent_set_is_exact(const struct extent_pool *p, const struct extent_set *t);
void extent_pool_fini(struct extent_pool *p);

/* ---- page faults as reads ---- */

/* A fault brings in this many bytes around its page: the kernel's default of fault_around_bytes. */
#define FAULT_AROUND_BYTES UINT64_C(65536)

/* The faults of one thread on one file. */
struct fault_run {
	uint64_t blocks; /* index of the last counted block plus 1 */
	uint64_t end;    /* the last fault may have brought in pages up to here */
};

/*
 * The pages that a fault brings in depend on the place of the mapping in memory. A file is
 * therefore cut into blocks of FAULT_AROUND_BYTES: a fault that continues the previous one reads
 * the blocks that are new, and any other fault reads its own block. `end` is the end of the file,
 * or of the mapped part; nothing after it is read. True with *from and *bytes, which are whole
 * blocks except at `end`; false if there is no new block.
 */
bool fault_run_next(struct fault_run *t, uint64_t off, uint64_t end, uint64_t *from,
		    uint64_t *bytes);

/* ---- files that are open or mapped ---- */

enum { MAPPINGS_THREADS = 1024 };

struct mappings {
	struct spill files; /* struct mapped_file, by id */
	/* The last file on which a thread faulted. Threads whose ids are equal modulo
	 * MAPPINGS_THREADS share an element. */
	struct mapped_thread {
		uint32_t tid, file;
		struct fault_run run;
	} last[MAPPINGS_THREADS];
};

/*
 * Add a call that did not fail. False if the call should not be counted, since it does not reach
 * the filesystem. mmap(2) and munmap(2) move no data: pages are read when they are accessed.
 * Closes that exceed the opens of a file belong to copied descriptors.
 */
bool mappings_add_call(struct mappings *m, const struct trace_record *r);

/* Add a page fault on a file. True with *read, the equivalent read. False if an earlier fault of
 * the thread brought in the page, or if no call mapped the file: the kernel itself maps programs.
 */
bool mappings_add_fault(struct mappings *m, const struct trace_record *fault,
			struct trace_record *read);

void mappings_fini(struct mappings *m);

/* ---- files ---- */

/* A file of a trace. There may be millions, so this struct must stay small. */
struct file_account {
	uint64_t size_bytes; /* size when first seen, + 1; 0 = unknown */
	uint64_t reads, read_bytes, writes, written_bytes;
	struct extent_set read;
	struct extent_set *faulted; /* NULL = no fault on the file */
	uint32_t opens, metadata;
	uint32_t followed, sequential; /* reads after another read; those of them in sequence */
	uint32_t directory;            /* id in `names` */
	/* Used by trace_marks. */
	struct round_place place;
	uint64_t passed_bytes;
};

struct trace_files {
	struct spill files;        /* struct file_account, by id */
	uint32_t count;            /* all ids less than this have an account */
	struct trace_names *names; /* names of directories and tasks; owned by the caller */
	struct extent_pool pool;
	struct positions reads_at, faults_at;
	uint64_t accesses[ACCESS_KINDS], faults[ACCESS_KINDS];
	uint64_t unknown_offsets;
};

void trace_files_init(struct trace_files *b, struct trace_names *names);
void trace_files_fini(struct trace_files *b);

/* Add an entry of kind TRACE_FILE. */
void trace_files_add_entry(struct trace_files *b, const struct trace_entry *e);
/* Add a record. `kind` must be the opkind_of() of its operation. */
void trace_files_add_record(struct trace_files *b, const struct trace_record *r, unsigned kind);

/* NULL if the id has no account. */
struct file_account *trace_files_at(const struct trace_files *b, uint32_t id);

/* Was the file used? Names of markers and devices have accounts, too, but are not used. */
bool file_account_is_used(const struct file_account *f);
/* The number of distinct bytes read; TRACE_UNKNOWN if the offsets of reads are unknown. */
uint64_t trace_files_unique_bytes(const struct trace_files *b, const struct file_account *f);

/* ---- threads and processes ---- */

enum task_role { ROLE_OTHER, ROLE_TRAINER, ROLE_LOADER, ROLE_CHECKPOINT, ROLE_WORKER, ROLES };

/* The evidence for a role: a statement of the program, a pattern that fits no other role, or the
 * best fit. */
enum task_certainty { SURE_STATED, SURE_LIKELY, SURE_GUESS };

struct task_account {
	uint32_t pid, tid, parent;
	uint32_t text;     /* id in `names`; 0 = none */
	uint32_t threads;  /* processes: number of threads with records */
	uint32_t children; /* forked processes */
	uint32_t execs;
	uint32_t loaders; /* children that may be loaders */
	uint64_t operations, opens, metadata;
	uint64_t reads, read_bytes, writes, written_bytes, syncs;
	uint64_t faults, switches;
	/* Times of the first and last record, and the time between them. For a process, span_ns is
	 * the sum over its threads. */
	uint64_t first_ns, last_ns, span_ns;
	bool timeless; /* some calls have no duration */
	uint64_t call_ns, fault_ns;
	uint64_t cpu_ns, exit_cpu_ns, on_cpu_ns;
	uint64_t cpu_span_ns; /* span_ns of threads whose CPU time is known */
	bool has_cpu, has_exit_cpu;
	uint64_t ended_ns; /* end of its last record, to detect when the clock steps back */
	int role, sure;    /* enum task_role, task_certainty */
};

struct trace_tasks {
	struct keyed threads, processes; /* struct task_account */
	struct trace_names *names;       /* the caller's */
	uint64_t clock_steps; /* records that ended before the previous record of their thread */
	uint32_t last;        /* index of the last record's thread plus 1 */
};

void trace_tasks_fini(struct trace_tasks *b);

/* Add an entry. Other entries than those of processes and threads are ignored. */
void trace_tasks_add_entry(struct trace_tasks *b, const struct trace_entry *e);
void trace_tasks_add_record(struct trace_tasks *b, const struct trace_record *r, unsigned kind);

/*
 * Call after the last record: sum threads into processes and assign roles. A role that the program
 * states takes precedence. Otherwise, children that read are loaders, and their parent is the
 * trainer, even if it also saves. A process that wrote most of the bytes, and at least as many as
 * it read, is the checkpoint writer. A process that reads alone is the trainer.
 */
void trace_tasks_finish(struct trace_tasks *b);

/* Add the sums of one account to another. */
void task_account_add(struct task_account *to, const struct task_account *from);
/* Does the task have a record? Otherwise only an entry names it. */
static inline bool task_account_is_used(const struct task_account *a)
{
	return a->first_ns <= a->last_ns;
}

static inline struct task_account *trace_tasks_thread(const struct trace_tasks *b, uint32_t i)
{
	return (struct task_account *)b->threads.items.at + i;
}

static inline struct task_account *trace_tasks_process(const struct trace_tasks *b, uint32_t i)
{
	return (struct task_account *)b->processes.items.at + i;
}

/* The number of the thread of a record; false if there is none. */
bool trace_tasks_find_thread(const struct trace_tasks *b, const struct trace_record *r,
			     uint32_t *number);
/* NULL if the trace has no process with this id. */
struct task_account *trace_tasks_find_process(const struct trace_tasks *b, uint32_t pid);

/* ---- epochs, stages and checkpoints ---- */

/* A period that markers name. The markers of several ranks share one account. */
struct mark_account {
	uint64_t number;
	uint32_t name; /* id of an entry; 0 = none */
	uint32_t ranks;
	uint64_t start_ns, end_ns;
	uint64_t bytes;
	/* Filled by trace_marks_add_access(), for epochs. */
	uint64_t files, samples, reads, read_bytes;
	struct order order; /* correlation with the previous epoch */
};

struct mark_list {
	struct spill marks; /* struct mark_account */
	struct map keys;
	uint32_t count; /* up to MARKS_MAX; later marks are ignored */
};

enum { MARKS_MAX = 65536 };

struct trace_marks {
	struct mark_list epochs, stages, checkpoints;
	/* Without markers of epochs: the number of times that most bytes were read, and the
	 * percentage of bytes that agree with it. */
	uint64_t passes;
	double agree_percent;
	bool is_inferred;
	struct keyed samples; /* struct round_place, by the ids of samples */
	bool has_samples;
};

void trace_marks_fini(struct trace_marks *b);

/* Add a marker, in the first pass over the records; other records are ignored. */
void trace_marks_add_marker(struct trace_marks *b, const struct trace_record *r);

/* Call between the passes: sort marks by time. Without markers of epochs, infer them from files
 * that are read again. */
void trace_marks_finish(struct trace_marks *b, const struct trace_files *files);

/* Add a read or a sample to its epoch, in a second pass; other records are ignored. */
void trace_marks_add_access(struct trace_marks *b, const struct trace_files *files,
			    const struct trace_record *r, unsigned kind);

static inline struct mark_account *mark_at(const struct mark_list *l, uint32_t i)
{
	return (struct mark_account *)l->marks.at + i;
}

/* ---- files of the data set and of checkpoints ---- */

/*
 * Is a file with this path in scope: data that the job reads or writes? All files are, except the
 * environment of a program: pipes, sockets and the like, folders of the system, libraries, sources
 * of Python and its packages, memory that processes share, and logs. mlgen(1) has the list.
 */
bool trace_scope_has_path(const char *path);

enum { SCOPE_MOUNTS = 200 }; /* later mounts are ignored */

/* The files of a trace that are in scope, by their paths and their first records. */
struct trace_scope {
	struct trace_ordered *records; /* the caller's: names of files */
	unsigned char *files;          /* enum scope_state and number of the mount, by id */
	uint32_t count;                /* ids up to this one are known */
	char *outputs[2];              /* files that are standard output and standard error */
	VEC(char *) code_folders;      /* folders that modules are loaded from */
	struct scope_mount {
		char *text;  /* "FSTYPE MOUNTPOINT SOURCE" */
		char *point; /* the mount point without octal escapes; "" for "/" */
		uint64_t bytes;
	} mounts[SCOPE_MOUNTS];
	size_t mount_count;
};

/* Add an entry: facts that name an output, and mounts; other entries are ignored. */
void trace_scope_add_entry(struct trace_scope *s, const struct trace_entry *e);

/* Call after the last entry. With `has_code_folders`, folders from which a program loads modules,
 * and the folders above them, are out of scope: a program looks for each module in many folders. */
void trace_scope_start(struct trace_scope *s, struct trace_ordered *records, bool has_code_folders);

/* Is the file of a record in scope? The first record of a file decides: it reveals files that
 * Python's tempfile makes only to test whether a folder is writable. */
bool trace_scope_has(struct trace_scope *s, const struct trace_record *r);
/* Is a file in scope? The file may be one without records. */
bool trace_scope_has_file(const struct trace_scope *s, uint32_t file);

/* Add bytes that were read from or written to a file in scope. */
void trace_scope_add_bytes(struct trace_scope *s, uint32_t file, uint64_t bytes);
/* The sorted texts of mounts with at least a hundredth of the added bytes, or of all mounts if no
 * bytes were added. The caller frees the string. NULL if no mount is known. */
char *trace_scope_storage(const struct trace_scope *s);
void trace_scope_fini(struct trace_scope *s);
