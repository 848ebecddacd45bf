/* SPDX-License-Identifier: Apache-2.0 */
/* ordering.h - in what order files are read: against their names, and against the epoch before. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "describe/fairness.h"

/*
 * Files are numbered by name; of very many, those that are looked at are. Pure sums of one read
 * after the other: memory is that of files, ranks and workers that are given.
 */
struct ordering;

struct ordering_read {
	uint32_t file;         /* by name, from 0 */
	uint32_t epoch;        /* from 0, never less than before */
	uint32_t rank, worker; /* worker: any number, of all ranks */
	uint64_t off;          /* in the file */
};

struct ordering *ordering_new(uint32_t files, uint32_t ranks, uint32_t workers);
void ordering_free(struct ordering *o); /* NULL is fine */
void ordering_add(struct ordering *o, const struct ordering_read *r);

/* What it comes to; NaN = not to be seen. */
struct ordered {
	uint64_t reads;
	uint32_t epochs, files; /* that were read */
	double per_file;        /* reads of a file in an epoch */
	double by_name;         /* correlation of a rank's order with that of names */
	double ascending;       /* of a worker's steps from file to file */
	double by_epoch;        /* correlation with the epoch before */
	double runs;            /* of a worker's reads: in the file of the one before */
	double inner;           /* of these: behind it */
	uint32_t displaced;     /* a file from its place by name, at most: 98% */
	/* Whose files they are. */
	double same_rank;  /* as in the epoch before */
	double several;    /* of files: read by several ranks in an epoch */
	double strided;    /* of files: by rank (number mod ranks) */
	double contiguous; /* ranks less one, by how often the rank changes from
			    * one name to the next */
	/* How often a file is read in an epoch, those that are not, too. */
	double count_mean, count_variance, unread, twice;
	uint32_t most;
	double count_by_epoch; /* correlation of counts with the epoch before */
};
void ordering_end(struct ordering *o, struct ordered *to);
