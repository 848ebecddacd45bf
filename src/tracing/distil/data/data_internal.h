/* SPDX-License-Identifier: Apache-2.0 */
/* data_internal.h - files of samples, plans that explain their calls, and orders of reads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dist.h"
#include "base/files.h"
#include "data/file/file.h"
#include "data/plans/plans.h"
#include "tracing/distil/data/data.h"

/* ---- file models: a data set of one file that has a given size ---- */

/* The properties of a data set that the size of a file does not give. */
struct filemodel {
	enum job_format format;
	uint64_t samples_per_file;
	uint64_t row_group_size;            /* Parquet only */
	const char *columns, *read_columns; /* NULL = one column */
	uint64_t row_bytes;                 /* only with columns; otherwise the file size decides */
};

/*
 * Choose a constant sample_size with which a file has `file_bytes`, or as few more as possible.
 * Because of headers and padding, several sample sizes can give the same file; the middle one is
 * chosen. False: no file of the format has that many samples and bytes. Call dataset_fini in either
 * case.
 */
bool filemodel_init(struct dataset *ds, const struct filemodel *m, uint64_t file_bytes);

/* The sample_size of a file of another size in this data set. Parquet is not supported, as its rows
 * have one size in all files. */
uint64_t filemodel_sample_bytes(const struct dataset *ds, uint64_t file_bytes);

/* ---- peek: what a file of a trace shows if it still exists ---- */

struct peek {
	bool is_there;          /* the file exists, and has the size that the trace states */
	enum job_format format; /* FORMAT_AUTO = neither content nor name show the format */
	bool by_content;        /* the content shows the format, not only the name */
	uint64_t samples;       /* 0 = not known */
	uint64_t payload_bytes; /* sum of all samples */
	/* Parquet only: rows of each row group (0 = they differ), and offsets and sizes of all
	 * column chunks of the first group, owned. */
	uint64_t group_rows;
	uint32_t chunks;
	struct peek_chunk {
		uint64_t off, bytes;
	} * chunk;
};

/* Read the file like a scan does (data/file/file.h). Never fails: a fact that cannot be found stays
 * unknown. */
void peek(struct peek *p, const char *path, uint64_t file_bytes);
void peek_fini(struct peek *p);

/* ---- sample books: an account of each file of samples that a training reads ---- */

/* A file, by file id. Most files of a trace have no samples, and no visits here. */
struct sample_file {
	uint64_t end; /* end of the last byte that was read */
	/* First place where a visit begins, and where a visit ends. The _apart members are the
	 * greatest common divisors of the distances of other visits from these places. */
	uint64_t begins, begins_apart, ends, ends_apart;
	uint32_t visits, opens;
	uint8_t kind;    /* used by samplebook.c only */
	bool is_counted; /* counted in a struct sample_companions */
};

/* Files of labels or indexes, which are read in addition to samples. */
struct sample_companions {
	uint64_t files, visits, bytes;
	uint64_t least, most; /* sizes of the smallest and the largest file */
	uint32_t first;       /* file id */
};

struct samplebook {
	struct spill files; /* struct sample_file */
	uint32_t ids;       /* file ids are below */
	uint64_t count, visits, opens;
	uint64_t epochs; /* number of markers, or of training stages with visits */
	uint32_t first;  /* id of the first file that was read */
	uint64_t directories;
	uint64_t least, most, bytes; /* smallest and largest size of a file, and sum of all */
	bool has_stated_sizes;       /* the trace states the size of every file */
	uint64_t stride_bytes;       /* distance of visited places if all files have one size;
				      * 0 = there is one place */
	struct sample_companions labels, indexes;
	bool is_read_again; /* most files are read more than once */
	bool is_drawn;      /* counts of visits vary like those of draws with replacement */
};

/* Walk over the visits once. 0, or -errno with err: see visits_next. */
int samplebook_init(struct samplebook *b, const struct distil *d, uint32_t party,
		    struct mlgen_err *err);
void samplebook_fini(struct samplebook *b); /* accepts a zeroed struct */

/* The account of a file; NULL = it has no samples. */
const struct sample_file *samplebook_at(const struct samplebook *b, uint32_t id);
/* The size that the trace states, but at least the end of the last read. */
uint64_t samplebook_bytes(const struct samplebook *b, const struct distil *d, uint32_t id);
uint64_t samplebook_stride(const struct samplebook *b, uint32_t id);

