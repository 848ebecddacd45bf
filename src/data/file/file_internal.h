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

/* ---- a file of what a scan found inside files, by their names ---- */

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

/* ---- where the findings of a scan are kept ---- */

struct kept {
	struct kept_request req;
	char *path; /* behind all links; owned */
	char *key;  /* what facts follow from; owned */
	char *beside;
	int fd;                   /* of the old one; -1 = there is none */
	bool has_cache;           /* and it fits */
	struct scan_cache cache;  /* the old one */
	_Atomic uint64_t taken;   /* files whose findings were in it */
	_Atomic uint64_t damaged; /* and could not be taken */
	/* While the new one is written. */
	struct replace replace;
	struct scan_cache_writer writer;
};

/*
 * NULL in *out where nothing is kept. What does not fit is told, and is as if there were nothing.
 * 0, or -errno with err: in its place is something that is not mlgen's, or nothing could be kept
 * there.
 */
int kept_open(struct kept **out, const struct kept_request *req, const struct dataset *ds,
	      struct mlgen_err *err);
void kept_free(struct kept *k); /* NULL is fine */

/*
 * What is known of a file that has this name and stamp: 1 with its findings and the words behind
 * those in `words`; 0: nothing; or -errno with err, where words could not be put down. One cursor a
 * thread.
 */
int kept_take(struct kept *k, struct scan_cursor *cursor, const char *name,
	      const struct scan_stamp *stamp, struct scan_cached *found, struct namefile *words,
	      struct mlgen_err *err);

/* What could not be taken; once all files were asked for. */
void kept_tell(const struct kept *k);

/*
 * What comes next takes the old one's place: of the scanned part so many files with names of so
 * many bytes, which the caller adds to k->writer, and of the other part what there was. 0, or
 * -errno: kept_fail tells it.
 */
int kept_begin(struct kept *k, uint64_t files, uint64_t name_bytes);
int kept_end(struct kept *k);
/* The run goes on without. */
void kept_fail(struct kept *k, int code);

/* Storage answers so many at a time. */
#define FOUND_THREADS 8u

/* One more stands behind the last file, with the sums of all. */
struct entry {
	uint64_t first_sample; /* of the dataset; while it looks, how many */
	uint64_t sample_bytes; /* of all files before; while it looks, its own */
	uint64_t words;
	uint64_t facts[LOOK_FACTS];
};

struct found {
	struct entry *entries;
	uint64_t files, each, most;
	bool counts_extents;
	unsigned extents_fact; /* of each: how many are before it */
	struct namefile words[FOUND_THREADS];
	struct namefile_map maps[FOUND_THREADS];
	unsigned word_files;
	uint64_t read_bytes, kept_files, packed_most;
	double seconds;
};

struct looker {
	struct looking *of;
	struct look look;
	struct scan_cursor *cursor; /* of what was kept; owned, NULL = none */
	struct mlgen_err err;
	uint64_t failed_at;      /* the file of err */
	struct mlgen_err damage; /* of the first file that was left out ... */
	uint64_t damaged_at;     /* ... and which it is */
	uint64_t packed_most;
	pthread_t thread;
	unsigned index;
	bool has_thread;
	char path[PATH_MAX];
};

struct looking {
	struct found *found;
	const struct scan *scan;
	const struct dataset *ds;
	struct kept *kept; /* NULL = nothing is */
	enum job_scan_errors errors;
	int dir_fd;
	struct timespec started;
	double told_seconds;
	_Atomic uint64_t next, done, damaged;
	struct mlgen_err damage; /* of the first file of all that was left out */
	_Atomic uint64_t stale;  /* indexes that are not as their files are */
	_Atomic bool stops;
	struct looker lookers[FOUND_THREADS];
};

/* An empty one for the files of a scan. */
struct found *found_of(const struct scan *scan);
