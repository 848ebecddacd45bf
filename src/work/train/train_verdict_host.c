/* SPDX-License-Identifier: Apache-2.0 */
/* train_verdict_host.c - see train_verdict_host.h. */
#include "work/train/train_verdict_host.h"

#include <inttypes.h>
#include <math.h>

#include "base/util.h"
#include "job/job.h"
#include "report/verdict.h"

#define OVERSLEEP_PERCENT 1.0
#define STALL_PERCENT 5.0
#define BUSY_AU_PERCENT (100.0 - STALL_PERCENT)

static bool is_full(const struct verdict_findings *f)
{
	return f->result->host.cpu_percent >= VERDICT_CPU_PERCENT;
}

static bool wakes_late(const struct verdict_findings *f)
{
	return f->ml->time_percent.oversleep >= OVERSLEEP_PERCENT;
}

/* Stalls hold first steps of epochs, which AU leaves out: where it is high, they are not what the
 * verdict is about. */
static bool hardly_waits(const struct verdict_findings *f)
{
	return f->ml->time_percent.stall <= STALL_PERCENT || f->ml->au_percent >= BUSY_AU_PERCENT;
}

static void put_ceiling_headline(struct buf *out, const struct verdict_findings *f)
{
	char percent[UNITS_TEXT_BYTES];

	if (wakes_late(f) && !is_full(f))
		buf_addf(out, "oversleep %.1f%% of accelerator time; ",
			 show_share(&f->time, "oversleep"));
	else if (!isnan(f->result->host.cpu_percent))
		buf_addf(out, "CPU %s busy; ", show_percent(percent, f->result->host.cpu_percent));
	verdict_ceiling_put(out, &f->ceiling);
}

static void put_ceiling_because(struct buf *out, const struct ceiling_gap *g)
{
	if (g->points < 0.05)
		buf_add(out, "the ceiling is no higher than the result: ");
	else if (g->is_rate)
		buf_addf(out, "the ceiling is %.1f%% above the result: ", g->points);
	else
		buf_addf(out, "the ceiling is %.1f points above the result: ", g->points);
	buf_add(out, "storage hardly matters");
}

static void put_full_headline(struct buf *out, const struct verdict_findings *f)
{
	verdict_put_full(out, &f->result->host, &f->run->host);
	buf_addf(out, "; stall is %.1f%% of accelerator time", show_share(&f->time, "stall"));
}

/* Are the CPUs full of what is not mlgen? */
static bool is_taken(const struct verdict_findings *f)
{
	return is_full(f) && verdict_cpu_is_of_others(&f->result->host);
}

/* What to take off this host, without having measured its ceiling. */
static void put_less_load(struct buf *out, const struct job *job)
{
	if (job->accelerators > 1)
		buf_addf(out,
			 "--accelerators=%" PRIu64
			 " : half the load here; this is not a statement about storage",
			 job->accelerators / 2);
	else if (job->read_threads > 1)
		buf_addf(out, "--read_threads=%" PRIu64 " : fewer threads on these CPUs",
			 job->read_threads / 2);
	else if (advice_direct(job))
		buf_add(out, "--direct=1 : less copying on these CPUs");
}

void verdict_put_stall(struct buf *out, const struct verdict_findings *f)
{
	static const double percents[] = { 99, 90 };
	const struct hist *stall = f->ml->stall_ns;
	char ms[UNITS_TEXT_BYTES];

	if (!stall || stall->count == 0 || !f->ml->step_ns) {
		buf_addf(out, "stall %.1f%% of accelerator time", show_share(&f->time, "stall"));
		return;
	}
	size_t i = 0;
	while (i < ARRAY_LEN(percents) && hist_beyond(stall, percents[i]) < 10)
		i++;
	if (i < ARRAY_LEN(percents))
		buf_addf(out, "stall p%g %s ms", percents[i],
			 units_human_ms(ms, (double)hist_percentile(stall, percents[i])));
	else
		buf_addf(out, "stall %s ms (mean)", units_human_ms(ms, hist_mean(stall)));
	buf_addf(out, " in steps of %s ms", units_human_ms(ms, hist_mean(f->ml->step_ns)));
}

void verdict_put_wakeups(struct buf *out, const struct verdict_findings *f)
{
	double late = show_share(&f->time, "oversleep");

	if (late < 0.1)
		buf_add(out, "wake-ups on time");
	else
		buf_addf(out, "oversleep %.1f%% of accelerator time", late);
}

bool verdict_has_long_first_steps(const struct verdict_findings *f)
{
	return f->ml->time_percent.stall > STALL_PERCENT && f->ml->au_percent >= BUSY_AU_PERCENT;
}

