/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - what people read: reports, dry runs, verdicts, lists. */
#pragma once

/*
 * A template is a sentence with figures, of which each is a row of a table. A verdict is what
 * limits a job, with the figures that decide it. The report of a job is a block of lines, made from
 * lists of rows {label, what is put there}; the page of a dry run is made in the same way. Each
 * workload gives its own lists (struct page). All calls are the main thread's.
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

/* ---- the report that people read ---- */

/*
 * One block per job, an empty line between two: the answer in the first line, the verdict, then the
 * evidence; at most 52 lines, but for a command that takes more than two and for notes, of 80
 * columns, or those of the terminal, plain ASCII. The workers of a plain job share a block. The
 * host and the command stand in the first one; what the disks did, behind the last.
 * Call verdict_fill() first.
 */
void text_report(FILE *to, const struct run_result *r, enum detail detail);

/* ---- figures as every line of a report shows them ---- */

/* Throughput is in one unit throughout the report of a job. */
struct rate_unit {
	const char *name; /* "GiB/s" */
	double bytes;
};

/* GiB/s from one GiB/s on, else MiB/s; NaN is MiB/s. */
struct rate_unit show_rate_unit(double bytes_per_sec);

/* The unit of a training's report: by its demand, else by its result. */
struct rate_unit show_report_unit(const struct ml_result *ml);

/* Digits after the point for a column whose largest value is `largest`, in the unit: 14.86 GiB/s,
 * 312 MiB/s, 0.12 MiB/s. */
int show_rate_decimals(const struct rate_unit *u, double largest);

/* "14.86 GiB/s", "unknown" for NaN; `out` holds UNITS_TEXT_BYTES. */
char *show_rate(char *out, const struct rate_unit *u, double bytes_per_sec);

/* "41.2 of 1047 GiB": both in one unit. */
#define SHOW_PART_BYTES (3 * UNITS_TEXT_BYTES)
char *show_part_of(char *out, double part, double whole);

/* Three digits: "12.4", "0.821"; "unknown" for NaN. */
char *show_seconds(char *out, double seconds);

/* "11.2%", "unknown" for NaN. */
char *show_percent(char *out, double percent);

/* Is the CPU time of a quota of a control group, not of whole CPUs? */
bool show_is_of_quota(const struct host_result *h);

/* Of a link, in Gb/s: "92", "0.941", "200". */
char *show_gigabits(char *out, double bits_per_sec);

/* "8 x h100", "2 accelerators"; `name` NULL = unnamed. */
#define SHOW_ACCELERATORS_BYTES 96
char *show_accelerators(char *out, uint64_t n, const char *name);

/*
 * The parts of a whole, in the order in which they are printed, rounded to tenths of a percent by
 * largest remainder: what is printed adds up to 100.0.
 */
#define SHOW_SHARES 10
struct show_share {
	const char *name; /* as in JSON */
	unsigned tenths;
};
struct show_shares {
	struct show_share of[SHOW_SHARES];
	unsigned count; /* 0: nothing was measured */
};
void show_accelerator_time(const struct time_percent *t, struct show_shares *s);
void show_loader_time(const struct loader_percent *l, struct show_shares *s);
void show_rank_time(const struct rank_percent *r, struct show_shares *s);

/* One of them as printed, in percent; 0 when it is not there. */
double show_share(const struct show_shares *s, const char *name);

/* "50% 4 KiB, 50% 252 KiB", appended: the most frequent classes of sizes. */
void show_sizes(struct buf *out, const struct sizes *s);

/* Percent of the loaders' time inside I/O calls: every kind, and reap. */
double show_io_percent(const struct loader_percent *l);

/*
 * A number as fio writes it: at most four digits, whole ones up to 9999, then the next unit:
 * "203k", "12.3k", "2048Mi" with binary units.
 */
char *show_fio_number(char *out, double v, bool is_binary);

/* ---- sentences with figures: "{files} file{s}, {file_bytes}[, in {directory}]" ---- */

