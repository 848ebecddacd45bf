/* SPDX-License-Identifier: Apache-2.0 */
/* firstbytes.h - does a file begin as its format does. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/file.h"
#include "run/crew.h"

/*
 * Before a complete dataset is trusted, of its file `index`, whose path is w->path: can it be read,
 * does it have its size, does it begin as its format says (of part 0; -EILSEQ if not)? 0, or -errno
 * with err, which names the way out. Leaves the page cache as it was.
 */
int firstbytes_check(struct crew_worker *w, const struct dataset *ds, uint64_t index,
		     struct mlgen_err *err);

/* Do its first bytes say that it is of the format, as far as any say so? */
bool firstbytes_match(struct crew_worker *w, const struct dataset *ds, uint64_t index);

/* Of a file of a complete dataset, in words: it cannot be had, or has another size. Gives an error
 * back, `code` in the first case, with err. */
int firstbytes_unreadable(const char *path, enum mlgen_op op, int code, struct mlgen_err *err);
int firstbytes_wrong_size(const char *path, uint64_t has, uint64_t wanted, struct mlgen_err *err);
