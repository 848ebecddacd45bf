/* SPDX-License-Identifier: Apache-2.0 */
/* plan_io_text.c - the page that a dry run prints for a plain job. */
#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "report/plan_io.h"
#include "report/plan_lines.h"
#include "report/plan_memory.h"

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void put_pattern(FILE *to, const struct plan_report *p)
{
	const struct job *j = p->job;
	char n[UNITS_TEXT_BYTES];
	struct buf line = { 0 };
	plan_start_line(&line, "pattern");
	job_option_text(j, "rw", &line);
	if (job_reads(j) && job_writes(j))
		buf_addf(&line, " (%g%% reads)", j->rwmixread);
	if (j->bssplit && *j->bssplit)
		buf_addf(&line, ", bssplit=%s", j->bssplit);
	else if (job_reads(j))
		buf_addf(&line, ", %s reads",
			 units_human_bytes(n, (double)j->bs.read));
	if (!(j->bssplit && *j->bssplit) && job_writes(j))
		buf_addf(&line, ", %s writes",
			 units_human_bytes(n, (double)j->bs.write));
	buf_addf(&line, ", %s worker%s", units_human_count(n, j->numjobs),
		 plural(j->numjobs));
	plan_put_checked(to, &line, plan_find_check(p, "requests"));
}

static void put_data(FILE *to, const struct plan_report *p)
{
	char n[UNITS_TEXT_BYTES];
	struct buf line = { 0 };
	const struct plan_check *data = plan_find_check(p, "data");
	plan_start_line(&line, "data");
	if (!p->touches_files) {
		buf_addf(&line,
			 "ioengine=%s touches no file: nothing is "
			 "written, read or needed on storage",
			 p->job->ioengine);
		plan_put_line(to, &line);
		return;
	}
	if (p->io.files == 0) {
		buf_add(&line, "the job's files");
		plan_put_checked(to, &line, data);
		return;
	}
	buf_addf(&line, "%s file%s", units_human_count(n, p->io.files),
		 plural(p->io.files));
	if (p->io.directory)
		buf_addf(&line, " in %s", p->io.directory);
	plan_add_figure(to, &line,
			units_human_bytes(n, (double)p->io.file_bytes));
	plan_put_line(to, &line);
	plan_put_present(to, p, "data");
	if (p->write_files)
		plan_put_free(to, p);
	plan_put_storage(to, p);
	plan_put_ratio(to, p, "files");
}

static void put_run(FILE *to, const struct plan_report *p)
{
	const struct job *j = p->job;
	char n[UNITS_TEXT_BYTES];
	struct buf line = { 0 };
	plan_start_line(&line, "run");
	if (j->create_only)
		buf_add(&line, "create_only: makes the files and ends");
	else if (p->io.move_bytes == UINT64_MAX && j->runtime_ns)
		buf_addf(&line, "for %s", units_human_time(n, j->runtime_ns));
	else if (p->io.move_bytes == UINT64_MAX)
		buf_add(&line, "of unknown length");
	else
		buf_addf(&line, "%s %s",
			 units_human_bytes(n, (double)p->io.move_bytes),
			 !job_writes(j)  ? "read"
			 : !job_reads(j) ? "written"
					 : "read and written");
	if (!j->create_only && p->io.move_bytes != UINT64_MAX) {
		if (j->loops > 1)
			buf_addf(&line, " in %s loops",
				 units_human_count(n, j->loops));
		if (j->runtime_ns)
			buf_addf(&line, ", or %s",
				 units_human_time(n, j->runtime_ns));
	}
	if (j->ramp_time_ns)
		buf_addf(&line, ", after %s of ramp_time",
			 units_human_time(n, j->ramp_time_ns));
	plan_put_line(to, &line);
}

/* Of all workers: the options say it of one. */
static void add_pace(struct buf *line, const char *what, uint64_t bytes,
		     uint64_t iops, uint64_t workers)
{
	char n[UNITS_TEXT_BYTES];
	double all = (double)workers;
	const char *end = line->len > PLAN_TEXT_AT ? "; " : "";
	if (bytes)
		buf_addf(line, "%s%s %s/s", end, what,
			 units_human_bytes(n, (double)bytes * all));
	if (bytes && iops)
		end = ", ";
	if (iops)
		buf_addf(line, "%s%s %s IOPS", end, what,
			 units_sig4(n, (double)iops * all));
}

static void put_pace(FILE *to, const struct plan_report *p)
{
	const struct job *j = p->job;
	struct buf line = { 0 };
	plan_start_line(&line, "rate");
	if (job_reads(j))
		add_pace(&line, "reads", j->rate.read, j->rate_iops.read,
			 j->numjobs);
	if (job_writes(j))
		add_pace(&line, "writes", j->rate.write, j->rate_iops.write,
			 j->numjobs);
	if (line.len > PLAN_TEXT_AT)
		plan_put_line(to, &line);
	else
		buf_fini(&line);
}

static void put_in_flight(FILE *to, const struct plan_report *p)
{
	const struct job *j = p->job;
	char n[UNITS_TEXT_BYTES];
	struct buf line = { 0 };
	plan_start_line(&line, "in flight");
	buf_addf(&line, "%s request%s (%" PRIu64 " worker%s",
		 units_human_count(n, p->reads_in_flight),
		 plural(p->reads_in_flight), j->numjobs, plural(j->numjobs));
	if (job_depth(j) == 1)
		buf_add(&line, ", one each)");
	else
		buf_addf(&line, " x iodepth %u)", job_depth(j));
	plan_put_line(to, &line);
}

static void put_memory(FILE *to, const struct plan_report *p)
{
	char n[UNITS_TEXT_BYTES];
	struct buf more = { 0 };
	if (p->io.buffer_bytes)
		buf_addf(&more, ", of which %s are buffers",
			 units_human_bytes(n, (double)p->io.buffer_bytes));
	plan_put_program(to, p, buf_str(&more));
	buf_fini(&more);
}

void plan_io_text(FILE *to, const struct plan_report *p)
{
	put_pattern(to, p);
	put_data(to, p);
	put_run(to, p);
	put_pace(to, p);
	plan_put_direct(to, p);
	put_in_flight(to, p);
	put_memory(to, p);
	plan_put_open_files(to, p);
}
