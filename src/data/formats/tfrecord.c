/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord.c - format=tfrecord: TensorFlow's records, each a tf.train.Example. */
#include "data/formats/formats_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#define ZLIB_CONST /* next_in is const */
#include <zlib.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "config.h"
#include "data/file/file.h"

#ifdef HAVE_ISAL
#include <isa-l/crc.h>
#endif

/* A record: its length, the length's checksum, the data, their checksum. */
enum {
	LENGTH_BYTES = 8,
	CRC_BYTES = 4,
	HEAD_BYTES = LENGTH_BYTES + CRC_BYTES,
	FRAME_BYTES = HEAD_BYTES + CRC_BYTES,
};

/* ---- records in a compressed file ---- */

/*
 * TFRecordDataset(compression_type="GZIP" or "ZLIB") inflates into a buffer of 256 KiB, and reads
 * records from there (TensorFlow's ZlibInputStream with its default options). When it delivers a
 * record, it has read the file as far as was needed to fill the buffer with the record's end. This
 * file offset is stored as the word of the record (look_add_word). The bytes of a sample are those
 * between the word of the previous record and its own.
 */
#define OUTPUT_BYTES (256u << 10)

/* Deflate can expand a file a thousandfold. Above this ratio, and after FREE_BYTES of output, the
 * file has no records. */
#define RATIO_MAX 500
#define FREE_BYTES (UINT64_C(1) << 30)

struct inflation {
	struct look *l;
	z_stream z;
	uint8_t *out;
	uint64_t in_at;        /* offset in the file up to which zlib has the input */
	uint64_t output_bytes; /* inflated so far */
	/* The current record: its head so far, and the bytes still to come. */
	uint8_t head[HEAD_BYTES];
	unsigned head_bytes;
	uint64_t left;
};

#ifdef HAVE_ISAL

/* True if these bytes are a record's length followed by its checksum. */
static bool tfrecord_is_length(const uint8_t *head)
{
	uint8_t length[LENGTH_BYTES];

	memcpy(length, head, sizeof(length));
	uint32_t crc = ~crc32_iscsi(length, LENGTH_BYTES, ~0u);
	crc = (crc >> 15 | crc << 17) + 0xa282ead8u;
	return crc == look_le(head + LENGTH_BYTES, CRC_BYTES);
}

#else

/* The checksum cannot be computed without ISA-L. */
static bool tfrecord_is_length(const uint8_t *head)
{
	(void)head;
	return true;
}

#endif

/* Parse inflated bytes. Each record that ends in them adds the offset of the input as its word. */
static int parse_output(struct inflation *f, size_t bytes)
{
	const uint8_t *at = f->out, *end = at + bytes;
	int r = 0;

	while (at < end && r == 0) {
		uint64_t left = (uint64_t)(end - at);

		if (f->head_bytes < HEAD_BYTES) {
			unsigned n = (unsigned)u64_min(HEAD_BYTES - f->head_bytes, left);

			memcpy(f->head + f->head_bytes, at, n);
			f->head_bytes += n;
			at += n;
			if (f->head_bytes < HEAD_BYTES)
				break;
			if (!tfrecord_is_length(f->head))
				return look_fail(f->l, f->in_at,
						 "not a TFRecord after decompression: the checksum "
						 "of a length is wrong");
			f->left = look_le(f->head, 8);
			if (f->left > UINT64_MAX - CRC_BYTES)
				return look_fail(f->l, f->in_at, "a record of %" PRIu64 " bytes",
						 f->left);
			f->left += CRC_BYTES;
			continue;
		}
		left = u64_min(left, f->left);
		at += left;
		f->left -= left;
		if (f->left)
			continue;
		f->head_bytes = 0;
		f->l->samples++;
		r = look_add_word(f->l, f->in_at - f->z.avail_in);
	}
	return r;
}

static int inflate_fail(struct inflation *f, int code)
{
	return look_fail(f->l, f->in_at - f->z.avail_in, "it cannot be decompressed: %s",
			 f->z.msg              ? f->z.msg
			 : code == Z_BUF_ERROR ? "it is incomplete"
					       : zError(code));
}

