/* SPDX-License-Identifier: Apache-2.0 */
/* detect_names.h - what the name of a file says of it. */
#pragma once

/* What no sample is in (checksums, indices, what desktops leave), what holds labels where there is
 * something else, and all others. */
enum detect_name { NAME_LITTER, NAME_LABEL, NAME_DATA };

enum detect_name detect_name(const char *path);

/* From its last dot on, "" without one. */
const char *detect_suffix(const char *path);

/* The name of the format that files of this suffix have, or NULL. */
const char *detect_by_suffix(const char *path);
