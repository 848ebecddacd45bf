/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - a replay in a run: its options, memory, rules, workers and results. */
#include "work/replay/replay_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/util.h"
#include "io/devices.h"
#include "io/host.h"
#include "work/plain/plain.h"

/* ---- checks of options ---- */

#define FAULT(d, j, option, ...)                                                                   \
	diag_add(d, DIAG_ERROR, job_place(j, option), option ": " __VA_ARGS__)

static void replay_check(const struct job *j, struct diag *d)
{
	/* The trace determines the operations and their times. */
	static const char *const unused[] = { "ramp_time", "time_based", "iodepth", "bs" };

	if (!j->replay_trace || !*j->replay_trace)
		FAULT(d, j, "replay_trace",
		      "phase=replay needs the trace that is replayed: replay_trace=FILE");
	if (j->replay_time == REPLAY_ASAP && job_is_changed(j, "replay_speed"))
		diag_add(d, DIAG_NOTE, job_place(j, "replay_speed"),
			 "replay_speed: has no effect with replay_time=asap");
	if (j->engine && !job_touches_files(j) && j->replay_files == REPLAY_TRACED)
		FAULT(d, j, "replay_files", "ioengine=%s touches no files; use replay_files=own",
		      j->engine->name);
	for (size_t i = 0; i < ARRAY_LEN(unused); i++)
		if (job_is_changed(j, unused[i]))
			diag_add(d, DIAG_NOTE, job_place(j, unused[i]),
				 "%s: is not used by phase=replay, which does what the trace says",
				 unused[i]);
}

/* ---- memory ---- */

/* Memory for each file and for each request. */
#define FILE_BYTES UINT64_C(80)
#define REQUEST_BYTES UINT64_C(512)

void replay_need(struct memneed *n, const struct job *j, const struct replay_ops *o,
		 const struct replay_files *f)
{
	uint64_t workers = u64_max(o->workers, 1);
	uint64_t each = o->workers ? replay_open_bytes(o, j->directory) : 0;

	memneed_prepare(n, f->missing_files, f->largest_missing);
	memneed_threads(n, workers,
			each + REPLAY_CHUNK_BYTES + o->depth * REQUEST_BYTES +
				f->files * FILE_BYTES / workers);
	if (!o->workers)
		return;
	if (job_touches_files(j) || o->bytes[1])
		memneed_buffers(n, j, workers, replay_buffer_bytes(o), o->bytes[1] > 0);
	else
		memneed_untouched(n, workers, replay_buffer_bytes(o));
}

static void print_costs(struct buf *out, const struct job *j)
{
	memneed_append(out, "replay_threads", j->replay_threads);
}

/* ---- in a run ---- */

/* The replay of a slot. */
struct replay {
	struct plain plain; /* the first member */
	struct replay_files files;
	struct replay_ops ops;
	struct replay_shared shared;
};

static struct replay *replay_of(const struct slot *s)
{
	return s->own;
}

static int replay_init(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	struct replay *r = mem_zalloc(sizeof(*r));

	(void)run;
	(void)err;
	s->own = r;
	r->plain.files.directory = mem_strdup(job_touches_files(s->job) ? s->job->directory : "");
	return 0;
}

/* ---- rules ---- */

static void free_trace(struct replay *r)
{
	replay_ops_fini(&r->ops);
	replay_files_fini(&r->files);
}

/* Read the trace. A dry run and a run read it once. */
static int rule_trace(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	struct replay *r = replay_of(s);

	(void)run;
	free_trace(r);
	replay_files_init(&r->files, s->job);
	int rc = replay_ops_read(&r->ops, &r->files, s->job, err);
	if (rc < 0)
		free_trace(r);
	return rc;
}

static bool has_ops(const struct slot *s)
{
	return replay_of(s)->ops.workers > 0;
}

static int rule_readonly(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	if (!run->cfg.readonly || !replay_of(s)->ops.writes)
		return 0;
	return mlgen_fail(err, -EROFS, "readonly: %s changes files; run it without --readonly",
			  s->job->replay_trace);
}

static int rule_engine_writes(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct mlgen_engine *e = s->job->engine;

	(void)run;
	if (!replay_of(s)->ops.bytes[1] || e->caps & MLGEN_CAP(MLGEN_WRITE))
		return 0;
	return mlgen_fail(err, -EOPNOTSUPP,
			  "ioengine: %s cannot write, which %s does; use ioengine=psync", e->name,
			  s->job->replay_trace);
}

