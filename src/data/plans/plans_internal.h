/* SPDX-License-Identifier: Apache-2.0 */
/* plans_internal.h - what plans share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/plans/plans.h"
#include "data/file/file.h"
#include "data/formats/formats.h"

/*
 * A member that is open (zipfile.ZipExtFile of CPython 3.11): an iterator without memory behind it.
 * It asks the file for 4096 bytes at least, or what is left, and keeps what was not asked of it.
 *
 * Of a deflated member the sizes of requests follow from how far its bytes inflate, which only they
 * could tell: here all of it is as compressible as the mean. The bytes and their order are exact
 * all the same.
 */
struct zipread {
	struct zip_member member;
	uint64_t at;    /* the next byte of it in the file */
	uint64_t taken; /* of stored_bytes */
	uint64_t plain; /* inflated of plain_bytes */
	uint64_t want;  /* that the read under way still lacks */
	uint64_t ready; /* read and not asked for yet */
};

void zipread_open(struct zipread *z, const struct zip_member *member);
/* read(bytes); then zipread_more() until it says that there is no more, and after each all of
 * pyfile_next(). */
void zipread_read(struct zipread *z, uint64_t bytes);
bool zipread_more(struct zipread *z, struct pyfile *f);
