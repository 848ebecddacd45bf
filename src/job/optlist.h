/* SPDX-License-Identifier: Apache-2.0 */
/* optlist.h - options as written, and what they were read as. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <mlgen/field.h>

#include "job/diag.h"

/* No section has more options than this; what follows is noise. */
#define OPTLIST_MAX 256

struct opt {
	char *key, *value;
	const struct mlgen_field *field; /* of job_fields, or NULL */
	struct diag_place at;
	bool is_bare; /* a key alone; value is "1" */
	/* What resolve_read() made of it; owned. NULL: it is faulty. */
	void *read;
	const struct mlgen_field *read_as; /* NULL: unread, or unknown */
};

/*
 * In the order written. Zeroed is empty. One that was added to owns its options, one that was
 * overlaid borrows them: never both.
 */
struct optlist {
	struct opt **opts;
	size_t count;
};

void optlist_fini(struct optlist *list);

/* Append copies; NULL when the list is full. */
struct opt *optlist_add(struct optlist *list, const char *key, const char *value, bool is_bare,
			struct diag_place at);

/* The option of that name, '-' and '_' and aliases of job options alike. */
struct opt *optlist_find(const struct optlist *list, const char *key);

/* Another value for one that is there, and unread. */
void optlist_replace(struct opt *o, const char *value, bool is_bare, struct diag_place at);

/* Borrow the options of `from`: each in the place of the one of that name, or behind the others. */
void optlist_overlay(struct optlist *list, const struct optlist *from);
/* In the place of fini where the options are borrowed. */
void optlist_forget(struct optlist *list);
