/* SPDX-License-Identifier: Apache-2.0 */
/* saves_stages.c - which stages of a trace are which checkpoints, and what is read before each. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/util.h"
#include "distil/saves_inside.h"

/* Files of one folder in one stage. */
struct part {
	uint32_t stage, directory;
	uint64_t start_ns, end_ns;
};

struct parting {
	struct saves *s;
	const struct distil *d;
	uint32_t party;
	struct map keys;     /* stage << 32 | directory */
	struct spill parts;  /* struct part */
	struct map names;    /* of files in a stage, without their folders ... */
	struct spill firsts; /* ... and in which it was seen first: uint32_t */
	bool *is_several;    /* by stage: checkpoints, each in a folder */
};

static bool is_ours(const struct parting *g, uint32_t stage)
{
	const struct distil_stage *t = &g->d->stages[stage];

	return t->kind == STAGE_SAVE && t->party == g->party && t->start_ns <= t->end_ns;
}

static uint64_t hash_of(const char *name, uint64_t seed)
{
	return fnv1a((seed + 1) * UINT64_C(0x9e3779b97f4a7c15), name, strlen(name));
}

/* A name that is there again in another folder is of another checkpoint. */
static void note_name(struct parting *g, const struct visit *x, uint32_t directory)
{
	const char *path = distil_path(g->d, x->file);
	const char *slash = strrchr(path, '/');
	bool is_new;
	uint32_t n = map_number(&g->names, hash_of(slash ? slash + 1 : path, x->stage), &is_new);

	spill_need(&g->firsts, ((size_t)n + 1) * sizeof(uint32_t));
	uint32_t *first = (uint32_t *)g->firsts.at + n;
	if (is_new)
		*first = directory;
	g->is_several[x->stage] |= *first != directory;
}

static void note_part(struct parting *g, const struct visit *x)
{
	const struct file_account *f = filebook_at(&g->d->files, x->file);
	uint32_t directory = f ? f->directory : 0;
	bool is_new;
	uint32_t n = map_number(&g->keys, (uint64_t)x->stage << 32 | directory, &is_new);

	spill_need(&g->parts, ((size_t)n + 1) * sizeof(struct part));
	struct part *p = (struct part *)g->parts.at + n;
	if (is_new)
		*p = (struct part){ x->stage, directory, x->start_ns, x->end_ns };
	p->start_ns = u64_min(p->start_ns, x->start_ns);
	p->end_ns = u64_max(p->end_ns, x->end_ns);
	note_name(g, x, directory);
}

static int note_parts(struct parting *g, struct mlgen_err *err)
{
	struct visits_cursor c = { 0 };
	const struct visit *x;
	int rc;

	while ((rc = visits_next(g->d->visits, &c, &x, err)) > 0)
		if (x->stage < g->d->stage_count && is_ours(g, x->stage) && x->flags & VISIT_WRITES)
			note_part(g, x);
	return rc;
}

static void add_save(struct saves *s, uint64_t start_ns, uint64_t end_ns, uint32_t directory)
{
	if (s->count == SAVES_MOST)
		s->left_out++;
	else
		s->at[s->count++] = (struct save){ .start_ns = start_ns,
						   .end_ns = end_ns,
						   .directory = directory };
}

COMPARE_BY(by_start, struct save, start_ns)

static void make_saves(struct parting *g)
{
	const struct part *parts = g->parts.at;
	struct saves *s = g->s;

	s->at = mem_array(SAVES_MOST, sizeof(*s->at));
	for (uint32_t i = 0; i < g->d->stage_count; i++)
		if (is_ours(g, i) && !g->is_several[i])
			add_save(s, g->d->stages[i].start_ns, g->d->stages[i].end_ns, UINT32_MAX);
	for (uint32_t i = 0; i < g->keys.count; i++)
		if (g->is_several[parts[i].stage])
			add_save(s, parts[i].start_ns, parts[i].end_ns, parts[i].directory);
	qsort(s->at, s->count, sizeof(*s->at), by_start);
}

int saves_find(struct saves *s, const struct distil *d, uint32_t party, struct mlgen_err *err)
{
	struct parting g = { .s = s, .d = d, .party = party };
	int rc;

	g.is_several = mem_array((size_t)d->stage_count + 1, sizeof(*g.is_several));
	rc = note_parts(&g, err);
	if (rc == 0)
		make_saves(&g);
	map_fini(&g.keys);
	map_fini(&g.names);
	spill_free(&g.parts);
	spill_free(&g.firsts);
	mem_free(g.is_several);
	return rc;
}

uint32_t saves_begun_by(const struct saves *s, uint64_t ns)
{
	uint32_t later = (uint32_t)BISECT(i, 0, s->count, s->at[i].start_ns > ns);

	return later ? later - 1 : s->count;
}

/* ---- what is read meanwhile ---- */

/* What a visit reads is spread over its time: a file of many samples is read in more than one step.
 * As differences; the sums come last. */
static void share_visit(struct saves *s, const struct visit *x)
{
	double span = (double)(x->end_ns - x->start_ns), before = 0;
	uint32_t i = saves_begun_by(s, x->start_ns);

	if (i < s->count && x->start_ns < s->at[i].end_ns)
		s->at[i].samples_within++;
	for (i = i == s->count ? 0 : i + 1; i < s->count && s->at[i].start_ns < x->end_ns; i++) {
		double part = (double)(s->at[i].start_ns - x->start_ns) / span;

		s->at[i].samples += part - before;
		before = part;
	}
	if (i < s->count)
		s->at[i].samples += 1 - before;
}

int saves_share(struct saves *s, const struct distil *d, uint32_t party, struct mlgen_err *err)
{
	struct visits_cursor c = { 0 };
	const struct visit *x;
	int rc;

	if (party >= d->parties)
		return 0;
	while ((rc = visits_next(d->visits, &c, &x, err)) > 0)
		if (d->task[x->task].party == party && x->stage < d->stage_count &&
		    d->stages[x->stage].kind == STAGE_TRAIN &&
		    distil_class(d, x->file) == CLASS_SAMPLE)
			share_visit(s, x);
	for (uint32_t i = 1; i < s->count; i++)
		s->at[i].samples += s->at[i - 1].samples;
	return rc;
}
