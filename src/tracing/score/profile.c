/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - read a trace into a profile: its entries first, then its records by time. */
#include "tracing/score/score_internal.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

/* The block of reuse distances, in bytes. */
#define PROFILE_BLOCK UINT64_C(65536)

#define PROFILE_IDLE_NS UINT64_C(1000000)

/* A series begins with intervals of a second. If there are more than this many, they are joined
 * into longer ones. */
#define SERIES_MOST 65536
/* Limit of the stored periods of one phase, from which its duration is computed. */
#define TIMES_MOST 1024
/* Reuse distances are exact up to 16 GiB of files: 2^18 blocks of PROFILE_BLOCK. */
#define REUSE_MOST (1u << 18)
/* Limit of the blocks that are counted for one request. */
#define BLOCKS_MOST 4096
/* A thread is a worker if it moved at least 1 / WORKS_PART of the bytes of the busiest thread. */
#define WORKS_PART 100

struct phase_file {
	uint64_t size_bytes, samples;
	bool is_used; /* read, written or mapped */
};

struct phase_thread {
	uint64_t end_ns, bytes;
	uint64_t first_ns, last_ns; /* start of its first call, end of its last */
};

/* A worker begins (1) or ends (-1). */
struct thread_event {
	uint64_t at_ns;
	int change;
};

struct phase_times {
	struct phase_time {
		uint64_t start_ns, end_ns;
	} * at;
	size_t count;
};

struct profiler {
	struct profile *to;
	struct trace_ordered *records;
	struct profile_books books;
	struct trace_phases phases;
	struct phase_times times[PROFILE_PHASES];
	struct inflight flight;
	bool whole;
	uint64_t epoch; /* the last epoch that was marked */
	/* The last phase that was looked up by name. The next look-up usually finds the same
	 * phase. */
	size_t cached_phase;
	uint32_t cached_file;
	uint16_t cached_op; /* 0 = none yet */
	/* The phase of the last call, and its end. */
	size_t last;
	uint64_t last_until_ns, first_ns, end_ns;
	struct trace_scope scope;
	struct mappings mappings;
};

#define NO_PHASE SIZE_MAX

/* ---- rounds ---- */

void rounds_visit(struct rounds *b, uint64_t item)
{
	struct round_place *p = keyed_item(&b->items, item, sizeof(*p), NULL);
	struct round *r = &b->at[u64_min(p->round, ROUNDS_MAX - 1)];

	if (!p->round)
		order_add(&b->places_order, item, r->next);
	round_place_visit(p, p->round + 1, r->next++, &r->order);
	b->sums.visits++;
	b->sums.items = b->items.keys.count;
	b->sums.rounds = u64_max(b->sums.rounds, p->round);
}

bool rounds_has(const struct rounds *b, uint64_t item)
{
	uint32_t i;

	return map_find(&b->items.keys, item, &i);
}

struct rounds_sums rounds_finish(struct rounds *b)
{
	double sum = 0;
	unsigned count = 0;

	for (size_t i = 1; i < ROUNDS_MAX; i++) {
		double order = order_correlation(&b->at[i].order);

		if (isnan(order))
			continue;
		sum += order;
		count++;
	}
	b->sums.order = count ? sum / count : (double)NAN;
	b->sums.places = order_correlation(&b->places_order);
	return b->sums;
}

void rounds_fini(struct rounds *b)
{
	keyed_fini(&b->items);
	memset(b, 0, sizeof(*b));
}

/* ---- files, samples and threads ---- */

void books_init(struct profile_books *b)
{
	*b = (struct profile_books){ .reuse = reuse_new(REUSE_MOST) };
	positions_init(&b->positions);
}

void books_fini(struct profile_books *b)
{
	for (size_t i = 0; i < PROFILE_PHASES; i++) {
		struct phase_book *o = b->of[i];

		if (!o)
			continue;
		rounds_fini(&o->samples);
		rounds_fini(&o->files);
		keyed_fini(&o->file_list);
		keyed_fini(&o->thread_list);
		mem_free(o);
	}
	positions_fini(&b->positions);
	reuse_free(b->reuse);
	*b = (struct profile_books){ 0 };
}

static struct phase_book *book_of(struct profile_books *b, size_t n)
{
	if (!b->of[n])
		b->of[n] = mem_zalloc(sizeof(*b->of[n]));
	return b->of[n];
}

