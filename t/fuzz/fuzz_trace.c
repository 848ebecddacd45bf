/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trace.c - any bytes as the files of a trace: refused, or read within what is there. */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/trace.h"

/* A chunk takes so much of the input, of which the first bytes say what it is to be. */
#define PIECE_BYTES 300u

static char path[2][32];
static int file[2] = { -1, -1 };

static void set_up(void)
{
	for (unsigned i = 0; i < 2; i++) {
		file[i] = memfd_create("fuzz", MFD_CLOEXEC);
		MUST(file[i] >= 0);
		snprintf(path[i], sizeof(path[i]), "/proc/self/fd/%d", file[i]);
	}
}

static void put(unsigned which, uint64_t at, const void *bytes, size_t count)
{
	MUST(pwrite(file[which], bytes, count, (off_t)at) == (ssize_t)count);
}

/* Its checksums are those of what is there: by chance they would never be. */
static uint64_t put_chunk(unsigned which, uint64_t at, const uint8_t *data, size_t size)
{
	static const char zeros[8];
	struct trace_chunk_head h = { .kind = data[0] % 6,
				      .flags = data[1] % 2,
				      .number = data[2],
				      .count = data[3] % 8,
				      .raw_bytes = data[4] };

	if (data[5] % 2) { /* as it says of itself */
		h.flags = 0;
		h.raw_bytes = (uint32_t)size;
		if (h.kind == TRACE_CHUNK_RECORDS)
			h.raw_bytes = (uint32_t)(size / 64 * 64);
		h.count = h.kind == TRACE_CHUNK_RECORDS ? h.raw_bytes / 64 : h.count;
		size = h.raw_bytes;
	}
	h.packed_bytes = (uint32_t)size;
	h.packed_crc = trace_crc(data, size);
	trace_encode_chunk_head(&h);
	put(which, at, &h, sizeof(h));
	put(which, at + sizeof(h), data, size);
	at += sizeof(h) + size;
	put(which, at, zeros, (8 - at % 8) % 8);
	return (at + 7) / 8 * 8;
}

static void make_file(unsigned which, const uint8_t *data, size_t size)
{
	struct trace_head head = { .part = which };
	struct trace_file_head h;
	uint64_t at = sizeof(h);

	MUST(ftruncate(file[which], 0) == 0);
	trace_encode_file_head(&h, &head);
	put(which, 0, &h, sizeof(h));
	while (size >= 8) {
		size_t n = size < PIECE_BYTES ? size : PIECE_BYTES;

		at = put_chunk(which, at, data, n);
		data += n;
		size -= n;
	}
}

static void check_batch(const struct trace_batch *b)
{
	for (size_t i = 0; i < b->entry_count; i++) {
		MUST(b->entries[i].text);
		MUST(strlen(b->entries[i].text) <= b->entries[i].text_bytes);
	}
	for (size_t i = 0; i < b->record_count; i++)
		trace_op_name(b->records[i].op);
}

static void read_all(size_t count)
{
	const char *paths[] = { path[0], path[1] };
	struct trace_reader *r;
	struct trace_batch b;
	struct mlgen_err err = { 0 };
	uint64_t records[2] = { 0, 0 };

	if (trace_reader_open(&r, paths, count, &err) < 0) {
		MUST(*err.text);
		return;
	}
	for (unsigned round = 0; round < 2; round++) {
		while (trace_reader_next(r, &b, &err) > 0) {
			check_batch(&b);
			records[round] += b.record_count;
		}
		MUST(trace_reader_totals(r)->records == records[round]);
		if (round == 0)
			MUST(trace_reader_rewind(r, &err) == 0);
	}
	MUST(records[0] == records[1]);
	trace_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (file[0] < 0)
		set_up();
	if (size == 0)
		return 0;
	MUST(ftruncate(file[0], 0) == 0);
	put(0, 0, data, size);
	read_all(1); /* as it is */
	make_file(0, data, size / 2);
	read_all(1);
	make_file(1, data + size / 2, size - size / 2);
	read_all(2);
	return 0;
}
