/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_tensors.h - the tensors of an archive of torch.save, by the calls that wrote it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "distil/checkpoint_trial.h"

struct buf;

/* Sizes of tensors by their number, as a tensor_sizes file has them. */
struct tensor_list {
	uint64_t *at; /* bytes; owned */
	uint32_t count;
	size_t room;         /* vec.h */
	uint64_t name_bytes; /* of all names together; 0 = they have none */
	bool is_exact;       /* the file is as long, to the byte; else to 64 */
};

void tensor_list_fini(struct tensor_list *l); /* takes a zeroed one */

/* Does it look like an archive, and written to an open file (deepspeed) or by path (torch)? */
bool tensors_are_torch(const struct saved_file *f, bool *is_file);

/*
 * Of an archive, whose own name the trial has, each tensor that a call of its own wrote, and in
 * place of those that went through a buffer a few of their bytes; of any other file a tensor for
 * each call. The trial has the layout; with the list it has the file's bytes, or nearly, if this is
 * true.
 */
bool tensors_find(struct tensor_list *l, struct trial *t, uint64_t rank, const struct saved_file *f,
		  bool is_archive);

/* Appends the list as a tensor_sizes file has it. */
void tensors_put(struct buf *to, const struct tensor_list *l);

/* tensor_sizes of a trial, as a file without a name; its descriptor, or -1. */
int tensors_offer(const struct tensor_list *l, struct trial *t);
