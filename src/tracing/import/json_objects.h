/* SPDX-License-Identifier: Apache-2.0 */
/* json_objects.h - the objects of a log, one after another, whatever stands between them. */
#pragma once

#include <jansson.h>

#include "tracing/import/importer.h"

/*
 * A line each with or without commas, an array of them that may have no end, or objects over
 * several lines. One that is damaged is an unread line of the log, and what follows is found again:
 * an object ends at the latest where a line begins with the next one. One at a time is in memory,
 * of 1 MiB at most.
 */
struct json_objects {
	struct importing *m;
	struct trace_input in;
	struct mlgen_err *err;
	struct buf text;
	uint64_t line; /* on which the object begins */
	/* Of the text, so far. */
	unsigned depth;
	bool is_string, is_escaped, is_broken;
	char last; /* byte before */
};

/* What is done with one, which is gone then. 0, or -errno with o->err. */
typedef int (*json_objects_take)(void *who, const json_t *object);

/* All of a file, counted in m->tally. 0, or -errno with o->err. */
int json_objects_read(struct json_objects *o, const char *path, json_objects_take take, void *who);
/* This object is of no use, either: as import_unread. */
int json_objects_unread(struct json_objects *o, const char *why);
void json_objects_fini(struct json_objects *o);

/* The first of these members that there is; names end with NULL. NULL = none. */
const json_t *json_member(const json_t *object, const char *const *names);
/* As a whole number, which may stand in quotes. */
bool json_whole(const json_t *value, int64_t *out);
/* The same of a time: of `unit_ns` each, or a fraction of them. */
bool json_time(const json_t *value, uint64_t unit_ns, uint64_t *out);
