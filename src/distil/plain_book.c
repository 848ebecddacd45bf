/* SPDX-License-Identifier: Apache-2.0 */
/* plain_book.c - see plain_book.h. */
#include "distil/plain_book.h"

#include <fcntl.h>
#include <string.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "describe/opkind.h"

/* What the kernel brings in around a fault (fault_around_bytes). */
#define FAULT_AROUND UINT64_C(65536)

enum { UNDER_WAY_MOST = 1024 };

/* Of a thread: when its calls end that are under way. */
struct plain_thread {
	uint64_t end_ns; /* of all that began so far */
	uint32_t under_way;
	uint64_t *ends; /* owned, UNDER_WAY_MOST; NULL = never more than one */
};

struct booking {
	struct plain_book *b;
	struct distil *d;
	struct trace_ordered *records;
	struct plain_thread *threads;
	struct map direct; /* files that were opened with O_DIRECT */
};

static bool is_wanted(void *arg, const struct trace_record *r)
{
	(void)arg;
	switch (r->op) {
	case TRACE_READ:
	case TRACE_WRITE:
	case TRACE_FSYNC:
	case TRACE_FDATASYNC:
	case TRACE_FAULT:
	case TRACE_OPEN:
	case TRACE_CLOSE:
		return opkind_has_time(r) && !opkind_failed(r);
	default:
		return false;
	}
}

/* ---- accounts ---- */

static struct plain_account *account_new(struct booking *g, uint64_t key, uint32_t task,
					 uint32_t file)
{
	struct plain_book *b = g->b;
	struct plain_account *a;
	bool is_new;

	map_number(&b->keys, key, &is_new);
	a = vec_add(b);
	*a = (struct plain_account){ .task = task, .file = file, .files = 1, .low = UINT64_MAX };
	return a;
}

static uint64_t key_of(uint32_t task, uint32_t file, bool is_write)
{
	return (uint64_t)task << 33 | (uint64_t)file << 1 | is_write;
}

/* Of so many files a thread has one for all the rest of them. NULL: there is none, and none was to
 * be made. */
static struct plain_account *account_of(struct booking *g, uint32_t task, uint32_t file,
					bool is_write, bool makes)
{
	uint64_t key = key_of(task, file, is_write);
	struct plain_account *a;
	uint32_t n;

	if (map_find(&g->b->keys, key, &n))
		return &g->b->at[n];
	if (g->b->count >= PLAIN_ACCOUNTS_MOST) {
		key = key_of(task, 0, is_write);
		if (map_find(&g->b->keys, key, &n)) {
			a = &g->b->at[n];
			a->files += makes;
			return a;
		}
		file = UINT32_MAX;
	}
	return makes ? account_new(g, key, task, file) : NULL;
}

/* ---- requests ---- */

static void add_size(struct plain_account *a, uint64_t bytes)
{
	for (unsigned i = 0; i < PLAIN_SIZES; i++) {
		struct plain_size *s = &a->sizes[i];

		if (s->count && s->bytes != bytes)
			continue;
		s->bytes = bytes;
		s->count++;
		return;
	}
	a->others++;
}

static void add_place(struct plain_account *a, const struct trace_record *r, uint64_t bytes)
{
	if (r->off == TRACE_UNKNOWN)
		return;
	uint64_t slack = a->is_fault ? FAULT_AROUND : 0;

	a->in_order += a->count && r->off >= a->last_end && r->off - a->last_end <= slack;
	a->low = u64_min(a->low, r->off);
	a->high = u64_max(a->high, r->off + bytes);
	a->last_end = r->off + bytes;
}

static unsigned time_of(uint64_t ns)
{
	unsigned n = 0;

	while (ns >>= 1)
		n++;
	return n < PLAIN_TIMES ? n : PLAIN_TIMES - 1;
}

static void add_run(struct plain_account *a, uint64_t think_ns)
{
	a->run++;
	if (think_ns < a->longest_ns / 4)
		return;
	if (think_ns / 4 > a->longest_ns) {
		/* What seemed long before was not. */
		a->runs = a->run_sum = a->run_squares = 0;
	} else {
		a->runs++;
		a->run_sum += a->run;
		a->run_squares += a->run * a->run;
	}
	a->longest_ns = u64_max(a->longest_ns, think_ns);
	a->run = 0;
}

