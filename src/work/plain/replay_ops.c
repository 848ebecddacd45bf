/* SPDX-License-Identifier: Apache-2.0 */
/* replay_ops.c - see replay_ops.h. */
#include "work/plain/replay_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "describe/opkind.h"
#include "score/inflight.h"
#include "trace/trace_ordered.h"
#include "trace/trace_source.h"
#include "work/plain/replay_blocks.h"
#include "work/plain/replay_count.h"
#include "work/plain/replay_flags.h"
#include "work/plain/replay_lanes.h"
#include "work/plain/replay_opened.h"
#include "work/plain/replay_scope.h"
#include "work/plain/replay_spool.h"
#include "work/plain/replay_take.h"

/* Of a worker, of a file, or of all: who began, and who has not ended. */
struct scope_state {
	struct inflight under_way;
	uint64_t started_ns; /* the last start */
	uint32_t turn;       /* how many began */
};

struct reading {
	struct replay_ops *o;
	struct replay_files *files;
	struct replay_lanes lanes;
	struct replay_left_counts left;
	struct trace_reader *reader;
	struct trace_ordered *ordered;
	uint32_t *ids; /* of files, by those of `ordered`, + 2; 1 = left out,
			  0 = not asked yet */
	uint64_t first_ns, last_ns;
	struct scope_state *workers, *scopes;
	size_t scope_room;
	struct replay_opened opened;
	bool has_calls, has_blocks;
	struct replay_blocks *blocks; /* of a trace of these alone, else NULL */
};

/* ---- which files ---- */

/* 0 = it has no name; UINT32_MAX = it is left out. */
static uint32_t file_of(struct reading *x, uint32_t file)
{
	uint32_t *id = &x->ids[file];
	size_t bytes = 0;
	const char *name;

	if (!file)
		return 0;
	if (!*id) {
		name = trace_ordered_name(x->ordered, file, &bytes);
		if (!bytes)
			return 0;
		*id = x->blocks || replay_scope_has(name)
			      ? 1 + replay_files_id(x->files, name, bytes)
			      : UINT32_MAX;
		if (bytes > x->o->longest_name)
			x->o->longest_name = bytes;
	}
	return *id == UINT32_MAX ? *id : *id - 1;
}

/* Of all records the same answer: 1 and the operation, or 0. */
static int replay_ops_take(struct reading *x, const struct trace_record *r, struct replay_op *op,
			   struct replay_left_counts *left)
{
	uint32_t file = file_of(x, r->file), to = 0;

	if (file == UINT32_MAX) {
		left->count[LEFT_SYSTEM] += r->op < TRACE_BLOCK_ISSUE;
		return 0;
	}
	if (!opkind_has_time(r) || !replay_take(op, r, file, left))
		return 0;
	if (op->op != MLGEN_RENAME)
		return 1;
	to = r->off <= trace_ordered_names(x->ordered) ? file_of(x, (uint32_t)r->off) : 0;
	if (!to || to == UINT32_MAX) {
		left->count[LEFT_NO_FILE]++;
		return 0;
	}
	op->off = to;
	return 1;
}

/* ---- first: threads, files, how long ---- */

static void note_rename(struct reading *x, const struct replay_op *op)
{
	if (op->op == MLGEN_RENAME && !(op->flags & REPLAY_MAY_FAIL))
		replay_file(x->files, (uint32_t)op->off)->flags |=
			REPLAY_FILE_CHANGED | REPLAY_FILE_MADE;
}

static void replay_ops_look_at(struct reading *x, const struct trace_record *r)
{
	struct replay_left_counts unused = { 0 };
	struct replay_op op;

	if (!replay_ops_take(x, r, &op, &unused))
		return;
	if (x->lanes.keys.count == 0)
		x->first_ns = r->start_ns;
	x->last_ns = u64_max(x->last_ns, opkind_end_ns(r));
	replay_lanes_add(&x->lanes, r);
	if (x->blocks)
		replay_take_device(replay_file(x->files, op.file), r);
	else
		replay_take_file(replay_file(x->files, op.file), r);
	note_rename(x, &op);
}

