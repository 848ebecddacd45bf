/* SPDX-License-Identifier: Apache-2.0 */
/* layout_stream.c - checkpoint_layout=stream: DLIO's files, tensors back to back in chunks of 32
 * MiB. */
#include "data/state/state_internal.h"

#include "base/util.h"

/* DLIO v3's simple_streaming_checkpointing.py. */
#define CHUNK_BYTES (UINT64_C(32) << 20)

static bool stream_next(const struct shard *f, struct shard_piece *p)
{
	uint64_t order = p->bytes ? p->order + 1 : 0;
	struct state_tensor t;

	if (order == f->tensors)
		return false;
	shard_tensor(f, order, &t);
	*p = (struct shard_piece){ .off = p->off + p->bytes,
				   .bytes = t.bytes,
				   .is_tensor = true,
				   .tensor = order,
				   .order = order };
	return true;
}

static bool stream_write_next(const struct shard *f, struct shard_write *w)
{
	w->off += w->bytes;
	w->bytes = u64_min(f->bytes - w->off, CHUNK_BYTES);
	w->is_dropped = true;
	return w->bytes > 0;
}

static bool stream_read_next(const struct shard *f, struct shard_read *r)
{
	r->off += r->bytes;
	r->bytes = u64_min(f->bytes - r->off, CHUNK_BYTES);
	r->got_bytes = r->bytes;
	return r->bytes > 0;
}

const struct layout layout_stream = {
	.name = "stream",
	.files = deepspeed_files,
	.groups = deepspeed_groups,
	.name_of = deepspeed_name,
	.names = deepspeed_names,
	.next = stream_next,
	.write_next = stream_write_next,
	.read_next = stream_read_next,
	.run_bytes = CHUNK_BYTES,
};
