/* SPDX-License-Identifier: Apache-2.0 */
/* json_each.c - see json_each.h. */
#include "report/json_each.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dirs.h"
#include "base/mem.h"
#include "base/replace.h"
#include "base/util.h"
#include "base/writeall.h"
#include "report/json.h"

/* It has so long to write what takes milliseconds. */
#define PATIENCE_NS (5 * NS_PER_S)

struct json_each {
	const struct jobset *set;
	char path[PATH_MAX];
	unsigned processes;
	bool has_removed; /* documents of ranks that there are not */
	pid_t child;      /* 0 = none */
	uint64_t since_ns;
};

/* ---- documents of a larger run ---- */

/* "rank-12.json", of a rank that this run does not have? */
static bool is_left(const char *name, unsigned processes)
{
	unsigned rank;
	char again[32];

	if (sscanf(name, "rank-%u.json", &rank) != 1 || rank < processes)
		return false;
	snprintf(again, sizeof(again), "rank-%u.json", rank);
	return strcmp(again, name) == 0;
}

/* Tells a document of ours by its first bytes, which json_report writes. */
static bool is_document(int folder, const char *name)
{
	static const char key[] = "{\n  \"mlgen version\":";
	char begins[sizeof(key)] = "";
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, begins, sizeof(key) - 1);

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)sizeof(key) - 1 && strcmp(begins, key) == 0;
}

/* Each of them is removed, or looked at: the name of one that is not mlgen's in `other`, "" = there
 * is none. */
static void visit_left(const char *directory, unsigned processes, bool removes,
		       char other[NAME_MAX + 1])
{
	DIR *folder = opendir(directory);
	struct dirent *d;

	other[0] = '\0';
	while (folder && (d = readdir(folder))) {
		if (!is_left(d->d_name, processes))
			continue;
		if (!is_document(dirfd(folder), d->d_name))
			snprintf(other, NAME_MAX + 1, "%s", d->d_name);
		else if (removes)
			unlinkat(dirfd(folder), d->d_name, 0);
	}
	if (folder)
		closedir(folder);
}

static void remove_left(struct json_each *e)
{
	char other[NAME_MAX + 1];

	if (!e->has_removed)
		visit_left(e->set->settings.json_each, e->processes, true, other);
	e->has_removed = true;
}

static int refuse_other(const char *directory, unsigned processes, struct mlgen_err *err)
{
	char other[NAME_MAX + 1];

	visit_left(directory, processes, false, other);
	if (!other[0])
		return 0;
	return mlgen_fail(
		err, -EEXIST,
		"json-each=%s: %s is no document of mlgen's, and this run, of %u process%s, would "
		"leave it among its own; move it, or name another directory",
		directory, other, processes, processes == 1 ? "" : "es");
}

/* ---- this run's own ---- */

static int write_document(const struct json_each *e, const struct run_result *result)
{
	struct jobset json = *e->set;
	struct replace file = { 0 };
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);

	json.settings.output_format = OUTPUT_JSON;
	if (!to)
		return -ENOMEM;
	int rc = json_report(to, result, &json, NULL);
	if (fclose(to) != 0 && rc == 0)
		rc = -ENOMEM;
	if (rc == 0)
		rc = replace_begin(&file, e->path, replace_new_mode());
	if (rc == 0) {
		rc = writeall(file.fd, text, bytes);
		if (rc == 0)
			rc = replace_commit(&file);
		else
			replace_abandon(&file);
	}
	free(text);
	return rc;
}

/* In the child: its run is not over. */
static int write_unfinished(const struct json_each *e, struct run *run)
{
	struct run_result *result = run_collect(run);

	for (size_t i = 0; i < result->job_count; i++)
		result->jobs[i].complete = false;
	return write_document(e, result);
}

/* True: there is none any more. */
static bool has_ended(struct json_each *e, bool waits)
{
	if (e->child && (waits || clock_monotonic_ns() - e->since_ns > PATIENCE_NS))
		kill(e->child, SIGKILL);
	if (e->child && waitpid(e->child, NULL, waits ? 0 : WNOHANG) != 0)
		e->child = 0;
	return e->child == 0;
}

int json_each_new(struct json_each **out, const struct jobset *set, unsigned rank,
		  unsigned processes, struct mlgen_err *err)
{
	const char *directory = set->settings.json_each;
	struct json_each *e;
	char way[DIRS_WAY_BYTES];

	*out = NULL;
	if (!directory)
		return 0;
	char *made = mem_strdup(directory);
	int rc = dirs_make(made, NULL);
	if (rc == 0 && access(directory, W_OK | X_OK) != 0)
		rc = -errno;
	mem_free(made);
	if (rc < 0)
		return mlgen_fail(err, rc, "json-each=%s: %s%s", directory, strerror(-rc),
				  dirs_in_the_way(way, directory, rc));
	rc = refuse_other(directory, processes, err);
	if (rc < 0)
		return rc;
	e = mem_zalloc(sizeof(*e));
	e->set = set;
	e->processes = processes;
	if (snprintf(e->path, sizeof(e->path), "%s/rank-%u.json", directory, rank) >= PATH_MAX) {
		mem_free(e);
		return mlgen_fail(err, -ENAMETOOLONG, "json-each=%s: the path is too long",
				  directory);
	}
	*out = e;
	return 0;
}

void json_each_begin(struct json_each *e, struct run *run)
{
	if (!e || !has_ended(e, false))
		return;
	remove_left(e);
	e->since_ns = clock_monotonic_ns();
	pid_t child = fork();
	if (child == 0)
		_exit(write_unfinished(e, run) < 0);
	e->child = child > 0 ? child : 0;
}

int json_each_end(struct json_each *e, const struct run_result *result, struct mlgen_err *err)
{
	if (!e)
		return 0;
	has_ended(e, true);
	remove_left(e);
	int rc = write_document(e, result);
	return rc < 0 ? mlgen_fail(err, rc, "json-each: %s: %s", e->path, strerror(-rc)) : 0;
}

void json_each_free(struct json_each *e)
{
	if (!e)
		return;
	has_ended(e, true);
	mem_free(e);
}
