/* SPDX-License-Identifier: Apache-2.0 */
/* npy_look.h - arrays in files that somebody else has written, alone or with a twin. */
#pragma once

#include <stdint.h>

struct look;

struct npy_array {
	uint64_t data_off, data_bytes, file_bytes;
	uint64_t samples; /* 0 = it holds nothing */
};

/*
 * The one that is open: its first axis is the samples'. Of one axis there is one sample, and also
 * where the first of several varies fastest, for then no row lies in one piece; but one axis of
 * `labels` elements, which is as many samples as the file has beside which it stands, is a sample
 * each. 0 or -errno with l->err.
 */
int npy_array_look(struct look *l, uint64_t labels, struct npy_array *a);

/* From the array that is open to its twin by scan_pair=: from *a, which was the first's, to *a,
 * which is the twin's. Both have as many samples. The look is as after look_open, of the twin. */
int npy_twin_look(struct look *l, struct npy_array *a);
