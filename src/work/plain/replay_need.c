/* SPDX-License-Identifier: Apache-2.0 */
/* replay_need.c - see replay_need.h. */
#include "work/plain/replay_need.h"

#include "base/util.h"
#include "work/plain/replay_lane.h"
#include "work/plain/replay_spool.h"

/* Per file and per request. */
#define FILE_BYTES UINT64_C(80)
#define REQUEST_BYTES UINT64_C(512)

void replay_need(struct memneed *n, const struct job *j, const struct replay_ops *o,
		 const struct replay_files *f)
{
	uint64_t workers = u64_max(o->workers, 1);
	uint64_t each = o->workers ? replay_open_bytes(o, j->directory) : 0;

	memneed_prepare(n, f->missing_files, f->largest_missing);
	memneed_threads(n, workers,
			each + REPLAY_CHUNK_BYTES + o->depth * REQUEST_BYTES +
				f->files * FILE_BYTES / workers);
	if (!o->workers)
		return;
	if (job_touches_files(j) || o->bytes[1])
		memneed_buffers(n, j, workers, replay_buffer_bytes(o), o->bytes[1] > 0);
	else
		memneed_untouched(n, workers, replay_buffer_bytes(o));
}

void replay_put_costs(struct buf *out, const struct job *j)
{
	memneed_put(out, "replay_threads", j->replay_threads);
}
