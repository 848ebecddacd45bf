/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_unused.c - keys of an imported workload that nothing became of, and why. */
#include "import/dlio/dlio_parts.h"

#include <string.h>

#include "base/util.h"

/* Of a text, and of a list or map. */
#define SHOWN 50
#define SHOWN_TREE 300
#define NOT_SHOWN "(not shown)"

/* Of a workload that saves nothing; other reasons are those of the table. */
static const struct {
	const char *begin, *why;
} unsaved[] = {
	{ "model.type", "says nothing of what is read or written" },
	{ "model.", "no checkpoint is saved of it" },
	{ "checkpoint.", "no checkpoint is saved" },
};

static const char *why_unused(const struct dlio_writer *w, const struct dlio_key *k)
{
	bool saves = dlio_value(w->c, "checkpoint.fsync")->is_used;

	for (size_t i = 0; i < ARRAY_LEN(unsaved); i++)
		if (!saves && strncmp(k->path, unsaved[i].begin, strlen(unsaved[i].begin)) == 0)
			return unsaved[i].why;
	return k->unused ? k->unused : "this workload has no use for it";
}

/* Who reads a job file need not see what opens somebody's storage. */
static bool is_secret(const char *path)
{
	static const char *const words[] = { "key",      "secret",     "token",
					     "password", "credential", "storage_options" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcasestr(path, words[i]))
			return true;
	return false;
}

/* In YAML's short form; up to `most` bytes, or aliases of aliases would fill the memory. */
static void add_node(struct buf *out, const struct yaml_node *n, size_t most)
{
	bool is_map = n->kind == YAML_MAP;

	if (n->kind == YAML_TEXT) {
		dlio_clean(out, n->text, SHOWN);
		return;
	}
	buf_addc(out, is_map ? '{' : '[');
	for (size_t i = 0; i < n->count; i++) {
		if (i)
			buf_add(out, ", ");
		if (out->len > most) {
			buf_add(out, "...");
			break;
		}
		if (is_map) {
			dlio_clean(out, n->at[i].key->text, SHOWN);
			buf_add(out, ": ");
		}
		if (is_map && is_secret(n->at[i].key->text))
			buf_add(out, NOT_SHOWN);
		else
			add_node(out, n->at[i].value, most);
	}
	buf_addc(out, is_map ? '}' : ']');
}

static void say_unused(struct dlio_writer *w, const char *path, const struct yaml_node *n,
		       const char *why)
{
	struct buf text = { 0 };

	dlio_clean(&text, path, 2 * SHOWN);
	buf_addc(&text, '=');
	if (is_secret(path))
		buf_add(&text, NOT_SHOWN);
	else
		add_node(&text, n, SHOWN_TREE);
	buf_addf(&text, ": %s", why ? why : "not a key of DLIO that mlgen knows");
	if (!why && n->line)
		buf_addf(&text, " (line %u)", n->line);
	dlio_say(w, "%s", buf_str(&text));
	buf_fini(&text);
}

void dlio_write_unused(struct dlio_writer *w)
{
	const struct dlio_config *c = w->c;

	buf_reset(&w->defaults);
	for (size_t i = 0; i < c->extras.count; i++) {
		const struct dlio_extra *x = &c->extras.at[i];

		say_unused(w, x->path, x->node, x->why);
	}
	for (const struct dlio_key *k = dlio_keys; k->path; k++) {
		const struct dlio_value *v = &c->values[k - dlio_keys];

		if (v->node && !v->is_used)
			say_unused(w, k->path, v->node, why_unused(w, k));
	}
	if (w->block.len)
		dlio_block(w, "keys of the YAML without a counterpart");
}
