/* SPDX-License-Identifier: Apache-2.0 */
/* plans.h - plans: the calls by which a framework reads a file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/engine.h>
#include <mlgen/err.h>

#include "data/file/file.h"
#include "job/job.h"

/*
 * A plan is a row of functions (struct plan_kind in data/file/file.h) that lists the calls of one
 * reader in order; a format names its plan. Declared here are plans read from a text file
 * (access=recorded) and the load that readers put on the storage in total.
 */

/* ---- Demand: the load on storage if accelerators never waited ---- */

/*
 * Demand at 100 % utilisation, that is batch_size samples per mean compute_time. The nominal size
 * of a sample is that of the published tables: the mean of sample_size, or the declared widths of
 * the columns that are read. The io variant counts the bytes that the plan reads for a sample
 * (mean over at most 32,768 evenly spaced extents). NaN with compute_time=0.
 */
struct demand {
	double samples_per_sec;   /* per accelerator */
	double bytes_per_sec;     /* per accelerator, nominal */
	double all_bytes_per_sec; /* all accelerators, nominal */
	double all_io_bytes_per_sec;
};

void demand_of(struct demand *d, const struct job *job, const struct plan_config *plan);

/* ---- Recorded calls: templates of the calls that read a sample (access=recorded) ---- */

/*
 * A text file with one call a line, in the order of the calls:
 *
 *   # comment
 *   template 93%                share of the samples that are read this way
 *   stat                        before open: by path; after open: of the open file
 *   open
 *   read start+0 4096
 *   read end-65557 65557
 *   read here 258048,4096 *
 *   read here rest
 *   close
 *
 * read ANCHOR LENGTH [COUNT]. An ANCHOR is
 *   start[+N]   N bytes after the start of the file
 *   end[-N]     N bytes before its end, or its start if the file is shorter
 *   here[+N]    N bytes after the end of the previous read
 *   sample[+N]  N bytes after the start of the extent, which is the start of a
 *               file that holds a single sample
 *   any         a random place in the file, a multiple of the length
 * and a LENGTH is BYTES as in a job file, N% of the file, `rest` (the rest of the file), or
 * `sample` (the rest of the extent). Up to eight lengths, separated by commas, are used in turn by
 * the calls of a COUNT. A COUNT is xN for N calls, `*` for calls until the end of the file, or
 * `*sample` until the end of the extent, the last of which reads no more than is left. From the
 * second call on, each continues where the previous one ended, except with `any`, which is drawn
 * anew.
 *
 * Reads past the end of the file are submitted all the same, and come short or empty. `rest` and
 * `sample` make no call if nothing is left.
 *
 * The file is open between open and close. Each template must have a read, and close what it opens.
 * Shares add up to 100, within 1. The template of a sample is drawn by the sample's number and is
 * the same in each epoch.
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
		RECORDED_PERCENT, /* N % of the file */
		RECORDED_REST,    /* the rest of the file */
		RECORDED_REST_OF_SAMPLE,
	} kind;
	uint64_t bytes;
	double percent;
};

/* A line of the text: a call, or a run of reads. */
struct recorded_call {
	enum mlgen_op op; /* OPEN, STAT, READ or CLOSE; the members below are for READ */
	enum recorded_anchor anchor;
	uint64_t off; /* distance after the anchor; for END, before it */
	unsigned lengths;
	struct recorded_length length[RECORDED_LENGTHS_MAX];
	enum {
		RECORDED_TIMES,
		RECORDED_TO_END,
		RECORDED_TO_END_OF_SAMPLE,
	} until;
	uint64_t times; /* RECORDED_TIMES: number of reads; without xN, one of each length */
};

struct recorded_template {
	double percent;
	uint32_t count;
	struct recorded_call *calls; /* owned */
	size_t room;                 /* mem_grow() */
};

/* Read-only for all threads after recorded_read, except for `holders`. */
struct recorded {
	unsigned holders; /* number of references; 0 if only recorded_write uses it */
	uint32_t count;
	struct recorded_template *templates; /* owned */
	double percent;                      /* sum of the templates */
	uint64_t seed; /* draws templates and random places; set by the owner */
};

/* Return 0, or -errno with err: "recorded_calls: PATH: ...", or "PATH:LINE: ...". */
int recorded_read(struct recorded **out, const char *path, unsigned kb_base, struct mlgen_err *err);
/* recorded_ref adds a reference; recorded_free drops one, and frees after the last. One thread
 * only; NULL is fine. */
struct recorded *recorded_ref(struct recorded *r);
void recorded_free(struct recorded *r);

/*
 * Write the text that recorded_read parses. why[i], if set, is a comment line before template i;
 * `why` may be NULL. The caller must check the stream for errors.
 */
void recorded_write(FILE *to, const struct recorded *r, const char *const *why);

/* Return the template of an extent: a pure function of the seed and the extent's number. */
const struct recorded_template *recorded_of(const struct recorded *r, uint64_t extent);

/* Return the bytes of the largest read; UINT64_MAX if that depends on the file's size. */
uint64_t recorded_largest_read(const struct recorded *r);
