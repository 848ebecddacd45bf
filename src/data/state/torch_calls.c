/* SPDX-License-Identifier: Apache-2.0 */
/* torch_calls.c - the calls by which torch.save writes an archive and torch.load reads it. */
#include "data/state/state.h"

#include "base/util.h"
#include "data/state/state_internal.h"

enum {
	PATH_DIRECT = 1024, /* libstdc++: not through the buffer from here on */
	READ_BUFFER = 4096, /* a filesystem's block, as Python has it */
	TAIL_BYTES = 4096,  /* where miniz looks for the end of an archive */
	MAGIC_BYTES = 4,
	OLD_MAGIC_BYTES = 8,
};

/* What Linux moves in one call. */
#define LINUX_CALL_BYTES UINT64_C(0x7ffff000)

/* Move to the next piece with something left to write. */
static bool more(const struct shard *f, struct shard_write *w)
{
	if (w->left)
		return true;
	if (!torch_zip_next(f, &w->at))
		return false;
	w->left = w->at.bytes;
	return true;
}

/* What is left of the piece, or as much as a call can have, behind the `head` bytes that it begins
 * with. */
static void write_rest(const struct shard *f, struct shard_write *w, uint64_t head)
{
	uint64_t most = w->at.is_tensor ? shard_most_run(f->set) : LAYOUT_META_BYTES;
	uint64_t n = u64_min(w->left, most);

	w->bytes = head + n;
	w->head_bytes = w->at.is_tensor ? head : w->bytes;
	w->left -= n;
}

static bool write_buffer(struct shard_write *w, uint64_t bytes)
{
	w->bytes = bytes;
	w->head_bytes = bytes;
	return bytes > 0;
}

/* Is it part of a piece, the rest of which has gone out? */
static bool is_rest(const struct shard_write *w)
{
	return w->left < w->at.bytes;
}

/* The next read that torch and miniz ask their file object for. */
struct wish {
	uint64_t off, bytes;
};

enum {
	WISH_MAGIC,
	WISH_OLD_MAGIC,
	WISH_TAIL,
	WISH_END,
	WISH_LOCATOR,
	WISH_END64,
	WISH_DIRECTORY,
	WISH_VERSION,
	WISH_VERSION_DATA,
	WISH_PICKLE,
	WISH_PICKLE_DATA,
	WISH_TENSORS, /* two each */
};

static struct wish wish_of_tensor(const struct shard *f, struct shard_read *r)
{
	uint64_t i = r->order - WISH_TENSORS;

	torch_zip_find(f, &r->at, i / 2);
	if (i % 2 == 0)
		return (struct wish){ r->at.off, TORCH_LOCAL_BYTES };
	return (struct wish){ torch_zip_data_off(f, &r->at), r->at.record_bytes };
}

static struct wish wish(const struct shard *f, struct shard_read *r)
{
	uint64_t end = f->bytes - TORCH_END_BYTES;
	uint64_t locator = end - TORCH_LOCATOR_BYTES;
	uint64_t tail = u64_min(f->bytes, TAIL_BYTES);

	switch (r->order) {
	case WISH_MAGIC:
		return (struct wish){ 0, MAGIC_BYTES };
	case WISH_OLD_MAGIC:
		return (struct wish){ 0, OLD_MAGIC_BYTES };
	case WISH_TAIL:
		return (struct wish){ f->bytes - tail, tail };
	case WISH_END:
		return (struct wish){ end, TORCH_END_BYTES };
	case WISH_LOCATOR:
		return (struct wish){ locator, TORCH_LOCATOR_BYTES };
	case WISH_END64:
		return (struct wish){ locator - TORCH_END64_BYTES, TORCH_END64_BYTES };
	case WISH_DIRECTORY:
		return (struct wish){ f->zip.directory_off, f->zip.directory_bytes };
	case WISH_VERSION:
		return (struct wish){ f->zip.version_off, TORCH_LOCAL_BYTES };
	case WISH_VERSION_DATA:
		return (struct wish){ f->zip.version_data_off, TORCH_VERSION_BYTES };
	case WISH_PICKLE:
		return (struct wish){ 0, TORCH_LOCAL_BYTES };
	case WISH_PICKLE_DATA:
		return (struct wish){ f->zip.pickle_off, f->zip.pickle_bytes };
	default:
		return wish_of_tensor(f, r);
	}
}

static void empty_buffer(struct shard_read *r)
{
	r->buffer_off = r->at_off;
	r->buffer_end = r->at_off;
}

/* A buffer that has been read to its end is of no use any more, even for what lies in it. */
static void torch_calls_seek(struct shard_read *r, uint64_t off)
{
	bool has_more = r->at_off < r->buffer_end;

	r->at_off = off;
	if (!has_more || off < r->buffer_off || off > r->buffer_end)
		empty_buffer(r);
}

/* To the next wish, and take of it what the buffer has. */
static void begin_wish(const struct shard *f, struct shard_read *r)
{
	struct wish next = wish(f, r);
	uint64_t has;

	/* Before it looks at the old magic, it asks for the file's size. */
	if (r->order == WISH_OLD_MAGIC)
		empty_buffer(r);
	torch_calls_seek(r, next.off);
	has = u64_min(r->buffer_end - r->at_off, next.bytes);
	r->at_off += has;
	r->left = next.bytes - has;
	r->order++;
}

static void read_past_buffer(const struct shard *f, struct shard_read *r)
{
	uint64_t spans = content_span_bytes(f->set->content);
	uint64_t most = u64_min(LINUX_CALL_BYTES, CONTENT_PARTS * spans);

	r->bytes = u64_min(r->left, most);
	r->got_bytes = r->bytes;
	r->left -= r->bytes;
	r->at_off += r->bytes;
	empty_buffer(r);
}

static void fill_buffer(const struct shard *f, struct shard_read *r)
{
	r->bytes = READ_BUFFER;
	r->got_bytes = u64_min(READ_BUFFER, f->bytes - r->at_off);
	empty_buffer(r);
	r->buffer_end += r->got_bytes;
	r->at_off += r->left;
	r->left = 0;
}

bool torch_path_write_next(const struct shard *f, struct shard_write *w)
{
	uint64_t head = 0, least_direct;

	w->off += w->bytes;
	for (; more(f, w); head += w->left, w->left = 0) {
		least_direct = u64_min(PATH_DIRECT, TORCH_PATH_BUFFER - head);
		if (w->left >= least_direct || is_rest(w)) {
			write_rest(f, w, head);
			return true;
		}
	}
	return write_buffer(w, head);
}

bool torch_file_write_next(const struct shard *f, struct shard_write *w)
{
	uint64_t head = 0;

	w->off += w->bytes;
	for (; more(f, w); head += w->left, w->left = 0) {
		if (w->left <= TORCH_FILE_BUFFER - head)
			continue;
		if (head)
			break;
		write_rest(f, w, 0);
		return true;
	}
	return write_buffer(w, head);
}

bool torch_read_next(const struct shard *f, struct shard_read *r)
{
	uint64_t wishes = WISH_TENSORS + 2 * f->tensors;

	while (r->left == 0) {
		if (r->order == wishes)
			return false;
		begin_wish(f, r);
	}
	r->off = r->at_off;
	if (r->left > READ_BUFFER)
		read_past_buffer(f, r);
	else
		fill_buffer(f, r);
	return true;
}
