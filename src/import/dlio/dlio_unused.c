/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_unused.c - keys of an imported workload that nothing became of, and why. */
#include "import/dlio/dlio_parts.h"

#include <string.h>

/* Of a text, and of a list or map. */
#define SHOWN 50
#define SHOWN_TREE 300
#define NOT_SHOWN "(not shown)"

enum when { ALWAYS, SAVED, NOT_SAVED };

/* Keys that have a counterpart, where the workload has no use for it: the
 * first that fits. */
static const struct {
	const char *begin;
	enum when when;
	const char *why;
} reasons[] = {
	{ "evaluation.", ALWAYS, "nothing is evaluated" },
	{ "dataset.num_files_eval", ALWAYS, "nothing is evaluated" },
	{ "reader.batch_size_eval", ALWAYS, "nothing is evaluated" },
	{ "model.type", ALWAYS, "says nothing of what is read or written" },
	{ "model.", NOT_SAVED, "no checkpoint is saved of it" },
	{ "checkpoint.", NOT_SAVED, "no checkpoint is saved" },
	{ "model.model_size", SAVED, "other keys say what is saved" },
	{ "model.", SAVED, "no layers, so that the state is one tensor" },
	{ "checkpoint.type", SAVED, "the parallelism says which ranks save" },
	{ "checkpoint.checkpoint_after_epoch", SAVED,
	  "steps_between_checkpoints counts" },
	{ "checkpoint.epochs_between_checkpoints", SAVED,
	  "steps_between_checkpoints counts" },
	{ "checkpoint.", SAVED, "counts where nothing is trained" },
	{ "storage.storage_type", ALWAYS, "a directory, whatever it lies on" },
	{ "dataset.parquet.", ALWAYS, "counts with format: parquet only" },
	{ "dataset.record_", ALWAYS, "other keys say how large a sample is" },
	{ "reader.shuffle_size", ALWAYS, "no buffer of samples is shuffled" },
	{ "reader.computation_threads", ALWAYS, "TensorFlow has them" },
	{ "reader.transfer_size", ALWAYS, "TensorFlow has it" },
	{ "train.computation_time_stdev", ALWAYS,
	  "counts with a normal distribution" },
	{ "train.seed_change_epoch", ALWAYS, "nothing is shuffled" },
};

static const char *why_unused(const struct dlio_writer *w, const char *path)
{
	enum when now = w->used[DLIO_FSYNC] ? SAVED : NOT_SAVED;

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (strncmp(path, reasons[i].begin, strlen(reasons[i].begin)) ==
			    0 &&
		    (reasons[i].when == ALWAYS || reasons[i].when == now))
			return reasons[i].why;
	return "this workload has no use for it";
}

/* Who reads a job file need not see what opens somebody's storage. */
static bool is_secret(const char *path)
{
	static const char *const words[] = { "key",        "secret",
					     "token",      "password",
					     "credential", "storage_options" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcasestr(path, words[i]))
			return true;
	return false;
}

/* In YAML's short form; up to `most` bytes, or aliases of aliases would fill
 * the memory. */
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
			dlio_clean(out, n->keys[i]->text, SHOWN);
			buf_add(out, ": ");
		}
		if (is_map && is_secret(n->keys[i]->text))
			buf_add(out, NOT_SHOWN);
		else
			add_node(out, n->items[i], most);
	}
	buf_addc(out, is_map ? '}' : ']');
}

static void say_unused(struct dlio_writer *w, const char *path,
		       const struct yaml_node *n, const char *why)
{
	struct buf text = { 0 };

	dlio_clean(&text, path, 2 * SHOWN);
	buf_addc(&text, '=');
	if (is_secret(path))
		buf_add(&text, NOT_SHOWN);
	else
		add_node(&text, n, SHOWN_TREE);
	buf_addf(&text, ": %s",
		 why ? why
		     : "not a key of DLIO that mlgen "
		       "knows");
	if (!why && n->line)
		buf_addf(&text, " (line %u)", n->line);
	dlio_say(w, "%s", buf_str(&text));
	buf_fini(&text);
}

void dlio_write_unused(struct dlio_writer *w)
{
	const struct dlio_config *c = w->c;

	buf_reset(&w->defaults);
	for (size_t i = 0; i < c->extra_count; i++)
		say_unused(w, c->extras[i].path, c->extras[i].node,
			   c->extras[i].why);
	for (const struct dlio_key *k = dlio_keys; k->path; k++)
		if (k->id != DLIO_USED && dlio_is_set(c, k->id) &&
		    !w->used[k->id])
			say_unused(w, k->path, c->values[k->id].node,
				   why_unused(w, k->path));
	if (w->block.len)
		dlio_block(w, "keys of the YAML without a counterpart");
}
