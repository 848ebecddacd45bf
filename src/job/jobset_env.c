/* SPDX-License-Identifier: Apache-2.0 */
/* jobset_env.c - what the loader of jobs has to know of the program around it. */
#include "job/jobset_env.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

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