static struct phase_file *file_of(struct phase_book *o, uint32_t id)
{
	return keyed_item(&o->file_list, id, sizeof(struct phase_file), NULL);
}

/* ---- a read or write ---- */

static void add_blocks(struct profile_books *b, struct profile_phase *p,
		       const struct trace_record *r, uint64_t bytes)
{
	uint64_t first = r->off / PROFILE_BLOCK;
	uint64_t last = (r->off + bytes - 1) / PROFILE_BLOCK, distance;

	last = u64_min(last, first + BLOCKS_MOST - 1);
	for (uint64_t i = first; i <= last; i++) {
		uint64_t stands_for =
			reuse_access(b->reuse, (uint64_t)r->file << 32 ^ i, &distance);

		if (!stands_for)
			continue;
		p->accesses += (double)stands_for;
		if (distance == REUSE_COLD)
			p->cold += (double)stands_for;
		else
			spread_add(&p->reuse, distance, stands_for);
	}
}

static void add_moved(struct profile_books *b, struct profile_phase *p, struct phase_file *f,
		      const struct trace_record *r)
{
	bool reads = r->op == TRACE_READ;
	uint64_t bytes = opkind_bytes(r), apart;

	*(reads ? &p->read_bytes : &p->written_bytes) += bytes;
	if (r->len_bytes != TRACE_UNKNOWN)
		spread_add(reads ? &p->read_sizes : &p->write_sizes, r->len_bytes, 1);
	if (r->off == TRACE_UNKNOWN || r->off + bytes <= r->off)
		return;
	f->size_bytes = u64_max(f->size_bytes, r->off + bytes);
	enum access_kind kind =
		positions_access(&b->positions, r->file, r->tid, r->off, r->off + bytes, &apart);
	p->followed += kind != ACCESS_FIRST;
	p->sequential += kind == ACCESS_SEQUENTIAL;
	if (apart)
		spread_add(&p->seeks, apart, 1);
	if (reads)
		add_blocks(b, p, r, bytes);
}

/* ---- calls and samples ---- */

void books_call(struct profile_books *b, struct profile_phase *p, size_t n,
		const struct trace_record *r)
{
	struct phase_book *o = book_of(b, n);
	struct phase_file *f = file_of(o, r->file);
	bool opens = r->op == TRACE_OPEN && !(r->len_bytes & O_DIRECTORY);
	unsigned op = r->op == TRACE_FDATASYNC ? (unsigned)TRACE_FSYNC : r->op;

	p->calls++;
	p->operations[op]++;
	/* Only files whose data is accessed count, because the sizes of folders mean nothing. */
	if (op == TRACE_READ || op == TRACE_WRITE || op == TRACE_MMAP)
		f->is_used = true;
	if (op == TRACE_STAT && r->len_bytes != TRACE_UNKNOWN)
		f->size_bytes = u64_max(f->size_bytes, r->len_bytes);
	if (op == TRACE_OPEN || op == TRACE_CLOSE)
		positions_remove(&b->positions, r->file, r->tid);
	if (op == TRACE_READ || op == TRACE_WRITE)
		add_moved(b, p, f, r);
	/* A file that is read without an open, because it was opened earlier, is visited once. */
	if (opens || (r->op == TRACE_READ && !rounds_has(&o->files, r->file)))
		rounds_visit(&o->files, r->file);

	if (!r->tid)
		return;
	struct phase_thread *t =
		keyed_item(&o->thread_list, thread_key(r->pid, r->tid), sizeof(*t), NULL);
	if (!t->last_ns)
		t->first_ns = r->start_ns;
	t->last_ns = u64_max(t->last_ns, opkind_end_ns(r));
	t->bytes += opkind_bytes(r);
	if (!opkind_has_duration(r))
		return;
	if (t->end_ns)
		spread_add(&p->think, r->start_ns > t->end_ns ? r->start_ns - t->end_ns : 0, 1);
	t->end_ns = u64_max(t->end_ns, opkind_end_ns(r));
}

void books_sample(struct profile_books *b, struct profile_phase *p, size_t n,
		  const struct trace_record *r)
{
	struct phase_book *o = book_of(b, n);

	if (r->off != TRACE_UNKNOWN) {
		p->has_samples = true;
		rounds_visit(&o->samples, r->off);
	}
	if (r->file)
		file_of(o, r->file)->samples++;
}

