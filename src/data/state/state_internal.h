/* SPDX-License-Identifier: Apache-2.0 */
/* state_internal.h - what layouts, archives and checkpoints share. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/state/state.h"

/* ---- Checksums of concatenated data, from the checksums of its parts ---- */

/* Polynomials of zlib's crc32 and of the crc32c: reflected, initial and final value all ones. */
#define CRCJOIN_CRC32 0xedb88320u
#define CRCJOIN_CRC32C 0x82f63b78u

/*
 * How a checksum changes if N bytes of zeros follow. The change is linear, so one table for each
 * byte of the checksum is enough, and
 *
 * sum(A, B) = crcjoin_past(B's length, sum(A)) ^ sum(B)
 * sum(A with a word set, which was 0) =
 * 	sum(A) ^ crcjoin_past(from the word to the end of A, word)
 *
 * where a word has 4 bytes, little-endian, and the bytes to the end of A include the word.
 */
struct crcjoin {
	uint32_t table[4][256];
};

/* Prepare for this number of zero bytes, which may be any. */
void crcjoin_init(struct crcjoin *j, uint32_t polynomial, uint64_t bytes);

static inline uint32_t crcjoin_past(const struct crcjoin *j, uint32_t sum)
{
	return j->table[0][sum & 0xff] ^ j->table[1][sum >> 8 & 0xff] ^
	       j->table[2][sum >> 16 & 0xff] ^ j->table[3][sum >> 24];
}

/* Continue a checksum, 0 at first, over `bytes`, a multiple of 4; `word` is the join for 4 bytes.
 * Libraries are faster: use it in set-up only. */
uint32_t crcjoin_sum(const struct crcjoin *word, uint32_t sum, const void *data, size_t bytes);

/* ---- Layouts: how the state of a rank is divided among files ---- */

/* The functions and constants of a layout, which implement the shard_* functions of state.h. */
struct layout {
	const char *name;
	uint64_t (*files)(const struct shard_set *set, uint64_t rank);
	/* Set f->first_group and f->groups. */
	void (*groups)(struct shard *f);
	/* Called last, to set f->bytes; NULL = f->bytes is the sum of the tensors. */
	void (*init)(struct shard *f);
	void (*name_of)(const struct shard *f, char *to, size_t bytes);
	/* Every form of name that name_of can give, # for a number; NULL-terminated. */
	const char *const *names;
	bool (*next)(const struct shard *f, struct shard_piece *p);
	/* Bytes and description of a piece that is not a tensor; NULL = there are no such
	 * pieces. */
	void (*meta)(const struct shard *f, const struct shard_piece *p, uint64_t from, void *to,
		     uint64_t bytes);
	void (*describe)(const struct shard *f, const struct shard_piece *p, char *to,
			 size_t bytes);
	/* Calls with access=framework. */
	bool (*write_next)(const struct shard *f, struct shard_write *w);
	bool (*read_next)(const struct shard *f, struct shard_read *r);
	/* Python's open() asks for a file's size; C++'s does not. */
	bool stats_to_write, stats_to_read;
	/* Length of a run, counted from the file's first byte; 0 = runs follow the pieces. */
	uint64_t run_bytes;
	uint64_t buffer_bytes; /* the most bytes of a head in addition to one piece */
};

extern const struct layout layout_torch, layout_deepspeed, layout_stream, layout_pattern;

/* A longer piece that is not a tensor is written in several calls, so that the writers' scratch
 * buffers stay small. */
#define LAYOUT_META_BYTES (UINT64_C(1) << 20)

extern const char *const deepspeed_names[];

/* ---- The tensors of a tensor_sizes file ---- */

/*
 * Each line has one tensor: BYTES, or NAME BYTES, with sizes as in a job file. `#` begins a
 * comment; empty lines are fine. A tensor without a name is called tensor.0, tensor.1, ... by its
 * place.
 */
#define STATE_LIST_MAX 1000000u

struct state_list;

