/* SPDX-License-Identifier: Apache-2.0 */
/* plans_internal.h - Python's zipfile, which plans share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/plans/plans.h"
#include "data/file/file.h"
#include "data/formats/formats.h"

/*
 * An open member of an archive (zipfile.ZipExtFile of CPython 3.11), modelled as an iterator
 * without memory for the data. Python reads at least 4096 bytes or the rest from the file, and
 * buffers bytes that the caller has not asked for.
 *
 * The sizes of requests for a deflated member depend on how far its bytes inflate, and a plan does
 * not read the data. It therefore assumes that all parts of the member have the mean compression
 * ratio. The bytes that are read and their order are still exact.
 */
struct zipread {
	struct zip_member member;
	uint64_t at;    /* offset in the file of the member's next byte */
	uint64_t taken; /* bytes read, of stored_bytes */
	uint64_t plain; /* bytes inflated, of plain_bytes */
	uint64_t want;  /* bytes that the current read still lacks */
	uint64_t ready; /* bytes buffered for later reads */
};

void zipread_open(struct zipread *z, const struct zip_member *member);
/* Start a read of `bytes`. Then call zipread_more() until it returns false, and get the requests
 * from pyfile_next() after each call. */
void zipread_read(struct zipread *z, uint64_t bytes);
bool zipread_more(struct zipread *z, struct pyfile *f);
