/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord.c - format=tfrecord: TensorFlow's records, each a tf.train.Example, and their
 * indexes. */
#include "data/file/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "config.h"

#ifdef HAVE_ISAL
#include <isa-l/crc.h>
#endif

#include "base/units.h"
#include "data/formats/formats.h"

/*
 * A record: the length of its data (8 bytes) and their checksum, the data and theirs; checksums are
 * crc32c, masked. The data are a protobuf message: an Example that maps `size` to the number of the
 * sample's bytes and `image` to those, as DLIO has it. `image` comes last, so that nothing but a
 * checksum stands behind the payload. Part 1 is the index, as DALI reads it: a line "offset length"
 * for each record.
 */
enum {
	LENGTH_BYTES = 8,
	CRC_BYTES = 4,
	FRAME_BYTES = LENGTH_BYTES + 2 * CRC_BYTES,
	HEAD_MAX = 192, /* of a record, what stands before the payload */
	LINE_MAX_BYTES = 48,
};

/* What protobuf's parsers accept of a message: 2 GiB, less what is around. */
#define SAMPLE_MAX (UINT64_C(0x7fffffff) - HEAD_MAX)

/* Protobuf: a tag of these, a length, that many bytes. Of whichever message, the tag is its field's
 * number and the type "length-delimited". */
enum {
	FIELD_1 = 0x0a,
	FIELD_2 = 0x12, /* the value in an entry of a map */
	FIELD_3 = 0x1a,
	BYTES_LIST = FIELD_1, /* of the kinds of Feature */
	INT64_LIST = FIELD_3,
};

/* The lengths of nested messages, from the inside out. */
struct feature {
	uint64_t value, list, feature, entry;
};

struct record {
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

/* Of a field with its tag and length. */
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

static struct record tfrecord_record_of(const struct file_shape *shape)
{
	uint64_t payload = format_sample_bytes(shape);
	struct record r = { .size = feature_of("size", varint_bytes(payload)),
			    .image = feature_of("image", payload) };

	r.features = field_bytes(r.size.entry) + field_bytes(r.image.entry);
	r.data = field_bytes(r.features);
	r.bytes = FRAME_BYTES + r.data;
	r.head_bytes = r.bytes - CRC_BYTES - payload;
	return r;
}

static unsigned digits(uint64_t v)
{
	unsigned n = 1;

	while (v >= 10) {
		v /= 10;
		n++;
	}
	return n;
}

/* A line of the index, and where it begins. */
struct line {
	uint64_t record, off;
};

/*
 * The line that holds a byte, or the end of all. Lines are as long as their offset has digits, so
 * there are few kinds of them, in order.
 */
static struct line find_line(const struct file_shape *shape, const struct record *r, uint64_t byte)
{
	unsigned rest = digits(FRAME_BYTES + r->data) + 2;
	struct line at = { 0, 0 };
	uint64_t power = 1;

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
	const struct record r = tfrecord_record_of(shape);

	if (shape->part)
		return find_line(shape, &r, UINT64_MAX).off;
	return shape->samples * r.bytes;
}

static void tfrecord_sample_range(const struct file_shape *shape, uint64_t first, uint64_t n,
				  uint64_t *off, uint64_t *len)
{
	const struct record r = tfrecord_record_of(shape);

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
			"sample_size: %s do not fit into a record of format=tfrecord, protobuf "
			"reads no message of 2 GiB; take less, or another format",
			units_human_bytes(text, mean));
	ds->parts = 2;
	ds->extent_samples =
		forward_extent_samples(ds->samples_per_file, tfrecord_record_of(&shape).bytes);
	return 0;
}

#ifdef HAVE_ISAL

/* ISA-L leaves it to the caller to invert before and after. */
static uint32_t crc32c(uint32_t crc, uint8_t *data, size_t bytes)
{
	return ~crc32_iscsi(data, (int)bytes, ~crc);
}