/* Fill the output buffer once, and parse it. */
static int inflate_some(struct inflation *f, bool *is_end)
{
	size_t n;
	int code;

	f->z.next_out = f->out;
	f->z.avail_out = OUTPUT_BYTES;
	do {
		if (f->z.avail_in == 0 && f->in_at < f->l->file_bytes) {
			n = (size_t)u64_min(LOOK_BYTES / 2, f->l->file_bytes - f->in_at);
			const uint8_t *in = look_at(f->l, f->in_at, n);
			if (!in)
				return f->l->err->code;
			f->z.next_in = in;
			f->z.avail_in = (uInt)n;
			f->in_at += n;
		}
		code = inflate(&f->z, Z_NO_FLUSH);
		*is_end =
			code == Z_STREAM_END && f->z.avail_in == 0 && f->in_at == f->l->file_bytes;
		/* A gzip file may consist of several members. */
		if (code == Z_STREAM_END && !*is_end)
			code = inflateReset(&f->z);
		if (code != Z_OK && code != Z_STREAM_END)
			return inflate_fail(f, code);
	} while (f->z.avail_out && !*is_end);
	n = OUTPUT_BYTES - f->z.avail_out;
	f->output_bytes += n;
	if (f->output_bytes > FREE_BYTES && f->output_bytes / RATIO_MAX > f->in_at)
		return look_fail(
			f->l, f->in_at,
			"the data grow more than %d times when decompressed, which records cannot",
			RATIO_MAX);
	return parse_output(f, n);
}

/* ---- records from the index next to the file ---- */

/*
 * DALI's tfrecord2idx and DLIO write a line "OFFSET LENGTH" for each record, including the bytes
 * around its data. The index is FILE.idx, or FILE with the suffix .idx, or for DIR/train/FILE
 * DIR/index/train/FILE.idx. An index that does not cover the file from its first byte to its last
 * belongs to another file; the scan then reads the file itself.
 */

/* The last `count` components of a path. */
static const char *last_names(const char *path, unsigned count)
{
	const char *at = path + strlen(path);

	while (at > path && (at[-1] != '/' || --count > 0))
		at--;
	return at;
}

static bool tfrecord_index_path(const char *path, unsigned i, char *out, size_t size)
{
	const char *name = last_names(path, 1), *dot = strrchr(name, '.');
	const char *folder = last_names(path, 2);
	int n = -1;

	if (i > 2)
		return false;
	if (i == 0)
		n = snprintf(out, size, "%s.idx", path);
	else if (i == 1 && dot)
		n = snprintf(out, size, "%.*s.idx", (int)(dot - path), path);
	else if (i == 2)
		n = snprintf(out, size, "%.*sindex/%s.idx", (int)(folder - path), path, folder);
	if (n <= 0 || (size_t)n >= size)
		*out = '\0';
	return true;
}

/* Check that the lines cover the file. With add_records, each record becomes a sample; l->err tells
 * whether its word could not be stored. */
static bool tfrecord_index_follow(struct look *l, FILE *f, bool add_records)
{
	uint64_t at = 0, off, bytes;

	while (fscanf(f, "%" SCNu64 " %" SCNu64, &off, &bytes) == 2) {
		if (off != at || bytes <= FRAME_BYTES || bytes > l->file_bytes - at)
			return false;
		at += bytes;
		l->samples += add_records;
		if (add_records && look_add_word(l, at) != 0)
			return true;
	}
	return at == l->file_bytes && !ferror(f);
}

/* Look into the file by its index, with the words of tfrecord_look. False if there is no index or
 * it belongs to another file. */
static bool tfrecord_by_index(struct look *l)
{
	char path[PATH_MAX];
	FILE *f = l->file_bytes > HEAD_BYTES ? look_index_open(l, tfrecord_index_path, path) : NULL;

	if (!f)
		return false;

	/* The index belongs to the file if both have the same first record. */
	const uint8_t *head = look_at(l, 0, HEAD_BYTES);
	uint64_t off, bytes;
	bool follows = head && tfrecord_is_length(head) &&
		       fscanf(f, "%" SCNu64 " %" SCNu64, &off, &bytes) == 2 && off == 0 &&
		       bytes == look_le(head, 8) + FRAME_BYTES;

	rewind(f);
	follows = follows && tfrecord_index_follow(l, f, false);
	rewind(f);
	if (follows && tfrecord_index_follow(l, f, true))
		l->sample_bytes = l->file_bytes - l->samples * FRAME_BYTES;
	look_index_close(l, f);
	if (!follows)
		look_index_note(l, path, "does not describe %s from its first byte to its last",
				l->path);
	return follows;
}

/* ---- records in a file from any writer ---- */

/* Words: the end of each record; in a compressed file the offset that a reader has reached then.
 * Facts: */
enum { IS_COMPRESSED };