/*
 *	{key}	the figure of that name, shown as its row says: bytes, times, rates
 *		and percent with their unit; counts, seconds, and doubles in ns,
 *		which are milliseconds, without
 *	{key=}	an option as a job file has it: "direct=1"
 *	{s}	the plural of the count before it
 *	[...]	vanishes where a figure in it says nothing: null, an empty text, a
 *		count of 0, and an option {key=} that is at its default
 *
 * Outside of brackets what is null is "unknown". There are no conditions, loops or
 * sums: what needs them is C between two templates.
 */

/*
 * A page is a struct that holds, or points to, all that its templates say. Each scope is a struct
 * of it and the table that describes it: its rows are keys behind the name of the scope,
 * "storage.directory", or without where that is "".
 */
struct template_scope {
	const char *name; /* NULL ends a list */
	const struct mlgen_field *table;
	size_t off; /* of the struct in the page, or of the pointer to it */
	bool is_pointer;
};

#define TEMPLATE_AT(page, m, t) .off = MLGEN_MEMBER(page, m, const t *), .is_pointer = true

/* Of struct job: both halves of bs. */
extern const struct mlgen_field template_bs_fields[];

/* A template and what its keys mean. All that there are stand behind one another in a section of
 * the program, where the linker puts them, so that a test can resolve every key: what -Wformat is
 * for printf. */
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

/* Append; it has passed template_check(). */
void template_put(struct buf *out, const struct template *t, const void *page);

/* Does every key resolve, and is it well formed? 0, or -EINVAL with err. */
int template_check(const struct template *t, struct mlgen_err *err);

/* The first, or NULL, and the one behind `t`. */
const struct template *template_next(const struct template *t);

/* ---- what limits a job, the figures that decide it, what to try next ---- */

/* Limits that all workloads decide by. A figure that could not be measured decides nothing. */
#define VERDICT_MEMORY_PERCENT 10.0 /* of the bytes read, above this */
#define VERDICT_CPU_PERCENT 90.0
#define VERDICT_NETWORK_PERCENT 90.0 /* of the line rate */
#define VERDICT_STORAGE_PERCENT 80.0 /* of the workers' time, in I/O calls */

/* Fill the verdict of every job that has one, as its workload decides (plan.h). Its strings belong
 * to the result. */
void verdict_fill(struct run_result *r);

/* "STORAGE-BOUND" for "storage"; NULL where there is no such verdict. */
const char *verdict_label(const char *name);

/* The AU that a training is for: its target, else 90. */
double verdict_target_au(const struct job_result *j);

/*
 * Of a storage-bound training: how many such accelerators what was delivered is enough for at
 * `*au_percent` (the target, else 90). Never more than ran where these missed it. UINT64_MAX
 * without a demand.
 */
uint64_t verdict_enough(const struct job_result *j, double *au_percent);

/* Does this job move no bytes at all (ioengine=null)? Its verdicts are about the host and never
 * about storage. */
bool verdict_without_storage(const struct job *job);

/* Does it play a storage all the same (latency=, bandwidth= of that engine)? */
bool verdict_is_model(const struct job *job);

/* ---- what read threads bring, where AU does not show it ---- */

/*
 * AU leaves out the first step of each epoch. Where so much is read ahead of it that the rest of
 * the epoch says little, waiting for storage is hardly in AU, however slow that is. What read
 * threads brought while they had to read shows it.
 */

/* Batches of one accelerator that may be read before its first step. */
uint64_t verdict_batches_ahead(const struct job *j);

/* So few steps for each batch ahead that AU says little? `r` is a training. */
bool verdict_epochs_are_short(const struct job_result *r);
/* From how many steps on it does. */
uint64_t verdict_steps_that_show(const struct job *j);

/* What read threads brought while they were not idle, in percent of what the accelerators ask for.
 * NaN = not known, or no training. */
double verdict_supply_percent(const struct job_result *r);

/* Is AU met by short epochs only, while storage is too slow for it? */
bool verdict_is_hidden(const struct job_result *r);

/* ---- how far a training stayed below what its host reaches without storage ---- */

