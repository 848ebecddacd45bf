/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_finding.h - what dataset_found.c finds out of one training's data set, and
 * dataset_lines.c says. */
#pragma once

#include "base/buf.h"
#include "distil/columns_found.h"
#include "distil/distil_inside.h"
#include "distil/peek.h"
#include "distil/samplebook.h"

/* What is found out of one party, on the way to its lines. */
struct finding {
	struct distil *d;
	uint32_t party;
	struct distil_found *found;
	struct jobsection *to;
	struct samplebook book;
	struct peek peek;
	struct columns_found columns;
	struct filemodel model;
	struct buf directory; /* that all samples lie below */
	uint64_t *sizes;      /* of files, then of samples; ascending */
	size_t size_count;
	uint64_t files_named; /* by their names; 0 = they say nothing */
	/* Of samples_per_file. */
	enum distil_sure samples_sure;
	char samples_why[256];
	bool is_counted; /* by how often a file is read whole */
};

/* Its lines, and NAME.sizes where one needs it. 0, or -errno with err. */
int dataset_lines(struct finding *f, struct mlgen_err *err);
