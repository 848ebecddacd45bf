/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - what people read: reports, dry runs, verdicts, lists. */
#pragma once

/*
 * A template is a sentence with figures, each of which is a row of a table. A verdict names the
 * limit of a job, with the figures that decide it. The report of a job is a block of lines, made
 * from lists of rows {label, function that appends the text}; the page of a dry run is built the
 * same way. Each workload has its own lists (struct page). All calls come from the main thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/err.h>
#include <mlgen/field.h>

#include "base/buf.h"
#include "base/units.h"
#include "field/fields.h"
#include "job/job.h"
#include "report/plan/plan.h"
#include "run/result/result.h"

/* ---- the report of a run ---- */

/*
 * Print a block per job, with an empty line in between: the answer in the first line, the verdict,
 * then the evidence. A block has at most 52 lines, not counting notes and a long command. Lines are
 * plain ASCII, as wide as the terminal or 80 columns. The workers of a plain job share a block. The
 * first block has the host and the command; figures of disks follow the last. Call verdict_fill()
 * first.
 */
void text_report(FILE *to, const struct run_result *r, enum detail detail);

/* ---- formats of figures ---- */

/* The unit of all throughputs in the report of a job. */
struct rate_unit {
	const char *name; /* "GiB/s" */
	double bytes;
};

/* Choose GiB/s for rates of 1 GiB/s or more, otherwise MiB/s; NaN gives MiB/s. */
struct rate_unit show_rate_unit(double bytes_per_sec);

/* The unit for the report of a training job: chosen by its demand or, if that is unknown, by its
 * result. */
struct rate_unit show_report_unit(const struct ml_result *ml);

/* Decimals of a column whose largest value, in the unit, is `largest`: 14.86 GiB/s, 312 MiB/s,
 * 0.12 MiB/s. */
int show_rate_decimals(const struct rate_unit *u, double largest);

/* "14.86 GiB/s", "unknown" for NaN; `out` holds UNITS_TEXT_BYTES. */
char *show_rate(char *out, const struct rate_unit *u, double bytes_per_sec);

/* "41.2 of 1047 GiB": both numbers in the same unit. */
#define SHOW_PART_BYTES (3 * UNITS_TEXT_BYTES)
char *show_part_of(char *out, double part, double whole);

/* "12.4", "0.821": three digits; "unknown" for NaN. */
char *show_seconds(char *out, double seconds);

/* "11.2%", "unknown" for NaN. */
char *show_percent(char *out, double percent);

/* True if CPU percentages relate to a quota of a control group, not to whole CPUs. */
bool show_has_quota(const struct host_result *h);

/* The rate of a link in Gb/s: "92", "0.941", "200". */
char *show_gigabits(char *out, double bits_per_sec);

/* "8 x h100", "2 accelerators"; `name` NULL = unnamed. */
#define SHOW_ACCELERATORS_BYTES 96
char *show_accelerators(char *out, uint64_t n, const char *name);

/*
 * The parts of a whole in their printed order. They are rounded to tenths of a percent by largest
 * remainder, so that the printed parts add up to 100.0.
 */
#define SHOW_SHARES 10
struct show_share {
	const char *name; /* same as in JSON */
	unsigned tenths;
};
struct show_shares {
	struct show_share of[SHOW_SHARES];
	unsigned count; /* 0 = nothing was measured */
};
void show_accelerator_time(const struct time_percent *t, struct show_shares *s);
void show_loader_time(const struct loader_percent *l, struct show_shares *s);
void show_rank_time(const struct rank_percent *r, struct show_shares *s);

/* The printed share of the part with this name, in percent; 0 if there is none. */
double show_share(const struct show_shares *s, const char *name);

/* Append the most frequent classes of sizes: "50% 4 KiB, 50% 252 KiB". */
void show_sizes(struct buf *out, const struct sizes *s);

/* The share of the read threads' time that passes in I/O calls of any kind, including reap; in
 * percent. */
double show_io_percent(const struct loader_percent *l);

/*
 * Format a number as fio does: whole numbers up to 9999, then the next unit with three digits:
 * "203k", "12.3k", "2048Mi" with binary units.
 */
char *show_fio_number(char *out, double v, bool is_binary);

/* ---- sentences with figures: "{files} file{s}, {file_bytes}[, in {directory}]" ---- */

