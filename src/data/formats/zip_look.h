/* SPDX-License-Identifier: Apache-2.0 */
/* zip_look.h - where a member lies in a zip archive that somebody else wrote. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/file/look.h"

/* Where a member lies: its local header, the name and the extra field behind that, then what is
 * stored of it. */
struct zip_member {
	uint64_t header_off;
	unsigned name_bytes, extra_bytes;
	uint64_t stored_bytes; /* in the file */
	uint64_t plain_bytes;  /* what becomes of them */
	bool is_deflated;
};

#define ZIP_LOCAL_BYTES 30u

/* What stands behind the directory, last to first: the end record, without a comment, and for zip64
 * the locator of the end record that is before it. */
enum {
	ZIP_END_BYTES = 22,
	ZIP_LOCATOR_BYTES = 20,
	ZIP_END64_BYTES = 56,
};

struct zip_found {
	uint64_t dir_off, dir_bytes;
	uint64_t end_off; /* of the end record */
	bool has_comment; /* behind it */
	bool has_locator; /* of a zip64 end record, before it */
	struct zip_member member;
};

/*
 * The member called `key`, or key with the suffix behind it, the last of several; with a NULL key
 * the first whose name has the suffix. 0, or -errno with the look's err: no such member, or one
 * that cannot be read.
 */
int zip_look(struct look *l, const char *key, const char *suffix, struct zip_found *found);
