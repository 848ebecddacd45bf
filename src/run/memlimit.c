/* SPDX-License-Identifier: Apache-2.0 */
/* memlimit.c - memory_limit, and the memory needs of all processes of a host. */
#include "run/run_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "run/slot/slot.h"

/* The child: wait until the parent is gone, report a kill, and remove the group. */
static _Noreturn void watch_parent(pid_t parent, int from_parent, struct cgroup g)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	char byte, limit[UNITS_TEXT_BYTES];

	/* The parent never writes; the read ends when the parent does. */
	while (read(from_parent, &byte, 1) < 0 && errno == EINTR)
		;
	/* The pipe is closed before the last thread of the parent has left the group. */
	while (getppid() == parent)
		nanosleep(&ms, NULL);
	if (cgroup_kills(&g, "") > 0)
		log_error("memory_limit: the kernel killed mlgen because it needed more than %s; "
			  "there is no report. Raise the limit, or lower the memory for requests: "
			  "threads, ranks, bs, iodepth",
			  units_human_bytes(limit, (double)g.limit_bytes));
	cgroup_leave(&g, "");
	_exit(0);
}

/* Start the child in a group that this process has joined. Without a child the run continues; only
 * the report after a kill and the removal of the group are missing. */
static void memlimit_watch_start(struct memlimit_watch *w, const struct cgroup *g)
{
	pid_t parent = getpid(), child;
	sigset_t all, before;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	/* Signals to the program, such as ^C, must not end the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	child = fork();
	if (child == 0) {
		close(ends[1]);
		watch_parent(parent, ends[0], *g);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[0]);
	if (child > 0)
		*w = (struct memlimit_watch){ child, ends[1] };
	else
		close(ends[1]);
}

static const char *limit_text(char text[UNITS_TEXT_BYTES], const struct job *j)
{
	if (j->memory_limit == 0)
		return "none";
	return units_human_bytes(text, (double)j->memory_limit);
}

int memlimit_check(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct job *first = run->slots[0].job, *job = s->job;
	const struct host *host = run->cfg.host;
	char limit[UNITS_TEXT_BYTES], other[UNITS_TEXT_BYTES];

	if (job->memory_limit != first->memory_limit)
		return mlgen_fail(err, -EINVAL,
				  "memory_limit: is %s in %s and %s in %s, but it applies to the "
				  "whole process; set it once, in [global] or on the command line",
				  limit_text(limit, first), first->name, limit_text(other, job),
				  job->name);
	if (job->memory_limit <= host->memory_bytes)
		return 0;
	return mlgen_fail(
		err, -EINVAL,
		"memory_limit: %s is more than the %s of this process; use a lower limit, or none",
		units_human_bytes(limit, (double)job->memory_limit),
		units_human_bytes(other, (double)host->memory_bytes));
}

/* Result of set_group: the run continues without the limit. This is not an errno. */
enum { WITHOUT = 1 };

static int set_group(struct memlimit *m, const struct job *job, struct host *host,
		     struct mlgen_err *why, struct mlgen_err *err)
{
	char memory[UNITS_TEXT_BYTES];
	uint64_t processes = job_host_processes(job);
	int rc = cgroup_limit_memory(&m->group, "", job->memory_limit / processes, why);

	if (rc < 0 && !job->memory_limit_required)
		return WITHOUT;
	if (rc < 0)
		return mlgen_fail(err, rc,
				  "%s. Without the limit the page cache may use all %s here; "
				  "--memory_limit_required=0 runs the job without it",
				  why->text, units_human_bytes(memory, (double)host->memory_bytes));
	m->limit_bytes = m->group.limit_bytes * processes;
	host->memory_bytes = m->limit_bytes;
	host->memory_limit_bytes = m->limit_bytes;
	host->others_memory_bytes = host->other_hosts * m->limit_bytes;
	return 0;
}

/* Is the limit so low that the process would not live to report it? Such a limit is not set. A
 * later rule refuses it, when the needs of the jobs are known. */
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
	rc = set_group(m, jobs[0], host, &why, err);
	if (rc < 0)
		return rc;
	if (rc == WITHOUT) {
		log_warn("%s. The job runs without the limit: the page cache may use all %s here, "
			 "and more of the files may come from memory",
			 why.text, units_human_bytes(memory, (double)host->memory_bytes));
		return 0;
	}
	memlimit_watch_start(&m->watch, &m->group);
	atomic_store(&m->is_set, true);

	/* Page-cache pages are charged to the group that read them first, as long as they stay. */
	for (size_t i = 0; i < count; i++)
		if (jobs[i]->invalidate == INVALIDATE_NONE &&
		    jobs[i]->drop_caches == DROP_CACHES_NO && !jobs[i]->direct)
			log_warn("%s: memory_limit: pages of its files that are already in the "
				 "page cache are not limited; invalidate=run drops them first",
				 jobs[i]->name);
	return 0;
}

