/* SPDX-License-Identifier: Apache-2.0 */
/* meta.h - operations on files and names by plain system calls. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/engine.h>

/*
 * For engines that leave an operation to the io layer: does it and sets its result, 0 or -errno,
 * and what else the operation says (fd, size_bytes).
 * READ and WRITE have -EOPNOTSUPP: those are the engine's.
 */
void meta_do(struct mlgen_io *op);

/* Where a file ends that has nothing at `off`: before that, as far as can be told. */
uint64_t meta_end_before(const char *path, uint64_t off);

/* Who waits for the other end of a fifo, with an open or a read, meets its end: it is opened there
 * for a moment. False: it is none, and stays as it is. */
bool meta_end_fifo(const char *path);
