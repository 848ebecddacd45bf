/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - the operations by which an extent is read, one after the other. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/engine.h>

#include "data/file/dataset.h"
#include "data/file/format.h"
#include "data/file/pyfile.h"
#include "stat/sizes.h"

struct plan_config {
	const struct dataset *dataset;
	enum job_access access;
	uint64_t bs_bytes;
	bool direct;
	uint64_t align_bytes; /* of direct=1; 0 = none is needed */
};

/* What a read gets, as far as it is compressed: a part of a stream that goes through the file; one
 * stream of deflate; the pages of a Parquet chunk, by its codec: of zstd, or of gzip and all
 * others. */
enum plan_packed { PLAN_RAW, PLAN_STREAM, PLAN_DEFLATE, PLAN_PAGES, PLAN_ZSTD_PAGES };

struct plan_op {
	enum mlgen_op op;
	enum plan_packed packed;
	bool after;    /* only when all earlier ones are complete */
	unsigned part; /* OPEN, STAT without one: of which of the sample's files */
	/* READ: what is asked for, and what of it the file has; less where a request reaches past
	 * the end. */
	uint64_t off, len_bytes, got_bytes;
};

struct plan_counts;
struct recorded_template;

/* Of plan_recorded. */
struct plan_recorded {
	const struct recorded_template *of;
	uint64_t done;              /* reads of the run that plan.step is at */
	uint64_t here;              /* behind the last one */
	bool goes_on;               /* a rest takes more than one call */
	bool is_counted;            /* runs are left out, but for their ends ... */
	struct plan_counts *counts; /* ... and go here; may be NULL */
};

#define PLAN_OWN_BYTES 192

/* The struct of TYPE in which a kind keeps what it knows of the file; zeroed by plan_init(). */
#define PLAN_OWN(p, type)                                                                          \
	({                                                                                         \
		_Static_assert(sizeof(type) <= PLAN_OWN_BYTES, "PLAN_OWN_BYTES is too small");     \
		(type *)(void *)(p)->own;                                                          \
	})

/* An iterator; a plain struct, no memory behind it. */
struct plan {
	const struct plan_config *config;
	const struct plan_kind *kind;
	uint64_t off, end; /* still to read */
	uint64_t file_bytes;
	unsigned has; /* the plan's own */
	unsigned step;
	/* What Python's own reading of files makes of its program. */
	struct pyfile python;
	uint64_t jump; /* plan_hdf5: the word of the next chunk; plan_parquet:
			* the row group */
	/* What its kind keeps of the file: PLAN_OWN(). */
	_Alignas(uint64_t) unsigned char own[PLAN_OWN_BYTES];
	struct plan_recorded recorded;
	/* The label file, after all that kind->next gives: its step and place. */
	unsigned label_step;
	uint64_t label_off;
	struct extent extent;
	struct file_shape shape;
};

/* What one extent takes: operations by kind, reads by size, and the bytes that are transferred. */
struct plan_counts {
	uint64_t ops[MLGEN_OPS];
	struct sizes reads;
	uint64_t io_bytes;
};

/*
 * One way of reading a file. plan_init has set config, kind, extent, shape and file_bytes (of part
 * 0), and the rest to zero. An OPEN of another part makes file_bytes that part's. A label file
 * (dataset.labels) is read after the last operation of the kind, which knows nothing of it.
 */
struct plan_kind {
	void (*init)(struct plan *p, const struct file_shape *shape, const struct extent *x);
	/* The next operation into a zeroed op, without got_bytes. */
	bool (*next)(struct plan *p, struct plan_op *op);
	/* Optional: reads that are all alike are counted in one go and left out of what follows; a
	 * large file has millions. */
	void (*skip)(struct plan *p, struct plan_counts *c);
	/* No read is larger, whatever the extent. */
	uint64_t (*largest_read)(const struct plan_config *config);
};

/* access=plain: open; the whole file (one sample per file) or the samples' bytes in bs requests,
 * rounded to align_bytes; close; of a pair of files both, one after the other. */
extern const struct plan_kind plan_plain;
/* DLIO's way with direct=1: open; stat, for the size of its buffer; the whole file in one aligned
 * read; close. */
extern const struct plan_kind plan_whole_file;
/* numpy.load(file)['x'] of an npz file; plan_numpy.c. */
extern const struct plan_kind plan_numpy;
/* The others of access=framework, a file each: plan_npy.c (numpy.load of an array; with direct=1 as
 * plan_whole_file), plan_pillow.c, plan_png.c, plan_pandas.c, plan_forward.c (a
 * buffered stream from a file's beginning to its end), plan_index.c (at the start index files, and
 * with plan_map the samples' file mapped; then one read a sample, or none), plan_hdf5.c,
 * plan_parquet.c. */
extern const struct plan_kind plan_npy, plan_npy_direct, plan_pillow, plan_png, plan_pandas,
	plan_forward, plan_indexes, plan_map, plan_indexed, plan_mapped, plan_hdf5, plan_parquet;

/* access=recorded: the templates of dataset.recorded; plan_recorded.c. */
extern const struct plan_kind plan_recorded;

/* access=framework is what the dataset's format says (format.h); an extent without samples is what
 * is read of a file at the start (format->at_start). */
void plan_init(struct plan *p, const struct plan_config *config, const struct extent *x);

/* The next operation, or false when there is none. */
bool plan_next(struct plan *p, struct plan_op *op);

/* Is what is still to come an open, one read and the close, and nothing else? Then they can be
 * handed over as a chain. The read, if so, in *read. */
bool plan_is_chain(const struct plan *p, struct plan_op *read);

/* The same summed up, without going through all of them. */
void plan_count(const struct plan_config *config, const struct extent *x, struct plan_counts *c);

/* The most that one READ asks for; UINT64_MAX where a file's size decides. */
uint64_t plan_largest_read(const struct plan_config *config);

/*
 * The buffer of a worker with `depth` requests under way: each has a part of its own, as large as
 * the largest request for the largest file, but at most
 * 1 MiB (larger requests repeat over it), together at most 16 MiB; deeper queues share. Looks at
 * the sizes of up to a million files.
 */
size_t plan_buffer_bytes(const struct plan_config *config, unsigned depth);
