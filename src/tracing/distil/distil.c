/* SPDX-License-Identifier: Apache-2.0 */
/* distil.c - turn a trace into a job: print its head, then the sections of all finders. */
#include "tracing/distil/distil.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "tracing/distil/data/data.h"
#include "tracing/distil/facts/facts.h"
#include "tracing/distil/plain/plain.h"
#include "tracing/distil/saves/saves.h"
#include "tracing/distil/steps/steps.h"

/* ---- the head ---- */

/* Number of phases that are listed. */
enum { PHASES_SHOWN = 20 };

static double seconds(uint64_t ns)
{
	return (double)ns / NS_PER_S;
}

static int by_start(const void *a, const void *b)
{
	const struct distil_stage *x = *(struct distil_stage *const *)a;
	const struct distil_stage *y = *(struct distil_stage *const *)b;

	return COMPARE(x->start_ns, y->start_ns);
}

static void print_head(struct distil *d)
{
	static const char *const names[] = {
		[STAGE_SETUP] = "other files",
		[STAGE_GENERATE] = "data is written",
		[STAGE_TRAIN] = "epoch",
		[STAGE_EVAL] = "evaluation",
		[STAGE_SAVE] = "checkpoint",
		[STAGE_RESTORE] = "restore",
		[STAGE_PLAIN] = "reads and writes",
	};
	const char *job = distil_fact(d, "job"), *command = distil_fact(d, "command");
	const char *program = distil_fact(d, "program"), *host = distil_fact(d, "host");

	jobtext_comment(d->to, "Distilled from a trace by mlgen %s: %.3f s of %s%s%s.",
			MLGEN_VERSION, seconds(d->end_ns - d->start_ns),
			job       ? job
			: command ? command
			: program ? program
				  : "a program",
			host ? " on " : "", host ? host : "");
	jobtext_comment(d->to,
			"The comment above each option gives the reason in the trace, and how "
			"certain it is: sure (no other value would give these calls), likely (it "
			"explains nearly all calls), guess (the option needs a value).");
	if (d->read.lost)
		jobtext_comment(d->to,
				"LOST: %" PRIu64 " events were lost during the recording; rates, "
				"counts and batch sizes may be too small.",
				d->read.lost);
	if (d->read.truncated || d->read.damaged_chunks)
		jobtext_comment(
			d->to,
			"NOT WHOLE: files of the trace that end early: %u, damaged chunks: %" PRIu64
			"; their records from there on are missing from this job.",
			d->read.truncated, d->read.damaged_chunks);

	/* List the stages of the trace, in order of time. */
	const struct distil_stage **order = mem_array(d->stage_count + 1, sizeof(*order));
	uint32_t n = 0;
	for (uint32_t i = 0; i < d->stage_count; i++)
		if (d->stages[i].start_ns != UINT64_MAX)
			order[n++] = &d->stages[i];
	qsort(order, n, sizeof(*order), by_start);
	jobtext_comment(d->to, "Its phases:");
	for (uint32_t i = 0; i < n && i < PHASES_SHOWN; i++) {
		const struct distil_stage *s = order[i];
		char number[16] = "";

		if (s->kind != STAGE_SETUP && s->kind != STAGE_GENERATE && s->kind != STAGE_PLAIN)
			snprintf(number, sizeof(number), " %u", s->number);
		jobtext_comment(d->to, "  %8.3f to %8.3f s  %s%s",
				seconds(s->start_ns - d->start_ns),
				seconds(s->end_ns - d->start_ns), names[s->kind], number);
	}
	if (n > PHASES_SHOWN)
		jobtext_comment(d->to, "  and %u more", n - PHASES_SHOWN);
	mem_free(order);
}

/* ---- sections ---- */

static bool party_has(const struct distil *d, uint32_t party, enum stage_kind kind)
{
	for (uint32_t i = 0; i < d->stage_count; i++)
		if (d->stages[i].party == party && d->stages[i].kind == kind &&
		    d->stages[i].start_ns != UINT64_MAX)
			return true;
	return false;
}

/* The name of the section: that of the traced job, if it can be used. */
static const char *section_name(const struct distil *d)
{
	const char *job = distil_fact(d, "job");

	return job && *job && strlen(job) < 32 && !strpbrk(job, "[]/; #,") ? job : "training";
}

/* Finds a group of options of a training run and prints them. */
typedef int finder(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err);

