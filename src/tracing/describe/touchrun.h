/* SPDX-License-Identifier: Apache-2.0 */
/* touchrun.h - page faults on a mapped file as the reads that they stand for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A fault brings pages with it that lie around its own: so many bytes, as fault_around_bytes of the
 * kernel is by default. */
#define TOUCHRUN_BYTES UINT64_C(65536)

/* What a thread touches of one file. Zeroed: nothing yet. */
struct touchrun {
	uint64_t blocks; /* the last one that was counted, + 1 */
	uint64_t end;    /* as far as the last fault may have brought pages */
};

/*
 * How far a fault reaches depends on where the mapping lies in memory. So a file is cut into blocks
 * of TOUCHRUN_BYTES: who goes on where the fault before has ended reads those that are new, anybody
 * else the one of the fault. `end` is that of the file, or of what is mapped of it; at most that is
 * read.
 * True with *from and *bytes, of whole blocks but for the file's last one; false: nothing that is
 * new.
 */
bool touchrun_next(struct touchrun *t, uint64_t off, uint64_t end, uint64_t *from, uint64_t *bytes);