/* ---- the sums ---- */

/* At the same time, ends come before starts. */
COMPARE_BY2(compare_events, struct thread_event, at_ns, change)

static void finish_threads(struct phase_book *o, struct profile_phase *p)
{
	const struct phase_thread *t = o->thread_list.items.at;
	uint32_t count = o->thread_list.keys.count;
	double *shares = mem_array(count, sizeof(*shares)), most = 0;
	struct thread_event *events = mem_array(count, 2 * sizeof(*events));
	size_t work = 0;
	int now = 0, at_once = 0;

	for (uint32_t i = 0; i < count; i++)
		most = fmax(most, (double)t[i].bytes);
	/* Threads that move hardly any bytes are not workers, and would make the shares look
	 * uneven. */
	for (uint32_t i = 0; i < count; i++) {
		if (!(most > 0) || (double)t[i].bytes * WORKS_PART < most)
			continue;
		events[2 * work] = (struct thread_event){ t[i].first_ns, 1 };
		events[2 * work + 1] = (struct thread_event){ t[i].last_ns, -1 };
		shares[work++] = (double)t[i].bytes;
	}
	/* A loader may have new workers in each epoch, so find the largest number at one time. */
	qsort(events, 2 * work, sizeof(*events), compare_events);
	for (size_t i = 0; i < 2 * work; i++) {
		now += events[i].change;
		at_once = now > at_once ? now : at_once;
	}
	p->workers = at_once;
	p->gini = fairness_of(shares, work).gini;
	mem_free(events);
	mem_free(shares);
}

void books_finish(struct profile_books *b, struct profile *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct phase_book *o = book_of(b, i);
		struct profile_phase *to = &p->phases[i];

		to->rounds = rounds_finish(&o->samples);
		to->file_rounds = rounds_finish(&o->files);
		/* Files are numbered by their first visit, so this correlation says nothing. */
		to->file_rounds.places = (double)NAN;

		const struct phase_file *f = o->file_list.items.at;
		uint64_t rounds =
			u64_max(1, to->has_samples ? to->rounds.rounds : to->file_rounds.rounds);
		for (uint32_t k = 0; k < o->file_list.keys.count; k++) {
			if (f[k].is_used) {
				to->files++;
				spread_add(&to->file_sizes, f[k].size_bytes, 1);
			}
			if (f[k].samples)
				spread_add(&to->file_samples, (f[k].samples + rounds / 2) / rounds,
					   1);
		}

		finish_threads(o, to);
	}
	p->blocks = (double)reuse_blocks(b->reuse);
}

/* ---- entries ---- */

/* ---- phases ---- */

static const char *phase_name(const struct profiler *f, const struct trace_phase *now)
{
	size_t bytes;
	const char *name = "";

	if (f->whole)
		return "all";
	if (!now)
		return PROFILE_BETWEEN;
	if (now->op == TRACE_EPOCH)
		return "epoch";
	if (now->file)
		name = trace_ordered_name(f->records, now->file, &bytes);
	return *name ? name : "stage";
}

static size_t find_phase(struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (!strncmp(p->phases[i].name, name, PROFILE_NAME_BYTES - 1))
			return i;
	if (p->count == PROFILE_PHASES)
		return PROFILE_PHASES - 1;
	strncpy(p->phases[p->count].name, name, PROFILE_NAME_BYTES - 1);
	return p->count++;
}

/* Add a period of a phase. Its end may become known only later. */
static void add_period(struct profiler *f, size_t n, const struct trace_phase *now)
{
	struct phase_times *t = &f->times[n];

	if (!t->at)
		t->at = mem_array(TIMES_MOST, sizeof(*t->at));
	for (size_t i = t->count; i-- > 0;)
		if (t->at[i].start_ns == now->start_ns) {
			t->at[i].end_ns = now->end_ns;
			return;
		}
	if (t->count == TIMES_MOST) {
		/* Extend the last period instead. */
		t->at[TIMES_MOST - 1].end_ns = now->end_ns;
		return;
	}
	t->at[t->count++] = (struct phase_time){ now->start_ns, now->end_ns };
}

