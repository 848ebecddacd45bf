/* SPDX-License-Identifier: Apache-2.0 */
/* plan_report.c - computes the plan of a job: checks, classes of ranks, blockers. */
#include "report/plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "hosts/hosts.h"
#include "run/run.h"
#include "run/slot/slot.h"

/* A class of ranks that save the same amount. */
struct rank_class {
	struct plan_ranks sums;
	struct buf ranges;    /* finished ranges, as text */
	uint64_t first, last; /* the current range */
};

struct rank_classes {
	struct rank_class *at;
	size_t count, room; /* vec.h */
	size_t recent;
};

static void end_range(struct rank_class *k)
{
	buf_addf(&k->ranges, "%s%" PRIu64, k->ranges.len ? "," : "", k->first);
	if (k->last > k->first)
		buf_addf(&k->ranges, "-%" PRIu64, k->last);
}

static bool is_alike(const struct plan_ranks *a, const struct plan_ranks *b)
{
	return a->model_bytes == b->model_bytes && a->optimizer_bytes == b->optimizer_bytes &&
	       a->files == b->files;
}

/* Neighbouring ranks are usually alike, so the class of the previous rank is tried first. There are
 * few classes: stages differ by a layer, and the first and the last stage differ. */
static struct rank_class *find_class(struct rank_classes *all, const struct plan_ranks *rank)
{
	if (all->count && is_alike(&all->at[all->recent].sums, rank))
		return &all->at[all->recent];
	for (all->recent = 0; all->recent < all->count; all->recent++)
		if (is_alike(&all->at[all->recent].sums, rank))
			return &all->at[all->recent];
	vec_push(all, (struct rank_class){ .sums = *rank });
	return vec_last(all);
}

void plan_count_classes(struct plan_checkpoint *c, const struct shard_set *set)
{
	const struct state *s = set->state;
	struct rank_classes all = { 0 };

	c->parameters = state_parameters(s);
	c->ranks = s->ranks;
	c->tensor_parallel = s->tensor_parallel;
	c->pipeline_parallel = s->pipeline_parallel;
	c->data_parallel = s->data_parallel;
	c->local_ranks = state_local_count(s);
	for (uint64_t rank = 0; rank < s->ranks; rank++) {
		struct state_bytes b;

		state_rank_bytes(s, rank, &b);
		const struct plan_ranks sums = {
			.model_bytes = b.model,
			.optimizer_bytes = b.optimizer,
			.bytes = b.total,
			.files = shard_files(set, rank),
		};
		struct rank_class *k = find_class(&all, &sums);
		bool is_next = k->sums.count && rank == k->last + 1;

		if (k->sums.count && !is_next)
			end_range(k);
		if (!is_next)
			k->first = rank;
		k->last = rank;
		k->sums.count++;

		c->model_bytes += sums.model_bytes;
		c->optimizer_bytes += sums.optimizer_bytes;
		c->bytes += sums.bytes;
		c->files += sums.files;
		if (state_is_local(s, rank)) {
			c->local_bytes += sums.bytes;
			c->local_files += sums.files;
		}
	}
	struct plan_ranks *items = mem_array(all.count, sizeof(*items));
	for (size_t i = 0; i < all.count; i++) {
		end_range(&all.at[i]);
		items[i] = all.at[i].sums;
		items[i].ranks = buf_detach(&all.at[i].ranges);
	}
	c->classes = (struct metric_list){ items, all.count };
	vec_fini(&all);
}

/* Find the check of this name, or add it if it does not exist. */
static struct plan_check *check_named(struct plan_report *p, const char *name)
{
	struct metric_list *l = &p->checks;
	struct plan_check *checks = l->items;

	for (size_t i = 0; i < l->count; i++)
		if (strcmp(checks[i].name, name) == 0)
			return &checks[i];
	l->items = mem_realloc(l->items, (l->count + 1) * sizeof(struct plan_check));
	checks = l->items;
	checks[l->count] = (struct plan_check){ .name = mem_strdup(name), .state = -1 };
	return &checks[l->count++];
}

void plan_add_check(struct plan_report *p, const char *name, enum plan_state state, const char *fmt,
		    ...)
{
	struct plan_check *check = check_named(p, name);
	char text[MLGEN_ERR_MAX];
	va_list ap;

	if (check->state >= (int)state)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	check->state = (int)state;
	mem_replace(&check->text, *text ? text : NULL);
}

void plan_add_fail(struct plan_report *p, const char *name, const struct mlgen_err *why)
{
	plan_add_check(p, name, PLAN_FAIL, "%s", why->text);
}

bool plan_has_failed(const struct plan_report *p, const char *name)
{
	const struct plan_check *check = plan_find_check(p, name);

	return check && check->state == PLAN_FAIL;
}

void plan_check_direct(struct plan_report *p, const char *probe)
{
	struct mlgen_err err = { 0 };
	char size[UNITS_TEXT_BYTES];

	if (mount_direct_alignment(probe, &p->direct_align_bytes, &err)) {
		p->direct_align_bytes = 0;
		plan_add_fail(p, "direct", &err);
		return;
	}
	units_human_bytes(size, (double)p->direct_align_bytes);
	plan_add_check(p, "direct", PLAN_OK, "requests are rounded to %s", size);
}

char *plan_directory(const struct plan_report *p)
{
	return job_work(p->job)->page->directory(p);
}

/* A dry run warns if mlgen needs more than 1/MEMORY_SHARE of the host's memory. */
#define MEMORY_SHARE 4

static void list_blockers(struct plan_report *p)
{
	const struct plan_check *checks = p->checks.items;
	struct plan_check *blockers = mem_array(p->checks.count, sizeof(*blockers));
	size_t n = 0;

	mem_free(p->blockers.items);
	for (size_t i = 0; i < p->checks.count; i++)
		if (checks[i].state == PLAN_FAIL)
			blockers[n++] = checks[i];
	p->blockers = (struct metric_list){ blockers, n };
}

