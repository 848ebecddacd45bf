/* SPDX-License-Identifier: Apache-2.0 */
/* plan_checkpoint.c - the dry run of checkpoints, and the page that it prints. */
#include "work/checkpoint/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "data/state/state.h"
#include "field/fields.h"
#include "job/job.h"
#include "report/plan/plan.h"
#include "report/text/text.h"
#include "work/checkpoint/writer/writer.h"

/* ---- computing ---- */

struct checkpoint_plan {
	struct plan_report *p;
	struct plan_checkpoint *c; /* p->checkpoint */
	struct state state;
	struct content *content; /* only its span is used here */
	struct shard_set set;
	/* The expected contents of the directory, which include the ranks of other processes. */
	struct state whole;
	struct shard_set whole_set;
	struct checkpoints there;
};

/* Is it a training job that saves checkpoints? */
static bool is_training(const struct job *j)
{
	return job_work(j)->checkpoints == CHECKPOINTS_OPTIONAL;
}

static bool is_restore(const struct plan_report *p)
{
	return job_work(p->job)->restores;
}

/* A tensor is written in one call with access=framework, up to the longest run. */
static uint64_t largest_write(const struct checkpoint_plan *l, uint64_t rank)
{
	uint64_t most = 0;

	for (uint64_t i = 0; i < state_groups(&l->state, rank); i++) {
		struct state_group g;

		state_group(&l->state, rank, i, &g);
		for (uint64_t t = 0; t < g.tensors; t++) {
			struct state_tensor tensor;

			state_tensor(&l->state, &g, t, &tensor);
			if (tensor.bytes > most)
				most = tensor.bytes;
		}
	}
	uint64_t run = shard_max_run_bytes(&l->set);
	return most < run ? most : run;
}

/* Describe the files of the first local rank that has files, as an example of all. */
static void describe_files(struct checkpoint_plan *l)
{
	char name[256];
	struct shard f;

	for (uint64_t i = 0; i < l->c->local_ranks && !l->c->file; i++) {
		uint64_t rank = state_local_rank(&l->state, i);
		uint64_t files = shard_files(&l->set, rank);

		if (files == 0)
			continue;
		shard_init(&f, &l->set, rank, 0, 1);
		shard_name(&f, name, sizeof(name));
		l->c->file = mem_strdup(name);
		shard_init(&f, &l->set, rank, files - 1, 1);
		shard_name(&f, name, sizeof(name));
		l->c->last_file = mem_strdup(name);
		l->c->most_write_bytes = l->set.is_plain ? l->set.bs : largest_write(l, rank);
	}
}

/* Number of checkpoints of a training job. If time ends the job or triggers its checkpoints, this
 * is the number at 100 % utilisation. */
static uint64_t count_saves(struct plan_report *p)
{
	struct checkpoint_every every = { 0 };
	struct mlgen_err err = { 0 };

	if (job_checkpoint_every(p->job, &every, &err) || !every.count)
		return 0;
	p->checkpoint.is_estimate = every.unit == EVERY_TIME;
	if (every.unit == EVERY_TIME)
		return isnan(p->least_seconds)
			       ? UINT64_MAX
			       : (uint64_t)(p->least_seconds * 1e9 / (double)every.count);
	if (p->total_steps == UINT64_MAX || p->steps_per_epoch == 0)
		return UINT64_MAX;
	if (every.unit == EVERY_STEPS)
		return p->total_steps / every.count;
	return p->total_steps / p->steps_per_epoch / every.count;
}

/* Check the next save, and store the final name of the first checkpoint. */
static void check_saving(struct checkpoint_plan *l)
{
	bool is_alone = !is_training(l->p->job);
	uint64_t keep = l->p->job->checkpoint_keep, count = l->c->checkpoints;
	char name[CHECKPOINT_NAME_BYTES];
	struct mlgen_err err = { 0 }, why = { 0 };
	struct checkpoint next;

	if (checkpoints_check_next(&l->there, is_alone ? UINT64_MAX : 0, &err)) {
		plan_add_check(l->p, "checkpoints", PLAN_FAIL, "%s", err.text);
	} else if (is_alone) {
		checkpoints_next(&l->there, 1, UINT64_MAX, &next);
		checkpoint_final_name(&next, name);
		l->c->first = mem_strdup(name);
	}
	plan_add_check(l->p, "checkpoints", PLAN_OK, "%s", "");

	/* A run that does not know the number checks room for one checkpoint. */
	if (count == UINT64_MAX || (l->c->is_estimate && !l->p->job->runtime_ns))
		count = 1;
	if (checkpoints_check_room(&l->there, count, keep, &why))
		plan_add_check(l->p, "room", PLAN_FAIL, "%s", why.text);
	else
		plan_add_check(l->p, "room", PLAN_OK, "%s", "");

	if (l->p->job->checkpoint_fsync == CHECKPOINT_FSYNC_NONE)
		plan_add_check(
			l->p, "durable", PLAN_WARNING,
			"NOT DURABLE: without fsync this measures how fast this host's memory "
			"accepts the bytes; checkpoint_fsync=file or end flushes them");
	else
		plan_add_check(l->p, "durable", PLAN_OK, "%s", "");
}

