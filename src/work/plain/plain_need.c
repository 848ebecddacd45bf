/* SPDX-License-Identifier: Apache-2.0 */
/* plain_need.c - what a plain job takes of memory, and what can be lowered. */
#include "work/plain/plain_need.h"

#include "base/units.h"
#include "data/pattern/pattern.h"
#include "work/plain/stream.h"

/* Per open file and per request. */
#define FILE_BYTES UINT64_C(512)
#define REQUEST_BYTES UINT64_C(512)

void plain_need(struct memneed *n, const struct job *j, size_t files)
{
	unsigned depth = job_depth(j);
	uint64_t each = files * FILE_BYTES + depth * REQUEST_BYTES;
	uint64_t buffer = stream_buffer_bytes(j, depth);

	memneed_threads(n, j->numjobs, each);
	if (job_touches_files(j) || job_writes(j))
		memneed_buffers(n, j, j->numjobs, buffer, job_writes(j));
	else
		memneed_untouched(n, j->numjobs, buffer);
}

void plain_put_costs(struct buf *out, const struct job *j)
{
	memneed_put(out, "numjobs", j->numjobs);
	memneed_put(out, "iodepth", job_depth(j));
	if (out->len)
		memneed_put_bs(out, pattern_largest_bytes(j));
}
