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

/* ---- libhdf5, which is loaded with the first HDF5 file ---- */

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

/* Flags such as H5F_ACC_RDONLY contain these macros, which initialize a linked library. mlgen loads
 * libhdf5 at run time and initializes it then. */
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

/* X(name without H5 and _g): the identifiers that open() sets. The macro of the same name without
 * _g is the identifier of a type or a class. */
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
 * Load libhdf5, which then stays until the process ends; one thread at a time. NULL with err:
 * -ENOENT if this machine does not have the version that mlgen was built with.
 *
 * libhdf5 is not linked because it brings thirty libraries. A start of mlgen took 9.3 ms of CPU
 * time with libhdf5 and takes 2.1 ms without. The start of any program takes 1.2 ms.
 */
const struct hdf5_library *hdf5_library(struct mlgen_err *err);

/* ---- A virtual file driver: libhdf5 reads through a callback ---- */

/* A name that no file can have. */
#define HDF5_NO_FILE "/dev/null/mlgen"

/*
 * A read-only driver below libhdf5. The features of a driver decide what libhdf5 caches, reads
 * ahead and merges. This driver claims those of the driver for files (H5FDsec2.c) and therefore
 * sees the same reads. Start with read, arg and end_of_file set and the rest zero. Only one file
 * may be open through the driver at a time; one thread at a time.
 */
struct hdf5_source {
	H5FD_t pub; /* first, as libhdf5 requires */
	/* Read `bytes` at `off` into `to`, which may remain unset if the bytes are a sample that
	 * the caller ignores. False = error. */
	bool (*read)(void *arg, bool is_sample, uint64_t off, uint64_t bytes, void *to);
	void *arg;
	uint64_t end_of_file;

	/* Private to the driver. */
	haddr_t end_of_allocation;
	bool is_open;
	char why[128]; /* libhdf5's reason why the file could not be opened */
};

/* Open the file as h5py does; closing it closes everything that is open in it. Negative = libhdf5
 * refuses the file. */
hid_t hdf5_source_open(const struct hdf5_library *h5, struct hdf5_source *source);

/* Get two sizes from h5py's property list: if a sample is smaller than sieve_bytes, libhdf5 reads
 * sieve_bytes at once; chunks of up to cache_bytes are cached. False = libhdf5 does not report the
 * sizes. */
bool hdf5_source_sizes(const struct hdf5_library *h5, size_t *sieve_bytes, size_t *cache_bytes);

/* ---- A file of a scan, which libhdf5 reads through its look ---- */

#define HDF5_RANK_ALL 32 /* the most dimensions in libhdf5 */
#define HDF5_PATH_MAX 1024

/* A read that libhdf5 requested. */
struct hdf5_note {
	uint64_t off, bytes;
	bool is_sample;
};
/* All reads that libhdf5 requested, in order. */
struct hdf5_notes {
	struct hdf5_note *at; /* owned */
	size_t count, room;   /* vec.h */
	size_t root;          /* number of reads that belong to H5Fopen() */
};

/* A file and one dataset in it. libhdf5 is not thread-safe: every call needs the lock of
 * hdf5_look.c. */
struct hdf5_file {
	const struct hdf5_library *h5;
	struct look *look;
	struct hdf5_source source;
	struct hdf5_notes notes;
	uint64_t last_off;    /* place of the last read, for messages */
	bool has_failed;      /* a read has failed, with the error in look->err */
	bool ignores_samples; /* samples are requested, but need not be read */
	hid_t file, dataset;
	char name[HDF5_PATH_MAX]; /* name of the dataset */
};

/* The shape of a dataset according to libhdf5. */
struct hdf5_shape {
	unsigned rank;
	hsize_t sides[HDF5_RANK_ALL];
	hsize_t chunk[HDF5_RANK_ALL]; /* sides of a chunk of a chunked dataset */
	uint64_t element_bytes;
	bool is_chunked, is_compact, is_filtered;
	uint64_t off; /* place of a contiguous dataset */
};

/* Choose the dataset by hdf5_dataset=, otherwise the first one. The caller sets h5 and look of *f
 * and zeroes the rest. 0, or -errno with look->err. */
int hdf5_file_choose(struct hdf5_file *f);
/* Get the shape of the open dataset. Refuses datasets whose samples cannot be read straight from
 * the file: filters other than deflate, external and virtual storage, elements of variable
 * length. */
int hdf5_file_shape(struct hdf5_file *f, struct hdf5_shape *s);
/* Open the file and the chosen dataset; the notes then list the reads that this took. 0, or -errno
 * with look->err. */
int hdf5_file_open(struct hdf5_file *f);
/* Close the file. The notes stay until hdf5_file_fini. */
void hdf5_file_close(struct hdf5_file *f);
void hdf5_file_fini(struct hdf5_file *f);
/* Append a note. */
void hdf5_file_note(struct hdf5_file *f, struct hdf5_note note);

/* Report the read that has failed, otherwise libhdf5's reason. Returns -errno. */
int hdf5_file_failed(struct hdf5_file *f);
/* Report "PATH: dataset 'x' ...". Returns -EINVAL. */
__attribute__((format(printf, 2, 3))) int hdf5_file_refuse(struct hdf5_file *f, const char *fmt,
							   ...);

/* ---- The chunks of a dataset, and the reads that find them ---- */

/*
 * Look up the chunks of an open chunked dataset after the reads of its metadata were appended to
 * the words of the look. Appends all further words, and sets look->sample_bytes and the members of
 * *index for chunks. `cache_bytes` is the largest chunk that libhdf5 caches. 0, or -errno with
 * look->err.
 */
int hdf5_chunks_look(struct hdf5_file *f, const struct hdf5_shape *s, size_t cache_bytes,
		     struct hdf5_index *index);

/* The bytes of a row divided among its samples: bytes of each sample but the last, bytes of the
 * last one, and the number of samples. */
struct hdf5_share {
	uint64_t each, last, samples;
};
struct hdf5_share hdf5_share_of(const struct hdf5_index *f, uint64_t samples, uint64_t row,
				uint64_t row_bytes);

/* Append two words to the look. 0, or -errno with l->err. */
static inline int hdf5_add_words(struct look *l, uint64_t first, uint64_t second)
{
	int r = look_add_word(l, first);

	return r ? r : look_add_word(l, second);
}

/* Implements format->look. */
int hdf5_look(struct look *l);
