/* SPDX-License-Identifier: Apache-2.0 */
/* peek.h - what a file of a trace says of itself, where it is still there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "job/job.h"

struct peek {
	bool is_there;          /* as large as the trace has it */
	enum job_format format; /* FORMAT_AUTO = neither file nor name say it */
	bool by_content;        /* not by its name alone */
	uint64_t samples;       /* 0 = not known */
	uint64_t payload_bytes; /* of all of them */
	/* Of Parquet: rows of a row group, 0 = they differ; of its first one the chunks of all
	 * columns, their places and bytes. Owned. */
	uint64_t group_rows;
	uint32_t chunks;
	struct peek_chunk {
		uint64_t off, bytes;
	} * chunk;
};

/* `file_bytes` as the trace has it. Nothing fails: what cannot be found out is not known. A file is
 * read as a scan reads it (data/file/file.h). */
void peek(struct peek *p, const char *path, uint64_t file_bytes);
void peek_fini(struct peek *p);
