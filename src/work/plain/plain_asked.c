/* SPDX-License-Identifier: Apache-2.0 */
/* plain_asked.c - a plain job in questions. */
#include "ask/ask.h"
#include "ask/mlperf/mlperf.h"

#include <math.h>

#include "work/plain/plain.h"

static double bytes_per_sec(const struct job_result *r)
{
	double wall = r->wall_seconds;

	return wall > 0 ? (double)(r->read.io_bytes + r->write.io_bytes) / wall : (double)NAN;
}

static uint64_t workers(const struct job_result *r)
{
	return r->io.numjobs;
}

static const char *const plain_varied[] = { "numjobs",
					    "iodepth",
					    "iodepth_batch_submit",
					    "iodepth_batch_complete_min",
					    "iodepth_batch_complete_max",
					    "thinktime_blocks",
					    NULL };

const struct asked plain_asked = {
	.bytes_per_sec = bytes_per_sec,
	.workers = workers,
	.worker = "workers",
	.side_by_side = "rates are the bytes of all over the time of the longest",
	.varied = plain_varied,
	.example = "read.iops>=1000",
	.mlperf_rules = mlperf_other_rules,
};