/* Within so many points the host is the limit, not the storage; of a small AU within that part of
 * it. */
#define CEILING_NEAR_POINTS 2.0
#define CEILING_NEAR_PART 0.05

struct ceiling_gap {
	enum {
		CEILING_UNKNOWN, /* not measured, or it decides nothing */
		CEILING_NEAR,    /* storage hardly matters */
		CEILING_ABOVE,   /* storage costs the difference */
	} says;
	bool of_null;   /* the figures below are without any copying */
	bool is_rate;   /* no AU: points are percent of the result's samples/s */
	double points;  /* from the result up to the ceiling */
	double reached; /* the ceiling: AU in percent, or samples/s */
	double copying; /* points between both ceilings; NaN */
};

/*
 * Buffered reads copy, so that the cached figure is the ceiling, and that without copying where it
 * is missing. With direct=1 nothing is copied: the cached figure may lie below what the host can
 * do, the null one is a bound. A model of storage (ioengine=null) never copies: its null figure is
 * the ceiling. What ran beside other jobs and was measured without them can show that the host is
 * the limit, never that storage is.
 */
void verdict_ceiling(struct ceiling_gap *g, const struct job *job, const struct ml_result *ml);

/* "with storage taken away this host reaches 72.0% AU", appended. */
void verdict_ceiling_put(struct buf *out, const struct ceiling_gap *g);

/* Samples per second of the counted steps, without those that failed; NaN without any. */
double verdict_steady_rate(const struct job *job, const struct ml_result *ml);

/* ---- what verdicts of all workloads are made from: findings, lists, sentences that several have
 * ---- */

/* All that a verdict is made from. */
struct verdict_findings {
	const struct run_result *run;
	const struct job_result *result;
	const struct job *job;
	const struct ml_result *ml;
	struct show_shares time, loader;
	struct rate_unit unit;
	struct ceiling_gap ceiling;
	/* Of a job that saves or restores. */
	const struct checkpoints_result *checkpoints;
	struct show_shares ranks;
};

/* Append a template. Its keys are options of the job, the rows of its result, and behind
 * `checkpoints.` those of the ones above. */
#define verdict_say(out, f, text) verdict_template(out, TEMPLATE(verdict_scopes, text), f)
extern const struct template_scope verdict_scopes[];
void verdict_template(struct buf *out, const struct template *t, const struct verdict_findings *f);

/* Appends its sentence; nothing appended = nothing to say. */
typedef void verdict_sentence(struct buf *out, const struct verdict_findings *f);

struct verdict {
	const char *name; /* NULL ends a list */
	bool (*holds)(const struct verdict_findings *f);
	verdict_sentence *headline, *because, *try_next;
};

/* Take the first of the list that holds, if there is one. */
void verdict_take(struct verdict_result *to, const struct verdict *list,
		  const struct verdict_findings *f);

/* "mlgen itself took usr 3.8%, sys 10.0%, other processes 86.1%" */
void verdict_put_cpu(struct buf *out, const struct host_result *h);

/* "CPU 97.0% busy (2 CPUs)", "CPU quota 97.0% used (0.5 CPUs)" */
void verdict_put_full(struct buf *out, const struct host_result *h, const struct host *host);

/* Is most of what the CPUs do not mlgen's own? */
bool verdict_cpu_is_of_others(const struct host_result *h);

/* Does the network carry what it can? And that as a sentence. */
bool verdict_network_is_full(const struct verdict_findings *f);
void verdict_network_headline(struct buf *out, const struct verdict_findings *f);

/* "tmpfs keeps files in memory", "/dev/shm is tmpfs: no storage was read" (the verb): true where
 * the filesystem is one, else nothing is appended. */
bool verdict_keeps_in_memory(struct buf *out, const struct verdict_findings *f);
bool verdict_is_in_memory(struct buf *out, const struct verdict_findings *f, const char *verb);

/* ---- did so much fail that nothing else can be said? ---- */

/* Of what failed, within the allowance: more than so many percent, and what did not fail says
 * little about what limits. */
