/* SPDX-License-Identifier: Apache-2.0 */
/* markbook.c - epochs, stages and checkpoints of a trace, as its markers say or as its reads
 * show. */
#include "tracing/describe/markbook.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "tracing/describe/opkind.h"

/* Passes over files that are looked at: more are no epochs. */
#define PASSES_MOST 4096
/* Of all bytes: where fewer were read that often it says nothing. */
#define AGREE_LEAST 50.0

struct sample_place {
	uint32_t epoch; /* + 1; 0 = none */
	uint32_t position;
};

static void list_fini(struct mark_list *l)
{
	spill_free(&l->marks);
	map_fini(&l->keys);
}

void markbook_fini(struct markbook *b)
{
	list_fini(&b->epochs);
	list_fini(&b->stages);
	list_fini(&b->checkpoints);
	map_fini(&b->sample_keys);
	spill_free(&b->samples);
}

/* ---- pass one ---- */

static struct mark_account *list_add(struct mark_list *l)
{
	size_t bytes = ((size_t)l->count + 1) * sizeof(struct mark_account);

	if (l->count == MARKS_MOST) {
		l->left_out++;
		return NULL;
	}
	if (bytes > l->marks.bytes)
		spill_need(&l->marks, bytes);
	struct mark_account *m = mark_at(l, l->count++);
	*m = (struct mark_account){ .start_ns = UINT64_MAX };
	return m;
}

/* The one of this key; NULL: there are too many. */
static struct mark_account *list_have(struct mark_list *l, uint64_t key)
{
	uint32_t n;
	bool is_new;

	if (map_find(&l->keys, key, &n))
		return mark_at(l, n);
	struct mark_account *m = list_add(l);
	if (m)
		map_number(&l->keys, key, &is_new);
	return m;
}

static void markbook_widen(struct mark_account *m, const struct trace_record *r)
{
	uint64_t end = r->flags & TRACE_BEGINS ? UINT64_MAX : opkind_end_ns(r);

	if (!m)
		return;
	m->start_ns = u64_min(m->start_ns, r->start_ns);
	m->end_ns = u64_max(m->end_ns, end);
	m->ranks++;
	m->bytes += opkind_bytes(r);
	m->name = r->file;
}

/* Those of several ranks at one time are one; so is the search a short one. */
static struct mark_account *find_stage(struct mark_list *l, const struct trace_record *r)
{
	for (uint32_t i = l->count; i-- > 0 && l->count - i <= 64;) {
		struct mark_account *m = mark_at(l, i);

		if (m->name == r->file && r->start_ns < m->end_ns && opkind_end_ns(r) > m->start_ns)
			return m;
	}
	return list_add(l);
}

void markbook_note(struct markbook *b, const struct trace_record *r)
{
	struct mark_account *m;

	if (!opkind_has_time(r))
		return;
	switch (r->op) {
	case TRACE_EPOCH:
		m = list_have(&b->epochs, r->off);
		break;
	case TRACE_STAGE:
		m = find_stage(&b->stages, r);
		break;
	case TRACE_CHECKPOINT:
		m = list_have(&b->checkpoints, r->off ^ (uint64_t)r->file << 40);
		break;
	case TRACE_SAMPLE:
		b->has_samples |= r->off != TRACE_UNKNOWN;
		return;
	default:
		return;
	}
	if (m && m->start_ns == UINT64_MAX)
		m->number = r->off;
	markbook_widen(m, r);
}

/* ---- between the passes ---- */

COMPARE_BY2(compare_marks, struct mark_account, start_ns, number)

static void list_sort(struct mark_list *l)
{
	if (l->count)
		qsort(l->marks.at, l->count, sizeof(struct mark_account), compare_marks);
}

/* How many times the bytes of a file were read; 0 = not known, or it is not one that a program only
 * reads. */
static uint64_t passes_of(const struct filebook *files, const struct file_account *f)
{
	uint64_t unique = touched_bytes(&files->pool, &f->read);

	if (!unique || f->writes)
		return 0;
	uint64_t n = (f->read_bytes + unique / 2) / unique;
	return n ? n : 1;
}

static bool is_of_epochs(const struct markbook *b, uint64_t passes)
{
	return b->passes > 1 && (passes == b->passes || (passes + 1 == b->passes && passes > 0));
}

/* By what was read that often, in bytes of files; what lies beyond
 * PASSES_MOST is no epoch's. */
