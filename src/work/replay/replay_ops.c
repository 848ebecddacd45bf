/* SPDX-License-Identifier: Apache-2.0 */
/* replay_ops.c - reads a trace into the operations of workers. */
#include "work/replay/replay_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "trace/model/model.h"
#include "trace/trace.h"

/* The largest align_bytes: no filesystem needs more for O_DIRECT. */
#define REPLAY_ALIGN_MOST UINT64_C(4096)

#define REPLAY_MOST_BYTES (UINT64_C(1) << 30)

/* ---- files that are replayed ---- */

/* Names of block devices below /dev, by admin-guide/devices.txt of Linux, and udev's folders
 * there. */
static const char *const disks[] = {
	"sd",      "hd",    "vd",  "xvd", "nvme", "mmcblk", "loop", "dm-",  "md",
	"mapper/", "disk/", "nbd", "rbd", "ram",  "zd",     "zram", "pmem", "bcache",
};

/* Is the file replayed? The job's files and block devices are. Devices are recognised by their
 * usual names. */
static bool is_replayed(const char *path)
{
	static const char folder[] = "/dev/";

	if (trace_scope_has_path(path))
		return true;
	if (strncmp(path, folder, sizeof(folder) - 1) != 0)
		return false;
	path += sizeof(folder) - 1;
	for (size_t i = 0; i < ARRAY_LEN(disks); i++)
		if (strncmp(path, disks[i], strlen(disks[i])) == 0)
			return true;
	return false;
}

/* ---- counts ---- */

/* Count an operation on this file. slice_seconds is set. */
static void count_op(struct replay_ops *o, const struct replay_file *f, const struct replay_op *op)
{
	double at = (double)op->start_ns / o->job->replay_speed / 1e9 / o->slice_seconds;
	size_t i = at < REPLAY_SLICES - 1 ? (size_t)at : REPLAY_SLICES - 1;
	uint64_t bits = op->off | op->len_bytes;
	bool writes = op->op == MLGEN_WRITE;

	o->operations++;
	o->touches += (op->flags & REPLAY_TOUCH) != 0;
	o->writes |= (f->flags & REPLAY_FILE_CHANGED) != 0;
	if (f->flags & REPLAY_FILE_CHANGED && o->job->replay_files == REPLAY_TRACED)
		o->redirected++;
	if (op->op != MLGEN_READ && op->op != MLGEN_WRITE)
		return;
	o->bytes[writes] += writes ? op->len_bytes : op->moved_bytes;
	o->largest_bytes = u64_max(o->largest_bytes, op->len_bytes);
	o->blocks += (f->flags & REPLAY_FILE_DEVICE) != 0;
	/* The largest power of two that divides offset and length. */
	o->align_bytes = u64_min(o->align_bytes, bits & (~bits + 1));
	o->slices[i].asked_ios++;
	o->slices[i].asked_bytes += op->len_bytes;
}

/* ---- threads and workers ---- */

#define WORKERS_MOST 4096

struct lane_thread {
	uint64_t first_ns, last_ns; /* first start and last end */
	uint32_t number;
	unsigned worker;
};

void replay_lanes_add(struct replay_lanes *l, const struct trace_record *r)
{
	bool is_new = false;
	uint32_t n = map_number(&l->keys, thread_key(r->pid, r->tid), &is_new);
	uint64_t end = opkind_end_ns(r);

	if (is_new)
		vec_push(&l->threads, (struct lane_thread){ .first_ns = r->start_ns,
							    .last_ns = end,
							    .number = n });
	struct lane_thread *t = &l->threads.at[n];
	if (r->start_ns < t->first_ns)
		t->first_ns = r->start_ns;
	if (end > t->last_ns)
		t->last_ns = end;
}

COMPARE_BY(by_first, struct lane_thread, first_ns)

COMPARE_BY(by_number, struct lane_thread, number)

