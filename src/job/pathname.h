/* SPDX-License-Identifier: Apache-2.0 */
/* pathname.h - what people write for a path that the system would take for another one. */
#pragma once

#include "base/buf.h"
#include "job/diag.h"

/*
 * A fault where the value of an option can be no path that was meant: an address such as
 * s3://bucket, of which a folder "s3:" would be made, or a
 * '~', which no shell has replaced. NULL is fine.
 */
void pathname_check(const char *option, const char *path, struct diag_place at, struct diag *d);

/* Append a path that a file names: below its folder, if it is relative. */
void pathname_beside(struct buf *out, const char *file, const char *path);
