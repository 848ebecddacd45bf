/* SPDX-License-Identifier: Apache-2.0 */
/* json_each.c - see json_each.h. */
#include "report/json_each.h"

#include <errno.h>
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
	pid_t child; /* 0 = none */
	uint64_t since_ns;
};

static int write_document(const struct json_each *e,
			  const struct run_result *result)
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
	if (e->child &&
	    (waits || clock_monotonic_ns() - e->since_ns > PATIENCE_NS))
		kill(e->child, SIGKILL);
	if (e->child && waitpid(e->child, NULL, waits ? 0 : WNOHANG) != 0)
		e->child = 0;
	return e->child == 0;
}

int json_each_new(struct json_each **out, const struct jobset *set,
		  unsigned rank, struct mlgen_err *err)
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
		return mlgen_fail(err, rc, "json-each=%s: %s%s", directory,
				  strerror(-rc),
				  dirs_in_the_way(way, directory, rc));
	e = mem_zalloc(sizeof(*e));
	e->set = set;
	if (snprintf(e->path, sizeof(e->path), "%s/rank-%u.json", directory,
		     rank) >= PATH_MAX) {
		mem_free(e);
		return mlgen_fail(err, -ENAMETOOLONG,
				  "json-each=%s: the path is too long",
				  directory);
	}
	*out = e;
	return 0;
}

void json_each_begin(struct json_each *e, struct run *run)
{
	if (!e || !has_ended(e, false))
		return;
	e->since_ns = clock_monotonic_ns();
	pid_t child = fork();
	if (child == 0)
		_exit(write_unfinished(e, run) < 0);
	e->child = child > 0 ? child : 0;
}

int json_each_end(struct json_each *e, const struct run_result *result,
		  struct mlgen_err *err)
{
	if (!e)
		return 0;
	has_ended(e, true);
	int rc = write_document(e, result);
	return rc < 0 ? mlgen_fail(err, rc, "json-each: %s: %s", e->path,
				   strerror(-rc))
		      : 0;
}

void json_each_free(struct json_each *e)
{
	if (!e)
		return;
	has_ended(e, true);
	mem_free(e);
}
