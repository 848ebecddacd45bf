/* SPDX-License-Identifier: Apache-2.0 */
/* shard.h - one file of a checkpoint: its name, its pieces, the calls that write and read it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/state/content.h"
#include "data/state/state.h"

/*
 * A file is a sequence of pieces: tensors, whose bytes come from the content, and what the layout
 * puts around them (headers, a pickle, a directory). Everything is a function of (state, layout,
 * rank, file, checkpoint): no memory per tensor; iterators go through a file from its front.
 *
 * Runs (content.h): with access=plain a file is cut into runs of content_span_bytes (bs), from its
 * first byte on, and pieces that are not tensors lie over them. With access=framework each tensor
 * is a run, or several of shard_most_run; a stream's runs are its calls, from the file's first byte
 * on, and a pattern's calls are its pieces.
 *
 * Names and sizes of files need no content; all that has to do with bytes does.
 */
struct layout;

struct shard_set {
	const struct state *state;
	const struct layout *layout;
	const struct content *content;
	bool is_plain; /* access=plain */
	uint64_t bs;   /* of it */
	bool direct;
};

#define SHARD_MARKS 64

struct shard {
	const struct shard_set *set;
	uint64_t rank, index; /* file of the rank */
	uint64_t checkpoint;  /* its number */
	uint64_t first_group, groups;
	uint64_t tensors, tensor_bytes;
	uint64_t bytes;      /* of the file */
	uint64_t meta_bytes; /* the largest piece that is no tensor */
	/* Tensors before every so-manieth group, to find one. */
	uint64_t marks[SHARD_MARKS];
	struct { /* torch_zip.h's own */
		char stem[JOB_ARCHIVE_BYTES];
		uint64_t pickle_off, pickle_bytes;
		uint64_t version_off, version_data_off;
		uint64_t directory_off, directory_bytes;
		uint32_t pickle_crc32;
	} zip;
};

const struct layout *layout_of(const struct job *job);

/* Files of a rank; 0 = it saves nothing. */
uint64_t shard_files(const struct shard_set *set, uint64_t rank);
/* Goes through all its tensors: set up, rather than ask often. */
void shard_init(struct shard *f, const struct shard_set *set, uint64_t rank, uint64_t index,
		uint64_t checkpoint);
/* Its name within the checkpoint's directory; fewer than SHARD_NAME_BYTES. */
#define SHARD_NAME_BYTES 200
void shard_name(const struct shard *f, char *to, size_t bytes);
/* Could a file of any layout, of any state, have this name? */
bool shard_is_name(const char *name);

struct shard_piece {
	uint64_t off, bytes; /* at least one */
	bool is_tensor;
	uint64_t tensor; /* of the file; also of what stands around it */
	/* The layout's own: how many came before, and what of it this is. */
	uint64_t order;
	unsigned part;
	uint64_t record_off, record_bytes;
};

/* From a zeroed piece to the first, from one to the next; false = no more, and the piece stays the
 * last. */
bool shard_next(const struct shard *f, struct shard_piece *p);
void shard_tensor(const struct shard *f, uint64_t tensor, struct state_tensor *t);
/* Bytes [from, from + bytes) of a piece that is no tensor. */
void shard_meta(const struct shard *f, const struct shard_piece *p, uint64_t from, void *to,
		uint64_t bytes);

/* The run of byte `off`, which lies in piece `p`, a tensor: where it begins and how long it is. */
void shard_run(const struct shard *f, const struct shard_piece *p, uint64_t off, uint64_t *run_off,
	       uint64_t *run_bytes);
void shard_content_of(const struct shard *f, uint64_t run_off, struct content_of *of);
/* The zlib CRC-32 of a piece that is a tensor. */
uint32_t shard_crc32(const struct shard *f, const struct shard_piece *p);

/* Any bytes of the file, piece by piece from `*p`, which is moved along (zeroed at first; going
 * back starts it anew). */
void shard_copy(const struct shard *f, struct shard_piece *p, uint64_t off, void *to,
		uint64_t bytes);

/*
 * access=framework: one call that writes. The first `head_bytes` are from the layout's pieces and
 * small tensors (shard_copy); the rest is a whole run, which begins at off + head_bytes (bytes ==
 * head_bytes: none). Calls cover the file from its front to its end. Zeroed at first.
 */
struct shard_write {
	uint64_t off, bytes, head_bytes;
	bool is_dropped; /* stream: then drop what was written from the cache */
	/* The layout's own: how far it is, and what is left of that piece. */
	struct shard_piece at;
	uint64_t left;
};
bool shard_write_next(const struct shard *f, struct shard_write *w);
/* The most bytes that a head, a run, or a call can have, of the local ranks. A run is at most
 * CONTENT_PARTS - 1 spans, so that one part is left for a head. */
uint64_t shard_most_head(const struct shard_set *set);
uint64_t shard_most_run(const struct shard_set *set);
uint64_t shard_most_write(const struct shard_set *set);

/* access=framework: is there a STAT behind the open? */
bool shard_stats(const struct shard_set *set, bool is_restore);

/* access=framework: one call that reads, in the framework's order, which jumps and comes back; at
 * most CONTENT_PARTS spans. `got_bytes` is what the file has of it. Zeroed at first. */
struct shard_read {
	uint64_t off, bytes, got_bytes;
	/* The layout's own: how many reads the framework asked its file object for, where that is,
	 * what it still owes, and what is in its buffer. */
	uint64_t order, at_off, left;
	uint64_t buffer_off, buffer_end;
	struct shard_piece at;
};
bool shard_read_next(const struct shard *f, struct shard_read *r);

/* `buf` holds [off, off + bytes) of the file. false: *wrong_off is the first wrong byte, and what
 * it belongs to is in `where` ("tensor layers.3...", or "directory of the archive"). p as in
 * shard_copy. */
bool shard_check(const struct shard *f, struct shard_piece *p, uint64_t off, const void *buf,
		 uint64_t bytes, uint64_t *wrong_off, char *where, size_t where_bytes);
