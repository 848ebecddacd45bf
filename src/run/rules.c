/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - what stops a run before its first byte. */
#include "run/run_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "hosts/hosts.h"
#include "io/host.h"
#include "io/pagecache.h"
#include "run/slot/slot.h"

/* Descriptors that are not a job's: standard ones, outputs, engines. */
#define SPARE_FILES 32

struct rules_known {
	struct memneed *needs; /* of all jobs */
	struct memroom room;
	bool lacks_memory;
	uint64_t open_files; /* of the jobs of this group; 0 = not counted yet */
	unsigned files_group;
};

struct asking {
	struct run_shared *run;
	run_told *told; /* NULL: the first that does not hold is enough */
	void *arg;
	struct mlgen_err *err;
};

/* Is it set up for good, or only looked at? */
static int memory_limit(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	return memlimit_check(run->slots[0].job, s->job, run->cfg.host, err);
}

static int caches(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	(void)run;
	return slot_drops_caches(s) ? dropcaches_check("", err) : 0;
}

/* What all jobs of its group take, of what there is. */
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

static int same_dataset(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	(void)run;
	return shared_check(s, err);
}

/* Groups run one after the other, and close what they have opened. */
static uint64_t count_open_files(const struct run_shared *run, unsigned group)
{
	uint64_t n = SPARE_FILES;

	for (size_t i = 0; i < run->cfg.count; i++) {
		const struct slot *s = &run->slots[i];

		if (s->job->group == group && slot_touches_files(s))
			n += s->does->open_files(s);
	}
	return n;
}

/* To count them takes a look at every file of a checkpoint, which is not done for threads that
 * there is no memory for. */
static int open_files(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	struct rules_known *k = run->known;
	uint64_t limit = run->cfg.host->open_files;
	unsigned group = s->job->group;

	if (k->lacks_memory || !slot_touches_files(s))
		return 0;
	if (!k->open_files || k->files_group != group)
		k->open_files = count_open_files(run, group);
	k->files_group = group;
	if (k->open_files <= limit)
		return 0;
	return mlgen_fail(err, -EMFILE,
			  "%" PRIu64 " files may be open at once, the limit is %" PRIu64
			  "; lower %s, or raise it with ulimit -n %" PRIu64,
			  k->open_files, limit, s->does->lower_files, k->open_files);
}

static bool takes_aio(const struct slot *s)
{
	const char *engine = s->job->engine ? s->job->engine->name : NULL;

	return engine && s->does->requests && strcmp(engine, "libaio") == 0;
}

/* The kernel counts what contexts are made for, and those of all processes (fs/aio.c); each worker
 * has one. */
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
			  " of it are in use, and all workers together need %" PRIu64
			  ": raise it (sysctl -w fs.aio-max-nr=%" PRIu64 ") or lower iodepth",
			  max, used, need, used + need);
}

/* Before the workloads' own, and behind them. */
static const struct rule first_rules[] = {
	{ "memory_limit", memory_limit },
	{ NULL, NULL },
};

static const struct rule last_rules[] = {
	{ "caches", caches },    { "program", memory },      { "dataset", same_dataset },
	{ "files", open_files }, { "engine", aio_requests }, { NULL, NULL },
};

static int ask_one(struct asking *a, size_t i, const struct rule *rule)
{
	struct mlgen_err why = { 0 };
	int rc = rule->ask(&a->run->slots[i], a->run, a->told ? &why : a->err);

	if (rc == 0 || !a->told)
		return rc;
	a->told(a->arg, i, rule->name, &why);
	return 0;
}

static int ask_slot(struct asking *a, size_t i, const struct rule *rules)
{
	int rc = 0;

	for (; rules->name && rc == 0; rules++)
		rc = ask_one(a, i, rules);
	return rc;
}

static int ask_lists(struct asking *a, size_t i, const struct rule *const *lists)
{
	int rc = 0;

	for (; lists && *lists && rc == 0; lists++)
		rc = ask_slot(a, i, *lists);
	return rc;
}

/* One rule of all jobs, then the next one. */
static int ask_all(struct asking *a, const struct rule *rules)
{
	int rc = 0;

	for (; rules->name && rc == 0; rules++)
		for (size_t i = 0; i < a->run->cfg.count && rc == 0; i++)
			rc = ask_one(a, i, rules);
	return rc;
}

/* Of the jobs of its group that come before it, and its own. */
static uint64_t threads_beside(const struct run_shared *run, size_t last)
{
	unsigned group = run->cfg.jobs[last]->group;
	uint64_t n = 0;

	for (size_t i = 0; i <= last; i++)
		if (run->cfg.jobs[i]->group == group)
			n += run->known->needs[i].threads;
	return n;
}

/* What a job needs follows from what its own rules have seen. */
static void count_needs(struct run_shared *run)
{
	struct rules_known *k = run->known;

	memlimit_room(run->memory, &k->room);
	k->needs = mem_array(run->cfg.count, sizeof(*k->needs));
	for (size_t i = 0; i < run->cfg.count; i++) {
		struct slot *s = &run->slots[i];

		s->does->need(s, k->room.bytes, &k->needs[i]);
		if (run->cfg.traces)
			memneed_trace(&k->needs[i]);
		run->threads = u64_max(run->threads, threads_beside(run, i));
	}
}

/* Of those on one host, when each by itself has enough. */
static int ask_together(struct asking *a)
{
	const struct run_config *cfg = &a->run->cfg;
	struct rules_known *k = a->run->known;
	const struct memneed_jobs all = { cfg->jobs, k->needs, cfg->count };
	struct mlgen_err why = { 0 };
	size_t job = 0;
	int rc = memhost_check(cfg->hosts, &all, &k->room, &job, a->told ? &why : a->err);

	if (rc == -ENOMEM && a->told) {
		if (!k->lacks_memory)
			a->told(a->arg, job, "program", &why);
		return 0;
	}
	if (rc < 0 && a->told)
		*a->err = why;
	return rc;
}

int rules_ask_limit(struct run_shared *run, run_told *told, void *arg, struct mlgen_err *err)
{
	struct asking a = { run, told, arg, err };

	return ask_all(&a, first_rules);
}

int rules_ask(struct run_shared *run, run_told *told, void *arg, struct mlgen_err *err)
{
	struct asking a = { run, told, arg, err };
	struct rules_known known = { 0 };
	int rc = 0;

	for (size_t i = 0; i < run->cfg.count && rc == 0; i++)
		rc = ask_lists(&a, i, run->slots[i].does->rules);
	run->known = &known;
	if (rc == 0) {
		count_needs(run);
		rc = ask_all(&a, last_rules);
	}
	rc = hosts_agree(run->cfg.hosts, rc, err);
	if (rc == 0)
		rc = ask_together(&a);
	run->known = NULL;
	mem_free(known.needs);
	return rc;
}

void rules_ask_turn(struct run_shared *run, run_told *told, void *arg)
{
	struct asking a = { run, told, arg, NULL };

	for (size_t i = 0; i < run->cfg.count; i++)
		ask_lists(&a, i, run->slots[i].does->turn_rules);
}
