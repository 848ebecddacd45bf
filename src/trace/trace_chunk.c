/* SPDX-License-Identifier: Apache-2.0 */
/* trace_chunk.c - see trace_chunk.h. */
#include "trace/trace_chunk.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "trace/trace_reader.h"

_Static_assert(sizeof(struct trace_record) == 64, "as it lies in a file");
_Static_assert(sizeof(struct trace_file_head) == 64, "as it lies in a file");
_Static_assert(sizeof(struct trace_chunk_head) == 48, "as it lies in a file");
_Static_assert(sizeof(struct trace_stored_entry) == 56, "as it lies in a file");
_Static_assert(sizeof(struct trace_index_entry) == 32, "as it lies in a file");
_Static_assert(sizeof(struct trace_end) == 48, "as it lies in a file");

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SWAP(x) ((void)(x))
#else
#define SWAP(x)                                                                                    \
	((x) = _Generic((x), uint16_t                                                              \
			: __builtin_bswap16, uint32_t                                              \
			: __builtin_bswap32, uint64_t                                              \
			: __builtin_bswap64, int64_t                                               \
			: __builtin_bswap64)(x))
#endif

uint32_t trace_crc(const void *bytes, size_t count)
{
	return (uint32_t)crc32_z(0, bytes, count);
}

void trace_swap_records(struct trace_record *r, size_t count)
{
	for (size_t i = 0; i < count; i++, r++) {
		SWAP(r->start_ns);
		SWAP(r->duration_ns);
		SWAP(r->off);
		SWAP(r->len_bytes);
		SWAP(r->result);
		SWAP(r->cpu_ns);
		SWAP(r->pid);
		SWAP(r->tid);
		SWAP(r->file);
		SWAP(r->op);
		SWAP(r->flags);
	}
}

void trace_swap_entry(struct trace_stored_entry *e)
{
	SWAP(e->kind);
	SWAP(e->text_bytes);
	for (unsigned i = 0; i < TRACE_NUMBERS; i++)
		SWAP(e->number[i]);
}

void trace_swap_index(struct trace_index_entry *e, size_t count)
{
	for (size_t i = 0; i < count; i++, e++) {
		SWAP(e->off);
		SWAP(e->first_ns);
		SWAP(e->last_ns);
		SWAP(e->kind);
		SWAP(e->count);
	}
}

void trace_swap_end(struct trace_end *e)
{
	SWAP(e->records);
	SWAP(e->entries);
	SWAP(e->chunks);
	SWAP(e->lost);
	SWAP(e->index_off);
	SWAP(e->bytes);
}

static uint32_t file_head_crc(const struct trace_file_head *h)
{
	return trace_crc(h, offsetof(struct trace_file_head, crc));
}

void trace_put_file_head(struct trace_file_head *to, const struct trace_head *head)
{
	*to = (struct trace_file_head){ .version = htole32(TRACE_VERSION),
					.part = htole32(head->part),
					.wall_ns = htole64(head->wall_ns),
					.clock_ns = htole64(head->clock_ns),
					.record_bytes = htole32(sizeof(struct trace_record)) };
	memcpy(to->magic, TRACE_MAGIC, sizeof(to->magic));
	memcpy(to->run_id, head->run_id, sizeof(to->run_id));
	to->crc = htole32(file_head_crc(to));
}

bool trace_is_magic(const void *first, size_t bytes)
{
	return bytes >= TRACE_MAGIC_BYTES && memcmp(first, TRACE_MAGIC, TRACE_MAGIC_BYTES) == 0;
}

/* The version is looked at before the checksum, which a later one may have elsewhere. */
int trace_get_file_head(struct trace_head *to, const struct trace_file_head *h, uint32_t *version)
{
	if (!trace_is_magic(h->magic, sizeof(h->magic)))
		return -EINVAL;
	*version = le32toh(h->version);
	if (*version != TRACE_VERSION)
		return -EPROTONOSUPPORT;
	if (le32toh(h->crc) != file_head_crc(h) ||
	    le32toh(h->record_bytes) != sizeof(struct trace_record))
		return -EBADMSG;
	*to = (struct trace_head){ .part = le32toh(h->part),
				   .wall_ns = le64toh(h->wall_ns),
				   .clock_ns = le64toh(h->clock_ns) };
	memcpy(to->run_id, h->run_id, sizeof(to->run_id));
	return 0;
}

static void swap_chunk_head(struct trace_chunk_head *h)
{
	SWAP(h->magic);
	SWAP(h->kind);
	SWAP(h->flags);
	SWAP(h->number);
	SWAP(h->count);
	SWAP(h->raw_bytes);
	SWAP(h->packed_bytes);
	SWAP(h->first_ns);
	SWAP(h->last_ns);
	SWAP(h->packed_crc);
	SWAP(h->crc);
}

static uint32_t chunk_head_crc(const struct trace_chunk_head *h)
{
	return trace_crc(h, offsetof(struct trace_chunk_head, crc));
}

void trace_put_chunk_head(struct trace_chunk_head *h)
{
	h->magic = TRACE_CHUNK_MAGIC;
	swap_chunk_head(h);
	h->crc = htole32(chunk_head_crc(h));
}

bool trace_get_chunk_head(struct trace_chunk_head *h)
{
	uint32_t crc = chunk_head_crc(h);

	swap_chunk_head(h);
	return h->magic == TRACE_CHUNK_MAGIC && h->crc == crc &&
	       h->raw_bytes <= TRACE_CHUNK_RAW_MOST;
}
