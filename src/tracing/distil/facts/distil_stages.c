/* SPDX-License-Identifier: Apache-2.0 */
/* distil_stages.c - finds epochs, evaluations and checkpoints by markers or repeated visits. */
#include "tracing/distil/facts/facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

enum {
	EPOCHS_MOST = 4096, /* a trace that seems to have more has one epoch */
	STAGES_MOST = 16384,
	SETS_MOST = 64, /* largest number of folders directly below the folder of the data set */
	GAPS_MOST = 1 << 16,
};
/* The times between checkpoints are at least this many times as long as those between files of a
 * checkpoint. */
#define GAP_RATIO 8.0
#define GAP_LEAST_NS UINT64_C(1000000)

/* A folder directly below the folder that holds all samples of a training run. */
struct data_set {
	char name[64];
	uint64_t visits, runs; /* runs: sequences of visits to this folder alone */
	bool is_eval;
};

struct party_stages {
	struct distil *d;
	uint32_t party;
	char *root;        /* the folder of all samples, with its / */
	size_t root_bytes; /* length of root */
	struct data_set sets[SETS_MOST];
	uint32_t set_count, last_set;
	struct keyed places; /* uint32_t, by file and end of the read: last epoch plus 1 */
	uint64_t *begins;    /* EPOCHS_MOST; number of the first visit of each epoch */
	uint32_t epochs;
	uint64_t visits;
	uint32_t first_train; /* stage of the first epoch */
	uint32_t epoch;       /* current epoch */
	uint32_t eval;        /* stage of the current evaluation */
	uint32_t evals;       /* number of evaluations so far */
	bool evaluates;
};

/* Does the visit read a sample of the party? */
static bool reads_sample(const struct distil *d, const struct visit *x, uint32_t party)
{
	enum file_class class = distil_class(d, x->file);

	return d->task[x->task].party == party && (class == CLASS_SAMPLE || class == CLASS_MADE) &&
	       x->flags & (VISIT_READS | VISIT_MAPS) && !(x->flags & VISIT_WRITES);
}

static uint32_t add_stage(struct distil *d, enum stage_kind kind, uint32_t party, uint32_t number,
			  enum distil_sure sure)
{
	if (d->stage_count == STAGES_MOST)
		return STAGES_MOST - 1;
	d->stages = mem_realloc(d->stages, (d->stage_count + 1) * sizeof(*d->stages));
	struct distil_stage *s = &d->stages[d->stage_count];
	*s = (struct distil_stage){
		.kind = kind, .party = party, .number = number, .sure = sure, .start_ns = UINT64_MAX
	};
	return d->stage_count++;
}

static void widen_stage(struct distil *d, uint32_t stage, struct visit *x)
{
	struct distil_stage *s = &d->stages[stage];

	s->start_ns = u64_min(s->start_ns, x->start_ns);
	s->end_ns = u64_max(s->end_ns, x->end_ns);
	x->stage = (uint16_t)stage;
}

/* ---- folders for training and for evaluation ---- */

/* Cut the root to the directory that it has in common with the file of a visit. */
static void cut_root(struct party_stages *s, const struct visit *x)
{
	const char *path = distil_path(s->d, x->file);
	size_t n = 0, whole = 0;

	if (!s->root) {
		const char *slash = strrchr(path, '/');

		s->root = mem_strdup(path);
		s->root[slash ? slash + 1 - path : 0] = '\0';
		return;
	}
	for (; s->root[n] && s->root[n] == path[n]; n++)
		if (s->root[n] == '/')
			whole = n + 1;
	s->root[whole] = '\0';
}

static uint32_t set_of(struct party_stages *s, const char *path)
{
	const char *name = path + s->root_bytes;
	size_t n = strcspn(name, "/");
	uint32_t i = 0;

	/* Files directly in the root are a set as well. */
	if (!name[n])
		n = 0;
	n = u64_min(n, sizeof(s->sets->name) - 1);
	while (i < s->set_count && (strncmp(s->sets[i].name, name, n) != 0 || s->sets[i].name[n]))
		i++;
	if (i == SETS_MOST)
		return SETS_MOST - 1;
	if (i == s->set_count) {
		memcpy(s->sets[i].name, name, n);
		s->set_count++;
	}
	return i;
}

typedef void each_sample(struct party_stages *s, const struct visit *x);

static int each_visit(struct party_stages *s, each_sample *each, struct mlgen_err *err)
{
	struct visits_cursor c = { 0 };
	const struct visit *x;
	int rc;

	while ((rc = visits_next(s->d->visits, &c, &x, err)) > 0)
		if (reads_sample(s->d, x, s->party))
			each(s, x);
	return rc;
}

