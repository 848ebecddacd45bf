/* SPDX-License-Identifier: Apache-2.0 */
/* standin.h - tables in the place of those of shared objects that are not loaded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <mlgen/engine.h>

/*
 * To load a shared object runs its constructors, and a job that is only looked at has no need of
 * them. Its table stands empty then: by all appearances it can do everything, and it has every
 * option that nobody else has, as text. Nothing can be run by it. Zeroed is empty.
 */
struct standins {
	struct mlgen_engine **engines;
	char **paths; /* their names */
	size_t count;
	struct mlgen_field *fields; /* of all of them; NULL = no options */
	char **options;             /* their names */
	size_t field_count;
};

/* One more; lives until standins_fini. */
const struct mlgen_engine *standins_add(struct standins *s, const char *path);

/* Give all of them an option, each name once; before any of them is used. */
void standins_add_option(struct standins *s, const char *name);

bool standins_have(const struct standins *s, const struct mlgen_engine *e);
void standins_fini(struct standins *s);
