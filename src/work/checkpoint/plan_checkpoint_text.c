/* SPDX-License-Identifier: Apache-2.0 */
/* plan_checkpoint_text.c - the page that a dry run prints of checkpoints. */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/units.h"
#include "base/util.h"
#include "field/fields.h"
#include "job/job.h"
#include "report/plan_lines.h"
#include "report/plan_memory.h"
#include "work/checkpoint/plan_checkpoint.h"

/* Where the further lines of one thing begin. */
#define INDENT (PLAN_TEXT_AT + 2)

/* A training that saves, too? */
static bool is_beside(const struct job *j)
{
	return job_work(j)->checkpoints == CHECKPOINTS_ASKED;
}

/* What the bytes of one thing are shown in: GiB, as in the published tables, also where TiB would
 * be shorter. */
struct unit {
	const char *name;
	double bytes;
	int decimals;
};

static struct unit unit_of(uint64_t bytes)
{
	if (bytes >= 1u << 30)
		return (struct unit){ "GiB", 1u << 30, 3 };
	if (bytes >= 1u << 20)
		return (struct unit){ "MiB", 1u << 20, 3 };
	if (bytes >= 1u << 10)
		return (struct unit){ "KiB", 1u << 10, 3 };
	return (struct unit){ "B", 1, 0 };
}

static void add_in(struct buf *line, const struct unit *u, uint64_t bytes)
{
	buf_addf(line, "%.*f", u->decimals, (double)bytes / u->bytes);
}

static void put_model(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;

	plan_say(text, p, "[{model}: ]");
	if (j->checkpoint_layout == LAYOUT_PATTERN)
		plan_say(text, p, "files of the pattern {checkpoint_pattern}");
	else if (p->checkpoint.parameters)
		plan_say(text, p,
			 "{plan.checkpoint.parameters} parameters, {model_layers} layer{s} of "
			 "hidden size {model_hidden}");
	else if (j->tensor_sizes)
		plan_say(text, p, "the tensors of {tensor_sizes} in each rank");
	else
		buf_add(text, "one tensor in each rank");
	if (j->scale < 100)
		plan_say(text, p, "; of every tensor {scale}");
}

static void put_parallelism(struct buf *text, const struct plan_report *p)
{
	const struct plan_checkpoint *c = &p->checkpoint;

	plan_say(text, p, "{plan.checkpoint.ranks}");
	if (c->ranks > 1 && c->parameters)
		plan_say(text, p,
			 " = tensor {plan.checkpoint.tensor_parallel} x pipeline "
			 "{plan.checkpoint.pipeline_parallel} x data "
			 "{plan.checkpoint.data_parallel}");
	plan_say(text, p, "[, ZeRO stage {zero_stage}]");
}

/* "model 1.870 + optimizer 11.218 = 13.088 GiB each (2,007,565,312 + 12,045,637,632 bytes)" */
static void add_bytes(struct buf *text, const struct plan_ranks *k, bool is_model)
{
	const struct unit u = unit_of(k->bytes);
	const char *each = k->count > 1 ? " each" : "";
	char n[UNITS_TEXT_BYTES], m[UNITS_TEXT_BYTES];

	units_human_count(n, k->model_bytes);
	units_human_count(m, k->optimizer_bytes);
	if (k->model_bytes && k->optimizer_bytes) {
		buf_add(text, "model ");
		add_in(text, &u, k->model_bytes);
		buf_add(text, " + optimizer ");
		add_in(text, &u, k->optimizer_bytes);
		buf_add(text, " = ");
		add_in(text, &u, k->bytes);
		buf_addf(text, " %s%s (%s + %s bytes)", u.name, each, n, m);
		return;
	}
	if (is_model)
		buf_add(text, k->model_bytes ? "model " : "optimizer ");
	add_in(text, &u, k->bytes);
	buf_addf(text, " %s%s (%s bytes)", u.name, each, k->model_bytes ? n : m);
}

static void put_class(FILE *to, const struct plan_ranks *k, bool is_model)
{
	char n[UNITS_TEXT_BYTES];
	struct buf line = { 0 }, text = { 0 };

	plan_start_line(&line, "");
	buf_addf(&text, "rank%s %s: ", plural(k->count), k->ranks);
	if (k->files) {
		add_bytes(&text, k, is_model);
		buf_addf(&text, ", %s file%s", units_human_count(n, k->files), plural(k->files));
	} else {
		buf_add(&text, "nothing");
	}
	plan_put_wrapped(to, &line, INDENT, buf_str(&text));
	buf_fini(&text);
}

