/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - see probe.h. */
#include "ask/probe.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "report/verdict.h"
#include "report/watch.h"

/* Behind "--" all arguments are files: what is added goes before it. */
static char **whole_argv(const struct ask *a, const char *const *extra,
			 size_t extra_count)
{
	char **argv =
		mem_array((size_t)a->argc + extra_count + 1, sizeof(*argv));
	size_t n = 0;
	int i = 0;
	while (i < a->argc && strcmp(a->argv[i], "--") != 0)
		argv[n++] = mem_strdup(a->argv[i++]);
	for (size_t k = 0; k < extra_count; k++)
		argv[n++] = mem_strdup(extra[k]);
	while (i < a->argc)
		argv[n++] = mem_strdup(a->argv[i++]);
	return argv;
}

static void free_argv(char **argv)
{
	for (char **arg = argv; arg && *arg; arg++)
		mem_free(*arg);
	mem_free(argv);
}

static int first_error(const struct diag *d, struct mlgen_err *err)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->entries[i].level == DIAG_ERROR)
			return mlgen_fail(err, -EINVAL, "%s",
					  d->entries[i].text);
	return mlgen_fail(err, -EINVAL, "the command line is not valid");
}

static int load(struct jobset *set, const struct ask *a, int argc, char **argv,
		struct mlgen_err *err)
{
	struct diag diag;
	diag_init(&diag);
	int rc = jobset_load(set, argc, argv, a->env, &diag);
	/* Warnings were told of the command line itself. */
	if (rc < 0)
		first_error(&diag, err);
	diag_fini(&diag);
	mem_replace(&set->settings.log, NULL);
	return rc;
}

static int run_it(struct probe *p, struct mlgen_err *err)
{
	int rc = watch_run(p->run, p->set.count, &p->set.settings,
			   &p->abandoned, err);
	if (rc < 0)
		return rc;
	p->result = run_collect(p->run);
	p->interrupted = p->result->interrupted || p->abandoned;
	verdict_fill(p->result);
	if (p->result->err.code)
		*err = p->result->err;
	return p->result->err.code;
}

int probe_load(struct jobset *set, const struct ask *a,
	       const char *const *extra, size_t extra_count,
	       struct mlgen_err *err)
{
	char **argv = whole_argv(a, extra, extra_count);
	int rc = load(set, a, a->argc + (int)extra_count, argv, err);
	free_argv(argv);
	return rc;
}

int probe_run(struct probe *p, const struct ask *a, const char *const *extra,
	      size_t extra_count, struct mlgen_err *err)
{
	return probe_run_above(p, 0, a, extra, extra_count, err);
}

int probe_run_above(struct probe *p, double au_floor, const struct ask *a,
		    const char *const *extra, size_t extra_count,
		    struct mlgen_err *err)
{
	memset(p, 0, sizeof(*p));
	p->argv = whole_argv(a, extra, extra_count);
	p->argc = a->argc + (int)extra_count;
	int rc = load(&p->set, a, p->argc, p->argv, err);
	if (rc < 0)
		return rc;
	p->clock = clock_new_real();
	struct run_config cfg = probe_config(&p->set, a->host, p->clock);
	cfg.au_floor = au_floor;
	rc = run_new(&p->run, &cfg, err);
	return rc < 0 ? rc : run_it(p, err);
}

void probe_fini(struct probe *p)
{
	if (p->abandoned)
		return;
	free_argv(p->argv);
	run_free(p->run);
	clock_free(p->clock);
	jobset_fini(&p->set);
	memset(p, 0, sizeof(*p));
}

struct ask probe_ask(const struct probe *p, const struct ask *a)
{
	struct ask with = *a;
	with.argc = p->argc;
	with.argv = p->argv;
	return with;
}

struct run_config probe_config(const struct jobset *set,
			       const struct host *host, struct clock *clock)
{
	const struct settings *s = &set->settings;
	return (struct run_config){ .jobs = set->jobs,
				    .count = set->count,
				    .host = host,
				    .clock = clock,
				    .readonly = s->readonly,
				    .allow_fill = s->allow_fill,
				    .allow_device = s->allow_device,
				    .replace = s->replace };
}