static void add_times(struct plain_account *a, const struct trace_record *r,
		      const struct plain_thread *t)
{
	uint64_t think = r->start_ns > t->end_ns ? r->start_ns - t->end_ns : 0;
	unsigned n = time_of(think);

	if (a->count) {
		double gap = (double)(r->start_ns - a->last_start_ns);

		a->thinks[n]++;
		a->think_ns[n] += think;
		a->gaps++;
		add_run(a, think);
		a->gap_ns += gap;
		a->gap_squares += gap * gap;
		a->think_squares += (double)think * (double)think;
	} else {
		a->start_ns = r->start_ns;
	}
	double at = (double)(r->start_ns - a->start_ns);

	a->start_sum += at;
	a->start_squares += at * at;
	a->start_products += at * (double)a->count;
	a->last_start_ns = r->start_ns;
	a->end_ns = u64_max(a->end_ns, opkind_end_ns(r));
}

/* How many are under way now, this one among them. */
static uint32_t begin(struct plain_thread *t, const struct trace_record *r)
{
	uint32_t n = 0;

	if (!t->ends)
		t->ends = mem_array(UNDER_WAY_MOST, sizeof(*t->ends));
	for (uint32_t i = 0; i < t->under_way; i++)
		if (t->ends[i] > r->start_ns)
			t->ends[n++] = t->ends[i];
	if (n == UNDER_WAY_MOST)
		n--;
	t->ends[n++] = opkind_end_ns(r);
	t->under_way = n;
	return n;
}

static void take_request(struct booking *g, const struct trace_record *r, uint32_t task)
{
	bool is_fault = r->op == TRACE_FAULT;
	uint64_t bytes = is_fault ? 4096 : opkind_bytes(r);
	struct plain_thread *t = &g->threads[task];
	struct plain_account *a;
	uint32_t depth, n;

	if (bytes == 0)
		return;
	a = account_of(g, task, r->file, r->op == TRACE_WRITE, true);
	depth = begin(t, r);
	a->depth = (uint32_t)u64_max(a->depth, depth);
	a->is_async |= r->flags & TRACE_ASYNC;
	a->is_fault |= is_fault;
	a->is_write |= r->op == TRACE_WRITE;
	a->is_direct |= map_find(&g->direct, r->file, &n);
	add_times(a, r, t);
	add_place(a, r, bytes);
	add_size(a, bytes);
	a->count++;
	a->bytes += bytes;
}

static void take_sync(struct booking *g, const struct trace_record *r, uint32_t task)
{
	struct plain_account *a = account_of(g, task, r->file, true, false);

	if (!a)
		return;
	*(r->op == TRACE_FSYNC ? &a->syncs : &a->datasyncs) += 1;
	a->last_sync_ns = r->start_ns;
	a->end_ns = u64_max(a->end_ns, opkind_end_ns(r));
}

static void plain_book_take(struct booking *g, const struct trace_record *r)
{
	struct distil *d = g->d;
	uint32_t task;
	bool is_new;

	if (!map_find(&d->tasks.thread_keys, (uint64_t)r->pid << 32 | r->tid, &task))
		return;
	if (r->file && r->file < d->file_count && distil_class(d, r->file) == CLASS_PLAIN) {
		if (r->op == TRACE_OPEN && r->len_bytes != TRACE_UNKNOWN && r->len_bytes & O_DIRECT)
			map_number(&g->direct, r->file, &is_new);
		else if (r->op == TRACE_FSYNC || r->op == TRACE_FDATASYNC)
			take_sync(g, r, task);
		else if (r->op != TRACE_OPEN && r->op != TRACE_CLOSE)
			take_request(g, r, task);
	}
	/* The thread's time, whatever the call is on. */
	g->threads[task].end_ns = u64_max(g->threads[task].end_ns, opkind_end_ns(r));
}

/* ---- public ---- */

int plain_book_read(struct plain_book *b, struct distil *d, struct mlgen_err *err)
{
	const struct trace_ordered_wants wants = { .keeps = is_wanted };
	struct booking g = { .b = b, .d = d };
	const struct trace_record *r;
	struct trace_reader *reader;
	int rc = trace_reader_open(&reader, d->paths, d->path_count, err);

	*b = (struct plain_book){ 0 };
	if (rc < 0)
		return rc;
	g.threads = mem_array((size_t)d->task_count + 1, sizeof(*g.threads));
	/* Names come in the same order as they did then: ids are the same. */
	rc = trace_ordered_read_some(&g.records, reader, &wants, err);
	trace_reader_close(reader);
	while (rc >= 0 && (rc = trace_ordered_next(g.records, &r, err)) > 0)
		plain_book_take(&g, r);
	trace_ordered_free(g.records);
	for (uint32_t i = 0; i < d->task_count; i++)
		mem_free(g.threads[i].ends);
	mem_free(g.threads);
	map_fini(&g.direct);
	return rc;
}

void plain_book_fini(struct plain_book *b)
{
	mem_free(b->at);
	map_fini(&b->keys);
	*b = (struct plain_book){ 0 };
}
