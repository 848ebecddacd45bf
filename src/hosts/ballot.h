/* SPDX-License-Identifier: Apache-2.0 */
/* ballot.h - votes of all processes that one thread of each waits for, over a channel of their
 * own. */
#pragma once

#include "hosts/hosts.h"

/*
 * As hosts_vote, but beside what is done together, and beside other ballots: so a thread of its own
 * may vote while a job runs. One at a time of each process.
 */
struct ballot;

/* `number` is a channel's that was reserved (channels.h). Never NULL; NULL with h NULL, since
 * nobody else votes. */
struct ballot *ballot_open(struct hosts *h, uint32_t number);
/* Nobody votes any more, or waits here: NULL is fine. */
void ballot_free(struct ballot *b);

/* The OR of what all of them say, which may have all 64 bits: 0; -EPIPE once one of them has closed
 * it, or is gone. With NULL: of this one. */
int ballot_vote(struct ballot *b, uint64_t mine, uint64_t *all);

/* Any thread: nobody is to wait any more. NULL is fine. */
void ballot_close(struct ballot *b);
