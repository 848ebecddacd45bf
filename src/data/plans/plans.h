/* SPDX-License-Identifier: Apache-2.0 */
/* plans.h - the calls of each framework's reader. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/engine.h>
#include <mlgen/err.h>

#include "data/file/file.h"
#include "job/job.h"

/*
 * How frameworks read files: each plan is a row of functions (struct plan_kind in
 * data/file/file.h) that gives the calls of one reader, one after the other. A format names its
 * plan. What is here is about plans that come from elsewhere (access=recorded), and about what
 * readers ask of the storage in all.
 */

/* ---- What accelerators that never wait would ask of storage ---- */

/*
 * At 100 % utilisation: batch_size samples per mean compute_time. Sizes as the published tables
 * have them (the nominal mean of sample_size; of columns the declared widths of those that are
 * read), and beside it the bytes that the plan really reads for a sample (mean over at most 32,768
 * evenly spaced extents). NaN with compute_time=0.
 */
struct demand {
	double samples_per_sec;   /* of one accelerator */
	double bytes_per_sec;     /* of one, nominal */
	double all_bytes_per_sec; /* of all accelerators */
	double all_io_bytes_per_sec;
};

void demand_of(struct demand *d, const struct job *job, const struct plan_config *plan);

/* ---- Templates of the calls by which a sample is read, from a text file (access=recorded) ---- */

/*
 * A text for people, one call a line, in the order in which they are made:
 *
 *   # comment
 *   template 93%                share of the samples that are read so
 *   stat                        before an open: by path; else of the open file
 *   open
 *   read start+0 4096
 *   read end-65557 65557
 *   read here 258048,4096 *
 *   read here rest
 *   close
 *
 * read ANCHOR LENGTH [COUNT]. An ANCHOR is
 *   start[+N]   N bytes into the file
 *   end[-N]     N bytes before its end, or its beginning where it is shorter
 *   here[+N]    behind what the read before got, as far as N further on
 *   sample[+N]  N bytes behind the first of the extent; of a file that is one
 *               sample its beginning
 *   any         a random place in the file, a multiple of the length
 * and a LENGTH is BYTES as a size of a job file has them, N% of the file, `rest`: what is left of
 * the file, `sample`: what is left of the extent; or up to eight of these with commas, which calls
 * with a COUNT take in turn. A COUNT is xN calls, `*`: until the end of the file, `*sample`: until
 * that of the extent, of which the last call asks for no more than is left. The second call and
 * those after it go on where the one before ended, but for `any`, which is drawn anew.
 *
 * What reaches past the end of the file is asked for all the same, and comes short or empty. `rest`
 * and `sample` make no call where nothing is left.
 *
 * Between open and close the file is open; each template has a read, and closes what it opens.
 * Shares are of 100, within 1; each sample has one template, drawn by its number, the same in each
 * epoch.
 */

#define RECORDED_CALLS_MAX 65536u
#define RECORDED_LENGTHS_MAX 8u

enum recorded_anchor {
	RECORDED_START,
	RECORDED_END,
	RECORDED_HERE,
	RECORDED_SAMPLE,
	RECORDED_ANY,
};

struct recorded_length {
	enum {
		RECORDED_BYTES,
		RECORDED_PERCENT, /* of the file */
		RECORDED_REST,    /* of the file */
		RECORDED_REST_OF_SAMPLE,
	} kind;
	uint64_t bytes;
	double percent;
};

/* One line: one call, or a run of reads. */
struct recorded_call {
	enum mlgen_op op; /* OPEN, STAT, READ, CLOSE */
	/* Of READ: */
	enum recorded_anchor anchor;
	uint64_t off; /* of the anchor; END: before it */
	unsigned lengths;
	struct recorded_length length[RECORDED_LENGTHS_MAX];
	enum {
		RECORDED_TIMES,
		RECORDED_TO_END,
		RECORDED_TO_END_OF_SAMPLE,
	} until;
	uint64_t times; /* RECORDED_TIMES: 1 or more; without xN each length */
};

struct recorded_template {
	double percent;
	uint32_t count;
	struct recorded_call *calls; /* owned */
	size_t room;                 /* mem_grow() */
};

/* Not changed once it is read: any thread. */
struct recorded {
	unsigned holders; /* who writes one leaves it 0 */
	uint32_t count;
	struct recorded_template *templates; /* owned */
	double percent;                      /* of all */
	uint64_t seed;                       /* of what is drawn; set by who has it */
};

/* 0, or -errno with err: "recorded_calls: PATH: ...", or "PATH:LINE: ...". */
int recorded_read(struct recorded **out, const char *path, unsigned kb_base, struct mlgen_err *err);
/* Each of those who hold it frees it, in one thread; NULL is fine. */
struct recorded *recorded_hold(struct recorded *r);
void recorded_free(struct recorded *r);

/*
 * The text that recorded_read takes, with one line of comment for people in front of each template
 * (`why`, by template, or NULL). Errors are those of the stream.
 */
void recorded_write(FILE *to, const struct recorded *r, const char *const *why);

/* The template of an extent: a pure function of the seed and its number. */
const struct recorded_template *recorded_of(const struct recorded *r, uint64_t extent);

/* The largest read that any template asks for; UINT64_MAX where the file's size decides. */
uint64_t recorded_largest_read(const struct recorded *r);