/* Requests to a device may be smaller than O_DIRECT allows for a file. */
static int rule_direct(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct replay_ops *o = &replay_of(s)->ops;
	struct mlgen_err why = { 0 };
	uint64_t align_bytes;

	(void)run;
	if (!o->is_direct || !slot_touches_files(s))
		return 0;
	int rc = mount_direct_alignment(s->job->directory, &align_bytes, &why);
	if (rc < 0)
		return mlgen_fail(err, rc,
				  "%s; block requests bypass the page cache; direct=0 replays them "
				  "through the page cache",
				  why.text);
	if (o->align_bytes >= align_bytes)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "direct: %s has block requests in multiples of %" PRIu64
			  " bytes, but O_DIRECT needs multiples of %" PRIu64
			  " below %s; name another directory, or use direct=0, which replays them "
			  "through the page cache",
			  s->job->replay_trace, o->align_bytes, align_bytes, s->job->directory);
}

static int rule_look(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	struct replay *r = replay_of(s);
	int rc = has_ops(s) ? replay_files_look(&r->files, err) : 0;

	if (rc == 0 && has_ops(s) && run->cfg.readonly && r->files.missing_files)
		rc = mlgen_fail(err, -EROFS,
				"readonly: %" PRIu64 " file%s below %s are missing, and would be "
				"created; run it once without --readonly",
				r->files.missing_files, plural(r->files.missing_files),
				s->job->directory);
	return rc;
}

/* If the directory does not exist, use the mount of its nearest existing parent. */
static int rule_mount(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	(void)run;
	return slot_touches_files(s) && has_ops(s) ? mount_read(&s->mount, s->job->directory, err)
						   : 0;
}

static int rule_writable(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	(void)run;
	return slot_touches_files(s) && has_ops(s)
		       ? replay_files_check_writable(&replay_of(s)->files, err)
		       : 0;
}

static int rule_room(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	return slot_touches_files(s) && has_ops(s)
		       ? replay_files_check_room(&replay_of(s)->files, run->cfg.allow_fill, err)
		       : 0;
}

static const struct rule own_rules[] = {
	{ "trace", rule_trace },
	{ "data", rule_readonly },
	{ "engine", rule_engine_writes },
	{ "engine", rules_engine },
	{ "engine", rule_direct },
	{ "data", rule_look },
	{ "space", rule_mount },
	{ "cpus", rules_cpus },
	{ "data", rule_writable },
	{ "space", rule_room },
	{ NULL, NULL },
};

static const struct rule *const replay_rules[] = { own_rules, NULL };

static uint64_t open_files(const struct slot *s)
{
	const struct replay_ops *o = &replay_of(s)->ops;

	return (uint64_t)o->workers * o->most_open;
}

static uint64_t requests(const struct slot *s)
{
	const struct replay_ops *o = &replay_of(s)->ops;

	return (uint64_t)o->workers * o->depth;
}

static void replay_memory(const struct slot *s, uint64_t room_bytes, struct memneed *n)
{
	(void)room_bytes;
	replay_need(n, s->job, &replay_of(s)->ops, &replay_of(s)->files);
}

/* ---- preparation ---- */

static int replay_activity_prepare(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	struct replay *r = replay_of(s);
	struct replay_files_maker m = { .clock = run->cfg.clock,
					.progress = &s->progress,
					.allow_fill = run->cfg.allow_fill };

	atomic_store(&s->phase, LIVE_PREPARE);
	int rc = replay_files_make(&r->files, &m, err);
	r->plain.made_files += m.made_files;
	r->plain.made_bytes += m.made_bytes;
	if (m.started)
		atomic_store(&run->has_started, true);
	s->end_ns = clock_now(run->cfg.clock);
	atomic_store(&s->phase, LIVE_WAIT);
	return rc;
}

/* ---- the run ---- */

static int replay_start(struct slot *s, struct run_shared *run, uint64_t now_ns,
			struct mlgen_err *err)
{
	struct replay *r = replay_of(s);
	bool drops_cache = s->job->invalidate != INVALIDATE_NONE && slot_touches_files(s);
	uint32_t names = trace_names_count(r->files.names);
	char path[PATH_MAX];
	int rc = streams_init(&r->plain.streams, s->job, &stream_replay, r->ops.workers, NULL,
			      run->cfg.clock, &run->failure, &run->interrupted, err);

	if (rc < 0)
		return rc;
	slot_join_hosts(s, run, &r->plain.streams.peers);
	if (r->ops.was_incomplete)
		log_warn(
			"%s: the trace is incomplete; the operations that it contains are replayed",
			s->job->replay_trace);
	r->shared.ops = &r->ops;
	r->shared.files = &r->files;
	r->shared.positions = mem_array(r->ops.workers, sizeof(*r->shared.positions));
	if (s->job->replay_order != REPLAY_BY_THREAD)
		r->shared.turns =
			mem_array(s->job->replay_order == REPLAY_BY_FILE ? (size_t)names + 1 : 1,
				  sizeof(*r->shared.turns));
	r->plain.streams.own = &r->shared;
	atomic_store(&r->plain.streams.bytes, r->ops.bytes[0] + r->ops.bytes[1]);