static size_t phase_of(struct profiler *f, const struct trace_record *r)
{
	const struct trace_phase *now = trace_phase_at(&f->phases, r);

	if (f->whole || !now)
		return find_phase(f->to, phase_name(f, now));
	if (f->cached_op != now->op || f->cached_file != now->file) {
		f->cached_phase = find_phase(f->to, phase_name(f, now));
		f->cached_op = now->op;
		f->cached_file = now->file;
	}
	add_period(f, f->cached_phase, now);
	return f->cached_phase;
}

/* ---- operations in flight ---- */

void profile_inflight_add(struct profile_inflight *to, const struct inflight_piece *piece,
			  uint64_t until_ns)
{
	uint64_t end_ns = u64_min(piece->end_ns, until_ns), ns = end_ns - piece->start_ns;

	if (end_ns <= piece->start_ns)
		return;
	spread_add(&to->depth, piece->depth, ns);
	if (!piece->depth && ns >= PROFILE_IDLE_NS) {
		to->idle_count++;
		to->idle_ns += ns;
	}
}

/* ---- records ---- */

static void add_to_series(struct profile_phase *p, const struct trace_record *r, uint64_t bytes)
{
	uint64_t i;

	if (!p->series) {
		p->series = mem_array(SERIES_MOST, sizeof(*p->series));
		p->series_start_ns = r->start_ns;
		p->series_step_ns = NS_PER_S;
	}
	while ((i = (r->start_ns - p->series_start_ns) / p->series_step_ns) >= SERIES_MOST) {
		p->series_count = SERIES_MOST / 2;
		p->series_step_ns *= 2;
		for (size_t k = 0; k < SERIES_MOST / 2; k++)
			p->series[k] = p->series[2 * k] + p->series[2 * k + 1];
		memset(p->series + SERIES_MOST / 2, 0, SERIES_MOST / 2 * sizeof(*p->series));
	}
	p->series[i] += (double)bytes;
	if (i >= p->series_count)
		p->series_count = i + 1;
}

/* Advance the operations in flight, in the phase of the last call. */
static void profile_advance(struct profiler *f, uint64_t now_ns)
{
	struct inflight_piece piece;

	while (inflight_next(&f->flight, now_ns, &piece))
		if (f->last != NO_PHASE)
			profile_inflight_add(&f->to->phases[f->last].inflight, &piece,
					     f->last_until_ns);
}

static void add_call(struct profiler *f, const struct trace_record *r)
{
	if (opkind_failed(r)) {
		f->to->failed_calls++;
		return;
	}
	if (!trace_scope_has(&f->scope, r)) {
		f->to->other_calls++;
		return;
	}
	if (!mappings_add_call(&f->mappings, r))
		return;
	size_t n = phase_of(f, r);
	struct profile_phase *p = &f->to->phases[n];
	profile_advance(f, r->start_ns);
	if (opkind_has_duration(r))
		inflight_begin(&f->flight, opkind_end_ns(r));
	f->last = f->phases.now || f->whole ? n : NO_PHASE;
	f->last_until_ns = f->phases.now && !f->whole ? f->phases.now->end_ns : UINT64_MAX;
	f->first_ns = u64_min(f->first_ns, r->start_ns);
	f->end_ns = u64_max(f->end_ns, opkind_end_ns(r));
	books_call(&f->books, p, n, r);
	if (opkind_bytes(r)) {
		add_to_series(p, r, opkind_bytes(r));
		trace_scope_add_bytes(&f->scope, r->file, opkind_bytes(r));
	}
}

static void add_event(struct profiler *f, const struct trace_record *r)
{
	size_t n = phase_of(f, r);
	struct profile_phase *p = &f->to->phases[n];

	switch (r->op) {
	case TRACE_SAMPLE:
		books_sample(&f->books, p, n, r);
		break;
	case TRACE_STEP:
		if (opkind_has_duration(r) && !(r->flags & TRACE_BEGINS))
			spread_add(&p->steps, r->duration_ns, 1);
		break;
	case TRACE_EPOCH:
		/* The markers of several ranks for one epoch follow each other, and count once. */
		f->to->epochs += !f->to->epochs || f->epoch != r->off;
		f->epoch = r->off;
		break;
	case TRACE_CACHE_ADD:
		if (trace_scope_has(&f->scope, r)) {
			p->has_cache = true;
			p->cache_bytes += opkind_bytes(r);
		}
		break;
	case TRACE_BLOCK_ISSUE:
		if (r->len_bytes != TRACE_UNKNOWN)
			spread_add(&p->block_sizes, r->len_bytes, 1);
		break;
	default:
		break;
	}
}