static void find_passes(struct markbook *b, const struct filebook *files)
{
	struct spill weights = { 0 };
	double all = 0, agree = 0;

	spill_need(&weights, (PASSES_MOST + 1) * sizeof(double));
	double *weight = weights.at;
	for (uint32_t i = 1; i < files->count; i++) {
		const struct file_account *f = filebook_at(files, i);
		uint64_t n = passes_of(files, f);

		if (n)
			all += (double)touched_bytes(&files->pool, &f->read);
		if (n && n <= PASSES_MOST)
			weight[n] += (double)touched_bytes(&files->pool, &f->read);
	}
	for (uint64_t n = 1; n <= PASSES_MOST; n++)
		if (weight[n] > weight[b->passes] || !b->passes)
			b->passes = n;
	if (b->passes > 1)
		agree = weight[b->passes] + weight[b->passes - 1];
	b->agree_percent = all > 0 ? 100 * agree / all : 0;
	spill_free(&weights);
}

static void infer_epochs(struct markbook *b, const struct filebook *files)
{
	find_passes(b, files);
	b->is_inferred = b->passes > 1 && b->agree_percent >= AGREE_LEAST;
	for (uint64_t i = 0; b->is_inferred && i < b->passes; i++)
		list_add(&b->epochs)->number = i;
}

void markbook_settle(struct markbook *b, const struct filebook *files)
{
	list_sort(&b->epochs);
	list_sort(&b->stages);
	list_sort(&b->checkpoints);
	if (!b->epochs.count)
		infer_epochs(b, files);
}

/* ---- pass two ---- */

/* The epoch under way at that time, + 1; 0 = none. */
static uint32_t epoch_at(const struct markbook *b, uint64_t ns)
{
	uint32_t later = (uint32_t)BISECT(i, 0, b->epochs.count,
					  mark_at(&b->epochs, (uint32_t)i)->start_ns > ns);

	return later && ns < mark_at(&b->epochs, later - 1)->end_ns ? later : 0;
}

/* Of a file that is read so many times as a whole, which time is this one? */
static uint32_t epoch_of_pass(const struct markbook *b, const struct filebook *files,
			      struct file_account *f, uint64_t bytes)
{
	uint64_t n = passes_of(files, f);

	if (!is_of_epochs(b, n))
		return 0;
	/* One that found the end belongs to what came before it. */
	uint64_t before = f->passed_bytes - (!bytes && f->passed_bytes);
	double done = (double)before / (double)f->read_bytes;
	f->passed_bytes += bytes;
	/* A hair more, so that what divides evenly is not rounded down. */
	return (uint32_t)u64_min((uint64_t)(done * (double)n + 1e-9), n - 1) + 1;
}

static void add_read(struct markbook *b, const struct filebook *files, const struct trace_record *r)
{
	struct file_account *f = r->file ? filebook_at(files, r->file) : NULL;
	uint64_t bytes = opkind_bytes(r);
	uint32_t e;

	if (!f)
		return;
	e = b->is_inferred ? epoch_of_pass(b, files, f, bytes) : epoch_at(b, r->start_ns);
	if (!e)
		return;
	struct mark_account *m = mark_at(&b->epochs, e - 1);
	m->reads++;
	m->read_bytes += bytes;
	if (b->is_inferred) {
		m->start_ns = u64_min(m->start_ns, r->start_ns);
		m->end_ns = u64_max(m->end_ns, opkind_end_ns(r));
		m->ranks = 0;
	}
	if (f->epoch == e)
		return;
	uint32_t position = (uint32_t)m->files++;
	if (f->epoch && f->epoch + 1 == e && (b->is_inferred || !b->has_samples))
		order_add(&m->order, f->position, position);
	f->epoch = e;
	f->position = position;
}

static void add_sample(struct markbook *b, const struct trace_record *r)
{
	uint32_t e = epoch_at(b, r->start_ns);
	bool is_new;

	if (!e || r->off == TRACE_UNKNOWN || b->is_inferred)
		return;
	uint32_t n = map_number(&b->sample_keys, r->off, &is_new);
	size_t bytes = ((size_t)n + 1) * sizeof(struct sample_place);
	if (bytes > b->samples.bytes)
		spill_need(&b->samples, bytes);
	struct sample_place *s = (struct sample_place *)b->samples.at + n;
	struct mark_account *m = mark_at(&b->epochs, e - 1);
	uint32_t position = (uint32_t)m->samples++;
	if (s->epoch == e)
		return;
	if (s->epoch && s->epoch + 1 == e)
		order_add(&m->order, s->position, position);
	*s = (struct sample_place){ e, position };
}

void markbook_add(struct markbook *b, const struct filebook *files, const struct trace_record *r,
		  unsigned kind)
{
	if (!b->epochs.count || !opkind_has_time(r))
		return;
	if (r->op == TRACE_SAMPLE)
		add_sample(b, r);
	else if (kind & OPKIND_READ && !opkind_failed(r))
		add_read(b, files, r);
}
