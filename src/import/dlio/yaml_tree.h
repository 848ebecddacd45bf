/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_tree.h - a YAML document as a tree that knows its lines. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <mlgen/err.h>

#include "base/vec.h"

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml_item {
	struct yaml_node *key; /* of a MAP: a TEXT */
	struct yaml_node *value;
};

struct yaml_node {
	enum yaml_kind kind;
	const char *from;      /* the name given to yaml_tree_parse */
	unsigned line, column; /* from 1; 0 where there are no lines */
	char *text;            /* TEXT: as written, never NULL */
	bool is_plain;         /* TEXT: without quotes, may be a number */
	struct yaml_item *at;  /* LIST, MAP: what is in it; no two keys alike */
	size_t count, room;
};

/*
 * Owns all nodes. An alias is the node of its anchor once more, so what a document says takes no
 * more memory than its text; nothing contains itself.
 * Of a merge key (<<) the map has the entries that it has not by itself.
 */
struct yaml_tree {
	VEC(struct yaml_node *) nodes;
	size_t merged; /* entries that merge keys named */
};

/* No workload comes near any of these. */
#define YAML_BYTES_MAX (4u << 20)
#define YAML_NODES_MAX 100000u
#define YAML_DEPTH_MAX 32u
#define YAML_ALIASES_MAX 1000u
#define YAML_MERGED_MAX 10000u

/*
 * Parse one document; may be called again for more, all in the same tree. `name` is for messages
 * and borrowed; `is_file`: they have line and column.
 * 0 with *root, NULL for a document of nothing. -EINVAL ("FILE:3:7: ..."), or -ENOTSUP where
 * libyaml was not built in.
 */
int yaml_tree_parse(struct yaml_tree *t, const char *name, bool is_file, const char *text,
		    size_t len, struct yaml_node **root, struct mlgen_err *err);

/* The same of a file; "-" is standard input. Other -errno where it cannot be read. */
int yaml_tree_read(struct yaml_tree *t, const char *path, struct yaml_node **root,
		   struct mlgen_err *err);

/*
 * Set what stands at the keys "a.b.c" below `map`, making maps on the way.
 * Maps that aliases share are changed for this place only. -EINVAL where something on the way is no
 * map.
 */
int yaml_tree_set(struct yaml_tree *t, struct yaml_node *map, const char *path,
		  struct yaml_node *value, struct mlgen_err *err);

void yaml_tree_fini(struct yaml_tree *t); /* takes a zeroed struct */

/* The value of a key, or NULL; that of no map is NULL. */
const struct yaml_node *yaml_find(const struct yaml_node *map, const char *key);

/* null, ~ or nothing. */
bool yaml_is_null(const struct yaml_node *n);

/* "FILE:3:7", or the name alone. */
struct buf;
void yaml_place(struct buf *out, const struct yaml_node *n);
