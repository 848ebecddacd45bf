/* SPDX-License-Identifier: Apache-2.0 */
/* replay_part.h - one file of a replay on its way to be made, or one folder. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "run/make/make.h"
#include "work/plain/replay_inside.h"

/* As they are made; .NAME.mlgen-part until then. They take the place of what has their names, which
 * replay_files_look has allowed. */
extern const struct newfile_kind replay_part_kind;

/* What the workers share that make files of one replay. */
struct replay_parts {
	const struct replay_files *f;
	struct filemaker *maker;
	struct datadir dir;
	uint64_t large_bytes;         /* from here on a file is written in pieces */
	uint32_t large;               /* id of the one that is */
	_Atomic uint64_t pieces_left; /* of it */
};

bool replay_part_is_large(const struct replay_parts *p, uint32_t id);

/*
 * Tasks of a crew whose owner is the struct replay_parts; 0, CREW_STOPPED, or -errno with err. Of
 * each name, index 0 being that of id 1:
 *
 * _folder: make it if it is one, and what leads to a file that the trace makes. _make: make the
 * file if it is missing and not large.
 */
int replay_part_folder(struct crew_worker *w, uint64_t index, struct mlgen_err *err);
int replay_part_make(struct crew_worker *w, uint64_t index, struct mlgen_err *err);

/*
 * The same of parts->large. _begin, once: make it under its temporary name; _piece, of each piece:
 * write it; the last one gives the file its name. _drop, once, of one that did not come so far:
 * remove it.
 */
int replay_part_begin(struct crew_worker *w, uint64_t index, struct mlgen_err *err);
int replay_part_piece(struct crew_worker *w, uint64_t index, struct mlgen_err *err);
int replay_part_drop(struct crew_worker *w, uint64_t index, struct mlgen_err *err);
