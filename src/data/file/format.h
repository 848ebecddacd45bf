/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - the byte layout of a file: what to write, where a sample lies. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/file/dataset.h"

/* What one file holds. */
struct file_shape {
	uint64_t samples;
	uint64_t sides[2];  /* of one sample; {1, bytes} unless dlio: */
	bool two_sides;     /* dlio: shape (samples, d1, d2), else (samples, bytes) */
	unsigned part;      /* which of the format's files (dataset.h) */
	const void *common; /* the dataset's; format->init made it */
	/* Of a file that a scan has looked at (look.h), else NULL: its facts and words, which
	 * format->look has put down. Sides say nothing of it. */
	const uint64_t *facts, *words;
	uint64_t found_bytes; /* size of a file of a scan; 0 = it is made */
	bool has_labels;      /* part 1 is a label file, which is read whole ... */
	uint64_t label_bytes; /* ... and has this size; 0 = the file has none */
};

/*
 * Writes the content of one file a chunk at a time: fill the buffer, write it at `off`, ask for the
 * next. The last chunk may be the header again, with the checksum that was not known before.
 * Allocates nothing. Start with shape and seed_index set and the rest zero.
 */
struct format_writer {
	struct file_shape shape;
	uint64_t seed_index; /* of the content: the file's index */
	uint64_t pos;
	unsigned stage; /* the format's own */
	uint32_t crc[2];
};

struct look;
struct plan_kind;

/* Names of the files of one part: FOLDER/train/img_III_of_N.SUFFIX. */
struct format_part {
	const char *folder; /* NULL = the dataset's directory itself */
	const char *suffix;
	/* Of a scan: the name of the file of samples and this; NULL = such a part is of made files
	 * alone. */
	const char *beside;
};

#define FORMAT_PARTS 3

struct format {
	const char *name; /* also the suffix of its files */
	/* NULL = it is built in; else the library that configure missed. */
	const char *needs;
	/*
	 * Optional: what all files have in common, from ds->options and the sizes; in ds->common
	 * (NULL is fine for fini), with ds->parts and ds->extent_samples where they are not 1. ds
	 * has all else but the number of files. Not asked of a scan: limits of what mlgen writes
	 * are not those of the files of others. 0, or -EINVAL with err: "OPTION: what is wrong,
	 * what would be right".
	 */
	int (*init)(struct dataset *ds, struct mlgen_err *err);
	void (*fini)(struct dataset *ds);
	/* suffix NULL for a part 0 means `name`. */
	struct format_part parts[FORMAT_PARTS];
	/* What every file of part 0 begins with; NULL = nothing is known. */
	const char *magic;
	size_t magic_bytes;
	uint64_t (*file_bytes)(const struct file_shape *shape);
	/* Where samples first .. first+n-1 lie. */
	void (*sample_range)(const struct file_shape *shape, uint64_t first, uint64_t n,
			     uint64_t *off, uint64_t *len);
	/* The next chunk into buf (>= 64 KiB): true, or false when done. */
	bool (*write_next)(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			   size_t *len);
	/* access=framework, buffered and with direct=1 (data/file/plan.h); NULL: no framework reads
	 * it so, and job_check refuses. */
	const struct plan_kind *framework[2];
	const char *reader; /* whose calls these are: "NumPy" */
	bool is_array;      /* what that returns is an array of NumPy */
	/* Optional, where samples are all of one size: bytes of one that are asked for, as
	 * declared; NULL = all. */
	uint64_t (*read_bytes)(const struct dataset *ds);
	/* Optional: what a framework's worker reads of every file before its first sample (an
	 * index). Its extents have no samples. */
	const struct plan_kind *at_start;
	/*
	 * dataset=scan: how many samples an open file has, and where (look.h); and where they lie
	 * by what was put down. Where there is no `look` a file is a sample, or a list says where
	 * samples lie (listed.h), and found_range takes its words. 0, or -errno with l->err, by
	 * look_fail where the file is not what its format says. No file, however damaged, makes it
	 * crash, hang, or take memory by what it says.
	 */
	int (*look)(struct look *l);
	void (*found_range)(const struct file_shape *shape, uint64_t first, uint64_t n,
			    uint64_t *off, uint64_t *len);
	/*
	 * Optional: the i-th of the files beside `path` that `look` reads, too. False: there are no
	 * more; "" = such a name would be too long.
	 */
	bool (*look_beside)(const char *path, unsigned i, char *out, size_t size);
	/* Of dataset.has_megatron: the path of the index of the file at `path`. False: there is
	 * none, or no room. */
	bool (*named_index)(const char *path, char *out, size_t size);
	/* Optional: what they have in common, once all were looked at: of ds with found and files.
	 * 0, or -EINVAL with err. */
	int (*found_init)(struct dataset *ds, struct mlgen_err *err);
	/* Where extents have different numbers of samples (dataset.h): the first sample of the n-th
	 * of a file, and how many it has. */
	void (*found_extent)(const struct file_shape *shape, uint64_t n, uint64_t *first,
			     uint64_t *samples);
	/* access=framework goes through a file from its beginning to its end: extents in order, the
	 * file stays open between them. */
	bool is_forward;
};

extern const struct format format_csv, format_hdf5, format_indexed_binary, format_jpeg,
	format_mmap_indexed_binary, format_npy, format_npz, format_parquet, format_png, format_raw,
	format_tar, format_tfrecord;

/* NULL for FORMAT_AUTO. */
const struct format *format_of(enum job_format f);
/* By name; NULL = none. */
const struct format *format_find(const char *name);

/* `file` counts through all parts: part x ds->files + file. */
void format_shape(const struct dataset *ds, uint64_t file, struct file_shape *shape);
/* Are its samples parts of the file, that are read by themselves? A file with one is read whole,
 * but where a list says of what bytes it is. */
bool format_has_parts(const struct format *f, const struct file_shape *shape);
/* Payload of one sample, whole; of a file that is made. */
uint64_t format_sample_bytes(const struct file_shape *shape);
/* The size of a file, and where samples first .. first+n-1 lie in it, made or found. */
uint64_t format_file_bytes(const struct format *f, const struct file_shape *shape);
void format_sample_range(const struct format *f, const struct file_shape *shape, uint64_t first,
			 uint64_t n, uint64_t *off, uint64_t *len);

/* Payload of a file, from `offset` bytes into it: incompressible, and no two files have a block in
 * common. */
void format_content(void *to, size_t bytes, uint64_t seed_index, uint64_t offset);
