/* SPDX-License-Identifier: Apache-2.0 */
/* prepare_cache.h - what the page cache has of a dataset that is complete. */
#pragma once

#include <stdbool.h>

#include <mlgen/err.h>

#include "base/clock.h"
#include "run/crew.h"
#include "run/datafile.h"
#include "run/prepare.h"

struct prepare_cache {
	const struct crew_config *crew;
	struct datafiles *files;
	struct clock *clock;
	bool leaves_none; /* drop what is found there */
};

/*
 * Files are dropped as they are written; those that were there may be in the page cache. What a
 * sample finds goes into the result; where there is to be none, all files are dropped and looked at
 * once more, however long that takes. 0 or -errno with err: a file may be no file.
 */
int prepare_cache_look(struct prepare_cache *c, struct prepare_result *result,
		       struct mlgen_err *err);
