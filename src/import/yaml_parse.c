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

struct build {
	struct yaml_tree *tree;
	const char *name;
	bool is_file;
	const char *text;
	size_t len;
	yaml_parser_t parser;
	yaml_event_t event;                     /* the one that is looked at */
	struct yaml_node *open[YAML_DEPTH_MAX]; /* what it is inside of */
	unsigned depth;
	struct anchor anchors[YAML_ALIASES_MAX];
	size_t anchor_count, alias_count;
	int rc; /* of the first fault */
	struct mlgen_err *err;
};

/* ---- faults ---- */

/* `at` counts from 0; a name without lines is enough of a place. */
__attribute__((format(printf, 3, 4))) static void fault(struct build *b, yaml_mark_t at,
							const char *fmt, ...)
{
	char sentence[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	b->rc = b->is_file ? mlgen_fail(b->err, -EINVAL, "%s:%zu:%zu: %s", b->name, at.line + 1,
					at.column + 1, sentence)
			   : mlgen_fail(b->err, -EINVAL, "%s: %s", b->name, sentence);
}

/* The same of the event at hand. */
#define FAULT(b, ...) fault(b, (b)->event.start_mark, __VA_ARGS__)

static void key_fault(struct build *b, const struct yaml_node *key, const char *what)
{
	yaml_mark_t at = { .line = key->line - 1u, .column = key->column - 1u };

	fault(b, at, "%.60s: %s", key->text, what);
}

/* Is there a tab where the line is indented? libyaml calls it a character that starts no token, or
 * something else further on. */
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

/* libyaml knows the byte only; it is one of UTF-8 but where nobody could say what a line is. */
static void no_text(struct build *b, const char *problem, size_t offset)
{
	yaml_mark_t at = { .column = offset };

	for (size_t i = 0; i < offset && i < b->len; i++)
		if (b->text[i] == '\n')
			at = (yaml_mark_t){ .line = at.line + 1, .column = offset - i - 1 };
	fault(b, at, "no text: %s; is this a YAML file?", problem);
}

static void no_yaml(struct build *b)
{
	const yaml_parser_t *p = &b->parser;
	const char *problem = p->problem ? p->problem : "no YAML";

	if (p->error == YAML_MEMORY_ERROR)
		b->rc = mlgen_fail(b->err, -ENOMEM, "%s: out of memory", b->name);
	else if (p->error == YAML_READER_ERROR)
		no_text(b, problem, p->problem_offset);
	else if (has_tab(b, p->problem_mark.line))
		fault(b, p->problem_mark,
		      "a tab where the line is indented; YAML takes spaces only");
	else
		fault(b, p->problem_mark, "no YAML: %s%s%s", problem, p->context ? " " : "",
		      p->context ? p->context : "");
}

/* ---- anchors ---- */

static void keep_anchor(struct build *b, const yaml_char_t *name, struct yaml_node *n)
{
	if (name)
		b->anchors[b->anchor_count++] = (struct anchor){
			.name = mem_strdup((const char *)name),
			.node = n,
		};
}

static bool is_open(const struct build *b, const struct yaml_node *n)
{
	for (unsigned i = 0; i < b->depth; i++)
		if (b->open[i] == n)
			return true;
	return false;
}

/* The newest of a name counts. */
static struct yaml_node *find_anchor(struct build *b)
{
	const char *name = (const char *)b->event.data.alias.anchor;
	size_t i = b->anchor_count;

	while (i && strcmp(b->anchors[i - 1].name, name) != 0)
		i--;
	if (!i)
		FAULT(b, "*%.60s: there is no anchor &%.60s above", name, name);
	else if (is_open(b, b->anchors[i - 1].node))
		FAULT(b, "*%.60s: an alias for what it is a part of", name);
	else if (++b->alias_count > YAML_ALIASES_MAX)
		FAULT(b, "more than %u aliases", YAML_ALIASES_MAX);
	else
		return b->anchors[i - 1].node;
	return NULL;
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

static void yaml_parse_check_twins(struct build *b, const struct yaml_node *map)
{
	struct yaml_node **sorted = mem_array(map->count, sizeof(*sorted));

	for (size_t i = 0; i < map->count; i++)
		sorted[i] = map->keys[i];
	qsort(sorted, map->count, sizeof(struct yaml_node *), compare_keys);
	for (size_t i = 1; i < map->count && b->rc == 0; i++) {
		char what[64];

		if (strcmp(sorted[i]->text, sorted[i - 1]->text) != 0)
			continue;
		snprintf(what, sizeof(what), "is in line %u already", sorted[i - 1]->line);
		key_fault(b, sorted[i], b->is_file ? what : "is there twice");
	}
	mem_free(sorted);
}

static void merge_one(struct build *b, struct yaml_node *map, const struct yaml_node *key,
		      const struct yaml_node *from)
{
	if (from->kind != YAML_MAP) {
		key_fault(b, key, "needs a map, or a list of maps");
		return;
	}
	b->tree->merged += from->count;
	if (b->tree->merged > YAML_MERGED_MAX) {
		key_fault(b, key, "too much is merged");
		return;
	}
	for (size_t i = 0; i < from->count; i++)
		if (!yaml_find(map, from->keys[i]->text))
			yaml_node_add(map, from->keys[i], from->items[i]);
}

static bool is_merge(const struct yaml_node *key)
{
	return key->is_plain && strcmp(key->text, "<<") == 0;
}

/* "<<" makes way for what it names. */
static void merge(struct build *b, struct yaml_node *map)
{
	const struct yaml_node *key, *from;
	size_t at = 0, behind;

	while (at < map->count && !is_merge(map->keys[at]))
		at++;
	if (at == map->count)
		return;
	key = map->keys[at];
	from = map->items[at];
	behind = --map->count - at;
	memmove(&map->keys[at], &map->keys[at + 1], behind * sizeof(*map->keys));
	memmove(&map->items[at], &map->items[at + 1], behind * sizeof(*map->items));
	if (from->kind != YAML_LIST)
		merge_one(b, map, key, from);
	for (size_t i = 0; from->kind == YAML_LIST && i < from->count; i++)
		if (b->rc == 0)
			merge_one(b, map, key, from->items[i]);
}

/* ---- nodes ---- */

/* Look at the next event; false = there is a fault, here or before. */
static bool next(struct build *b)
{
	if (b->rc < 0)
		return false;
	yaml_event_delete(&b->event);
	if (!yaml_parser_parse(&b->parser, &b->event))
		no_yaml(b);
	else if (b->anchor_count == YAML_ALIASES_MAX)
		FAULT(b, "more than %u anchors", YAML_ALIASES_MAX);
	return b->rc == 0;
}

static struct yaml_node *new_node(struct build *b, enum yaml_kind kind)
{
	struct yaml_node *n;

	if (kind != YAML_TEXT && b->depth == YAML_DEPTH_MAX) {
		FAULT(b, "more than %u levels deep", YAML_DEPTH_MAX);
		return NULL;
	}
	if (b->tree->count >= YAML_NODES_MAX) {
		FAULT(b, "more than %u values; is this the configuration of a workload?",
		      YAML_NODES_MAX);
		return NULL;
	}
	n = yaml_node_new(b->tree, kind);
	n->from = b->name;
	if (b->is_file) {
		n->line = (unsigned)b->event.start_mark.line + 1;
		n->column = (unsigned)b->event.start_mark.column + 1;
	}
	return n;
}

static struct yaml_node *yaml_parse_read_text(struct build *b)
{
	const char *text = (const char *)b->event.data.scalar.value;
	struct yaml_node *n = new_node(b, YAML_TEXT);

	if (!n)
		return NULL;
	if (strlen(text) != b->event.data.scalar.length) {
		FAULT(b, "a NUL byte in a text");
		return NULL;
	}
	n->text = mem_strdup(text);
	n->is_plain = b->event.data.scalar.plain_implicit &&
		      b->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	keep_anchor(b, b->event.data.scalar.anchor, n);
	return n;
}

static struct yaml_node *read_node(struct build *b, bool is_key);

static void yaml_parse_read_list(struct build *b, struct yaml_node *list)
{
	while (next(b) && b->event.type != YAML_SEQUENCE_END_EVENT) {
		struct yaml_node *item = read_node(b, false);

		if (item)
			yaml_node_add(list, NULL, item);
	}
}

static void read_map(struct build *b, struct yaml_node *map)
{
	while (next(b) && b->event.type != YAML_MAPPING_END_EVENT) {
		struct yaml_node *key = read_node(b, true);
		struct yaml_node *value = key && next(b) ? read_node(b, false) : NULL;

		if (value)
			yaml_node_add(map, key, value);
	}
	if (b->rc == 0)
		yaml_parse_check_twins(b, map);
	if (b->rc == 0)
		merge(b, map);
}

/* What begins with the event at hand, to its end; NULL = there is a fault. It calls itself to the
 * depth that new_node allows. */
static struct yaml_node *read_node(struct build *b, bool is_key)
{
	bool is_list = b->event.type == YAML_SEQUENCE_START_EVENT;
	bool is_map = b->event.type == YAML_MAPPING_START_EVENT;
	struct yaml_node *n;

	if (is_list || is_map)
		n = new_node(b, is_map ? YAML_MAP : YAML_LIST);
	else if (b->event.type == YAML_ALIAS_EVENT)
		n = find_anchor(b);
	else
		n = yaml_parse_read_text(b);
	if (n && is_key && n->kind != YAML_TEXT)
		FAULT(b, "a key that is a list or a map");
	if (b->rc < 0 || (!is_list && !is_map))
		return n;
	keep_anchor(b,
		    is_map ? b->event.data.mapping_start.anchor
			   : b->event.data.sequence_start.anchor,
		    n);
	b->open[b->depth++] = n;
	if (is_map)
		read_map(b, n);
	else
		yaml_parse_read_list(b, n);
	b->depth--;
	return n;
}

/* The one document there may be; NULL = it is empty, or there is a fault. */
static struct yaml_node *read_document(struct build *b)
{
	struct yaml_node *root = NULL;
	bool is_second = false;

	while (next(b) && b->event.type != YAML_STREAM_END_EVENT) {
		if (b->event.type != YAML_DOCUMENT_START_EVENT)
			continue;
		if (is_second)
			FAULT(b, "a second document begins; a file has one workload, and one "
				 "document");
		else if (next(b))
			root = read_node(b, false);
		is_second = true;
	}
	return root;
}

int yaml_tree_parse(struct yaml_tree *t, const char *name, bool is_file, const char *text,
		    size_t len, struct yaml_node **root, struct mlgen_err *err)
{
	struct build b = {
		.tree = t, .name = name, .is_file = is_file, .text = text, .len = len, .err = err
	};

	*root = NULL;
	if (!yaml_parser_initialize(&b.parser))
		return mlgen_fail(err, -ENOMEM, "%s: out of memory", name);
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
	*root = read_document(&b);
	yaml_event_delete(&b.event);
	yaml_parser_delete(&b.parser);
	for (size_t i = 0; i < b.anchor_count; i++)
		mem_free(b.anchors[i].name);
	if (b.rc < 0)
		*root = NULL;
	return b.rc;
}

#endif