static void check_directory(struct checkpoint_plan *l)
{
	struct mlgen_err err = { 0 };

	/* A rule reports errors of the mount. */
	if (mount_read(&l->c->mount, l->c->directory, NULL) == 0)
		l->c->free_bytes = l->c->mount.free_bytes;
	if (checkpoints_open(&l->there, l->c->directory, &l->whole_set, &err)) {
		plan_add_check(l->p, "checkpoints", PLAN_FAIL, "%s", err.text);
		return;
	}
	for (size_t i = 0; i < l->there.count; i++)
		l->c->present += l->there.items[i].is_complete;
	if (is_restore(l->p)) {
		size_t count = l->p->job->checkpoints;
		struct checkpoint *found = mem_array(count, sizeof(*found));

		if (checkpoints_to_restore(&l->there, count, found, &err)) {
			plan_add_check(l->p, "checkpoints", PLAN_FAIL, "%s", err.text);
		} else {
			l->c->first = mem_strdup(found[0].name);
			l->c->last = mem_strdup(found[count - 1].name);
			plan_add_check(l->p, "checkpoints", PLAN_OK, "%s", "");
		}
		mem_free(found);
	} else {
		check_saving(l);
	}
}

/* Check storage and caches of the job. A training job checks those of its dataset instead. */
static void check_storage(struct checkpoint_plan *l)
{
	struct plan_report *p = l->p;
	const struct job *j = p->job;

	p->mount = l->c->mount;
	p->free_bytes = l->c->free_bytes;
	if (p->mount.is_memory)
		plan_add_check(p, "storage", PLAN_WARNING,
			       "%s at %s is memory: no disk is measured there", p->mount.type,
			       p->mount.target);
	if (j->direct)
		plan_check_direct(p, l->c->directory);
	if (is_restore(p) && !j->direct && j->drop_caches == DROP_CACHES_NO &&
	    j->invalidate == INVALIDATE_NONE)
		plan_add_check(p, "caches", PLAN_WARNING,
			       "memory can deliver bytes instead of storage: use drop_caches=run, "
			       "invalidate=run or direct=1");
	else
		plan_add_check(p, "caches", PLAN_OK, "%s", "");
}

/* Checks that scan every file. They are skipped if there are too many ranks anyway. */
static void check_files(struct checkpoint_plan *l)
{
	if (is_restore(l->p) && l->p->job->verify != VERIFY_NONE)
		plan_add_check(l->p, "verify", PLAN_OK, "%s", "");
	if (!l->p->touches_files)
		return;
	l->c->open_files = writer_open_files(l->p->job, &l->set);
	check_directory(l);
	if (!is_training(l->p->job))
		check_storage(l);
}

static int init_state(struct checkpoint_plan *l, struct mlgen_err *err)
{
	const struct job *j = l->p->job;
	int rc = state_init(&l->state, j, err);

	if (rc == 0)
		rc = state_of_all_processes(&l->whole, &l->state, err);
	if (rc)
		return rc;
	l->content = content_new(writer_span_bytes(j), 0);
	l->set = (struct shard_set){
		.state = &l->state,
		.content = l->content,
		.layout = layout_of(j),
		.is_plain = j->access != ACCESS_FRAMEWORK,
		.bs = is_restore(l->p) ? j->bs.read : j->bs.write,
		.direct = j->direct,
	};
	l->whole_set = l->set;
	l->whole_set.state = &l->whole;
	return 0;
}

