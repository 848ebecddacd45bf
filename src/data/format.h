/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - the byte layout of a file: what to write, where a sample lies. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/dataset.h"

/* What one file holds. */
struct file_shape {
	uint64_t samples;
	uint64_t sides[2]; /* of one sample; {1, bytes} unless dlio: */
	bool two_sides; /* dlio: shape (samples, d1, d2), else (samples, bytes) */
};

/*
 * Writes the content of one file a chunk at a time: fill the buffer, write it
 * at `off`, ask for the next. The last chunk may be the header again, with the
 * checksum that was not known before. Allocates nothing. Start with shape and
 * seed_index set and the rest zero.
 */
struct format_writer {
	struct file_shape shape;
	uint64_t seed_index; /* of the content: the file's index */
	uint64_t pos;
	unsigned part;
	uint32_t crc[2];
};

struct plan_kind;

struct format {
	const char *name; /* also the suffix of its files */
	uint64_t (*file_bytes)(const struct file_shape *shape);
	/* Where samples first .. first+n-1 lie. */
	void (*sample_range)(const struct file_shape *shape, uint64_t first,
			     uint64_t n, uint64_t *off, uint64_t *len);
	/* The next chunk into buf (>= 64 KiB): true, or false when done. */
	bool (*write_next)(struct format_writer *w, void *buf, size_t bytes,
			   uint64_t *off, size_t *len);
	/* access=framework, buffered and with direct=1 (data/plan.h); NULL: no
	 * framework reads it so, and job_check refuses. */
	const struct plan_kind *framework[2];
};

extern const struct format format_npz, format_raw;

const struct format *format_of(enum job_format f);
/* By name; NULL = none. */
const struct format *format_find(const char *name);

void format_shape(const struct dataset *ds, uint64_t file,
		  struct file_shape *shape);
/* Payload of one sample. */
uint64_t format_sample_bytes(const struct file_shape *shape);

/* Payload of a file, from `offset` bytes into it: incompressible, and no two
 * files have a block in common. */
void format_content(void *to, size_t bytes, uint64_t seed_index,
		    uint64_t offset);
