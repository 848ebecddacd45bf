/* SPDX-License-Identifier: Apache-2.0 */
/* ceiling_files.h - which files of a dataset stand for all of them, in memory. */
#pragma once

#include <mlgen/err.h>

#include "base/clock.h"
#include "data/file/file.h"
#include "io/host.h"
#include "run/results.h"

/* Bytes that may be read into memory for it: a quarter of what is free. */
uint64_t ceiling_memory(const struct host *host);

/* How many of the files are enough to be read over and over: some batches of every accelerator,
 * more than caches of a CPU hold, at most `most_bytes`; at least one. */
uint64_t ceiling_files(const struct job_result *j, uint64_t most_bytes);

struct ceiling_warm {
	uint64_t files, bytes; /* whole files that are in memory now */
};

/* Read the first `files`, all their parts, until deadline_ns or until a signal is pending. 0 or
 * -errno with err; -EINTR for a signal. */
int ceiling_warm(struct ceiling_warm *w, const struct dataset *ds, uint64_t files,
		 const struct clock *clock, uint64_t deadline_ns, struct mlgen_err *err);

/* Percent of these, or of the first 256, that the page cache holds now; NaN = it cannot be asked.
 * Not by the storage's counter: others use that, too. */
double ceiling_kept_percent(const struct dataset *ds, const struct ceiling_warm *w);
