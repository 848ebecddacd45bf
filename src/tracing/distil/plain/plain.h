/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - print reads and writes outside of training runs and checkpoints as plain jobs. */
#pragma once

/*
 * An account sums up what one thread does with one file in one direction: sizes of requests, their
 * order and the times between them. Threads whose accounts are alike are one stream, and a stream
 * becomes a section with phase=io: its files, the amount of data, and the rate or the pauses of
 * requests.
 */

#include "tracing/distil/facts/facts.h"

/*
 * Add sections to d->to for all streams of STAGE_PLAIN. Unless `is_first`, the job has earlier
 * sections, and the first new section waits for them (stonewall). 0, or -errno with err: as
 * trace_reader_open.
 */
int distil_plain(struct distil *d, bool is_first, struct mlgen_err *err);
