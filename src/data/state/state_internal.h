/* SPDX-License-Identifier: Apache-2.0 */
/* state_internal.h - what layouts, archives and checkpoints share. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/state/state.h"

/* ---- Checksums of what is put together, from those of its parts ---- */

/* Reflected, all ones before and behind: zlib's crc32, and the crc32c. */
#define CRCJOIN_CRC32 0xedb88320u
#define CRCJOIN_CRC32C 0x82f63b78u

/*
 * What a checksum becomes by N bytes of zeros behind it. That is linear, so a
 * table for each byte of it is enough, and
 *
 *	sum(A, B) = crcjoin_past(B's length, sum(A)) ^ sum(B)
 *	sum(A with a word set, which was 0) =
 *		sum(A) ^ crcjoin_past(from the word to the end of A, word)
 *
 * where a word is 4 bytes, little-endian, and itself counted.
 */
struct crcjoin {
	uint32_t table[4][256];
};

/* For `bytes` behind it, however many. */
void crcjoin_init(struct crcjoin *j, uint32_t polynomial, uint64_t bytes);

static inline uint32_t crcjoin_past(const struct crcjoin *j, uint32_t sum)
{
	return j->table[0][sum & 0xff] ^ j->table[1][sum >> 8 & 0xff] ^
	       j->table[2][sum >> 16 & 0xff] ^ j->table[3][sum >> 24];
}

/* Continue a checksum, 0 at first, over `bytes`, a multiple of 4; `word` is the join for 4 bytes.
 * For set-up: libraries are faster. */
uint32_t crcjoin_sum(const struct crcjoin *word, uint32_t sum, const void *data, size_t bytes);

/* ---- How the state of a rank becomes files: one row of functions a layout ---- */

/* What state.h declares is the same of all layouts, or asks their row. */
struct layout {
	const char *name;
	uint64_t (*files)(const struct shard_set *set, uint64_t rank);
	/* Which groups f has: first_group, groups. */
	void (*groups)(struct shard *f);
	/* Then its bytes; NULL = those of its tensors. */
	void (*init)(struct shard *f);
	void (*name_of)(const struct shard *f, char *to, size_t bytes);
	/* All that name_of can give, # for a number; NULL ends them. */
	const char *const *names;
	bool (*next)(const struct shard *f, struct shard_piece *p);
	/* Of pieces that are no tensors; NULL = there are none. */
	void (*meta)(const struct shard *f, const struct shard_piece *p, uint64_t from, void *to,
		     uint64_t bytes);
	void (*describe)(const struct shard *f, const struct shard_piece *p, char *to,
			 size_t bytes);
	/* access=framework. */
	bool (*write_next)(const struct shard *f, struct shard_write *w);
	bool (*read_next)(const struct shard *f, struct shard_read *r);
	/* Python's open() asks for a file's size; C++'s does not. */
	bool stats_to_write, stats_to_read;
	/* Its runs, cut from the file's first byte on; 0 = from a piece's. */
	uint64_t run_bytes;
	uint64_t buffer_bytes; /* the most of a head besides one piece */
};

extern const struct layout layout_torch, layout_deepspeed, layout_stream, layout_pattern;

/* A piece that is no tensor, but longer than this, is written in several calls, so that the
 * writers' scratch buffers stay small. */
#define LAYOUT_META_BYTES (UINT64_C(1) << 20)

extern const char *const deepspeed_names[];

/* ---- The tensors of a tensor_sizes file ---- */

/*
 * One tensor a line: BYTES, or NAME BYTES, sizes as in a job file; `#` begins a comment, empty
 * lines are fine. A tensor without a name is called tensor.0, tensor.1, ... by its place.
 */
#define STATE_LIST_MAX 1000000u

struct state_list;

/* scale in percent. 0, or -errno with err: "tensor_sizes: ...", or
 * "FILE:LINE: ...". */
int state_list_new(struct state_list **out, const char *path, unsigned kb_base, double scale,
		   struct mlgen_err *err);
void state_list_free(struct state_list *l); /* NULL is fine */

uint64_t state_list_bytes(const struct state_list *l); /* of all, scaled */

const char *state_list_name(const struct state_list *l, uint64_t i);

/* Any part of something that is made from its front: what lies before and behind is left out. */

/*
 * What makes it puts all of it; `to` gets bytes [from, end). With `to` NULL nothing is kept: `at`
 * is how long it is then, and `crc32` its checksum.
 */
struct window {
	uint64_t at; /* bytes put so far */
	uint64_t from, end;
	uint8_t *to;
	uint32_t crc32;
};

void window_put(struct window *w, const void *data, size_t bytes);
/* A string, without its NUL. */
void window_text(struct window *w, const char *text);
/* Little-endian, so many bytes wide. */
void window_number(struct window *w, unsigned bytes, uint64_t v);

/* ---- Data.pkl of an archive: the dict of tensors, as Python's pickler writes it ---- */

/*
 * What torch 1.13's torch.save({name: tensor, ...}) pickles: protocol 2, with every object
 * memoized; a tensor is its storage's key (its number), type and length. Tensors have one
 * dimension; their type follows from value_bytes.
 */
void torch_pickle(const struct shard *f, struct window *w);

/* The zlib CRC-32 of a piece that is a tensor. */
uint32_t shard_crc32(const struct shard *f, const struct shard_piece *p);

/* Of no checkpoint: they count from 1. */
#define CHECKPOINT_PROBE_EPOCH 0

/* Hold the directory, which is there. 0 or -errno with err. */
int checkpoints_reach(struct checkpoints *c, struct mlgen_err *err);

/* checkpoint_manifest.c: it is this process's, as of now; how a manifest says so. */
void checkpoint_sign(struct checkpoint *k, const struct process *self);

/* Is it of the same model, layout, ranks and access as the job's, and with verify= of the same
 * bytes? Else the first difference: "zero_stage: 3 there,
 * 1 in the job". */
bool checkpoint_manifest_fits(int folder_fd, const struct shard_set *set, char *how,
			      size_t how_bytes);

/* Write it, synced when it is complete. 0 or -errno. */
int checkpoint_manifest_store(int folder_fd, const struct shard_set *set,
			      const struct checkpoint *k, bool is_complete);

/* It is incomplete from now on, and that process deletes it. 0 or -errno. */
int checkpoint_manifest_mark(int folder_fd, const struct process *by);

/*
 * As look, into r->now of one that is going to be deleted, and its files. -EPERM: it names what no
 * layout gives to a file, or is no file itself; `why` says so.
 */
int checkpoint_manifest_files(int folder_fd, const struct shard_set *set,
			      struct checkpoint_removal *r, char *why, size_t why_bytes);

/* As in struct layout. */
bool torch_path_write_next(const struct shard *f, struct shard_write *w);
bool torch_file_write_next(const struct shard *f, struct shard_write *w);
bool torch_read_next(const struct shard *f, struct shard_read *r);

/* f with its groups and zip.stem; bytes and the rest of zip. */
void torch_zip_init(struct shard *f);

/* As in struct layout. */
bool torch_zip_next(const struct shard *f, struct shard_piece *p);
void torch_zip_meta(const struct shard *f, const struct shard_piece *p, uint64_t from, void *to,
		    uint64_t bytes);
void torch_zip_describe(const struct shard *f, const struct shard_piece *p, char *to, size_t bytes);
