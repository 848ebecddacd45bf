/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_chunks.h - where the chunks of an HDF5 dataset lie, and what libhdf5 reads to find them. */
#pragma once

#include <stddef.h>

#include "data/formats/hdf5/hdf5_file.h"
#include "data/formats/hdf5/hdf5_found.h"

/*
 * Of an open file that has a chunked dataset and put down the reads of its metadata: the words
 * behind them, look->sample_bytes, and what is chunked of *found. `cache_bytes`: larger chunks are
 * not kept. 0, or -errno with look->err.
 *
 * Any index will do, as libhdf5 is asked. Each chunk is looked up once. What is read for that
 * depends on what came before, and h5py opens the file for each sample: so a lookup is repeated in
 * a newly opened file, but not between two rows whose lookups read the same: they are in the same
 * leaf of the index, and so is what lies between. At most HDF5_LEARN_MAX chunks of a file are
 * learned in this way; rows beyond are taken to read as one before them does.
 */
#define HDF5_LEARN_MAX 20000u
int hdf5_chunks_look(struct hdf5_file *f, const struct hdf5_shape *s, size_t cache_bytes,
		     struct hdf5_found *found);
