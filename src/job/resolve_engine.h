/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_engine.h - the engines that jobs name, built in or loaded. */
#pragma once

#include "job/resolve.h"

/*
 * Three passes over all jobs or lists, before any option is looked at: an
 * option of an engine can stand where the engine is not named.
 *
 * need: load the shared object that this job runs on, and no other. A job that
 * is only looked at gets a stand-in, if there is a file of that name.
 * skip: those that these options name, but no job runs on, are stood in for.
 * guess: what nobody knows in this list may be an option of a stand-in.
 */
void resolve_engine_need(struct resolver *r, const struct job_source *src);
void resolve_engine_skip(struct resolver *r, const struct optlist *list);
void resolve_engine_guess(struct resolver *r, const struct optlist *list);
void resolve_engine_fini(struct resolver *r);

/* By its name or path, which is loaded; NULL = none, see _fail. */
const struct mlgen_engine *resolve_engine_find(struct resolver *r,
					       const char *name);
/* The first that has an option of that name, or NULL. */
const struct mlgen_engine *resolve_engine_with(const struct resolver *r,
					       const char *option);
/* One that could not be loaded, so that nobody knows its options; or NULL. */
const struct loaded_engine *resolve_engine_failed(const struct resolver *r);
/* Tell why there is no such engine, and which there are. */
void resolve_engine_fail(const struct resolver *r, struct diag_place at,
			 const char *name);

/* Of those built in. */
size_t resolve_engine_count(const struct resolver *r);