/* Read a list; scale in percent. 0, or -errno with err "tensor_sizes: ..." or "FILE:LINE: ...". */
int state_list_new(struct state_list **out, const char *path, unsigned kb_base, double scale,
		   struct mlgen_err *err);
void state_list_free(struct state_list *l); /* NULL is fine */

uint64_t state_list_bytes(const struct state_list *l); /* sum of all tensors, scaled */

const char *state_list_name(const struct state_list *l, uint64_t i);

/* ---- Windows: a part of data that can only be generated from the front ---- */

/*
 * The generator writes everything; `to` receives bytes [from, end) only. With `to` NULL the window
 * only counts: when all is written, `at` is the length, and `crc32` the checksum.
 */
struct window {
	uint64_t at; /* bytes written so far */
	uint64_t from, end;
	uint8_t *to;
	uint32_t crc32;
};

void window_write(struct window *w, const void *data, size_t bytes);
/* Write a string without its NUL. */
void window_text(struct window *w, const char *text);
/* Write a little-endian number of this many bytes. */
void window_number(struct window *w, unsigned bytes, uint64_t v);

/* ---- data.pkl of an archive: the dict of tensors, as Python's pickler writes it ---- */

/*
 * Write the pickle of torch 1.13's torch.save({name: tensor, ...}): protocol 2, with every object
 * memoized. A tensor is its storage's key (its number), type and length. Tensors have one
 * dimension; their type follows from value_bytes.
 */
void torch_pickle(const struct shard *f, struct window *w);

/* The zlib CRC-32 of a piece that is a tensor. */
uint32_t shard_crc32(const struct shard *f, const struct shard_piece *p);

/* An epoch that no checkpoint has, because epochs count from 1. */
#define CHECKPOINT_PROBE_EPOCH 0

/* Open and hold the existing directory. 0, or -errno with err. */
int checkpoints_open_directory(struct checkpoints *c, struct mlgen_err *err);

/* Set the writer to this process and begun_s to the current time. */
void checkpoint_sign(struct checkpoint *k, const struct process *self);

/*
 * Manifests. `folder_fd` is the checkpoint's own directory (files.h). A manifest has a few KiB and
 * is read again for each call. Calls that only read follow links; calls before a change or a
 * removal do not.
 */

/* Does the checkpoint have the model, layout, ranks and access of the job, and with verify= the
 * same bytes? If not, `how` is the first difference: "zero_stage: 3 in the checkpoint, 1 in the
 * job". */
bool checkpoint_manifest_fits(int folder_fd, const struct shard_set *set, char *how,
			      size_t how_bytes);

/* Write a manifest, synced when it is complete. 0, or -errno. */
int checkpoint_manifest_store(int folder_fd, const struct shard_set *set,
			      const struct checkpoint *k, bool is_complete);

/* Make a manifest incomplete and name the process that deletes the checkpoint. 0, or -errno. */
int checkpoint_manifest_mark(int folder_fd, const struct process *by);

/* Read the manifest of a checkpoint to be deleted into r->now, and its files into r->names. 0, or
 * -errno with `why`; -EPERM: it is not a regular manifest, or it names a file that no layout
 * has. */
int checkpoint_manifest_files(int folder_fd, const struct shard_set *set,
			      struct checkpoint_removal *r, char *why, size_t why_bytes);

/* Calls of an archive, for rows of struct layout. */
bool torch_path_write_next(const struct shard *f, struct shard_write *w);
bool torch_file_write_next(const struct shard *f, struct shard_write *w);
bool torch_read_next(const struct shard *f, struct shard_read *r);

/* Set f->bytes and f->zip from f's groups and zip.stem. */
void torch_zip_init(struct shard *f);

/* Pieces of an archive, for rows of struct layout. */
bool torch_zip_next(const struct shard *f, struct shard_piece *p);
void torch_zip_meta(const struct shard *f, const struct shard_piece *p, uint64_t from, void *to,
		    uint64_t bytes);
void torch_zip_describe(const struct shard *f, const struct shard_piece *p, char *to, size_t bytes);
