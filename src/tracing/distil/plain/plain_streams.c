/* SPDX-License-Identifier: Apache-2.0 */
/* plain_streams.c - sum up requests by thread, file and direction, and join similar accounts. */
#include "tracing/distil/plain/plain_internal.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "trace/model/model.h"

/* Bytes that the kernel maps around a fault (fault_around_bytes). */
#define FAULT_AROUND UINT64_C(65536)

enum {
	IN_FLIGHT_MOST = 1024,
	ACCOUNTS_MOST = 8192, /* if there are more, further files of a thread share an account */
	SECTIONS_MOST = 8,
};

/* Streams run at the same time if they share this part of the shorter stream. */
#define OVERLAP 0.5
/* Amounts are alike if they differ by at most this factor. */
#define ALIKE 1.5

struct plain_book {
	struct plain_account *at; /* sorted by first call */
	uint32_t count;
	size_t room;     /* vec.h */
	struct map keys; /* index by thread, file and direction */
};

/* The requests of a thread that are in flight. */
struct plain_thread {
	uint64_t end_ns; /* end of all calls so far */
	uint32_t in_flight;
	uint64_t *ends; /* owned, IN_FLIGHT_MOST; NULL = no request so far */
};

struct account_reader {
	struct plain_book *b;
	struct distil *d;
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

static uint64_t key_of(uint32_t task, uint32_t file, bool is_write)
{
	return (uint64_t)task << 33 | (uint64_t)file << 1 | is_write;
}

/* Find or add an account. After ACCOUNTS_MOST a thread has one account for all further files. NULL
 * = there is none, and `may_add` is false. */
static struct plain_account *account_of(struct account_reader *g, uint32_t task, uint32_t file,
					bool is_write, bool may_add)
{
	uint64_t key = key_of(task, file, is_write);
	struct plain_account *a;
	bool is_new;
	uint32_t n;

	if (map_find(&g->b->keys, key, &n))
		return &g->b->at[n];
	if (g->b->count >= ACCOUNTS_MOST) {
		key = key_of(task, 0, is_write);
		if (map_find(&g->b->keys, key, &n)) {
			a = &g->b->at[n];
			a->files += may_add;
			return a;
		}
		file = UINT32_MAX;
	}
	if (!may_add)
		return NULL;
	map_number(&g->b->keys, key, &is_new);
	a = vec_add(g->b);
	*a = (struct plain_account){ .task = task, .file = file, .files = 1, .low = UINT64_MAX };
	return a;
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
	a->other_sizes++;
}

static unsigned time_bucket(uint64_t ns)
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
		/* Compared to this pause, all earlier pauses were short. */
		a->runs = a->run_sum = a->run_squares = 0;
	} else {
		a->runs++;
		a->run_sum += a->run;
		a->run_squares += a->run * a->run;
	}
	a->longest_ns = u64_max(a->longest_ns, think_ns);
	a->run = 0;
}