static int not_a_record(struct look *l, uint64_t at, const uint8_t *head)
{
	bool is_compressed = (head[0] == 0x1f && head[1] == 0x8b) ||
			     (head[0] == 0x78 && (head[0] << 8 | head[1]) % 31 == 0);

	if (at || !is_compressed)
		return look_fail(l, at, "not a TFRecord: the checksum of its length is wrong");
	if (l->options->access != ACCESS_FRAMEWORK)
		return look_fail(l, at,
				 "the records are compressed, so they can only be read forward; "
				 "use access=framework with loader=tfdata, or format=raw to read "
				 "the file as one sample");
	l->facts[IS_COMPRESSED] = true;
	l->packed_max = TFRECORD_READ_BYTES;

	struct inflation *f = mem_zalloc(sizeof(*f));
	bool is_end = false;
	int r;

	f->l = l;
	f->out = mem_array(OUTPUT_BYTES, 1);
	/* 32: detect gzip or zlib from the header. */
	r = inflateInit2(&f->z, 15 + 32) == Z_OK ? 0 : inflate_fail(f, Z_MEM_ERROR);
	while (r == 0 && !is_end)
		r = inflate_some(f, &is_end);
	if (r == 0 && (f->head_bytes || f->left))
		r = look_fail(l, l->file_bytes,
			      "the last record is incomplete after decompression");
	l->sample_bytes = l->samples ? l->file_bytes : 0;
	inflateEnd(&f->z);
	mem_free(f->out);
	mem_free(f);
	return r;
}

static int tfrecord_look(struct look *l)
{
	uint64_t at = 0;

	if (tfrecord_by_index(l))
		return l->err->code;
	while (at < l->file_bytes) {
		const uint8_t *head = look_at(l, at, HEAD_BYTES);

		if (!head)
			return l->err->code;
		if (!tfrecord_is_length(head))
			return not_a_record(l, at, head);
		uint64_t bytes = look_le(head, LENGTH_BYTES);
		at += HEAD_BYTES;
		if (bytes > l->file_bytes - at || CRC_BYTES > l->file_bytes - at - bytes)
			return look_fail(l, at - HEAD_BYTES,
					 "a record of %" PRIu64
					 " bytes, but the file has only %" PRIu64,
					 bytes, l->file_bytes - at);
		at += bytes + CRC_BYTES;
		l->samples++;
		l->sample_bytes += bytes;
		int r = look_add_word(l, at);
		if (r)
			return r;
	}
	return 0;
}

static void tfrecord_scanned_range(const struct file_shape *shape, uint64_t first, uint64_t n,
				   uint64_t *off, uint64_t *len)
{
	const uint64_t *ends = shape->words;

	if (shape->facts[IS_COMPRESSED]) {
		*off = first ? ends[first - 1] : 0;
		*len = first + n == shape->samples ? shape->scanned_bytes - *off
						   : ends[first + n - 1] - *off;
		return;
	}
	*off = (first ? ends[first - 1] : 0) + HEAD_BYTES;
	*len = ends[first + n - 1] - CRC_BYTES - *off;
}

bool tfrecord_scanned_is_compressed(const struct file_shape *shape)
{
	return shape->facts[IS_COMPRESSED];
}

uint64_t forward_extent_samples(uint64_t samples_per_file, uint64_t record_bytes)
{
	uint64_t n = TFRECORD_READ_BYTES / record_bytes;

	if (n > samples_per_file)
		n = samples_per_file;
	while (n > 1 && samples_per_file % n)
		n--;
	return n ? n : 1;
}

/* ---- files of mlgen ---- */

/*
 * Checksums are masked crc32c. The data are a protobuf message: an Example that maps `size` to the
 * number of the sample's bytes and `image` to the bytes, as in DLIO. `image` comes last, so that
 * only a checksum follows the payload. Part 1 is the index, as DALI reads it: a line "offset
 * length" for each record.
 */
enum {
	HEAD_MAX = 192, /* bytes of a record before the payload */
	LINE_MAX_BYTES = 48,
};

/* Protobuf's parsers accept messages of up to 2 GiB, including the bytes around the sample. */
#define SAMPLE_MAX (UINT64_C(0x7fffffff) - HEAD_MAX)

/* A protobuf field is a tag, a length, and that many bytes. The tag combines the number of the
 * field and the type "length-delimited". */
enum {
	FIELD_1 = 0x0a,
	FIELD_2 = 0x12, /* the value in an entry of a map */
	FIELD_3 = 0x1a,
	BYTES_LIST = FIELD_1, /* kinds of Feature */
	INT64_LIST = FIELD_3,
};

/* Lengths of the nested messages, from the inside out. */
struct feature {
	uint64_t value, list, feature, entry;
};

