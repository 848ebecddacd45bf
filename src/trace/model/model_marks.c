/* SPDX-License-Identifier: Apache-2.0 */
/* model_marks.c - epochs, stages and checkpoints, by markers or by files that are read again. */
#include <stdlib.h>

#include "base/util.h"
#include "trace/model/model.h"

/* Files that are read more often than this are ignored in the search for epochs. */
#define PASSES_MOST 4096
/* Epochs are inferred if at least this part of all bytes was read equally often. */
#define AGREE_LEAST 50.0

void trace_marks_fini(struct trace_marks *b)
{
	struct mark_list *const lists[] = { &b->epochs, &b->stages, &b->checkpoints };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		spill_free(&lists[i]->marks);
		map_fini(&lists[i]->keys);
	}
	keyed_fini(&b->samples);
}

/* ---- the first pass ---- */

/* NULL if the list is full. */
static struct mark_account *append_mark(struct mark_list *l)
{
	size_t bytes = ((size_t)l->count + 1) * sizeof(struct mark_account);

	if (l->count == MARKS_MAX)
		return NULL;
	if (bytes > l->marks.bytes)
		spill_reserve(&l->marks, bytes);
	struct mark_account *m = mark_at(l, l->count++);
	*m = (struct mark_account){ .start_ns = UINT64_MAX };
	return m;
}

/* The mark with this key; NULL if it is new and the list is full. */
static struct mark_account *find_mark(struct mark_list *l, uint64_t key)
{
	uint32_t n;
	bool is_new;

	if (map_find(&l->keys, key, &n))
		return mark_at(l, n);
	struct mark_account *m = append_mark(l);
	if (m)
		map_number(&l->keys, key, &is_new);
	return m;
}

/* Markers of several ranks are one stage if they overlap in time, so it is enough to search the
 * last 64 stages. */
static struct mark_account *find_stage(struct mark_list *l, const struct trace_record *r)
{
	for (uint32_t i = l->count; i-- > 0 && l->count - i <= 64;) {
		struct mark_account *m = mark_at(l, i);

		if (m->name == r->file && r->start_ns < m->end_ns && opkind_end_ns(r) > m->start_ns)
			return m;
	}
	return append_mark(l);
}

void trace_marks_add_marker(struct trace_marks *b, const struct trace_record *r)
{
	uint64_t end = r->flags & TRACE_BEGINS ? UINT64_MAX : opkind_end_ns(r);
	struct mark_account *m;

	if (!opkind_has_time(r))
		return;
	switch (r->op) {
	case TRACE_EPOCH:
		m = find_mark(&b->epochs, r->off);
		break;
	case TRACE_STAGE:
		m = find_stage(&b->stages, r);
		break;
	case TRACE_CHECKPOINT:
		m = find_mark(&b->checkpoints, r->off ^ (uint64_t)r->file << 40);
		break;
	case TRACE_SAMPLE:
		b->has_samples |= r->off != TRACE_UNKNOWN;
		return;
	default:
		return;
	}
	if (!m)
		return;
	if (m->start_ns == UINT64_MAX)
		m->number = r->off;
	m->start_ns = u64_min(m->start_ns, r->start_ns);
	m->end_ns = u64_max(m->end_ns, end);
	m->ranks++;
	m->bytes += opkind_bytes(r);
	m->name = r->file;
}

/* ---- between the passes ---- */

COMPARE_BY2(compare_marks, struct mark_account, start_ns, number)

/* The number of times that the bytes of a file were read; 0 if it is unknown, or if the file was
 * also written. */
static uint64_t passes_of(const struct trace_files *files, const struct file_account *f)
{
	uint64_t unique = extent_set_bytes(&files->pool, &f->read);

	if (!unique || f->writes)
		return 0;
	return u64_max(1, (f->read_bytes + unique / 2) / unique);
}

