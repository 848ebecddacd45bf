/* SPDX-License-Identifier: Apache-2.0 */
/* parquet_page.c - the header of a page of somebody else's Parquet file, in memory. */
#include "data/formats/parquet/parquet.h"

#include "data/formats/parquet/parquet_internal.h"

/* From parquet.thrift of the Apache Parquet format. */
enum {
	PAGE_RAW_BYTES = 2,
	PAGE_STORED_BYTES = 3,
	PAGE_DATA_V2 = 8,

	V2_DEFINITION_BYTES = 5,
	V2_REPETITION_BYTES = 6,
	V2_IS_COMPRESSED = 7,
};

struct page_head {
	int64_t raw, stored, levels;
	bool is_raw;
};

/* Of a page of the second version levels stand before what is compressed. */
static void read_second(struct thrift_reader *t, struct page_head *h)
{
	struct thrift_field f = { 0 };

	while (thrift_next(t, &f)) {
		int64_t n = 0;

		if (f.id == V2_DEFINITION_BYTES || f.id == V2_REPETITION_BYTES)
			n = thrift_int(t, &f);
		else
			thrift_skip(t, f.type);
		h->is_raw |= f.id == V2_IS_COMPRESSED && f.type == WIRE_FALSE;
		if (n < 0 || n > INT32_MAX)
			n = INT32_MAX;
		h->levels += n;
	}
}

static void read_head(struct thrift_reader *t, struct page_head *h)
{
	struct thrift_field f = { 0 };

	while (thrift_next(t, &f)) {
		if (f.id == PAGE_RAW_BYTES) {
			h->raw = thrift_int(t, &f);
		} else if (f.id == PAGE_STORED_BYTES) {
			h->stored = thrift_int(t, &f);
		} else if (f.id == PAGE_DATA_V2 && thrift_enter(t, f.type)) {
			read_second(t, h);
			thrift_leave(t);
		} else {
			thrift_skip(t, f.type);
		}
	}
}

bool parquet_page_read(struct parquet_page *p, const uint8_t *at, size_t bytes)
{
	/* Nothing is read through it: all of it is there. */
	struct mlgen_err err = { 0 };
	struct look nowhere = { .path = "", .fd = -1, .err = &err };
	struct page_head h = { 0 };
	struct thrift_reader t;

	thrift_reader_init(&t, &nowhere, 0, bytes);
	t.at = at;
	t.there = bytes;
	read_head(&t, &h);
	if (thrift_failed(&t) || h.raw < h.levels || h.stored < h.levels ||
	    (uint64_t)h.stored > bytes - t.off)
		return false;
	*p = (struct parquet_page){
		.head_bytes = (size_t)t.off,
		.level_bytes = (uint64_t)h.levels,
		.stored_bytes = (uint64_t)(h.stored - h.levels),
		.raw_bytes = (uint64_t)(h.raw - h.levels),
		.is_packed = !h.is_raw,
	};
	return true;
}
