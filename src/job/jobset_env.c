/* SPDX-License-Identifier: Apache-2.0 */
/* jobset_env.c - what the loader of jobs has to know of the program around it. */
#include "job/jobset_env.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/compare.h"
#include "base/mem.h"
#include "field/fields.h"

static char *try_path(const char *dir, const char *sub, const char *name)
{
	struct buf path = { 0 };

	if (!dir || !*dir)
		return NULL;
	buf_addf(&path, "%s/%s%s", dir, sub, name);
	if (access(buf_str(&path), F_OK) == 0)
		return buf_take(&path);
	buf_fini(&path);
	return NULL;
}

bool jobset_is_path(const char *ioengine)
{
	return strchr(ioengine, '/') || strncmp(ioengine, "external:", 9) == 0;
}

char *jobset_find_file(const char *name, const struct jobset_env *env)
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

/* The job files of a folder; of one that is not there none. */
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

static void add_searched(struct job_names *n, const struct jobset_env *env)
{
	struct buf beside = { 0 };

	add_names(n, ".");
	add_names(n, getenv("MLGEN_JOBS"));
	if (env->binary_dir)
		buf_addf(&beside, "%s/jobs", env->binary_dir);
	add_names(n, buf_str(&beside));
	add_names(n, env->installed_dir);
	buf_fini(&beside);
}

char *jobset_nearest_file(const char *name, const struct jobset_env *env)
{
	const char *slash = strrchr(name, '/');
	size_t folder_len = slash ? (size_t)(slash - name) + 1 : 0;
	struct job_names n = { 0 };
	struct buf folder = { 0 }, text = { 0 };
	const char *found;

	buf_addn(&folder, name, folder_len);
	if (slash)
		add_names(&n, buf_str(&folder));
	else
		add_searched(&n, env);
	/* The order of a folder is chance. */
	if (n.count)
		qsort(n.names, n.count, sizeof(*n.names), text_compare);
	n.names = mem_realloc(n.names, (n.count + 1) * sizeof(*n.names));
	n.names[n.count] = NULL;
	found = field_nearest_word((const char *const *)n.names, name + folder_len);
	if (found)
		buf_addf(&text, "%s%s", buf_str(&folder), found);
	for (size_t i = 0; i < n.count; i++)
		mem_free(n.names[i]);
	mem_free(n.names);
	buf_fini(&folder);
	return text.len ? buf_take(&text) : NULL;
}
