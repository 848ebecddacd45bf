/* SPDX-License-Identifier: Apache-2.0 */
/* scan_cache.h - a file of what a scan found inside files, by their names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/look.h"
#include "data/scan/scan.h"

/*
 * A header, and a text that says what the facts follow from (`key`); a record for each file, in the
 * order of parts and then of names; their names; their words. Numbers are as the host has them, and
 * the header says how that is.
 *
 * It is read by pread and never mapped: a file that is cut off, or replaced on another host, then
 * costs what was in it, and not the process. Header, records and names are summed up when it is
 * opened, the words of a file when they are taken.
 */

/* Is it still the file that was looked at? */
struct scan_stamp {
	uint64_t size_bytes;
	int64_t mtime_ns;
	uint64_t beside; /* the same of files that belong to it; 0 = none */
};

/* What was found of it; as in struct look. */
struct scan_cached {
	uint64_t samples, sample_bytes;
	uint64_t packed_most; /* of all files together */
	uint64_t facts[LOOK_FACTS];
	uint64_t word_count;
	uint64_t words_at; /* in the cache */
	uint32_t words_crc;
};

#define SCAN_PARTS 2 /* enum scan_part */

/* On disk. */
struct scan_record {
	struct scan_stamp stamp;
	struct scan_cached found;
	uint32_t name_bytes;
	uint64_t name_at; /* among all names */
	uint64_t part;
};

struct scan_header {
	char magic[8];
	uint32_t byte_order;
	uint32_t version;
	uint64_t files[SCAN_PARTS];
	uint64_t name_bytes[SCAN_PARTS];
	uint64_t word_bytes;
	uint32_t key_bytes;
	uint32_t records_crc;
	uint32_t names_crc;
	uint32_t crc; /* of this, with 0 in its place, and the key */
};

#define SCAN_CACHE_MAGIC "mlgen\x7fSC"
#define SCAN_CACHE_ORDER UINT32_C(0x01020304)
/* To be raised when the layout changes, or what a format's facts and words mean. */
#define SCAN_CACHE_VERSION 1u
#define SCAN_CACHE_KEY_BYTES 65536u

/* Where the three parts of it begin. */
struct scan_layout {
	uint64_t records, names, words, end;
};

struct scan_cache {
	int fd;
	struct scan_header header;
	struct scan_layout layout;
	uint64_t files; /* of all parts */
};

/* False: no file has so many. */
bool scan_cache_layout(const struct scan_header *h, struct scan_layout *out);

enum scan_cache_state {
	SCAN_CACHE_FITS,
	SCAN_CACHE_USELESS, /* damaged, or made of something else */
	SCAN_CACHE_FOREIGN, /* of somebody else; an empty one is ours */
};

/*
 * What is open for reading becomes *c, and stays the caller's. If it does not fit, err says in
 * words, without a name, what is the matter with it.
 */
enum scan_cache_state scan_cache_open(struct scan_cache *c, int fd, const char *key,
				      struct mlgen_err *err);

/* One thread's way through the records: so many at once. */
#define SCAN_BLOCK 64u
#define SCAN_NAMES_BYTES 65536u

struct scan_cursor {
	const struct scan_cache *cache;
	uint64_t first;
	unsigned count;
	struct scan_record records[SCAN_BLOCK];
	char names[SCAN_NAMES_BYTES];
};

void scan_cursor_init(struct scan_cursor *k, const struct scan_cache *c);
/* NULL: it is not there. Until the next call; quickest in order. */
const struct scan_record *scan_cursor_find(struct scan_cursor *k, enum scan_part part,
					   const char *name);
/* By number, with its name, which is not a string; NULL: damaged. */
const struct scan_record *scan_cursor_at(struct scan_cursor *k, uint64_t index, const char **name);

/* Its words, by pieces: 0, -EBADMSG where they are not those that were written, or what `take`
 * gave. */
int scan_cache_words(const struct scan_cache *c, const struct scan_cached *found,
		     int (*take)(void *arg, const uint64_t *words, size_t count), void *arg);

/* ---- writing ---- */

struct scan_stream;

struct scan_cache_writer {
	int fd;
	struct scan_header header;
	struct scan_layout layout;
	char *key;                                   /* owned */
	struct scan_stream *records, *names, *words; /* owned */
	uint32_t words_crc;                          /* of this file */
	uint64_t words_at, name_at;
};

/* Into an empty file, of so many files, whose names have so many bytes. 0 or -errno; fini in any
 * case. */
int scan_cache_begin(struct scan_cache_writer *w, int fd, const char *key,
		     const uint64_t files[SCAN_PARTS], const uint64_t name_bytes[SCAN_PARTS]);
/* The words of the next file, then itself, in order. */
int scan_cache_add_words(struct scan_cache_writer *w, const uint64_t *words, size_t count);
/* Of `found` its words_at and words_crc are not asked. */
int scan_cache_add(struct scan_cache_writer *w, enum scan_part part, const char *name,
		   size_t name_bytes, const struct scan_stamp *stamp,
		   const struct scan_cached *found);
/* It is a cache with this; nothing before makes it one. */
int scan_cache_end(struct scan_cache_writer *w);
void scan_cache_writer_fini(struct scan_cache_writer *w);
