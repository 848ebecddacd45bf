/* SPDX-License-Identifier: Apache-2.0 */
/* profile_books.c - what is remembered of files, samples and threads while a trace is profiled. */
#include "tracing/score/profile_books.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "tracing/describe/opkind.h"

/* 16 GiB of files exactly; 2^18 of PROFILE_BLOCK. */
#define REUSE_MOST (1u << 18)
/* Of a request no more blocks are looked at. */
#define BLOCKS_MOST 4096
/* A thread works that moved such a part of the bytes of the busiest one. */
#define WORKS_PART 100

struct file_seen {
	uint64_t size_bytes, samples;
	bool is_used; /* read, written or mapped */
};

struct thread_seen {
	uint64_t end_ns, bytes;
	uint64_t first_ns, last_ns; /* of all its calls */
};

/* One that works begins (1), or has ended (-1). */
struct thread_turn {
	uint64_t at_ns;
	int change;
};

void books_init(struct profile_books *b)
{
	*b = (struct profile_books){ .follow = follow_new(), .reuse = reuse_new(REUSE_MOST) };
}

void books_fini(struct profile_books *b)
{
	for (size_t i = 0; i < PROFILE_PHASES; i++) {
		struct phase_book *o = b->of[i];

		if (!o)
			continue;
		rounds_fini(&o->samples);
		rounds_fini(&o->files);
		map_fini(&o->file_keys);
		map_fini(&o->thread_keys);
		spill_free(&o->file_list);
		spill_free(&o->thread_list);
		mem_free(o);
	}
	follow_free(b->follow);
	reuse_free(b->reuse);
	*b = (struct profile_books){ 0 };
}

static struct phase_book *book_of(struct profile_books *b, size_t n)
{
	if (!b->of[n])
		b->of[n] = mem_zalloc(sizeof(*b->of[n]));
	return b->of[n];
}

static struct file_seen *file_of(struct phase_book *o, uint32_t id)
{
	bool is_new;
	uint32_t i = map_number(&o->file_keys, id, &is_new);

	spill_need(&o->file_list, ((size_t)i + 1) * sizeof(struct file_seen));
	return (struct file_seen *)o->file_list.at + i;
}

static struct thread_seen *thread_of(struct phase_book *o, const struct trace_record *r)
{
	bool is_new;
	uint32_t i = map_number(&o->thread_keys, (uint64_t)r->pid << 32 | r->tid, &is_new);

	spill_need(&o->thread_list, ((size_t)i + 1) * sizeof(struct thread_seen));
	return (struct thread_seen *)o->thread_list.at + i;
}

/* ---- what a read or write says ---- */

static void note_blocks(struct profile_books *b, struct profile_phase *p,
			const struct trace_record *r, uint64_t bytes)
{
	uint64_t first = r->off / PROFILE_BLOCK;
	uint64_t last = (r->off + bytes - 1) / PROFILE_BLOCK, distance;

	last = u64_min(last, first + BLOCKS_MOST - 1);
	for (uint64_t i = first; i <= last; i++) {
		uint64_t stands_for = reuse_touch(b->reuse, (uint64_t)r->file << 32 ^ i, &distance);

		if (!stands_for)
			continue;
		p->touches += (double)stands_for;
		if (distance == REUSE_COLD)
			p->cold += (double)stands_for;
		else
			spread_add(&p->reuse, distance, stands_for);
	}
}

static void note_place(struct profile_books *b, struct profile_phase *p,
		       const struct trace_record *r, uint64_t bytes)
{
	uint64_t apart;
	enum follow_kind kind =
		follow_apart(b->follow, r->file, r->tid, r->off, r->off + bytes, &apart);

	p->followed += kind != FOLLOW_FIRST;
	p->sequential += kind == FOLLOW_SEQUENTIAL;
	if (apart)
		spread_add(&p->seeks, apart, 1);
}

static bool has_place(const struct trace_record *r, uint64_t bytes)
{
	return r->off != TRACE_UNKNOWN && r->off + bytes > r->off;
}

static void note_moved(struct profile_books *b, struct profile_phase *p, struct file_seen *f,
		       const struct trace_record *r)
{
	bool reads = r->op == TRACE_READ;
	uint64_t bytes = opkind_bytes(r);

	*(reads ? &p->read_bytes : &p->written_bytes) += bytes;
	if (r->len_bytes != TRACE_UNKNOWN)
		spread_add(reads ? &p->read_sizes : &p->write_sizes, r->len_bytes, 1);
	if (!has_place(r, bytes))
		return;
	f->size_bytes = u64_max(f->size_bytes, r->off + bytes);
	note_place(b, p, r, bytes);
	if (reads)
		note_blocks(b, p, r, bytes);
}

