/* SPDX-License-Identifier: Apache-2.0 */
/* samplebook.h - an account of the files of samples that a training reads, file by file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/files.h"
#include "distil/distil_inside.h"

/* By its id; most files of a trace are none, and have no visits. */
struct sample_file {
	uint64_t end; /* behind the last byte that was read */
	/* Where visits begin, and end: the first, and what the distance of the others from it has
	 * as a common divisor. */
	uint64_t begins, begins_apart, ends, ends_apart;
	uint32_t visits, opens;
	uint8_t kind; /* samplebook.c's own */
};

/* Files beside those of the samples, of one kind. */
struct sample_beside {
	uint64_t files, visits, bytes;
	uint64_t least, most;
	uint32_t first; /* an id */
};

struct samplebook {
	struct spill files; /* struct sample_file */
	uint32_t ids;       /* ids below are there */
	uint64_t count, visits, opens;
	uint64_t epochs; /* as many as markers say, or training stages with visits */
	uint32_t first;  /* id of the first of them */
	uint64_t directories;
	/* Sizes of files. */
	uint64_t least, most, bytes;
	bool is_size_said; /* by the trace's entries, of each */
	/* All files alike: bytes from one place that is visited to the next; 0 = there is but
	 * one. */
	uint64_t stride_bytes;
	struct sample_beside labels, indexes;
	bool is_read_again; /* most of them more than once */
	bool is_drawn;      /* as often as chance has it: counts of visits vary as a
			     * draw with replacement makes them, or more */
};

/* One walk over the visits. 0, or -errno with err as visits_next. */
int samplebook_init(struct samplebook *b, const struct distil *d, uint32_t party,
		    struct mlgen_err *err);
void samplebook_fini(struct samplebook *b); /* takes a zeroed one */

/* NULL = no file of samples. */
const struct sample_file *samplebook_at(const struct samplebook *b, uint32_t id);
/* What the trace's entry says, or else as far as it was read. */
uint64_t samplebook_bytes(const struct samplebook *b, const struct distil *d, uint32_t id);
uint64_t samplebook_stride(const struct samplebook *b, uint32_t id);

/* Sizes of at most so many of them, evenly spread; ascending. Their number. */
size_t samplebook_sizes(const struct samplebook *b, const struct distil *d, uint64_t *out,
			size_t most);

/* Is it a visit of the party, to whatever file and when? */
bool samplebook_is_of(const struct distil *d, uint32_t party, const struct visit *x);