/*
 *	{key}	the figure of that name, formatted as its row says: bytes, times,
 *		rates and percent have their unit; counts, seconds, and doubles
 *		in ns, which are shown in milliseconds, have none
 *	{key=}	an option as in a job file: "direct=1"
 *	{s}	the plural of the count before it
 *	[...]	omitted if a figure in it has no value: null, an empty text, a
 *		count of 0, or an option {key=} that is at its default
 *
 * Outside of brackets null becomes "unknown". There are no conditions, loops or sums:
 * use C between two templates.
 */

/*
 * A page is a struct that contains, or points to, the structs that its templates use. A scope is
 * such a struct and the table that describes it. Its rows are keys after the name of the scope,
 * "storage.directory"; a scope named "" adds no prefix.
 */
struct template_scope {
	const char *name; /* NULL ends a list */
	const struct mlgen_field *table;
	size_t off; /* offset of the struct in the page, or of the pointer to it */
	bool is_pointer;
};

#define TEMPLATE_AT(page, m, t) .off = MLGEN_MEMBER(page, m, const t *), .is_pointer = true

/* Rows of struct job: both halves of bs. */
extern const struct mlgen_field template_bs_fields[];

/* A template and the scopes of its keys. The linker collects all templates in a section of the
 * program, so that a test can resolve every key, just as -Wformat checks calls to printf. */
struct template
{
	const char *text;
	const struct template_scope *scopes;
}
__attribute__((aligned(2 * sizeof(void *))));

#define TEMPLATE(scopes, text)                                                                     \
	(__extension__({                                                                           \
		static const struct template template_here                                         \
			__attribute__((section("templates"), used)) = { text, scopes };            \
		&template_here;                                                                    \
	}))

/* Append the text; the template must pass template_check(). */
void template_append(struct buf *out, const struct template *t, const void *page);

/* Check that a template is well formed and that every key resolves. 0, or -EINVAL with err. */
int template_check(const struct template *t, struct mlgen_err *err);

/* Iterate over all templates: returns the first for NULL, otherwise the one after `t`; NULL at the
 * end. */
const struct template *template_next(const struct template *t);

/* ---- verdicts: the limit of a job, the figures that decide it, the next thing to try ---- */

/* Thresholds that all workloads use. A figure that could not be measured has no influence on a
 * verdict. */
#define VERDICT_MEMORY_PERCENT 10.0 /* percent of the bytes read */
#define VERDICT_CPU_PERCENT 90.0
#define VERDICT_NETWORK_PERCENT 90.0 /* percent of the line rate */
#define VERDICT_STORAGE_PERCENT 80.0 /* percent of the workers' time, in I/O calls */

/* Fill the verdict of every job whose workload has verdicts (plan.h). The result owns the
 * strings. */
void verdict_fill(struct run_result *r);

/* "STORAGE-BOUND" for "storage"; NULL if there is no such verdict. */
const char *verdict_label(const char *name);

/* The AU that a training job needs: its target, 90 by default. */
double verdict_target_au(const struct job_result *j);

/*
 * The number of accelerators that the throughput of a storage-bound training job can feed at
 * `*au_percent`, which is set to verdict_target_au(). If the accelerators of the run missed that
 * AU, the result is less than their number. UINT64_MAX without a demand.
 */
uint64_t verdict_enough(const struct job_result *j, double *au_percent);

/* True if the job moves no bytes at all (ioengine=null): its verdicts concern the host, never
 * storage. */
bool verdict_without_storage(const struct job *job);

/* True if the null engine of the job simulates storage (options latency= and bandwidth=). */
bool verdict_is_model(const struct job *job);

/* ---- the supply of read threads in short epochs, which AU does not show ---- */

/*
 * AU leaves out the first step of each epoch. If most of a short epoch is read before that step, AU
 * hardly includes any waiting for storage, however slow storage is. The throughput of the read
 * threads while they were busy does show slow storage.
 */

/* Batches of an accelerator that may be read before its first step. */
uint64_t verdict_batches_ahead(const struct job *j);

/* True if the epochs of a training job have so few steps, compared with the batches read ahead,
 * that AU means little. */
bool verdict_epochs_are_short(const struct job_result *r);
/* The least number of steps per epoch with which AU is meaningful. */
uint64_t verdict_min_steps(const struct job *j);

