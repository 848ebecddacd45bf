/* SPDX-License-Identifier: Apache-2.0 */
/* json_store.h - what a document's structs own, in few blocks, and what it has not. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <mlgen/field.h>

#include "base/vec.h"
#include "field/merge_rules.h"

/* What is read belongs to a store, and is freed with it. A zeroed one is empty. Another host wrote
 * the texts: they are shown, in columns too, and none of them may be an order to a terminal or a
 * line of its own, so that each is made printable here (printable.h). */
struct json_store {
	struct json_block *blocks;
	VEC(struct json_lack) lacks; /* what the document has not */
};

void json_store_fini(struct json_store *s);
/* Zeroed, as mem_zalloc. */
void *json_store_alloc(struct json_store *s, size_t bytes);
char *json_store_text(struct json_store *s, const char *text);
struct hist *json_store_hist(struct json_store *s); /* empty */
/* For what is merged: the owner is a store, and copies what it takes. */
extern const struct merge_memory json_store_memory;
/* This row of a struct is missing in the document, or null. */
void json_store_note_lack(struct json_store *s, const struct mlgen_field *row, const void *base);
/* Was this row of a struct missing, or null, when it was read? */
bool json_store_lacks(const struct json_store *s, const struct mlgen_field *row, const void *base);
