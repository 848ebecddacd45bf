/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_parse.h - what yaml_tree.c and the parser behind it share. */
#pragma once

#include "import/yaml_tree.h"

/* A node of the tree's. */
struct yaml_node *yaml_node_new(struct yaml_tree *t, enum yaml_kind kind);

/* One more item; `key` of a MAP only. */
void yaml_node_add(struct yaml_node *n, struct yaml_node *key, struct yaml_node *item);
