/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_internal.h - what the parts of data/formats/hdf5 share. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/file.h"
#include "data/formats/hdf5/hdf5.h"

/* ---- Libhdf5, loaded when the first HDF5 file is asked for: no other job starts it ---- */

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

/* Flags of a file start a library that is linked; this one is when it is loaded. */
#undef H5CHECK
#define H5CHECK
#undef H5OPEN
#define H5OPEN

/* X(name without H5): the functions that mlgen calls. */
#define HDF5_FUNCTIONS(X)                                                                          \
	X(Dclose)                                                                                  \
	X(Dcreate2)                                                                                \
	X(Dget_create_plist)                                                                       \
	X(Dget_offset)                                                                             \
	X(Dget_space)                                                                              \
	X(Dget_storage_size)                                                                       \
	X(Dget_type)                                                                               \
	X(Dread)                                                                                   \
	X(Dread_chunk)                                                                             \
	X(Dwrite)                                                                                  \
	X(Eset_auto2)                                                                              \
	X(Ewalk2)                                                                                  \
	X(FDregister)                                                                              \
	X(FDunregister)                                                                            \
	X(Fclose)                                                                                  \
	X(Fcreate)                                                                                 \
	X(Fflush)                                                                                  \
	X(Fget_file_image)                                                                         \
	X(Fopen)                                                                                   \
	X(Gget_info)                                                                               \
	X(Iget_type)                                                                               \
	X(Lget_name_by_idx)                                                                        \
	X(Oclose)                                                                                  \
	X(Oopen)                                                                                   \
	X(Pclose)                                                                                  \
	X(Pcreate)                                                                                 \
	X(Pget_cache)                                                                              \
	X(Pget_chunk)                                                                              \
	X(Pget_driver_info)                                                                        \
	X(Pget_external_count)                                                                     \
	X(Pget_filter2)                                                                            \
	X(Pget_layout)                                                                             \
	X(Pget_nfilters)                                                                           \
	X(Pget_sieve_buf_size)                                                                     \
	X(Pset_driver)                                                                             \
	X(Pset_fapl_core)                                                                          \
	X(Pset_fclose_degree)                                                                      \
	X(Pset_libver_bounds)                                                                      \
	X(Pset_obj_track_times)                                                                    \
	X(Sclose)                                                                                  \
	X(Screate)                                                                                 \
	X(Screate_simple)                                                                          \
	X(Sget_simple_extent_dims)                                                                 \
	X(Sget_simple_extent_ndims)                                                                \
	X(Sselect_elements)                                                                        \
	X(Tclose)                                                                                  \
	X(Tget_class)                                                                              \
	X(Tget_member_type)                                                                        \
	X(Tget_nmembers)                                                                           \
	X(Tget_size)                                                                               \
	X(Tget_super)                                                                              \
	X(Tis_variable_str)                                                                        \
	X(dont_atexit)                                                                             \
	X(get_libversion)                                                                          \
	X(open)

/* X(name without H5 and _g): the identifiers that open() sets; of a type or a class they are what
 * the macro without _g stands for. */
#define HDF5_IDS(X)                                                                                \
	X(P_CLS_DATASET_CREATE_ID)                                                                 \
	X(P_CLS_FILE_ACCESS_ID)                                                                    \
	X(T_NATIVE_UINT8)                                                                          \
	X(T_STD_U8LE)

struct hdf5_library {
#define HDF5_MEMBER(name) __typeof__(H5##name) *name;
	HDF5_FUNCTIONS(HDF5_MEMBER)
#undef HDF5_MEMBER
#define HDF5_MEMBER(name) const hid_t *name;
	HDF5_IDS(HDF5_MEMBER)
#undef HDF5_MEMBER
};

/*
 * A start of mlgen took 9.3 ms of CPU time when it was linked, as it brings thirty libraries of its
 * own; without it 2.1 (of which any program takes 1.2). Stays until the process ends; one thread at
 * a time.
 * NULL with err: -ENOENT, not on this machine or not the version mlgen was built with.
 */
const struct hdf5_library *hdf5_library(struct mlgen_err *err);

/* ---- A file as libhdf5 sees it, whose bytes come from a function that takes notes ---- */

/* A name that no file can have. */
#define HDF5_NO_FILE "/dev/null/mlgen"

/*
 * A driver below libhdf5, for reading only. It claims to be able to do what the driver for files
 * does (H5FDsec2.c), as that decides about what is kept, read ahead and merged: so the reads that
 * it sees are those that a file would. Start with read, arg and end_of_file set and the rest zero;
 * open one file of it at a time, one thread at a time.
 */
struct hdf5_source {
	H5FD_t pub; /* first, as libhdf5 wants it */
	/* So many bytes at `off` into `to`; of samples, where nobody looks at what comes, it may
	 * leave them. False: they cannot be had. */
	bool (*read)(void *arg, bool is_sample, uint64_t off, uint64_t bytes, void *to);
	void *arg;
	uint64_t end_of_file;

	/* Its own. */
	haddr_t end_of_allocation;
	bool is_open;
	char why[128]; /* it could not be opened, in libhdf5's words */
};

/* The file, opened as h5py opens it, and closed as that does with all that is open in it; negative:
 * libhdf5 does not take it. */
hid_t hdf5_source_open(const struct hdf5_library *h5, struct hdf5_source *source);

/* What h5py's property list says: samples up to this size are read ahead so far; chunks up to that
 * one are kept. False: libhdf5 does not say. */
bool hdf5_source_sizes(const struct hdf5_library *h5, size_t *sieve_bytes, size_t *cache_bytes);

/* ---- An HDF5 file that a scan looks at, opened by libhdf5 through the looker's reads ---- */

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

/* ---- Where the chunks of an HDF5 dataset lie, and what libhdf5 reads to find them ---- */

int hdf5_chunks_look(struct hdf5_file *f, const struct hdf5_shape *s, size_t cache_bytes,
		     struct hdf5_found *found);

/* What each sample has of a row whose chunks are so large: bytes, and those of the last one. */
struct hdf5_share {
	uint64_t each, last, samples;
};
struct hdf5_share hdf5_share_of(const struct hdf5_found *f, uint64_t samples, uint64_t row,
				uint64_t row_bytes);

/* format->look and found_range. */
int hdf5_look(struct look *l);