void trace_marks_finish(struct trace_marks *b, const struct trace_files *files)
{
	struct mark_list *const lists[] = { &b->epochs, &b->stages, &b->checkpoints };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (lists[i]->count)
			qsort(lists[i]->marks.at, lists[i]->count, sizeof(struct mark_account),
			      compare_marks);
	if (b->epochs.count)
		return;

	/* Find the number of passes that most bytes agree on, weighted by the bytes of files. */
	struct spill weights = { 0 };
	double all = 0, agree = 0;
	spill_reserve(&weights, (PASSES_MOST + 1) * sizeof(double));
	double *weight = weights.at;
	for (uint32_t i = 1; i < files->count; i++) {
		const struct file_account *f = trace_files_at(files, i);
		uint64_t n = passes_of(files, f);

		if (n)
			all += (double)extent_set_bytes(&files->pool, &f->read);
		if (n && n <= PASSES_MOST)
			weight[n] += (double)extent_set_bytes(&files->pool, &f->read);
	}
	for (uint64_t n = 1; n <= PASSES_MOST; n++)
		if (weight[n] > weight[b->passes] || !b->passes)
			b->passes = n;
	if (b->passes > 1)
		agree = weight[b->passes] + weight[b->passes - 1];
	b->agree_percent = all > 0 ? 100 * agree / all : 0;
	spill_free(&weights);

	b->is_inferred = b->passes > 1 && b->agree_percent >= AGREE_LEAST;
	for (uint64_t i = 0; b->is_inferred && i < b->passes; i++)
		append_mark(&b->epochs)->number = i;
}

/* ---- the second pass ---- */

/* The epoch at a time, + 1; 0 = none. */
static uint32_t epoch_at(const struct trace_marks *b, uint64_t ns)
{
	uint32_t later = (uint32_t)BISECT(i, 0, b->epochs.count,
					  mark_at(&b->epochs, (uint32_t)i)->start_ns > ns);

	return later && ns < mark_at(&b->epochs, later - 1)->end_ns ? later : 0;
}

/* The epoch, + 1, to which a read belongs, for a file that is read once per epoch; 0 = none. A file
 * may have one pass fewer than other files. */
static uint32_t epoch_of_pass(const struct trace_marks *b, const struct trace_files *files,
			      struct file_account *f, uint64_t bytes)
{
	uint64_t n = passes_of(files, f);

	if (!n || (n != b->passes && n + 1 != b->passes))
		return 0;
	/* A read that finds the end of the file belongs to the bytes before it. */
	uint64_t before = f->passed_bytes - (!bytes && f->passed_bytes);
	double done = (double)before / (double)f->read_bytes;
	f->passed_bytes += bytes;
	/* 1e-9: a quotient that is a whole number must not be rounded down. */
	return (uint32_t)u64_min((uint64_t)(done * (double)n + 1e-9), n - 1) + 1;
}

void trace_marks_add_access(struct trace_marks *b, const struct trace_files *files,
			    const struct trace_record *r, unsigned kind)
{
	if (!b->epochs.count || !opkind_has_time(r))
		return;
	if (r->op == TRACE_SAMPLE) {
		uint32_t e = epoch_at(b, r->start_ns);

		if (!e || r->off == TRACE_UNKNOWN || b->is_inferred)
			return;
		struct mark_account *m = mark_at(&b->epochs, e - 1);
		round_place_visit(keyed_item(&b->samples, r->off, sizeof(struct round_place), NULL),
				  e, (uint32_t)m->samples++, &m->order);
		return;
	}
	if (!(kind & OPKIND_READ) || opkind_failed(r))
		return;

	struct file_account *f = r->file ? trace_files_at(files, r->file) : NULL;
	uint64_t bytes = opkind_bytes(r);
	if (!f)
		return;
	uint32_t e = b->is_inferred ? epoch_of_pass(b, files, f, bytes) : epoch_at(b, r->start_ns);
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
	if (f->place.round == e)
		return;
	round_place_visit(&f->place, e, (uint32_t)m->files++,
			  b->is_inferred || !b->has_samples ? &m->order : NULL);
}
