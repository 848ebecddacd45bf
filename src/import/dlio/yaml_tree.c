/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_tree.c - parses YAML with libyaml into a tree, and finds and replaces nodes. */
#include "import/dlio/yaml_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "config.h"

static struct yaml_node *add_node(struct yaml_tree *t, const struct yaml_node *like)
{
	struct yaml_node *n = mem_zalloc(sizeof(*n));

	n->kind = like->kind;
	n->from = like->from;
	n->line = like->line;
	n->column = like->column;
	vec_push(&t->nodes, n);
	return n;
}

static struct yaml_item *find_item(const struct yaml_node *map, const char *key)
{
	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->at[i].key->text, key) == 0)
			return &map->at[i];
	return NULL;
}

#ifdef HAVE_YAML

#include <yaml.h>

struct anchor {
	char *name;
	struct yaml_node *node;
};

struct yaml_build {
	struct yaml_tree *tree;
	const char *name;
	bool is_file;
	const char *text;
	size_t len;
	yaml_parser_t parser;
	yaml_event_t event;     /* the current event */
	struct yaml_node *root; /* root of the current document */
	bool has_begun;
	struct yaml_node *open[YAML_DEPTH_MAX]; /* lists and maps around the current event */
	unsigned depth;
	VEC(struct anchor) anchors;
	size_t alias_count;
	int rc; /* the first fault */
	struct mlgen_err *err;
};

/* ---- faults ---- */

/* Set a fault. `at` counts lines and columns from 0. If the text is not a file, its name is the
 * place. */
