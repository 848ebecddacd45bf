/* SPDX-License-Identifier: Apache-2.0 */
/* mcgill_names.h - whole paths of files of which a log has the last part of the name. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "import/trace/mcgill_line.h"

struct mcgill_names;

struct mcgill_names *mcgill_names_new(void);
void mcgill_names_free(struct mcgill_names *n); /* NULL is fine */

/* A file of this name was opened by a path, of which this is the id. */
void mcgill_names_opened(struct mcgill_names *n, struct mcgill_text name, uint32_t path);

/* The one path that it was opened by; 0 = none, or there were several, which counts. */
uint32_t mcgill_names_path(struct mcgill_names *n, struct mcgill_text name);

/* Names that several paths have, and were asked for. */
uint64_t mcgill_names_ambiguous(const struct mcgill_names *n);