static uint32_t masked(uint32_t crc)
{
	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* Little endian. */
static uint8_t *tfrecord_put(uint8_t *at, unsigned bytes, uint64_t v)
{
	for (; bytes; bytes--, v >>= 8)
		*at++ = (uint8_t)v;
	return at;
}

static uint8_t *put_varint(uint8_t *at, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = (uint8_t)v;
	return at;
}

static uint8_t *put_field(uint8_t *at, uint8_t tag, uint64_t length)
{
	*at++ = tag;
	return put_varint(at, length);
}

/* All but the value. */
static uint8_t *put_feature(uint8_t *at, const struct feature *f, const char *name, uint8_t kind)
{
	size_t n = strlen(name);

	at = put_field(at, FIELD_1, f->entry);
	at = put_field(at, FIELD_1, n);
	memcpy(at, name, n);
	at = put_field(at + n, FIELD_2, f->feature);
	at = put_field(at, kind, f->list);
	return put_field(at, FIELD_1, f->value);
}

/* What stands before the payload; the checksum of what of it are data. */
static uint32_t make_head(const struct record *r, uint8_t head[HEAD_MAX])
{
	uint8_t *data = head + LENGTH_BYTES + CRC_BYTES, *at;

	tfrecord_put(head, LENGTH_BYTES, r->data);
	tfrecord_put(head + LENGTH_BYTES, CRC_BYTES, masked(crc32c(0, head, LENGTH_BYTES)));
	at = put_field(data, FIELD_1, r->features);
	at = put_feature(at, &r->size, "size", INT64_LIST);
	at = put_varint(at, r->image.value);
	at = put_feature(at, &r->image, "image", BYTES_LIST);
	return crc32c(0, data, (size_t)(at - data));
}

/* The pieces below fill `to` with what comes at `at` in a record, as far as there is room, and give
 * the number of bytes. */
static size_t fill_head(struct format_writer *w, const struct record *r, uint64_t at, uint8_t *to,
			size_t room)
{
	size_t n = u64_min(r->head_bytes - at, room);
	uint8_t head[HEAD_MAX];

	w->crc[0] = make_head(r, head);
	memcpy(to, head + at, n);
	return n;
}

static size_t fill_payload(struct format_writer *w, const struct record *r, uint64_t at,
			   uint8_t *to, size_t room)
{
	uint64_t before = w->pos / r->bytes * r->image.value;
	/* ISA-L counts in int. */
	size_t n = u64_min(r->bytes - CRC_BYTES - at, u64_min(1u << 30, room));

	format_content(to, n, w->seed_index, before + at - r->head_bytes);
	w->crc[0] = crc32c(w->crc[0], to, n);
	return n;
}

static size_t fill_crc(const struct format_writer *w, const struct record *r, uint64_t at,
		       uint8_t *to, size_t room)
{
	size_t n = u64_min(r->bytes - at, room);
	uint8_t crc[CRC_BYTES];

	tfrecord_put(crc, CRC_BYTES, masked(w->crc[0]));
	memcpy(to, crc + CRC_BYTES - (r->bytes - at), n);
	return n;
}

static size_t fill_records(struct format_writer *w, const struct record *r, uint8_t *to,
			   size_t room)
{
	uint64_t at = w->pos % r->bytes;

	if (w->pos == w->shape.samples * r->bytes)
		return 0;
	if (at < r->head_bytes)
		return fill_head(w, r, at, to, room);
	if (at < r->bytes - CRC_BYTES)
		return fill_payload(w, r, at, to, room);
	return fill_crc(w, r, at, to, room);
}

/* Whole lines. */
static size_t fill_lines(const struct format_writer *w, const struct record *r, uint8_t *to,
			 size_t room)
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
	const struct record r = tfrecord_record_of(&w->shape);
	size_t n;

	*off = w->pos;
	*len = 0;
	do {
		uint8_t *to = (uint8_t *)buf + *len;

		n = w->shape.part ? fill_lines(w, &r, to, bytes - *len)
				  : fill_records(w, &r, to, bytes - *len);
		w->pos += n;
		*len += n;
	} while (n && *len < bytes);
	return *len > 0;
}

#endif

uint64_t tfrecord_needed(const struct file_shape *shape, uint64_t n)
{
	uint64_t end =
		shape->facts ? tfrecord_found_end(shape, n) : n * tfrecord_record_of(shape).bytes;

	/* A byte that is not there: the reader asks for one record more. */
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
	/* TensorFlow has no O_DIRECT; its requests suit it as they are. */
	.framework = { &plan_forward, &plan_forward },
	.reader = "TensorFlow",
	.look = tfrecord_look,
	.look_beside = tfrecord_beside,
	.found_range = tfrecord_found_range,
	.is_forward = true,
};