int memlimit_try(struct memlimit *m, const struct job *job, struct host *host,
		 struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };
	int rc;

	if (!job->memory_limit || is_too_little(m, job, host))
		return 0;
	rc = set_group(m, job, host, &why, err);
	if (rc == 0)
		cgroup_leave(&m->group, "");
	/* The other rules are checked as if the limit could be set. */
	if (rc < 0)
		m->limit_bytes = host->memory_bytes = job->memory_limit;
	m->group = (struct cgroup){ 0 };
	return rc < 0 ? rc : 0;
}

void memlimit_lift(struct memlimit *m)
{
	char path[CGROUP_PATH_BYTES];
	int rc;

	if (!atomic_exchange(&m->is_set, false))
		return;
	/* The child must be gone before this process leaves the group. */
	if (m->watch.child) {
		kill(m->watch.child, SIGKILL);
		while (waitpid(m->watch.child, NULL, 0) < 0 && errno == EINTR)
			;
		close(m->watch.pipe_fd);
		m->watch = (struct memlimit_watch){ 0 };
	}
	memcpy(path, m->group.path, sizeof(path));
	rc = cgroup_leave(&m->group, "");
	if (rc < 0)
		log_warn("memory_limit: %s could not be removed: %s", path, strerror(-rc));
}

/* The memory that is available to each process, and the memory that a job needs in each process. */
struct memhost_look {
	const struct hosts *h;
	const struct memroom *rooms; /* per rank; zeroed for a process that is gone */
	const uint64_t *needs;
};

static const struct memroom_place *find_place(const struct memroom *room, const uint64_t id[2])
{
	for (size_t i = 0; i < room->place_count; i++)
		if (memcmp(room->places[i].id, id, sizeof(room->places[i].id)) == 0)
			return &room->places[i];
	return NULL;
}

/* Is there enough memory at this place, the host or a control group, for all processes on the host
 * of `rank` that share it? */
static bool is_enough(const struct memhost_look *l, unsigned rank,
		      const struct memroom_place *there, struct memneed_host *host)
{
	uint64_t least = there->bytes;

	*host = (struct memneed_host){ .name = hosts_name(l->h, rank), .of = there->of };
	for (unsigned i = 0; i < hosts_total(l->h); i++) {
		const struct memroom_place *p = find_place(&l->rooms[i], there->id);

		if (!p || hosts_host_of(l->h, i) != hosts_host_of(l->h, rank))
			continue;
		host->processes++;
		if (__builtin_add_overflow(host->bytes, l->needs[i], &host->bytes))
			host->bytes = UINT64_MAX;
		if (p->bytes < least) {
			least = p->bytes;
			host->of = p->of;
		}
	}
	return host->processes < 2 || host->bytes <= least;
}

static bool all_have_enough(const struct memhost_look *l, struct memneed_host *host)
{
	for (unsigned rank = 0; rank < hosts_total(l->h); rank++)
		for (size_t i = 0; i < l->rooms[rank].place_count; i++)
			if (!is_enough(l, rank, &l->rooms[rank].places[i], host))
				return false;
	return true;
}

static int check_all(const struct hosts *h, const struct memneed_jobs *all, const struct buf *parts,
		     size_t *job, struct mlgen_err *err)
{
	struct memroom *rooms = mem_array(hosts_total(h), sizeof(*rooms));
	uint64_t *needs = mem_array(hosts_total(h), sizeof(*needs));
	const struct memhost_look look = { h, rooms, needs };
	struct memneed_host host;
	int rc = 0;

	for (*job = 0; *job < all->count && rc == 0; (*job)++) {
		for (unsigned rank = 0; rank < hosts_total(h); rank++) {
			size_t n;
			const char *part = hosts_part(parts, rank, &n);

			if (!part)
				continue;
			memcpy(&rooms[rank], part, sizeof(rooms[rank]));
			memcpy(&needs[rank],
			       part + sizeof(rooms[rank]) + *job * sizeof(needs[rank]),
			       sizeof(needs[rank]));
		}
		if (!all_have_enough(&look, &host))
			rc = memneed_fail_host(all, all->jobs[*job]->group, &host, err);
	}
	*job -= rc < 0;
	mem_free(rooms);
	mem_free(needs);
	return rc;
}

int memhost_check(struct hosts *h, const struct memneed_jobs *all, const struct memroom *room,
		  size_t *job, struct mlgen_err *err)
{
	struct buf mine = { 0 }, parts = { 0 };

	if (hosts_total(h) == 1)
		return 0;
	buf_addn(&mine, (const char *)room, sizeof(*room));
	for (size_t i = 0; i < all->count; i++) {
		uint64_t n = memneed_bytes(all, all->jobs[i]->group);

		buf_addn(&mine, (const char *)&n, sizeof(n));
	}
	int rc = hosts_gather(h, buf_str(&mine), mine.len, &parts, err);
	if (rc == 0 && hosts_rank(h) == 0)
		rc = check_all(h, all, &parts, job, err);
	buf_fini(&mine);
	buf_fini(&parts);
	return rc;
}
