/* SPDX-License-Identifier: Apache-2.0 */
/* filebook.h - an account of each file of a trace, and of each directory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tracing/describe/described.h"
#include "tracing/describe/fairness.h"
#include "tracing/describe/follow.h"
#include "tracing/describe/touched.h"
#include "trace/trace.h"

/* By its id. Millions of them leave memory, so that they are small. */
struct file_account {
	uint64_t size_bytes; /* when first seen, + 1; 0 = not known */
	uint64_t reads, read_bytes, writes, written_bytes;
	struct touched read;
	struct touched *faulted; /* NULL = nothing of it was mapped */
	uint32_t opens, metadata;
	uint32_t followed, sequential; /* reads behind another, and in order */
	uint32_t directory;            /* of `names` */
	/* Of the epochs, see epochbook.h. */
	uint32_t epoch, position;
	uint64_t passed_bytes;
};

struct filebook {
	struct spill files;        /* struct file_account, by id */
	uint32_t count;            /* ids below that are there */
	struct trace_names *names; /* of directories, and of tasks */
	struct touched_pool pool;
	struct follow *follow, *faults_follow;
	uint64_t accesses[FOLLOW_BACK + 1], faults[FOLLOW_BACK + 1];
	uint64_t unknown_offsets;
};

void filebook_init(struct filebook *b, struct trace_names *names);
void filebook_fini(struct filebook *b);

/* What an entry says of a file. */
void filebook_name(struct filebook *b, const struct trace_entry *e);
/* A record of pass one; `kind` as opkind.h has it. */
void filebook_add(struct filebook *b, const struct trace_record *r, unsigned kind);

/* NULL where it has no file, or one that nothing named. */
struct file_account *filebook_at(const struct filebook *b, uint32_t id);

/* Was it used: is it more than the name of a marker or of a device? */
bool filebook_is_used(const struct file_account *f);

/* What all files come to. */
void filebook_sum(const struct filebook *b, struct described_trace *t);

/* The ids of those with most bytes, the first of them first; how many. */
size_t filebook_top(const struct filebook *b, uint32_t *ids, size_t most);
void filebook_describe(const struct filebook *b, uint32_t id, struct described_file *to);
/* The directories with most bytes, at most `most`; paths are those of names, whose next call may
 * move them. How many. */
size_t filebook_directories(const struct filebook *b, struct described_directory *to, size_t most);
