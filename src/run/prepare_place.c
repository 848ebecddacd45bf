/* SPDX-License-Identifier: Apache-2.0 */
/* prepare_place.c - is there room for the files of a dataset, and may they be written. */
#include "run/prepare_place.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dirs.h"
#include "base/units.h"
#include "io/mount.h"

/* So many files would go into `room`; three digits are what such a number is
 * good for. */
static uint64_t files_for(const struct prepare_need *n, uint64_t room)
{
	double bytes =
		(double)n->present_bytes + (double)room - (double)n->eval_bytes;
	uint64_t files = bytes > 0 ? (uint64_t)(bytes / dataset_mean_file_bytes(
								n->dataset))
				   : 0;
	uint64_t unit = 1;

	while (files / unit >= 1000)
		unit *= 10;
	return files - files % unit;
}

static int no_space(const struct prepare_need *n, uint64_t free_bytes,
		    struct mlgen_err *err)
{
	bool half = !n->allow_fill;
	uint64_t missing = n->missing_bytes;
	uint64_t files = files_for(n, half ? free_bytes / 2 : free_bytes);
	const char *fill = half && missing <= free_bytes ? "--allow_fill" : "";
	char need[UNITS_TEXT_BYTES], have[UNITS_TEXT_BYTES], way_out[96];

	if (files)
		snprintf(way_out, sizeof(way_out),
			 "--num_files=%" PRIu64 " would fit%s%s%s", files,
			 *fill ? " (or " : "", fill, *fill ? ")" : "");
	else
		snprintf(way_out, sizeof(way_out), "another directory%s%s",
			 *fill ? ", or " : "", fill);
	return mlgen_fail(err, -ENOSPC, "%s: %s to write, %s free%s; %s",
			  n->dataset->directory,
			  units_human_bytes(need, (double)missing),
			  units_human_bytes(have, (double)free_bytes),
			  half ? ", of which half may be used" : "", way_out);
}

static int cannot_make(const char *path, int code, struct mlgen_err *err)
{
	return mlgen_fail(err, code,
			  "%s: mkdir: %s; make it, or another directory=", path,
			  strerror(-code));
}

int prepare_check_readonly(const struct prepare_need *n, struct mlgen_err *err)
{
	if (!n->readonly)
		return 0;
	return mlgen_fail(err, -EROFS,
			  "readonly: %" PRIu64 " of the %" PRIu64 " files of "
			  "%s are not there; write them once without "
			  "--readonly (--phase=prepare)",
			  n->missing_files, n->all_files,
			  n->dataset->directory);
}

int prepare_check_space(const struct prepare_need *n, struct mlgen_err *err)
{
	struct mount m;
	int r = mount_read(&m, n->dataset->directory, err);
	uint64_t room;

	if (r)
		return r;
	room = m.free_bytes + n->freed_bytes;
	if (n->missing_bytes <= (n->allow_fill ? room : room / 2))
		return 0;
	return no_space(n, room, err);
}

int prepare_make_directory(const char *directory, struct mlgen_err *err)
{
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s", directory);
	r = dirs_make(path);
	return r ? cannot_make(path, r, err) : 0;
}