__attribute__((format(printf, 3, 4))) static void fault(struct yaml_build *b, yaml_mark_t at,
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

/* Set a fault at the current event. */
#define FAULT(b, ...) fault(b, (b)->event.start_mark, __VA_ARGS__)

static void key_fault(struct yaml_build *b, const struct yaml_node *key, const char *what)
{
	yaml_mark_t at = { .line = key->line - 1u, .column = key->column - 1u };

	fault(b, at, "%.60s: %s", key->text, what);
}

/* Is the line indented with a tab? libyaml reports that as a character that starts no token, or as
 * a later fault. */
static bool has_tab(const struct yaml_build *b, size_t line)
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

/* Set a fault from an error of libyaml. For a byte that is not UTF-8, libyaml reports only an
 * offset. */
static void syntax_fault(struct yaml_build *b)
{
	const yaml_parser_t *p = &b->parser;
	const char *problem = p->problem ? p->problem : "syntax error";

	if (p->error == YAML_MEMORY_ERROR) {
		b->rc = mlgen_fail(b->err, -ENOMEM, "%s: out of memory", b->name);
	} else if (p->error == YAML_READER_ERROR) {
		yaml_mark_t at = { .column = p->problem_offset };

		for (size_t i = 0; i < p->problem_offset && i < b->len; i++)
			if (b->text[i] == '\n')
				at = (yaml_mark_t){ .line = at.line + 1,
						    .column = p->problem_offset - i - 1 };
		fault(b, at, "not text: %s; is this a YAML file?", problem);
	} else if (has_tab(b, p->problem_mark.line)) {
		fault(b, p->problem_mark, "a tab in the indentation; YAML accepts spaces only");
	} else {
		fault(b, p->problem_mark, "not YAML: %s%s%s", problem, p->context ? " " : "",
		      p->context ? p->context : "");
	}
}

/* ---- maps ---- */

static int compare_keys(const void *a, const void *b)
{
	const struct yaml_node *x = ((const struct yaml_item *)a)->key;
	const struct yaml_node *y = ((const struct yaml_item *)b)->key;
	int order = strcmp(x->text, y->text);

	if (!order)
		order = COMPARE(x->line, y->line);
	return order ? order : COMPARE(x->column, y->column);
}

/* Add the entries of `from`, the value of a merge key, to the map. Entries with a key that the map
 * already has are skipped. */
static void merge(struct yaml_build *b, struct yaml_node *map, const struct yaml_node *key,
		  const struct yaml_node *from)
{
	if (from->kind != YAML_MAP) {
		key_fault(b, key, "needs a map, or a list of maps");
		return;
	}
	b->tree->merged += from->count;
	if (b->tree->merged > YAML_MERGED_MAX) {
		key_fault(b, key, "merges too many keys");
		return;
	}
	for (size_t i = 0; i < from->count; i++)
		if (!find_item(map, from->at[i].key->text))
			vec_push(map, from->at[i]);
}

/* Check that keys are unique, and replace "<<" by the entries that it names. */
static void end_map(struct yaml_build *b, struct yaml_node *map)
{
	struct yaml_item *sorted = mem_array(map->count, sizeof(*sorted));
	struct yaml_item *item = find_item(map, "<<"), merge_item;
	bool is_list;

	for (size_t i = 0; i < map->count; i++)
		sorted[i] = map->at[i];
	qsort(sorted, map->count, sizeof(*sorted), compare_keys);
	for (size_t i = 1; i < map->count && b->rc == 0; i++) {
		const struct yaml_node *first = sorted[i - 1].key, *twin = sorted[i].key;
		char what[64];

		snprintf(what, sizeof(what), "is already in line %u", first->line);
		if (strcmp(first->text, twin->text) == 0)
			key_fault(b, twin, b->is_file ? what : "appears twice");
	}
	mem_free(sorted);
	if (!item || !item->key->is_plain)
		return;
	merge_item = *item;
	map->count--;
	memmove(item, item + 1, (size_t)(map->at + map->count - item) * sizeof(*item));
	is_list = merge_item.value->kind == YAML_LIST;
	for (size_t i = 0; i < (is_list ? merge_item.value->count : 1) && b->rc == 0; i++)
		merge(b, map, merge_item.key,
		      is_list ? merge_item.value->at[i].value : merge_item.value);
}

/* ---- events ---- */

/* The node of the last anchor with the alias's name. */
static struct yaml_node *find_anchor(struct yaml_build *b)
{
	const char *name = (const char *)b->event.data.alias.anchor;
	size_t i = b->anchors.count;
	struct yaml_node *n;

	while (i && strcmp(b->anchors.at[i - 1].name, name) != 0)
		i--;
	if (!i) {
		FAULT(b, "*%.60s: there is no anchor &%.60s above", name, name);
		return NULL;
	}
	n = b->anchors.at[i - 1].node;
	for (i = 0; i < b->depth && b->open[i] != n;)
		i++;
	if (i < b->depth)
		FAULT(b, "*%.60s: this alias refers to a value that contains it", name);
	else if (++b->alias_count > YAML_ALIASES_MAX)
		FAULT(b, "more than %u aliases", YAML_ALIASES_MAX);
	return n;
}

/* Add a node as the root, or to the innermost list or map. A map gets a key first, without a value
 * until the next node. */
static void add_to_tree(struct yaml_build *b, struct yaml_node *n)
{
	struct yaml_node *into = b->depth ? b->open[b->depth - 1] : NULL;

	if (b->rc < 0)
		return;
	if (!into)
		b->root = n;
	else if (into->kind == YAML_LIST)
		vec_push(into, (struct yaml_item){ NULL, n });
	else if (into->count && !vec_last(into)->value)
		vec_last(into)->value = n;
	else if (n->kind == YAML_TEXT)
		vec_push(into, (struct yaml_item){ n, NULL });
	else
		FAULT(b, "a key must not be a list or a map");
}

/* Add a node for the current event. A list or map stays open until its end event. */
static void begin_node(struct yaml_build *b, enum yaml_kind kind, const yaml_char_t *anchor)
{
	struct yaml_node like = { .kind = kind, .from = b->name }, *n;
	const char *text = (const char *)b->event.data.scalar.value;

	if (kind != YAML_TEXT && b->depth == YAML_DEPTH_MAX) {
		FAULT(b, "more than %u levels deep", YAML_DEPTH_MAX);
		return;
	}
	if (b->tree->nodes.count >= YAML_NODES_MAX) {
		FAULT(b, "more than %u values; is this the configuration of a workload?",
		      YAML_NODES_MAX);
		return;
	}
	if (b->is_file) {
		like.line = (unsigned)b->event.start_mark.line + 1;
		like.column = (unsigned)b->event.start_mark.column + 1;
	}
	n = add_node(b->tree, &like);
	if (anchor)
		vec_push(&b->anchors, (struct anchor){ mem_strdup((const char *)anchor), n });
	if (kind == YAML_TEXT) {
		if (strlen(text) != b->event.data.scalar.length)
			FAULT(b, "a NUL byte in a string");
		n->text = mem_strdup(text);
		n->is_plain = b->event.data.scalar.plain_implicit &&
			      b->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	}
	add_to_tree(b, n);
	if (kind != YAML_TEXT && b->rc == 0)
		b->open[b->depth++] = n;
}

static void handle_event(struct yaml_build *b)
{
	switch (b->event.type) {
	case YAML_DOCUMENT_START_EVENT:
		if (b->has_begun)
			FAULT(b, "a second document begins; a file has one document with one "
				 "workload");
		b->has_begun = true;
		break;
	case YAML_ALIAS_EVENT:
		add_to_tree(b, find_anchor(b));
		break;
	case YAML_SCALAR_EVENT:
		begin_node(b, YAML_TEXT, b->event.data.scalar.anchor);
		break;
	case YAML_SEQUENCE_START_EVENT:
		begin_node(b, YAML_LIST, b->event.data.sequence_start.anchor);
		break;
	case YAML_MAPPING_START_EVENT:
		begin_node(b, YAML_MAP, b->event.data.mapping_start.anchor);
		break;
	case YAML_SEQUENCE_END_EVENT:
		b->depth--;
		break;
	case YAML_MAPPING_END_EVENT:
		end_map(b, b->open[--b->depth]);
		break;
	default:
		break;
	}
}

int yaml_tree_parse(struct yaml_tree *t, const char *name, bool is_file, const char *text,
		    size_t len, struct yaml_node **root, struct mlgen_err *err)
{
	struct yaml_build b = {
		.tree = t, .name = name, .is_file = is_file, .text = text, .len = len, .err = err
	};

	*root = NULL;
	if (!yaml_parser_initialize(&b.parser))
		return mlgen_fail(err, -ENOMEM, "%s: out of memory", name);
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
	while (b.rc == 0 && b.event.type != YAML_STREAM_END_EVENT) {
		yaml_event_delete(&b.event);
		if (!yaml_parser_parse(&b.parser, &b.event))
			syntax_fault(&b);
		else if (b.anchors.count == YAML_ALIASES_MAX)
			fault(&b, b.event.start_mark, "more than %u anchors", YAML_ALIASES_MAX);
		else
			handle_event(&b);
	}
	if (b.rc == 0)
		*root = b.root;
	yaml_event_delete(&b.event);
	yaml_parser_delete(&b.parser);
	for (size_t i = 0; i < b.anchors.count; i++)
		mem_free(b.anchors.at[i].name);
	vec_fini(&b.anchors);
	return b.rc;
}

/* ---- files ---- */

int yaml_tree_read(struct yaml_tree *t, const char *path, struct yaml_node **root,
		   struct mlgen_err *err)
{
	int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO)
					: open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct buf text = { 0 };
	char chunk[16384];
	struct stat st;
	ssize_t n = fd;
	int rc;

	*root = NULL;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return mlgen_fail(err, -EISDIR, "%s: is a directory, not a YAML file", path);
	}
	while (fd >= 0 && text.len <= YAML_BYTES_MAX && (n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n > 0)
			buf_addn(&text, chunk, (size_t)n);
		else if (errno != EINTR)
			break;
	}
	if (n < 0)
		rc = mlgen_fail(err, -errno, "%s: %s", path, strerror(errno));
	else if (text.len > YAML_BYTES_MAX)
		rc = mlgen_fail(err, -EFBIG,
				"%s: more than %u MiB; is this the configuration of a workload?",
				path, YAML_BYTES_MAX >> 20);
	else
		rc = yaml_tree_parse(t, path, true, buf_str(&text), text.len, root, err);
	if (fd >= 0)
		close(fd);
	buf_fini(&text);
	return rc;
}

