/* SPDX-License-Identifier: Apache-2.0 */
/* plan_text.c - prints the page of a dry run. */
#include "report/text/text.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/units.h"
#include "base/util.h"
#include "report/metrics/metrics.h"
#include "report/plan/plan.h"

void plan_append_program(struct buf *text, const struct plan_report *p)
{
	double mib = (double)(p->program_bytes >> 20) + 1;
	char size[UNITS_TEXT_BYTES];

	buf_addf(text, "%s for mlgen%s (estimate)", units_human_bytes(size, mib * (1u << 20)),
		 p->hosts > 1       ? " on a host"
		 : p->processes > 1 ? ", all processes"
				    : "");
}

void plan_pad_to(struct buf *line, size_t column)
{
	do
		buf_addc(line, ' ');
	while (wrap_column_of(line) < column);
}

void plan_add_at_point(struct buf *line, const char *number, size_t point)
{
	size_t whole = strspn(number, "-0123456789,");

	plan_pad_to(line, point > whole ? point - whole : 0);
	buf_add(line, number);
}

void plan_add_figure(FILE *to, struct buf *line, const char *number)
{
	if (wrap_column_of(line) + 4 > PLAN_POINT_AT) {
		fprintf(to, "%s\n", buf_str(line));
		buf_reset(line);
	}
	plan_add_at_point(line, number, PLAN_POINT_AT);
}

void plan_add_bytes(FILE *to, struct buf *line, double bytes)
{
	char text[UNITS_TEXT_BYTES];

	plan_add_figure(to, line, units_human_bytes(text, bytes));
}

void plan_start_line(struct buf *line, const char *label)
{
	buf_reset(line);
	buf_addf(line, "%-*s", PLAN_TEXT_AT, label);
}

void plan_print_line(FILE *to, struct buf *line)
{
	fprintf(to, "%s\n", buf_str(line));
	buf_fini(line);
}

void plan_print_wrapped(FILE *to, struct buf *line, size_t indent, const char *text)
{
	wrap_lists(line, indent, wrap_columns(), text);
	plan_print_line(to, line);
}

void plan_print_sentence(FILE *to, const char *text)
{
	struct buf line = { 0 };

	plan_start_line(&line, "");
	plan_print_wrapped(to, &line, PLAN_TEXT_AT, text);
}

void plan_print_checked(FILE *to, struct buf *line, const struct plan_check *check)
{
	static const char *const states[] = { "ok", "WARNING", "FAIL" };

	if (check && wrap_column_of(line) >= PLAN_CHECK_AT) {
		fprintf(to, "%s\n", buf_str(line));
		buf_reset(line);
	}
	if (check) {
		plan_pad_to(line, PLAN_CHECK_AT);
		buf_add(line, states[check->state]);
		if (check->state == PLAN_OK && check->text)
			buf_addf(line, " (%s)", check->text);
	}
	plan_print_line(to, line);
	if (check && check->state != PLAN_OK && check->text)
		plan_print_sentence(to, check->text);
}

static void print_line(FILE *to, const struct plan_line *l, const struct plan_report *p)
{
	const struct plan_check *check = l->check ? plan_find_check(p, l->check) : NULL;
	struct buf line = { 0 }, text = { 0 };

	l->put(&text, p);
	if (text.len) {
		plan_start_line(&line, l->label);
		if (l->wrapped_at) {
			plan_print_wrapped(to, &line, l->wrapped_at, buf_str(&text));
		} else {
			wrap_lists(&line, PLAN_TEXT_AT, check ? PLAN_CHECK_AT - 1 : wrap_columns(),
				   buf_str(&text));
			plan_print_checked(to, &line, check);
		}
	}
	buf_fini(&text);
}

void plan_print_list(FILE *to, const struct plan_line *lines, const struct plan_report *p)
{
	for (; lines->put || lines->lines; lines++)
		if (lines->lines)
			lines->lines(to, p);
		else
			print_line(to, lines, p);
}

/* clang-format off */