/* Sizes of up to `most` files, evenly spread; ascending. Returns their number. */
size_t samplebook_sizes(const struct samplebook *b, const struct distil *d, uint64_t *out,
			size_t most);

/* ---- visits to samples that are compared call by call ---- */

struct explain_visit {
	const struct specimen *specimen; /* owned by struct distil */
	uint64_t file_bytes;
	uint64_t stride_bytes; /* distance of visited places; 0 = there is one place */
};

enum { SAMPLEVISITS_MOST = 48 };

/* Visits evenly spread over the training; returns their number. */
unsigned samplevisits(struct explain_visit out[SAMPLEVISITS_MOST], const struct distil *d,
		      uint32_t party, const struct samplebook *b);

/* All visits; the caller frees the array. */
struct explain_visit *samplevisits_all(const struct distil *d, uint32_t party,
				       const struct samplebook *b, unsigned *count);

/* Do most visits touch pages of a mapping? */
bool samplevisits_mapped(const struct explain_visit *visits, unsigned count);

/* The largest read call of the visits that touch pages as well; 0 = these visits have no read
 * calls. */
uint64_t samplevisits_largest_read(const struct explain_visit *visits, unsigned count);

/* Are most files opened with O_DIRECT? */
bool samplevisits_direct(const struct explain_visit *visits, unsigned count);

/* ---- explain: which of mlgen's plans makes the calls that a trace has ---- */

struct explain_input {
	const struct explain_visit *visits;
	unsigned count;
	bool direct; /* files were opened with O_DIRECT */
	/* Visits of a file in an epoch. If each visit reads the whole file, each visit is for a
	 * different sample. */
	uint64_t visits_per_file;
	enum job_format hint; /* shown by content or name of a file; FORMAT_AUTO = none */
	/* A file in the hinted format; samples_per_file 0 = nothing is known. */
	struct filemodel known;
};

/*
 * Compare calls of open, stat and read, with their offsets and lengths. close is not compared:
 * Python closes a file at its next garbage collection, and twice if it copied the descriptor. A
 * read within half a KiB of the expected place counts as equal, because directories of archives
 * differ.
 */
void explain(struct explained *out, const struct explain_input *ask);

/* A call of a trace or of a plan. */
struct explain_call {
	enum mlgen_op op; /* MLGEN_OPS = a kind of call that no plan makes */
	uint64_t off, len_bytes, got_bytes;
};

/* Convert up to `most` calls. Failed calls, maps and markers are left out; a page fault is a read
 * of the pages that the kernel maps around it. */
unsigned explain_calls_of(const struct specimen *s, struct explain_call *out, unsigned most);

/* The longest piece that is read sequentially; len_bytes 0 = nothing is read. */
struct explain_piece {
	uint64_t off, len_bytes;
};
struct explain_piece explain_longest(const struct explain_call *calls, unsigned count);

/* ---- columns of Parquet files, chosen so that chunks are as large as in a trace ---- */

/* Option values, owned. NULL: one column gives the same calls. */
struct columns_scanned {
	char *columns, *read_columns;
	uint64_t row_bytes;
	uint32_t count, read;
};

/* Make each chunk of a row group a column with the same bytes per row; read_columns are the columns
 * that visits read. Names and types are made up, because calls do not show them. */
void columns_scanned(struct columns_scanned *c, const struct peek *p,
		     const struct explain_visit *visits, unsigned count);
void columns_scanned_fini(struct columns_scanned *c); /* accepts a zeroed struct */

/* ---- the distribution that sizes have been drawn from ---- */

struct sizefit {
	struct dist dist;   /* the best of constant, normal, lognormal and uniform (fit_values) */
	double distance;    /* Kolmogorov and Smirnov's D between `dist` and the values */
	bool is_good;       /* the distance may be chance; otherwise the values are recorded */
	double mean, stdev; /* moments of the values, not of `dist` */
};

/* Fit a distribution to one or more ascending values. */
void sizefit(struct sizefit *fit, const uint64_t *values, size_t count);

/*
 * Adjust the parameters until a data set of `files` files draws sizes with the mean and deviation
 * of the values. A data set always draws the same sizes (DATASET_SEED), whose mean is off by
 * chance. The fit is no longer good if the drawn sizes stay off, as with a few very large values.
 */
void sizefit_settle(struct sizefit *fit, const uint64_t *values, size_t count, uint64_t files);