struct tfrecord_record {
	struct feature size, image;
	uint64_t features, data;
	uint64_t head_bytes, bytes;
};

static unsigned varint_bytes(uint64_t v)
{
	unsigned n = 1;

	while (v >>= 7)
		n++;
	return n;
}

/* Bytes of a field including its tag and length. */
static uint64_t field_bytes(uint64_t length)
{
	return 1 + varint_bytes(length) + length;
}

static struct feature feature_of(const char *name, uint64_t value)
{
	struct feature f = { .value = value };

	f.list = field_bytes(f.value);
	f.feature = field_bytes(f.list);
	f.entry = field_bytes(strlen(name)) + field_bytes(f.feature);
	return f;
}

static struct tfrecord_record tfrecord_record_of(const struct file_shape *shape)
{
	uint64_t payload = format_sample_bytes(shape);
	struct tfrecord_record r = { .size = feature_of("size", varint_bytes(payload)),
				     .image = feature_of("image", payload) };

	r.features = field_bytes(r.size.entry) + field_bytes(r.image.entry);
	r.data = field_bytes(r.features);
	r.bytes = FRAME_BYTES + r.data;
	r.head_bytes = r.bytes - CRC_BYTES - payload;
	return r;
}

/* A line of the index: its record, and the offset of the line. */
struct index_line {
	uint64_t record, off;
};

/*
 * Find the line that holds a byte, or the end of the index. The length of a line depends only on
 * the number of digits of its offset, so the loop goes through the numbers of digits.
 */
static struct index_line find_line(const struct file_shape *shape, const struct tfrecord_record *r,
				   uint64_t byte)
{
	struct index_line at = { 0, 0 };
	uint64_t power = 1;
	unsigned rest = 3; /* digits of a record's size, a space and a newline */

	for (uint64_t v = FRAME_BYTES + r->data; v >= 10; v /= 10)
		rest++;
	for (unsigned n = 1; at.record < shape->samples; n++) {
		uint64_t until = shape->samples, lines;

		if (!__builtin_mul_overflow(power, UINT64_C(10), &power) &&
		    (power - 1) / r->bytes + 1 < until)
			until = (power - 1) / r->bytes + 1;
		lines = until - at.record;
		if ((byte - at.off) / (n + rest) < lines)
			lines = (byte - at.off) / (n + rest);
		at.record += lines;
		at.off += lines * (n + rest);
		if (at.record < until)
			break;
	}
	return at;
}

static uint64_t tfrecord_file_bytes(const struct file_shape *shape)
{
	const struct tfrecord_record r = tfrecord_record_of(shape);

	if (shape->part)
		return find_line(shape, &r, UINT64_MAX).off;
	return shape->samples * r.bytes;
}

static void tfrecord_sample_range(const struct file_shape *shape, uint64_t first, uint64_t n,
				  uint64_t *off, uint64_t *len)
{
	const struct tfrecord_record r = tfrecord_record_of(shape);

	*off = first * r.bytes + r.head_bytes;
	*len = (n - 1) * r.bytes + format_sample_bytes(shape);
}

static int tfrecord_init(struct dataset *ds, struct mlgen_err *err)
{
	double mean = dist_mean(&ds->sample_size);
	struct file_shape shape = { .sides = { 1, (uint64_t)mean } };
	char text[UNITS_TEXT_BYTES];

	if (mean > (double)SAMPLE_MAX)
		return mlgen_fail(
			err, -EINVAL,
			"sample_size: %s do not fit into a record of format=tfrecord, because "
			"protobuf reads no message of 2 GiB; use less, or another format",
			units_human_bytes(text, mean));
	ds->parts = 2;
	ds->extent_samples =
		forward_extent_samples(ds->samples_per_file, tfrecord_record_of(&shape).bytes);
	return 0;
}

#ifdef HAVE_ISAL

/* ISA-L expects the caller to invert the checksum before and after. */
static uint32_t crc32c(uint32_t crc, uint8_t *data, size_t bytes)
{
	return ~crc32_iscsi(data, (int)bytes, ~crc);
}

