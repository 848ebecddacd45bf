/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_fraction.c - how much storage delivered, and what part of one accelerator that feeds. */
#include "ask/find_max.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "report/plan_report.h"

/* Less than the least difference that the search believes in. */
#define TO_SPARE (1 - SEARCH_NOISE_LEAST)

/* ---- what was delivered ---- */

/*
 * Of short epochs the time in which nobody read says nothing of storage. The readers of one
 * accelerator idle together; those of several share what there is, and would have less if they all
 * read.
 */
static double delivered(const struct find_max *f, const struct metrics_probe *p)
{
	return find_counts_accelerators(f) && p->value == 1 && find_is_hidden(f, p)
		       ? p->supply_percent / 100 * p->demand_bytes_per_sec
		       : p->sample_bytes_per_sec;
}

static double most_delivered(const struct find_max *f)
{
	double most = (double)NAN;

	for (size_t i = 0; i < f->probe_count; i++)
		if (strcmp(f->probes[i].verdict, "memory") != 0)
			most = fmax(most, delivered(f, &f->probes[i]));
	return most;
}

/* ---- which accelerator would fit ---- */

/* What one of that name asks for at the AU required; NaN: it cannot be said. */
static double demand_of_one(const struct find_max *f, const char *name)
{
	const char *job = f->job->name;
	struct probe_args args = { 0 };
	struct mlgen_err err = { 0 };
	struct plan_report plan;
	struct jobset set;
	double demand = (double)NAN;

	probe_args_add(&args, "--%s.accelerators=1", job);
	probe_args_add(&args, "--%s.accelerator=%s", job, name);
	int rc = probe_load(&set, f->ask, &args, &err);
	for (size_t i = 0; rc == 0 && i < set.count; i++) {
		if (strcmp(set.jobs[i]->name, job) != 0)
			continue;
		if (plan_make(&plan, set.jobs[i], f->ask->host, &set.settings, &err) == 0)
			demand = plan.bytes_per_sec_one;
		plan_fini(&plan);
	}
	jobset_fini(&set);
	probe_args_fini(&args);
	return demand * find_au_limit(f) / 100;
}

struct fit {
	char best[64], least[64]; /* names: the largest that fits, the least */
	double best_rate, least_rate;
	bool do_differ;
};

static void find_max_fraction_look_at(struct fit *fit, const struct find_max *f, const char *name)
{
	double rate = demand_of_one(f, name);

	if (!(rate > 0))
		return;
	fit->do_differ |= fit->least_rate > 0 && fabs(rate / fit->least_rate - 1) > 1e-6;
	if (rate <= f->delivered_bytes_per_sec && rate > fit->best_rate) {
		snprintf(fit->best, sizeof(fit->best), "%s", name);
		fit->best_rate = rate;
	}
	if (!(fit->least_rate > 0) || rate < fit->least_rate) {
		snprintf(fit->least, sizeof(fit->least), "%s", name);
		fit->least_rate = rate;
	}
}

static char *say_fit(const struct find_max *f, const struct fit *fit)
{
	char rate[UNITS_TEXT_BYTES];
	struct buf out = { 0 };
	double au = find_au_limit(f);

	if (!fit->do_differ)
		return NULL;
	if (fit->best_rate > 0)
		buf_addf(&out, "%s: %.0f (one needs %s for %g%%)", fit->best,
			 fmax(1, floor(f->delivered_bytes_per_sec / fit->best_rate)),
			 show_rate(rate, &f->unit, fit->best_rate), au);
	else
		buf_addf(&out,
			 "none of those published for this job: the least, %s, needs %s for %g%%",
			 fit->least, show_rate(rate, &f->unit, fit->least_rate), au);
	return buf_take(&out);
}

/* On the command line, where it is that of all accelerators. */
static bool is_overridden(const struct job *j, const char *option)
{
	const struct job_origin *o = &j->origins[field_find(job_fields, option) - job_fields];

	return o->how && strcmp(o->how, "command line") == 0;
}

