/* SPDX-License-Identifier: Apache-2.0 */
/* replay_handles.h - the files that one worker of a replay has open. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/engine.h>

struct replay_handle {
	struct mlgen_file file;
	uint32_t id; /* of replay_files.h */
	unsigned in_flight;
	struct replay_handle *next; /* in its bucket, or free */
	char *path;                 /* room for it */
};

/* All there will be, made before the first operation; a zeroed one is fine for fini. */
struct replay_handles {
	struct replay_handle *all, *free;
	struct replay_handle **buckets;
	char *paths;
	size_t count, mask, path_bytes;
};

/* What so many take. */
size_t replay_handles_bytes(size_t count, size_t path_bytes);

void replay_handles_init(struct replay_handles *h, size_t count, size_t path_bytes);
void replay_handles_fini(struct replay_handles *h);

/* The one that was opened last; NULL = it is not open. */
struct replay_handle *replay_handles_find(const struct replay_handles *h, uint32_t id);
/* A free one, whose path and file the caller sets; NULL = all are taken. */
struct replay_handle *replay_handles_take(struct replay_handles *h, uint32_t id);
/* It is closed. */
void replay_handles_give(struct replay_handles *h, struct replay_handle *handle);
/* Any that is open; NULL = none is. */
struct replay_handle *replay_handles_any(const struct replay_handles *h);
