/* SPDX-License-Identifier: Apache-2.0 */
/* unnamed.h - temporary files without a name, which go with their descriptor. */
#pragma once

/* TMPDIR; else /var/tmp or /tmp, where there is a choice the one that is neither in memory nor on
 * the filesystem of `beside` (NULL = of none). */
const char *unnamed_folder(const char *beside);

/* Open for reading and writing, of this user alone: a descriptor, or -errno. */
int unnamed_open(const char *folder);
