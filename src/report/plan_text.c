/* SPDX-License-Identifier: Apache-2.0 */
/* plan_text.c - the page that a dry run prints. */
#include "report/plan_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"
#include "data/format.h"
#include "report/show.h"

/* Columns, from 0: where text begins, where the points of figures stand, where
 * the checklist begins, and where a line ends. */
#define TEXT_AT 10
#define POINT_AT 74
#define CHECK_AT 82
#define LINE_END 90
/* The same inside the table of demand. */
#define SAMPLES_POINT_AT 29
#define RATE_POINT_AT 48

/* Blanks up to a column, at least one. */
static void pad_to(struct buf *line, size_t column)
{
	do
		buf_addc(line, ' ');
	while (line->len < column);
}

/* A number with its point, or its end, at a column. */
static void add_at_point(struct buf *line, const char *number, size_t point)
{
	size_t whole = strspn(number, "-0123456789,");
	pad_to(line, point > whole ? point - whole : 0);
	buf_add(line, number);
}

/* The same in the column of figures; below a line that is too long for it. */
static void add_figure(FILE *to, struct buf *line, const char *number)
{
	if (line->len + 4 > POINT_AT) {
		fprintf(to, "%s\n", buf_str(line));
		buf_reset(line);
	}
	add_at_point(line, number, POINT_AT);
}

static void start_line(struct buf *line, const char *label)
{
	buf_reset(line);
	buf_addf(line, "%-*s", TEXT_AT, label);
}

static void put_line(FILE *to, struct buf *line)
{
	fprintf(to, "%s\n", buf_str(line));
	buf_fini(line);
}

/* Words between the indent and the end of the line. */
static void put_wrapped(FILE *to, struct buf *line, size_t indent,
			const char *text)
{
	while (*text) {
		size_t word = strcspn(text, " ");
		bool is_first = line->len <= indent;
		if (!is_first && line->len + 1 + word > LINE_END) {
			fprintf(to, "%s\n", buf_str(line));
			buf_reset(line);
			buf_addf(line, "%*s", (int)indent, "");
		} else if (!is_first) {
			buf_addc(line, ' ');
		}
		buf_addn(line, text, word);
		text += word;
		text += strspn(text, " ");
	}
	put_line(to, line);
}

static void put_sentence(FILE *to, const char *text)
{
	struct buf line = { 0 };
	start_line(&line, "");
	put_wrapped(to, &line, TEXT_AT, text);
}

