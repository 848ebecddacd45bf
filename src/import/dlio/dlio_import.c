/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_import.c - implements --import=dlio, which prints a workload of DLIO as a job file. */
#include "ask/ask.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/util.h"
#include "field/fields.h"
#include "import/dlio/dlio_config.h"
#include "job/job.h"

/* Limit of unknown keys that are reported; the job file lists all of them. */
#define NOTES_MAX 20

static int dlio_import_refuse(const struct mlgen_err *err)
{
	struct buf text = { 0 };

	dlio_clean(&text, err->text, sizeof(err->text));
	log_error("%s", buf_str(&text));
	buf_fini(&text);
	return EXIT_USAGE;
}

/* ---- overrides ---- */

/* Is this an override as on DLIO's command line, "++workload.train.epochs=3"? */
static bool is_override(const char *arg)
{
	return *arg == '+' || strncmp(arg, "workload.", 9) == 0 ||
	       strncmp(arg, "workload=", 9) == 0;
}

static int override(struct yaml_tree *t, struct yaml_node *root, const char *arg,
		    struct mlgen_err *err)
{
	const char *path = arg + strspn(arg, "+");
	const char *equal = strchr(path, '=');
	struct yaml_node *value, *map = root;
	char *keys;
	int rc;

	if (strncmp(path, "workload.", 9) == 0)
		path += 9;
	if (!equal || equal <= path)
		return mlgen_fail(err, -EINVAL,
				  "%s: an override is written ++workload.GROUP.KEY=VALUE", arg);
	rc = yaml_tree_parse(t, arg, false, equal + 1, strlen(equal + 1), &value, err);
	if (rc < 0)
		return rc;
	if (!value)
		return mlgen_fail(err, -EINVAL, "%s: a value is missing", arg);
	for (size_t i = 0; i < root->count; i++)
		if (strcmp(root->at[i].key->text, "workload") == 0 &&
		    root->at[i].value->kind == YAML_MAP)
			map = root->at[i].value;
	keys = mem_strndup(path, (size_t)(equal - path));
	rc = yaml_tree_set(t, map, keys, value, err);
	mem_free(keys);
	return rc;
}

/* ---- the YAML ---- */

/* Check that the file is a workload of DLIO, and not the main file of Hydra, which names other
 * files. */
static int check_known(const char *file, const struct yaml_node *root, const struct dlio_config *c,
		       struct mlgen_err *err)
{
	const struct yaml_node *defaults = yaml_find(root, "defaults");

	if (c->known || c->fault_count)
		return 0;
	if (defaults)
		return mlgen_fail(
			err, -EINVAL,
			"%s:%u:%u: defaults names other files, which Hydra combines; import the "
			"workload's own file, such as configs/workload/NAME.yaml",
			file, defaults->line, defaults->column);
	return mlgen_fail(err, -EINVAL,
			  "%s: not a workload of DLIO: it has no key that such a workload has "
			  "(framework, model.name, workflow.train, dataset.format ...)",
			  file);
}

static int read_tree(struct yaml_tree *t, char *const *args, size_t count, struct yaml_node **root,
		     struct mlgen_err *err)
{
	int rc = yaml_tree_read(t, args[0], root, err);
	const struct yaml_node *n = *root;

	if (rc == 0 && (!n || yaml_is_null(n)))
		rc = mlgen_fail(err, -EINVAL, "%s: contains no values", args[0]);
	else if (rc == 0 && n->kind != YAML_MAP)
		rc = mlgen_fail(err, -EINVAL,
				"%s:%u:%u: not a workload of DLIO: it must be a map with keys such "
				"as model, dataset, reader, train",
				args[0], n->line, n->column);
	for (size_t i = 1; i < count && rc == 0; i++) {
		if (is_override(args[i]))
			rc = override(t, *root, args[i], err);
		else
			rc = mlgen_fail(err, -EINVAL,
					"%s: one YAML file at a time, followed by "
					"++workload.GROUP.KEY=VALUE",
					args[i]);
	}
	return rc;
}

/* ---- the answer ---- */

