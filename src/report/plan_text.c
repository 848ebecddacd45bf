/* SPDX-License-Identifier: Apache-2.0 */
/* plan_text.c - the page that a dry run prints of any job. */
#include "report/plan_report.h"

#include <string.h>

#include "base/buf.h"
#include "base/util.h"
#include "report/page.h"
#include "report/plan_lines.h"

static bool is_how(const struct job_origin *o, const char *how)
{
	return o->how && strcmp(o->how, how) == 0;
}

static const char *file_of(const struct job *j, size_t row)
{
	const char *file = j->origins[row].at.file;

	return file ? file : "";
}

static bool is_first_of_file(const struct job *j, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (strcmp(file_of(j, i), file_of(j, row)) == 0)
			return false;
	return true;
}

/* A file may say what would be anyway, and one of --showjob says everything. */
static unsigned count_of_file(const struct job *j, const char *file)
{
	unsigned n = 0;

	for (size_t i = 0; job_fields[i].name; i++)
		n += strcmp(file_of(j, i), file) == 0 && !workload_is_default(j, &job_fields[i]);
	return n;
}

static void list_files(struct buf *text, const struct job *j)
{
	for (size_t i = 0; job_fields[i].name; i++) {
		const char *file = file_of(j, i);

		if (!*file || !is_first_of_file(j, i))
			continue;
		unsigned n = count_of_file(j, file);
		if (n)
			buf_addf(text, "%s%u option%s of %s", text->len ? "; " : "", n, plural(n),
				 file);
	}
}

/* "directory num_files (command line); 12 options of jobs/unet3d.job" */
static void list_changes(struct buf *text, const struct job *j)
{
	for (size_t i = 0; job_fields[i].name; i++)
		if (is_how(&j->origins[i], "command line") &&
		    !workload_is_default(j, &job_fields[i]))
			buf_addf(text, "%s%s", text->len ? " " : "", job_fields[i].name);
	if (text->len)
		buf_add(text, " (command line)");
	list_files(text, j);
	if (text->len && j->accelerator)
		buf_addf(text, ", accelerator=%s", j->accelerator);
}

static void put_origins(FILE *to, const struct plan_report *p)
{
	static const char label[] = "not default: ";
	struct buf text = { 0 }, line = { 0 };

	list_changes(&text, p->job);
	if (text.len) {
		buf_add(&text, ". --showjob lists all");
		buf_add(&line, label);
		fputc('\n', to);
		plan_put_wrapped(to, &line, sizeof(label) - 1, buf_str(&text));
	}
	buf_fini(&text);
}

static void put_engine(struct buf *line, const struct plan_report *p)
{
	plan_say(line, p, "{ioengine=}");
}

static void put_cpus(struct buf *line, const struct plan_report *p)
{
	plan_say(line, p, "[{cpus_allowed=} ][{numa_cpu_nodes=} ]{numa=}");
}

static void put_limit(struct buf *line, const struct plan_report *p)
{
	plan_say(line, p, "{memory_limit=}");
}

/* Those who save have a line of their own. */
static void put_caches(struct buf *line, const struct plan_report *p)
{
	plan_say(line, p, "{drop_caches=}");
}

/* What stops a run and has no line on the page of a workload. */
static const struct {
	const char *check, *label;
	void (*put)(struct buf *line, const struct plan_report *p);
} others[] = {
	{ "engine", "engine", put_engine },
	{ "cpus", "CPUs", put_cpus },
	{ "memory_limit", "memory", put_limit },
	{ "caches", "caches", put_caches },
};

static void put_others(FILE *to, const struct plan_report *p)
{
	bool saves = job_work(p->job)->checkpoints == CHECKPOINTS_ALWAYS;

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		const struct plan_check *c = plan_find_check(p, others[i].check);
		struct buf line = { 0 };

		if (!c || c->state != PLAN_FAIL || (saves && others[i].put == put_caches))
			continue;
		plan_start_line(&line, others[i].label);
		others[i].put(&line, p);
		plan_put_checked(to, &line, c);
	}
}

static void put_hosts(FILE *to, const struct plan_report *p)
{
	struct buf line = { 0 };

	if (p->processes == 1)
		return;
	plan_start_line(&line, "hosts");
	plan_say(&line, p, "{plan.hosts} host{s}, {plan.processes} processes");
	if (job_work(p->job)->has_accelerators)
		plan_say(&line, p, ", {plan.accelerators} accelerator{s}");
	plan_put_line(to, &line);
}

void plan_text(FILE *to, const struct plan_report *p)
{
	fprintf(to, "%s: dry run, nothing was read or written\n\n", p->job->name);
	put_hosts(to, p);
	job_work(p->job)->page->plan_text(to, p);
	put_others(to, p);
	put_origins(to, p);
}