static void add_set_visit(struct party_stages *s, const struct visit *x)
{
	uint32_t n = set_of(s, distil_path(s->d, x->file));
	struct data_set *set = &s->sets[n];

	set->runs += set->visits == 0 || n != s->last_set;
	set->visits++;
	s->last_set = n;
}

static bool is_eval(struct party_stages *s, const struct visit *x)
{
	return s->sets[set_of(s, distil_path(s->d, x->file))].is_eval;
}

/* ---- epochs ---- */

/* Begin another epoch if a sample of this epoch is visited again. Samples of one file are
 * distinguished by the end of the visit, which also works if headers are read first. */
static void find_epoch(struct party_stages *s, const struct visit *x)
{
	uint64_t key = (uint64_t)x->file << 40 ^ x->end_off * UINT64_C(0x9e3779b97f4a7c15) >> 8;
	uint32_t *last_epoch; /* number plus 1 */

	if (is_eval(s, x))
		return;
	last_epoch = keyed_item(&s->places, key, sizeof(uint32_t), NULL);
	/* Both are 0 at the first visit, which begins the first epoch. */
	if (*last_epoch == s->epochs && s->epochs < EPOCHS_MOST)
		s->begins[s->epochs++] = s->visits;
	*last_epoch = s->epochs;
	s->visits++;
}

/* Can all epochs have the same number of visits? An epoch may begin with samples that the previous
 * epoch left out, so its beginning is found some visits late. */
static bool are_equal(const struct party_stages *s)
{
	uint64_t length = s->visits / s->epochs;

	if (s->visits % s->epochs)
		return false;
	for (uint32_t i = 1; i < s->epochs; i++)
		if (s->begins[i] < i * length || s->begins[i] - i * length > length / 4)
			return false;
	return true;
}

/* ---- the stage of each visit ---- */

static void stage_visit(void *arg, struct visit *x)
{
	struct party_stages *s = arg;

	if (!reads_sample(s->d, x, s->party))
		return;
	if (is_eval(s, x)) {
		/* An evaluation ends when training continues. */
		if (!s->evaluates)
			s->eval = add_stage(s->d, STAGE_EVAL, s->party, s->evals++, DISTIL_LIKELY);
		s->evaluates = true;
		widen_stage(s->d, s->eval, x);
		return;
	}
	s->evaluates = false;
	if (s->epoch + 1 < s->epochs && s->visits == s->begins[s->epoch + 1])
		s->epoch++;
	s->visits++;
	widen_stage(s->d, s->first_train + s->epoch, x);
}

static int stage_party(struct distil *d, uint32_t party, struct mlgen_err *err)
{
	struct party_stages s = { .d = d, .party = party };
	int rc = each_visit(&s, cut_root, err);

	if (rc == 0 && s.root) {
		s.root_bytes = strlen(s.root);
		s.begins = mem_array(EPOCHS_MOST, sizeof(*s.begins));
		rc = each_visit(&s, add_set_visit, err);

		/* The folder with most visits is for training. Another folder is for evaluation if
		 * its visits come in long sequences, because a shuffle would switch between folders
		 * all the time. */
		uint32_t most = 0;
		for (uint32_t i = 1; i < s.set_count; i++)
			if (s.sets[i].visits > s.sets[most].visits)
				most = i;
		for (uint32_t i = 0; s.set_count < SETS_MOST && i < s.set_count; i++)
			s.sets[i].is_eval = i != most && s.sets[most].visits >= 8 &&
					    s.sets[most].runs <= s.sets[most].visits / 4 &&
					    s.sets[i].runs <= u64_max(1, s.sets[i].visits / 4);

		if (rc == 0)
			rc = each_visit(&s, find_epoch, err);
		if (rc == 0 && s.visits) {
			bool equal = s.epochs > 1 && are_equal(&s);

			/* Add the stages of epochs. A draw with replacement reads some samples
			 * again long before others are read at all, and is one epoch. */
			if (s.epochs == EPOCHS_MOST ||
			    s.visits < (uint64_t)s.places.keys.count / 2 * s.epochs)
				s.epochs = 1;
			for (uint32_t i = 0; equal && i < s.epochs; i++)
				s.begins[i] = i * (s.visits / s.epochs);
			s.first_train = d->stage_count;
			for (uint32_t i = 0; i < s.epochs; i++)
				add_stage(d, STAGE_TRAIN, party, i,
					  equal ? DISTIL_SURE : DISTIL_LIKELY);

			s.visits = 0;
			rc = visits_each(d->visits, stage_visit, &s, err);
		}
		keyed_fini(&s.places);
		mem_free(s.begins);
	}
	mem_free(s.root);
	return rc;
}