static int read_records(struct profiler *f, struct mlgen_err *err)
{
	const struct trace_record *r;
	int rc;

	trace_scope_start(&f->scope, f->records, true);
	while ((rc = trace_ordered_next(f->records, &r, err)) > 0) {
		struct trace_record read;

		if (!trace_op_name(r->op) || !opkind_has_time(r))
			continue;
		if (r->op == TRACE_FAULT) {
			/* An access to a page of a mapping counts as a read. */
			if (trace_scope_has(&f->scope, r) &&
			    mappings_add_fault(&f->mappings, r, &read))
				add_call(f, &read);
		} else if (opkind_of(r->op) & OPKIND_CALL) {
			add_call(f, r);
		} else {
			add_event(f, r);
		}
	}
	if (rc < 0)
		return rc;
	profile_advance(f, f->end_ns);
	books_finish(&f->books, f->to);
	/* Operations between phases have no time of their own. */
	if (f->whole && f->to->count && f->end_ns > f->first_ns)
		f->to->phases[0].duration_ns = f->end_ns - f->first_ns;
	for (size_t i = 0; i < f->to->count; i++)
		for (size_t k = 0; k < f->times[i].count; k++) {
			const struct phase_time *t = &f->times[i].at[k];
			uint64_t end = u64_min(t->end_ns, f->end_ns);

			if (end > t->start_ns)
				f->to->phases[i].duration_ns += end - t->start_ns;
		}
	return 0;
}

int profile_trace(struct profile *to, const char *path, bool whole, struct mlgen_err *err)
{
	struct trace_reader *r;
	struct trace_batch batch;
	struct profiler *f;
	int rc = trace_reader_open(&r, &path, 1, err);

	*to = (struct profile){ 0 };
	if (rc < 0)
		return rc;
	to->phases = mem_array(PROFILE_PHASES, sizeof(*to->phases));
	f = mem_zalloc(sizeof(*f));
	f->to = to;
	f->whole = whole;
	f->last = NO_PHASE;
	f->first_ns = UINT64_MAX;
	books_init(&f->books);
	while ((rc = trace_reader_next(r, &batch, err)) > 0) {
		for (size_t i = 0; i < batch.entry_count; i++) {
			const struct trace_entry *e = &batch.entries[i];

			if (e->kind == TRACE_FACT && strncmp(e->text, "host=", 5) == 0)
				mem_replace(&to->host, e->text + 5);
			trace_scope_add_entry(&f->scope, e);
		}
		to->records += batch.record_count;
	}
	to->read = *trace_reader_totals(r);
	if (rc == 0)
		rc = trace_reader_rewind(r, err);
	if (rc == 0)
		rc = trace_ordered_read(&f->records, r, err);
	if (rc == 0)
		rc = read_records(f, err);
	to->storage = trace_scope_storage(&f->scope);
	trace_reader_close(r);
	trace_scope_fini(&f->scope);
	mappings_fini(&f->mappings);
	books_fini(&f->books);
	inflight_fini(&f->flight);
	for (size_t i = 0; i < PROFILE_PHASES; i++)
		mem_free(f->times[i].at);
	trace_ordered_free(f->records);
	mem_free(f);
	return rc;
}

void profile_fini(struct profile *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct profile_phase *o = &p->phases[i];
		struct spread *const spreads[] = {
			&o->read_sizes,   &o->write_sizes,    &o->file_sizes, &o->seeks,
			&o->file_samples, &o->reuse,          &o->think,      &o->steps,
			&o->block_sizes,  &o->inflight.depth,
		};

		for (size_t k = 0; k < ARRAY_LEN(spreads); k++)
			spread_fini(spreads[k]);
		mem_free(o->series);
	}
	mem_free(p->phases);
	mem_free(p->host);
	mem_free(p->storage);
	*p = (struct profile){ 0 };
}

const struct profile_phase *profile_find(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->phases[i].calls && !strcmp(p->phases[i].name, name))
			return &p->phases[i];
	return NULL;
}