static void put_classes(FILE *to, const struct plan_report *p)
{
	const struct plan_checkpoint *c = &p->checkpoint;
	const struct plan_ranks *classes = c->classes.items;

	for (size_t i = 0; i < c->classes.count; i++)
		put_class(to, &classes[i], c->parameters > 0);
}

/* Bytes in full, and in the column of figures once more. */
static void put_sum(FILE *to, struct buf *line, uint64_t files, uint64_t bytes)
{
	const struct unit u = unit_of(bytes);
	char n[UNITS_TEXT_BYTES], m[UNITS_TEXT_BYTES];
	struct buf figure = { 0 };

	buf_addf(line, "%s file%s, %s bytes", units_human_count(n, files), plural(files),
		 units_human_count(m, bytes));
	add_in(&figure, &u, bytes);
	buf_addf(&figure, " %s", u.name);
	plan_add_figure(to, line, buf_str(&figure));
	plan_put_line(to, line);
	buf_fini(&figure);
}

static void put_sums(FILE *to, const struct plan_report *p)
{
	const struct plan_checkpoint *c = &p->checkpoint;
	struct buf line = { 0 };

	plan_start_line(&line, "total");
	buf_add(&line, "one checkpoint: ");
	put_sum(to, &line, c->files, c->bytes);
	if (c->local_ranks == c->ranks)
		return;
	plan_start_line(&line, "");
	plan_say(&line, p, "{plan.checkpoint.local_ranks} rank{s} on ");
	buf_add(&line, p->hosts > 1 ? "these hosts: " : "this host: ");
	put_sum(to, &line, c->local_files, c->local_bytes);
}

/* By which calls. */
static void add_calls(struct buf *text, const struct plan_report *p)
{
	const char *what = job_work(p->job)->restores ? "reads" : "writes";
	char n[UNITS_TEXT_BYTES];

	units_human_bytes(n, (double)p->checkpoint.most_write_bytes);
	if (p->job->access != ACCESS_FRAMEWORK)
		buf_addf(text, ", %s of %s", what, n);
	else if (p->job->checkpoint_layout == LAYOUT_PATTERN)
		buf_addf(text, ", %s as measured", what);
	else
		buf_addf(text, ", the framework's %s, up to %s", what, n);
}

static void put_layout(struct buf *text, const struct plan_report *p)
{
	const struct plan_checkpoint *c = &p->checkpoint;

	plan_say(text, p, "{checkpoint_layout}");
	if (c->file)
		add_calls(text, p);
	if (c->file)
		buf_addf(text, "; %s", c->file);
	if (c->file && strcmp(c->file, c->last_file) != 0)
		buf_addf(text, " .. %s", c->last_file);
}

static void put_directory(struct buf *text, const struct plan_report *p)
{
	const struct plan_checkpoint *c = &p->checkpoint;

	if (!p->touches_files) {
		buf_add(text, "ioengine=null touches no file: nothing is written, read or needed "
			      "on storage");
		return;
	}
	plan_say(text, p,
		 "{plan.checkpoint.directory}; complete ones there: {plan.checkpoint.present}");
	if (c->saved_by)
		buf_addf(text, "; reads what [%s] saves before", c->saved_by);
	else if (c->first && c->last && strcmp(c->first, c->last) != 0)
		plan_say(text, p, "; reads {plan.checkpoint.first} .. {plan.checkpoint.last}");
	else if (c->first)
		buf_addf(text, "; %s %s", c->last ? "reads" : "next", c->first);
}

static void put_room(FILE *to, const struct plan_report *p)
{
	const struct plan_checkpoint *c = &p->checkpoint;
	char bytes[UNITS_TEXT_BYTES];
	struct buf line = { 0 };

	plan_start_line(&line, "");
	buf_addf(&line, "free in %s", c->mount.target[0] ? c->mount.target : c->directory);
	if (c->free_bytes != UINT64_MAX)
		units_human_bytes(bytes, (double)c->free_bytes);
	else
		snprintf(bytes, sizeof(bytes), "unknown");
	plan_add_figure(to, &line, bytes);
	plan_put_checked(to, &line, plan_find_check(p, "room"));
}

/* In a training. */
static void put_every(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;

	plan_say(text, p, "every {checkpoint_every}");
	if (j->checkpoint_mode == CHECKPOINT_SYNC)
		buf_add(text, "; training waits until it is written");
	else if (j->snapshot_bandwidth)
		plan_say(text, p,
			 "; training waits for a snapshot at {snapshot_bandwidth}/s per rank and "
			 "goes on");
	else
		buf_add(text, "; training goes on meanwhile");
}