/* ---- checkpoints ---- */

/* Checkpoint files that are written, or read back. */
struct save_finder {
	struct distil *d;
	bool writes; /* true: checkpoints are written; false: restored */
	uint64_t *gaps;
	uint32_t count;
	uint64_t end_ns, bound_ns;
	uint32_t stage, number;
	bool has_stage;
};

static bool is_save(const struct save_finder *s, const struct visit *x)
{
	return distil_class(s->d, x->file) == CLASS_CHECKPOINT &&
	       ((x->flags & VISIT_WRITES) != 0) == s->writes &&
	       x->flags & (VISIT_WRITES | VISIT_READS);
}

static void stage_save(void *arg, struct visit *x)
{
	struct save_finder *s = arg;

	if (!is_save(s, x))
		return;
	if (!s->has_stage || (x->start_ns > s->end_ns && x->start_ns - s->end_ns >= s->bound_ns))
		s->stage = add_stage(s->d, s->writes ? STAGE_SAVE : STAGE_RESTORE,
				     s->d->task[x->task].party, s->number++, DISTIL_LIKELY);
	s->has_stage = true;
	widen_stage(s->d, s->stage, x);
	s->end_ns = u64_max(s->end_ns, x->end_ns);
}

static int stage_saves(struct distil *d, bool writes, struct mlgen_err *err)
{
	struct save_finder s = { .d = d, .writes = writes };
	int rc;

	s.gaps = mem_array(GAPS_MOST, sizeof(*s.gaps));

	/* The times in which no checkpoint file is written, or read. */
	struct visits_cursor c = { 0 };
	const struct visit *x;
	while ((rc = visits_next(d->visits, &c, &x, err)) > 0) {
		if (!is_save(&s, x))
			continue;
		if (s.end_ns && s.count < GAPS_MOST)
			s.gaps[s.count++] = x->start_ns > s.end_ns ? x->start_ns - s.end_ns : 0;
		s.end_ns = u64_max(s.end_ns, x->end_ns);
	}

	/* The least gap between checkpoints is at the largest ratio of two successive gaps. If all
	 * gaps are similar and longer than 4 ms, each file is a checkpoint. */
	double best = GAP_RATIO;
	s.bound_ns = UINT64_MAX;
	qsort(s.gaps, s.count, sizeof(*s.gaps), u64_compare);
	for (uint32_t i = 0; i + 1 < s.count; i++) {
		uint64_t shorter = u64_max(s.gaps[i], GAP_LEAST_NS);
		double ratio = (double)s.gaps[i + 1] / (double)shorter;

		if (ratio > best) {
			best = ratio;
			s.bound_ns = s.gaps[i + 1];
		}
	}
	if (s.bound_ns == UINT64_MAX && s.count && s.gaps[0] > 4 * GAP_LEAST_NS)
		s.bound_ns = s.gaps[0];

	s.end_ns = 0;
	if (rc == 0)
		rc = visits_each(d->visits, stage_save, &s, err);
	mem_free(s.gaps);
	return rc;
}

/* ---- other visits ---- */

static void stage_rest(void *arg, struct visit *x)
{
	struct distil *d = arg;
	enum file_class class = distil_class(d, x->file);

	if (x->stage)
		return;
	if (class == CLASS_MADE && x->flags & VISIT_WRITES)
		widen_stage(d, 1, x);
	else if (class == CLASS_PLAIN)
		widen_stage(d, 2, x);
	else
		widen_stage(d, 0, x);
}

int distil_stages(struct distil *d, struct mlgen_err *err)
{
	int rc = 0;

	add_stage(d, STAGE_SETUP, UINT32_MAX, 0, DISTIL_GUESS);
	add_stage(d, STAGE_GENERATE, UINT32_MAX, 0, DISTIL_SURE);
	add_stage(d, STAGE_PLAIN, UINT32_MAX, 0, DISTIL_GUESS);
	for (uint32_t p = 0; rc == 0 && p < d->parties; p++)
		rc = stage_party(d, p, err);
	if (rc == 0)
		rc = stage_saves(d, true, err);
	if (rc == 0)
		rc = stage_saves(d, false, err);
	if (rc == 0)
		rc = visits_each(d->visits, stage_rest, d, err);
	return rc;
}

bool distil_reads_sample(const struct distil *d, const struct visit *x, uint32_t party,
			 enum stage_kind kind)
{
	return reads_sample(d, x, party) && x->stage < d->stage_count &&
	       d->stages[x->stage].kind == kind && d->stages[x->stage].party == party;
}
