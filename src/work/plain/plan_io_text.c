/* SPDX-License-Identifier: Apache-2.0 */
/* plan_io_text.c - the page that a dry run prints for a plain job. */
#include "base/units.h"
#include "base/util.h"
#include "report/plan_lines.h"
#include "report/plan_memory.h"
#include "work/plain/plan_io.h"

static void put_pattern(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;
	bool is_split = has_text(j->bssplit);

	plan_say(text, p, "{rw}");
	if (job_reads(j) && job_writes(j))
		plan_say(text, p, " ({rwmixread} reads)");
	plan_say(text, p, "[, {bssplit=}]");
	if (!is_split && job_reads(j))
		plan_say(text, p, ", {bs.read} reads");
	if (!is_split && job_writes(j))
		plan_say(text, p, ", {bs.write} writes");
	plan_say(text, p, ", {numjobs} worker{s}");
}

void plan_io_put_data(FILE *to, const struct plan_report *p, const char *where)
{
	const struct plan_check *data = plan_find_check(p, "data");
	struct buf line = { 0 };

	plan_start_line(&line, "data");
	if (!p->touches_files) {
		plan_say(&line, p,
			 "{ioengine=} touches no file: nothing is written, read or needed on "
			 "storage");
		plan_put_line(to, &line);
		return;
	}
	if (p->io.files == 0) {
		buf_add(&line, "the job's files");
		plan_put_checked(to, &line, data);
		return;
	}
	plan_say(&line, p, "{plan.files} file{s}");
	if (p->io.directory) {
		buf_addf(&line, " %s ", where);
		plan_say(&line, p, "{plan.directory}");
	}
	plan_add_bytes(to, &line, (double)p->io.file_bytes);
	plan_put_line(to, &line);
	plan_put_present(to, p, "data");
	if (p->write_files)
		plan_put_free(to, p);
	plan_put_storage(to, p);
	plan_put_ratio(to, p, "files");
}

static void put_data(FILE *to, const struct plan_report *p)
{
	plan_io_put_data(to, p, "in");
}

static const char *moved(const struct job *j)
{
	return !job_writes(j) ? " read" : !job_reads(j) ? " written" : " read and written";
}

static void add_moves(struct buf *line, const struct plan_report *p)
{
	plan_say(line, p, "{plan.move_bytes}");
	buf_add(line, moved(p->job));
	if (p->job->loops > 1)
		plan_say(line, p, " in {loops} loops");
	plan_say(line, p, "[, or {runtime}]");
}

static void put_run(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;

	if (j->create_only)
		buf_add(text, "create_only: makes the files and ends");
	else if (p->io.move_bytes != UINT64_MAX)
		add_moves(text, p);
	else if (j->runtime_ns)
		plan_say(text, p, "for {runtime}");
	else
		buf_add(text, "of unknown length");
	plan_say(text, p, "[, after {ramp_time} of ramp_time]");
}

/* Of all workers: the options say it of one. */
static void add_pace(struct buf *line, const char *what, uint64_t bytes, uint64_t iops,
		     uint64_t workers)
{
	char n[UNITS_TEXT_BYTES];
	double all = (double)workers;
	const char *end = line->len ? "; " : "";

	if (bytes)
		buf_addf(line, "%s%s %s/s", end, what, units_human_bytes(n, (double)bytes * all));
	if (bytes && iops)
		end = ", ";
	if (iops)
		buf_addf(line, "%s%s %s IOPS", end, what, units_sig4(n, (double)iops * all));
}

static void put_pace(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;

	if (job_reads(j))
		add_pace(text, "reads", j->rate.read, j->rate_iops.read, j->numjobs);
	if (job_writes(j))
		add_pace(text, "writes", j->rate.write, j->rate_iops.write, j->numjobs);
}

static void put_in_flight(struct buf *text, const struct plan_report *p)
{
	plan_say(text, p, "{plan.reads_in_flight} request{s} ({numjobs} worker{s}");
	if (p->processes > 1)
		buf_add(text, " in each process");
	if (job_depth(p->job) == 1)
		buf_add(text, ", one each)");
	else
		buf_addf(text, " x iodepth %u)", job_depth(p->job));
}

void plan_io_put_memory(struct buf *text, const struct plan_report *p)
{
	plan_put_program(text, p);
	plan_say(text, p, "[, of which {plan.buffer_bytes} are buffers]");
}

void plan_io_text(FILE *to, const struct plan_report *p)
{
	static const struct plan_line lines[] = {
		{ "pattern", .put = put_pattern, .check = "requests" },
		{ .lines = put_data },
		{ "run", .put = put_run },
		{ "rate", .put = put_pace },
		{ .lines = plan_put_direct },
		{ "in flight", .put = put_in_flight },
		{ "memory", .put = plan_io_put_memory, .check = "program" },
		{ "files", .put = plan_put_open_files, .check = "files" },
		{ 0 },
	};

	plan_put_list(to, lines, p);
}
