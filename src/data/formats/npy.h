/* SPDX-License-Identifier: Apache-2.0 */
/* npy.h - the header of a NumPy array in a file. */
#pragma once

#include <stdint.h>

#include "data/file/format.h"

enum { NPY_HEADER_BYTES = 128 };

/*
 * Version 1.0: magic, length, a Python dict, spaces up to NPY_HEADER_BYTES. `descr` is the element
 * type as NumPy writes it, `shape` the inside of the tuple: "3," or "3, 4".
 */
void npy_header(uint8_t out[NPY_HEADER_BYTES], const char *descr, const char *shape);

/* Of all samples of a file: bytes, (samples, d1, d2) or (samples, bytes). */
/* Where the data begins in a file, made or found, and how much it is. */
uint64_t npy_data_off(const struct file_shape *s);
uint64_t npy_data_bytes(const struct file_shape *s);

void npy_samples_header(uint8_t out[NPY_HEADER_BYTES], const struct file_shape *shape);
