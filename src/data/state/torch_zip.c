/* SPDX-License-Identifier: Apache-2.0 */
/* torch_zip.c - the archive that torch.save writes, and the calls that write and read it. */
#include "data/state/state_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/util.h"

/* ---- windows ---- */

void window_write(struct window *w, const void *data, size_t bytes)
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
	window_write(w, text, strlen(text));
}

void window_number(struct window *w, unsigned bytes, uint64_t v)
{
	uint8_t at[8];

	for (unsigned i = 0; i < bytes; i++, v >>= 8)
		at[i] = (uint8_t)v;
	window_write(w, at, bytes);
}

/* ---- the archive ---- */

#define MAX32 UINT64_C(0xffffffff) /* stands for "see the zip64 field" */

enum {
	CENTRAL_BYTES = 46,
	FIELD_BYTES = 4, /* header of an extra field */
	ALIGN = 64,
	FLAGS = 0x0808, /* a descriptor follows, names are UTF-8 */
	NAME_MAX_BYTES = 64,
};

static const char version[] = "3\n";

/* Numbers of records: 0 is the pickle, then follow the tensors, then the version. */

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

/* The length of record_name(). It is computed without printing, because a dry run adds up the sizes
 * of all records of all files. */
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

/* The next key in the order of names: 0, 1, 10, 11, 2. */
static uint64_t next_key(uint64_t key, uint64_t count)
{
	if (key && key * 10 < count)
		return key * 10;
	while (key % 10 == 9 || key + 1 >= count)
		key /= 10;
	return key + 1;
}

/* Bytes of a record's zip64 field; 0 = the record needs none. */
static unsigned zip64_bytes(const struct shard_piece *p)
{
	unsigned n = (p->record_bytes >= MAX32 ? 16u : 0) + (p->record_off >= MAX32 ? 8u : 0);

	return n ? FIELD_BYTES + n : 0;
}

/* Length of a field "FB" at `off` after which the data are aligned. */
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
		return zip64_bytes(p) ? 24 : 16;
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

/* Header fields that the local header and the directory share: from the flags to the time. */
static void write_common(struct window *w)
{
	window_number(w, 2, FLAGS);
	window_number(w, 2, 0); /* stored */
	window_number(w, 4, 0); /* no time, no date */
}

static uint64_t cap32(uint64_t v)
{
	return v < MAX32 ? v : MAX32;
}

/* `stored` is 0 in a local header, which precedes the data. */
static void write_zip64(struct window *w, const struct shard_piece *p, uint64_t stored)
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

static void write_local(const struct shard *f, const struct shard_piece *p, struct window *w)
{
	uint64_t extra = zip64_bytes(p) + padding_bytes(padding_off(f, p));

	window_text(w, "PK\3\4");
	window_number(w, 2, 0); /* version needed */
	write_common(w);
	window_number(w, 8, 0); /* checksum and sizes are in the descriptor ... */
	window_number(w, 4, 0); /* ... only */
	window_number(w, 2, name_bytes(f, p));
	window_number(w, 2, (unsigned)extra);
}

static void write_padding(const struct shard_piece *p, struct window *w)
{
	static const char z[ALIGN + 1] =
		"ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ";
	uint64_t bytes = p->bytes - FIELD_BYTES;

	window_text(w, "FB");
	window_number(w, 2, bytes);
	window_write(w, z, bytes);
}

/* Start of the data of a piece's record. */
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

static void write_descriptor(const struct shard *f, const struct shard_piece *p, struct window *w)
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

static void write_entry(const struct shard *f, const struct shard_piece *p, struct window *w)
{
	char name[NAME_MAX_BYTES];
	size_t bytes = record_name(f, p, name);

	window_text(w, "PK\1\2");
	window_number(w, 4, 0); /* made by, version needed */
	write_common(w);
	window_number(w, 4, record_crc32(f, p));
	window_number(w, 4, cap32(p->record_bytes));
	window_number(w, 4, cap32(p->record_bytes));
	window_number(w, 2, bytes);
	window_number(w, 2, zip64_bytes(p));
	window_number(w, 8, 0); /* comment, disk, internal attributes, ... */
	window_number(w, 2, 0); /* ... external ones */
	window_number(w, 4, cap32(p->record_off));
	window_write(w, name, bytes);
	write_zip64(w, p, p->record_bytes);
}

/* Entries before the window are counted but not written: their checksums would take time. */
static void write_directory(const struct shard *f, struct window *w)
{
	struct shard_piece p = { 0 };

	while (w->at < w->end && torch_zip_next(f, &p) && p.part < TORCH_DIRECTORY) {
		if (p.part != TORCH_LOCAL)
			continue;
		if (w->at + entry_bytes(f, &p) > w->from)
			write_entry(f, &p, w);
		else
			w->at += entry_bytes(f, &p);
	}
}