#define VERDICT_ERRORS_PERCENT 1.0

/* More than max_errors allows, or than that? Of any kind of job. */
bool verdict_is_errors(const struct job_result *r);

/* "100 of 128 samples failed", "5 of 64 operations failed", "3 errors". */
void verdict_put_failed(struct buf *out, const struct job_result *r);

/* "max_errors=1% allows no more", appended. */
void verdict_put_allowance(struct buf *out, const struct job_result *r);

/* Say of each job that went on although more failed than max_errors allows what that was; false:
 * there is none. */
bool verdict_log_failed(const struct run_result *r);

/* A row of a training's verdicts, and what a plain job takes of it; of `findings` they look at the
 * result alone. */
bool verdict_errors_holds(const struct verdict_findings *f);
void verdict_errors_headline(struct buf *out, const struct verdict_findings *f);
void verdict_errors_because(struct buf *out, const struct verdict_findings *f);
void verdict_errors_try(struct buf *out, const struct verdict_findings *f);

/* ---- one job's part of the text report, and how its lines are laid out ---- */

#define TEXT_ANSWER_INDENT 18
#define TEXT_SETTING_INDENT 10
#define TEXT_EVIDENCE_INDENT 19

/* What the report of one job is made from. */
struct text_block {
	const struct run_result *run;
	const struct job_result *result;
	const struct job *job;
	const struct ml_result *ml;                   /* a training, else empty */
	const struct io_result *io;                   /* a plain job, else empty */
	const struct checkpoints_result *checkpoints; /* those it is for */
	/* The ones of either. */
	const struct cache_result *cache; /* of a training */
	const struct storage_result *storage;
	const struct window_result *window;
	const struct host_result *host;
	const struct network_result *network;
	const struct numa_result *numa;
	const struct verdict_result *verdict;
	struct rate_unit unit;
	struct show_shares time, loader;
	/* Threads that read: of one accelerator, of all. */
	uint64_t readers_each, readers;
	enum detail detail;
	bool is_first; /* of the run: the host and the command stand in it */
};

/* All but unit and shares, from a result, which must outlive it. */
void text_block_init(struct text_block *b, const struct run_result *run,
		     const struct job_result *result, enum detail detail);

/* Why a job ended early; NULL = it did not. */
const char *text_early_end(const struct text_block *b);

/* Did memory deliver, and not storage? */
bool text_is_memory(const struct text_block *b);

/* What failed of a job belongs into its first line: "ERRORS: 100 of 128 samples failed; " before
 * its figures, or "; 1 of 128 samples failed" behind them where they stand all the same. Nothing
 * where nothing failed. */
void text_errors(struct buf *out, const struct text_block *b);
void text_allowed_errors(struct buf *out, const struct text_block *b);

/* A first line that is too long in its shortest form goes on in a second one. */
void text_wrap_answer(struct buf *line);

/* A label, then text in as many lines as it takes, `indent` from the left. */
void text_put(struct buf *out, const char *label, size_t indent, const char *text);
/* The same, and frees the text; nothing without any. */
void text_end(struct buf *out, const char *label, size_t indent, struct buf *text);

/*
 * A line of a report: `put` appends what stands behind the label, and there is no line where that
 * is nothing. Without a label it makes whole lines by itself.
 */
struct text_line {
	const char *label;
	void (*put)(struct buf *text, const struct text_block *b);
};

/* All of a list, which ends with a zeroed row. */
void text_put_list(struct buf *out, const struct text_line *lines, size_t indent,
		   const struct text_block *b);

/* Append a template. Its keys are options of the job, the rows of its result, and behind
 * `checkpoints.` and `storage.` those of the ones above. */
#define text_say(out, b, text) text_template(out, TEMPLATE(text_scopes, text), b)
extern const struct template_scope text_scopes[];
void text_template(struct buf *out, const struct template *t, const struct text_block *b);

/* "  read: IOPS=8181, BW=63.9MiB/s (67.0MB/s)(22.4MiB/350msec)", as fio has it,
 * and one of writes: what moved at all. Scripts take their figures from there. */
