/* SPDX-License-Identifier: Apache-2.0 */
/* detect.h - of which format the files of a scan are (format=auto). */
#pragma once

#include <mlgen/err.h>

#include "data/file/file.h"
#include "data/scan/scan.h"

/*
 * Files show what they are by how they begin and end, TFRecord by the checksum of its first length,
 * indexed binaries by the two indices beside them; else by their suffix, and what shows nothing is
 * raw. Up to 64 of them, spread over the scan, decide. Files of that format's suffixes are then
 * taken as they are, the others are looked at.
 *
 * Labels, checksums, indices and other kinds leave the scan and are told; -EINVAL with err where
 * less than 90 % of the rest are of one format. `directory` is the scan's base.
 */
int detect_format(const struct format **out, struct scan *scan, const char *directory,
		  struct mlgen_err *err);

/* The same of a format that is given: what by its name is a label, a checksum or an index leaves,
 * unless nothing else is there. Nothing is read. */
void detect_leave_out(struct scan *scan, const char *directory);

/* Of a regular file alone: by what is in it, else by its suffix. NULL: it shows nothing, or is not
 * there. */
const struct format *detect_file(const char *path);

/* jobset_env asks this: the name of the format of shards (is_forward) that the first files below a
 * directory have, if there are at least `least` of them; else NULL. Symbolic links are followed,
 * and a huge directory is not gone through. */
const char *detect_shards(const char *directory, uint64_t least);