bool verdict_keeps_up(const struct verdict_findings *f)
{
	return !isnan(f->ml->demand_bytes_per_sec) && hardly_waits(f);
}

/* A ceiling is a measurement, a busy CPU a hint. Nothing is in the way of accelerators that are
 * busy. */
bool verdict_host_holds(const struct verdict_findings *f)
{
	if (f->ml->au_percent >= BUSY_AU_PERCENT && hardly_waits(f))
		return false;
	if (f->ceiling.says == CEILING_NEAR)
		return is_full(f) || wakes_late(f) || !verdict_keeps_up(f);
	return isnan(f->ceiling.reached) && (is_full(f) || wakes_late(f));
}

/* ---- the hint and the measurement disagree ---- */

/* Others who had the CPUs may have left them by the time of the ceiling, unless it is known what
 * storage costs; and with jobs beside this one a ceiling decides nothing. */
bool verdict_disputed_holds(const struct verdict_findings *f)
{
	if (isnan(f->ceiling.reached) || f->ceiling.says == CEILING_NEAR ||
	    (f->ml->au_percent >= BUSY_AU_PERCENT && hardly_waits(f)))
		return false;
	if (f->ceiling.says == CEILING_ABOVE)
		return is_taken(f) && !verdict_is_model(f->job);
	return is_full(f) || wakes_late(f);
}

void verdict_disputed_headline(struct buf *out, const struct verdict_findings *f)
{
	if (is_full(f))
		verdict_put_full(out, &f->result->host, &f->run->host);
	else
		buf_addf(out, "oversleep is %.1f%% of accelerator time",
			 show_share(&f->time, "oversleep"));
	buf_add(out, ", yet ");
	verdict_ceiling_put(out, &f->ceiling);
}

void verdict_disputed_because(struct buf *out, const struct verdict_findings *f)
{
	if (is_taken(f))
		buf_add(out, "others had the CPUs in the run, and may have left them when the "
			     "ceiling was measured; ");
	else if (f->ml->ceiling.jobs_beside)
		buf_add(out, "the ceiling is of this job without those beside it; ");
	else
		buf_add(out, "what the host does and what it could do disagree; ");
	verdict_put_cpu(out, &f->result->host);
}

void verdict_disputed_try(struct buf *out, const struct verdict_findings *f)
{
	if (is_taken(f) || !f->ml->ceiling.jobs_beside)
		buf_add(out, "the same while nothing else runs on these CPUs");
	else
		buf_add(out, "the same job alone, with --ceiling");
}

void verdict_host_headline(struct buf *out, const struct verdict_findings *f)
{
	if (f->ceiling.says == CEILING_NEAR)
		put_ceiling_headline(out, f);
	else if (is_full(f))
		put_full_headline(out, f);
	else
		buf_addf(out, "oversleep is %.1f%% of accelerator time: this host wakes late",
			 show_share(&f->time, "oversleep"));
}

void verdict_host_because(struct buf *out, const struct verdict_findings *f)
{
	const struct host_result *h = &f->result->host;
	char percent[UNITS_TEXT_BYTES], mean[UNITS_TEXT_BYTES];

	if (f->ceiling.says == CEILING_NEAR)
		put_ceiling_because(out, &f->ceiling);
	else if (is_full(f) || !h->oversleep_ns)
		verdict_put_cpu(out, h);
	else
		buf_addf(out, "sleeps ended %s ms late on average, CPU %s busy",
			 units_human_ms(mean, hist_mean(h->oversleep_ns)),
			 show_percent(percent, h->cpu_percent));
}

void verdict_host_try(struct buf *out, const struct verdict_findings *f)
{
	const struct job *job = f->job;
	bool copies = advice_direct(job) && job->access == ACCESS_PLAIN &&
		      f->ceiling.copying > CEILING_NEAR_POINTS;

	if (is_taken(f))
		buf_add(out, "the same while nothing else runs on these CPUs");
	else if (f->ceiling.says == CEILING_NEAR && copies)
		buf_addf(out, "--direct=1 : less copying on these CPUs, which costs %.1f %s",
			 f->ceiling.copying, f->ceiling.is_rate ? "percent" : "points");
	else if (f->ceiling.says == CEILING_NEAR)
		buf_add(out,
			"fewer accelerators here, or more hosts; not a statement about storage");
	else if (!f->ml->ceiling.is_tried && !verdict_without_storage(job))
		buf_add(out, "--ceiling : what this host could do at best");
	else
		put_less_load(out, job);
}
