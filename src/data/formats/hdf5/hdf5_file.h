/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_file.h - an HDF5 file that a scan looks at, opened by libhdf5 through the looker's reads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/file/look.h"
#include "data/formats/hdf5/hdf5_source.h"

#define HDF5_RANK_ALL 32 /* libhdf5 has no dataset with more */
#define HDF5_PATH_MAX 1024

/* What libhdf5 asked for, one after the other. */
struct hdf5_note {
	uint64_t off, bytes;
	bool is_sample;
};
struct hdf5_notes {
	struct hdf5_note *at; /* owned */
	size_t count, room;   /* vec.h */
	size_t root;          /* of them: those of H5Fopen() */
};

/*
 * One file and one dataset in it. All of it wants the lock of hdf5_look.c: this is no library for
 * several threads.
 */
struct hdf5_file {
	const struct hdf5_library *h5;
	struct look *look;
	struct hdf5_source source;
	struct hdf5_notes notes;
	uint64_t last_off;  /* that was read; for messages */
	bool has_failed;    /* a read; look->err says how */
	bool leaves_chunks; /* samples that are read now are not looked at */
	hid_t file, dataset;
	char name[HDF5_PATH_MAX]; /* of the dataset */
};

/* What libhdf5 says of the dataset. */
struct hdf5_shape {
	unsigned rank;
	hsize_t sides[HDF5_RANK_ALL];
	hsize_t chunk[HDF5_RANK_ALL]; /* sides of one, where it is chunked */
	uint64_t element_bytes;
	bool is_chunked, is_compact, is_filtered;
	uint64_t off; /* of a contiguous one */
};

/* Of a zeroed file with h5 and look: which dataset it is about, by hdf5_dataset= or the first there
 * is. 0, or -errno with look->err. */
int hdf5_file_choose(struct hdf5_file *f);
/* The dataset's shape; it is open. Refused by name is what is not in the file as it is read:
 * filters but deflate, external and virtual ones, elements of variable length. */
int hdf5_file_shape(struct hdf5_file *f, struct hdf5_shape *s);
/* A file whose dataset is known, and the dataset in it; the notes are of all that takes. 0, or
 * -errno with look->err. */
int hdf5_file_open(struct hdf5_file *f);
/* Its notes stay until hdf5_file_fini. */
void hdf5_file_close(struct hdf5_file *f);
void hdf5_file_fini(struct hdf5_file *f);
/* One more of them. */
void hdf5_file_note(struct hdf5_file *f, struct hdf5_note note);

/* What was not read, or what libhdf5 says: -errno. */
int hdf5_file_failed(struct hdf5_file *f);
/* "PATH: dataset 'x' ...": -EINVAL. */
__attribute__((format(printf, 2, 3))) int hdf5_file_refuse(struct hdf5_file *f, const char *fmt,
							   ...);
