/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - run the program's command line again with other options, on one host or several. */
#include "ask/search/search_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "report/live/live.h"
#include "report/text/text.h"
#include "run/run.h"

/* ---- several hosts ---- */

/* A message from rank 0. The arguments of a probe follow, each with its NUL. */
struct probe_order {
	uint64_t count; /* number of arguments */
	int status;     /* exit status of the program; ORDER_PROBE = run a probe */
	uint8_t padding[4];
};

enum { ORDER_PROBE = -1 };

/* Called by rank 0 before it runs a probe: make the other ranks run the same probe. 0, or -EPIPE
 * with err. */
static int probe_send(struct hosts *h, const struct probe_args *args, struct mlgen_err *err)
{
	struct probe_order order = { .count = args->count, .status = ORDER_PROBE };
	struct buf text = { 0 };

	if (hosts_total(h) == 1 || hosts_rank(h))
		return 0;
	buf_addn(&text, (const char *)&order, sizeof(order));
	for (size_t i = 0; i < args->count; i++)
		buf_addn(&text, args->at[i], strlen(args->at[i]) + 1);
	int rc = hosts_broadcast(h, &text, err);
	buf_fini(&text);
	return rc;
}

int probe_serve(const struct ask *a)
{
	struct probe_order order = { .status = ORDER_PROBE };
	struct mlgen_err err = { 0 };

	while (order.status == ORDER_PROBE) {
		struct buf text = { 0 };

		if (hosts_broadcast(a->hosts, &text, &err) < 0) {
			log_error("%s", err.text);
			order.status = EXIT_FAILED;
		} else {
			memcpy(&order, buf_str(&text), sizeof(order));
		}
		if (order.status == ORDER_PROBE) {
			const char *at = buf_str(&text) + sizeof(order);
			struct probe_args args = { 0 };
			struct mlgen_err ignored = { 0 };
			struct probe run;

			for (uint64_t i = 0; i < order.count; i++) {
				probe_args_add(&args, "%s", at);
				at += strlen(at) + 1;
			}
			/* Rank 0 receives every error and decides what to do. */
			probe_run(&run, a, &args, &ignored);
			probe_fini(&run);
			probe_args_fini(&args);
		}
		buf_fini(&text);
	}
	return order.status;
}

int probe_dismiss(struct hosts *h, int status)
{
	const struct probe_order order = { .status = status };
	struct mlgen_err err = { 0 };
	struct buf text = { 0 };

	if (hosts_total(h) == 1)
		return status;
	buf_addn(&text, (const char *)&order, sizeof(order));
	/* A rank that no longer answers has ended with its own status. */
	hosts_broadcast(h, &text, &err);
	buf_fini(&text);
	return status;
}

/* ---- probes ---- */

/* After "--" all arguments are files, so options are inserted before it. */
static char **argv_with(const struct ask *a, const struct probe_args *args)
{
	char **argv = mem_array((size_t)a->argc + args->count + 1, sizeof(*argv));
	size_t n = 0;
	int i = 0;

	while (i < a->argc && strcmp(a->argv[i], "--") != 0)
		argv[n++] = mem_strdup(a->argv[i++]);
	for (size_t k = 0; k < args->count; k++)
		argv[n++] = mem_strdup(args->at[k]);
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
			return mlgen_fail(err, -EINVAL, "%s", d->entries[i].text);
	return mlgen_fail(err, -EINVAL, "the command line is not valid");
}

static int probe_load_argv(struct jobset *set, const struct ask *a, int argc, char **argv,
			   struct mlgen_err *err)
{
	struct diag diag;

	diag_init(&diag);
	int rc = jobset_load(set, argc, argv, a->env, &diag);
	/* Warnings were printed for the command line itself. */
	if (rc < 0)
		first_error(&diag, err);
	diag_fini(&diag);

	/* The dataset stays that of the original jobs, however many accelerators read it now. */
	for (size_t i = 0; i < set->count; i++)
		for (size_t k = 0; k < a->set->count; k++)
			if (!strcmp(set->jobs[i]->name, a->set->jobs[k]->name))
				set->jobs[i]->scaled_as = a->set->jobs[k];

