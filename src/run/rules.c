/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - the rules that stop a run before its first byte. */
#include "run/run_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "hosts/hosts.h"
#include "io/host.h"
#include "run/slot/slot.h"

/* Descriptors that belong to no job: standard streams, outputs, engines. */
#define SPARE_FILES 32

/* Facts that several rules use. */
struct rules_known {
	struct memneed *needs; /* per job */
	struct memroom room;
	bool lacks_memory;
	uint64_t open_files; /* sum for files_group; 0 = not counted yet */
	unsigned files_group;
};

struct rule_check {
	struct run_shared *run;
	run_rule_failed_fn *report; /* NULL: the first rule that does not hold ends the check */
	void *arg;
	struct mlgen_err *err;
};

static int caches(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	(void)run;
	return slot_drops_caches(s) ? dropcaches_check("", err) : 0;
}

/* Is there enough memory for all jobs of the group? */
static int memory(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	struct rules_known *k = run->known;
	const struct memneed_jobs all = { run->cfg.jobs, k->needs, run->cfg.count };
	uint64_t limit = run->memory->limit_bytes;
	int rc = memneed_check(&all, s->job->group, &k->room, err);

	if (rc == 0 && limit)
		rc = memneed_check_limit(&all, s->job->group, limit, job_host_processes(s->job),
					 err);
	k->lacks_memory |= rc < 0;
	return rc;
}

/* Files are not counted if there is not enough memory, since counting looks at every file of a
 * checkpoint. */
static int open_files(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	struct rules_known *k = run->known;
	uint64_t limit = run->cfg.host->open_files;
	unsigned group = s->job->group;

	if (k->lacks_memory || !slot_touches_files(s))
		return 0;
	/* Only the jobs of one group have files open at the same time. */
	if (!k->open_files || k->files_group != group) {
		k->open_files = SPARE_FILES;
		k->files_group = group;
		for (size_t i = 0; i < run->cfg.count; i++) {
			const struct slot *other = &run->slots[i];

			if (other->job->group == group && slot_touches_files(other))
				k->open_files += other->does->open_files(other);
		}
	}
	if (k->open_files <= limit)
		return 0;
	return mlgen_fail(err, -EMFILE,
			  "%" PRIu64 " files may be open at once, but the limit is %" PRIu64
			  "; lower %s, or raise the limit with ulimit -n %" PRIu64,
			  k->open_files, limit, s->does->lower_files, k->open_files);
}

static bool takes_aio(const struct slot *s)
{
	const char *engine = s->job->engine ? s->job->engine->name : NULL;

	return engine && s->does->requests && strcmp(engine, "libaio") == 0;
}

/* The kernel limits the sum of the sizes of all contexts of all processes (fs/aio.c). Each worker
 * has a context. */
static int aio_requests(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	uint64_t max, used, need = 0;

	if (!takes_aio(s) || sysfile_u64(&max, "", "/proc/sys/fs/aio-max-nr") < 0 ||
	    sysfile_u64(&used, "", "/proc/sys/fs/aio-nr") < 0)
		return 0;
	for (size_t i = 0; i < run->cfg.count; i++) {
		const struct slot *other = &run->slots[i];

		if (other->job->group == s->job->group && takes_aio(other))
			need += other->does->requests(other);
	}
	if (used <= max && need <= max - used)
		return 0;
	return mlgen_fail(err, -EAGAIN,
			  "ioengine=libaio: fs.aio-max-nr is %" PRIu64 ", %" PRIu64
			  " of these are in use, and all workers together need %" PRIu64
			  "; raise it (sysctl -w fs.aio-max-nr=%" PRIu64 ") or lower iodepth",
			  max, used, need, used + need);
}

/* Rules before those of the workloads, and after them. */
static const struct rule first_rules[] = {
	{ "memory_limit", memlimit_check },
	{ NULL, NULL },
};