/* Throughput of the read threads while they were busy, in percent of the accelerators' demand. NaN
 * = unknown, or not a training job. */
double verdict_supply_percent(const struct job_result *r);

/* True if only the shortness of the epochs lets AU meet its target, although storage is too slow.
 */
bool verdict_is_hidden(const struct job_result *r);

/* ---- the gap between a training and the ceiling that its host reaches without storage ---- */

/* The host, not storage, is the limit if the gap is at most this many points and at most this part
 * of AU. */
#define CEILING_NEAR_POINTS 2.0
#define CEILING_NEAR_PART 0.05

struct ceiling_gap {
	enum {
		CEILING_UNKNOWN, /* unmeasured, or too unsure to decide */
		CEILING_NEAR,    /* storage hardly matters */
		CEILING_ABOVE,   /* storage costs the difference */
	} says;
	bool of_null;   /* the figures below are for ioengine=null, which copies nothing */
	bool is_rate;   /* no AU: points are percent of the result's samples/s */
	double points;  /* distance from the result up to the ceiling */
	double reached; /* the ceiling: AU in percent, or samples/s */
	double copying; /* points between the cached and the null ceiling; NaN = unknown */
};

/*
 * Compare the result with the ceiling. Buffered reads copy from the page cache, so the cached
 * figure is their ceiling; if it is missing, the null figure is used. With direct=1 nothing is
 * copied: the cached figure may be too low, and the null figure is an upper bound. A model of
 * storage (ioengine=null) never copies: its null figure is the ceiling. If the job ran together
 * with others, but the ceiling was measured without them, the gap can show that the host is the
 * limit, never that storage is.
 */
void verdict_ceiling(struct ceiling_gap *g, const struct job *job, const struct ml_result *ml);

/* Append "with storage taken away this host reaches 72.0% AU". */
void verdict_append_ceiling(struct buf *out, const struct ceiling_gap *g);

/* Samples per second of the counted steps, not counting failed samples; NaN without steps. */
double verdict_steady_rate(const struct job *job, const struct ml_result *ml);

/* ---- verdicts of all workloads: findings, lists, shared sentences ---- */

/* The input of a verdict. */
struct verdict_findings {
	const struct run_result *run;
	const struct job_result *result;
	const struct job *job;
	const struct ml_result *ml;
	struct show_shares time, loader;
	struct rate_unit unit;
	struct ceiling_gap ceiling;
	/* Set for a job that saves or restores. */
	const struct checkpoints_result *checkpoints;
	struct show_shares ranks;
};

/* Append a template. Its keys are options of the job, rows of its result, and rows of `checkpoints`
 * with the prefix "checkpoints.". */
#define verdict_say(out, f, text) verdict_template(out, TEMPLATE(verdict_scopes, text), f)
extern const struct template_scope verdict_scopes[];
void verdict_template(struct buf *out, const struct template *t, const struct verdict_findings *f);

/* Appends a sentence, or nothing. */
typedef void verdict_sentence(struct buf *out, const struct verdict_findings *f);

struct verdict {
	const char *name; /* NULL ends a list */
	bool (*holds)(const struct verdict_findings *f);
	verdict_sentence *headline, *because, *try_next;
};

/* Fill `to` from the first verdict of the list that holds, if there is one. */
void verdict_choose(struct verdict_result *to, const struct verdict *list,
		    const struct verdict_findings *f);

/* Append "mlgen itself took usr 3.8%, sys 10.0%, other processes 86.1%" */
void verdict_append_cpu(struct buf *out, const struct host_result *h);

/* Append "CPU 97.0% busy (2 CPUs)" or "CPU quota 97.0% used (0.5 CPUs)" */
void verdict_append_full_cpu(struct buf *out, const struct host_result *h, const struct host *host);

/* True if other processes use more than half of the busy CPU time. */
bool verdict_cpu_is_foreign(const struct host_result *h);

/* True if the network carries about its line rate. verdict_network_headline() appends a sentence
 * that says so. */
bool verdict_network_is_full(const struct verdict_findings *f);
void verdict_network_headline(struct buf *out, const struct verdict_findings *f);