static void look_for_fit(struct find_max *f)
{
	if (!f->job->accelerators_known || is_overridden(f->job, "compute_time") ||
	    is_overridden(f->job, "batch_size"))
		return;
	struct fit fit = { 0 };
	char *names = mem_strdup(f->job->accelerators_known);
	char *rest = names;

	for (char *name; (name = strsep(&rest, " "));)
		if (*name)
			find_max_fraction_look_at(&fit, f, name);
	f->fits = say_fit(f, &fit);
	mem_free(names);
}

/* ---- the part of one ---- */

/* Two digits, never more than it is. */
static double round_down(double v)
{
	double unit = pow(10, floor(log10(v)) - 1);

	return floor(v / unit + 1e-9) * unit;
}

/* Four digits, never less than it is. */
static double four_digits_up(double v)
{
	double unit = pow(10, floor(log10(v)) - 3);

	return round(ceil(v / unit - 1e-9) * unit);
}

static bool is_of_storage(const struct find_max *f)
{
	return f->limit && strcmp(f->limit, "storage") == 0;
}

void find_fraction(struct find_max *f)
{
	const struct find_side *s = &f->missed;

	f->delivered_bytes_per_sec = most_delivered(f);
	if (f->answer.found || f->interrupted || f->err.code || !f->search.falls ||
	    f->required_count != 1 || !is_of_storage(f) || s->value != 1 ||
	    !(s->demand_bytes_per_sec > 0))
		return;
	double need = s->demand_bytes_per_sec * find_au_limit(f) / 100;
	double part = f->delivered_bytes_per_sec / need * TO_SPARE;
	if (!(part > 0) || part >= 1)
		return;
	f->fraction = round_down(part);
	look_for_fit(f);
}

/* ---- the command that plays it ---- */

/* Longer by that; its parameters in ns. */
static struct dist stretched(const struct dist *d, double by)
{
	struct dist out = dist_times(d, by);

	if (d->kind == DIST_CONST)
		out.a = four_digits_up(out.a);
	return out;
}

/* What is of the search alone, and what would write over its answer. */
static bool is_dropped(const char *arg)
{
	static const char *const names[] = { "find-max", "find_max", "json", "output", "html" };
	size_t len = strcspn(arg, "=");

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t n = strlen(names[i]);

		if (len > n && strncmp(arg + len - n, names[i], n) == 0 &&
		    strchr("-.", arg[len - n - 1]))
			return true;
	}
	return false;
}

/* The arguments that play it; of scale= the files that were read. */
static void add_play(struct probe_args *args, const struct find_max *f)
{
	const struct job *j = f->job;
	const struct dist time = stretched(&j->compute_time, 1 / f->fraction);
	struct buf text = { 0 };

	dist_format(&text, &time, DIST_NS);
	probe_args_add(args, "--%s.accelerators=1", j->name);
	if (j->scale < 100 && j->accelerators > 1 && f->files && find_makes_files(f)) {
		probe_args_add(args, "--%s.scale=100%%", j->name);
		probe_args_add(args, "--%s.num_files=%" PRIu64, j->name, f->files);
	}
	probe_args_add(args, "--%s.compute_time=%s", j->name, buf_str(&text));
	buf_fini(&text);
}

void find_put_play(struct buf *out, const struct find_max *f)
{
	const struct ask *a = f->ask;
	struct probe_args args = { 0 };
	char line[sizeof(a->host->command)] = "";
	bool is_whole = true;
	int i = 0;

	add_play(&args, f);
	for (; i < a->argc && strcmp(a->argv[i], "--") != 0; i++)
		if (!is_dropped(a->argv[i]))
			is_whole &= host_put_argument(line, sizeof(line), a->argv[i]);
	for (size_t k = 0; k < args.count; k++)
		is_whole &= host_put_argument(line, sizeof(line), args.at[k]);
	for (; i < a->argc; i++)
		is_whole &= host_put_argument(line, sizeof(line), a->argv[i]);
	if (is_whole)
		buf_add(out, line);
	probe_args_fini(&args);
}