static const struct rule last_rules[] = {
	{ "caches", caches },    { "program", memory },      { "dataset", shared_check },
	{ "files", open_files }, { "engine", aio_requests }, { NULL, NULL },
};

static int check_rule(struct rule_check *c, size_t i, const struct rule *rule)
{
	struct mlgen_err why = { 0 };
	int rc = rule->ask(&c->run->slots[i], c->run, c->report ? &why : c->err);

	if (rc == 0 || !c->report)
		return rc;
	c->report(c->arg, i, rule->name, &why);
	return 0;
}

static int check_lists(struct rule_check *c, size_t i, const struct rule *const *lists)
{
	int rc = 0;

	for (; lists && *lists && rc == 0; lists++)
		for (const struct rule *rule = *lists; rule->name && rc == 0; rule++)
			rc = check_rule(c, i, rule);
	return rc;
}

/* Check each rule for all jobs before the next rule. */
static int check_all_jobs(struct rule_check *c, const struct rule *rules)
{
	int rc = 0;

	for (; rules->name && rc == 0; rules++)
		for (size_t i = 0; i < c->run->cfg.count && rc == 0; i++)
			rc = check_rule(c, i, rules);
	return rc;
}

/* Call this after the jobs' own rules, whose findings the needs depend on. */
static void count_needs(struct run_shared *run)
{
	struct rules_known *k = run->known;

	/* The memory that is available without the limit. */
	memroom_read(&k->room, "", run->memory->group.path);
	k->needs = mem_array(run->cfg.count, sizeof(*k->needs));
	for (size_t i = 0; i < run->cfg.count; i++) {
		struct slot *s = &run->slots[i];
		uint64_t group_threads = 0;

		s->does->need(s, k->room.bytes, &k->needs[i]);
		if (run->cfg.traces)
			memneed_trace(&k->needs[i]);
		for (size_t n = 0; n <= i; n++)
			if (run->cfg.jobs[n]->group == s->job->group)
				group_threads += k->needs[n].threads;
		run->threads = u64_max(run->threads, group_threads);
	}
}

/* Is there enough memory for the processes of a host together, if there is for each of them? */
static int check_host_memory(struct rule_check *c)
{
	const struct run_config *cfg = &c->run->cfg;
	struct rules_known *k = c->run->known;
	const struct memneed_jobs all = { cfg->jobs, k->needs, cfg->count };
	struct mlgen_err why = { 0 };
	size_t job = 0;
	int rc = memhost_check(cfg->hosts, &all, &k->room, &job, c->report ? &why : c->err);

	if (rc == -ENOMEM && c->report) {
		if (!k->lacks_memory)
			c->report(c->arg, job, "program", &why);
		return 0;
	}
	if (rc < 0 && c->report)
		*c->err = why;
	return rc;
}

int rules_ask_limit(struct run_shared *run, run_rule_failed_fn *report, void *arg,
		    struct mlgen_err *err)
{
	struct rule_check c = { run, report, arg, err };

	return check_all_jobs(&c, first_rules);
}

int rules_ask(struct run_shared *run, run_rule_failed_fn *report, void *arg, struct mlgen_err *err)
{
	struct rule_check c = { run, report, arg, err };
	struct rules_known known = { 0 };
	int rc = 0;

	for (size_t i = 0; i < run->cfg.count && rc == 0; i++)
		rc = check_lists(&c, i, run->slots[i].does->rules);
	run->known = &known;
	if (rc == 0) {
		count_needs(run);
		rc = check_all_jobs(&c, last_rules);
	}
	rc = hosts_agree(run->cfg.hosts, rc, err);
	if (rc == 0)
		rc = check_host_memory(&c);
	run->known = NULL;
	mem_free(known.needs);
	return rc;
}

void rules_ask_turn(struct run_shared *run, run_rule_failed_fn *report, void *arg)
{
	struct rule_check c = { run, report, arg, NULL };

	for (size_t i = 0; i < run->cfg.count; i++)
		check_lists(&c, i, run->slots[i].does->turn_rules);
}