#else

int yaml_tree_parse(struct yaml_tree *t, const char *name, bool is_file, const char *text,
		    size_t len, struct yaml_node **root, struct mlgen_err *err)
{
	(void)t, (void)name, (void)is_file, (void)text, (void)len;
	*root = NULL;
	return mlgen_fail(err, -ENOTSUP,
			  "YAML cannot be read: mlgen was built without libyaml (%s); install it, "
			  "then run ./configure and make again",
			  PACKAGES_YAML);
}

int yaml_tree_read(struct yaml_tree *t, const char *path, struct yaml_node **root,
		   struct mlgen_err *err)
{
	return yaml_tree_parse(t, path, true, "", 0, root, err);
}

#endif

/* ---- replacing ---- */

int yaml_tree_set(struct yaml_tree *t, struct yaml_node *map, const char *path,
		  struct yaml_node *value, struct mlgen_err *err)
{
	for (;;) {
		size_t len = strcspn(path, ".");
		struct yaml_node *key = add_node(t, value), *next = value;
		const struct yaml_node *old;
		struct yaml_item *item;

		if (!len)
			return mlgen_fail(err, -EINVAL, "%s: a name is missing next to a dot",
					  value->from);
		key->kind = YAML_TEXT;
		key->text = mem_strndup(path, len);
		key->is_plain = true;
		item = find_item(map, key->text);
		old = item ? item->value : NULL;
		if (path[len] && old && old->kind != YAML_MAP && !yaml_is_null(old))
			return mlgen_fail(err, -EINVAL, "%s: %s is not a map of keys in the file",
					  value->from, key->text);
		if (path[len]) { /* a copy of the map, or an empty map */
			next = add_node(t, old && old->count ? old : value);
			next->kind = YAML_MAP;
			for (size_t i = 0; old && i < old->count; i++)
				vec_push(next, old->at[i]);
		}
		if (!item)
			item = vec_add(map);
		*item = (struct yaml_item){ key, next };
		if (!path[len])
			return 0;
		map = next;
		path += len + 1;
	}
}

/* ---- searching ---- */

const struct yaml_node *yaml_find(const struct yaml_node *map, const char *key)
{
	const struct yaml_item *item = map && map->kind == YAML_MAP ? find_item(map, key) : NULL;

	return item ? item->value : NULL;
}

bool yaml_is_null(const struct yaml_node *n)
{
	static const char *const words[] = { "", "~", "null", "Null", "NULL" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (n->kind == YAML_TEXT && n->is_plain && strcmp(n->text, words[i]) == 0)
			return true;
	return false;
}

void yaml_place(struct buf *out, const struct yaml_node *n)
{
	buf_add(out, n->from);
	if (n->line)
		buf_addf(out, ":%u:%u", n->line, n->column);
}

void yaml_tree_fini(struct yaml_tree *t)
{
	for (size_t i = 0; i < t->nodes.count; i++) {
		mem_free(t->nodes.at[i]->text);
		vec_fini(t->nodes.at[i]);
		mem_free(t->nodes.at[i]);
	}
	vec_fini(&t->nodes);
	*t = (struct yaml_tree){ 0 };
}
