/* SPDX-License-Identifier: Apache-2.0 */
/* probe_hosts.h - questions of one job on several hosts: rank 0 asks and decides, the others run
 * what it tries. */
#pragma once

#include "ask/ask.h"
#include "ask/probe.h"

/*
 * A search, or a ceiling, goes on in rank 0 alone, which is where its words are printed and its
 * results are. Each probe that it makes is told to the others, who run their part of it and give
 * what they measured. All of this is done together (hosts.h), and at once where there is one
 * process.
 */

/* Rank 0, before it runs a probe: the others do, too. 0, or -EPIPE with err. */
int probe_tell(struct hosts *h, const struct probe_args *args, struct mlgen_err *err);

/* All others: run what is told, until it is over. The exit status of rank 0. */
int probe_follow(const struct ask *a);

/* Rank 0, when there is nothing more to try: the others end with this status, which it gives
 * back. */
int probe_dismiss(struct hosts *h, int status);