/* The end of a line: what the check found, and its sentence below. */
static void put_checked(FILE *to, struct buf *line,
			const struct plan_check *check)
{
	static const char *const states[] = { "ok", "WARNING", "FAIL" };
	if (check && line->len >= CHECK_AT) {
		fprintf(to, "%s\n", buf_str(line));
		buf_reset(line);
	}
	if (check) {
		pad_to(line, CHECK_AT);
		buf_add(line, states[check->state]);
		if (check->state == PLAN_OK && check->text)
			buf_addf(line, " (%s)", check->text);
	}
	put_line(to, line);
	if (check && check->state != PLAN_OK && check->text)
		put_sentence(to, check->text);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void put_present(FILE *to, const struct plan_report *p)
{
	char present[UNITS_TEXT_BYTES], missing[UNITS_TEXT_BYTES];
	char bytes[UNITS_TEXT_BYTES];
	struct buf line = { 0 };
	start_line(&line, "");
	buf_addf(&line, "present %s file%s",
		 units_human_count(present, p->present_files),
		 plural(p->present_files));
	buf_addf(&line, "; to write %s%s",
		 units_human_count(missing, p->write_files),
		 p->present_estimate ? " (estimate)" : "");
	if (p->write_files)
		add_figure(to, &line,
			   units_human_bytes(bytes, (double)p->write_bytes));
	put_checked(to, &line, plan_find_check(p, "dataset"));
}

static void put_free(FILE *to, const struct plan_report *p)
{
	char bytes[UNITS_TEXT_BYTES];
	struct buf line = { 0 };
	start_line(&line, "");
	buf_addf(&line, "free in %s",
		 p->mount.target[0] ? p->mount.target : p->dataset.directory);
	if (p->free_bytes != UINT64_MAX)
		units_human_bytes(bytes, (double)p->free_bytes);
	else
		snprintf(bytes, sizeof(bytes), "unknown");
	add_figure(to, &line, bytes);
	put_checked(to, &line, plan_find_check(p, "space"));
}

static void put_ratio(FILE *to, const struct plan_report *p)
{
	char bytes[UNITS_TEXT_BYTES], ratio[UNITS_TEXT_BYTES];
	struct buf line = { 0 };
	if (isnan(p->dataset_memory_ratio))
		return;
	start_line(&line, "");
	buf_addf(&line, "memory of this host %s; dataset / memory",
		 units_human_bytes(bytes, (double)p->memory_bytes));
	double x = p->dataset_memory_ratio;
	snprintf(ratio, sizeof(ratio), "%.*f x",
		 x < 0.995   ? 2
		 : x < 999.5 ? 1
			     : 0,
		 x);
	add_figure(to, &line, ratio);
	put_checked(to, &line, plan_find_check(p, "memory"));
}

static void put_dataset(FILE *to, const struct plan_report *p)
{
	const struct dataset_totals *t = &p->totals;
	uint64_t per_file = p->dataset.samples_per_file;
	char n[UNITS_TEXT_BYTES], m[UNITS_TEXT_BYTES];
	struct buf line = { 0 };
	start_line(&line, "dataset");
	buf_addf(&line, "%s %s file%s x %s sample%s",
		 units_human_count(n, p->dataset.files),
		 p->dataset.format->name, plural(p->dataset.files),
		 units_human_count(m, per_file), plural(per_file));
	buf_addf(&line, ", %s mean", units_human_mb(n, t->mean_file_bytes));
	if (t->stdev_file_bytes > 0)
		buf_addf(&line, ", %s stdev",
			 units_human_mb(n, t->stdev_file_bytes));
	add_figure(to, &line, units_human_bytes(n, (double)t->bytes));
	if (t->estimate) {
		pad_to(&line, CHECK_AT);
		buf_add(&line, "estimate");
	}
	put_line(to, &line);
	if (!p->touches_files) {
		put_sentence(to, "ioengine=null touches no file: nothing is "
				 "written, read or needed on storage");
		return;
	}
	put_present(to, p);
	put_free(to, p);
	const struct plan_check *storage = plan_find_check(p, "storage");
	if (storage) {
		start_line(&line, "");
		buf_addf(&line, "filesystem %s", p->mount.type);
		put_checked(to, &line, storage);
	}
	put_ratio(to, p);
}

static void put_epoch(FILE *to, const struct plan_report *p)
{
	const struct job *j = p->job;
	char n[UNITS_TEXT_BYTES];
	struct buf line = { 0 };
	start_line(&line, "epoch");
	buf_addf(&line, "%s / (%" PRIu64 " accelerator%s x batch %" PRIu64 ")",
		 units_human_count(n, dataset_samples(&p->dataset)),
		 j->accelerators, plural(j->accelerators), j->batch_size);
	buf_addf(&line, " = %s step%s",
		 units_human_count(n, p->steps_per_epoch),
		 plural(p->steps_per_epoch));
	/* Leave room for the check, as a billion samples do not. */
	if (line.len + sizeof(", 0 samples left over") > CHECK_AT) {
		buf_add(&line, ",");
		put_line(to, &line);
		start_line(&line, "");
	} else {
		buf_add(&line, ", ");
	}
	if (j->drop_last)
		buf_addf(&line, "%s sample%s left over",
			 units_human_count(n, p->left_over_samples),
			 plural(p->left_over_samples));
	else
		buf_add(&line, "the last batch may be short");
	put_checked(to, &line, plan_find_check(p, "steps"));
}

static uint64_t in_ns(double seconds)
{
	return (uint64_t)fmin(seconds * 1e9, 1e19);
}

/* What ends the run, in the words of the options that say so. */
static void add_limits(struct buf *line, const struct plan_report *p)
{
	const struct job *j = p->job;
	char n[UNITS_TEXT_BYTES], steps[UNITS_TEXT_BYTES];
	units_human_count(steps, p->total_steps);
	if (p->total_steps == UINT64_MAX)
		buf_addf(line, "epochs for %s",
			 units_human_time(n, j->runtime_ns));
	else if (j->steps == p->total_steps)
		buf_addf(line, "%s step%s", steps, plural(p->total_steps));
	else
		buf_addf(line, "%s epoch%s = %s step%s",
			 units_human_count(n, j->epochs), plural(j->epochs),
			 steps, plural(p->total_steps));
	if (p->total_steps != UINT64_MAX && j->runtime_ns)
		buf_addf(line, " or %s", units_human_time(n, j->runtime_ns));
}

static void put_run(FILE *to, const struct plan_report *p)
{
	char n[UNITS_TEXT_BYTES];
	struct buf line = { 0 };
	start_line(&line, "run");
	add_limits(&line, p);
	if (!isnan(p->read_bytes))
		buf_addf(&line, ", %s read",
			 units_human_bytes(n, p->read_bytes));
	if (!isnan(p->least_seconds) && p->total_steps != UINT64_MAX)
		buf_addf(&line, ", at least %s (100%% AU)",
			 units_human_time(n, in_ns(p->least_seconds)));
	put_line(to, &line);
}

/* One line of demand; samples_per_sec NaN = none. */
static void put_demand_line(FILE *to, const char *label, const char *who,
			    double samples_per_sec, const struct rate_unit *u,
			    int decimals, double bytes_per_sec)
{
	char n[UNITS_TEXT_BYTES];
	struct buf line = { 0 };
	start_line(&line, label);
	buf_add(&line, who);
	if (!isnan(samples_per_sec)) {
		add_at_point(&line, units_sig4(n, samples_per_sec),
			     SAMPLES_POINT_AT);
		pad_to(&line, SAMPLES_POINT_AT + 4);
		buf_add(&line, "samples/s");
	}
	snprintf(n, sizeof(n), "%.*f", decimals, bytes_per_sec / u->bytes);
	add_at_point(&line, n, RATE_POINT_AT);
	buf_addf(&line, " %s", u->name);
	put_line(to, &line);
}

static void put_demand(FILE *to, const struct plan_report *p)
{
	const struct job *j = p->job;
	char who[SHOW_ACCELERATORS_BYTES];
	double all = p->demand_bytes_per_sec;
	struct rate_unit u = show_rate_unit(all);
	int decimals = show_rate_decimals(&u, all / u.bytes);
	struct buf target = { 0 };
	if (isnan(all)) {
		fprintf(to, "%-*s%s\n", TEXT_AT, "demand",
			"without limit: compute_time=0, as fast as storage "
			"delivers");
		return;
	}
	snprintf(who, sizeof(who), "one %s",
		 j->accelerator ? j->accelerator : "accelerator");
	put_demand_line(to, "demand", who, p->samples_per_sec_one, &u, decimals,
			p->bytes_per_sec_one);
	if (j->accelerators > 1) {
		show_accelerators(who, j->accelerators, j->accelerator);
		put_demand_line(to, "", who,
				p->samples_per_sec_one *
					(double)j->accelerators,
				&u, decimals, all);
	}
	if (isnan(j->target_au))
		return;
	buf_addf(&target, "%s at %g%%", who, j->target_au);
	put_demand_line(to, "", buf_str(&target), (double)NAN, &u, decimals,
			all * j->target_au / 100);
	buf_fini(&target);
}

static void put_readers(FILE *to, const struct plan_report *p)
{
	const struct job *j = p->job;
	char n[UNITS_TEXT_BYTES];
	struct buf line = { 0 };
	start_line(&line, "in flight");
	buf_addf(&line,
		 "%s read%s (%" PRIu64 " accelerator%s x %" PRIu64
		 " read_threads, ",
		 units_human_count(n, p->reads_in_flight),
		 plural(p->reads_in_flight), j->accelerators,
		 plural(j->accelerators), j->read_threads);
	if (job_depth(j) == 1)
		buf_add(&line, "one read each)");
	else
		buf_addf(&line, "iodepth %u)", job_depth(j));
	put_line(to, &line);
	const struct plan_check *direct = plan_find_check(p, "direct");
	if (!direct)
		return;
	start_line(&line, "direct");
	buf_add(&line, "O_DIRECT, past the page cache");
	if (direct->state == PLAN_OK)
		buf_addf(&line, "; %s", direct->text);
	const struct plan_check plain = { .state = PLAN_OK };
	put_checked(to, &line, direct->state == PLAN_OK ? &plain : direct);
}

static void add_call(struct buf *line, const char *name, double n)
{
	char text[UNITS_TEXT_BYTES];
	if (n <= 0)
		return;
	if (n >= 100 || floor(n) >= n)
		units_human_count(text, (uint64_t)(n + 0.5));
	else
		units_sig4(text, n);
	const char *end = buf_str(line) + line->len;
	buf_addf(line, "%s%s %s", end[-1] == ':' ? " " : ", ", name, text);
}

/* How large they are. */
static void add_read_sizes(struct buf *line, const struct plan_report *p)
{
	char n[UNITS_TEXT_BYTES];
	buf_add(line, " (");
	if (p->job->access == ACCESS_PLAIN)
		buf_addf(line, "of up to %s",
			 units_human_bytes(n, (double)p->job->bs_bytes));
	else if (p->job->direct)
		buf_add(line, "the whole file");
	else
		show_sizes(line, &p->read_sizes);
	buf_addc(line, ')');
}

static void put_calls(FILE *to, const struct plan_report *p)
{
	const struct plan_calls *c = &p->calls_per_sample;
	struct buf line = { 0 };
	start_line(&line, "calls");
	buf_add(&line, "per sample:");
	add_call(&line, "open", c->open);
	add_call(&line, "stat", c->stat);
	add_call(&line, "read", c->read);
	add_read_sizes(&line, p);
	add_call(&line, "close", c->close);
	put_line(to, &line);
}

static void put_memory(FILE *to, const struct plan_report *p)
{
	char n[UNITS_TEXT_BYTES];
	uint64_t mib = (p->program_bytes >> 20) + 1;
	fprintf(to, "%-*s%" PRIu64 " MiB for mlgen (estimate)\n", TEXT_AT,
		"memory", mib);
	if (p->job->loader == LOADER_PYTORCH && p->framework_bytes > 0)
		fprintf(to,
			"%*sPyTorch would also hold %s of prefetched samples\n",
			TEXT_AT, "", units_human_bytes(n, p->framework_bytes));
}

static void put_open_files(FILE *to, const struct plan_report *p)
{
	char n[UNITS_TEXT_BYTES], limit[UNITS_TEXT_BYTES];
	struct buf line = { 0 };
	if (!plan_find_check(p, "files"))
		return;
	start_line(&line, "files");
	buf_addf(&line, "%s open at once; limit %s",
		 units_human_count(n, p->open_files),
		 units_human_count(limit, p->open_files_limit));
	put_checked(to, &line, plan_find_check(p, "files"));
}

static bool is_how(const struct job_origin *o, const char *how)
{
	return o->how && strcmp(o->how, how) == 0;
}

/* Set by the file that set the option of row i, and counted there? */
static unsigned count_of_file(const struct job *j, const char *file)
{
	unsigned n = 0;
	for (size_t i = 0; job_fields[i].name; i++)
		n += j->origins[i].at.file &&
		     strcmp(j->origins[i].at.file, file) == 0;
	return n;
}

static bool is_first_of_file(const struct job *j, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (j->origins[i].at.file &&
		    strcmp(j->origins[i].at.file, j->origins[row].at.file) == 0)
			return false;
	return true;
}

/* "directory num_files (command line); 12 options of jobs/unet3d.job" */
static void list_changes(struct buf *text, const struct job *j)
{
	for (size_t i = 0; job_fields[i].name; i++)
		if (is_how(&j->origins[i], "command line"))
			buf_addf(text, "%s%s", text->len ? " " : "",
				 job_fields[i].name);
	if (text->len)
		buf_add(text, " (command line)");
	for (size_t i = 0; job_fields[i].name; i++) {
		const char *file = j->origins[i].at.file;
		if (!file || !is_first_of_file(j, i))
			continue;
		unsigned n = count_of_file(j, file);
		buf_addf(text, "%s%u option%s of %s", text->len ? "; " : "", n,
			 plural(n), file);
	}
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
		put_wrapped(to, &line, sizeof(label) - 1, buf_str(&text));
	}
	buf_fini(&text);
}

void plan_text(FILE *to, const struct plan_report *p)
{
	fprintf(to, "%s: dry run, nothing was read or written\n\n",
		p->job->name);
	put_dataset(to, p);
	if (p->job->phase == PHASE_TRAIN) {
		put_epoch(to, p);
		put_run(to, p);
		put_demand(to, p);
		put_readers(to, p);
		put_calls(to, p);
		put_memory(to, p);
		put_open_files(to, p);
	}
	put_origins(to, p);
}