/* What entries say of sizes holds for files that are used. */
static void note_sizes(struct reading *x, const struct trace_batch *batch)
{
	for (size_t i = 0; i < batch->entry_count; i++) {
		const struct trace_entry *e = &batch->entries[i];

		if (e->kind != TRACE_FILE || e->number[1] == TRACE_UNKNOWN || !e->number[1] ||
		    !replay_scope_has(e->text))
			continue;
		struct replay_file *f =
			replay_file(x->files, replay_files_id(x->files, e->text, e->text_bytes));

		f->bytes = u64_max(f->bytes, e->number[1]);
	}
}

/* Calls on files, and pages of their mappings. */
static bool is_call(const struct trace_record *r)
{
	return (r->op > TRACE_NONE && r->op <= TRACE_ADVISE) || r->op == TRACE_FAULT;
}

static void note_kinds(struct reading *x, const struct trace_batch *batch)
{
	for (size_t i = 0; i < batch->record_count && !x->has_calls; i++) {
		x->has_calls = is_call(&batch->records[i]);
		x->has_blocks |= batch->records[i].op == TRACE_BLOCK_ISSUE ||
				 batch->records[i].op == TRACE_BLOCK_COMPLETE;
	}
}

static int read_entries(struct reading *x, struct mlgen_err *err)
{
	struct trace_batch batch;
	int rc;

	while ((rc = trace_reader_next(x->reader, &batch, err)) > 0) {
		note_sizes(x, &batch);
		note_kinds(x, &batch);
	}
	if (rc == 0) {
		const struct trace_read *t = trace_reader_read(x->reader);

		x->o->was_incomplete = t->damaged_chunks || t->truncated || t->lost;
		rc = trace_reader_rewind(x->reader, err);
	}
	return rc;
}

static int begin_records(struct reading *x, struct mlgen_err *err)
{
	int rc;

	trace_ordered_free(x->ordered);
	x->ordered = NULL;
	replay_blocks_free(x->blocks);
	x->blocks = x->has_blocks && !x->has_calls ? replay_blocks_new(x->o->job->replay_span_bytes)
						   : NULL;
	mem_free(x->ids);
	x->ids = NULL;
	rc = trace_ordered_read(&x->ordered, x->reader, err);
	if (rc == 0)
		x->ids = mem_array((size_t)trace_ordered_names(x->ordered) + 1, sizeof(*x->ids));
	return rc;
}

typedef int tell_record(struct reading *x, const struct trace_record *r, struct mlgen_err *err);

static int tell_requests(struct reading *x, tell_record *tell, bool is_end, struct mlgen_err *err)
{
	struct trace_record request;
	int rc = 0;

	while (rc == 0 && replay_blocks_next(x->blocks, is_end, &request))
		rc = tell(x, &request, err);
	return rc;
}

static int each_record(struct reading *x, tell_record *tell, struct mlgen_err *err)
{
	const struct trace_record *r;
	int rc;

	while ((rc = trace_ordered_next(x->ordered, &r, err)) > 0) {
		if (x->blocks) {
			replay_blocks_add(x->blocks, r);
			rc = tell_requests(x, tell, false, err);
		} else {
			rc = tell(x, r, err);
		}
		if (rc < 0)
			break;
	}
	return rc == 0 && x->blocks ? tell_requests(x, tell, true, err) : rc;
}

static int look_record(struct reading *x, const struct trace_record *r, struct mlgen_err *err)
{
	(void)err;
	replay_ops_look_at(x, r);
	return 0;
}

/* ---- then: what each worker does ---- */

/* Time goes on to its start: how many are under way then. */
static uint16_t begin_in(struct scope_state *s, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t n;

	inflight_go(&s->under_way, start_ns, start_ns, NULL);
	n = s->under_way.count;
	inflight_begin(&s->under_way, end_ns);
	s->turn++;
	return (uint16_t)u64_min(n, UINT16_MAX);
}