static void add_count(struct buf *line, const struct plan_report *p)
{
	const struct plan_checkpoint *c = &p->checkpoint;
	const struct job *j = p->job;

	if (c->is_estimate && c->checkpoints != UINT64_MAX)
		buf_add(line, "about ");
	if (c->checkpoints == UINT64_MAX)
		buf_add(line, "checkpoints until runtime");
	else
		plan_say(line, p, "{plan.checkpoint.checkpoints} checkpoint{s}");
	if (!is_beside(j) && j->checkpoints > 1)
		plan_say(line, p, "[, {pause} between them]");
	if (job_work(j)->restores)
		return;
	if (j->checkpoint_keep == 1)
		buf_add(line, "; the newest one stays");
	else
		plan_say(line, p, "[; the newest {checkpoint_keep} stay]");
}

static void put_work(FILE *to, const struct plan_report *p)
{
	const struct plan_checkpoint *c = &p->checkpoint;
	const bool is_restore = job_work(p->job)->restores;
	struct buf line = { 0 };

	plan_start_line(&line, is_restore ? "to read" : "to write");
	add_count(&line, p);
	if (c->move_bytes != UINT64_MAX)
		plan_add_bytes(to, &line, (double)c->move_bytes);
	plan_put_checked(to, &line, plan_find_check(p, "checkpoints"));
	if (plan_find_check(p, "room"))
		put_room(to, p);
	if (!is_beside(p->job))
		plan_put_storage(to, p);
}

static void put_fsync(struct buf *text, const struct plan_report *p)
{
	static const char *const words[] = {
		[CHECKPOINT_FSYNC_NONE] = "nothing is flushed",
		[CHECKPOINT_FSYNC_FILE] = "each file before it is closed",
		[CHECKPOINT_FSYNC_END] = "all files of a rank when its last is written",
	};

	if (!plan_find_check(p, "durable"))
		return;
	buf_add(text, words[p->job->checkpoint_fsync]);
}

static void put_verify(struct buf *text, const struct plan_report *p)
{
	if (!plan_find_check(p, "verify"))
		return;
	buf_add(text, "each block of 4 KiB, by its crc32c");
}

static void put_caches(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;

	if (!plan_find_check(p, "caches") ||
	    (!job_work(j)->restores && j->drop_caches == DROP_CACHES_NO))
		return;
	if (j->drop_caches == DROP_CACHES_RUN && job_work(j)->restores)
		buf_add(text,
			"the files leave this host's first; everything, if more than 1% stays");
	else if (j->drop_caches == DROP_CACHES_RUN)
		buf_add(text, "this host's are emptied before the job");
	else if (j->invalidate != INVALIDATE_NONE)
		buf_add(text, "the files leave this host's before the job");
	else
		buf_add(text, "this host's are left as they are");
}

static void put_in_flight(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;

	plan_say(text, p,
		 "{plan.checkpoint.in_flight} request{s} ({plan.checkpoint.local_ranks} rank{s} x "
		 "{checkpoint_threads} thread{s}");
	if (j->access != ACCESS_FRAMEWORK && job_depth(j) > 1)
		buf_addf(text, " x iodepth %u)", job_depth(j));
	else
		buf_add(text, ", one each)");
}

/* In a training as well. */
static const struct plan_line of_checkpoints[] = {
	{ "model", .put = put_model, .wrapped_at = INDENT },
	{ "ranks", .put = put_parallelism },
	{ .lines = put_classes },
	{ .lines = put_sums },
	{ "layout", .put = put_layout, .wrapped_at = INDENT },
	{ "directory", .put = put_directory, .wrapped_at = INDENT },
	{ .lines = put_work },
	{ "fsync", .put = put_fsync, .check = "durable" },
	{ "verify", .put = put_verify, .check = "verify" },
	{ 0 },
};

static void put_checkpoints(FILE *to, const struct plan_report *p)
{
	plan_put_list(to, of_checkpoints, p);
}

static const struct plan_line of_training[] = {
	{ "saves", .put = put_every, .wrapped_at = INDENT },
	{ .lines = put_checkpoints },
	{ 0 },
};

static const struct plan_line of_job[] = {
	{ .lines = put_checkpoints },
	{ "caches", .put = put_caches, .check = "caches" },
	{ .lines = plan_put_direct },
	{ "in flight", .put = put_in_flight },
	{ "memory", .put = plan_put_program, .check = "program" },
	{ "files", .put = plan_put_open_files, .check = "files" },
	{ 0 },
};

void plan_checkpoint_text(FILE *to, const struct plan_report *p)
{
	if (p->checkpoint.ranks > 0)
		plan_put_list(to, is_beside(p->job) ? of_training : of_job, p);
}
