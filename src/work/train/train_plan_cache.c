/* SPDX-License-Identifier: Apache-2.0 */
/* train_plan_cache.c - the cache tier of a training on the page of a dry run. */
#include "work/train/train_plan.h"

#include <inttypes.h>
#include <math.h>

#include "base/buf.h"
#include "base/units.h"
#include "data/cache/cache.h"
#include "job/job.h"
#include "report/plan_lines.h"
#include "report/show.h"

static bool is_played(const struct job *j)
{
	return dist_mean(&j->cache_latency) > 0 || j->cache_bandwidth_bytes;
}

/* "15.0% of the dataset, 22.0 GiB"; what is larger fits. */
static void put_share(struct buf *line, const struct cacheshare *c)
{
	char n[UNITS_TEXT_BYTES], m[UNITS_TEXT_BYTES];

	if (c->asked >= 1) {
		buf_addf(line, "all of the dataset fits, %s", units_human_bytes(n, c->held_bytes));
		return;
	}
	buf_addf(line, "%s of the dataset, %s", show_percent(n, c->share * 100),
		 units_human_bytes(m, c->held_bytes));
	if (c->samples != UINT64_MAX)
		buf_addf(line, " (%s samples)", units_human_count(n, c->samples));
}

static void put_where(struct buf *line, const struct job *j)
{
	if (j->cache_directory)
		buf_addf(line, " in %s", j->cache_directory);
	else if (is_played(j))
		buf_add(line, ", which is only played");
	else
		buf_add(line, " in memory");
	if (j->cache_scope == CACHE_OF_RANK && j->accelerators > 1)
		buf_add(line, ", for each accelerator");
	if (job_cache_parts(j) > 1)
		buf_addf(line, ", one of all %" PRIu64 " processes, each of which keeps 1/%" PRIu64,
			 job_cache_parts(j), job_cache_parts(j));
}

static void put_expected(struct buf *line, const struct job *j, const struct cacheshare *c)
{
	double hits = cacheshare_holds_for(j) ? cacheshare_hits((enum job_cache)j->cache, c->share)
					      : (double)NAN;

	if (!isnan(hits))
		buf_addf(line, "%.1f%% hits expected from epoch 2 on; ", hits * 100);
}

void train_plan_cache(FILE *to, const struct plan_report *p)
{
	struct buf line = { 0 }, rest = { 0 };
	struct cacheshare c;
	char n[UNITS_TEXT_BYTES];

	if (p->job->cache == CACHE_NONE)
		return;
	cacheshare_of(&c, p->job, &p->dataset, p->cache_stored_bytes);
	plan_start_line(&line, "cache");
	buf_addf(&line, "%s, ", cache_word(p->job->cache));
	put_share(&line, &c);
	put_where(&line, p->job);
	plan_put_checked(to, &line, plan_find_check(p, "cache"));
	put_expected(&rest, p->job, &c);
	buf_addf(&rest, "%s of memory for its bookkeeping",
		 units_human_bytes(n, p->cache_state_bytes));
	plan_put_sentence(to, buf_str(&rest));
	buf_fini(&rest);
}