static void plan_start(struct plan_report *p, const struct job *job, const struct host *host)
{
	uint64_t limit = job->memory_limit * (1 + host->other_hosts);

	*p = (struct plan_report){
		.job = job,
		.memory_bytes = host_job_memory_bytes(host),
		.is_of_hosts = host->other_hosts > 0,
		.hosts = 1,
		.processes = 1,
		.accelerators = job_all_accelerators(job),
		.touches_files = job_touches_files(job),
		.open_files_limit = host->open_files,
	};
	if (limit && limit < p->memory_bytes)
		p->memory_bytes = limit;
	/* These figures are unknown so far. */
	p->free_bytes = p->total_steps = UINT64_MAX;
	p->dataset_memory_ratio = p->read_bytes = (double)NAN;
	p->least_seconds = p->framework_bytes = (double)NAN;
	p->samples_per_sec_one = p->bytes_per_sec_one = (double)NAN;
	p->demand_bytes_per_sec = p->demand_io_bytes_per_sec = (double)NAN;
	p->io_bytes_per_sample = (double)NAN;
	p->io.move_bytes = UINT64_MAX;
}

static void add_refusal(void *plans, size_t i, const char *name, const struct mlgen_err *err)
{
	struct plan_report *p = plans;

	plan_add_fail(&p[i], name, err);
}

static void move_dataset(void *plans, size_t i, struct dataset *ds, struct dataset *eval)
{
	struct plan_report *p = plans;

	p[i].dataset = *ds;
	p[i].eval = *eval;
	*ds = *eval = (struct dataset){ 0 };
}

/* Memory that mlgen uses is not available to the page cache, but with a framework it might be. */
static void check_memory(struct plan_report *p)
{
	const struct activity *does = job_work(p->job)->run;
	char size[UNITS_TEXT_BYTES];
	struct buf costs = { 0 };

	if (p->program_bytes <= p->memory_bytes / MEMORY_SHARE) {
		plan_add_check(p, "program", PLAN_OK, "%s", "");
		return;
	}
	if (p->need.option_bytes > p->program_bytes / 2)
		buf_addf(&costs, "%s, which uses %s of it", p->need.option,
			 units_human_bytes(size, (double)p->need.option_bytes));
	else
		buf_add(&costs, does->lower);
	plan_add_check(p, "program", PLAN_WARNING,
		       "more than a quarter of this host's memory; lower %s", buf_str(&costs));
	buf_fini(&costs);
}

static int plan_jobs(struct plan_report *plans, struct job *const *jobs, size_t count,
		     const struct host *host, struct hosts *hosts, const struct settings *set,
		     struct mlgen_err *err)
{
	struct clock *clock = clock_new_real();
	struct run_config cfg = run_config_of(set, jobs, count, host, clock);

	cfg.hosts = hosts;
	for (size_t i = 0; i < count; i++)
		plan_start(&plans[i], jobs[i], host);
	/* Make the checks that a run makes before it begins. */
	int rc = run_ask(&cfg, add_refusal, move_dataset, plans, err);
	clock_free(clock);
	for (size_t i = 0; i < count && rc == 0; i++) {
		const struct plan_input in = { jobs[i], host, set };
		const struct page *page = job_work(jobs[i])->page;
		struct plan_report *p = &plans[i];

		rc = page->plan(p, &in, err);
		if (rc)
			break;
		if (page->expect)
			page->expect(p, plans, i);
		if (p->open_files)
			plan_add_check(p, "files", PLAN_OK, "%s", "");
		check_memory(p);
		list_blockers(p);
	}
	return rc;
}

int plan_make(struct plan_report *p, struct job *job, const struct host *host,
	      const struct settings *set, struct mlgen_err *err)
{
	int rc = plan_jobs(p, &job, 1, host, NULL, set, err);

	if (rc)
		plan_fini(p);
	return rc;
}

void plan_fini(struct plan_report *p)
{
	struct plan_check *checks = p->checks.items;
	struct plan_checkpoint *c = &p->checkpoint;
	struct plan_ranks *classes = c->classes.items;

	for (size_t i = 0; i < p->checks.count; i++) {
		mem_free(checks[i].name);
		mem_free(checks[i].text);
	}
	mem_free(p->checks.items);
	mem_free(p->blockers.items);
	mlperf_rules_fini(&p->mlperf_check);
	mem_free(p->io.directory);
	for (size_t i = 0; i < c->classes.count; i++)
		mem_free(classes[i].ranks);
	mem_free(classes);
	mem_free(c->directory);
	mem_free(c->first);
	mem_free(c->last);
	mem_free(c->saved_by);
	mem_free(c->file);
	mem_free(c->last_file);
	dataset_fini(&p->eval);
	dataset_fini(&p->dataset);
	memset(p, 0, sizeof(*p));
}

int plan_make_all(struct plan_report *plans, const struct jobset *set, const struct host *host,
		  struct hosts *hosts, struct mlgen_err *err)
{
	int rc = plan_jobs(plans, set->jobs, set->count, host, hosts, &set->settings, err);

	rc = hosts_agree(hosts, rc, err);
	if (rc == 0)
		rc = plan_join(plans, set->count, hosts, err);
	for (size_t i = 0; i < set->count && rc == 0; i++)
		list_blockers(&plans[i]);
	return rc;
}

const struct plan_check *plan_find_check(const struct plan_report *p, const char *name)
{
	const struct plan_check *checks = p->checks.items;

	for (size_t i = 0; i < p->checks.count; i++)
		if (strcmp(checks[i].name, name) == 0)
			return &checks[i];
	return NULL;
}
