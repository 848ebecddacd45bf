/* SPDX-License-Identifier: Apache-2.0 */
/* torch_zip.c - the archive that torch.save writes: a record per tensor, and the calls that write
 * and read it. */
#include "data/state/state_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/util.h"

/* ---- any part of something that is made from its front ---- */

void window_put(struct window *w, const void *data, size_t bytes)
{
	uint64_t from = w->from > w->at ? w->from : w->at;
	uint64_t until = w->at + bytes < w->end ? w->at + bytes : w->end;

	if (w->to == NULL)
		w->crc32 = (uint32_t)crc32_z(w->crc32, data, bytes);
	else if (from < until)
		memcpy(w->to + (from - w->from), (const uint8_t *)data + (from - w->at),
		       until - from);
	w->at += bytes;
}

void window_text(struct window *w, const char *text)
{
	window_put(w, text, strlen(text));
}

void window_number(struct window *w, unsigned bytes, uint64_t v)
{
	uint8_t at[8];

	for (unsigned i = 0; i < bytes; i++, v >>= 8)
		at[i] = (uint8_t)v;
	window_put(w, at, bytes);
}

/* ---- the archive ---- */

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

/* Where the data of its record begin. */
static uint64_t torch_zip_data_off(const struct shard *f, const struct shard_piece *p)
{
	uint64_t off = padding_off(f, p);

	return off + padding_bytes(off);
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

/* Move to the first piece of a tensor's record; from a piece near by is cheaper, a zeroed one will
 * do. */
static void torch_zip_find(const struct shard *f, struct shard_piece *p, uint64_t tensor)
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

/* ---- calls ---- */

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