	plain_set_streams(s, now_ns);
	/* Drop the page cache once before the job, as invalidate=1 of fio does. */
	for (uint32_t i = 1; drops_cache && i <= names; i++) {
		unsigned flags = replay_file(&r->files, i)->flags;

		if (flags & REPLAY_FILE_PRESENT && !(flags & REPLAY_FILE_FOLDER) &&
		    replay_files_path(&r->files, i, path) == 0)
			pagecache_drop(path);
	}
	slot_begin_work(s, run->cfg.clock, LIVE_IO, 1);
	return streams_start(&r->plain.streams, err);
}

static void replay_fini(struct slot *s)
{
	struct replay *r = replay_of(s);

	if (!r)
		return;
	streams_fini(&r->plain.streams);
	iofiles_fini(&r->plain.files);
	mem_free(r->shared.positions);
	mem_free(r->shared.turns);
	free_trace(r);
	mem_free(r);
	s->own = NULL;
}

static size_t one_record(const struct slot *s)
{
	(void)s;
	return 1;
}

/* ---- results ---- */

void replay_fill_asked(struct replay_result *to, const struct replay_ops *o, const struct job *j)
{
	to->trace = j->replay_trace;
	to->threads = o->threads;
	to->asked_seconds = (double)o->span_ns / j->replay_speed / 1e9;
	to->asked_operations = o->operations;
	to->asked_bytes = o->bytes[0] + o->bytes[1];
	to->touches = o->touches;
	to->redirected = o->redirected;
	to->blocks = o->blocks;
	to->folded = o->folded;
	to->left_out_operations = o->left_operations;
	memcpy(to->left_out, o->left_out, sizeof(to->left_out));
}

static void replay_collect(struct job_result *out, size_t record, struct slot *s)
{
	const struct replay *r = replay_of(s);
	struct replay_result *to = &out->io.replay;

	if (!s->begin_ns)
		return;
	out->work = &work_replay;
	out->io.files = r->files.files;
	out->io.file_bytes = r->files.bytes;
	out->io.laid_out_files = r->plain.made_files;
	out->io.laid_out_bytes = r->plain.made_bytes;
	replay_fill_asked(to, &r->ops, s->job);
	if (r->plain.streams.streams && s->work_begin_ns) {
		plain_collect_workers(out, record, true, s);
		out->iodepth_used = out->io.iodepth_least = s->job->engine->reap ? r->ops.depth : 1;

		struct replay_slices all = { .seconds = r->ops.slice_seconds,
					     .count = REPLAY_SLICES / 2 + 1 };
		memcpy(all.slices, r->ops.slices, sizeof(all.slices));
		for (uint64_t i = 0; i < r->plain.streams.count; i++) {
			const struct lane *l = r->plain.streams.streams[i].own;

			if (!l) /* the worker was not set up */
				continue;
			to->done_operations += l->figures.operations;
			to->done_bytes += l->figures.bytes;
			to->waits += l->figures.waits;
			to->wait_seconds += (double)l->figures.wait_ns / 1e9;
			replay_slices_merge(&all, &l->figures.slices);
		}
		to->slice_seconds = all.seconds;
		to->slices.count = all.count;
		to->slices.items = mem_array(all.count, sizeof(*all.slices));
		memcpy(to->slices.items, all.slices, all.count * sizeof(*all.slices));
		return;
	}
	plain_collect_none(out, s, r->ops.workers);
}

const struct activity replay_activity = {
	PLAIN_ACTIVITY,
	.init = replay_init,
	.rules = replay_rules,
	.open_files = open_files,
	.lower_files = "replay_threads",
	.requests = requests,
	.need = replay_memory,
	.append_costs = print_costs,
	.lower = "replay_threads",
	.prepare = replay_activity_prepare,
	.start = replay_start,
	.fini = replay_fini,
	.records = one_record,
	.collect = replay_collect,
};

/* ---- the workload ---- */

static const char *const groups[] = { "Replay", NULL };

static const struct workload_default defaults[] = {
	{ "directory", "mlgen-replay/$jobname" },
	{ "continue_on_error", "all" },
	{ "percentile_list", "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99" },
	{ 0 },
};

const struct workload work_replay = {
	.groups = groups,
	.option_of = "an option of phase=replay (replay_trace=...)",
	.defaults = defaults,
	.check = replay_check,
	.concurrency_option = "replay_threads",
	.is_plain = true,
	.implied_by = "replay_trace",
	.is_grouped = true,
	.counts_errors = true,
	.needs_read = true,
	.run = &replay_activity,
	.page = &replay_page,
	.asked = &plain_asked,
};
