/* SPDX-License-Identifier: Apache-2.0 */
/* figure_inside.h - for src/ask/figure*.c alone. */
#pragma once

#include "ask/figure.h"

/* Of record_roots: where its key is looked for. */
size_t figure_roots(const struct figure *f);

/* -EINVAL with err, which has the nearest key that there is: `lost` is the part of f->path that no
 * row of the table has (NULL: of none at the top). */
int figure_unknown(const struct figure *f, const char *lost, const struct mlgen_field *table,
		   struct mlgen_err *err);
