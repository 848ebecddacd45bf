/* SPDX-License-Identifier: Apache-2.0 */
/* jobset.c - from argv and job files to a list of validated jobs. */
#include "job/job_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "field/fields.h"

/* ---- job files by name ---- */

static char *try_path(const char *dir, const char *sub, const char *name)
{
	struct buf path = { 0 };

	if (!dir || !*dir)
		return NULL;
	buf_addf(&path, "%s/%s%s", dir, sub, name);
	if (access(buf_str(&path), F_OK) == 0)
		return buf_detach(&path);
	buf_fini(&path);
	return NULL;
}

bool jobset_is_path(const char *ioengine)
{
	return strchr(ioengine, '/') || strncmp(ioengine, "external:", 9) == 0;
}

/*
 * The path of a job file. A name is searched for in the current directory, in $MLGEN_JOBS, in jobs/
 * next to the binary and among the installed jobs; a name with a slash is a path. NULL = not found.
 * The caller frees the result (mem_free).
 */
static char *jobset_find_file(const char *name, const struct jobset_env *env)
{
	char *path = NULL;

	if (!*name || access(name, F_OK) == 0)
		return *name ? mem_strdup(name) : NULL;
	if (strchr(name, '/'))
		return NULL;
	path = try_path(getenv("MLGEN_JOBS"), "", name);
	if (!path)
		path = try_path(env->binary_dir, "jobs/", name);
	if (!path)
		path = try_path(env->installed_dir, "", name);
	return path;
}

struct job_names {
	char **names;
	size_t count;
};