static void write_end(const struct shard *f, struct window *w)
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
		f->zip.version_off = p.off; /* the last record */
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
		if (p->part == TORCH_DESCRIPTOR && p->order <= f->tensors) {
			/* The pickle and the first tensor both have `tensor` 0. */
			if (p->order > 0 && p->order < f->tensors)
				p->tensor = next_key(p->tensor, f->tensors);
			p->order++;
			begin_record(f, p);
		} else {
			p->part++;
		}
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
	char name[NAME_MAX_BYTES];

	switch (p->part) {
	case TORCH_LOCAL:
		write_local(f, p, &w);
		break;
	case TORCH_NAME:
		window_write(&w, name, record_name(f, p, name));
		break;
	case TORCH_ZIP64:
		write_zip64(&w, p, 0);
		break;
	case TORCH_PADDING:
		write_padding(p, &w);
		break;
	case TORCH_DATA:
		if (p->order == 0)
			torch_pickle(f, &w);
		else
			window_write(&w, version, TORCH_VERSION_BYTES);
		break;
	case TORCH_DESCRIPTOR:
		write_descriptor(f, p, &w);
		break;
	case TORCH_DIRECTORY:
		write_directory(f, &w);
		break;
	case TORCH_END64:
		window_text(&w, "PK\6\6");
		window_number(&w, 8, TORCH_END64_BYTES - 12);
		window_number(&w, 2, 0x031e); /* made by */
		window_number(&w, 2, 45);     /* version needed */
		window_number(&w, 8, 0);      /* disks */
		window_number(&w, 8, f->tensors + 2);
		window_number(&w, 8, f->tensors + 2);
		window_number(&w, 8, f->zip.directory_bytes);
		window_number(&w, 8, f->zip.directory_off);
		break;
	case TORCH_LOCATOR:
		window_text(&w, "PK\6\7");
		window_number(&w, 4, 0); /* disk */
		window_number(&w, 8, f->zip.directory_off + f->zip.directory_bytes);
		window_number(&w, 4, 1); /* disks */
		break;
	default:
		write_end(f, &w);
	}
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

/* Move to the first piece of a tensor's record. Any piece will do as a start, even a zeroed struct;
 * a piece shortly before the tensor is cheaper. */
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
	PATH_DIRECT = 1024, /* libstdc++ does not buffer larger writes */
	READ_BUFFER = 4096, /* Python's default, a filesystem's block */
	TAIL_BYTES = 4096,  /* miniz looks for the end of an archive in the last bytes */
	MAGIC_BYTES = 4,
	OLD_MAGIC_BYTES = 8,
};

/* The most bytes that Linux transfers in one call. */
#define LINUX_CALL_BYTES UINT64_C(0x7ffff000)

/* Move to the next piece with bytes left to write. */
static bool next_unwritten(const struct shard *f, struct shard_write *w)
{
	if (w->left)
		return true;
	if (!torch_zip_next(f, &w->at))
		return false;
	w->left = w->at.bytes;
	return true;
}

/* A call with `head` bytes from the buffer and then the rest of the piece, up to the limit of a
 * call. */
static void call_with_piece(const struct shard *f, struct shard_write *w, uint64_t head)
{
	uint64_t most = w->at.is_tensor ? shard_max_run_bytes(f->set) : LAYOUT_META_BYTES;
	uint64_t n = u64_min(w->left, most);

	w->bytes = head + n;
	w->head_bytes = w->at.is_tensor ? head : w->bytes;
	w->left -= n;
}

/* A call that flushes the buffer; false = the buffer is empty. */
static bool call_with_buffer(struct shard_write *w, uint64_t bytes)
{
	w->bytes = bytes;
	w->head_bytes = bytes;
	return bytes > 0;
}

/* A read that torch or miniz requests from its file object, in this order. */
struct file_request {
	uint64_t off, bytes;
};

enum {
	REQUEST_MAGIC,
	REQUEST_OLD_MAGIC,
	REQUEST_TAIL,
	REQUEST_END,
	REQUEST_LOCATOR,
	REQUEST_END64,
	REQUEST_DIRECTORY,
	REQUEST_VERSION,
	REQUEST_VERSION_DATA,
	REQUEST_PICKLE,
	REQUEST_PICKLE_DATA,
	REQUEST_TENSORS, /* two for each tensor: header, data */
};

static struct file_request next_request(const struct shard *f, struct shard_read *r)
{
	uint64_t end = f->bytes - TORCH_END_BYTES;
	uint64_t locator = end - TORCH_LOCATOR_BYTES;
	uint64_t tail = u64_min(f->bytes, TAIL_BYTES);

