/* SPDX-License-Identifier: Apache-2.0 */
/* mappings.h - files that a trace's threads have open or mapped: closes of copies, and pages that
 * are touched as the reads that they stand for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/files.h"
#include "tracing/describe/touchrun.h"
#include "trace/trace.h"

enum { MAPPINGS_THREADS = 1024 };

/* A zeroed one is empty. */
struct mappings {
	struct spill files; /* struct mapped_file, by id */
	/* By thread, as far as these go: what it has touched last. */
	struct mapped_thread {
		uint32_t tid, file;
		struct touchrun run;
	} last[MAPPINGS_THREADS];
};

/*
 * A call that did not fail. True: it is none that is compared. mmap(2) and munmap(2) move nothing,
 * what they are for are the pages that are touched; and the close of a copy of a descriptor, of
 * which there are more than there were opens, does not reach the filesystem.
 */
bool mappings_note(struct mappings *m, const struct trace_record *r);

/* A fault on a page of a file that was mapped by a call: the read of what the kernel brings around
 * it. False: it was brought by the thread's fault before, or the file is mapped as a program is, by
 * the kernel itself. */
bool mappings_read(struct mappings *m, const struct trace_record *fault, struct trace_record *read);

void mappings_fini(struct mappings *m);