static uint32_t masked(uint32_t crc)
{
	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static uint8_t *encode_le(uint8_t *at, unsigned bytes, uint64_t v)
{
	for (; bytes; bytes--, v >>= 8)
		*at++ = (uint8_t)v;
	return at;
}

static uint8_t *encode_varint(uint8_t *at, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = (uint8_t)v;
	return at;
}

static uint8_t *encode_field(uint8_t *at, uint8_t tag, uint64_t length)
{
	*at++ = tag;
	return encode_varint(at, length);
}

/* Encode a feature up to its value. */
static uint8_t *encode_feature(uint8_t *at, const struct feature *f, const char *name, uint8_t kind)
{
	size_t n = strlen(name);

	at = encode_field(at, FIELD_1, f->entry);
	at = encode_field(at, FIELD_1, n);
	memcpy(at, name, n);
	at = encode_field(at + n, FIELD_2, f->feature);
	at = encode_field(at, kind, f->list);
	return encode_field(at, FIELD_1, f->value);
}

/* Fill `to` with the next piece of a record, as far as there is room: head, payload or checksum.
 * Returns the number of bytes. */
static size_t fill_record(struct format_writer *w, const struct tfrecord_record *r, uint8_t *to,
			  size_t room)
{
	uint64_t at = w->pos % r->bytes;
	uint8_t head[HEAD_MAX], crc[CRC_BYTES];
	size_t n;

	if (w->pos == w->shape.samples * r->bytes)
		return 0;
	if (at < r->head_bytes) {
		n = u64_min(r->head_bytes - at, room);

		/* Make the bytes before the payload, and the checksum of those that belong to the
		 * data. */
		uint8_t *data = head + LENGTH_BYTES + CRC_BYTES, *end;

		encode_le(head, LENGTH_BYTES, r->data);
		encode_le(head + LENGTH_BYTES, CRC_BYTES, masked(crc32c(0, head, LENGTH_BYTES)));
		end = encode_field(data, FIELD_1, r->features);
		end = encode_feature(end, &r->size, "size", INT64_LIST);
		end = encode_varint(end, r->image.value);
		end = encode_feature(end, &r->image, "image", BYTES_LIST);
		w->crc[0] = crc32c(0, data, (size_t)(end - data));
		memcpy(to, head + at, n);
	} else if (at < r->bytes - CRC_BYTES) {
		/* ISA-L counts in int. */
		n = u64_min(r->bytes - CRC_BYTES - at, u64_min(1u << 30, room));
		format_content(to, n, w->seed_index,
			       w->pos / r->bytes * r->image.value + at - r->head_bytes);
		w->crc[0] = crc32c(w->crc[0], to, n);
	} else {
		n = u64_min(r->bytes - at, room);
		encode_le(crc, CRC_BYTES, masked(w->crc[0]));
		memcpy(to, crc + CRC_BYTES - (r->bytes - at), n);
	}
	return n;
}

/* Fill `to` with whole lines of the index. */
static size_t fill_lines(const struct format_writer *w, const struct tfrecord_record *r,
			 uint8_t *to, size_t room)
{
	uint64_t i = find_line(&w->shape, r, w->pos).record;
	size_t n = 0;

	for (; i < w->shape.samples && room - n >= LINE_MAX_BYTES; i++)
		n += (size_t)snprintf((char *)to + n, room - n, "%" PRIu64 " %" PRIu64 "\n",
				      i * r->bytes, FRAME_BYTES + r->data);
	return n;
}

static bool tfrecord_write_next(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
				size_t *len)
{
	const struct tfrecord_record r = tfrecord_record_of(&w->shape);
	size_t n;

	*off = w->pos;
	*len = 0;
	do {
		uint8_t *to = (uint8_t *)buf + *len;

		n = w->shape.part ? fill_lines(w, &r, to, bytes - *len)
				  : fill_record(w, &r, to, bytes - *len);
		w->pos += n;
		*len += n;
	} while (n && *len < bytes);
	return *len > 0;
}

#endif

uint64_t tfrecord_needed(const struct file_shape *shape, uint64_t n)
{
	uint64_t end = shape->facts ? shape->words[n - 1] : n * tfrecord_record_of(shape).bytes;

	/* After the last record the reader tries to read another one, beyond the end. */
	return end + (n == shape->samples);
}

const struct format format_tfrecord = {
	.name = "tfrecord",
	.init = tfrecord_init,
	.parts = { { 0 }, { .folder = "index", .suffix = "tfrecord.idx" } },
	.file_bytes = tfrecord_file_bytes,
	.sample_range = tfrecord_sample_range,
#ifdef HAVE_ISAL
	.write_next = tfrecord_write_next,
#else
	.needs = "isal (" PACKAGES_ISAL ")",
#endif
	/* TensorFlow has no O_DIRECT, but its requests are aligned anyway. */
	.framework = { &plan_forward, &plan_forward },
	.reader = "TensorFlow",
	.look = tfrecord_look,
	.sidecar_path = tfrecord_index_path,
	.scanned_range = tfrecord_scanned_range,
	.is_forward = true,
};