int replay_lanes_share(struct replay_lanes *l, uint64_t most, struct mlgen_err *err)
{
	VEC(uint64_t) ends = { 0 };

	if (l->threads.count == 0)
		return 0;
	vec_room(&ends, 1);
	qsort(l->threads.at, l->threads.count, sizeof(*l->threads.at), by_first);
	for (uint32_t i = 0; i < l->threads.count; i++) {
		struct lane_thread *t = &l->threads.at[i];
		unsigned w = 0;

		/* Find a worker whose last thread has ended. */
		while (w < l->workers && ends.at[w] >= t->first_ns)
			w++;
		if (w == l->workers && most && w == most)
			w = i % (unsigned)most;
		if (w == l->workers) {
			vec_push(&ends, 0);
			l->workers++;
		}
		ends.at[w] = u64_max(ends.at[w], t->last_ns);
		t->worker = w;
	}
	vec_fini(&ends);
	qsort(l->threads.at, l->threads.count, sizeof(*l->threads.at), by_number);
	if (l->workers <= WORKERS_MOST)
		return 0;
	return mlgen_fail(err, -E2BIG,
			  "the trace has %u threads at the same time, more than %d; "
			  "replay_threads=256 lets them share 256 workers",
			  l->workers, WORKERS_MOST);
}

unsigned replay_lanes_of(const struct replay_lanes *l, const struct trace_record *r)
{
	uint32_t n = 0;

	return map_find(&l->keys, thread_key(r->pid, r->tid), &n) ? l->threads.at[n].worker : 0;
}

void replay_lanes_fini(struct replay_lanes *l)
{
	map_fini(&l->keys);
	vec_fini(&l->threads);
	*l = (struct replay_lanes){ 0 };
}

/* ---- open files of each worker ---- */

static uint32_t *count_of(struct replay_opened *x, unsigned worker)
{
	spill_reserve(&x->counts, ((size_t)worker + 1) * sizeof(uint32_t));
	return (uint32_t *)x->counts.at + worker;
}

static void count_open(struct replay_opened *x, unsigned worker, uint32_t *open)
{
	uint32_t *all = count_of(x, worker);

	++*open;
	++*all;
	if (*all > x->most)
		x->most = *all;
}

bool replay_opened_add(struct replay_opened *x, unsigned worker, const struct replay_op *op)
{
	uint32_t *open =
		keyed_item(&x->open, (uint64_t)worker << 32 | op->file, sizeof(*open), NULL);
	bool needs_open = op->op == MLGEN_READ || op->op == MLGEN_WRITE || op->op == MLGEN_FSYNC ||
			  op->op == MLGEN_FDATASYNC || op->op == MLGEN_ALLOCATE;

	if (op->op == MLGEN_OPEN) {
		if (!(op->flags & REPLAY_MAY_FAIL))
			count_open(x, worker, open);
	} else if (op->op == MLGEN_CLOSE) {
		if (!*open)
			return false;
		--*open;
		--*count_of(x, worker);
	} else if (needs_open && !*open) {
		count_open(x, worker, open);
	}
	return true;
}

unsigned replay_opened_most(const struct replay_opened *x)
{
	return x->most ? x->most : 1;
}

void replay_opened_fini(struct replay_opened *x)
{
	keyed_fini(&x->open);
	spill_free(&x->counts);
	*x = (struct replay_opened){ 0 };
}

/* ---- block devices ---- */

#define REQUESTS_MOST 16384u

struct block_request {
	struct trace_record request;
	bool is_done;
};

struct replay_blocks {
	struct pairing in_flight; /* numbers of requests */
	/* Requests from number `first` to `next`; the index is the number modulo REQUESTS_MOST. */
	struct block_request list[REQUESTS_MOST];
	uint64_t first, next;
	uint64_t span_bytes, folded;
};

struct replay_blocks *replay_blocks_new(uint64_t span_bytes)
{
	struct replay_blocks *b = mem_zalloc(sizeof(*b));

	pairing_init(&b->in_flight);
	b->span_bytes = span_bytes;
	return b;
}

void replay_blocks_free(struct replay_blocks *b)
{
	if (!b)
		return;
	pairing_fini(&b->in_flight);
	mem_free(b);
}

static struct block_request *request_at(struct replay_blocks *b, uint64_t number)
{
	return &b->list[number % REQUESTS_MOST];
}

