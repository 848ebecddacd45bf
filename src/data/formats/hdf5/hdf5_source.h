/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_source.h - a file as libhdf5 sees it, whose bytes come from a function that takes notes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/formats/hdf5/hdf5_library.h"

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

/* What libhdf5 says about the last call, if that failed; "" = nothing. */
void hdf5_source_why(const struct hdf5_library *h5, char *text, size_t size);

/* What h5py's property list says: samples up to this size are read ahead so far; chunks up to that
 * one are kept. False: libhdf5 does not say. */
bool hdf5_source_sizes(const struct hdf5_library *h5, size_t *sieve_bytes, size_t *cache_bytes);