static void add_request(struct account_reader *g, const struct trace_record *r, uint32_t task)
{
	bool is_fault = r->op == TRACE_FAULT;
	uint64_t bytes = is_fault ? 4096 : opkind_bytes(r);
	struct plain_thread *t = &g->threads[task];
	uint32_t n;

	if (bytes == 0)
		return;
	struct plain_account *a = account_of(g, task, r->file, r->op == TRACE_WRITE, true);

	/* The requests in flight, including this one. */
	uint32_t in_flight = 0;
	if (!t->ends)
		t->ends = mem_array(IN_FLIGHT_MOST, sizeof(*t->ends));
	for (uint32_t i = 0; i < t->in_flight; i++)
		if (t->ends[i] > r->start_ns)
			t->ends[in_flight++] = t->ends[i];
	if (in_flight == IN_FLIGHT_MOST)
		in_flight--;
	t->ends[in_flight++] = opkind_end_ns(r);
	t->in_flight = in_flight;
	a->depth = (uint32_t)u64_max(a->depth, in_flight);

	a->is_fault |= is_fault;
	a->is_write |= r->op == TRACE_WRITE;
	a->is_direct |= map_find(&g->direct, r->file, &n);

	uint64_t think = r->start_ns > t->end_ns ? r->start_ns - t->end_ns : 0;
	unsigned bucket = time_bucket(think);
	if (a->count) {
		double gap = (double)(r->start_ns - a->last_start_ns);

		a->thinks[bucket]++;
		a->think_ns[bucket] += think;
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

	if (r->off != TRACE_UNKNOWN) {
		uint64_t slack = a->is_fault ? FAULT_AROUND : 0;

		a->in_order += a->count && r->off >= a->last_end && r->off - a->last_end <= slack;
		a->low = u64_min(a->low, r->off);
		a->high = u64_max(a->high, r->off + bytes);
		a->last_end = r->off + bytes;
	}
	add_size(a, bytes);
	a->count++;
	a->bytes += bytes;
}

static void add_sync(struct account_reader *g, const struct trace_record *r, uint32_t task)
{
	struct plain_account *a = account_of(g, task, r->file, true, false);

	if (!a)
		return;
	*(r->op == TRACE_FSYNC ? &a->syncs : &a->datasyncs) += 1;
	a->last_sync_ns = r->start_ns;
	a->end_ns = u64_max(a->end_ns, opkind_end_ns(r));
}

static void add_record(void *arg, const struct trace_record *r)
{
	struct account_reader *g = arg;
	struct distil *d = g->d;
	uint32_t task;
	bool is_new;

	if (!trace_tasks_find_thread(&d->tasks, r, &task))
		return;
	if (r->file && r->file < d->file_count && distil_class(d, r->file) == CLASS_PLAIN) {
		if (r->op == TRACE_OPEN && r->len_bytes != TRACE_UNKNOWN && r->len_bytes & O_DIRECT)
			map_number(&g->direct, r->file, &is_new);
		else if (r->op == TRACE_FSYNC || r->op == TRACE_FDATASYNC)
			add_sync(g, r, task);
		else if (r->op != TRACE_OPEN && r->op != TRACE_CLOSE)
			add_request(g, r, task);
	}
	/* A call on any file counts as time of the thread. */
	g->threads[task].end_ns = u64_max(g->threads[task].end_ns, opkind_end_ns(r));
}

/* ---- sums ---- */

static void add_account(struct plain_account *to, const struct plain_account *from)
{
	if (!from->count)
		return;
	if (!to->count) {
		*to = *from;
		return;
	}

	to->other_sizes += from->other_sizes;
	for (unsigned i = 0; i < PLAIN_SIZES && from->sizes[i].count; i++) {
		unsigned k = 0;

		while (k < PLAIN_SIZES && to->sizes[k].count &&
		       to->sizes[k].bytes != from->sizes[i].bytes)
			k++;
		if (k == PLAIN_SIZES) {
			to->other_sizes += from->sizes[i].count;
			continue;
		}
		to->sizes[k].bytes = from->sizes[i].bytes;
		to->sizes[k].count += from->sizes[i].count;
	}

	to->files += from->files;
	to->count += from->count;
	to->bytes += from->bytes;
	to->in_order += from->in_order;
	to->low = u64_min(to->low, from->low);
	to->high = u64_max(to->high, from->high);
	to->start_ns = u64_min(to->start_ns, from->start_ns);
	to->end_ns = u64_max(to->end_ns, from->end_ns);
	to->syncs += from->syncs;
	to->datasyncs += from->datasyncs;
	to->last_sync_ns = u64_max(to->last_sync_ns, from->last_sync_ns);
	to->last_start_ns = u64_max(to->last_start_ns, from->last_start_ns);
	to->depth = (uint32_t)u64_max(to->depth, from->depth);
	to->is_direct |= from->is_direct;
	for (unsigned i = 0; i < PLAIN_TIMES; i++) {
		to->thinks[i] += from->thinks[i];
		to->think_ns[i] += from->think_ns[i];
	}
	to->gaps += from->gaps;
	to->gap_ns += from->gap_ns;
	to->gap_squares += from->gap_squares;
	to->runs += from->runs;
	to->run_sum += from->run_sum;
	to->run_squares += from->run_squares;
	to->start_squares += from->start_squares;
	to->think_squares += from->think_squares;
}

static bool has_file(const struct plain_stream *s, uint32_t file)
{
	for (uint32_t i = 0; i < s->file_count && i < PLAIN_FILES_MOST; i++)
		if (s->files[i] == file)
			return true;
	return false;
}

static void merge_stream(struct plain_stream *s, const struct plain_stream *from)
{
	s->start_ns = u64_min(s->start_ns, from->start_ns);
	s->end_ns = u64_max(s->end_ns, from->end_ns);
	s->low = u64_min(s->low, from->low);
	s->high = u64_max(s->high, from->high);
	for (unsigned w = 0; w < 2; w++)
		add_account(&s->dir[w], &from->dir[w]);
}

static struct plain_stream stream_of(const struct plain_account *a)
{
	struct plain_stream s = {
		.threads = 1,
		.start_ns = a->start_ns,
		.end_ns = a->end_ns,
		.low = a->low,
		.high = a->high,
		.file_count = 1,
		.files = { a->file },
	};

	s.dir[a->is_write] = *a;

	/* Replace start_squares by the squared distances of starts from a line through them.
	 * Squared distances can be summed over threads, but lines cannot. */
	struct plain_account *own = &s.dir[a->is_write];
	double n = (double)own->count, x = (n - 1) / 2;
	double xx = n * (n * n - 1) / 12, mean = own->start_sum / n;
	double xy = own->start_products - n * x * mean;
	double yy = own->start_squares - n * mean * mean;
	own->start_squares = xx > 0 ? fmax(yy - xy * xy / xx, 0) : 0;

	return s;
}

/* ---- similar streams ---- */

double plain_stream_in_order(const struct plain_stream *s)
{
	uint64_t could = 0, did = 0;

	for (unsigned w = 0; w < 2; w++) {
		const struct plain_account *a = &s->dir[w];

		could += a->count > a->files ? a->count - a->files : 0;
		did += a->in_order;
	}
	/* If no file has a second request, all requests count as in order. */
	return could ? (double)did / (double)could : 1;
}

uint64_t plain_stream_size(const struct plain_stream *s, bool is_write)
{
	const struct plain_account *a = &s->dir[is_write];
	const struct plain_size *most = &a->sizes[0];

	for (unsigned i = 1; i < PLAIN_SIZES; i++)
		if (a->sizes[i].count > most->count)
			most = &a->sizes[i];
	return a->count ? most->bytes : 0;
}

static bool is_meanwhile(const struct plain_stream *a, const struct plain_stream *b)
{
	uint64_t start = u64_max(a->start_ns, b->start_ns);
	uint64_t end = u64_min(a->end_ns, b->end_ns);
	uint64_t shorter = u64_min(a->end_ns - a->start_ns, b->end_ns - b->start_ns);

	return end >= start && (double)(end - start) >= OVERLAP * (double)shorter;
}

static bool are_near(uint64_t a, uint64_t b)
{
	double x = (double)a, y = (double)b;

	return x <= y * ALIKE && y <= x * ALIKE;
}

static bool is_same_work(const struct plain_stream *a, const struct plain_stream *b)
{
	for (unsigned w = 0; w < 2; w++)
		if (plain_stream_size(a, w) != plain_stream_size(b, w))
			return false;
	return (plain_stream_in_order(a) >= PLAIN_IN_ORDER) ==
	       (plain_stream_in_order(b) >= PLAIN_IN_ORDER);
}

/* ---- streams of one thread ---- */

static bool is_same_direction(const struct plain_stream *a, const struct plain_stream *b)
{
	return !a->dir[0].count == !b->dir[0].count && !a->dir[1].count == !b->dir[1].count;
}

/* Does an account continue the thread's stream? It does if the two overlap in time, or if the
 * account is for the next file in a row of files. */
static bool continues(const struct plain_stream *s, const struct plain_stream *next)
{
	if (is_meanwhile(s, next))
		return true;
	return is_same_direction(s, next) && !has_file(s, next->files[0]) &&
	       is_same_work(s, next) &&
	       are_near(s->dir[0].bytes + s->dir[1].bytes,
			(next->dir[0].bytes + next->dir[1].bytes) * s->file_count);
}

static int by_task(const void *a, const void *b)
{
	const struct plain_account *x = *(struct plain_account *const *)a;
	const struct plain_account *y = *(struct plain_account *const *)b;

	return x->task != y->task ? COMPARE(x->task, y->task) : COMPARE(x->start_ns, y->start_ns);
}

static void find_thread_streams(struct plain_streams *s, const struct plain_book *b)
{
	const struct plain_account **order =
		mem_array((size_t)b->count + 1, sizeof(struct plain_account *));
	struct plain_stream *last = NULL;

	for (uint32_t i = 0; i < b->count; i++)
		order[i] = &b->at[i];
	qsort(order, b->count, sizeof(struct plain_account *), by_task);
	for (uint32_t i = 0; i < b->count; i++) {
		struct plain_stream one = stream_of(order[i]);

		if (i == 0 || order[i]->task != order[i - 1]->task || !continues(last, &one)) {
			vec_push(s, one);
			last = vec_last(s);
			continue;
		}
		last->is_after |= !is_meanwhile(last, &one);
		merge_stream(last, &one);

		if (has_file(last, order[i]->file))
			continue;
		if (last->file_count < PLAIN_FILES_MOST)
			last->files[last->file_count] = order[i]->file;
		last->file_count++;
	}
	mem_free(order);
}

/* ---- streams of several threads ---- */

/* Do the streams use different parts of a file in order? They need sections of their own, because a
 * section has one offset. */
static bool has_own_part(const struct plain_stream *a, const struct plain_stream *b)
{
	uint64_t span = b->high - b->low;
	uint64_t apart = a->low > b->low ? a->low - b->low : b->low - a->low;

	return has_file(a, b->files[0]) && span && plain_stream_in_order(b) >= PLAIN_IN_ORDER &&
	       apart > span / 2;
}

static bool is_alike(const struct plain_stream *a, const struct plain_stream *b)
{
	uint64_t bytes = b->dir[0].bytes + b->dir[1].bytes;

	return is_same_work(a, b) && is_meanwhile(a, b) && !has_own_part(a, b) &&
	       are_near(a->dir[0].bytes + a->dir[1].bytes, bytes * a->threads) &&
	       are_near(u64_max(1, a->dir[0].depth), u64_max(1, b->dir[0].depth)) &&
	       are_near(u64_max(1, a->dir[1].depth), u64_max(1, b->dir[1].depth));
}

COMPARE_BY(by_start, struct plain_stream, start_ns)

static void join_threads(struct plain_streams *s)
{
	uint32_t n = 0;

	qsort(s->at, s->count, sizeof(*s->at), by_start);
	for (uint32_t i = 0; i < s->count; i++) {
		const struct plain_stream *b = &s->at[i];
		uint32_t k = 0;

		while (k < n && !is_alike(&s->at[k], b))
			k++;
		if (k == n) {
			s->at[n++] = *b;
			continue;
		}
		struct plain_stream *a = &s->at[k];
		a->is_shared = (a->threads == 1 || a->is_shared) && has_file(a, b->files[0]);
		a->threads++;
		a->is_after |= b->is_after;
		merge_stream(a, b);
	}
	s->count = n;
}

/* ---- more streams than sections ---- */

static int by_bytes(const void *a, const void *b)
{
	const struct plain_stream *x = a, *y = b;
	uint64_t p = x->dir[0].bytes + x->dir[1].bytes;
	uint64_t q = y->dir[0].bytes + y->dir[1].bytes;

	return COMPARE(q, p);
}

/* The distance between two streams. The harder a section can imitate a property, the more the
 * property weighs. */
static unsigned distance(const struct plain_stream *a, const struct plain_stream *b)
{
	return 8u * !is_same_direction(a, b) + 4u * !is_same_work(a, b) + 2u * !is_meanwhile(a, b);
}

/* Merge the smallest streams into the most similar large ones. */
static void merge_smallest(struct plain_streams *s)
{
	if (s->count <= SECTIONS_MOST)
		return;
	qsort(s->at, s->count, sizeof(*s->at), by_bytes);
	for (uint32_t i = SECTIONS_MOST; i < s->count; i++) {
		struct plain_stream *best = &s->at[0];

		for (uint32_t k = 1; k < SECTIONS_MOST; k++)
			if (distance(&s->at[k], &s->at[i]) < distance(best, &s->at[i]))
				best = &s->at[k];
		merge_stream(best, &s->at[i]);
		best->summed += 1 + s->at[i].summed;
	}
	s->count = SECTIONS_MOST;
}

/* ---- public ---- */

int plain_streams_read(struct plain_streams *s, struct distil *d, struct mlgen_err *err)
{
	struct plain_book b = { 0 };

	struct account_reader g = { .b = &b, .d = d };
	int rc;
	g.threads = mem_array((size_t)d->task_count + 1, sizeof(*g.threads));
	rc = distil_read_again(d, is_wanted, add_record, &g, err);
	for (uint32_t i = 0; i < d->task_count; i++)
		mem_free(g.threads[i].ends);
	mem_free(g.threads);
	map_fini(&g.direct);

	*s = (struct plain_streams){ 0 };
	if (rc == 0 && b.count) {
		find_thread_streams(s, &b);
		join_threads(s);
		merge_smallest(s);
		qsort(s->at, s->count, sizeof(*s->at), by_start);
	}
	mem_free(b.at);
	map_fini(&b.keys);
	return rc;
}

void plain_streams_fini(struct plain_streams *s)
{
	mem_free(s->at);
	*s = (struct plain_streams){ 0 };
}
