/* SPDX-License-Identifier: Apache-2.0 */
/* rank_split.h - ranks that are threads of one process, of which nothing says so. */
#pragma once

#include "distil/distil_inside.h"

/* Give the readers of a party ranks and numbers in them, where their reads show that there are
 * several. 0, or -errno as visits_next. */
int rank_split(struct distil *d, uint32_t party, struct mlgen_err *err);
