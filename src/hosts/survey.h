/* SPDX-License-Identifier: Apache-2.0 */
/* survey.h - what rank 0 asks all others for while a job runs, beside all that is done together. */
#pragma once

#include "base/buf.h"
#include "hosts/hosts.h"

/*
 * In each of the others a thread of its own puts an answer together when rank 0 asks, so nobody who
 * works waits; without a question nothing is sent. Their last answer comes unasked, at the end.
 * What is there of a process that does not answer, or is gone, is what it said before.
 */
struct survey;

/* Appends an answer; on the survey's thread. */
typedef void survey_put(void *arg, struct buf *to);

/* `number` is a channel's that was reserved (channels.h), of all alike. NULL with h NULL. Where no
 * thread can be started, only the last answer is given. */
struct survey *survey_open(struct hosts *h, uint32_t number, survey_put *put, void *arg);
/* Not rank 0: the last answer is put together, and sent; once. */
void survey_end(struct survey *s);
void survey_free(struct survey *s); /* NULL is fine, as it is above */

/* ---- rank 0; any thread ---- */

/* Ask, and wait until all have answered that have not ended and are not gone, but at most so
 * long. */
void survey_ask(struct survey *s, uint64_t most_ns);

/* The last answer of a rank instead of what is in `to`. False: there is none. */
bool survey_answer(struct survey *s, unsigned rank, struct buf *to);

/* Has each of the others given its last answer, or is gone? True of NULL. */
bool survey_is_over(struct survey *s);
