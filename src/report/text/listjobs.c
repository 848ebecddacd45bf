/* SPDX-License-Identifier: Apache-2.0 */
/* listjobs.c - --list-jobs: the available job files. */
#include "report/text/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/log.h"
#include "base/util.h"
#include "base/vec.h"
#include "io/host.h"
#include "job/job.h"
#include "report/plan/plan.h"

#define SUFFIX ".job"
#define SEES_COMMENT "# What storage sees: "
#define VARIANT_HEADER "[accelerator="
/* Widths of columns: a long text in `what storage sees` is cut; a long name extends into the next
 * column. */
#define SEES_MAX 40
#define NAME_MAX_WIDTH 14

struct job_entry {
	char *name; /* file name without the suffix */
	char *path;
	char *sees;        /* the text for `what storage sees`; NULL = not in the file */
	char *variants;    /* "v100 a100 h100", NULL = none */
	int rc;            /* result of opening the file; pipes and devices are refused */
	const char *wrong; /* the kind of a refused file, or NULL */
};

struct job_list {
	VEC(struct job_entry) entries;
	size_t name_width, sees_width;
};

static bool has_name(const struct job_list *l, const char *name)
{
	for (size_t i = 0; i < l->entries.count; i++)
		if (strcmp(l->entries.at[i].name, name) == 0)
			return true;
	return false;
}

/* Add the jobs of a folder, which may be missing. `searched` lists the folders. */
static void add_folder(struct job_list *l, const char *path, struct buf *searched)
{
	if (!path || !*path)
		return;
	buf_addf(searched, "%s%s", searched->len ? ", " : "", path);
	DIR *d = opendir(path);
	if (!d)
		return;
	struct dirent *e;
	while ((e = readdir(d))) {
		size_t len = strlen(e->d_name), suffix = strlen(SUFFIX);

		if (len <= suffix || e->d_name[0] == '.' ||
		    strcmp(e->d_name + len - suffix, SUFFIX) != 0)
			continue;
		char *name = mem_strndup(e->d_name, len - suffix);
		if (has_name(l, name)) {
			mem_free(name);
			continue;
		}
		struct buf whole = { 0 }, shown = { 0 };
		printable_add(&shown, name);
		mem_free(name);
		name = buf_detach(&shown);
		buf_addf(&whole, "%s/%s", path, e->d_name);
		vec_push(&l->entries,
			 (struct job_entry){ .name = name, .path = buf_detach(&whole) });
	}
	closedir(d);
}

COMPARE_BY_TEXT(listjobs_by_name, struct job_entry, name)

/* The first sentence of a text, without its full stop; a dot inside a number does not end a
 * sentence. */
static char *first_sentence(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (text[i] == '.' && (i + 1 == len || text[i + 1] == ' '))
			len = i;
	if (len <= SEES_MAX)
		return mem_strndup(text, len);
	len = SEES_MAX - strlen("...");
	while (len && text[len] != ' ')
		len--;
	struct buf cut = { 0 };
	buf_addn(&cut, text, len);
	buf_add(&cut, "...");
	return buf_detach(&cut);
}

/* Read the comment about storage, and the names of accelerators. */
static void read_comments(struct job_entry *e)
{
	char *line = NULL;
	size_t size = 0, skip = BOM_BYTES;
	struct buf variants = { 0 }, shown = { 0 };
	FILE *f;

	e->rc = filekind_open(&f, AT_FDCWD, e->path, 0, JOBREADER_BYTES_MAX, &e->wrong);
	if (e->rc < 0)
		return;
	while (getline(&line, &size, f) >= 0) {
		line[strcspn(line, "\r\n")] = '\0';
		buf_reset(&shown);
		skip = skip ? bom_bytes(line, strlen(line)) : 0;
		printable_add(&shown, line + skip);
		skip = 0;

		/* The line was made printable above, so that widths match the output. */
		const char *text = buf_str(&shown);
		size_t sees = strlen(SEES_COMMENT);
		size_t header = strlen(VARIANT_HEADER);

		if (!e->sees && strncmp(text, SEES_COMMENT, sees) == 0)
			e->sees = first_sentence(text + sees);
		if (strncmp(text, VARIANT_HEADER, header) == 0) {
			if (variants.len)
				buf_addc(&variants, ' ');
			buf_addn(&variants, text + header, strcspn(text + header, "]"));
		}
	}
	buf_fini(&shown);
	free(line);
	fclose(f);
	if (variants.len)
		e->variants = buf_detach(&variants);
	buf_fini(&variants);
}

static void widen_width(size_t *width, const char *text)
{
	size_t len = text ? printable_columns(text) : 0;

	if (len > *width)
		*width = len;
}