int plan_checkpoint(struct plan_report *p, const struct plan_input *in, struct mlgen_err *err)
{
	const struct job *j = p->job;
	struct plan_checkpoint *c = &p->checkpoint;
	struct checkpoint_plan l = { .p = p, .c = c };
	int rc = init_state(&l, err);

	(void)in;
	if (rc == 0) {
		c->free_bytes = UINT64_MAX;
		c->directory = job_checkpoint_directory(j);
		plan_count_classes(c, &l.set);
		describe_files(&l);
		c->checkpoints = is_training(j) ? count_saves(p) : j->checkpoints;
		c->move_bytes = c->checkpoints == UINT64_MAX
					? UINT64_MAX
					: u64_product(c->checkpoints, c->local_bytes);
		/* A framework makes one call at a time. */
		uint64_t depth = l.set.is_plain ? job_depth(j) : 1;
		uint64_t threads = u64_product(c->local_ranks, j->checkpoint_threads);
		c->in_flight = u64_product(threads, depth);

		/* Threads need a slice of the pool for each request, and room for the metadata
		 * around tensors, which takes a scan of all files. */
		uint64_t before = p->need.bytes;
		writer_need(&p->need, j, &l.set, p->memory_bytes);
		c->program_bytes = p->need.bytes - before;
		if (c->program_bytes <= p->memory_bytes)
			check_files(&l);

		/* A job with nothing but checkpoints starts from the needs of the program. The
		 * needs of a training job were added before. */
		if (!is_training(j)) {
			p->reads_in_flight = c->in_flight;
			p->program_bytes = MEMNEED_PROGRAM_BYTES;
			p->open_files = p->touches_files ? PLAN_OWN_FILES : 0;
		}
		p->program_bytes = u64_sum(p->program_bytes, c->program_bytes);
		if (p->touches_files)
			p->open_files = u64_sum(p->open_files, c->open_files);
	}
	checkpoints_fini(&l.there);
	content_free(l.content);
	ranges_fini(&l.whole.local);
	state_fini(&l.state);
	return rc;
}

/* Does `before` save all checkpoints that `p` reads, and keep them until then? */
static bool is_saved_by(const struct plan_report *p, const struct plan_report *before)
{
	const struct plan_checkpoint *a = &p->checkpoint;
	const struct plan_checkpoint *b = &before->checkpoint;
	const struct job *saves = before->job;
	uint64_t kept = b->checkpoints;

	if (saves->checkpoint_keep && saves->checkpoint_keep < kept)
		kept = saves->checkpoint_keep;
	return job_has_checkpoints(saves) && !is_restore(before) && saves->group < p->job->group &&
	       a->directory && b->directory && strcmp(a->directory, b->directory) == 0 &&
	       saves->checkpoint_layout == p->job->checkpoint_layout &&
	       saves->access == p->job->access && a->local_bytes == b->local_bytes &&
	       a->checkpoints <= kept;
}

void plan_checkpoint_expect(struct plan_report *p, const struct plan_report *before, size_t count)
{
	struct plan_check *checks = p->checks.items;
	const struct plan_report *saves = NULL;

	for (size_t i = 0; i < count && is_restore(p); i++)
		if (is_saved_by(p, &before[i]))
			saves = &before[i];
	for (size_t i = 0; i < p->checks.count && saves; i++) {
		if (strcmp(checks[i].name, "checkpoints") != 0)
			continue;
		checks[i].state = PLAN_OK;
		mem_replace(&checks[i].text, NULL);
		mem_replace(&p->checkpoint.saved_by, saves->job->name);
		mem_replace(&p->checkpoint.first, NULL);
		mem_replace(&p->checkpoint.last, NULL);
	}
}

/* ---- printing ---- */

/* Column of continuation lines. */
#define INDENT (PLAN_TEXT_AT + 2)

/* Unit of the bytes in a line: GiB, as in the published tables, even if TiB would be shorter. */
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

static void append_in_unit(struct buf *line, const struct unit *u, uint64_t bytes)
{
	buf_addf(line, "%.*f", u->decimals, (double)bytes / u->bytes);
}

static void append_model(struct buf *text, const struct plan_report *p)
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
		plan_say(text, p, "; {scale} of every tensor");
}

static void append_parallelism(struct buf *text, const struct plan_report *p)
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
static void append_bytes(struct buf *text, const struct plan_ranks *k, bool is_model)
{
	const struct unit u = unit_of(k->bytes);
	const char *each = k->count > 1 ? " each" : "";
	char n[UNITS_TEXT_BYTES], m[UNITS_TEXT_BYTES];

	units_human_count(n, k->model_bytes);
	units_human_count(m, k->optimizer_bytes);
	if (k->model_bytes && k->optimizer_bytes) {
		buf_add(text, "model ");
		append_in_unit(text, &u, k->model_bytes);
		buf_add(text, " + optimizer ");
		append_in_unit(text, &u, k->optimizer_bytes);
		buf_add(text, " = ");
		append_in_unit(text, &u, k->bytes);
		buf_addf(text, " %s%s (%s + %s bytes)", u.name, each, n, m);
		return;
	}
	if (is_model)
		buf_add(text, k->model_bytes ? "model " : "optimizer ");
	append_in_unit(text, &u, k->bytes);
	buf_addf(text, " %s%s (%s bytes)", u.name, each, k->model_bytes ? n : m);
}