static int training_section(struct distil *d, uint32_t party, struct mlgen_err *err)
{
	static const struct {
		const char *heading;
		finder *find;
	} parts[] = {
		{ "data on storage", distil_dataset },
		{ "how the data is read", distil_access },
		{ NULL, distil_order },
		{ "what an accelerator does with the data", distil_pipeline },
		{ "evaluation", distil_eval },
	};
	struct jobsection *to = jobtext_section(d->to, section_name(d));
	const struct distil_stage *made = &d->stages[1];
	int rc = 0;

	jobsection_set(to, DISTIL_LIKELY, "phase", "train",
		       "files of a data set are read in rounds by the processes that compute, or "
		       "by their workers");
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(parts); i++) {
		if (parts[i].find == distil_eval && !party_has(d, party, STAGE_EVAL))
			continue;
		if (parts[i].heading)
			jobsection_heading(to, parts[i].heading);
		rc = parts[i].find(d, party, to, err);
	}
	if (rc == 0 && (party_has(d, party, STAGE_SAVE) || party_has(d, party, STAGE_RESTORE)))
		rc = distil_checkpoints(d, party, to, err);
	if (made->start_ns != UINT64_MAX)
		jobsection_comment(to,
				   "The trace also shows the data being written, for %.3f s before "
				   "it was read. mlgen writes the data itself before the run; "
				   "phase=prepare does only that.",
				   seconds(made->end_ns - made->start_ns));
	return rc;
}

static int all_sections(struct distil *d, struct mlgen_err *err)
{
	uint32_t trainings = 0;
	bool saves =
		party_has(d, UINT32_MAX, STAGE_SAVE) || party_has(d, UINT32_MAX, STAGE_RESTORE);
	int rc = 0;

	d->found = mem_array(d->parties + 1, sizeof(*d->found));
	for (uint32_t p = 0; rc == 0 && p < d->parties; p++)
		if (party_has(d, p, STAGE_TRAIN)) {
			rc = training_section(d, p, err);
			trainings++;
		}
	if (rc == 0 && saves) {
		struct jobsection *to = jobtext_section(d->to, "checkpoint");

		if (trainings)
			jobsection_set(to, DISTIL_GUESS, "stonewall", "",
				       "after the sections above");
		jobsection_set(to, DISTIL_LIKELY, "phase", "checkpoint",
			       "files like the state of a model are written by processes that read "
			       "no samples");
		rc = distil_checkpoints(d, UINT32_MAX, to, err);
	}
	if (rc == 0 && d->stages[2].start_ns != UINT64_MAX)
		rc = distil_plain(d, trainings == 0 && !saves, err);
	return rc;
}

/* Refuse traces that cannot become a job. */
static int check_trace(const struct distil *d, struct mlgen_err *err)
{
	const char *path = d->paths[0];

	if (!d->read.records)
		return mlgen_fail(err, -ENODATA, "%s: the trace has no records", path);
	if (!d->calls && d->blocks)
		return mlgen_fail(
			err, -ENODATA,
			"%s: the trace contains only block requests, which do not show files; "
			"--replay_trace= repeats them, and mltrace record records calls",
			path);
	if (!d->calls && !d->faults)
		return mlgen_fail(err, -ENODATA,
				  "%s: the trace contains no calls on files; a job is made from "
				  "reads and writes",
				  path);
	return 0;
}

static int find_job(struct distil *d, struct mlgen_err *err)
{
	int rc = distil_read(d, err);

	if (rc == 0)
		rc = check_trace(d, err);
	if (rc == 0)
		rc = distil_tasks(d, err);
	if (rc == 0)
		rc = distil_classes(d, err);
	if (rc == 0)
		rc = distil_stages(d, err);
	if (rc < 0)
		return rc;
	print_head(d);
	rc = all_sections(d, err);
	if (rc == 0 && !jobtext_count(d->to))
		rc = mlgen_fail(
			err, -ENODATA,
			"%s: the trace shows only programs, libraries and files of the system, or "
			"only queries of names and sizes; mltrace describe shows its content",
			d->paths[0]);
	return rc;
}

int distil_trace(FILE *to, const struct distil_ask *a, struct mlgen_err *err)
{
	struct distil d = { .paths = a->paths,
			    .path_count = a->path_count,
			    .side_folder = a->side_folder,
			    .side_name = a->side_name,
			    .to = jobtext_new() };
	int rc = find_job(&d, err);

	if (rc == 0)
		jobtext_write(d.to, to);
	distil_fini(&d);
	return rc;
}
