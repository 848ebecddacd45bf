/* SPDX-License-Identifier: Apache-2.0 */
/* memlimit.c - see memlimit.h. */
#include "run/memlimit.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "run/memneed.h"

static const char *limit_text(char text[UNITS_TEXT_BYTES], const struct job *j)
{
	if (j->memory_limit == 0)
		return "none";
	return units_human_bytes(text, (double)j->memory_limit);
}

static int differ(const struct job *a, const struct job *b, struct mlgen_err *err)
{
	char one[UNITS_TEXT_BYTES], other[UNITS_TEXT_BYTES];

	return mlgen_fail(err, -EINVAL,
			  "memory_limit: is %s in %s and %s in %s, but it is of the whole process; "
			  "set it once, in [global] or on the command line",
			  limit_text(one, a), a->name, limit_text(other, b), b->name);
}

/* At all, before there is a limit to stay below. */
static int memlimit_check_range(uint64_t want, const struct host *host, struct mlgen_err *err)
{
	char limit[UNITS_TEXT_BYTES], other[UNITS_TEXT_BYTES];

	if (want <= host->memory_bytes)
		return 0;
	return mlgen_fail(
		err, -EINVAL,
		"memory_limit: %s is more than this process has, %s; take less, or leave it out",
		units_human_bytes(limit, (double)want),
		units_human_bytes(other, (double)host->memory_bytes));
}

int memlimit_check(const struct job *first, const struct job *job, const struct host *host,
		   struct mlgen_err *err)
{
	if (job->memory_limit != first->memory_limit)
		return differ(first, job, err);
	return job->memory_limit ? memlimit_check_range(job->memory_limit, host, err) : 0;
}

/* Pages are charged to whoever read them first, for as long as they stay. */
static void warn_of_cached(struct job *const *jobs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (jobs[i]->invalidate == INVALIDATE_NONE &&
		    jobs[i]->drop_caches == DROP_CACHES_NO && !jobs[i]->direct)
			log_warn("%s: memory_limit: what of its files is in the page cache already "
				 "stays there beside the limit; invalidate=run drops it first",
				 jobs[i]->name);
}

/* Goes on without: no failure, and of no errno's value. */
enum { WITHOUT = 1 };

static int take_group(struct memlimit *m, const struct job *job, struct host *host,
		      struct mlgen_err *why, struct mlgen_err *err)
{
	char memory[UNITS_TEXT_BYTES];
	uint64_t processes = job_host_processes(job);
	int rc = cgroup_limit_memory(&m->group, "", job->memory_limit / processes, why);

	if (rc < 0 && !job->memory_limit_required)
		return WITHOUT;
	if (rc < 0)
		return mlgen_fail(err, rc,
				  "%s. Without it the page cache may take all of the %s here; "
				  "--memory_limit_required=0 runs it so",
				  why->text, units_human_bytes(memory, (double)host->memory_bytes));
	m->limit_bytes = m->group.limit_bytes * processes;
	host->memory_bytes = m->limit_bytes;
	host->memory_limit_bytes = m->limit_bytes;
	host->others_memory_bytes = host->other_hosts * m->limit_bytes;
	return 0;
}

/* It would not live to say so: it is refused when it is known what would do. */
static bool is_too_little(struct memlimit *m, const struct job *job, struct host *host)
{
	if (job->memory_limit / job_host_processes(job) >= MEMNEED_LIMITED_BYTES)
		return false;
	m->limit_bytes = job->memory_limit;
	host->memory_bytes = job->memory_limit;
	return true;
}

int memlimit_set(struct memlimit *m, struct job *const *jobs, size_t count, struct host *host,
		 struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };
	char memory[UNITS_TEXT_BYTES];
	int rc;

	if (count == 0 || jobs[0]->memory_limit == 0)
		return 0;
	if (is_too_little(m, jobs[0], host))
		return 0;
	rc = take_group(m, jobs[0], host, &why, err);
	if (rc < 0)
		return rc;
	if (rc == WITHOUT) {
		log_warn("%s. It runs without: the page cache may take all of the %s here, and "
			 "more of the files may come from memory than with the limit",
			 why.text, units_human_bytes(memory, (double)host->memory_bytes));
		return 0;
	}
	memlimit_watch_start(&m->watch, &m->group);
	atomic_store(&m->is_set, true);
	warn_of_cached(jobs, count);
	return 0;
}

int memlimit_try(struct memlimit *m, const struct job *job, struct host *host,
		 struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };
	int rc;

	if (!job->memory_limit || is_too_little(m, job, host))
		return 0;
	rc = take_group(m, job, host, &why, err);
	if (rc == 0)
		cgroup_leave(&m->group, "");
	/* What else there is to say is of the run that was asked for. */
	if (rc < 0)
		m->limit_bytes = host->memory_bytes = job->memory_limit;
	m->group = (struct cgroup){ 0 };
	return rc < 0 ? rc : 0;
}

void memlimit_room(const struct memlimit *m, struct memroom *room)
{
	memroom_read(room, "", m->group.path);
}

void memlimit_lift(struct memlimit *m)
{
	char path[CGROUP_PATH_BYTES];
	int rc;

	if (!atomic_exchange(&m->is_set, false))
		return;
	memlimit_watch_end(&m->watch);
	memcpy(path, m->group.path, sizeof(path));
	rc = cgroup_leave(&m->group, "");
	if (rc < 0)
		log_warn("memory_limit: %s could not be removed: %s", path, strerror(-rc));
}