static struct block_request *add_issue(struct replay_blocks *b, const struct trace_record *r)
{
	struct block_request *i = request_at(b, b->next++);

	*i = (struct block_request){ .request = *r };
	i->request.op = r->flags & TRACE_WRITES ? TRACE_WRITE : TRACE_READ;
	i->request.result = r->len_bytes == TRACE_UNKNOWN ? 0 : (int64_t)r->len_bytes;
	return i;
}

/* If a request was issued before the trace began, it is only known if its completion has the
 * duration. */
static void add_end(struct replay_blocks *b, const struct trace_record *r)
{
	uint64_t end_ns = opkind_end_ns(r), number;
	struct block_request *i;

	if (pairing_end(&b->in_flight, pairing_key(r->file, r->off), &number)) {
		if (number < b->first)
			return;
		i = request_at(b, number);
	} else if (opkind_duration_ns(r)) {
		i = add_issue(b, r);
	} else {
		return;
	}
	i->is_done = true;
	i->request.duration_ns = end_ns - i->request.start_ns;
	if (r->result < 0)
		i->request.result = r->result;
}

void replay_blocks_add(struct replay_blocks *b, const struct trace_record *r)
{
	/* Flushes have no bytes, and are not replayed. */
	if (!opkind_has_time(r) || !opkind_bytes(r))
		return;
	if (r->op == TRACE_BLOCK_COMPLETE)
		add_end(b, r);
	if (r->op != TRACE_BLOCK_ISSUE)
		return;
	pairing_begin(&b->in_flight, pairing_key(r->file, r->off), b->next);
	add_issue(b, r);
}

bool replay_blocks_next(struct replay_blocks *b, bool is_end, struct trace_record *out)
{
	bool is_full = b->next - b->first == REQUESTS_MOST;

	if (b->first == b->next || !(request_at(b, b->first)->is_done || is_full || is_end))
		return false;
	*out = request_at(b, b->first++)->request;
	if (b->span_bytes && out->off != TRACE_UNKNOWN && out->off >= b->span_bytes) {
		out->off %= b->span_bytes;
		b->folded++;
	}
	return true;
}

uint64_t replay_blocks_folded(const struct replay_blocks *b)
{
	return b->folded;
}

/* ---- operations ---- */

/* State of the operations of a worker, of a file, or of all files. */
struct op_order {
	struct inflight in_flight;
	uint64_t started_ns; /* start of the last operation */
	uint32_t turn;       /* number of operations that began */
};

struct replay_reader {
	struct replay_ops *o;
	struct replay_files *files;
	struct replay_lanes lanes;
	struct replay_left_counts left;
	struct trace_reader *reader;
	struct trace_ordered *ordered;
	/* File ids, by the number of a name in `ordered`: 0 = not looked up, UINT32_MAX = not
	 * replayed. */
	uint32_t *ids;
	uint64_t first_ns, last_ns;
	struct op_order *workers; /* index: worker */
	struct op_order *orders;  /* a struct for each file, or a single one; NULL = none */
	size_t order_count;
	struct replay_opened opened;
	bool has_calls, has_blocks;
	struct replay_blocks *blocks; /* NULL if the trace has calls */
};

/* ---- ids of files ---- */

/* The id of a file of the trace: 0 = it has no name; UINT32_MAX = it is not replayed. */
static uint32_t file_id_of(struct replay_reader *x, uint32_t file)
{
	uint32_t *id = &x->ids[file];
	size_t bytes = 0;

	if (!file)
		return 0;
	if (!*id) {
		const char *name = trace_ordered_name(x->ordered, file, &bytes);

		if (!bytes)
			return 0;
		*id = x->blocks || is_replayed(name) ? replay_files_id(x->files, name, bytes)
						     : UINT32_MAX;
		if (bytes > x->o->longest_name)
			x->o->longest_name = bytes;
	}
	return *id;
}

/* Convert a record: 1 and the operation, or 0 if it is not replayed. Both passes over the trace get
 * the same result. */
