/* SPDX-License-Identifier: Apache-2.0 */
/* datasize.c - --datasize: the dataset that MLPerf Storage requires, and its command line. */
#include "ask/mlperf/mlperf.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ask/ask.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "job/job.h"
#include "report/text/text.h"

/* Counts end in this column, and their unit begins there. */
#define COUNT_END 60

static char *whole_text(char *out, double n)
{
	return units_human_count(out, (uint64_t)fmin(n, 1e19));
}

/* Format a size in decimal units, as users see the sizes of files and records: 146.6 MB, 114.7 kB,
 * 2,500 B. */
static char *sample_text(char *out, double bytes)
{
	char n[UNITS_TEXT_BYTES];

	if (bytes >= 1e6)
		return units_human_mb(out, bytes);
	bool is_small = bytes < 1e4;
	if (is_small)
		whole_text(n, bytes);
	else
		units_sig4(n, bytes / 1e3);
	snprintf(out, UNITS_TEXT_BYTES, "%.24s %s", n, is_small ? "B" : "kB");
	return out;
}

/* Print "  500 steps         500 x batch 7 x 8 accelerators     28,000 samples". */
static void print_term(FILE *to, const char *label, const struct buf *terms, double n,
		       const char *unit)
{
	char count[UNITS_TEXT_BYTES];
	struct buf line = { 0 };

	buf_addf(&line, "  %-18s%s", label, buf_str(terms));
	plan_add_at_point(&line, whole_text(count, n), COUNT_END);
	buf_addf(&line, " %s", unit);
	plan_print_line(to, &line);
}

/* ---- command line ---- */

/* Is the argument an option of the question, or an option that the answer replaces? An option and
 * its value are one argument. */
static bool is_replaced(const char *arg)
{
	static const char *const names[] = {
		"datasize", "memory", "hosts", "num_files", "scale", "dataset_ratio", NULL,
	};

	if (strncmp(arg, "--", 2) != 0)
		return false;
	size_t len = strcspn(arg + 2, "=");
	char *name = mem_strndup(arg + 2, len);
	const char *dot = strrchr(name, '.');
	bool is_it = false;
	for (const char *const *n = names; *n; n++)
		is_it |= field_name_equal(dot ? dot + 1 : name, *n);
	mem_free(name);
	return is_it;
}

/* ---- jobs ---- */

static int size_job(const struct ask *a, const struct job *j, bool is_only, struct buf *line)
{
	const struct settings *set = &a->set->settings;
	const struct mlperf_rules *rules = mlperf_rules_for(set->check, j);
	const struct mlperf_workload *w = mlperf_find_workload(rules, j);
	uint64_t hosts = set->hosts ? set->hosts : 1;
	uint64_t memory = set->memory_bytes;
	char who[SHOW_ACCELERATORS_BYTES], size[UNITS_TEXT_BYTES], n[UNITS_TEXT_BYTES], label[32];
	struct mlperf_need need;
	struct buf text = { 0 }, unit = { 0 };

	/* Memory of a host, as --check counts it. */
	if (!memory)
		memory = j->memory_limit && j->memory_limit < a->host->memory_bytes
				 ? j->memory_limit
				 : a->host->memory_bytes;
	if (memory == 0) {
		log_error("memory: the memory of this host is unknown; set it, such as "
			  "--memory=256g");
		return EXIT_USAGE;
	}
	mlperf_need(&need, j, (double)j->samples_per_file, dist_mean(&j->sample_size), hosts,
		    memory);
	show_accelerators(who, j->accelerators, j->accelerator);
	units_human_bytes(size, (double)memory);
	if (hosts > 1)
		buf_addf(&text, "%s on %" PRIu64 " hosts with %s and %s each", j->name, hosts, size,
			 who);
	else
		buf_addf(&text, "%s on %s, 1 host with %s", j->name, who, size);
	fprintf(a->to, "%s:\n  dataset that MLPerf Storage %s requires\n", buf_str(&text),
		rules->version);
	if (!w || !w->is_training || !mlperf_has_accelerator(w, j->accelerator))
		fprintf(a->to, "  (not one of its workloads; the same rules apply)\n");

	snprintf(label, sizeof(label), "%d steps", MLPERF_STEPS);
	buf_reset(&text);
	buf_addf(&text, "%d x batch %" PRIu64 " x %" PRIu64 " accelerator%s", MLPERF_STEPS,
		 j->batch_size, j->accelerators, plural(j->accelerators));
	if (hosts > 1)
		buf_addf(&text, " x %" PRIu64 " hosts", hosts);
	print_term(a->to, label, &text, need.steps_samples, "samples");

	snprintf(label, sizeof(label), "%d x memory", MLPERF_MEMORIES);
	buf_reset(&text);
	buf_addf(&text, "%d x ", MLPERF_MEMORIES);
	if (hosts > 1)
		buf_addf(&text, "%" PRIu64 " hosts x ", hosts);
	buf_addf(&text, "%s / %s", size, sample_text(n, need.sample_bytes));
	print_term(a->to, label, &text, need.memory_samples, "samples");

	buf_reset(&text);
	buf_addf(&text, "%s sample%s per file", whole_text(n, (double)j->samples_per_file),
		 plural(j->samples_per_file));
	buf_addf(&unit, "file%s, %s", need.files > 1 ? "s" : "", units_human_bytes(n, need.bytes));
	print_term(a->to, "larger one /", &text, need.files, buf_str(&unit));

	buf_reset(&text);
	guess_text(j, &text);
	if (text.len)
		fprintf(a->to, "  %s\n", buf_str(&text));
	buf_fini(&text);
	buf_fini(&unit);
	buf_addf(line, " --%s%snum_files=%.0f", is_only ? "" : j->name, is_only ? "" : ".",
		 need.files);
	return EXIT_RAN;
}

static int datasize_refuse(const struct job *j)
{
	if (job_work(j)->checkpoints == CHECKPOINTS_ALWAYS)
		log_error("datasize: '%s' has phase=%s: its bytes depend on the model, "
			  "not on memory; --dry-run shows them",
			  j->name, job_work_name(j));
	else
		log_error("datasize: '%s' does not create a dataset; name a training, "
			  "such as unet3d.job",
			  j->name);
	return EXIT_USAGE;
}

int ask_datasize(const struct ask *a)
{
	const struct jobset *set = a->set;
	struct buf line = { 0 };
	size_t sized = 0;
	int status = EXIT_RAN;

	buf_add(&line, "mlgen");
	for (int i = 1; i < a->argc; i++) {
		if (is_replaced(a->argv[i]))
			continue;
		buf_addc(&line, ' ');

		/* Quote the argument for a shell. */
		const char *arg = a->argv[i];
		static const char plain[] =
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,%@";

		if (*arg && !arg[strspn(arg, plain)]) {
			buf_add(&line, arg);
			continue;
		}
		buf_addc(&line, '\'');
		for (; *arg; arg++)
			if (*arg == '\'')
				buf_add(&line, "'\\''");
			else
				buf_addc(&line, *arg);
		buf_addc(&line, '\'');
	}
	/* The size of scanned files is fixed. */
	for (size_t i = 0; i < set->count && status == EXIT_RAN; i++)
		if (job_work(set->jobs[i])->has_dataset && set->jobs[i]->dataset == DATASET_MADE) {
			status = size_job(a, set->jobs[i], set->count == 1, &line);
			sized++;
		}
	if (!sized)
		status = set->count ? datasize_refuse(set->jobs[0]) : EXIT_USAGE;
	if (status == EXIT_RAN)
		fprintf(a->to, "%s\n", buf_str(&line));
	buf_fini(&line);
	return status;
}