	mem_replace(&set->settings.log, NULL);
	mem_replace(&set->settings.trace, NULL);
	mem_replace(&set->settings.metrics, NULL);
	mem_replace(&set->settings.metrics_file, NULL);
	for (size_t i = 0; i < set->count; i++)
		mem_replace(&set->jobs[i]->write_iolog, NULL);
	return rc;
}

static int run_and_collect(struct probe *p, const struct ask *a, const struct probe_args *args,
			   struct mlgen_err *err)
{
	const struct traced_config traced = { .fd = args->trace_fd,
					      .path = args->trace,
					      .is_asked = true };
	struct series_result series = { 0 };
	const struct watch_outputs shows = { .series = settings_has_series(&p->set.settings) &&
								       hosts_rank(a->hosts) == 0
							       ? &series
							       : NULL };
	struct mlgen_err cut = { 0 };
	int rc = 0;

	if (args->trace)
		rc = run_trace(p->run, &traced, err);
	if (rc == 0)
		rc = watch_run(p->run, p->set.count, &p->set.settings, &shows, &p->abandoned, err);
	if (rc < 0)
		return rc;
	if (args->trace)
		run_trace_end(p->run, &cut);
	p->result = run_collect(p->run);
	merge_hosts(&p->merge, a->hosts, p->result, a);
	p->result->series = series;
	p->interrupted = p->result->interrupted || p->abandoned;
	verdict_fill(p->result);
	/* Missing trace records may be a consequence of the run's error, which comes first. */
	*err = p->result->err.code ? p->result->err : cut;
	return err->code;
}

void probe_args_add(struct probe_args *args, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	vec_push(args, mem_strdup(text));
}

void probe_args_without_storage(struct probe_args *args, const struct ask *a, const struct job *job)
{
	const struct mlgen_engine *const *e = a->env->engines;

	while (*e && strcmp((*e)->name, "null") != 0)
		e++;
	probe_args_add(args, "--%s.ioengine=null", job->name);
	const struct mlgen_field *f = *e ? (*e)->opts : NULL;
	for (; f && f->name; f++)
		if (f->def)
			probe_args_add(args, "--%s.%s=%s", job->name, f->name, f->def);
}

void probe_args_fini(struct probe_args *args)
{
	for (size_t i = 0; i < args->count; i++)
		mem_free(args->at[i]);
	vec_fini(args);
	memset(args, 0, sizeof(*args));
}

int probe_load(struct jobset *set, const struct ask *a, const struct probe_args *args,
	       struct mlgen_err *err)
{
	char **argv = argv_with(a, args);
	int rc = probe_load_argv(set, a, a->argc + (int)args->count, argv, err);

	free_argv(argv);
	return rc;
}

int probe_run(struct probe *p, const struct ask *a, const struct probe_args *args,
	      struct mlgen_err *err)
{
	memset(p, 0, sizeof(*p));
	if (probe_send(a->hosts, args, err) < 0)
		return err->code;
	p->argv = argv_with(a, args);
	p->argc = a->argc + (int)args->count;
	int rc = hosts_agree(a->hosts, probe_load_argv(&p->set, a, p->argc, p->argv, err), err);
	if (rc < 0)
		return rc;
	p->clock = clock_new_real();
	struct run_config cfg =
		run_config_of(&p->set.settings, p->set.jobs, p->set.count, a->host, p->clock);
	cfg.hosts = a->hosts;
	/* Several hosts: no rank alone can tell that the AU is out of reach. */
	cfg.au_floor = hosts_total(a->hosts) > 1 ? 0 : args->au_floor;
	cfg.traces = args->trace != NULL;
	rc = run_number(a->hosts, p->set.jobs, p->set.count, err);
	if (rc == 0)
		rc = run_new(&p->run, &cfg, err);
	if (rc == 0)
		rc = run_and_collect(p, a, args, err);
	/* A signal may also come before there is a run to end. */
	p->interrupted |= signals_received() > 0;
	return rc;
}

void probe_fini(struct probe *p)
{
	if (p->abandoned)
		return;
	free_argv(p->argv);
	merge_fini(&p->merge);
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