/* If the filesystem is in memory, append a sentence and return true: "tmpfs keeps files in memory",
 * or with a verb "/dev/shm is tmpfs: no storage was read". */
bool verdict_keeps_in_memory(struct buf *out, const struct verdict_findings *f);
bool verdict_is_in_memory(struct buf *out, const struct verdict_findings *f, const char *verb);

/* ---- verdict of jobs in which too much failed ---- */

/* If more than this percentage failed, even if max_errors allows it, the other figures say little
 * about what limits the job. */
#define VERDICT_ERRORS_PERCENT 1.0

/* True if more failed than max_errors or VERDICT_ERRORS_PERCENT allows. Accepts any kind of job. */
bool verdict_is_errors(const struct job_result *r);

/* Append "100 of 128 samples failed", "5 of 64 operations failed", "3 errors". */
void verdict_append_failed(struct buf *out, const struct job_result *r);

/* Append "max_errors=1% allows no more". */
void verdict_append_allowance(struct buf *out, const struct job_result *r);

/* Log an error for each job in which more failed than max_errors allows; false if there is none. */
bool verdict_log_failed(const struct run_result *r);

/* Functions of the verdict "errors", for training jobs and plain jobs; they use only `result` of
 * the findings. */
bool verdict_errors_holds(const struct verdict_findings *f);
void verdict_errors_headline(struct buf *out, const struct verdict_findings *f);
void verdict_errors_because(struct buf *out, const struct verdict_findings *f);
void verdict_errors_try(struct buf *out, const struct verdict_findings *f);

/* ---- the block of a job in the text report, and the layout of its lines ---- */

#define TEXT_ANSWER_INDENT 18
#define TEXT_SETTING_INDENT 10
#define TEXT_EVIDENCE_INDENT 19

/* The input of a job's block. */
struct text_block {
	const struct run_result *run;
	const struct job_result *result;
	const struct job *job;
	const struct ml_result *ml;                   /* empty unless it is a training job */
	const struct io_result *io;                   /* empty unless it is a plain job */
	const struct checkpoints_result *checkpoints; /* set if the job saves or restores */
	/* Parts of the result. */
	const struct cache_result *cache; /* training jobs only */
	const struct storage_result *storage;
	const struct window_result *window;
	const struct host_result *host;
	const struct network_result *network;
	const struct numa_result *numa;
	const struct verdict_result *verdict;
	struct rate_unit unit;
	struct show_shares time, loader;
	/* Read threads per accelerator, and in total. */
	uint64_t readers_each, readers;
	enum detail detail;
	bool is_first; /* first block of the run: has the host and the command */
};

/* Fill all members except unit and shares from a result, which must outlive the block. */
void text_block_init(struct text_block *b, const struct run_result *run,
		     const struct job_result *result, enum detail detail);

/* The reason that a job ended early; NULL = it did not. */
const char *text_early_end(const struct text_block *b);

/* True if the verdict is "memory": memory delivered the data, not storage. */
bool text_is_memory(const struct text_block *b);

/* Append failures to a job's first line: "ERRORS: 100 of 128 samples failed; " before its figures,
 * or "; 1 of 128 samples failed" after figures that remain valid. Nothing if nothing failed. */
void text_errors(struct buf *out, const struct text_block *b);
void text_allowed_errors(struct buf *out, const struct text_block *b);

/* Wrap a first line that is too long even in its shortest form. */
void text_wrap_answer(struct buf *line);

/* Append a label and a text, which is wrapped at `indent`. */
void text_append(struct buf *out, const char *label, size_t indent, const char *text);
/* Append a label and a text if there is any, and free the text. */
void text_append_buf(struct buf *out, const char *label, size_t indent, struct buf *text);

/*
 * A line of a report. `put` appends the text after the label; a line without text is omitted. If
 * the label is NULL, `put` appends whole lines.
 */
struct text_line {
	const char *label;
	void (*put)(struct buf *text, const struct text_block *b);
};

/* Append the lines of a list, which ends with a zeroed row. */
void text_append_list(struct buf *out, const struct text_line *lines, size_t indent,
		      const struct text_block *b);

/* Append a template. Its keys are options of the job, rows of its result, and rows of
 * `checkpoints`, `cache` and `storage` with the prefix "checkpoints." and so on. */