static void note(const struct dlio_extra *x, const char *what)
{
	/* The keys in their current and older spellings. */
	const char *words[2 * DLIO_ROWS_MAX + 1] = { 0 };
	size_t count = 0;
	const char *nearest;
	struct buf line = { 0 }, clean = { 0 };

	for (const struct dlio_key *k = dlio_keys; k->path; k++) {
		assert(count + 2 < ARRAY_LEN(words));
		words[count++] = k->path;
		if (k->older && !strchr(k->older, ' '))
			words[count++] = k->older;
	}
	nearest = x->why ? NULL : field_nearest_word(words, x->path);
	yaml_place(&line, x->node);
	buf_addf(&line, ": note: %.80s: %s", x->path, what);
	if (nearest)
		buf_addf(&line, "; did you mean %s?", nearest);
	dlio_clean(&clean, buf_str(&line), SIZE_MAX);
	log_plain("%s", buf_str(&clean));
	buf_fini(&line);
	buf_fini(&clean);
}

static void note_unknown(const struct dlio_config *c)
{
	size_t unknown = 0;

	for (size_t i = 0; i < c->extras.count; i++) {
		const struct dlio_extra *x = &c->extras.at[i];

		if (strcmp(x->path, "defaults") == 0)
			note(x, "names other files, and their values were not imported");
		else if (!x->why && ++unknown <= NOTES_MAX)
			note(x, "not a key of DLIO that mlgen knows");
	}
	if (unknown > NOTES_MAX)
		log_note("%zu more keys that mlgen does not know; the job file lists them all",
			 unknown - NOTES_MAX);
}

/* Load the job, which checks the rules that relate several options. The check is skipped without
 * memory files or /proc. */
static int check_job(const struct ask *a, const struct buf *job, const char *file)
{
	char program[] = "mlgen", path[64];
	char *const argv[] = { program, path, NULL };
	struct jobset set = { 0 };
	struct diag d;
	int rc = 0, fd = memfd_create("job", MFD_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	diag_init(&d);
	if (fd >= 0 && access(path, R_OK) == 0 && writeall(fd, buf_str(job), job->len) == 0)
		rc = jobset_load(&set, 2, argv, a->env, &d);
	for (size_t i = 0; i < d.count; i++)
		if (d.entries[i].level == DIAG_ERROR)
			log_error("%s: mlgen refuses the job made from it: %s", file,
				  d.entries[i].text);
	diag_fini(&d);
	jobset_fini(&set);
	if (fd >= 0)
		close(fd);
	return rc;
}

static void report_faults(const struct dlio_config *c)
{
	const char *text = buf_str(&c->faults);

	while (*text) {
		int len = (int)strcspn(text, "\n");

		log_plain("%.*s", len, text);
		text += len + (text[len] == '\n');
	}
	if (c->fault_count > DLIO_FAULTS_MAX)
		log_error("%zu more faults", c->fault_count - (size_t)DLIO_FAULTS_MAX);
}

static int dlio_import_answer(const struct ask *a, struct dlio_config *c, const char *file)
{
	struct buf job = { 0 };
	int status = EXIT_USAGE;

	if (c->fault_count == 0)
		dlio_job(c, file, &job);
	if (c->fault_count) {
		report_faults(c);
	} else if (check_job(a, &job, file) == 0) {
		note_unknown(c);
		status = EXIT_RAN;
		if (fputs(buf_str(&job), a->to) < 0 || fflush(a->to) != 0) {
			log_error("the job file cannot be written: %s", strerror(errno));
			status = EXIT_FAILED;
		}
	}
	buf_fini(&job);
	return status;
}

int ask_import_dlio(const struct ask *a)
{
	char *const *files = a->set->files;
	struct mlgen_err err = { 0 };
	struct yaml_tree tree = { 0 };
	struct yaml_node *root;
	int status;

	if (!a->set->file_count || is_override(files[0])) {
		log_error("--import=dlio: name the YAML file of a workload: mlgen --import=dlio "
			  "unet3d_h100.yaml");
		return EXIT_USAGE;
	}
	if (read_tree(&tree, files, a->set->file_count, &root, &err) < 0) {
		status = dlio_import_refuse(&err);
	} else {
		struct dlio_config config;

		dlio_config_read(&config, root);
		if (check_known(files[0], root, &config, &err) < 0)
			status = dlio_import_refuse(&err);
		else
			status = dlio_import_answer(a, &config, files[0]);
		dlio_config_fini(&config);
	}
	yaml_tree_fini(&tree);
	return status;
}
