/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_parse.c - the events of libyaml become nodes, within limits. */
#include "import/yaml_parse.h"

#include "config.h"

#ifdef HAVE_YAML

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/mem.h"

struct anchor {
	char *name;
	struct yaml_node *node;
};

struct level {
	struct yaml_node *node;
	struct yaml_node *key; /* MAP: waits for its value */
};

struct build {
	struct yaml_tree *tree;
	const char *name;
	bool is_file;
	const char *text;
	size_t len;
	struct level levels[YAML_DEPTH_MAX];
	unsigned depth;
	struct yaml_node *root;
	struct anchor *anchors;
	size_t anchor_count, alias_count;
	unsigned documents;
	bool is_done;
	struct mlgen_err *err;
};

/* ---- faults ---- */

/* `mark` counts from 0; a name without lines is enough of a place. */
#define FAULT(b, mark, ...) fault(b, (mark)->line, (mark)->column, __VA_ARGS__)

__attribute__((format(printf, 4, 5))) static int
fault(struct build *b, size_t line, size_t column, const char *fmt, ...)
{
	char sentence[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	if (!b->is_file)
		return mlgen_fail(b->err, -EINVAL, "%s: %s", b->name, sentence);
	return mlgen_fail(b->err, -EINVAL, "%s:%zu:%zu: %s", b->name, line + 1,
			  column + 1, sentence);
}

static int fault_at(struct build *b, const struct yaml_node *n,
		    const char *what)
{
	size_t line = n->line ? n->line - 1 : 0;
	size_t column = n->column ? n->column - 1 : 0;

	return fault(b, line, column, "%.60s: %s", n->text ? n->text : "<<",
		     what);
}

/* Is there a tab where the line is indented? libyaml calls it a character
 * that starts no token, or something else further on. */
static bool has_tab(const struct build *b, size_t line)
{
	const char *s = b->text, *end = b->text + b->len;

	while (line-- && s && s < end) {
		s = memchr(s, '\n', (size_t)(end - s));
		s = s ? s + 1 : NULL;
	}
	while (s && s < end && *s == ' ')
		s++;
	return s && s < end && *s == '\t';
}

/* libyaml knows the byte only; it is one of UTF-8 but where nobody could say
 * what a line is. */
static int no_text(struct build *b, const char *problem, size_t at)
{
	size_t line = 0, start = 0;

	for (size_t i = 0; i < at && i < b->len; i++) {
		if (b->text[i] != '\n')
			continue;
		line++;
		start = i + 1;
	}
	return fault(b, line, at - start, "no text: %s; is this a YAML file?",
		     problem);
}

static int no_yaml(struct build *b, const yaml_parser_t *p)
{
	const yaml_mark_t *at = &p->problem_mark;
	const char *problem = p->problem ? p->problem : "no YAML";

	if (p->error == YAML_MEMORY_ERROR)
		return mlgen_fail(b->err, -ENOMEM, "%s: out of memory",
				  b->name);
	if (p->error == YAML_READER_ERROR)
		return no_text(b, problem, p->problem_offset);
	if (has_tab(b, at->line))
		return FAULT(b, at,
			     "a tab where the line is indented; YAML takes "
			     "spaces only");
	return FAULT(b, at, "no YAML: %s%s%s", problem, p->context ? " " : "",
		     p->context ? p->context : "");
}

/* ---- nodes ---- */

static struct yaml_node *new_node(struct build *b, enum yaml_kind kind,
				  const yaml_mark_t *at)
{
	struct yaml_node *n;

	if (b->tree->count >= YAML_NODES_MAX) {
		FAULT(b, at,
		      "more than %u values; is this the configuration of a "
		      "workload?",
		      YAML_NODES_MAX);
		return NULL;
	}
	n = yaml_node_new(b->tree, kind);
	n->from = b->name;
	if (b->is_file) {
		n->line = (unsigned)at->line + 1;
		n->column = (unsigned)at->column + 1;
	}
	return n;
}

/* Where the event before left off. */
static int attach(struct build *b, struct yaml_node *n, const yaml_mark_t *at)
{
	struct level *top = &b->levels[b->depth];

	if (top-- == b->levels) {
		b->root = n;
	} else if (top->node->kind == YAML_LIST) {
		yaml_node_add(top->node, NULL, n);
	} else if (top->key) {
		yaml_node_add(top->node, top->key, n);
		top->key = NULL;
	} else if (n->kind == YAML_TEXT) {
		top->key = n;
	} else {
		return FAULT(b, at, "a key that is a list or a map");
	}
	return 0;
}

/* ---- anchors ---- */

static void keep_anchor(struct build *b, const yaml_char_t *name,
			struct yaml_node *n)
{
	size_t size = (b->anchor_count + 1) * sizeof(*b->anchors);

	if (!name)
		return;
	b->anchors = mem_realloc(b->anchors, size);
	b->anchors[b->anchor_count++] = (struct anchor){
		.name = mem_strdup((const char *)name),
		.node = n,
	};
}

static bool is_open(const struct build *b, const struct yaml_node *n)
{
	for (unsigned i = 0; i < b->depth; i++)
		if (b->levels[i].node == n)
			return true;
	return false;
}

static int take_alias(struct build *b, const yaml_event_t *e)
{
	const char *name = (const char *)e->data.alias.anchor;
	size_t i = b->anchor_count;

	while (i && strcmp(b->anchors[i - 1].name, name) != 0)
		i--;
	if (!i)
		return FAULT(b, &e->start_mark,
			     "*%.60s: there is no anchor &%.60s above", name,
			     name);
	if (is_open(b, b->anchors[i - 1].node))
		return FAULT(b, &e->start_mark,
			     "*%.60s: an alias for what it is a part of", name);
	if (++b->alias_count > YAML_ALIASES_MAX)
		return FAULT(b, &e->start_mark, "more than %u aliases",
			     YAML_ALIASES_MAX);
	return attach(b, b->anchors[i - 1].node, &e->start_mark);
}

static int has_room(struct build *b, const yaml_event_t *e)
{
	if (b->anchor_count < YAML_ALIASES_MAX)
		return 0;
	return FAULT(b, &e->start_mark, "more than %u anchors",
		     YAML_ALIASES_MAX);
}

/* ---- maps ---- */

static int compare_keys(const void *a, const void *b)
{
	const struct yaml_node *const *x = a;
	const struct yaml_node *const *y = b;
	int order = strcmp((*x)->text, (*y)->text);

	if (order)
		return order;
	if ((*x)->line != (*y)->line)
		return (*x)->line < (*y)->line ? -1 : 1;
	return (*x)->column < (*y)->column ? -1 : 1;
}

static int check_twins(struct build *b, const struct yaml_node *map)
{
	struct yaml_node **sorted = mem_array(map->count, sizeof(*sorted));
	int rc = 0;

	for (size_t i = 0; i < map->count; i++)
		sorted[i] = map->keys[i];
	qsort(sorted, map->count, sizeof(struct yaml_node *), compare_keys);
	for (size_t i = 1; i < map->count && rc == 0; i++) {
		char what[64];

		if (strcmp(sorted[i]->text, sorted[i - 1]->text) != 0)
			continue;
		snprintf(what, sizeof(what), "is in line %u already",
			 sorted[i - 1]->line);
		rc = fault_at(b, sorted[i],
			      b->is_file ? what : "is there twice");
	}
	mem_free(sorted);
	return rc;
}

static int merge_one(struct build *b, struct yaml_node *map,
		     const struct yaml_node *key, const struct yaml_node *from)
{
	if (from->kind != YAML_MAP)
		return fault_at(b, key, "needs a map, or a list of maps");
	b->tree->merged += from->count;
	if (b->tree->merged > YAML_MERGED_MAX)
		return fault_at(b, key, "too much is merged");
	for (size_t i = 0; i < from->count; i++)
		if (!yaml_find(map, from->keys[i]->text))
			yaml_node_add(map, from->keys[i], from->items[i]);
	return 0;
}

/* "<<" makes way for what it names. */
static int merge(struct build *b, struct yaml_node *map)
{
	size_t at = 0;
	struct yaml_node *key, *from;
	int rc = 0;

	while (at < map->count && (!map->keys[at]->is_plain ||
				   strcmp(map->keys[at]->text, "<<") != 0))
		at++;
	if (at == map->count)
		return 0;
	key = map->keys[at];
	from = map->items[at];
	memmove(&map->keys[at], &map->keys[at + 1],
		(map->count - at - 1) * sizeof(*map->keys));
	memmove(&map->items[at], &map->items[at + 1],
		(map->count - at - 1) * sizeof(*map->items));
	map->count--;
	if (from->kind != YAML_LIST)
		return merge_one(b, map, key, from);
	for (size_t i = 0; i < from->count && rc == 0; i++)
		rc = merge_one(b, map, key, from->items[i]);
	return rc;
}

/* ---- events ---- */

static int open_level(struct build *b, const yaml_event_t *e,
		      enum yaml_kind kind, const yaml_char_t *anchor)
{
	struct yaml_node *n;
	int rc;

	if (b->depth == YAML_DEPTH_MAX)
		return FAULT(b, &e->start_mark, "more than %u levels deep",
			     YAML_DEPTH_MAX);
	n = new_node(b, kind, &e->start_mark);
	if (!n)
		return -EINVAL;
	rc = attach(b, n, &e->start_mark);
	keep_anchor(b, anchor, n);
	b->levels[b->depth++] = (struct level){ .node = n };
	return rc;
}

static int close_level(struct build *b)
{
	struct yaml_node *n;
	int rc;

	if (b->depth == 0)
		return 0;
	n = b->levels[--b->depth].node;
	if (n->kind != YAML_MAP)
		return 0;
	rc = check_twins(b, n);
	return rc < 0 ? rc : merge(b, n);
}

static int take_scalar(struct build *b, const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;
	struct yaml_node *n = new_node(b, YAML_TEXT, &e->start_mark);

	if (!n)
		return -EINVAL;
	if (strlen(text) != e->data.scalar.length)
		return FAULT(b, &e->start_mark, "a NUL byte in a text");
	n->text = mem_strdup(text);
	n->is_plain = e->data.scalar.plain_implicit &&
		      e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	keep_anchor(b, e->data.scalar.anchor, n);
	return attach(b, n, &e->start_mark);
}

static int take_document(struct build *b, const yaml_event_t *e)
{
	if (b->documents++)
		return FAULT(b, &e->start_mark,
			     "a second document begins; a file has one "
			     "workload, and one document");
	return 0;
}

static int take_event(struct build *b, const yaml_event_t *e)
{
	int rc = has_room(b, e);

	if (rc < 0)
		return rc;
	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		return take_document(b, e);
	case YAML_ALIAS_EVENT:
		return take_alias(b, e);
	case YAML_SCALAR_EVENT:
		return take_scalar(b, e);
	case YAML_SEQUENCE_START_EVENT:
		return open_level(b, e, YAML_LIST,
				  e->data.sequence_start.anchor);
	case YAML_MAPPING_START_EVENT:
		return open_level(b, e, YAML_MAP, e->data.mapping_start.anchor);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_level(b);
	case YAML_STREAM_END_EVENT:
		b->is_done = true;
		return 0;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		break;
	}
	return 0;
}

static int take_all(struct build *b, yaml_parser_t *p)
{
	int rc = 0;

	while (!b->is_done && rc == 0) {
		yaml_event_t e;

		if (!yaml_parser_parse(p, &e))
			return no_yaml(b, p);
		rc = take_event(b, &e);
		yaml_event_delete(&e);
	}
	return rc;
}

int yaml_tree_parse(struct yaml_tree *t, const char *name, bool is_file,
		    const char *text, size_t len, struct yaml_node **root,
		    struct mlgen_err *err)
{
	struct build b = { .tree = t,
			   .name = name,
			   .is_file = is_file,
			   .text = text,
			   .len = len,
			   .err = err };
	yaml_parser_t parser;
	int rc;

	*root = NULL;
	if (!yaml_parser_initialize(&parser))
		return mlgen_fail(err, -ENOMEM, "%s: out of memory", name);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	rc = take_all(&b, &parser);
	yaml_parser_delete(&parser);
	for (size_t i = 0; i < b.anchor_count; i++)
		mem_free(b.anchors[i].name);
	mem_free(b.anchors);
	if (rc == 0)
		*root = b.root;
	return rc;
}

#endif
