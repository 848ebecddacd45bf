/* SPDX-License-Identifier: Apache-2.0 */
/* dftracer_names.h - files that events name by a hash, which another event explains. */
#pragma once

#include "trace/trace_fill.h"

/*
 * An event FH says what a hash stands for, mostly before the first event that has it, and in a file
 * that was sorted anywhere. A file that is not explained yet is called "hash H", until it is.
 */
struct dftracer_names;

struct dftracer_names *dftracer_names_new(struct trace_fill *fill);
void dftracer_names_free(struct dftracer_names *n); /* NULL is fine */

/* What FH says. */
void dftracer_names_explain(struct dftracer_names *n, const char *hash, const char *name);
/* The id of a file (trace_fill_name). */
uint32_t dftracer_names_file(struct dftracer_names *n, const char *hash);
/* That nobody has explained so far. */
uint64_t dftracer_names_unexplained(const struct dftracer_names *n);
