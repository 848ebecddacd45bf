/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_engine.h - the engines that jobs name, built in or loaded. */
#pragma once

#include "job/diag.h"
#include "job/jobset_env.h"
#include "job/layers.h"
#include "job/standin.h"

/* A shared object that was loaded, stood in for, or could not be had, as ioengine= names it. */
struct loaded_engine {
	char *path;
	const struct mlgen_engine *engine; /* NULL: see err */
	struct mlgen_err err;
};

struct resolve_engines {
	const struct jobset_env *env;
	bool only_looks;              /* nothing runs, so no shared object is loaded */
	struct standins *standins;    /* those of the jobset */
	struct loaded_engine *loaded; /* owned, by resolve_engine_fini */
	size_t loaded_count;
};

/*
 * Three passes over all jobs or lists, before any option is looked at: an option of an engine can
 * stand where the engine is not named.
 *
 * need: load the shared object that this job runs on, and no other. A job that is only looked at
 * gets a stand-in, if there is a file of that name. skip: those that these options name, but no job
 * runs on, are stood in for. guess: what nobody knows in this list may be an option of a stand-in.
 */
void resolve_engine_need(struct resolve_engines *r, const struct layers *layers);
void resolve_engine_skip(struct resolve_engines *r, const struct optlist *list);
void resolve_engine_guess(struct resolve_engines *r, const struct optlist *list);
void resolve_engine_fini(struct resolve_engines *r);

/* By its name or path, which is loaded; NULL = none, see _fail. */
const struct mlgen_engine *resolve_engine_find(struct resolve_engines *r, const char *name);
/* The first that has an option of that name, or NULL. */
const struct mlgen_engine *resolve_engine_with(const struct resolve_engines *r, const char *option);
/* One that could not be loaded, so that nobody knows its options; or NULL. */
const struct loaded_engine *resolve_engine_failed(const struct resolve_engines *r);
/* Tell why there is no such engine, and which there are. */
void resolve_engine_fail(const struct resolve_engines *r, const char *name, struct diag_place at,
			 struct diag *d);

/* Of those built in. */
size_t resolve_engine_count(const struct resolve_engines *r);