void text_fio_lines(struct buf *out, const struct text_block *b);

/* The latencies of reads, or of writes where there are more, in one line. */
void text_one_latency(struct buf *out, const struct text_block *b);

/* The verdict and the figures that decide it, as far as there is one. */
void text_verdict(struct buf *out, const struct text_block *b);

/* "compute 62.8%  stall 33.9%  ...  = 100%" behind its label. */
void text_shares(struct buf *out, const char *label, const struct show_shares *s);

unsigned text_lines(const struct buf *b);

/* Names come from users: no control character reaches a terminal. */
void text_print(FILE *to, const struct buf *b);

/* ---- the lines that say what ran, on what: job to host ---- */

/* Those of any job: "storage", "host". */
void text_storage(struct buf *text, const struct text_block *b);
void text_machine(struct buf *text, const struct text_block *b);

/* Append a line with the title and one for each note; NULL = none. */
void text_put_title(struct buf *out, const char *title, const char *notes);
/* The same for a run; only its first job has them. */
void text_title(struct buf *out, const struct text_block *b);

/* " = 14.9 x this host's memory", appended. */
void text_memory_ratio(struct buf *text, const struct text_block *b, double bytes);

/* ---- the two tables of the text report: epochs and latencies ---- */

/*
 * One line per epoch and one for all, under a header. Where that is more than `most_lines`, the
 * first epochs and the last stay, with `...` between them; never less than TEXT_EPOCHS_LEAST lines.
 */
#define TEXT_EPOCHS_LEAST 5
void text_epochs(struct buf *out, const struct job_result *r, const struct rate_unit *unit,
		 unsigned most_lines);

/*
 * One line per operation, sample, stall and step that occurred. Of a long list of percentiles those
 * that fit: the usual ones, then the highest.
 */
void text_latency(struct buf *out, const struct job_result *r, const struct f64_list *percentiles);

/* Name in rows of the unit that a training reads: "sample", or "extent" if it reads several samples
 * at once. */
const char *text_unit_read(const struct ml_result *ml);

/*
 * The same of a plain job, with the least latency, and in microseconds where every mean is below
 * 100 of them: a read from the page cache takes one. Rows without a count are left out. The unit:
 * "ms" or "us".
 */
struct text_latency_row {
	const char *name;
	uint64_t count;
	const struct hist *hist;
};
const char *text_io_latency(struct buf *out, const struct text_latency_row *rows, size_t n,
			    const struct f64_list *percentiles);

/* Such rows in milliseconds, under a title of up to seven letters, in place of `latency`; nothing
 * where none has a count. */
void text_rows_latency(struct buf *out, const char *title, const struct text_latency_row *rows,
		       size_t n, const struct f64_list *percentiles);

/* ---- the lines for what is out of the ordinary: a noisy host, one slow file or rank ---- */

/* What else the host did, where it touches the result; else nothing. */
void text_noise(struct buf *text, const struct text_block *b);

/* The slowest sample's file, and the slowest accelerator, where they stand out; else nothing. */
void text_slowest(struct buf *text, const struct text_block *b);

/* Whole lines: the command line, to be copied into a shell. */
void text_command(struct buf *out, const struct text_block *b);

/* Such a line, behind a label that is `indent` wide. */
void text_put_command(struct buf *out, const char *label, unsigned indent, const char *command);

/* ---- the lines below the tables: where time and bytes went ---- */

/* Those of any job: over which time the next ones are, where it is not simply that of the job; what
 * came from memory, and, appended to such a line, which caches cannot be seen; load of the host and
 * of the network, NUMA where there is something to say. */
void text_window(struct buf *text, const struct text_block *b);
void text_from_memory(struct buf *text, const struct text_block *b);
void text_host(struct buf *text, const struct text_block *b);
/* What the host took, where it is known, or would be to root. */
void text_energy(struct buf *text, const struct text_block *b);
/* Is the share from memory also of what other jobs have read? */
bool text_has_others(const struct text_block *b);
void text_unseen(struct buf *text, const struct storage_result *s);
void text_numa(struct buf *text, const struct text_block *b);