#define text_say(out, b, text) text_template(out, TEMPLATE(text_scopes, text), b)
extern const struct template_scope text_scopes[];
void text_template(struct buf *out, const struct template *t, const struct text_block *b);

/* Append "  read: IOPS=8181, BW=63.9MiB/s (67.0MB/s)(22.4MiB/350msec)" in fio's format, which
 * scripts parse, and a line for writes; a direction without operations has no line. */
void text_fio_lines(struct buf *out, const struct text_block *b);

/* Append the verdict and the figures that decide it, if there is one. */
void text_verdict(struct buf *out, const struct text_block *b);

/* Append "compute 62.8%  stall 33.9%  ...  = 100%" after the label. */
void text_shares(struct buf *out, const char *label, const struct show_shares *s);

/* The number of lines in the buffer. */
unsigned text_lines(const struct buf *b);

/* Print the buffer. Names come from users, so control characters are escaped. */
void text_print(FILE *to, const struct buf *b);

/* ---- lines about the settings of a run: title, storage, host ---- */

/* The lines "storage" and "host" of any job. */
void text_storage(struct buf *text, const struct text_block *b);
void text_machine(struct buf *text, const struct text_block *b);

/* Append a line with the title and a line for each note; NULL = none. */
void text_append_title(struct buf *out, const char *title, const char *notes);
/* Append the title and notes of a run, in its first block only. */
void text_title(struct buf *out, const struct text_block *b);

/* Append " = 14.9 x this host's memory". */
void text_memory_ratio(struct buf *text, const struct text_block *b, double bytes);

/* ---- the two tables of the text report: epochs and latencies ---- */

/*
 * Append a header, a line per epoch and a line for all epochs. If these would be more than
 * `most_lines` and more than TEXT_EPOCHS_LEAST lines, only the first and the last epochs are shown,
 * with `...` in between.
 */
#define TEXT_EPOCHS_LEAST 5
void text_epochs(struct buf *out, const struct job_result *r, const struct rate_unit *unit,
		 unsigned most_lines);

/*
 * Append a line of latencies for each kind of event that occurred: operations, samples, stalls and
 * steps. If not all percentiles fit, the usual ones are preferred, then the highest.
 */
void text_latency(struct buf *out, const struct job_result *r, const struct f64_list *percentiles);

/* The word for the unit that a training job reads: "sample", or "extent" if it reads several
 * samples at once. */
const char *text_read_unit(const struct ml_result *ml);

/*
 * Append the latency table of a plain job, which has a column for the minimum. Returns the unit:
 * "us" if every mean is below 100 us, since a read from the page cache takes about 1 us; otherwise
 * "ms". Rows without a count are left out.
 */
struct text_latency_row {
	const char *name;
	uint64_t count;
	const struct hist *hist;
};
const char *text_io_latency(struct buf *out, const struct text_latency_row *rows, size_t n,
			    const struct f64_list *percentiles);

/* Append rows of latencies in milliseconds, with a title of up to seven letters instead of
 * `latency`; nothing if no row has a count. */
void text_rows_latency(struct buf *out, const char *title, const struct text_latency_row *rows,
		       size_t n, const struct f64_list *percentiles);

/* ---- lines about unusual events: a noisy host, a slow file or rank ---- */

/* Other activity of the host, if it affects the result. */
void text_noise(struct buf *text, const struct text_block *b);

/* The slowest sample's file, and the slowest accelerator, if they stand out. */
void text_slowest(struct buf *text, const struct text_block *b);

/* Append whole lines: the command line, ready to be copied into a shell. */
void text_command(struct buf *out, const struct text_block *b);

/* Append a command line in the same way, after a label that is `indent` wide. */
void text_append_command(struct buf *out, const char *label, unsigned indent, const char *command);

/* ---- lines below the tables: where time and bytes went ---- */

/* The time window of the lines below, if it differs from the time of the job. */
void text_window(struct buf *text, const struct text_block *b);
/* The share of bytes that came from memory. */
void text_from_memory(struct buf *text, const struct text_block *b);
/* Load of the CPUs and of the network. */
void text_host(struct buf *text, const struct text_block *b);
/* Energy that the host used; with --verbose, the reason if it is unknown. */
void text_energy(struct buf *text, const struct text_block *b);
/* True if the share from memory also covers bytes that other jobs read. */
bool text_has_other_jobs(const struct text_block *b);
/* Append the names of caches that this host cannot see. */
void text_unseen_caches(struct buf *text, const struct storage_result *s);
/* NUMA nodes of the threads and of the disk, on hosts with several nodes. */
void text_numa(struct buf *text, const struct text_block *b);