static struct scope_state *scope_of(struct reading *x, uint32_t file)
{
	int order = x->o->job->replay_order;

	if (order == REPLAY_BY_THREAD)
		return NULL;
	return &x->scopes[order == REPLAY_BY_FILE ? file : 0];
}

/* Its times, and behind whom it begins. */
static void replay_ops_place(struct reading *x, struct replay_op *op, unsigned worker,
			     const struct trace_record *r)
{
	struct scope_state *w = &x->workers[worker], *s = scope_of(x, op->file);
	uint64_t end = opkind_end_ns(r), behind;
	bool is_first = w->turn == 0;

	op->under_way = begin_in(w, r->start_ns, end);
	behind = is_first ? x->first_ns : u64_max(w->started_ns, w->under_way.ended_ns);
	op->think_ns = r->start_ns > behind ? r->start_ns - behind : 0;
	op->start_ns = r->start_ns - x->first_ns;
	w->started_ns = r->start_ns;
	if (s) {
		op->turn = s->turn;
		op->beside = begin_in(s, r->start_ns, end);
	}
	if (op->under_way >= x->o->depth)
		x->o->depth = op->under_way + 1u;
}

static int replay_ops_put(struct reading *x, unsigned worker, const struct replay_op *op,
			  struct mlgen_err *err)
{
	replay_count(x->o, replay_file(x->files, op->file), op);
	return replay_spool_add(x->o->spool, worker, op, err);
}

/* In parts that an operation can say; almost always one. */
static int put_parts(struct reading *x, unsigned worker, struct replay_op *op,
		     const struct trace_record *r, struct mlgen_err *err)
{
	uint64_t left = replay_bytes(r), moved = left;
	int rc = 0;

	if (r->op == TRACE_READ && r->result >= 0)
		moved = u64_min(left, (uint64_t)r->result);
	do {
		uint64_t n = u64_min(left, REPLAY_MOST_BYTES);

		op->len_bytes = (uint32_t)n;
		op->moved_bytes = (uint32_t)u64_min(n, moved);
		left -= n;
		moved -= op->moved_bytes;
		replay_ops_place(x, op, worker, r);
		rc = replay_ops_put(x, worker, op, err);
		op->off += n;
	} while (left && rc == 0);
	return rc;
}

static int put_record(struct reading *x, const struct trace_record *r, struct mlgen_err *err)
{
	struct replay_op op;
	unsigned worker;

	if (!replay_ops_take(x, r, &op, &x->left))
		return 0;
	worker = replay_lanes_of(&x->lanes, r);
	if (!replay_opened_take(&x->opened, worker, &op)) {
		x->left.count[LEFT_CLOSE]++;
		return 0;
	}
	if (replay_moves(r->op) || op.op == MLGEN_ALLOCATE)
		return put_parts(x, worker, &op, r, err);
	replay_ops_place(x, &op, worker, r);
	return replay_ops_put(x, worker, &op, err);
}

/* ---- all of it ---- */

static size_t scope_count(const struct reading *x)
{
	switch (x->o->job->replay_order) {
	case REPLAY_BY_FILE:
		return (size_t)trace_names_count(x->files->names) + 1;
	case REPLAY_GLOBAL:
		return 1;
	default:
		return 0;
	}
}

static void make_room(struct reading *x)
{
	struct replay_ops *o = x->o;
	double seconds = (double)o->span_ns / o->job->replay_speed / 1e9;

	x->workers = mem_array(o->workers, sizeof(*x->workers));
	x->scope_room = scope_count(x);
	if (x->scope_room)
		x->scopes = mem_array(x->scope_room, sizeof(*x->scopes));
	o->slice_seconds = seconds > 0 ? seconds / (REPLAY_SLICES * .5) : 1e-9;
}