/* Add the names of the job files in a folder, which need not exist. */
static void add_names(struct job_names *n, const char *path)
{
	DIR *dir = path && *path ? opendir(path) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const char *suffix = strrchr(entry->d_name, '.');

		if (!suffix || strcmp(suffix, ".job") != 0)
			continue;
		n->names = mem_realloc(n->names, (n->count + 1) * sizeof(*n->names));
		n->names[n->count++] = mem_strdup(entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/* The argument for the job file with the most similar name, in the folder of `name` or wherever
 * job files are searched. NULL = no name is similar. The caller frees the result (mem_free). */
static char *jobset_nearest_file(const char *name, const struct jobset_env *env)
{
	const char *slash = strrchr(name, '/');
	size_t folder_len = slash ? (size_t)(slash - name) + 1 : 0;
	struct job_names n = { 0 };
	struct buf folder = { 0 }, text = { 0 };
	const char *nearest;

	buf_addn(&folder, name, folder_len);
	if (slash) {
		add_names(&n, buf_str(&folder));
	} else {
		struct buf jobs = { 0 };

		add_names(&n, ".");
		add_names(&n, getenv("MLGEN_JOBS"));
		if (env->binary_dir)
			buf_addf(&jobs, "%s/jobs", env->binary_dir);
		add_names(&n, buf_str(&jobs));
		add_names(&n, env->installed_dir);
		buf_fini(&jobs);
	}
	/* readdir() returns names in no particular order. */
	if (n.count)
		qsort(n.names, n.count, sizeof(*n.names), text_compare);
	n.names = mem_realloc(n.names, (n.count + 1) * sizeof(*n.names));
	n.names[n.count] = NULL;
	nearest = field_nearest_word((const char *const *)n.names, name + folder_len);
	if (nearest)
		buf_addf(&text, "%s%s", buf_str(&folder), nearest);
	for (size_t i = 0; i < n.count; i++)
		mem_free(n.names[i]);
	mem_free(n.names);
	buf_fini(&folder);
	return text.len ? buf_detach(&text) : NULL;
}

/* ---- loading ---- */

struct load {
	struct jobset *set;
	struct resolver r;
	struct cmdline cmd;
	struct jobfile *files; /* cmd.file_count files */
	struct layers *jobs;   /* jobs that --section selects, in order */
	size_t job_count;
	const char **names; /* all jobs, selected or not */
	size_t name_count;
};

/* ---- missing job files ---- */

/* Explain where `path`, the result of a search for `name`, is. */
static const char *location_text(const char *path, const char *name)
{
	const char *dir = getenv("MLGEN_JOBS");
	size_t len = dir ? strlen(dir) : 0;

	if (strcmp(path, name) == 0)
		return strchr(name, '/') ? "" : ", which is in the current directory";
	if (len && strncmp(path, dir, len) == 0)
		return ", which is in $MLGEN_JOBS";
	return ", which comes with mlgen";
}

static void fail_missing_file(struct load *l, const char *name)
{
	const struct jobset_env *env = l->r.engines.env;
	const char *dir = getenv("MLGEN_JOBS");
	struct buf with_suffix = { 0 };
	struct buf text = { 0 };
	char *nearest = NULL;

	buf_addf(&with_suffix, "%s.job", name);
	if (!strchr(name, '='))
		nearest = jobset_find_file(buf_str(&with_suffix), env);
	if (nearest)
		buf_addf(&text, "; did you mean %s%s?", buf_str(&with_suffix),
			 location_text(nearest, buf_str(&with_suffix)));
	else if (strchr(name, '='))
		buf_addf(&text, "; as an option: --%s", name);
	else if ((nearest = jobset_nearest_file(name, env)) ||
		 (nearest = jobset_nearest_file(buf_str(&with_suffix), env)))
		buf_addf(&text, "; did you mean %s?", nearest);
	else if (!strchr(name, '/'))
		buf_addf(&text, " in the current directory, %s%s or among the installed jobs",
			 dir && *dir ? "in $MLGEN_JOBS=" : "next to mlgen", dir && *dir ? dir : "");
	diag_fail(l->r.d, "%s: no such job file%s", name, buf_str(&text));
	mem_free(nearest);
	buf_fini(&with_suffix);
	buf_fini(&text);
}

/* ---- jobs ---- */

/* The next name of --section and its length; NULL after the last. */
static const char *next_section(const char *at, size_t *len)
{
	at += *at == '\n';
	*len = strcspn(at, "\n");
	return *len ? at : NULL;
}

/* Add the name of a job, and its layers if --section selects it. */
static void add_layers(struct load *l, const struct job_source *src)
{
	const char *at = l->set->settings.section;
	bool is_selected = !at;
	size_t len;

	while (at && !is_selected && (at = next_section(at, &len))) {
		is_selected = len == strlen(src->name) && strncmp(at, src->name, len) == 0;
		at += len;
	}
	l->names = mem_realloc(l->names, (l->name_count + 1) * sizeof(*l->names));
	l->names[l->name_count++] = src->name;
	if (!is_selected)
		return;
	l->jobs = mem_realloc(l->jobs, (l->job_count + 1) * sizeof(*l->jobs));
	layers_init(&l->jobs[l->job_count++], src, &l->cmd);
}

static void add_all_layers(struct load *l)
{
	const struct cmdline *c = &l->cmd;

	for (size_t i = 0; i < c->file_count; i++) {
		const struct jobfile *f = &l->files[i];

		for (size_t k = 0; k < f->count; k++) {
			const struct section *s = &f->sections[k];

			if (s->kind == SECTION_JOB)
				add_layers(l, &(struct job_source){
						      .name = s->name,
						      .file = f,
						      .section = s,
						      .opts = &s->opts,
					      });
		}
	}
	for (size_t i = 0; i < c->job_count; i++)
		add_layers(l, &(struct job_source){
				      .name = c->jobs[i].name,
				      .opts = &c->jobs[i].opts,
			      });
}

/* Load the next jobs that come from this file, or from the command line if `f` is NULL. They start
 * after the jobs of the previous file. */
static void load_jobs_of(struct load *l, const struct jobfile *f)
{
	struct jobset *set = l->set;
	size_t first = set->count;

	for (size_t i = first; i < l->job_count && l->jobs[i].src.file == f; i++) {
		bool is_whole = false;
		struct job *j = resolve_job(&l->r, &l->jobs[i], &is_whole);

		layers_fini(&l->jobs[i]);
		if (set->count)
			j->group = set->jobs[set->count - 1]->group + (j->stonewall || i == first);
		set->jobs = mem_realloc(set->jobs, (set->count + 1) * sizeof(*set->jobs));
		set->jobs[set->count++] = j;
		if (is_whole)
			job_check(j, l->r.d);
	}
}

/* Read a job file. `file` stays empty if there is no such file. */
static void read_file(struct load *l, const char *name, struct jobfile *file)
{
	bool is_taken = l->set->question && l->set->question->accepts_documents;

	if (question_is_document(name) && is_taken)
		return;
	if (question_is_document(name)) {
		diag_fail(l->r.d,
			  "%s: is a JSON document of a run, not a job; mlgen %s prints its report",
			  name, name);
		return;
	}
	char *path = strcmp(name, "-") == 0 ? mem_strdup(name)
					    : jobset_find_file(name, l->r.engines.env);

	if (!path) {
		fail_missing_file(l, name);
		return;
	}
	jobfile_read(file, path, l->r.d);
	mem_free(path);
}

/* ---- checks of the whole command line ---- */

static bool is_named(const struct load *l, const char *name)
{
	for (size_t i = 0; i < l->name_count; i++) {
		if (strcmp(l->names[i], name) == 0)
			return true;
	}
	return false;
}

/* Report an unknown job and the names of the first jobs, up to about 400 bytes. */
static void fail_name(struct load *l, const char *option, const char *name)
{
	struct buf names = { 0 };

	for (size_t i = 0; i < l->name_count && names.len < 400; i++)
		buf_addf(&names, " %s", l->names[i]);
	diag_fail(l->r.d, "%s: no job '%s'; the jobs are%s", option, name, buf_str(&names));
	buf_fini(&names);
}

/* Report options for a job that does not exist. --reader.batch_size looks like an option for a job
 * "reader", but is a key of DLIO. */
static void fail_section(struct load *l, const char *option, const char *name)
{
	struct buf key = { 0 };
	const char *own;

	buf_addf(&key, "%s.%s", name, option);
	own = foreign_option(buf_str(&key));
	if (own)
		diag_fail(l->r.d, "%s: is an option of DLIO; in mlgen it is %s: write --%s",
			  buf_str(&key), own, own);
	else
		fail_name(l, option, name);
	buf_fini(&key);
}

static void check_names(struct load *l)
{
	const struct cmdline *c = &l->cmd;
	const char *at = l->set->settings.section;
	size_t len;

	if (!l->name_count)
		return;
	while (at && (at = next_section(at, &len))) {
		char *name = mem_strndup(at, len);

		if (!is_named(l, name))
			fail_name(l, "section", name);
		mem_free(name);
		at += len;
	}
	for (size_t i = 0; i < c->section_count; i++) {
		const struct cmdline_part *part = &c->sections[i];

		if (!is_named(l, part->name))
			fail_section(l, part->opts.opts[0]->key, part->name);
	}
}

/* Call `visit` for every list of options, of the command line and of all files. */
static void visit_lists(struct load *l,
			void (*visit)(struct resolve_engines *e, const struct optlist *list))
{
	const struct cmdline *c = &l->cmd;
	struct resolve_engines *e = &l->r.engines;

	visit(e, &c->all);
	for (size_t i = 0; i < c->section_count; i++)
		visit(e, &c->sections[i].opts);
	for (size_t i = 0; i < c->job_count; i++)
		visit(e, &c->jobs[i].opts);
	for (size_t i = 0; i < c->file_count; i++)
		for (size_t k = 0; k < l->files[i].count; k++)
			visit(e, &l->files[i].sections[k].opts);
}

static void copy_files(struct jobset *set, const struct cmdline *c)
{
	set->files = mem_array(c->file_count, sizeof(*set->files));
	for (size_t i = 0; i < c->file_count; i++)
		set->files[set->file_count++] = mem_strdup(c->files[i]);
}

static void load_jobs(struct load *l)
{
	const struct cmdline *c = &l->cmd;
	const char *require = l->set->settings.require;
	struct requirement list[REQUIREMENTS_MAX];
	struct mlgen_err err = { 0 };

	if (l->set->question && l->set->question->accepts_documents)
		copy_files(l->set, c);
	l->files = mem_array(c->file_count, sizeof(*l->files));
	for (size_t i = 0; i < c->file_count; i++)
		read_file(l, c->files[i], &l->files[i]);
	add_all_layers(l);
	/* All engines have to be known before any option is parsed. */
	for (size_t i = 0; i < l->job_count; i++)
		resolve_engine_need(&l->r.engines, &l->jobs[i]);
	visit_lists(l, resolve_engine_skip);
	visit_lists(l, resolve_engine_guess);

	resolve_read(&l->r, &c->all, NULL);
	for (size_t i = 0; i < c->section_count; i++)
		resolve_read(&l->r, &c->sections[i].opts, NULL);
	for (size_t i = 0; i < c->file_count; i++) {
		const struct jobfile *f = &l->files[i];

		for (size_t k = 0; k < f->count; k++)
			resolve_read(&l->r, &f->sections[k].opts, f->sections[k].selector);
		load_jobs_of(l, f);
	}
	for (size_t i = 0; i < c->job_count; i++)
		resolve_read(&l->r, &c->jobs[i].opts, NULL);
	load_jobs_of(l, NULL);

	check_names(l);
	if (require && jobset_requirements(require, list, REQUIREMENTS_MAX, &err) < 0)
		diag_fail(l->r.d, "%s", err.text);
	if (!c->file_count && !c->job_count && !l->r.d->errors)
		diag_fail(l->r.d, "no job; name a job file, such as quickstart.job, or see --help; "
				  "--directory=DIR --dataset=scan reads existing files");
}

/* ---- questions about files other than job files ---- */

/* Load a command line whose arguments are not jobs. Options of jobs are faults. */
static void load_files(struct load *l, const struct question *q, unsigned of_files)
{
	const struct cmdline *c = &l->cmd;
	const struct optlist *first = c->all.count ? &c->all : NULL;

	question_check_files(l->r.engines.env->questions, q, of_files, &l->set->settings, c->files,
			     c->file_count, l->r.d);
	copy_files(l->set, c);
	resolve_read(&l->r, &c->all, NULL);
	if (!first && c->section_count)
		first = &c->sections[0].opts;
	if (l->r.d->errors || (!first && !c->job_count))
		return;
	diag_fail(l->r.d, "%s: is an option of a job, but --%s works on existing files",
		  first ? first->opts[0]->key : "name", q->option);
}

/* Free everything but the paths of job files, which move to the set. */
static void load_fini(struct load *l)
{
	struct jobset *set = l->set;

	mem_free(l->jobs);
	for (size_t i = 0; l->files && i < l->cmd.file_count; i++) {
		struct jobfile *f = &l->files[i];

		set->paths = mem_realloc(set->paths,
					 (set->path_count + f->path_count) * sizeof(*set->paths));
		for (size_t k = 0; k < f->path_count; k++)
			set->paths[set->path_count++] = f->paths[k];
		f->path_count = 0;
		jobfile_fini(f);
	}
	mem_free(l->files);
	mem_free(l->names);
	cmdline_fini(&l->cmd);
	resolve_engine_fini(&l->r.engines);
}

int jobset_load(struct jobset *set, int argc, char *const argv[], const struct jobset_env *env,
		struct diag *d)
{
	struct load l = { .set = set };
	const struct settings *s = &set->settings;
	const struct question *q = NULL;
	unsigned of_files = 0;

	memset(set, 0, sizeof(*set));
	cmdline_read(&l.cmd, &set->settings, argc, argv, d);
	q = question_asked(env->questions, s, l.cmd.files, l.cmd.file_count, &of_files);
	set->question = q;
	l.r = (struct resolver){
		.engines = { .env = env,
			     .only_looks = s->parse_only || s->showjob || s->dry_run ||
					   (q && q->only_looks),
			     .standins = &set->standins },
		.d = d,
	};
	settings_check(s, env->questions, q, d);
	if (s->help || s->version || s->list_jobs || s->cmdhelp || s->enghelp)
		; /* needs neither jobs nor files */
	else if (q && q->about != ABOUT_JOBS)
		load_files(&l, q, of_files);
	else
		load_jobs(&l);
	load_fini(&l);
	return d->errors ? -EINVAL : 0;
}

void jobset_reuse_scans(const struct jobset *set)
{
	for (size_t i = 0; i < set->count; i++)
		set->jobs[i]->kept->finds = true;
}

void jobset_fini(struct jobset *set)
{
	field_fini(settings_fields, &set->settings);
	for (size_t i = 0; i < set->count; i++)
		job_free(set->jobs[i]);
	mem_free(set->jobs);
	standins_fini(&set->standins); /* after the jobs, whose options use its fields */
	for (size_t i = 0; i < set->path_count; i++)
		mem_free(set->paths[i]);
	mem_free(set->paths);
	for (size_t i = 0; i < set->file_count; i++)
		mem_free(set->files[i]);
	mem_free(set->files);
	memset(set, 0, sizeof(*set));
}
