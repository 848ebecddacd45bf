/* SPDX-License-Identifier: Apache-2.0 */
/* trace_chunk.h - a trace file, byte by byte: mlgen-trace(5) has the same. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

/*
 * A file head, then chunks, each behind the other at a multiple of 8: records, entries, parts of
 * the index; the last one is the end. All numbers are little endian, checksums are CRC-32 as zlib
 * has it. A reader passes over chunks of a kind that it does not know.
 */
#define TRACE_MAGIC "MLgenTRC"
#define TRACE_VERSION 1u
#define TRACE_CHUNK_MAGIC UINT32_C(0x4b434d54) /* "TMCK" */

struct trace_file_head {
	char magic[8]; /* TRACE_MAGIC, without a 0 */
	uint32_t version;
	uint32_t part;
	unsigned char run_id[16];
	uint64_t wall_ns, clock_ns;
	uint32_t record_bytes; /* 64 */
	uint32_t crc;          /* of all before it */
	uint64_t reserved;     /* 0 */
};

enum trace_chunk_kind {
	TRACE_CHUNK_RECORDS = 1, /* struct trace_record */
	TRACE_CHUNK_ENTRIES = 2, /* struct trace_stored_entry */
	TRACE_CHUNK_INDEX = 3,   /* struct trace_index_entry */
	TRACE_CHUNK_END = 4,     /* struct trace_end; not compressed */
};

enum { TRACE_CHUNK_IS_ZSTD = 1 }; /* else it is as it is */

struct trace_chunk_head {
	uint32_t magic;
	uint16_t kind, flags;
	uint32_t number;                  /* of the chunk, from 0 */
	uint32_t count;                   /* of what is in it */
	uint32_t raw_bytes, packed_bytes; /* without what fills up to 8 */
	uint64_t first_ns, last_ns;       /* records: least start, greatest end */
	uint32_t packed_crc;
	uint32_t crc; /* of all before it */
};

/* Then its text with a 0, and zeros up to a multiple of 8. */
struct trace_stored_entry {
	uint32_t kind, text_bytes;
	uint64_t number[TRACE_NUMBERS];
};

/* A part has at most TRACE_INDEX_ENTRIES; the first of them is the part before it, or the file head
 * (off 0) where there is none. */
struct trace_index_entry {
	uint64_t off; /* of the chunk's head in the file */
	uint64_t first_ns, last_ns;
	uint32_t kind, count;
};

struct trace_end {
	uint64_t records, entries, chunks; /* before the end itself */
	uint64_t lost;                     /* sum of TRACE_LOST, and what an error cost */
	uint64_t index_off;                /* of the last part of the index; 0 = none */
	uint64_t bytes;                    /* of the whole file */
};

enum {
	TRACE_CHUNK_RECORD_COUNT = 32768,
	TRACE_CHUNK_ENTRY_BYTES = 1 << 20,
	TRACE_CHUNK_RAW_MOST = 4 << 20, /* that any chunk has */
	TRACE_INDEX_ENTRIES = 4096,
	TRACE_TEXT_MOST = 64 << 10, /* of an entry; what is longer is cut */
};

/* In place, to or from little endian: nothing to do on most machines. */
void trace_swap_records(struct trace_record *r, size_t count);
void trace_swap_entry(struct trace_stored_entry *e);
void trace_swap_index(struct trace_index_entry *e, size_t count);
void trace_swap_end(struct trace_end *e);

/* In the form of a file, with magic numbers and checksums. */
void trace_put_file_head(struct trace_file_head *to, const struct trace_head *head);
void trace_put_chunk_head(struct trace_chunk_head *h);

/* 0; -EINVAL: no trace; -EPROTONOSUPPORT: of version *version; -EBADMSG: it is damaged. */
int trace_get_file_head(struct trace_head *to, const struct trace_file_head *h, uint32_t *version);
/* Turned to this machine's order. False: no chunk head, or a damaged one. */
bool trace_get_chunk_head(struct trace_chunk_head *h);

uint32_t trace_crc(const void *bytes, size_t count);
