/* SPDX-License-Identifier: Apache-2.0 */
/* file_internal.h - what the parts of data/file share. */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/files.h"
#include "data/file/file.h"
#include "data/scan/scan.h"

/* ---- the file of a scan cache: what a scan found inside files, by their names ---- */

/*
 * The file has a header; a text (`key`) with the options that the facts depend on; a record for
 * each file, in the order of parts and then of names; the names of the files; the words of the
 * files. Numbers are in the host's byte order, which the header records.
 *
 * The cache is read with pread and never mapped: if it is truncated, or replaced on another host,
 * the process loses its contents and is not killed. Opening it verifies the checksums of header,
 * records and names. The words of a file are checked when they are read.
 */

/* Identifies the version of a file that the scan has looked into. */
struct scan_stamp {
	uint64_t size_bytes;
	int64_t mtime_ns;
	uint64_t sidecars; /* hash of sizes and times of the index files or the twin; 0 = none */
};

/* Results for a file, as in struct look. */
struct scan_cached {
	uint64_t samples, sample_bytes;
	uint64_t packed_max; /* maximum over all files */
	uint64_t facts[LOOK_FACTS];
	uint64_t word_count;
	uint64_t words_at; /* offset in the cache */
	uint32_t words_crc;
};

#define SCAN_PARTS 2 /* enum scan_part */

/* The entry of a file on disk. */
struct scan_record {
	struct scan_stamp stamp;
	struct scan_cached found;
	uint32_t name_bytes;
	uint64_t name_at; /* offset among all names */
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
	uint32_t crc; /* checksum of the header, with 0 here, and of the key */
};

#define SCAN_CACHE_MAGIC "mlgen\x7fSC"
#define SCAN_CACHE_ORDER UINT32_C(0x01020304)
/* Increment when the layout changes, or the meaning of a format's facts and words. */
#define SCAN_CACHE_VERSION 1u

/* Offsets of the three sections, and of the end. */
struct scan_layout {
	uint64_t records, names, words, end;
};

struct scan_cache {
	int fd;
	struct scan_header header;
	struct scan_layout layout;
	uint64_t files; /* all parts */
};

/* Compute the offsets. False if no file can be that large. */
bool scan_cache_layout(const struct scan_header *h, struct scan_layout *out);

enum scan_cache_state {
	SCAN_CACHE_FITS,
	SCAN_CACHE_USELESS, /* damaged, or made from something else */
	SCAN_CACHE_FOREIGN, /* no scan cache; an empty file is not foreign */
};

/*
 * Open a cache in *c on a readable fd, which stays the caller's. If the cache cannot be used, err
 * has the reason, without the name of the file.
 */
enum scan_cache_state scan_cache_open(struct scan_cache *c, int fd, const char *key,
				      struct mlgen_err *err);

/* A thread's position in the records, which are read in blocks. */
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
/* Find the record of a name; NULL = there is none. It is valid until the next call. Looking up
 * names in order is fastest. */
const struct scan_record *scan_cursor_find(struct scan_cursor *k, enum scan_part part,
					   const char *name);
/* Get a record by its number, and its name without a terminating zero; NULL = damaged. */
const struct scan_record *scan_cursor_at(struct scan_cursor *k, uint64_t index, const char **name);

/* Pass the words of a file to `take`, piece by piece: 0, -EBADMSG if they are not the words that
 * were written, or the error of `take`. */
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
	uint32_t words_crc;                          /* current file */
	uint64_t words_at, name_at;
};

/* Start a cache in an empty file, for this many files whose names have this many bytes. 0 or
 * -errno; call fini in either case. */
int scan_cache_begin(struct scan_cache_writer *w, int fd, const char *key,
		     const uint64_t files[SCAN_PARTS], const uint64_t name_bytes[SCAN_PARTS]);
/* Append words of the next file. */
int scan_cache_add_words(struct scan_cache_writer *w, const uint64_t *words, size_t count);
/* Append a file after its words, in order; words_at and words_crc of `found` are ignored. */
int scan_cache_add(struct scan_cache_writer *w, enum scan_part part, const char *name,
		   size_t name_bytes, const struct scan_stamp *stamp,
		   const struct scan_cached *found);
