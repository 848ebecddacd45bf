/* SPDX-License-Identifier: Apache-2.0 */
/* torch_zip.c - the archive that torch.save writes: a record per tensor, each at a multiple of
 * 64. */
#include "data/state/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "data/state/state_internal.h"

#define MAX32 UINT64_C(0xffffffff) /* "look into the zip64 field" */

enum {
	CENTRAL_BYTES = 46,
	FIELD_BYTES = 4, /* an extra field without what is in it */
	ALIGN = 64,
	/* A descriptor follows, names are UTF-8. */
	FLAGS = 0x0808,
	NAME_MAX_BYTES = 64,
};

static const char version[] = "3\n";

/* Records by number: the pickle, tensors, the version. */

static bool is_tensor(const struct shard *f, uint64_t record)
{
	return record > 0 && record <= f->tensors;
}

static size_t record_name(const struct shard *f, const struct shard_piece *p,
			  char name[NAME_MAX_BYTES])
{
	int n;

	if (is_tensor(f, p->order))
		n = snprintf(name, NAME_MAX_BYTES, "%s/data/%" PRIu64, f->zip.stem, p->tensor);
	else
		n = snprintf(name, NAME_MAX_BYTES, "%s/%s", f->zip.stem,
			     p->order == 0 ? "data.pkl" : "version");
	return (size_t)n;
}

/* The length of record_name() without printing the name: a dry run adds up the sizes of all records
 * of all files. */
static size_t name_bytes(const struct shard *f, const struct shard_piece *p)
{
	size_t n = strlen(f->zip.stem);

	if (!is_tensor(f, p->order))
		return n + (p->order == 0 ? sizeof("/data.pkl") : sizeof("/version")) - 1;
	n += sizeof("/data/"); /* and the first digit */
	for (uint64_t v = p->tensor; v >= 10; v /= 10)
		n++;
	return n;
}

static uint64_t record_bytes(const struct shard *f, const struct shard_piece *p)
{
	struct state_tensor t;

	if (p->order == 0)
		return f->zip.pickle_bytes;
	if (p->order > f->tensors)
		return TORCH_VERSION_BYTES;
	shard_tensor(f, p->tensor, &t);
	return t.bytes;
}

/* The next key in the order of their names. */
static uint64_t next_key(uint64_t key, uint64_t count)
{
	if (key && key * 10 < count)
		return key * 10;
	while (key % 10 == 9 || key + 1 >= count)
		key /= 10;
	return key + 1;
}

/* Bytes of a record's zip64 field, 0 = it needs none. */
static unsigned zip64_bytes(const struct shard_piece *p)
{
	unsigned n = (p->record_bytes >= MAX32 ? 16u : 0) + (p->record_off >= MAX32 ? 8u : 0);

	return n ? FIELD_BYTES + n : 0;
}

static unsigned descriptor_bytes(const struct shard_piece *p)
{
	return zip64_bytes(p) ? 24 : 16;
}

/* The field "FB" at `off`, and then the data. */
static uint64_t padding_bytes(uint64_t off)
{
	return FIELD_BYTES + (ALIGN - (off + FIELD_BYTES) % ALIGN) % ALIGN;
}

static uint64_t padding_off(const struct shard *f, const struct shard_piece *p)
{
	return p->record_off + TORCH_LOCAL_BYTES + name_bytes(f, p) + zip64_bytes(p);
}

static uint64_t part_bytes(const struct shard *f, const struct shard_piece *p)
{
	switch (p->part) {
	case TORCH_LOCAL:
		return TORCH_LOCAL_BYTES;
	case TORCH_NAME:
		return name_bytes(f, p);
	case TORCH_ZIP64:
		return zip64_bytes(p);
	case TORCH_PADDING:
		return padding_bytes(p->off);
	case TORCH_DATA:
		return p->record_bytes;
	case TORCH_DESCRIPTOR:
		return descriptor_bytes(p);
	case TORCH_DIRECTORY:
		return f->zip.directory_bytes;
	case TORCH_END64:
		return TORCH_END64_BYTES;
	case TORCH_LOCATOR:
		return TORCH_LOCATOR_BYTES;
	default:
		return TORCH_END_BYTES;
	}
}

static void begin_record(const struct shard *f, struct shard_piece *p)
{
	p->part = TORCH_LOCAL;
	p->record_off = p->off;
	p->record_bytes = record_bytes(f, p);
}

/* The pickle's is tensor 0, too, and the first of them. */
static void next_record(const struct shard *f, struct shard_piece *p)
{
	if (p->order > 0 && p->order < f->tensors)
		p->tensor = next_key(p->tensor, f->tensors);
	p->order++;
	begin_record(f, p);
}

static void next_part(const struct shard *f, struct shard_piece *p)
{
	if (p->part == TORCH_DESCRIPTOR && p->order <= f->tensors)
		next_record(f, p);
	else
		p->part++;
}

/* Header fields that the local header and the directory share: from the flags to the checksum.
 * Sizes of a local header are 0: the descriptor has them. */