static int convert_record(struct replay_reader *x, const struct trace_record *r,
			  struct replay_op *op, struct replay_left_counts *left)
{
	uint32_t file = file_id_of(x, r->file), to = 0;

	if (file == UINT32_MAX) {
		left->count[LEFT_SYSTEM] += r->op < TRACE_BLOCK_ISSUE;
		return 0;
	}
	if (!opkind_has_time(r) || !replay_op_from(op, r, file, left))
		return 0;
	if (op->op != MLGEN_RENAME)
		return 1;
	to = r->off <= trace_ordered_names(x->ordered) ? file_id_of(x, (uint32_t)r->off) : 0;
	if (!to || to == UINT32_MAX) {
		left->count[LEFT_NO_FILE]++;
		return 0;
	}
	op->off = to;
	return 1;
}

/* ---- the first pass: threads, files and times ---- */

/* Set the sizes of files from entries of the trace. */
static void set_file_sizes(struct replay_reader *x, const struct trace_batch *batch)
{
	for (size_t i = 0; i < batch->entry_count; i++) {
		const struct trace_entry *e = &batch->entries[i];

		if (e->kind != TRACE_FILE || e->number[1] == TRACE_UNKNOWN || !e->number[1] ||
		    !is_replayed(e->text))
			continue;
		struct replay_file *f =
			replay_file(x->files, replay_files_id(x->files, e->text, e->text_bytes));

		f->bytes = u64_max(f->bytes, e->number[1]);
	}
}

static void find_kinds(struct replay_reader *x, const struct trace_batch *batch)
{
	for (size_t i = 0; i < batch->record_count && !x->has_calls; i++) {
		unsigned op = batch->records[i].op;

		x->has_calls = opkind_of(op) & OPKIND_CALL || op == TRACE_FAULT;
		x->has_blocks |= op == TRACE_BLOCK_ISSUE || op == TRACE_BLOCK_COMPLETE;
	}
}

static int read_entries(struct replay_reader *x, struct mlgen_err *err)
{
	struct trace_batch batch;
	int rc;

	while ((rc = trace_reader_next(x->reader, &batch, err)) > 0) {
		set_file_sizes(x, &batch);
		find_kinds(x, &batch);
	}
	if (rc == 0) {
		const struct trace_read *t = trace_reader_totals(x->reader);

		x->o->was_incomplete = t->damaged_chunks || t->truncated || t->lost;
		rc = trace_reader_rewind(x->reader, err);
	}
	return rc;
}

static int begin_records(struct replay_reader *x, struct mlgen_err *err)
{
	trace_ordered_free(x->ordered);
	x->ordered = NULL;
	replay_blocks_free(x->blocks);
	x->blocks = x->has_blocks && !x->has_calls ? replay_blocks_new(x->o->job->replay_span_bytes)
						   : NULL;
	mem_free(x->ids);
	x->ids = NULL;
	int rc = trace_ordered_read(&x->ordered, x->reader, err);
	if (rc == 0)
		x->ids = mem_array((size_t)trace_ordered_names(x->ordered) + 1, sizeof(*x->ids));
	return rc;
}

typedef int record_fn(struct replay_reader *x, const struct trace_record *r, struct mlgen_err *err);

static int each_request(struct replay_reader *x, record_fn *fn, bool is_end, struct mlgen_err *err)
{
	struct trace_record request;
	int rc = 0;

	while (rc == 0 && replay_blocks_next(x->blocks, is_end, &request))
		rc = fn(x, &request, err);
	return rc;
}

static int each_record(struct replay_reader *x, record_fn *fn, struct mlgen_err *err)
{
	const struct trace_record *r;
	int rc;

	while ((rc = trace_ordered_next(x->ordered, &r, err)) > 0) {
		if (x->blocks) {
			replay_blocks_add(x->blocks, r);
			rc = each_request(x, fn, false, err);
		} else {
			rc = fn(x, r, err);
		}
		if (rc < 0)
			break;
	}
	return rc == 0 && x->blocks ? each_request(x, fn, true, err) : rc;
}