/* ---- the layout of a dry run's page, and lines that every job has ---- */

/* Columns, from 0: the start of text, the decimal points of figures, and the start of the
 * checklist. A line ends at WRAP_COLUMNS. */
#define PLAN_TEXT_AT 10
#define PLAN_POINT_AT 64
#define PLAN_CHECK_AT 72

/* Start a line with its label. plan_print_line() prints and frees it. */
void plan_start_line(struct buf *line, const char *label);
void plan_print_line(FILE *to, struct buf *line);

/* Append spaces up to a column, at least one. */
void plan_pad_to(struct buf *line, size_t column);

/* Append a number with its decimal point, or its end, at a column. */
void plan_add_at_point(struct buf *line, const char *number, size_t point);

/* Append a number in the column of figures. A line that is too long is printed first. */
void plan_add_figure(FILE *to, struct buf *line, const char *number);
void plan_add_bytes(FILE *to, struct buf *line, double bytes);

/* Append a text wrapped between `indent` and the end of the line, and print the line. */
void plan_print_wrapped(FILE *to, struct buf *line, size_t indent, const char *text);
void plan_print_sentence(FILE *to, const char *text);

/* Append the outcome of a check, print the line, and print the reason below it. */
void plan_print_checked(FILE *to, struct buf *line, const struct plan_check *check);

/*
 * A line of the page. `put` appends the text after the label; a line without text is omitted. The
 * line ends with the check named `check`, if there is one. If `wrapped_at` is not 0, the text is
 * wrapped at that column instead. `lines`, if set, prints whole lines.
 */
struct plan_line {
	const char *label;
	void (*put)(struct buf *text, const struct plan_report *p);
	const char *check;
	size_t wrapped_at;
	void (*lines)(FILE *to, const struct plan_report *p);
};

/* Print the lines of a list, which ends with a zeroed row. */
void plan_print_list(FILE *to, const struct plan_line *lines, const struct plan_report *p);

/* Append a template. Its keys are options of the job, `bs.read` and `bs.write`, and with the prefix
 * `plan.` the rows of a plan in the document and some rows of the page. */
#define plan_say(line, p, text) plan_template(line, TEMPLATE(plan_scopes, text), p)
extern const struct template_scope plan_scopes[];
void plan_template(struct buf *line, const struct template *t, const struct plan_report *p);

/* Print the files that exist and the files to write, with the check of this name. */
void plan_print_present(FILE *to, const struct plan_report *p, const char *check);
/* Print the lines about free space, the filesystem, memory, and direct=1, with their checks. */
void plan_print_free(FILE *to, const struct plan_report *p);
void plan_print_storage(FILE *to, const struct plan_report *p);
void plan_print_ratio(FILE *to, const struct plan_report *p, const char *what);
void plan_print_direct(FILE *to, const struct plan_report *p);

/* The line "files", about open files. */
void plan_append_open_files(struct buf *text, const struct plan_report *p);

/* The line "memory": "9 MiB for mlgen (estimate)". */
void plan_append_program(struct buf *text, const struct plan_report *p);

/* ---- --list-jobs: the available job files, and their demand on storage ---- */

/*
 * Print a line per NAME.job in $MLGEN_JOBS, jobs/ next to the binary and the installed folder. If
 * several files have the same name, only the first is listed: `mlgen NAME.job` would run that file.
 * `what storage sees` is the first sentence after "# What storage sees: " in the file, up to 40
 * characters. Size and demand are for the accelerator that the job names; the line ends with this
 * accelerator and the alternatives. 0, or -ENOENT with err if there are no job files.
 */
int listjobs(FILE *to, const struct jobset_env *env, struct mlgen_err *err);

/* ---- --version: the version of mlgen, its engines and libraries ---- */

/*
 * Print "mlgen 0.2.0 (commit 0123456789ab)", then one line with the engines and one with the
 * libraries. `commit` is "" in a build from an archive; then it is left out.
 */
void version_print(FILE *to, const char *commit);