/* "h100 (v100 a100 b200)": the default accelerator, then the alternatives. */
static void print_accelerators(FILE *to, const struct job_entry *e, const char *accelerator)
{
	const char *between = " (";

	if (!accelerator)
		return;
	fprintf(to, "  %s", accelerator);
	for (const char *name = e->variants; name && *name;) {
		size_t len = strcspn(name, " ");

		if (strlen(accelerator) != len || strncmp(name, accelerator, len) != 0) {
			fprintf(to, "%s%.*s", between, (int)len, name);
			between = " ";
		}
		name += len + (name[len] == ' ');
	}
	if (between[1] == '\0')
		fputc(')', to);
}

static void print_loaded(FILE *to, const struct job_list *l, const struct job_entry *e,
			 const struct job *j, const struct host *host)
{
	size_t left = l->name_width + 2 + l->sees_width;
	struct buf both = { 0 }, line = { 0 };
	struct listing f = { .size = "-", .need = "-" };

	if (job_work(j)->page->list)
		job_work(j)->page->list(&f, j, host);
	printable_pad(&both, e->name, -(int)l->name_width);
	buf_addf(&both, "  %s", e->sees ? e->sees : "-");
	printable_pad(&line, buf_str(&both), -(int)left);
	fprintf(to, "%s  %9s  %10s", buf_str(&line), f.size, f.need);
	if (f.who[0])
		fprintf(to, "  %s", f.who);
	else
		print_accelerators(to, e, j->accelerator);
	fputc('\n', to);
	buf_fini(&both);
	buf_fini(&line);
}

static void print_job(FILE *to, const struct job_list *l, const struct job_entry *e,
		      const struct jobset_env *env, const struct host *host)
{
	/* Use --parse-only, so that no code of an engine runs. */
	char program[] = "mlgen", only[] = "--parse-only";
	char *argv[] = { program, only, e->path, NULL };
	struct jobset set = { 0 };
	struct diag d;

	if (e->rc < 0) {
		fprintf(to, "%-*s  cannot be loaded: %s: %s\n", (int)l->name_width, e->name,
			e->path, e->wrong ? e->wrong : strerror(-e->rc));
		return;
	}
	diag_init(&d);
	if (jobset_load(&set, 3, argv, env, &d) == 0 && set.count)
		print_loaded(to, l, e, set.jobs[0], host);
	else
		fprintf(to, "%-*s  cannot be loaded; mlgen %s --parse-only shows why\n",
			(int)l->name_width, e->name, e->path);
	jobset_fini(&set);
	diag_fini(&d);
}

static void print_list(FILE *to, struct job_list *l, const struct jobset_env *env)
{
	bool has_choice = false;
	struct host host;

	host_read(&host);
	l->sees_width = strlen("what storage sees");
	for (size_t i = 0; i < l->entries.count; i++) {
		struct job_entry *e = &l->entries.at[i];

		read_comments(e);
		if (printable_columns(e->name) <= NAME_MAX_WIDTH)
			widen_width(&l->name_width, e->name);
		widen_width(&l->sees_width, e->sees);
		has_choice |= e->variants && strchr(e->variants, ' ');
	}
	fprintf(to, "%-*s  %-*s  %9s  %s\n", (int)l->name_width, "job", (int)l->sees_width,
		"what storage sees", "size", "one accelerator needs");
	for (size_t i = 0; i < l->entries.count; i++)
		print_job(to, l, &l->entries.at[i], env, &host);
	if (has_choice)
		fprintf(to, "--accelerator=NAME selects a name in brackets; --dry-run "
			    "shows details of a job\n");
}

int listjobs(FILE *to, const struct jobset_env *env, struct mlgen_err *err)
{
	struct buf searched = { 0 };
	struct job_list list = { 0 };
	int rc = 0;
	struct buf binary_jobs = { 0 };

	add_folder(&list, getenv("MLGEN_JOBS"), &searched);
	if (env->binary_dir)
		buf_addf(&binary_jobs, "%s/jobs", env->binary_dir);
	add_folder(&list, buf_str(&binary_jobs), &searched);
	add_folder(&list, env->installed_dir, &searched);
	buf_fini(&binary_jobs);
	if (list.entries.count)
		qsort(list.entries.at, list.entries.count, sizeof(*list.entries.at),
		      listjobs_by_name);

	if (list.entries.count)
		print_list(to, &list, env);
	else
		rc = mlgen_fail(err, -ENOENT,
				"no NAME.job in %s; set MLGEN_JOBS to a folder of job files",
				searched.len ? buf_str(&searched) : "any folder");
	for (size_t i = 0; i < list.entries.count; i++) {
		mem_free(list.entries.at[i].name);
		mem_free(list.entries.at[i].path);
		mem_free(list.entries.at[i].sees);
		mem_free(list.entries.at[i].variants);
	}
	vec_fini(&list.entries);
	buf_fini(&searched);
	return rc;
}
