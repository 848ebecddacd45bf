/* SPDX-License-Identifier: Apache-2.0 */
/* state_list.h - the tensors of a tensor_sizes file. */
#pragma once

#include <stdint.h>

#include <mlgen/err.h>

/*
 * One tensor a line: BYTES, or NAME BYTES, sizes as in a job file; `#` begins a comment, empty
 * lines are fine. A tensor without a name is called tensor.0, tensor.1, ... by its place.
 */
#define STATE_LIST_MAX 1000000u

struct state_list;

/* scale in percent. 0, or -errno with err: "tensor_sizes: ...", or
 * "FILE:LINE: ...". */
int state_list_new(struct state_list **out, const char *path, unsigned kb_base, double scale,
		   struct mlgen_err *err);
void state_list_free(struct state_list *l); /* NULL is fine */

uint64_t state_list_tensors(const struct state_list *l);
uint64_t state_list_bytes(const struct state_list *l); /* of all, scaled */

uint64_t state_list_size(const struct state_list *l, uint64_t i); /* scaled */
const char *state_list_name(const struct state_list *l, uint64_t i);

/* A size of scale=100 % at this scale. */
uint64_t state_scaled(uint64_t bytes, double scale);