/* Write the header, which makes the file a valid cache. */
int scan_cache_end(struct scan_cache_writer *w);
void scan_cache_writer_fini(struct scan_cache_writer *w);

/* ---- the scan cache of one scan: the old file, and the new one that replaces it ---- */

struct scan_cache_store {
	struct scan_cache_request req;
	char *path; /* links are resolved; owned */
	char *key;  /* the options that facts depend on; owned */
	char *directory;
	int fd;                   /* the old file; -1 = none */
	bool has_cache;           /* the old file can be used */
	struct scan_cache cache;  /* the old file */
	_Atomic uint64_t hits;    /* files whose results were in it */
	_Atomic uint64_t damaged; /* files whose results were there, but damaged */
	/* The new file, while it is written. */
	struct replace replace;
	struct scan_cache_writer writer;
};

/*
 * Open the cache of a scan; *out is NULL if the scan has none. A cache that does not fit is
 * reported and treated as empty. 0, or -errno with err: the path names a file that is not a scan
 * cache, or mlgen cannot create a file there.
 */
int scan_cache_store_open(struct scan_cache_store **out, const struct scan_cache_request *req,
			  const struct dataset *ds, struct mlgen_err *err);
void scan_cache_store_free(struct scan_cache_store *k); /* NULL is fine */

/*
 * Look up a file by name and stamp, with one cursor per thread. 1 with the results, after which
 * `words` has the file's words; 0 = unknown; or -errno with err if words could not be stored.
 */
int scan_cache_lookup(struct scan_cache_store *k, struct scan_cursor *cursor, const char *name,
		      const struct scan_stamp *stamp, struct scan_cached *found,
		      struct namefile *words, struct mlgen_err *err);

/* Report cache entries that could not be used. Call once, after the scan. */
void scan_cache_warn_unused(const struct scan_cache_store *k);

/*
 * Start the new cache. The scanned part will have this many files and bytes of names, which the
 * caller adds to k->writer; the other part is copied from the old cache. 0 or -errno for
 * scan_cache_replace_failed.
 */
int scan_cache_replace_begin(struct scan_cache_store *k, uint64_t files, uint64_t name_bytes);
int scan_cache_replace_end(struct scan_cache_store *k);
/* Report that the cache could not be written; the run continues without it. */
void scan_cache_replace_failed(struct scan_cache_store *k, int code);

/* ---- the scan index ---- */

/* Threads of a scan: storage serves this many requests at a time. */
#define SCAN_THREADS 8u

/* The entry after the last file has the sums over all files. */
struct index_entry {
	uint64_t first_sample; /* index in the dataset; during the scan: the file's number of
				  samples */
	uint64_t sample_bytes; /* sum of all files before; during the scan: of this file */
	uint64_t words;
	uint64_t facts[LOOK_FACTS];
};

struct scan_index {
	struct index_entry *entries;
	uint64_t files, each, most;
	bool counts_extents;
	unsigned extents_fact; /* the fact that is the number of extents before a file */
	struct namefile words[SCAN_THREADS];
	struct namefile_map maps[SCAN_THREADS];
	unsigned word_files;
	uint64_t read_bytes, kept_files, packed_max;
	double seconds;
};

struct index_thread {
	struct index_build *build;
	struct look look;
	struct scan_cursor *cursor; /* position in the old scan cache; owned, NULL = none */
	struct mlgen_err err;
	uint64_t failed_at;      /* the file that err is about */
	struct mlgen_err damage; /* error of the first file that was left out ... */
	uint64_t damaged_at;     /* ... and its index */
	uint64_t packed_max;
	pthread_t thread;
	unsigned index;
	bool has_thread;
	char path[PATH_MAX];
};

struct index_build {
	struct scan_index *found;
	const struct scan *scan;
	const struct dataset *ds;
	struct scan_cache_store *kept; /* NULL = no scan cache */
	enum job_scan_errors errors;
	int dir_fd;
	struct timespec started;
	double reported_seconds;
	_Atomic uint64_t next, done, damaged;
	struct mlgen_err damage; /* error of the first file of all that was left out */
	_Atomic uint64_t stale;  /* index files that do not match their files */
	_Atomic bool stops;
	struct index_thread threads[SCAN_THREADS];
};
