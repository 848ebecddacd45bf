/* SPDX-License-Identifier: Apache-2.0 */
/* iolayout.h - make the files of a plain job that are missing. */
#pragma once

#include "run/iofiles.h"

/*
 * Each is made whole under a temporary name, .NAME.mlgen-part beside it, and
 * then gets its name; never in the place of a file that is there. A killed run
 * leaves temporary files, which the next one removes; one that fails or is
 * stopped leaves whole files and nothing else. Large files are written in
 * pieces, by several workers at the same time.
 */
int iolayout_run(struct iofiles *f, struct iofiles_layout *l,
		 struct mlgen_err *err);

int iolayout_check_space(const struct iofiles *f,
			 const struct iofiles_request *req,
			 struct mlgen_err *err);

/* What a path lies in: "." for a lone name. To be freed. */
char *iolayout_folder(const char *path);
