/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - which of mlgen's plans makes the calls that a trace has. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/file/file.h"
#include "distil/filemodel.h"
#include "distil/specimen.h"

struct explain_visit {
	const struct specimen *specimen;
	uint64_t file_bytes;
	/* From one place of the file that is visited to the next; 0 = all visits are to the
	 * same. */
	uint64_t stride_bytes;
};

struct explain_ask {
	const struct explain_visit *visits;
	unsigned count;
	bool direct; /* files were opened with O_DIRECT */
	/* Of a file in an epoch; of those that are read whole each is for another sample. */
	uint64_t visits_per_file;
	/* What a file itself says, or its name; FORMAT_AUTO = nothing. */
	enum job_format hint;
	/* Of a file of the hint that was looked into: what is known of it; no samples_per_file = it
	 * was not. */
	struct filemodel known;
};

struct explained {
	bool is_explained; /* else format is the hint, or raw */
	enum job_format format;
	enum job_access access;
	uint64_t bs_bytes; /* of access=plain */
	uint64_t samples_per_file;
	/* Of all calls but close(), and of the reads, those that the plan has, too, of the larger
	 * number of both: 0 .. 1. */
	double calls, reads;
	unsigned equal, of; /* visits all of whose calls are the plan's */
	const char *reader; /* whose calls they are; NULL = of nobody */
};

/*
 * Held against each other are open, stat and read with place and length; close is not, which Python
 * does when it comes to it, and twice of a copy of a descriptor. A read within half a KiB of its
 * place counts as the same: archives differ by what their directories hold.
 */
void explain(struct explained *out, const struct explain_ask *ask);

/* A call of either side, as it is compared, and given on (calls_found.h). */
struct explain_call {
	enum mlgen_op op; /* MLGEN_OPS: of a kind that no plan has */
	uint64_t off, len_bytes, got_bytes;
};

/* At most `most`; those that failed, maps and markers are left out, and pages that are touched are
 * reads of what the kernel brings with them. */
unsigned explain_calls_of(const struct specimen *s, struct explain_call *out, unsigned most);

/* The longest piece that is read in one go; len 0 = nothing is read. */
struct explain_piece {
	uint64_t off, len_bytes;
};
struct explain_piece explain_longest(const struct explain_call *calls, unsigned count);
