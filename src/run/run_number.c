/* SPDX-License-Identifier: Apache-2.0 */
/* run_number.c - the accelerators of all processes are numbered, and what is dealt out to them; see
 * run.h. */
#include <string.h>

#include "base/mem.h"
#include "hosts/hosts.h"
#include "run/run.h"

/* What each has of each job, to all of them. */
static int tell_counts(struct hosts *h, const uint64_t *mine, size_t count, struct buf *all,
		       struct mlgen_err *err)
{
	int rc = hosts_gather(h, mine, count * sizeof(*mine), all, err);

	return rc ? rc : hosts_share(h, all, err);
}

/* Which of the hosts, and which of the processes there. */
static struct job_place place_of(const struct hosts *h)
{
	struct job_place p = { .host = hosts_host_of(h, hosts_rank(h)),
			       .hosts = hosts_count(h),
			       .rank = hosts_rank(h),
			       .total = hosts_total(h) };

	for (unsigned rank = 0; rank < hosts_total(h); rank++) {
		if (hosts_host_of(h, rank) != p.host)
			continue;
		p.process += rank < hosts_rank(h);
		p.processes++;
	}
	return p;
}

int run_number(struct hosts *hosts, struct job *const *jobs, size_t count, struct mlgen_err *err)
{
	uint64_t *mine = mem_array(count, sizeof(*mine));
	struct buf all = { 0 };
	int rc;

	if (hosts_total(hosts) == 1) {
		mem_free(mine);
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		mine[i] = jobs[i]->accelerators;
		jobs[i]->place = place_of(hosts);
	}
	rc = tell_counts(hosts, mine, count, &all, err);
	for (unsigned rank = 0; rc == 0 && rank < hosts_total(hosts); rank++) {
		size_t n;
		const char *part = hosts_part(&all, rank, &n);

		for (size_t i = 0; part && i < count && n == count * sizeof(*mine); i++) {
			uint64_t accelerators;

			memcpy(&accelerators, part + i * sizeof(accelerators),
			       sizeof(accelerators));
			jobs[i]->accelerators_all += accelerators;
			if (rank < hosts_rank(hosts))
				jobs[i]->accelerators_before += accelerators;
		}
	}
	buf_fini(&all);
	mem_free(mine);
	return rc;
}
