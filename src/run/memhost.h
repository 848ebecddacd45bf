/* SPDX-License-Identifier: Apache-2.0 */
/* memhost.h - whether the processes of a job on one host find the memory that they take
 * together. */
#pragma once

#include "hosts/hosts.h"
#include "run/memneed.h"

/*
 * Together: what each takes, group by group, is compared with what the host, and each control group
 * that several of them are in, leaves for all of these. 0, or -EPIPE with err; in rank 0 -ENOMEM
 * with err, where it is too much on any host, and the number of the job in *job. Of a process alone
 * memneed_check says it.
 */
int memhost_check(struct hosts *h, const struct memneed_jobs *all, const struct memroom *room,
		  size_t *job, struct mlgen_err *err);