#define P struct plan_report
static const struct mlgen_field page_fields[] = {
	{ "directory", MLGEN_F_STR(P, io.directory) },
	{ "files", MLGEN_F_U64(P, io.files) },
	{ "file_bytes", MLGEN_F_U64(P, io.file_bytes), .unit = "bytes" },
	{ "buffer_bytes", MLGEN_F_U64(P, io.buffer_bytes), .unit = "bytes" },
	{ "trace", MLGEN_F_STR(P, replay.asked.trace) },
	{ "threads", MLGEN_F_U64(P, replay.asked.threads) },
	{ "workers", MLGEN_F_U64(P, replay.workers) },
	{ "depth", MLGEN_F_U64(P, replay.depth) },
	{ "operations", MLGEN_F_U64(P, replay.asked.asked_operations) },
	{ "replay_read_bytes", MLGEN_F_U64(P, replay.read_bytes), .unit = "bytes" },
	{ "replay_write_bytes", MLGEN_F_U64(P, replay.write_bytes), .unit = "bytes" },
	{ "touches", MLGEN_F_U64(P, replay.asked.touches) },
	{ "redirected", MLGEN_F_U64(P, replay.asked.redirected) },
	{ "blocks", MLGEN_F_U64(P, replay.asked.blocks) },
	{ "folded", MLGEN_F_U64(P, replay.asked.folded) },
	{ "seconds", MLGEN_F_F64(P, replay.asked.asked_seconds), .unit = "s" },
	{ "left_out", METRICS_CHARS(P, replay.asked.left_out) },
	{ "eval_files", MLGEN_F_U64(P, eval_files) },
	{ "eval_bytes", MLGEN_F_U64(P, eval_bytes), .unit = "bytes" },
	{ "eval_steps", MLGEN_F_U64(P, eval_steps) },
	{ 0 },
};
#undef P

const struct template_scope plan_scopes[] = {
	{ "", job_fields, TEMPLATE_AT(struct plan_report, job, struct job) },
	{ "bs", template_bs_fields, TEMPLATE_AT(struct plan_report, job, struct job) },
	{ "plan", metrics_plan_fields, .off = 0 },
	{ "plan", page_fields, .off = 0 },
	{ 0 },
};

/* clang-format on */

void plan_template(struct buf *line, const struct template *t, const struct plan_report *p)
{
	template_append(line, t, p);
}

void plan_print_present(FILE *to, const struct plan_report *p, const char *check)
{
	struct buf line = { 0 };

	plan_start_line(&line, "");
	plan_say(&line, p, "present {plan.present_files} file{s}; to write {plan.write_files}");
	if (p->present_estimate)
		buf_add(&line, " (estimate)");
	if (p->write_files)
		plan_add_bytes(to, &line, (double)p->write_bytes);
	plan_print_checked(to, &line, plan_find_check(p, check));
}

void plan_print_free(FILE *to, const struct plan_report *p)
{
	const char *directory = plan_directory(p);
	char bytes[UNITS_TEXT_BYTES];
	struct buf line = { 0 };

	plan_start_line(&line, "");
	buf_addf(&line, "free in %s", p->mount.target[0] ? p->mount.target : directory);
	if (p->free_bytes != UINT64_MAX)
		units_human_bytes(bytes, (double)p->free_bytes);
	else
		snprintf(bytes, sizeof(bytes), "unknown");
	plan_add_figure(to, &line, bytes);
	plan_print_checked(to, &line, plan_find_check(p, "space"));
}

void plan_print_storage(FILE *to, const struct plan_report *p)
{
	const struct plan_check *storage = plan_find_check(p, "storage");
	struct buf line = { 0 };

	if (!storage)
		return;
	plan_start_line(&line, "");
	buf_addf(&line, "filesystem %s", p->mount.type);
	plan_print_checked(to, &line, storage);
}

void plan_print_ratio(FILE *to, const struct plan_report *p, const char *what)
{
	char bytes[UNITS_TEXT_BYTES], ratio[UNITS_TEXT_BYTES];
	struct buf line = { 0 };

	if (isnan(p->dataset_memory_ratio))
		return;
	plan_start_line(&line, "");
	buf_addf(&line, "memory of %s %s; %s / memory", p->is_of_hosts ? "all hosts" : "this host",
		 units_human_bytes(bytes, (double)p->memory_bytes), what);
	double x = p->dataset_memory_ratio;
	snprintf(ratio, sizeof(ratio), "%.*f x", x < 0.995 ? 2 : x < 999.5 ? 1 : 0, x);
	plan_add_figure(to, &line, ratio);
	plan_print_checked(to, &line, plan_find_check(p, "memory"));
}

