/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_tree.h - parses a YAML document into a tree whose nodes have line numbers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <mlgen/err.h>

#include "base/vec.h"

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml_item {
	struct yaml_node *key; /* MAP: a TEXT; LIST: NULL */
	struct yaml_node *value;
};

struct yaml_node {
	enum yaml_kind kind;
	const char *from;      /* the name given to yaml_tree_parse */
	unsigned line, column; /* from 1; 0 if the text is not a file */
	char *text;            /* TEXT: as written, never NULL */
	bool is_plain;         /* TEXT: without quotes, may be a number */
	struct yaml_item *at;  /* LIST, MAP: the items; keys are unique */
	size_t count, room;
};

/*
 * A tree owns all its nodes. An alias is another pointer to the node of its anchor, so a tree takes
 * no more memory than the text does, and no node contains itself. A merge key (<<) adds entries to
 * a map unless the map has them already.
 */
struct yaml_tree {
	VEC(struct yaml_node *) nodes;
	size_t merged; /* entries of the maps that merge keys name */
};

/*
 * Limits of a document, far above any workload. libyaml can load a whole document, or return events
 * one by one. A whole document can be checked only after loading: 4 MiB of "1," need 340 MB, and
 * 40,000 anchors (380 KiB) need 3.4 s. This parser reads events and refuses both within 0.1 s.
 * Loading a whole document also loses the places of aliases, and fails if an anchor is defined
 * twice.
 */
#define YAML_BYTES_MAX (4u << 20)
#define YAML_NODES_MAX 100000u
#define YAML_DEPTH_MAX 32u
#define YAML_ALIASES_MAX 1000u
#define YAML_MERGED_MAX 10000u

/*
 * Parse a document into the tree, which may hold several documents. `name` must outlive the tree;
 * messages add line and column if `is_file`. 0 with *root (NULL for an empty document), -EINVAL
 * ("FILE:3:7: ..."), or -ENOTSUP if libyaml was not built in.
 */
int yaml_tree_parse(struct yaml_tree *t, const char *name, bool is_file, const char *text,
		    size_t len, struct yaml_node **root, struct mlgen_err *err);

/* Parse a file; "-" is standard input. Returns as yaml_tree_parse, or another -errno if the file
 * cannot be read. */
int yaml_tree_read(struct yaml_tree *t, const char *path, struct yaml_node **root,
		   struct mlgen_err *err);

/*
 * Set the value at the keys "a.b.c" below `map`, and create missing maps. Maps on the way are
 * copied, because aliases may share them. -EINVAL if a key before the last exists and is neither a
 * map nor null.
 */
int yaml_tree_set(struct yaml_tree *t, struct yaml_node *map, const char *path,
		  struct yaml_node *value, struct mlgen_err *err);

void yaml_tree_fini(struct yaml_tree *t); /* accepts a zeroed struct */

/* The value of a key, or NULL. `map` may be NULL, or a node of another kind. */
const struct yaml_node *yaml_find(const struct yaml_node *map, const char *key);

/* Is the value null, ~ or empty? */
bool yaml_is_null(const struct yaml_node *n);

/* Append "FILE:3:7", or the name alone. */
struct buf;
void yaml_place(struct buf *out, const struct yaml_node *n);