static int first_pass(struct replay_reader *x, const struct trace_record *r, struct mlgen_err *err)
{
	struct replay_left_counts unused = { 0 };
	struct replay_op op;

	(void)err;
	if (!convert_record(x, r, &op, &unused))
		return 0;
	if (x->lanes.keys.count == 0)
		x->first_ns = r->start_ns;
	x->last_ns = u64_max(x->last_ns, opkind_end_ns(r));
	replay_lanes_add(&x->lanes, r);
	if (x->blocks)
		replay_file_add_device(replay_file(x->files, op.file), r);
	else
		replay_file_add_record(replay_file(x->files, op.file), r);
	if (op.op == MLGEN_RENAME && !(op.flags & REPLAY_MAY_FAIL))
		replay_file(x->files, (uint32_t)op.off)->flags |=
			REPLAY_FILE_CHANGED | REPLAY_FILE_MADE;
	return 0;
}

/* ---- the second pass: the operations of workers ---- */

/* Begin an operation. Returns the number of operations in flight at its start. */
static uint16_t begin_op(struct op_order *s, uint64_t start_ns, uint64_t end_ns)
{
	inflight_advance(&s->in_flight, start_ns);
	uint64_t n = s->in_flight.count;
	inflight_begin(&s->in_flight, end_ns);
	s->turn++;
	return (uint16_t)u64_min(n, UINT16_MAX);
}

/* Set the times and the turn of an operation. */
static void place_op(struct replay_reader *x, struct replay_op *op, unsigned worker,
		     const struct trace_record *r)
{
	struct op_order *w = &x->workers[worker], *s;
	uint64_t end = opkind_end_ns(r), idle_ns;
	bool is_first = w->turn == 0;

	op->in_flight = begin_op(w, r->start_ns, end);
	idle_ns = is_first ? x->first_ns : u64_max(w->started_ns, w->in_flight.ended_ns);
	op->think_ns = r->start_ns > idle_ns ? r->start_ns - idle_ns : 0;
	op->start_ns = r->start_ns - x->first_ns;
	w->started_ns = r->start_ns;
	if (x->orders) {
		s = &x->orders[x->o->job->replay_order == REPLAY_BY_FILE ? op->file : 0];
		op->turn = s->turn;
		op->turn_in_flight = begin_op(s, r->start_ns, end);
	}
	if (op->in_flight >= x->o->depth)
		x->o->depth = op->in_flight + 1u;
}

static int spool_op(struct replay_reader *x, unsigned worker, const struct replay_op *op,
		    struct mlgen_err *err)
{
	count_op(x->o, replay_file(x->files, op->file), op);
	return replay_spool_add(x->o->spool, worker, op, err);
}

/* Split a record into operations of at most REPLAY_MOST_BYTES; nearly always there is one. */
static int spool_parts(struct replay_reader *x, unsigned worker, struct replay_op *op,
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
		place_op(x, op, worker, r);
		rc = spool_op(x, worker, op, err);
		op->off += n;
	} while (left && rc == 0);
	return rc;
}

static int spool_record(struct replay_reader *x, const struct trace_record *r,
			struct mlgen_err *err)
{
	struct replay_op op;

	if (!convert_record(x, r, &op, &x->left))
		return 0;
	unsigned worker = replay_lanes_of(&x->lanes, r);
	if (!replay_opened_add(&x->opened, worker, &op)) {
		x->left.count[LEFT_CLOSE]++;
		return 0;
	}
	if (replay_moves(r->op) || op.op == MLGEN_ALLOCATE)
		return spool_parts(x, worker, &op, r, err);
	place_op(x, &op, worker, r);
	return spool_op(x, worker, &op, err);
}

/* ---- reading a trace ---- */

/* Refuse replay_files=traced for devices. They are never written to, because they may hold a
 * filesystem. */
static int check_kinds(const struct replay_reader *x, struct mlgen_err *err)
{
	const struct job *j = x->o->job;

	if (x->has_blocks && !x->has_calls && j->replay_files == REPLAY_TRACED)
		return mlgen_fail(err, -EINVAL,
				  "replay_files: %s has requests of block devices and no calls on "
				  "files; replay_files=own replays them on a file for each device",
				  j->replay_trace);
	if (j->replay_span_bytes && x->has_calls)
		return mlgen_fail(err, -EINVAL,
				  "replay_span: %s has calls on files, which are replayed at their "
				  "own offsets; leave out replay_span, which is only for traces of "
				  "block requests",
				  j->replay_trace);
	return 0;
}