void plan_print_direct(FILE *to, const struct plan_report *p)
{
	const struct plan_check plain = { .state = PLAN_OK };
	const struct plan_check *direct = plan_find_check(p, "direct");
	struct buf line = { 0 };

	if (!direct)
		return;
	plan_start_line(&line, "direct");
	buf_add(&line, "O_DIRECT, bypassing the page cache");
	if (direct->state == PLAN_OK)
		buf_addf(&line, "; %s", direct->text);
	plan_print_checked(to, &line, direct->state == PLAN_OK ? &plain : direct);
}

void plan_append_open_files(struct buf *text, const struct plan_report *p)
{
	if (!plan_find_check(p, "files"))
		return;
	plan_say(text, p, "{plan.open_files} open at once");
	if (p->processes > 1)
		buf_add(text, " in a process");
	plan_say(text, p, "; limit {plan.open_files_limit}");
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

/* "directory num_files (command line); 12 options of jobs/unet3d.job" */
static void print_origins(FILE *to, const struct plan_report *p)
{
	static const char label[] = "not default: ";
	struct buf text = { 0 }, line = { 0 };

	for (size_t i = 0; job_fields[i].name; i++) {
		const char *how = p->job->origins[i].how;

		if (how && strcmp(how, "command line") == 0 &&
		    !workload_is_default(p->job, &job_fields[i]))
			buf_addf(&text, "%s%s", text.len ? " " : "", job_fields[i].name);
	}
	if (text.len)
		buf_add(&text, " (command line)");
	for (size_t i = 0; job_fields[i].name; i++) {
		const char *file = file_of(p->job, i);

		if (!*file || !is_first_of_file(p->job, i))
			continue;
		/* A file written by --showjob has all options; only those that are not at their
		 * default are counted. */
		unsigned n = 0;
		for (size_t k = 0; job_fields[k].name; k++)
			n += strcmp(file_of(p->job, k), file) == 0 &&
			     !workload_is_default(p->job, &job_fields[k]);
		if (n)
			buf_addf(&text, "%s%u option%s of %s", text.len ? "; " : "", n, plural(n),
				 file);
	}
	if (text.len && p->job->accelerator)
		buf_addf(&text, ", accelerator=%s", p->job->accelerator);

	if (text.len) {
		buf_add(&text, ". --showjob lists all");
		buf_add(&line, label);
		fputc('\n', to);
		plan_print_wrapped(to, &line, sizeof(label) - 1, buf_str(&text));
	}
	buf_fini(&text);
}

void plan_text(FILE *to, const struct plan_report *p)
{
	/* Checks that have no line on the page of a workload; they are printed if they fail. */
	const struct {
		const char *check, *label;
		const struct template *says;
	} common[] = {
		{ "engine", "engine", TEMPLATE(plan_scopes, "{ioengine=}") },
		{ "cpus", "CPUs",
		  TEMPLATE(plan_scopes, "[{cpus_allowed=} ][{numa_cpu_nodes=} ]{numa=}") },
		{ "memory_limit", "memory", TEMPLATE(plan_scopes, "{memory_limit=}") },
		{ "caches", "caches", TEMPLATE(plan_scopes, "{drop_caches=}") },
	};
	bool saves = job_work(p->job)->checkpoints == CHECKPOINTS_ALWAYS;

	fprintf(to, "%s: dry run, nothing was read or written\n\n", p->job->name);
	if (p->processes > 1) {
		struct buf line = { 0 };

		plan_start_line(&line, "hosts");
		plan_say(&line, p, "{plan.hosts} host{s}, {plan.processes} processes");
		if (job_work(p->job)->has_accelerators)
			plan_say(&line, p, ", {plan.accelerators} accelerator{s}");
		plan_print_line(to, &line);
	}
	job_work(p->job)->page->plan_text(to, p);
	for (size_t i = 0; i < ARRAY_LEN(common); i++) {
		const struct plan_check *c = plan_find_check(p, common[i].check);
		struct buf line = { 0 };

		/* The page of a job that saves has a line about caches. */
		if (!c || c->state != PLAN_FAIL ||
		    (saves && strcmp(common[i].check, "caches") == 0))
			continue;
		plan_start_line(&line, common[i].label);
		plan_template(&line, common[i].says, p);
		plan_print_checked(to, &line, c);
	}
	print_origins(to, p);
}
