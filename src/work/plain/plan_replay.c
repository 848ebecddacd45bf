/* SPDX-License-Identifier: Apache-2.0 */
/* plan_replay.c - what a dry run computes for a replay, and the page that it prints. */
#include "work/plain/plan_replay.h"

#include <string.h>

#include "base/mem.h"
#include "report/plan_lines.h"
#include "report/plan_memory.h"
#include "report/plan_parts.h"
#include "work/plain/plan_io.h"
#include "work/plain/replay_files.h"
#include "work/plain/replay_lane.h"
#include "work/plain/replay_need.h"
#include "work/plain/replay_ops.h"
#include "work/plain/replay_text.h"

/* ---- figures ---- */

static void count_operations(struct plan_report *p, const struct replay_ops *o)
{
	p->replay = (struct plan_replay){
		.trace = p->job->replay_trace,
		.threads = o->threads,
		.workers = o->workers,
		.depth = p->job->engine && p->job->engine->reap ? o->depth : 1,
		.operations = o->operations,
		.read_bytes = o->bytes[0],
		.write_bytes = o->bytes[1],
		.touches = o->touches,
		.redirected = o->redirected,
		.blocks = o->blocks,
		.folded = o->folded,
		.seconds = (double)o->span_ns / 1e9 / p->job->replay_speed,
		.left_operations = o->left_operations,
	};
	memcpy(p->replay.left_out, o->left_out, sizeof(o->left_out));
	p->io.move_bytes = o->bytes[0] + o->bytes[1];
	if (o->was_incomplete)
		plan_add_check(p, "trace", PLAN_WARNING,
			       "the trace has lost some of its operations, or has no end: what is "
			       "left of it is replayed");
	else
		plan_add_check(p, "trace", PLAN_OK, "%s", "");
}

static void count_files(struct plan_report *p, const struct replay_files *f)
{
	p->io.files = f->files;
	p->io.file_bytes = f->bytes;
	p->present_files = f->files - f->missing_files;
	p->present_bytes = f->bytes - f->missing_bytes;
	p->write_files = f->missing_files;
	p->write_bytes = f->missing_bytes;
	p->io.directory = mem_strdup(p->job->directory);
	plan_io_check_mount(p);
	plan_io_check_memory(p, false);
}

static void compute_memory(struct plan_report *p, const struct replay_ops *o,
			   const struct replay_files *f)
{
	p->reads_in_flight = plan_product(o->workers, p->replay.depth);
	p->open_files = plan_sum(PLAN_OWN_FILES, plan_product(o->workers, o->most_open));
	p->io.buffer_bytes = plan_product(o->workers, replay_buffer_bytes(o));
	replay_need(&p->need, p->job, o, f);
	p->program_bytes = plan_sum(MEMNEED_PROGRAM_BYTES, p->need.bytes);
}

int plan_replay(struct plan_report *p, const struct plan_input *in, struct mlgen_err *unused)
{
	struct replay_files files = { 0 };
	struct replay_ops ops = { 0 };

	(void)unused;
	replay_files_init(&files, in->job);
	/* What fails is told by a rule. */
	if (replay_ops_read(&ops, &files, in->job, NULL) == 0) {
		count_operations(p, &ops);
		if (p->touches_files && !replay_files_look(&files, NULL))
			count_files(p, &files);
		compute_memory(p, &ops, &files);
	}
	replay_ops_fini(&ops);
	replay_files_fini(&files);
	return 0;
}

/* ---- the page ---- */

static void put_replay(struct buf *text, const struct plan_report *p)
{
	plan_say(text, p, "{replay_trace}");
	if (!p->replay.operations)
		return;
	plan_say(text, p, ": {plan.threads} thread{s} in {plan.workers} worker{s}");
	replay_put_how(text, p->job);
}

static void put_data(FILE *to, const struct plan_report *p)
{
	plan_io_put_data(to, p, "below");
}

static void put_time(struct buf *text, const struct plan_report *p)
{
	static const char *const words[] = {
		[REPLAY_THINK] = " where storage is as fast as in the trace",
		[REPLAY_FIXED] = " and more where storage is slower than the trace's",
		[REPLAY_ASAP] = " in the trace",
	};

	plan_say(text, p, "; {plan.seconds} s");
	buf_add(text, words[p->job->replay_time]);
}

static void put_run(struct buf *text, const struct plan_report *p)
{
	if (!p->replay.operations)
		return;
	plan_say(text, p,
		 "{plan.operations} operation{s}[, {plan.replay_read_bytes} read][, "
		 "{plan.replay_write_bytes} written]");
	put_time(text, p);
	plan_say(text, p, "[, for at most {runtime}]");
}

static void put_touches(struct buf *text, const struct plan_report *p)
{
	plan_say(text, p, "[{plan.touches} page{s} touched, replayed as ]");
	if (text->len)
		buf_add(text, replay_touches_are(p->job));
}

static void put_blocks(struct buf *text, const struct plan_report *p)
{
	plan_say(text, p,
		 "[{plan.blocks} request{s} of block devices, replayed on a file for each]");
	plan_say(text, p, "[; {plan.folded} beyond {replay_span} folded]");
}

static void put_redirected(struct buf *text, const struct plan_report *p)
{
	plan_say(text, p,
		 "[{plan.redirected} operation{s} would change files that the trace names, and "
		 "have those below {directory}]");
}

static void put_left_out(struct buf *text, const struct plan_report *p)
{
	plan_say(text, p, "[{plan.left_out}]");
}

static void put_in_flight(struct buf *text, const struct plan_report *p)
{
	if (!p->replay.operations)
		return;
	plan_say(text, p, "{plan.reads_in_flight} request{s} ({plan.workers} worker{s}");
	if (p->processes > 1)
		buf_add(text, " in each process");
	if (p->replay.depth == 1)
		buf_add(text, ", one each)");
	else
		plan_say(text, p, ", up to {plan.depth} each)");
}

void plan_replay_text(FILE *to, const struct plan_report *p)
{
	static const struct plan_line lines[] = {
		{ "replay", .put = put_replay, .check = "trace" },
		{ .lines = put_data },
		{ "run", .put = put_run, .wrapped_at = 10 },
		{ "mapped", .put = put_touches, .wrapped_at = 10 },
		{ "devices", .put = put_blocks, .wrapped_at = 10 },
		{ "changes", .put = put_redirected, .wrapped_at = 10 },
		{ "left out", .put = put_left_out, .wrapped_at = 10 },
		{ "in flight", .put = put_in_flight },
		{ "memory", .put = plan_io_put_memory, .check = "program" },
		{ "files", .put = plan_put_open_files, .check = "files" },
		{ 0 },
	};

	plan_put_list(to, lines, p);
}
