/* SPDX-License-Identifier: Apache-2.0 */
/* search.h - the largest number for which something noisy still holds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/*
 * What to try next follows from what was told so far and nothing else. Short probes double the
 * number until one fails, then bisect; a full run confirms the largest that held, and another its
 * neighbour that did not. A result too near to the limit for its noise is repeated, up to
 * SEARCH_RUNS times. Where a full run says otherwise than the short ones, only full runs count from
 * then on. Where the first number fails, larger ones are tried as long as they come nearer, unless
 * it is said that none can (falls).
 *
 * A margin is what a result has to spare, as a part of the limit: 0.05 is 5 % better than required,
 * -0.05 is missed by 5 %.
 */
#define SEARCH_RUNS 3
#define SEARCH_NOISE_LEAST 0.01 /* nothing is more exact than that */

enum search_verdict {
	SEARCH_UNKNOWN,
	SEARCH_HOLDS,
	SEARCH_FAILS,
	SEARCH_UNSURE, /* full runs said both */
	SEARCH_IMPOSSIBLE,
};

/* All runs of one number and one length. */
struct search_trial {
	uint64_t value;
	bool is_full, is_impossible;
	unsigned runs;
	double margins[SEARCH_RUNS];
	double noise; /* that its runs showed inside themselves */
};

/* Zero trials; owned by search_fini. */
struct search {
	uint64_t least, most;
	bool falls; /* what fails fails for all larger numbers; set behind init */
	VEC(struct search_trial) trials;
};

enum search_what { SEARCH_SHORT, SEARCH_FULL, SEARCH_END };

struct search_step {
	enum search_what what;
	uint64_t value;
};

struct search_answer {
	bool found;       /* some number holds */
	uint64_t value;   /* the largest that surely does */
	uint64_t at_most; /* larger than value: up to here it is not sure */
	bool is_limited;  /* a number above at_most does not hold: */
	uint64_t limited_by;
};

void search_init(struct search *s, uint64_t least, uint64_t most);
void search_fini(struct search *s);

struct search_step search_next(const struct search *s);
/* What came of it; noise of the one run (of its epochs), 0 = not known. */
void search_tell(struct search *s, struct search_step step, double margin, double noise);
/* The number cannot be tried at all, and no larger one. */
void search_tell_impossible(struct search *s, struct search_step step);

/* As far as it is known: also before the end. */
struct search_answer search_answer(const struct search *s);

/* Did a full run of each side say so, as far as it has sides? */
bool search_is_confirmed(const struct search *s);

const struct search_trial *search_find(const struct search *s, uint64_t value, bool is_full);
enum search_verdict search_verdict(const struct search_trial *t);
/* The widest that was seen so far, at least SEARCH_NOISE_LEAST. */
double search_noise(const struct search *s);