/*
 * Make a list that repeats values, so that a data set of `count` files that draws from it
 * (base/dist_file.h) has each value once. The list is ascending and has *weighed values; the caller
 * frees it.
 */
uint64_t *sizefit_weigh(const uint64_t *values, size_t count, size_t *weighed);

/* ---- neighbours: do samples that lie side by side stay together in a shuffled order? ---- */

/*
 * Loaders that shuffle runs of neighbours (pages of FFCV, chunks of DIESEL) read one window after
 * the other; a window is several whole runs, whose samples are read in any order. Two neighbours
 * are then read at most a window apart, unless a run ends between them. Memory grows with the
 * number of samples.
 */
struct neighbours;

/* Samples are numbered by place, through all files. */
struct neighbours *neighbours_new(uint32_t samples);
void neighbours_free(struct neighbours *b); /* NULL is fine */

/* Add a read. Pass each sample at most once per epoch, and epochs (from 0) in ascending order. A
 * sample number above the limit of neighbours_new() only takes up a place in the order. */
void neighbours_add(struct neighbours *b, uint64_t sample, uint32_t epoch);

struct neighbour_stats {
	/* Kolmogorov-Smirnov distance of the distances of neighbours from those of a random order,
	 * 0 .. 1; NaN = too few pairs. */
	double near;
	uint32_t run;     /* samples per run; 0 = there are no runs */
	double explained; /* share of distances between ends of runs that are a multiple of `run` */
	double window_runs; /* runs that are shuffled together */
};
void neighbours_end(struct neighbours *b, struct neighbour_stats *to);

/* ---- ordering: files by their names, and against the epoch before ---- */

/* Files are numbered by name. Memory grows with files, ranks and workers. */
struct ordering;

struct ordering_read {
	uint32_t file;         /* number by name, counted from 0 */
	uint32_t epoch;        /* counted from 0, ascending */
	uint32_t rank, worker; /* worker: any number, unique among all ranks */
	uint64_t off;          /* first byte */
};

struct ordering *ordering_new(uint32_t files, uint32_t ranks, uint32_t workers);
void ordering_free(struct ordering *o); /* NULL is fine */
void ordering_add(struct ordering *o, const struct ordering_read *r);

/* Figures of an order. A part is 0 .. 1; NaN = the trace does not show the figure. */
struct ordered {
	uint64_t reads;
	uint32_t epochs, files; /* epochs and files that were read */
	double per_file;        /* reads of a file in an epoch */
	double by_name;         /* correlation of a rank's order with the order of names */
	double ascending;       /* part of a worker's changes of file that go to a higher number */
	double by_epoch;        /* correlation with the epoch before */
	double runs;            /* part of a worker's reads in the same file as its previous read */
	double inner;           /* part of `runs` at a larger offset than the previous read */
	uint32_t displaced;     /* 98th percentile of a file's distance from its place by name */
	/* Assignment of files to ranks. */
	double same_rank;  /* part of the files that have the same rank as in the previous epoch */
	double several;    /* part of the files that several ranks read in an epoch */
	double strided;    /* part of the files that have rank (number mod ranks) */
	double contiguous; /* (ranks - 1) / (changes of the rank from one name to the next) */
	/* Reads of a file in an epoch; files that are not read are included, with 0 reads. */
	double count_mean, count_variance, unread, twice;
	uint32_t most;
	double count_by_epoch; /* correlation of counts with the epoch before */
};
void ordering_end(struct ordering *o, struct ordered *to);

/* ---- the distribution that comes nearest to values of a trace ---- */

struct fit {
	struct dist dist; /* CONST, UNIFORM, NORMAL, LOGNORMAL, EXPONENTIAL */
	/* Kolmogorov and Smirnov's D: the largest distance between the distribution functions of
	 * `dist` and of the values, 0 to 1. */
	double ks;
};

/*
 * Fit a distribution to one or more ascending values. The result is the simplest kind whose D is
 * less than 0.001 above the best D, in the order of the list above; exponential is tried for times
 * only. Parameters are whole numbers: the median for a constant, the least and largest value for
 * uniform, and otherwise moments. Lognormal uses the moments of the logarithms, so that a few large
 * values do not decide.
 */
void fit_values(struct fit *best, const uint64_t *values, size_t count, enum dist_unit unit);

/* D of ascending values; NaN for the kinds dlio, gamma and file. */
double fit_distance(const struct dist *d, const uint64_t *values, size_t count);
