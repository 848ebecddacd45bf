/* SPDX-License-Identifier: Apache-2.0 */
/* writetime.h - how long the writing of files will take, told once it can be known. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "run/crew.h"

#define WRITETIME_BYTES 64

/*
 * Wait until the speed of a crew that began at start_ns can be told: the first
 * second, which caches make fast, is over, and some bytes have reached the
 * device (`synced_bytes`, counted by its workers); or until it is through. No
 * longer than 5 s.
 */
void writetime_wait(struct crew *c, const _Atomic uint64_t *synced_bytes,
		    uint64_t start_ns);

/* "about 41 s, estimate"; "in 12.23 ms" where all are synced; "time unknown"
 * within the first second, or while nothing is. */
void writetime_text(char out[WRITETIME_BYTES], uint64_t seen_ns,
		    uint64_t synced_bytes, uint64_t all_bytes);
