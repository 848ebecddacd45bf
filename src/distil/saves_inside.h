/* SPDX-License-Identifier: Apache-2.0 */
/* saves_inside.h - the parts of reading a trace's checkpoints; for saves*.c alone. */
#pragma once

#include "distil/saves.h"

/* Their times, by stages; where several are one stage, by folders. As saves_read. */
int saves_find(struct saves *s, const struct distil *d, uint32_t party, struct mlgen_err *err);

/* The last that began by then; count = none did. */
uint32_t saves_begun_by(const struct saves *s, uint64_t ns);

/* Samples that are read before, and while, each is written. */
int saves_share(struct saves *s, const struct distil *d, uint32_t party, struct mlgen_err *err);