static void reading_fini(struct reading *x)
{
	for (unsigned i = 0; x->workers && i < x->o->workers; i++)
		inflight_fini(&x->workers[i].under_way);
	for (size_t i = 0; i < x->scope_room; i++)
		inflight_fini(&x->scopes[i].under_way);
	mem_free(x->workers);
	mem_free(x->scopes);
	mem_free(x->ids);
	replay_opened_fini(&x->opened);
	replay_lanes_fini(&x->lanes);
	replay_blocks_free(x->blocks);
	trace_ordered_free(x->ordered);
	trace_reader_close(x->reader);
}

static int no_operation(const struct reading *x, struct mlgen_err *err)
{
	char left[256];
	uint64_t n = replay_left_put(&x->left, left, sizeof(left));

	return mlgen_fail(err, -ENODATA,
			  "%s: has no operation on a file that could be replayed%s%s",
			  x->o->job->replay_trace, n ? "; left out: " : "", left);
}

/* The device itself is never touched: a filesystem may be on it. */
static int check_kinds(const struct reading *x, struct mlgen_err *err)
{
	const struct job *j = x->o->job;

	if (x->has_blocks && !x->has_calls && j->replay_files == REPLAY_TRACED)
		return mlgen_fail(err, -EINVAL,
				  "replay_files: %s has requests of block devices and no calls on "
				  "files; replay_files=own replays them on a file for each device",
				  j->replay_trace);
	if (j->replay_span_bytes && x->has_calls)
		return mlgen_fail(
			err, -EINVAL,
			"replay_span: %s has calls on files, which are replayed where they were; "
			"leave replay_span out, which is for traces of block requests alone",
			j->replay_trace);
	return 0;
}

static int look_first(struct reading *x, struct mlgen_err *err)
{
	struct replay_ops *o = x->o;
	int rc = read_entries(x, err);

	if (rc == 0)
		rc = check_kinds(x, err);
	if (rc == 0)
		rc = begin_records(x, err);
	if (rc == 0)
		rc = each_record(x, look_record, err);
	if (rc < 0)
		return rc;
	o->threads = x->lanes.keys.count;
	o->span_ns = x->last_ns - x->first_ns;
	rc = replay_lanes_share(&x->lanes, o->job->replay_threads, err);
	o->workers = x->lanes.workers;
	x->files->are_devices = x->blocks != NULL;
	o->is_direct = x->blocks && replay_flags_pass_cache(o->job, true);
	return rc < 0 ? rc : trace_reader_rewind(x->reader, err);
}

static int put_all(struct reading *x, struct mlgen_err *err)
{
	int rc = begin_records(x, err);

	if (rc == 0)
		rc = each_record(x, put_record, err);
	if (rc == 0)
		rc = replay_spool_end(x->o->spool, err);
	if (x->blocks)
		x->o->folded = replay_blocks_folded(x->blocks);
	if (rc == 0 && x->o->operations == 0)
		rc = no_operation(x, err);
	return rc;
}

int replay_ops_read(struct replay_ops *o, struct replay_files *files, const struct job *job,
		    struct mlgen_err *err)
{
	struct reading x = { .o = o, .files = files };
	int rc;

	*o = (struct replay_ops){ .job = job, .depth = 1, .align_bytes = REPLAY_ALIGN_MOST };
	rc = trace_source_open(&x.reader, job->replay_trace, err);
	if (rc == 0)
		rc = look_first(&x, err);
	if (rc == 0)
		rc = replay_spool_new(&o->spool, job->directory, err);
	if (rc == 0) {
		make_room(&x);
		rc = put_all(&x, err);
	}
	o->most_open = replay_opened_most(&x.opened);
	o->left_operations = replay_left_put(&x.left, o->left_out, sizeof(o->left_out));
	o->left_writes = x.left.writes;
	reading_fini(&x);
	if (rc < 0)
		replay_ops_fini(o);
	return rc;
}

void replay_ops_fini(struct replay_ops *o)
{
	replay_spool_free(o->spool);
	*o = (struct replay_ops){ 0 };
}