static void print_classes(FILE *to, const struct plan_report *p)
{
	const struct plan_checkpoint *c = &p->checkpoint;
	const struct plan_ranks *classes = c->classes.items;
	char n[UNITS_TEXT_BYTES];

	for (size_t i = 0; i < c->classes.count; i++) {
		const struct plan_ranks *k = &classes[i];
		struct buf line = { 0 }, text = { 0 };

		plan_start_line(&line, "");
		buf_addf(&text, "rank%s %s: ", plural(k->count), k->ranks);
		if (k->files) {
			append_bytes(&text, k, c->parameters > 0);
			buf_addf(&text, ", %s file%s", units_human_count(n, k->files),
				 plural(k->files));
		} else {
			buf_add(&text, "nothing");
		}
		plan_print_wrapped(to, &line, INDENT, buf_str(&text));
		buf_fini(&text);
	}
}

/* Print the exact number of bytes, and the rounded number in the column of figures. */
static void print_sum(FILE *to, struct buf *line, uint64_t files, uint64_t bytes)
{
	const struct unit u = unit_of(bytes);
	char n[UNITS_TEXT_BYTES], m[UNITS_TEXT_BYTES];
	struct buf figure = { 0 };

	buf_addf(line, "%s file%s, %s bytes", units_human_count(n, files), plural(files),
		 units_human_count(m, bytes));
	append_in_unit(&figure, &u, bytes);
	buf_addf(&figure, " %s", u.name);
	plan_add_figure(to, line, buf_str(&figure));
	plan_print_line(to, line);
	buf_fini(&figure);
}

static void print_sums(FILE *to, const struct plan_report *p)
{
	const struct plan_checkpoint *c = &p->checkpoint;
	struct buf line = { 0 };

	plan_start_line(&line, "total");
	buf_add(&line, "one checkpoint: ");
	print_sum(to, &line, c->files, c->bytes);
	if (c->local_ranks == c->ranks)
		return;
	plan_start_line(&line, "");
	plan_say(&line, p, "{plan.checkpoint.local_ranks} rank{s} on ");
	buf_add(&line, p->hosts > 1 ? "these hosts: " : "this host: ");
	print_sum(to, &line, c->local_files, c->local_bytes);
}

static void append_layout(struct buf *text, const struct plan_report *p)
{
	const struct plan_checkpoint *c = &p->checkpoint;
	const char *what = job_work(p->job)->restores ? "reads" : "writes";
	char n[UNITS_TEXT_BYTES];

	plan_say(text, p, "{checkpoint_layout}");
	if (!c->file)
		return;
	units_human_bytes(n, (double)c->most_write_bytes);
	if (p->job->access != ACCESS_FRAMEWORK)
		buf_addf(text, ", %s of %s", what, n);
	else if (p->job->checkpoint_layout == LAYOUT_PATTERN)
		buf_addf(text, ", %s as measured", what);
	else
		buf_addf(text, ", the framework's %s, up to %s", what, n);
	buf_addf(text, "; %s", c->file);
	if (strcmp(c->file, c->last_file) != 0)
		buf_addf(text, " .. %s", c->last_file);
}

static void append_directory(struct buf *text, const struct plan_report *p)
{
	const struct plan_checkpoint *c = &p->checkpoint;

	if (!p->touches_files) {
		buf_add(text, "ioengine=null touches no file: nothing is written, read or needed "
			      "on storage");
		return;
	}
	plan_say(text, p,
		 "{plan.checkpoint.directory}; complete checkpoints there: "
		 "{plan.checkpoint.present}");
	if (c->saved_by)
		buf_addf(text, "; reads the checkpoints that [%s] saves before", c->saved_by);
	else if (c->first && c->last && strcmp(c->first, c->last) != 0)
		plan_say(text, p, "; reads {plan.checkpoint.first} .. {plan.checkpoint.last}");
	else if (c->first)
		buf_addf(text, "; %s %s", c->last ? "reads" : "next", c->first);
}

static void append_every(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;

	plan_say(text, p, "every {checkpoint_every}");
	if (j->checkpoint_mode == CHECKPOINT_SYNC)
		buf_add(text, "; training waits until it is written");
	else if (j->snapshot_bandwidth)
		plan_say(text, p,
			 "; training waits for a snapshot at {snapshot_bandwidth}/s per rank and "
			 "then continues");
	else
		buf_add(text, "; training continues meanwhile");
}

