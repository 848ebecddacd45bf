/* SPDX-License-Identifier: Apache-2.0 */
/* iopart.h - one file on its way to be laid out: made, filled in pieces, given its name. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "run/make/make.h"
#include "work/plain/iofiles.h"

struct iopart {
	struct iofile *file;
	uint64_t first_piece;
	_Atomic uint64_t pieces_left;
};

/* As they are made; .NAME.mlgen-part until then. */
extern const struct newfile_kind iopart_kind;

/* Those of one job that are missing. Workers share it. */
struct ioparts {
	struct iopart *list;
	size_t count;
	uint64_t pieces;
	bool has_content; /* else only space */
	struct filemaker *maker;
};

/* 0, or -ENAMETOOLONG with err. */
int ioparts_init(struct ioparts *p, struct iofiles *f, const struct job *job,
		 struct filemaker *maker, struct mlgen_err *err);
void ioparts_fini(struct ioparts *p); /* takes a failed one */

/* Remove what lies under the temporary names: 0 or -errno with err. */
int ioparts_remove(const struct ioparts *p, struct mlgen_err *err);

/*
 * Tasks of a crew whose owner is the struct ioparts. iopart_make, of each file: make it and its
 * space, and without content give it its name. iopart_fill, of each piece: write and sync it; the
 * last one of a file gives that its name. A file that took the name meanwhile is an error.
 */
int iopart_make(struct crew_worker *w, uint64_t index, struct mlgen_err *err);
int iopart_fill(struct crew_worker *w, uint64_t index, struct mlgen_err *err);