/* ---- whose it is ---- */

static void note_thread(struct phase_book *o, struct profile_phase *p, const struct trace_record *r)
{
	struct thread_seen *t;

	if (!r->tid)
		return;
	t = thread_of(o, r);
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

static void note_round(struct phase_book *o, const struct trace_record *r)
{
	bool opens = r->op == TRACE_OPEN && !(r->len_bytes & O_DIRECTORY);

	/* One that was open before is visited once. */
	if (opens || (r->op == TRACE_READ && !rounds_has(&o->files, r->file)))
		rounds_visit(&o->files, r->file);
}

void books_call(struct profile_books *b, struct profile_phase *p, size_t n,
		const struct trace_record *r)
{
	struct phase_book *o = book_of(b, n);
	struct file_seen *f = file_of(o, r->file);
	unsigned op = r->op == TRACE_FDATASYNC ? (unsigned)TRACE_FSYNC : r->op;

	p->calls++;
	p->operations[op]++;
	/* Folders have neither a size nor a place that says anything. */
	if (op == TRACE_READ || op == TRACE_WRITE || op == TRACE_MMAP)
		f->is_used = true;
	if (op == TRACE_STAT && r->len_bytes != TRACE_UNKNOWN)
		f->size_bytes = u64_max(f->size_bytes, r->len_bytes);
	if (op == TRACE_OPEN || op == TRACE_CLOSE)
		follow_forget(b->follow, r->file, r->tid);
	if (op == TRACE_READ || op == TRACE_WRITE)
		note_moved(b, p, f, r);
	note_round(o, r);
	note_thread(o, p, r);
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

/* ---- when all was read ---- */

static void finish_files(struct phase_book *o, struct profile_phase *p)
{
	const struct file_seen *f = o->file_list.at;
	uint64_t rounds = u64_max(1, p->has_samples ? p->rounds.rounds : p->file_rounds.rounds);

	for (uint32_t i = 0; i < o->file_keys.count; i++) {
		if (f[i].is_used) {
			p->files++;
			spread_add(&p->file_sizes, f[i].size_bytes, 1);
		}
		if (f[i].samples)
			spread_add(&p->file_samples, (f[i].samples + rounds / 2) / rounds, 1);
	}
}

/* Who has ended makes room for who begins at that very time. */
COMPARE_BY2(compare_turns, struct thread_turn, at_ns, change)

/* A loader may have new workers in each epoch: so many are there at once. */
static double most_at_once(struct thread_turn *turns, size_t count)
{
	int now = 0, most = 0;

	qsort(turns, count, sizeof(*turns), compare_turns);
	for (size_t i = 0; i < count; i++) {
		now += turns[i].change;
		most = now > most ? now : most;
	}
	return most;
}

static void finish_threads(struct phase_book *o, struct profile_phase *p)
{
	const struct thread_seen *t = o->thread_list.at;
	uint32_t count = o->thread_keys.count;
	double *shares = mem_array(count, sizeof(*shares)), most = 0;
	struct thread_turn *turns = mem_array(count, 2 * sizeof(*turns));
	size_t work = 0;

	for (uint32_t i = 0; i < count; i++)
		most = fmax(most, (double)t[i].bytes);
	/* Who moves next to nothing is no worker, and would make the shares of the others look
	 * uneven. */
	for (uint32_t i = 0; i < count; i++) {
		if (!(most > 0) || (double)t[i].bytes * WORKS_PART < most)
			continue;
		turns[2 * work] = (struct thread_turn){ t[i].first_ns, 1 };
		turns[2 * work + 1] = (struct thread_turn){ t[i].last_ns, -1 };
		shares[work++] = (double)t[i].bytes;
	}
	p->workers = most_at_once(turns, 2 * work);
	p->gini = fairness_of(shares, work).gini;
	mem_free(turns);
	mem_free(shares);
}

void books_finish(struct profile_books *b, struct profile *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct phase_book *o = book_of(b, i);
		struct profile_phase *to = &p->phases[i];

		to->rounds = rounds_finish(&o->samples);
		to->file_rounds = rounds_finish(&o->files);
		/* They are numbered by their first visit. */
		to->file_rounds.places = (double)NAN;
		finish_files(o, to);
		finish_threads(o, to);
	}
	p->blocks = (double)reuse_blocks(b->reuse);
}
