/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_job.c - writes the job file of a DLIO workload. */
#include "import/dlio/dlio_config.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"
#include "import/dlio/dlio_writer.h"

/* ---- keys that became no option, and why ---- */

/* Bytes of a text, and of a list or map, that are shown. */
#define SHOWN 50
#define SHOWN_TREE 300
#define NOT_SHOWN "(not shown)"

/* Reasons in a workload without checkpoints. Other reasons are in the table of keys. */
static const struct {
	const char *begin, *why;
} unsaved[] = {
	{ "model.type", "does not say what is read or written" },
	{ "model.", "no checkpoint of the model is saved" },
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

/* Is this the path of a credential, which should not appear in a job file? */
static bool is_secret(const char *path)
{
	static const char *const words[] = { "key",      "secret",     "token",
					     "password", "credential", "storage_options" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcasestr(path, words[i]))
			return true;
	return false;
}

/* Append a node in YAML's short form. It is cut after `most` bytes, since aliases of aliases can
 * make it too large for memory. */
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

static void write_unused_key(struct dlio_writer *w, const char *path, const struct yaml_node *n,
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
	dlio_comment(w, "%s", buf_str(&text));
	buf_fini(&text);
}

/* Write a comment for each key of the YAML that became no option. */
static void dlio_write_unused(struct dlio_writer *w)
{
	const struct dlio_config *c = w->c;

	buf_reset(&w->defaults);
	for (size_t i = 0; i < c->extras.count; i++) {
		const struct dlio_extra *x = &c->extras.at[i];

		write_unused_key(w, x->path, x->node, x->why);
	}
	for (const struct dlio_key *k = dlio_keys; k->path; k++) {
		const struct dlio_value *v = &c->values[k - dlio_keys];

		if (v->node && !v->is_used)
			write_unused_key(w, k->path, v->node, why_unused(w, k));
	}
	if (w->block.len)
		dlio_block(w, "keys of the YAML without a counterpart");
}

#define NAME_MAX_BYTES 64

/* The accelerator on which "unet3d_h100.yaml" was measured, or NULL. */
static const char *find_accelerator(const char *file)
{
	static const char *const known[] = { "v100", "a100",  "h100", "h200",
					     "b200", "mi300", "mi355" };

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		const char *at = strstr(file, known[i]);
		size_t len = strlen(known[i]);

		if (at && at > file && at[-1] == '_' && (!at[len] || strchr("._", at[len])))
			return known[i];
	}
	return NULL;
}

/* ---- directories ---- */

#define FILE_URL "file://"

/* Append the path below storage_root, without "file://", a leading "./" and trailing slashes. */
static void add_folder(struct dlio_writer *w, struct buf *path, const char *folder)
{
	const char *root = dlio_get_quietly(w, "storage.storage_root")->text;
	size_t len;

	if (*folder != '/' && !strstr(folder, "://") && root && !dlio_has_word(". ./", root)) {
		buf_add(path, root);
		if (*root && root[strlen(root) - 1] != '/')
			buf_addc(path, '/');
	}
	if (strncmp(folder, FILE_URL, strlen(FILE_URL)) == 0)
		folder += strlen(FILE_URL);
	if (folder[0] == '.' && folder[1] == '/' && folder[2])
		folder += 2;
	len = strlen(folder);
	while (len > 1 && folder[len - 1] == '/')
		len--;
	buf_addn(path, folder, len);
}

void dlio_write_directory(struct dlio_writer *w, const char *option, const char *path)
{
	const char *text = dlio_get(w, path)->text;
	const char *folder = text ? text : "";
	const char *storage = dlio_value(w->c, "storage.storage_type")->text;
	bool is_saved = strcmp(path, "checkpoint.checkpoint_folder") == 0;
	struct buf place = { 0 };
	bool fits = false;

	/* Object storage, or storage of DLIO's plug-ins. */
	if (strncmp(folder, FILE_URL, strlen(FILE_URL)) != 0 &&
	    (dlio_has_word(DLIO_FOREIGN, storage) || strstr(folder, "://"))) {
		const char *type = dlio_get(w, "storage.storage_type")->text;
		const char *root = dlio_get(w, "storage.storage_root")->text;

		dlio_comment(w,
			     "The YAML says %.80s in %.80s (%s). mlgen uses file systems only, so "
			     "a directory takes its place.",
			     folder, root, type);
	} else {
		add_folder(w, &place, folder);
		fits = dlio_option_text(w, option, buf_str(&place));
		if (!fits)
			dlio_comment(w,
				     "The YAML says '%.80s', which no line of a job file can hold.",
				     folder);
	}
	if (!fits)
		dlio_option(w, "%s=${MLGEN_DIR:-mlgen-data}/%s%s", option, w->name,
			    is_saved ? "-checkpoints" : "");
	buf_fini(&place);
}

/* ---- purpose ---- */

enum purpose { TRAINS, PREPARES, SAVES };

static bool dlio_is_true(const struct dlio_config *c, const char *path)
{
	return dlio_value(c, path)->is_true;
}

/* Is `train: True` a mistake? One of DLIO's workloads has it, but has no dataset and only does
 * checkpoints. */
static bool is_slip(const struct dlio_config *c)
{
	if (!dlio_is_true(c, "workflow.train") || !dlio_is_true(c, "workflow.checkpoint") ||
	    !(dlio_is_set(c, "checkpoint.num_checkpoints_write") ||
	      dlio_is_set(c, "checkpoint.num_checkpoints_read")))
		return false;
	for (const struct dlio_key *k = dlio_keys; k->path; k++)
		if (c->values[k - dlio_keys].node &&
		    (strncmp(k->path, "dataset.", 8) == 0 || strncmp(k->path, "reader.", 7) == 0 ||
		     strncmp(k->path, "train.", 6) == 0))
			return false;
	return true;
}

