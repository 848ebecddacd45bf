/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord_look.c - where the records of a TFRecord file lie that somebody else has written. */
#include "data/formats/formats.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "config.h"

#ifdef HAVE_ISAL
#include <isa-l/crc.h>
#endif

#include "data/file/file.h"

/* A record: its length, the checksum of that, so many bytes, their checksum. */
enum { LENGTH_BYTES = 8, CRC_BYTES = 4, HEAD_BYTES = LENGTH_BYTES + CRC_BYTES };

/* Words: where each record ends; in a compressed file, how far a reader has gone into it. Facts: */
enum { IS_COMPRESSED };

#ifdef HAVE_ISAL

bool tfrecord_is_length(const uint8_t *head)
{
	uint8_t length[LENGTH_BYTES];
	uint32_t crc;

	memcpy(length, head, sizeof(length));
	crc = ~crc32_iscsi(length, LENGTH_BYTES, ~0u);
	crc = (crc >> 15 | crc << 17) + 0xa282ead8u;
	return crc == look_le(head + LENGTH_BYTES, CRC_BYTES);
}

#else

bool tfrecord_is_length(const uint8_t *head)
{
	(void)head;
	return true;
}

#endif

static bool is_compressed(const uint8_t *head)
{
	return (head[0] == 0x1f && head[1] == 0x8b) ||
	       (head[0] == 0x78 && (head[0] << 8 | head[1]) % 31 == 0);
}

static int not_a_record(struct look *l, uint64_t at, const uint8_t *head)
{
	if (at || !is_compressed(head))
		return look_fail(l, at, "no TFRecord: the checksum of its length is wrong");
	if (l->options->access != ACCESS_FRAMEWORK)
		return look_fail(l, at,
				 "the records are compressed, so they can only be read forward; "
				 "access=framework with loader=tfdata does, or format=raw reads "
				 "the file as one sample");
	l->facts[IS_COMPRESSED] = true;
	l->packed_most = TFRECORD_READ_BYTES;
	return tfrecord_inflate(l);
}

int tfrecord_look(struct look *l)
{
	uint64_t at = 0;

	if (tfrecord_by_index(l))
		return l->err->code;
	while (at < l->file_bytes) {
		const uint8_t *head = look_at(l, at, HEAD_BYTES);
		uint64_t bytes;
		int r;

		if (!head)
			return l->err->code;
		if (!tfrecord_is_length(head))
			return not_a_record(l, at, head);
		bytes = look_le(head, LENGTH_BYTES);
		at += HEAD_BYTES;
		if (bytes > l->file_bytes - at || CRC_BYTES > l->file_bytes - at - bytes)
			return look_fail(l, at - HEAD_BYTES,
					 "a record of %" PRIu64
					 " bytes, of which the file has %" PRIu64,
					 bytes, l->file_bytes - at);
		at += bytes + CRC_BYTES;
		l->samples++;
		l->sample_bytes += bytes;
		r = look_word(l, at);
		if (r)
			return r;
	}
	return 0;
}

void tfrecord_found_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
			  uint64_t *len)
{
	const uint64_t *ends = shape->words;

	if (shape->facts[IS_COMPRESSED]) {
		*off = first ? ends[first - 1] : 0;
		*len = first + n == shape->samples ? shape->found_bytes - *off
						   : ends[first + n - 1] - *off;
		return;
	}
	*off = (first ? ends[first - 1] : 0) + HEAD_BYTES;
	*len = ends[first + n - 1] - CRC_BYTES - *off;
}

bool tfrecord_found_is_compressed(const struct file_shape *shape)
{
	return shape->facts[IS_COMPRESSED];
}

uint64_t tfrecord_found_end(const struct file_shape *shape, uint64_t n)
{
	return shape->words[n - 1];
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
