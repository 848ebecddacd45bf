/* SPDX-License-Identifier: Apache-2.0 */
/* prepare_place.c - is there room for the files of a dataset, and may they be written. */
#include "run/prepare_place.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/dirs.h"
#include "base/units.h"
#include "base/util.h"
#include "io/mount.h"
#include "io/noroom.h"

/* So many files would go into `room`; three digits are what such a number is good for. */
static uint64_t files_for(const struct dataset *ds, double bytes)
{
	uint64_t files = bytes > 0 ? (uint64_t)(bytes / dataset_mean_file_bytes(ds)) : 0;
	uint64_t unit = 1;

	while (files / unit >= 1000)
		unit *= 10;
	return files - files % unit;
}

#define WAY_OUT_BYTES 64

/* What would fit into room->free_bytes, in whole files with those that are there, or where else it
 * would: way_out, which is `out`, and or_fill. */
static void put_way_out(char out[WAY_OUT_BYTES], struct filemaker_room *room,
			const struct prepare_need *n)
{
	uint64_t usable = filemaker_usable(room->free_bytes, room->allow_fill);
	uint64_t files = files_for(n->dataset, (double)n->present_bytes + (double)usable -
						       (double)n->eval_bytes);

	room->way_out = out;
	room->or_fill = files ? " (or --allow_fill)" : ", or --allow_fill";
	if (files)
		snprintf(out, WAY_OUT_BYTES, "--num_files=%" PRIu64 " would fit", files);
	else
		snprintf(out, WAY_OUT_BYTES, "another directory");
}

static int check_readonly(const struct prepare_need *n, struct mlgen_err *err)
{
	if (!n->readonly || !n->missing_files)
		return 0;
	return mlgen_fail(
		err, -EROFS,
		"readonly: %" PRIu64 " of the %" PRIu64
		" files of %s are not there; write them once without --readonly (--phase=prepare)",
		n->missing_files, n->present_files + n->missing_files, n->dataset->directory);
}

static int check_writable(const struct prepare_need *n, struct mlgen_err *err)
{
	char files[UNITS_TEXT_BYTES], what[UNITS_TEXT_BYTES + 8];

	if (!n->missing_files)
		return 0;
	snprintf(what, sizeof(what), "%s file%s", units_human_count(files, n->missing_files),
		 plural(n->missing_files));
	return filemaker_check_writable(n->dataset->directory, what, "--directory", err);
}

/* Half of what is free is enough, or all of it with allow_fill. */
static int check_space(const struct prepare_need *n, struct mlgen_err *err)
{
	struct filemaker_room room = { .path = n->dataset->directory,
				       .purpose = "to write",
				       .missing_bytes = n->missing_bytes,
				       .allow_fill = n->allow_fill };
	struct mount m;
	char way_out[WAY_OUT_BYTES];
	int r = mount_read(&m, room.path, err);

	if (r)
		return r;
	room.free_bytes = m.free_bytes + n->freed_bytes;
	put_way_out(way_out, &room, n);
	return filemaker_check_room(&room, err);
}

const struct prepare_rule prepare_rules[] = {
	{ "dataset", check_readonly },
	{ "dataset", check_writable },
	{ "space", check_space },
	{ NULL, NULL },
};

int prepare_make_directory(const char *directory, struct mlgen_err *err)
{
	char path[PATH_MAX], why[NOROOM_BYTES];
	int r;

	snprintf(path, sizeof(path), "%s", directory);
	r = dirs_make(path, NULL);
	return r ? mlgen_fail(err, r, "%s: mkdir: %s%s; make it, or another directory=", path,
			      strerror(-r), noroom_put(why, directory, r, 0))
		 : 0;
}