/* Find files, threads and times, and share the threads among workers. */
static int read_facts(struct replay_reader *x, struct mlgen_err *err)
{
	struct replay_ops *o = x->o;
	int rc = read_entries(x, err);

	if (rc == 0)
		rc = check_kinds(x, err);
	if (rc == 0)
		rc = begin_records(x, err);
	if (rc == 0)
		rc = each_record(x, first_pass, err);
	if (rc < 0)
		return rc;
	o->threads = x->lanes.keys.count;
	o->span_ns = x->last_ns - x->first_ns;
	rc = replay_lanes_share(&x->lanes, o->job->replay_threads, err);
	o->workers = x->lanes.workers;
	x->files->are_devices = x->blocks != NULL;
	o->is_direct = x->blocks && plain_passes_cache(o->job, true);
	return rc < 0 ? rc : trace_reader_rewind(x->reader, err);
}

/* Write the operations of all workers to the temporary file. */
static int spool_all(struct replay_reader *x, struct mlgen_err *err)
{
	struct replay_ops *o = x->o;
	double seconds = (double)o->span_ns / o->job->replay_speed / 1e9;
	char left[256];

	x->workers = mem_array(o->workers, sizeof(*x->workers));
	if (o->job->replay_order != REPLAY_BY_THREAD) {
		x->order_count = o->job->replay_order == REPLAY_BY_FILE
					 ? (size_t)trace_names_count(x->files->names) + 1
					 : 1;
		x->orders = mem_array(x->order_count, sizeof(*x->orders));
	}
	o->slice_seconds = seconds > 0 ? seconds / (REPLAY_SLICES * .5) : 1e-9;
	int rc = begin_records(x, err);
	if (rc == 0)
		rc = each_record(x, spool_record, err);
	if (rc == 0)
		rc = replay_spool_end(o->spool, err);
	if (x->blocks)
		o->folded = replay_blocks_folded(x->blocks);
	if (rc < 0 || o->operations)
		return rc;
	return mlgen_fail(
		err, -ENODATA, "%s: has no operation on a file that could be replayed%s%s",
		o->job->replay_trace,
		replay_left_text(&x->left, left, sizeof(left)) ? "; left out: " : "", left);
}

int replay_ops_read(struct replay_ops *o, struct replay_files *files, const struct job *job,
		    struct mlgen_err *err)
{
	struct replay_reader x = { .o = o, .files = files };

	*o = (struct replay_ops){ .job = job, .depth = 1, .align_bytes = REPLAY_ALIGN_MOST };
	int rc = trace_source_open(&x.reader, job->replay_trace, err);
	if (rc == 0)
		rc = read_facts(&x, err);
	if (rc == 0)
		rc = replay_spool_new(&o->spool, job->directory, err);
	if (rc == 0)
		rc = spool_all(&x, err);
	o->most_open = replay_opened_most(&x.opened);
	o->left_operations = replay_left_text(&x.left, o->left_out, sizeof(o->left_out));
	o->left_writes = x.left.writes;

	for (unsigned i = 0; x.workers && i < x.o->workers; i++)
		inflight_fini(&x.workers[i].in_flight);
	for (size_t i = 0; i < x.order_count; i++)
		inflight_fini(&x.orders[i].in_flight);
	mem_free(x.workers);
	mem_free(x.orders);
	mem_free(x.ids);
	replay_opened_fini(&x.opened);
	replay_lanes_fini(&x.lanes);
	replay_blocks_free(x.blocks);
	trace_ordered_free(x.ordered);
	trace_reader_close(x.reader);

	if (rc < 0)
		replay_ops_fini(o);
	return rc;
}

void replay_ops_fini(struct replay_ops *o)
{
	replay_spool_free(o->spool);
	*o = (struct replay_ops){ 0 };
}
