/* SPDX-License-Identifier: Apache-2.0 */
/* listjobs.c - --list-jobs: the job files at hand, and what they ask of storage. */
#include "report/listjobs.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"
#include "data/dataset.h"
#include "io/host.h"
#include "report/show.h"

#define SUFFIX ".job"
#define STORAGE_COMMENT "# storage: "
#define VARIANT_HEADER "[accelerator="

struct entry {
	char *name; /* without the suffix */
	char *path;
	char *sees;     /* what storage sees; NULL = not said */
	char *variants; /* " v100 a100 h100", NULL = none */
	unsigned variant_count;
};

struct list {
	struct entry *entries;
	size_t count;
};

static bool has_name(const struct list *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->entries[i].name, name) == 0)
			return true;
	return false;
}

static void add_entry(struct list *l, const char *dir, const char *file)
{
	size_t len = strlen(file), suffix = strlen(SUFFIX);
	if (len <= suffix || file[0] == '.' ||
	    strcmp(file + len - suffix, SUFFIX) != 0)
		return;
	char *name = mem_strndup(file, len - suffix);
	if (has_name(l, name)) {
		mem_free(name);
		return;
	}
	struct buf path = { 0 };
	buf_addf(&path, "%s/%s", dir, file);
	l->entries =
		mem_realloc(l->entries, (l->count + 1) * sizeof(*l->entries));
	l->entries[l->count++] =
		(struct entry){ .name = name, .path = buf_take(&path) };
}

/* A folder that is not there has no jobs. */
static void add_folder(struct list *l, const char *path, struct buf *looked)
{
	if (!path || !*path)
		return;
	buf_addf(looked, "%s%s", looked->len ? ", " : "", path);
	DIR *d = opendir(path);
	if (!d)
		return;
	struct dirent *e;
	while ((e = readdir(d)))
		add_entry(l, path, e->d_name);
	closedir(d);
}

static int by_name(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return strcmp(x->name, y->name);
}

static void find_jobs(struct list *l, const struct jobset_env *env,
		      struct buf *looked)
{
	struct buf beside = { 0 };
	add_folder(l, getenv("MLGEN_JOBS"), looked);
	if (env->binary_dir)
		buf_addf(&beside, "%s/jobs", env->binary_dir);
	add_folder(l, buf_str(&beside), looked);
	add_folder(l, env->installed_dir, looked);
	buf_fini(&beside);
	if (l->count)
		qsort(l->entries, l->count, sizeof(*l->entries), by_name);
}

static void free_jobs(struct list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		mem_free(l->entries[i].name);
		mem_free(l->entries[i].path);
		mem_free(l->entries[i].sees);
		mem_free(l->entries[i].variants);
	}
	mem_free(l->entries);
}

static void read_line(struct entry *e, const char *line, struct buf *variants)
{
	size_t storage = strlen(STORAGE_COMMENT);
	size_t header = strlen(VARIANT_HEADER);
	if (!e->sees && strncmp(line, STORAGE_COMMENT, storage) == 0)
		e->sees = mem_strndup(line + storage,
				      strcspn(line + storage, "\r\n"));
	if (strncmp(line, VARIANT_HEADER, header) == 0) {
		buf_addc(variants, ' ');
		buf_addn(variants, line + header,
			 strcspn(line + header, "]\r\n"));
		e->variant_count++;
	}
}

/* What the file says to people, and the accelerators it knows. */
static void read_comments(struct entry *e)
{
	FILE *f = fopen(e->path, "re");
	char *line = NULL;
	size_t size = 0;
	struct buf variants = { 0 };
	if (!f)
		return;
	while (getline(&line, &size, f) >= 0)
		read_line(e, line, &variants);
	free(line);
	fclose(f);
	if (variants.len)
		e->variants = buf_take(&variants);
	buf_fini(&variants);
}

static double need_of(const struct job *j)
{
	double seconds = dist_mean(&j->compute_time) / 1e9;
	return seconds > 0 ? dist_mean(&j->sample_size) *
				     (double)j->batch_size / seconds
			   : (double)NAN;
}

/* The figures of a loaded job: dataset, need of one, accelerator. */
static void put_figures(FILE *to, const struct entry *e, const struct job *j,
			const struct host *host)
{
	char size[UNITS_TEXT_BYTES] = "-", need[UNITS_TEXT_BYTES] = "-";
	double rate = need_of(j);
	struct mlgen_err err = { 0 };
	struct dataset ds;
	if (dataset_init(&ds, j, host->memory_bytes, &err) == 0) {
		struct dataset_totals t;
		dataset_totals(&ds, &t);
		units_human_bytes(size, (double)t.bytes);
		dataset_fini(&ds);
	}
	if (!isnan(rate)) {
		struct rate_unit u = show_rate_unit(rate);
		show_rate(need, &u, rate);
	}
	fprintf(to, "%-20s  %-34.34s  %8s  %10s", e->name,
		e->sees ? e->sees : "-", size, need);
	if (j->accelerator)
		fprintf(to, "  %s%s", j->accelerator,
			e->variant_count > 1 ? " *" : "");
	fputc('\n', to);
}

static void put_job(FILE *to, const struct entry *e,
		    const struct jobset_env *env, const struct host *host)
{
	char program[] = "mlgen";
	char *argv[] = { program, e->path, NULL };
	struct jobset set = { 0 };
	struct diag d;
	diag_init(&d);
	if (jobset_load(&set, 2, argv, env, &d) == 0 && set.count)
		put_figures(to, e, set.jobs[0], host);
	else
		fprintf(to,
			"%-20s  cannot be loaded; mlgen %s --parse-only says "
			"why\n",
			e->name, e->path);
	jobset_fini(&set);
	diag_fini(&d);
}

static void put_variants(FILE *to, const struct list *l)
{
	bool is_first = true;
	for (size_t i = 0; i < l->count; i++) {
		const struct entry *e = &l->entries[i];
		if (e->variant_count < 2)
			continue;
		if (is_first)
			fprintf(to, "* --accelerator=NAME picks another:\n");
		is_first = false;
		fprintf(to, "  %-18s %s\n", e->name, e->variants);
	}
}

int listjobs(FILE *to, const struct jobset_env *env, struct mlgen_err *err)
{
	struct buf looked = { 0 };
	struct list list = { 0 };
	struct host host;
	int rc = 0;
	find_jobs(&list, env, &looked);
	host_read(&host);
	if (list.count)
		fprintf(to, "%-20s  %-34s  %8s  %s\n", "job",
			"what storage sees", "dataset",
			"one accelerator needs");
	else
		rc = mlgen_fail(err, -ENOENT,
				"no NAME.job in %s; set MLGEN_JOBS to a folder "
				"of job files",
				looked.len ? buf_str(&looked) : "any folder");
	for (size_t i = 0; i < list.count; i++) {
		read_comments(&list.entries[i]);
		put_job(to, &list.entries[i], env, &host);
	}
	put_variants(to, &list);
	free_jobs(&list);
	buf_fini(&looked);
	return rc;
}