	switch (r->order) {
	case REQUEST_MAGIC:
		return (struct file_request){ 0, MAGIC_BYTES };
	case REQUEST_OLD_MAGIC:
		return (struct file_request){ 0, OLD_MAGIC_BYTES };
	case REQUEST_TAIL:
		return (struct file_request){ f->bytes - tail, tail };
	case REQUEST_END:
		return (struct file_request){ end, TORCH_END_BYTES };
	case REQUEST_LOCATOR:
		return (struct file_request){ locator, TORCH_LOCATOR_BYTES };
	case REQUEST_END64:
		return (struct file_request){ locator - TORCH_END64_BYTES, TORCH_END64_BYTES };
	case REQUEST_DIRECTORY:
		return (struct file_request){ f->zip.directory_off, f->zip.directory_bytes };
	case REQUEST_VERSION:
		return (struct file_request){ f->zip.version_off, TORCH_LOCAL_BYTES };
	case REQUEST_VERSION_DATA:
		return (struct file_request){ f->zip.version_data_off, TORCH_VERSION_BYTES };
	case REQUEST_PICKLE:
		return (struct file_request){ 0, TORCH_LOCAL_BYTES };
	case REQUEST_PICKLE_DATA:
		return (struct file_request){ f->zip.pickle_off, f->zip.pickle_bytes };
	default:
		torch_zip_find(f, &r->at, (r->order - REQUEST_TENSORS) / 2);
		if ((r->order - REQUEST_TENSORS) % 2 == 0)
			return (struct file_request){ r->at.off, TORCH_LOCAL_BYTES };
		return (struct file_request){ torch_zip_data_off(f, &r->at), r->at.record_bytes };
	}
}

static void empty_buffer(struct shard_read *r)
{
	r->buffer_off = r->at_off;
	r->buffer_end = r->at_off;
}

bool torch_path_write_next(const struct shard *f, struct shard_write *w)
{
	uint64_t head = 0, least_direct;

	w->off += w->bytes;
	for (; next_unwritten(f, w); head += w->left, w->left = 0) {
		least_direct = u64_min(PATH_DIRECT, TORCH_PATH_BUFFER - head);
		/* The rest of a piece that took several calls is not buffered. */
		if (w->left >= least_direct || w->left < w->at.bytes) {
			call_with_piece(f, w, head);
			return true;
		}
	}
	return call_with_buffer(w, head);
}

bool torch_file_write_next(const struct shard *f, struct shard_write *w)
{
	uint64_t head = 0;

	w->off += w->bytes;
	for (; next_unwritten(f, w); head += w->left, w->left = 0) {
		if (w->left <= TORCH_FILE_BUFFER - head)
			continue;
		if (head)
			break;
		call_with_piece(f, w, 0);
		return true;
	}
	return call_with_buffer(w, head);
}

bool torch_read_next(const struct shard *f, struct shard_read *r)
{
	uint64_t requests = REQUEST_TENSORS + 2 * f->tensors;
	uint64_t most_bytes;

	while (r->left == 0) {
		if (r->order == requests)
			return false;

		/* Begin the next request and serve it from the buffer as far as possible. */
		struct file_request next = next_request(f, r);
		bool is_used_up;
		uint64_t buffered;

		/* torch asks for the file's size before it reads the old magic. That drops the
		 * buffer. */
		if (r->order == REQUEST_OLD_MAGIC)
			empty_buffer(r);
		/* After its last byte was read, a buffer is not used again, even for bytes inside
		 * it. */
		is_used_up = r->at_off >= r->buffer_end;
		r->at_off = next.off;
		if (is_used_up || next.off < r->buffer_off || next.off > r->buffer_end)
			empty_buffer(r);
		buffered = u64_min(r->buffer_end - r->at_off, next.bytes);
		r->at_off += buffered;
		r->left = next.bytes - buffered;
		r->order++;
	}
	r->off = r->at_off;
	if (r->left > READ_BUFFER) {
		most_bytes = CONTENT_PARTS * content_span_bytes(f->set->content);
		r->bytes = u64_min(r->left, u64_min(LINUX_CALL_BYTES, most_bytes));
		r->got_bytes = r->bytes;
		r->left -= r->bytes;
		r->at_off += r->bytes;
		empty_buffer(r);
	} else {
		r->bytes = READ_BUFFER;
		r->got_bytes = u64_min(READ_BUFFER, f->bytes - r->at_off);
		empty_buffer(r);
		r->buffer_end += r->got_bytes;
		r->at_off += r->left;
		r->left = 0;
	}
	return true;
}