static enum purpose find_purpose(struct dlio_writer *w)
{
	struct dlio_config *c = w->c;
	bool trains = dlio_get(w, "workflow.train")->is_true;
	bool generates = dlio_get(w, "workflow.generate_data")->is_true;
	bool saves = dlio_get(w, "workflow.checkpoint")->is_true;

	dlio_get(w, "workflow.evaluation");
	if (is_slip(c) || (saves && !trains))
		return SAVES;
	if (trains)
		return TRAINS;
	if (!generates)
		dlio_fault_of(c, "workflow.train",
			      "False, and neither generate_data nor checkpoint is True: there is "
			      "nothing to do");
	return PREPARES;
}

/* ---- blocks ---- */

static void write_head(struct dlio_writer *w, enum purpose purpose)
{
	static const char *const size[] = {
		[TRAINS] = "--accelerators=8",
		[PREPARES] = "--num_files=1000",
		[SAVES] = "--scale=1%",
	};

	dlio_comment(w, "%.80s: imported by mlgen from DLIO's %.80s.", w->name, w->file);
	buf_add(&w->block, "#\n");
	buf_addf(&w->block,
		 "#   mlgen %s.job --dry-run            what it needs, and whether it fits here\n# "
		 "  mlgen %s.job --directory=/mnt/array/%s %s",
		 w->name, w->name, w->name, size[purpose]);
	/* The checkpoint folder in the YAML may be relative to the current folder. */
	if (purpose == TRAINS && dlio_is_true(w->c, "workflow.checkpoint"))
		buf_addf(&w->block, " \\\n#      --checkpoint_directory=/mnt/array/%s-checkpoints",
			 w->name);
	buf_add(&w->block, "\n#\n");
	dlio_comment(w, "This job does what the YAML says. If DLIO's code does something else, a "
			"comment says so.");
	if (is_slip(w->c))
		dlio_comment(w, "The YAML says train: True but has no dataset, unlike similar "
				"workloads. This job only saves and restores.");
	buf_reset(&w->defaults);
	dlio_block(w, NULL);
}

static void write_train_job(struct dlio_writer *w)
{
	bool saves = dlio_is_true(w->c, "workflow.checkpoint");
	const char *accelerator = find_accelerator(w->file);
	bool has_steps;

	buf_addf(w->out, "\n[%s]\n", w->name);
	dlio_write_directory(w, "directory", "dataset.data_folder");
	dlio_option(w, "phase=train");
	if (accelerator)
		dlio_option(w, "accelerator=%s", accelerator);
	dlio_comment(w, "DLIO has one accelerator for each rank that mpirun starts.");
	dlio_option(w, "accelerators=1");
	dlio_block(w, NULL);
	dlio_write_dataset(w);
	dlio_option_from(w, "reader.batch_size");
	dlio_option_from(w, "train.computation_time");
	dlio_option(w, "barrier=step");
	dlio_option_from(w, "train.epochs");
	has_steps = dlio_get(w, "train.total_training_steps")->number >= 1;
	if (has_steps && dlio_value(w->c, "train.epochs")->number > 1)
		dlio_comment(w,
			     "total_training_steps: DLIO ends each epoch after this many steps.");
	if (has_steps)
		dlio_option_from(w, "train.total_training_steps");
	if (dlio_is_set(w->c, "metric.au"))
		dlio_option_from(w, "metric.au");
	dlio_block(w, "what an accelerator does with it");
	if (dlio_is_true(w->c, "workflow.evaluation"))
		dlio_write_evaluation(w);
	dlio_write_reader(w, saves);
	if (saves)
		dlio_write_saving(w);
}

static void write_prepare_job(struct dlio_writer *w)
{
	buf_addf(w->out, "\n[%s]\n", w->name);
	dlio_write_directory(w, "directory", "dataset.data_folder");
	dlio_option(w, "phase=prepare");
	dlio_block(w, NULL);
	dlio_write_dataset(w);
}

static void write_save_job(struct dlio_writer *w)
{
	buf_add(w->out, "\n[global]\n");
	dlio_write_directory(w, "directory", "checkpoint.checkpoint_folder");
	dlio_block(w, NULL);
	dlio_write_checkpoints(w);
}

void dlio_job(struct dlio_config *c, const char *file, struct buf *out)
{
	static void (*const parts[])(struct dlio_writer *) = {
		[TRAINS] = write_train_job,
		[PREPARES] = write_prepare_job,
		[SAVES] = write_save_job,
	};
	const char *slash = strrchr(file, '/');
	struct dlio_writer w = { .c = c, .file = slash ? slash + 1 : file, .out = out };
	struct buf name = { 0 };
	const char *text = dlio_get(&w, "model.name")->text;
	enum purpose purpose;
	size_t len;

	if (!text || !*text)
		text = w.file;
	/* A name that is valid as that of a section, and in a path. */
	len = u64_min(strcspn(text, "."), NAME_MAX_BYTES);
	for (size_t i = 0; i < len; i++) {
		unsigned char ch = (unsigned char)text[i];

		buf_addc(&name, isalnum(ch) || ch == '_' || ch == '-' ? (char)ch : '-');
	}
	if (!name.len || strcmp(buf_str(&name), "global") == 0)
		buf_add(&name, "workload");
	w.name = buf_str(&name);
	purpose = find_purpose(&w);
	write_head(&w, purpose);
	parts[purpose](&w);
	dlio_write_unused(&w);
	dlio_writer_fini(&w);
	buf_fini(&name);
}
