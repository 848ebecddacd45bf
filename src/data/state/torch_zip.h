/* SPDX-License-Identifier: Apache-2.0 */
/* torch_zip.h - the archive that torch.save writes: a record per tensor, each at a multiple of
 * 64. */
#pragma once

#include "data/state/shard.h"

/*
 * As torch 1.13 has it: stored records STEM/data.pkl, STEM/data/KEY in the order of their names (0,
 * 1, 10, 11, 2), STEM/version. Sizes and checksum stand behind the data; an extra field "FB" in
 * front of it is as long as the alignment needs. From 4 GiB on, by size or by place, a record has
 * zip64 fields, and a descriptor of 24 bytes instead of 16. The directory is followed by zip64's
 * own end and its locator, whatever its size.
 *
 * A piece is what torch hands to its file in one write. A record's number is the piece's `order`,
 * from 0 for data.pkl; its place and bytes of data are record_off and record_bytes.
 */
enum torch_part {
	TORCH_LOCAL, /* header; its name, its extra fields */
	TORCH_NAME,
	TORCH_ZIP64,
	TORCH_PADDING,
	TORCH_DATA,
	TORCH_DESCRIPTOR,
	TORCH_DIRECTORY,
	TORCH_END64,
	TORCH_LOCATOR,
	TORCH_END,
};

enum {
	TORCH_LOCAL_BYTES = 30,
	TORCH_END64_BYTES = 56,
	TORCH_LOCATOR_BYTES = 20,
	TORCH_END_BYTES = 22,
	TORCH_VERSION_BYTES = 2,
};

/* f with its groups and zip.stem; bytes and the rest of zip. */
void torch_zip_init(struct shard *f);

/* As in struct layout. */
bool torch_zip_next(const struct shard *f, struct shard_piece *p);
void torch_zip_meta(const struct shard *f, const struct shard_piece *p, uint64_t from, void *to,
		    uint64_t bytes);
void torch_zip_describe(const struct shard *f, const struct shard_piece *p, char *to, size_t bytes);

/* Move to the first piece of a tensor's record; from a piece near by is cheaper, a zeroed one will
 * do. */
void torch_zip_find(const struct shard *f, struct shard_piece *p, uint64_t tensor);
/* Where the data of its record begin. */
uint64_t torch_zip_data_off(const struct shard *f, const struct shard_piece *p);