static void put_common(struct window *w)
{
	window_number(w, 2, FLAGS);
	window_number(w, 2, 0); /* stored */
	window_number(w, 4, 0); /* no time, no date */
}

static uint64_t cap32(uint64_t v)
{
	return v < MAX32 ? v : MAX32;
}

/* `stored` is 0 in a local header, before the data are there. */
static void put_zip64(struct window *w, const struct shard_piece *p, uint64_t stored)
{
	unsigned bytes = zip64_bytes(p);

	if (bytes == 0)
		return;
	window_number(w, 2, 1);
	window_number(w, 2, bytes - FIELD_BYTES);
	if (p->record_bytes >= MAX32) {
		window_number(w, 8, p->record_bytes);
		window_number(w, 8, stored);
	}
	if (p->record_off >= MAX32)
		window_number(w, 8, p->record_off);
}

static void put_local(const struct shard *f, const struct shard_piece *p, struct window *w)
{
	uint64_t extra = zip64_bytes(p) + padding_bytes(padding_off(f, p));

	window_text(w, "PK\3\4");
	window_number(w, 2, 0); /* version needed */
	put_common(w);
	window_number(w, 8, 0);
	window_number(w, 4, 0);
	window_number(w, 2, name_bytes(f, p));
	window_number(w, 2, (unsigned)extra);
}

static void put_name(const struct shard *f, const struct shard_piece *p, struct window *w)
{
	char name[NAME_MAX_BYTES];

	window_put(w, name, record_name(f, p, name));
}

static void put_padding(const struct shard_piece *p, struct window *w)
{
	static const char z[ALIGN + 1] =
		"ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ";
	uint64_t bytes = p->bytes - FIELD_BYTES;

	window_text(w, "FB");
	window_number(w, 2, bytes);
	window_put(w, z, bytes);
}

static uint32_t record_crc32(const struct shard *f, const struct shard_piece *p)
{
	struct shard_piece data = *p;

	if (p->order == 0)
		return f->zip.pickle_crc32;
	if (p->order > f->tensors)
		return (uint32_t)crc32_z(0, (const void *)version, TORCH_VERSION_BYTES);
	data.off = torch_zip_data_off(f, p);
	data.bytes = p->record_bytes;
	return shard_crc32(f, &data);
}

static void put_data(const struct shard *f, const struct shard_piece *p, struct window *w)
{
	if (p->order == 0)
		torch_pickle(f, w);
	else
		window_put(w, version, TORCH_VERSION_BYTES);
}

static void put_descriptor(const struct shard *f, const struct shard_piece *p, struct window *w)
{
	unsigned bytes = zip64_bytes(p) ? 8 : 4;

	window_text(w, "PK\7\10");
	window_number(w, 4, record_crc32(f, p));
	window_number(w, bytes, p->record_bytes);
	window_number(w, bytes, p->record_bytes);
}

static uint64_t entry_bytes(const struct shard *f, const struct shard_piece *p)
{
	return CENTRAL_BYTES + name_bytes(f, p) + zip64_bytes(p);
}

static void put_entry(const struct shard *f, const struct shard_piece *p, struct window *w)
{
	char name[NAME_MAX_BYTES];
	size_t bytes = record_name(f, p, name);

	window_text(w, "PK\1\2");
	window_number(w, 4, 0); /* made by, version needed */
	put_common(w);
	window_number(w, 4, record_crc32(f, p));
	window_number(w, 4, cap32(p->record_bytes));
	window_number(w, 4, cap32(p->record_bytes));
	window_number(w, 2, bytes);
	window_number(w, 2, zip64_bytes(p));
	window_number(w, 8, 0); /* comment, disk, internal attributes, ... */
	window_number(w, 2, 0); /* ... external ones */
	window_number(w, 4, cap32(p->record_off));
	window_put(w, name, bytes);
	put_zip64(w, p, p->record_bytes);
}

/* Only what shows: a checksum is not for nothing. */
static void put_directory(const struct shard *f, struct window *w)
{
	struct shard_piece p = { 0 };

	while (w->at < w->end && torch_zip_next(f, &p) && p.part < TORCH_DIRECTORY) {
		if (p.part != TORCH_LOCAL)
			continue;
		if (w->at + entry_bytes(f, &p) > w->from)
			put_entry(f, &p, w);
		else
			w->at += entry_bytes(f, &p);
	}
}

static void put_end64(const struct shard *f, struct window *w)
{
	window_text(w, "PK\6\6");
	window_number(w, 8, TORCH_END64_BYTES - 12);
	window_number(w, 2, 0x031e); /* made by */
	window_number(w, 2, 45);     /* version needed */
	window_number(w, 8, 0);      /* disks */
	window_number(w, 8, f->tensors + 2);
	window_number(w, 8, f->tensors + 2);
	window_number(w, 8, f->zip.directory_bytes);
	window_number(w, 8, f->zip.directory_off);
}