static void print_work(FILE *to, const struct plan_report *p)
{
	const struct plan_checkpoint *c = &p->checkpoint;
	const struct job *j = p->job;
	bool is_restore = job_work(j)->restores;
	struct buf line = { 0 };

	plan_start_line(&line, is_restore ? "to read" : "to write");
	if (c->is_estimate && c->checkpoints != UINT64_MAX)
		buf_add(&line, "about ");
	if (c->checkpoints == UINT64_MAX)
		buf_add(&line, "checkpoints until runtime");
	else
		plan_say(&line, p, "{plan.checkpoint.checkpoints} checkpoint{s}");
	if (!is_training(j) && j->checkpoints > 1)
		plan_say(&line, p, "[, {pause} between them]");
	if (!is_restore && j->checkpoint_keep == 1)
		buf_add(&line, "; the newest one is kept");
	else if (!is_restore)
		plan_say(&line, p, "[; the newest {checkpoint_keep} are kept]");
	if (c->move_bytes != UINT64_MAX)
		plan_add_bytes(to, &line, (double)c->move_bytes);
	plan_print_checked(to, &line, plan_find_check(p, "checkpoints"));
	if (plan_find_check(p, "room")) {
		char bytes[UNITS_TEXT_BYTES];

		plan_start_line(&line, "");
		buf_addf(&line, "free in %s", c->mount.target[0] ? c->mount.target : c->directory);
		if (c->free_bytes != UINT64_MAX)
			units_human_bytes(bytes, (double)c->free_bytes);
		else
			snprintf(bytes, sizeof(bytes), "unknown");
		plan_add_figure(to, &line, bytes);
		plan_print_checked(to, &line, plan_find_check(p, "room"));
	}
	if (!is_training(p->job))
		plan_print_storage(to, p);
}

static void append_fsync(struct buf *text, const struct plan_report *p)
{
	static const char *const words[] = {
		[CHECKPOINT_FSYNC_NONE] = "nothing is flushed",
		[CHECKPOINT_FSYNC_FILE] = "each file before it is closed",
		[CHECKPOINT_FSYNC_END] = "all files of a rank after the last is written",
	};

	if (plan_find_check(p, "durable"))
		buf_add(text, words[p->job->checkpoint_fsync]);
}

static void append_verify(struct buf *text, const struct plan_report *p)
{
	if (plan_find_check(p, "verify"))
		buf_add(text, "each block of 4 KiB, by its crc32c");
}

static void append_caches(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;

	if (!plan_find_check(p, "caches") ||
	    (!job_work(j)->restores && j->drop_caches == DROP_CACHES_NO))
		return;
	if (j->drop_caches == DROP_CACHES_RUN && job_work(j)->restores)
		buf_add(text, "the files are dropped first; everything, if more than 1% stays");
	else if (j->drop_caches == DROP_CACHES_RUN)
		buf_add(text, "emptied on this host before the job");
	else if (j->invalidate != INVALIDATE_NONE)
		buf_add(text, "the files are dropped on this host before the job");
	else
		buf_add(text, "left as they are on this host");
}

static void append_in_flight(struct buf *text, const struct plan_report *p)
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

/* Lines of every job with checkpoints. */
static const struct plan_line checkpoint_lines[] = {
	{ "model", .put = append_model, .wrapped_at = INDENT },
	{ "ranks", .put = append_parallelism },
	{ .lines = print_classes },
	{ .lines = print_sums },
	{ "layout", .put = append_layout, .wrapped_at = INDENT },
	{ "directory", .put = append_directory, .wrapped_at = INDENT },
	{ .lines = print_work },
	{ "fsync", .put = append_fsync, .check = "durable" },
	{ "verify", .put = append_verify, .check = "verify" },
	{ 0 },
};

static void print_checkpoints(FILE *to, const struct plan_report *p)
{
	plan_print_list(to, checkpoint_lines, p);
}

static const struct plan_line training_lines[] = {
	{ "saves", .put = append_every, .wrapped_at = INDENT },
	{ .lines = print_checkpoints },
	{ 0 },
};

static const struct plan_line job_lines[] = {
	{ .lines = print_checkpoints },
	{ "caches", .put = append_caches, .check = "caches" },
	{ .lines = plan_print_direct },
	{ "in flight", .put = append_in_flight },
	{ "memory", .put = plan_append_program, .check = "program" },
	{ "files", .put = plan_append_open_files, .check = "files" },
	{ 0 },
};

void plan_checkpoint_text(FILE *to, const struct plan_report *p)
{
	if (p->checkpoint.ranks > 0)
		plan_print_list(to, is_training(p->job) ? training_lines : job_lines, p);
}
