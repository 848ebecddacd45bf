/* SPDX-License-Identifier: Apache-2.0 */
/* trace_names.h - names and their ids, 1 and up, of which there may be many millions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A name costs its bytes and about 40 more. What is beyond 64 MiB of either, which is a million
 * names and more, lies in files without a name that the kernel writes out when it needs the room
 * (base/spill.h).
 */
struct trace_names;

struct trace_names *trace_names_new(void);
void trace_names_free(struct trace_names *n); /* NULL is fine */

/* Its id; *is_new (may be NULL) says whether it was not there before. */
uint32_t trace_names_id(struct trace_names *n, const char *name, size_t bytes, bool *is_new);

/* The same without making it known; 0 = it is not. */
uint32_t trace_names_find(const struct trace_names *n, const char *name, size_t bytes);

/* 0-terminated, until the next trace_names_id; NULL = no such id. */
const char *trace_names_text(const struct trace_names *n, uint32_t id, size_t *bytes);

uint32_t trace_names_count(const struct trace_names *n);
