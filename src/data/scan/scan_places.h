/* SPDX-License-Identifier: Apache-2.0 */
/* scan_places.h - the folders and files that directory= names, for a scan. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <mlgen/err.h>

struct place {
	char *path;       /* owned */
	const char *name; /* in path: below the base; "" = the base itself */
	bool is_folder;   /* else a file */
};

struct places {
	struct place *at;
	size_t count, room; /* vec.h */
	char *base;         /* the folder that has them all; owned */
};

/*
 * `directory` is one path or several with ':' between them, in which "\:" is a colon. Each may have
 * braces (scan_braces.h), and be a pattern of glob(7); one that is there under the very name it is
 * written is that. A path that is not there, a pattern that nothing matches: -errno with err, which
 * names it. They are in the order in which they are written, those of a pattern in byte order.
 */
int places_find(struct places *p, const char *directory, struct mlgen_err *err);
void places_fini(struct places *p); /* takes a zeroed one */

/* One by one, of files that are there; then once, for base and names. */
void places_add_file(struct places *p, const char *path);
int places_settle(struct places *p, struct mlgen_err *err);

/*
 * As DLIO and MLPerf Storage lay out a dataset, train/ and valid/ below its directory: a place that
 * is laid out so becomes that folder of it, the base stays. For a training the other places stay,
 * too; for an evaluation they leave, and -EINVAL with err says that none is left.
 *
 * A folder is laid out so when there is a train/ in it and a valid/ beside, or no folder but those
 * of labels, indices and other splits: classes of images may well have one called train. With
 * `is_known` a train/ is enough.
 */
void places_take_training(struct places *p, bool is_known);
int places_take_evaluation(struct places *p, bool is_known, struct mlgen_err *err);
