/* SPDX-License-Identifier: Apache-2.0 */
/* ionames.c - the names of a plain job's files, where fio has them. */
#include "work/plain/ionames.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/mem.h"

static char *ionames_join(const char *directory, const char *name)
{
	struct buf path = { 0 };

	if (directory)
		buf_addf(&path, "%s/", directory);
	buf_add(&path, name);
	return buf_take(&path);
}

static void ionames_add(struct ionames *n, char *path)
{
	vec_push(&n->paths, path);
}

static bool ionames_has(const struct ionames *n, const char *path)
{
	for (size_t i = 0; i < n->paths.count; i++)
		if (strcmp(n->paths.at[i], path) == 0)
			return true;
	return false;
}

static int add_entry(struct ionames *n, const char *directory, const char *entry,
		     struct mlgen_err *err)
{
	char *path = ionames_join(*entry == '/' ? NULL : directory, entry);

	if (strcmp(entry, "-") == 0)
		mlgen_fail(err, -EINVAL,
			   "filename: '-' (standard input or output) cannot be measured; name a "
			   "file, or write it ./-");
	else if (ionames_has(n, path))
		mlgen_fail(err, -EINVAL, "filename: '%s' is named twice; once is enough", entry);
	else {
		ionames_add(n, path);
		return 0;
	}
	mem_free(path);
	return -EINVAL;
}

static int add_list(struct ionames *n, const char *directory, const char *list,
		    struct mlgen_err *err)
{
	char *entry;
	int r = 0;

	n->is_shared = true;
	while (r == 0 && (entry = ionames_next(&list))) {
		r = add_entry(n, directory, entry, err);
		mem_free(entry);
	}
	if (r == 0 && n->paths.count == 0)
		r = mlgen_fail(
			err, -EINVAL,
			"filename: there is no name in it; one or more with ':' between them");
	return r;
}

/* An engine that touches no file does not look at any, either. */
static bool is_of_device(const struct job *job)
{
	struct stat st;

	return job_touches_files(job) && strchr(job->name, '/') && stat(job->name, &st) == 0 &&
	       (S_ISBLK(st.st_mode) || S_ISCHR(st.st_mode));
}

static void add_own(struct ionames *n, const char *directory, const struct job *job)
{
	struct buf name = { 0 };

	for (uint64_t i = 0; i < job->numjobs; i++) {
		buf_reset(&name);
		buf_addf(&name, "%s.%" PRIu64 ".0", job->name, i);
		ionames_add(n, ionames_join(directory, buf_str(&name)));
	}
	buf_fini(&name);
}

/* Of trainings it has a default, which is nothing to a plain job. */
static bool is_default(const struct job *job)
{
	size_t i = 0;

	while (job_fields[i].name && strcmp(job_fields[i].name, "directory"))
		i++;
	return job->origins && !job->origins[i].raw;
}

static int check_directory(const char *list, struct mlgen_err *err)
{
	size_t entries = 0;
	char *entry;

	for (const char *at = list; (entry = ionames_next(&at)); entries++)
		mem_free(entry);
	if (entries < 2)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "directory: '%s' is a list, and a job has one; write a colon in a name "
			  "as '\\:', or give the files with their folders in filename=",
			  list);
}

int ionames_init(struct ionames *n, const struct job *job, struct mlgen_err *err)
{
	char *directory = ionames_directory(job);
	int r = directory ? check_directory(job->directory, err) : 0;

	*n = (struct ionames){ 0 };
	if (r == 0 && job->filename && *job->filename) {
		r = add_list(n, directory, job->filename, err);
	} else if (r == 0 && is_of_device(job)) {
		n->is_shared = true;
		ionames_add(n, mem_strdup(job->name));
	} else if (r == 0) {
		add_own(n, directory, job);
	}
	mem_free(directory);
	return r;
}

void ionames_fini(struct ionames *n)
{
	for (size_t i = 0; i < n->paths.count; i++)
		mem_free(n->paths.at[i]);
	vec_fini(&n->paths);
	*n = (struct ionames){ 0 };
}

char *ionames_directory(const struct job *job)
{
	const char *at = job->directory;

	return at && !is_default(job) ? ionames_next(&at) : NULL;
}

char *ionames_next(const char **at)
{
	const char *from = *at + strspn(*at, ":");
	char *entry = mem_zalloc(strlen(from) + 1);
	size_t len = 0;

	for (; *from && *from != ':'; from++) {
		if (from[0] == '\\' && from[1] == ':')
			from++;
		entry[len++] = *from;
	}
	*at = from;
	if (len)
		return entry;
	mem_free(entry);
	return NULL;
}