/* ---- how the page of a dry run is laid out, and lines that every job has ---- */

/* Columns, from 0: where text begins, where the points of figures stand, and where the checklist
 * begins. A line ends at WRAP_COLUMNS. */
#define PLAN_TEXT_AT 10
#define PLAN_POINT_AT 64
#define PLAN_CHECK_AT 72

/* A new line with its label. plan_put_line prints it and frees it. */
void plan_start_line(struct buf *line, const char *label);
void plan_put_line(FILE *to, struct buf *line);

/* Blanks up to a column, at least one. */
void plan_pad_to(struct buf *line, size_t column);

/* A number with its point, or its end, at a column. */
void plan_add_at_point(struct buf *line, const char *number, size_t point);

/* The same in the column of figures; below a line that is too long for it. */
void plan_add_figure(FILE *to, struct buf *line, const char *number);
void plan_add_bytes(FILE *to, struct buf *line, double bytes);

/* Words between the indent and the end of the line; ends the line. */
void plan_put_wrapped(FILE *to, struct buf *line, size_t indent, const char *text);
void plan_put_sentence(FILE *to, const char *text);

/* The end of a line: what the check found, and its sentence below. */
void plan_put_checked(FILE *to, struct buf *line, const struct plan_check *check);

/*
 * A line of the page: `put` appends what stands behind the label, and there is no line where that
 * is nothing. It ends with the check of that name, if there is one; or it is a text that is
 * wrapped, so far from the left. `lines` makes whole lines instead.
 */
struct plan_line {
	const char *label;
	void (*put)(struct buf *text, const struct plan_report *p);
	const char *check;
	size_t wrapped_at;
	void (*lines)(FILE *to, const struct plan_report *p);
};

/* All of a list, which ends with a zeroed row. */
void plan_put_list(FILE *to, const struct plan_line *lines, const struct plan_report *p);

/* Append a template. Its keys are options of the job, `bs.read` and `bs.write`, and behind `plan.`
 * what the document has of a plan, or the page alone. */
#define plan_say(line, p, text) plan_template(line, TEMPLATE(plan_scopes, text), p)
extern const struct template_scope plan_scopes[];
void plan_template(struct buf *line, const struct template *t, const struct plan_report *p);

/* What is there and what is to be written, with the check of that name. */
void plan_put_present(FILE *to, const struct plan_report *p, const char *check);
void plan_put_free(FILE *to, const struct plan_report *p);
void plan_put_storage(FILE *to, const struct plan_report *p);
void plan_put_ratio(FILE *to, const struct plan_report *p, const char *what);
void plan_put_direct(FILE *to, const struct plan_report *p);

/* "files", with the check of that name. */
void plan_put_open_files(struct buf *text, const struct plan_report *p);

/* ---- the memory that the program itself takes, in a dry run ---- */

/* The line about it, "memory 9 MiB for mlgen (estimate)", and what is to be said behind that. */
void plan_put_program(struct buf *text, const struct plan_report *p);

/* ---- --list-jobs: the job files at hand, and what they ask of storage ---- */

/*
 * One line per NAME.job in $MLGEN_JOBS, jobs/ beside the binary and the installed ones; of equal
 * names the first is listed, as it is the one that `mlgen NAME.job` runs. `what storage sees` is
 * the first sentence behind the "# What storage sees: " of a file, up to 40 characters. Size and
 * demand are those of the accelerator that the job names, which stands behind them with the others
 * there are. 0, or -ENOENT with err where there is none.
 */
int listjobs(FILE *to, const struct jobset_env *env, struct mlgen_err *err);

/* ---- --version: which mlgen this is, and what it was built with ---- */

/*
 * "mlgen 0.1.0 (commit 0123456789ab)", then engines and libraries, a line each. An empty commit, of
 * what was built from an archive, is left out.
 */
void version_print(FILE *to, const char *commit);