static void put_locator(const struct shard *f, struct window *w)
{
	window_text(w, "PK\6\7");
	window_number(w, 4, 0);
	window_number(w, 8, f->zip.directory_off + f->zip.directory_bytes);
	window_number(w, 4, 1);
}

static void put_end(const struct shard *f, struct window *w)
{
	uint64_t records = f->tensors + 2 < 0xffff ? f->tensors + 2 : 0xffff;

	window_text(w, "PK\5\6");
	window_number(w, 4, 0); /* disks */
	window_number(w, 2, records);
	window_number(w, 2, records);
	window_number(w, 4, cap32(f->zip.directory_bytes));
	window_number(w, 4, cap32(f->zip.directory_off));
	window_number(w, 2, 0); /* comment */
}

static void put_part(const struct shard *f, const struct shard_piece *p, struct window *w)
{
	switch (p->part) {
	case TORCH_LOCAL:
		put_local(f, p, w);
		break;
	case TORCH_NAME:
		put_name(f, p, w);
		break;
	case TORCH_ZIP64:
		put_zip64(w, p, 0);
		break;
	case TORCH_PADDING:
		put_padding(p, w);
		break;
	case TORCH_DATA:
		put_data(f, p, w);
		break;
	case TORCH_DESCRIPTOR:
		put_descriptor(f, p, w);
		break;
	case TORCH_DIRECTORY:
		put_directory(f, w);
		break;
	case TORCH_END64:
		put_end64(f, w);
		break;
	case TORCH_LOCATOR:
		put_locator(f, w);
		break;
	default:
		put_end(f, w);
	}
}

void torch_zip_init(struct shard *f)
{
	struct window w = { 0 };
	struct shard_piece p = { 0 };

	torch_pickle(f, &w);
	f->zip.pickle_bytes = w.at;
	f->zip.pickle_crc32 = w.crc32;
	while (torch_zip_next(f, &p) && p.part < TORCH_DIRECTORY) {
		if (p.part != TORCH_LOCAL)
			continue;
		if (p.order == 0)
			f->zip.pickle_off = torch_zip_data_off(f, &p);
		f->zip.version_off = p.off; /* the last one is it */
		f->zip.version_data_off = torch_zip_data_off(f, &p);
		f->zip.directory_bytes += entry_bytes(f, &p);
	}
	f->zip.directory_off = p.off;
	f->bytes = p.off + f->zip.directory_bytes + TORCH_END64_BYTES + TORCH_LOCATOR_BYTES +
		   TORCH_END_BYTES;
	f->meta_bytes = f->zip.directory_bytes > f->zip.pickle_bytes ? f->zip.directory_bytes
								     : f->zip.pickle_bytes;
}

bool torch_zip_next(const struct shard *f, struct shard_piece *p)
{
	if (p->bytes == 0) {
		begin_record(f, p);
	} else {
		if (p->part == TORCH_END)
			return false;
		p->off += p->bytes;
		next_part(f, p);
	}
	p->bytes = part_bytes(f, p);
	if (p->bytes == 0) { /* no zip64 */
		p->part++;
		p->bytes = part_bytes(f, p);
	}
	p->is_tensor = p->part == TORCH_DATA && is_tensor(f, p->order);
	return true;
}

void torch_zip_meta(const struct shard *f, const struct shard_piece *p, uint64_t from, void *to,
		    uint64_t bytes)
{
	struct window w = { .from = from, .end = from + bytes, .to = to };

	put_part(f, p, &w);
}

void torch_zip_describe(const struct shard *f, const struct shard_piece *p, char *to, size_t bytes)
{
	static const char *const ends[] = {
		[TORCH_DIRECTORY] = "directory of the archive",
		[TORCH_END64] = "zip64 end of the archive",
		[TORCH_LOCATOR] = "zip64 end of the archive",
		[TORCH_END] = "end of the archive",
	};
	char name[NAME_MAX_BYTES];

	if (p->part >= TORCH_DIRECTORY) {
		snprintf(to, bytes, "%s", ends[p->part]);
		return;
	}
	record_name(f, p, name);
	snprintf(to, bytes, "%s of record %s",
		 p->part == TORCH_DATA         ? "data"
		 : p->part == TORCH_DESCRIPTOR ? "descriptor"
					       : "header",
		 name);
}

void torch_zip_find(const struct shard *f, struct shard_piece *p, uint64_t tensor)
{
	for (int turn = 0; turn < 2; turn++) {
		if (p->bytes == 0)
			torch_zip_next(f, p);
		do {
			if (p->part == TORCH_LOCAL && p->tensor == tensor && is_tensor(f, p->order))
				return;
		} while (p->part < TORCH_DIRECTORY && torch_zip_next(f, p));
		*p = (struct shard_piece){ 0 };
	}
}

uint64_t torch_zip_data_off(const struct shard *f, const struct shard_piece *p)
{
	uint64_t off = padding_off(f, p);

	return off + padding_bytes(off);
}
