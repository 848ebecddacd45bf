/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_tree.c - nodes of a YAML document: reading, finding, replacing, freeing. */
#include "import/yaml_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "config.h"
#include "import/yaml_parse.h"

/* ---- nodes ---- */

struct yaml_node *yaml_node_new(struct yaml_tree *t, enum yaml_kind kind)
{
	struct yaml_node *n = mem_zalloc(sizeof(*n));

	if ((t->count & (t->count - 1)) == 0)
		t->nodes = mem_realloc(t->nodes, (t->count ? 2 * t->count : 1) * sizeof(*t->nodes));
	n->kind = kind;
	t->nodes[t->count++] = n;
	return n;
}

void yaml_node_add(struct yaml_node *n, struct yaml_node *key, struct yaml_node *item)
{
	if ((n->count & (n->count - 1)) == 0) {
		size_t bytes = (n->count ? 2 * n->count : 1) * sizeof(*n->items);

		n->items = mem_realloc(n->items, bytes);
		if (n->kind == YAML_MAP)
			n->keys = mem_realloc(n->keys, bytes);
	}
	if (n->kind == YAML_MAP)
		n->keys[n->count] = key;
	n->items[n->count++] = item;
}

static bool find_index(const struct yaml_node *map, const char *key, size_t *at)
{
	for (*at = 0; *at < map->count; (*at)++)
		if (strcmp(map->keys[*at]->text, key) == 0)
			return true;
	return false;
}

/* ---- files ---- */

#ifdef HAVE_YAML

static int cannot_read(const char *path, int rc, struct mlgen_err *err)
{
	return mlgen_fail(err, rc, "%s: %s", path, strerror(-rc));
}

static int yaml_tree_read_all(int fd, const char *path, struct buf *text, struct mlgen_err *err)
{
	char chunk[16384];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cannot_read(path, -errno, err);
		buf_addn(text, chunk, (size_t)n);
		if (text->len > YAML_BYTES_MAX)
			return mlgen_fail(
				err, -EFBIG,
				"%s: more than %u MiB; is this the configuration of a workload?",
				path, YAML_BYTES_MAX >> 20);
	}
	return 0;
}

static int open_file(const char *path, struct mlgen_err *err)
{
	struct stat st;
	int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO)
					: open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return cannot_read(path, -errno, err);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return mlgen_fail(err, -EISDIR, "%s: a directory, not a YAML file", path);
	}
	return fd;
}

int yaml_tree_read(struct yaml_tree *t, const char *path, struct yaml_node **root,
		   struct mlgen_err *err)
{
	struct buf text = { 0 };
	int fd = open_file(path, err), rc;

	*root = NULL;
	if (fd < 0)
		return fd;
	rc = yaml_tree_read_all(fd, path, &text, err);
	close(fd);
	if (rc == 0)
		rc = yaml_tree_parse(t, path, true, buf_str(&text), text.len, root, err);
	buf_fini(&text);
	return rc;
}

#else

static int not_built(struct yaml_node **root, struct mlgen_err *err)
{
	*root = NULL;
	return mlgen_fail(err, -ENOTSUP,
			  "YAML cannot be read: mlgen was built without libyaml (%s); install it, "
			  "then run ./configure and make again",
			  PACKAGES_YAML);
}

int yaml_tree_parse(struct yaml_tree *t, const char *name, bool is_file, const char *text,
		    size_t len, struct yaml_node **root, struct mlgen_err *err)
{
	(void)t;
	(void)name;
	(void)is_file;
	(void)text;
	(void)len;
	return not_built(root, err);
}

int yaml_tree_read(struct yaml_tree *t, const char *path, struct yaml_node **root,
		   struct mlgen_err *err)
{
	(void)t;
	(void)path;
	return not_built(root, err);
}

#endif

/* ---- setting ---- */

static struct yaml_node *text_node(struct yaml_tree *t, const struct yaml_node *like,
				   const char *text, size_t len)
{
	struct yaml_node *n = yaml_node_new(t, YAML_TEXT);

	n->from = like->from;
	n->line = like->line;
	n->column = like->column;
	n->text = mem_strndup(text, len);
	n->is_plain = true;
	return n;
}

/* A map of the same entries, or of none, where there is none yet. */
static struct yaml_node *own_map(struct yaml_tree *t, const struct yaml_node *old,
				 const struct yaml_node *like)
{
	struct yaml_node *n = yaml_node_new(t, YAML_MAP);

	n->from = old ? old->from : like->from;
	n->line = old ? old->line : like->line;
	n->column = old ? old->column : like->column;
	for (size_t i = 0; old && i < old->count; i++)
		yaml_node_add(n, old->keys[i], old->items[i]);
	return n;
}

int yaml_tree_set(struct yaml_tree *t, struct yaml_node *map, const char *path,
		  struct yaml_node *value, struct mlgen_err *err)
{
	for (;;) {
		size_t len = strcspn(path, "."), at;
		struct yaml_node *key = text_node(t, value, path, len);
		struct yaml_node *next = value;

		if (!len)
			return mlgen_fail(err, -EINVAL, "%s: a name is missing beside a dot",
					  value->from);
		if (!find_index(map, key->text, &at))
			yaml_node_add(map, key, NULL);
		if (path[len]) {
			const struct yaml_node *old = map->items[at];

			if (old && old->kind != YAML_MAP && !yaml_is_null(old))
				return mlgen_fail(err, -EINVAL,
						  "%s: %s is no map of keys in the file",
						  value->from, key->text);
			next = own_map(t, old && old->count ? old : NULL, value);
		}
		map->keys[at] = key;
		map->items[at] = next;
		if (!path[len])
			return 0;
		map = next;
		path += len + 1;
	}
}

/* ---- looking ---- */

const struct yaml_node *yaml_find(const struct yaml_node *map, const char *key)
{
	size_t at;

	if (!map || map->kind != YAML_MAP || !find_index(map, key, &at))
		return NULL;
	return map->items[at];
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
	for (size_t i = 0; i < t->count; i++) {
		mem_free(t->nodes[i]->text);
		mem_free(t->nodes[i]->keys);
		mem_free(t->nodes[i]->items);
		mem_free(t->nodes[i]);
	}
	mem_free(t->nodes);
	*t = (struct yaml_tree){ 0 };
}
