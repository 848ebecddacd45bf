/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.c - the requests of one worker of a plain job, one after the other. */

#include <assert.h>
#include <errno.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/units.h"
#include "base/util.h"
#include "data/pattern/pattern_internal.h"

/*
 * How much a job moves, as fio has it (3.33, measured):
 *
 * Regions are passed through, and again from their starts when all are through to their ends, until
 * a total of bytes is reached or the passes are over. The total is loops x io_size, or size without
 * it; the request that reaches it is whole. The passes are loops, or more where io_size needs them.
 * A size below the regions' (filesize is larger) bounds the total, not where requests go.
 *
 * Where each request takes its own part of a region (one direction in sequence, a random map) a
 * pass leaves out what is less than a request at the end. The others (both directions in sequence,
 * norandommap) have no pass that ends; in a sequential mix each direction starts again when it is
 * through. With time_based there is neither a total nor a last pass, whatever io_size.
 *
 * With a map and several sizes (bssplit) the bytes are fio's, the pieces are not
 * (pattern_internal.h). With a map and reads and writes that differ in size fio ends where it finds
 * no free place for the larger, at about two thirds of it; here they are pieces, too, and every
 * byte is taken once.
 */

/* Requests computed at a time: what they are made of overlaps. */
#define BATCH 64

#define ENDLESS UINT64_MAX

enum order { IN_SEQUENCE, WITH_MAP, WITH_PIECES, WITHOUT_MAP };

struct region {
	uint64_t off, bytes;
	uint64_t at[2]; /* in sequence, of reads and of writes */
	uint64_t left;  /* requests to come in this pass, at least */
	struct perm_walk walk;
	struct pieces *pieces;
};

struct pattern {
	/* Computed ahead. */
	unsigned op_at, op_count;
	struct pattern_op ops[BATCH];

	enum order order;
	struct mix mix;
	uint64_t same_bytes; /* of all requests, 0 = they differ */
	uint64_t seed;
	unsigned count;
	struct region *regions;
	uint32_t *active; /* regions that are not through, in order */
	unsigned active_count, cursor;

	uint64_t bytes, bytes_left;
	uint64_t passes_left, pass;
};

/* A fraction of n: (random / 2^64) * n. */
static inline uint64_t scale(uint64_t random, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)random * n) >> 64);
}

/* Requests that differ in nothing but their place. */
static inline bool pattern_is_plain(const struct pattern *p)
{
	return p->same_bytes && !p->mix.is_mixed;
}

/* What a region does next: `turns` requests, every step-th of the batch. */

static uint64_t sequence_left(const struct pattern *p, const struct region *r)
{
	const struct mix_sizes *d = &p->mix.dir[p->mix.only_write];
	uint64_t rest = r->bytes - r->at[p->mix.only_write];

	/* At the end the smallest fills up. */
	return rest >= d->largest ? rest / d->largest : rest >= d->smallest;
}

static void fill_plain_sequence(const struct pattern *p, struct region *r, struct pattern_op *op,
				unsigned step, unsigned turns)
{
	uint64_t *at = &r->at[p->mix.only_write];
	uint64_t off = r->off + *at;

	for (unsigned i = 0; i < turns; i++)
		op[i * step].off = off + i * p->same_bytes;
	*at += turns * p->same_bytes;
	r->left -= turns;
}

static void fill_sequence(struct pattern *p, struct region *r, struct pattern_op *op, unsigned step,
			  unsigned turns)
{
	for (unsigned i = 0; i < turns; i++, op += step) {
		uint64_t *at = &r->at[op->is_write];
		uint64_t smallest = p->mix.dir[op->is_write].smallest;

		if (op->len_bytes > r->bytes - *at)
			op->len_bytes = smallest;
		if (smallest > r->bytes - *at)
			*at = 0;
		op->off = r->off + *at;
		*at += op->len_bytes;
	}
	if (!p->mix.is_mixed)
		r->left = sequence_left(p, r);
}

static void fill_from_map(struct pattern *p, struct region *r, struct pattern_op *op, unsigned step,
			  unsigned turns)
{
	uint64_t blocks[BATCH];
	uint64_t bytes = p->same_bytes;

	perm_walk_next(&r->walk, blocks, turns);
	for (unsigned i = 0; i < turns; i++, op += step)
		op->off = r->off + blocks[i] * bytes;
	r->left -= turns;
}

static void fill_from_pieces(struct pattern *p, struct region *r, struct pattern_op *op,
			     unsigned step, unsigned turns)
{
	for (unsigned i = 0; i < turns; i++, op += step) {
		struct piece piece = pieces_next(r->pieces, mix_random(&p->mix));

		op->off = r->off + piece.off;
		op->len_bytes = piece.bytes;
		op->is_write = piece.is_write;
	}
	r->left -= turns;
}

/* Aligned to the smallest size of the direction, as fio's. */
static void fill_anywhere(struct pattern *p, struct region *r, struct pattern_op *op, unsigned step,
			  unsigned turns)
{
	for (unsigned i = 0; i < turns; i++, op += step) {
		uint64_t unit = p->mix.dir[op->is_write].smallest;

		if (op->len_bytes > r->bytes)
			op->len_bytes = unit;
		op->off = (r->bytes - op->len_bytes) / unit + 1;
		op->off = r->off + scale(mix_random(&p->mix), op->off) * unit;
	}
}

static void pattern_fill(struct pattern *p, uint32_t region, struct pattern_op *op, unsigned step,
			 unsigned turns)
{
	struct region *r = &p->regions[region];

	if (p->count > 1) {
		for (unsigned i = 0; i < turns; i++)
			op[i * step].region = region;
	}
	switch (p->order) {
	case IN_SEQUENCE:
		if (pattern_is_plain(p))
			fill_plain_sequence(p, r, op, step, turns);
		else
			fill_sequence(p, r, op, step, turns);
		break;
	case WITH_MAP:
		fill_from_map(p, r, op, step, turns);
		break;
	case WITH_PIECES:
		fill_from_pieces(p, r, op, step, turns);
		break;
	case WITHOUT_MAP:
		fill_anywhere(p, r, op, step, turns);
		break;
	}
}

/* Passes. */

static void start_region(struct pattern *p, uint32_t i)
{
	struct region *r = &p->regions[i];
	uint64_t round = p->pass * p->count + i;

	r->left = ENDLESS;
	switch (p->order) {
	case IN_SEQUENCE:
		r->at[0] = r->at[1] = 0;
		if (!p->mix.is_mixed)
			r->left = sequence_left(p, r);
		break;
	case WITH_MAP:
		r->left = r->bytes / p->same_bytes;
		perm_walk_init(&r->walk, r->left, p->seed, round);
		break;
	case WITH_PIECES:
		r->left = pieces_count(r->pieces);
		pieces_start(r->pieces, p->seed, round);
		break;
	case WITHOUT_MAP:
		break;
	}
}

static void start_pass(struct pattern *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		start_region(p, i);
		p->active[i] = i;
	}
	p->active_count = p->count;
	p->cursor = 0;
	p->pass++;
	p->passes_left--;
}

/* The next to have its turn is the same after some have dropped out. */
static void drop_finished(struct pattern *p)
{
	unsigned kept = 0, cursor = 0;

	for (unsigned i = 0; i < p->active_count; i++) {
		if (i == p->cursor)
			cursor = kept;
		if (p->regions[p->active[i]].left > 0)
			p->active[kept++] = p->active[i];
	}
	p->active_count = kept;
	p->cursor = cursor < kept ? cursor : 0;
}

static uint32_t turn_of(const struct pattern *p, unsigned i)
{
	unsigned at = p->cursor + i;

	return p->active[at < p->active_count ? at : at - p->active_count];
}

/* As many rounds of as many regions as fit; their requests. */
static unsigned take_turns(struct pattern *p)
{
	unsigned window = p->active_count < BATCH ? p->active_count : BATCH;
	unsigned turns = window < p->active_count ? 1 : BATCH / window;
	bool finished = false;

	for (unsigned i = 0; i < window; i++) {
		uint64_t left = p->regions[turn_of(p, i)].left;

		if (turns > left)
			turns = (unsigned)left;
	}
	if (!pattern_is_plain(p) && p->order != WITH_PIECES)
		mix_draw(&p->mix, p->ops, turns * window);
	for (unsigned i = 0; i < window; i++) {
		uint32_t region = turn_of(p, i);

		pattern_fill(p, region, &p->ops[i], window, turns);
		finished |= p->regions[region].left == 0;
	}
	p->cursor = (p->cursor + window) % p->active_count;
	if (finished)
		drop_finished(p);
	return turns * window;
}

/* Up to the request that reaches the total. */
static unsigned count_bytes(struct pattern *p, unsigned n)
{
	if (p->bytes_left == ENDLESS)
		return n;
	if (p->same_bytes && p->bytes_left > n * p->same_bytes) {
		p->bytes_left -= n * p->same_bytes;
		return n;
	}
	for (unsigned i = 0; i < n; i++) {
		if (p->ops[i].len_bytes >= p->bytes_left) {
			p->bytes_left = 0;
			return i + 1;
		}
		p->bytes_left -= p->ops[i].len_bytes;
	}
	return n;
}

static bool refill(struct pattern *p)
{
	if (p->bytes_left == 0)
		return false;
	if (p->active_count == 0) {
		if (p->passes_left == 0)
			return false;
		start_pass(p);
	}
	p->op_count = count_bytes(p, take_turns(p));
	p->op_at = 0;
	return true;
}

/* Setting up. */

static enum order order_of(const struct job *job, const struct mix *m)
{
	if (!job_is_random(job))
		return IN_SEQUENCE;
	if (job->norandommap)
		return WITHOUT_MAP;
	return m->one_size ? WITH_MAP : WITH_PIECES;
}

static int check_region(const struct pattern *p, const struct pattern_config *cfg, unsigned i,
			struct mlgen_err *err)
{
	uint64_t has = cfg->regions[i].bytes, needs = 0;
	char a[UNITS_TEXT_BYTES], b[UNITS_TEXT_BYTES];

	for (unsigned k = 0; k < 2; k++) {
		if (p->mix.dir[k].smallest > needs)
			needs = p->mix.dir[k].smallest;
	}
	if (has >= needs)
		return 0;
	units_human_bytes(a, (double)has);
	units_human_bytes(b, (double)needs);
	if (cfg->count == 1)
		return mlgen_fail(err, -EINVAL,
				  "size: %s is less than one request of %s; raise size or lower bs",
				  a, b);
	return mlgen_fail(err, -EINVAL,
			  "size: file %u of %u has %s for this job, less than one request of %s; "
			  "raise size or lower bs",
			  i + 1, cfg->count, a, b);
}

static int add_regions(struct pattern *p, const struct pattern_config *cfg, struct mlgen_err *err)
{
	struct piece_kind kinds[MIX_KINDS_MAX];
	unsigned n = mix_kinds(&p->mix, kinds);

	p->regions = mem_array(cfg->count, sizeof(*p->regions));
	p->active = mem_array(cfg->count, sizeof(*p->active));
	for (unsigned i = 0; i < cfg->count; i++) {
		struct region *r = &p->regions[i];
		int rc = check_region(p, cfg, i, err);

		if (rc)
			return rc;
		r->off = cfg->regions[i].off;
		r->bytes = cfg->regions[i].bytes;
		if (p->order == WITH_PIECES)
			r->pieces = pieces_new(kinds, n, r->bytes);
		p->count++;
	}
	return 0;
}

/* What one pass moves; ENDLESS where none ends. */
static uint64_t pass_bytes(const struct pattern *p)
{
	uint64_t sum = 0;

	if (p->order == WITHOUT_MAP || (p->order == IN_SEQUENCE && p->mix.is_mixed))
		return ENDLESS;
	for (unsigned i = 0; i < p->count; i++) {
		const struct region *r = &p->regions[i];
		uint64_t rest = r->bytes % p->mix.dir[p->mix.only_write].smallest;

		sum += r->pieces ? pieces_bytes(r->pieces) : r->bytes - rest;
	}
	return sum;
}

/* No pass begins for less than a request. */
static uint64_t passes_for(const struct pattern *p, uint64_t bytes, uint64_t pass)
{
	uint64_t one = p->mix.dir[p->mix.only_write].largest;

	return bytes > one ? (bytes - one) / pass + 1 : 1;
}

static void set_limits(struct pattern *p, const struct job *job)
{
	uint64_t loops = job->loops ? job->loops : 1;
	uint64_t pass = pass_bytes(p), size = 0, total;

	assert(pass > 0); /* each region has room for a request */
	p->bytes = p->bytes_left = p->passes_left = ENDLESS;
	if (job->time_based)
		return;
	for (unsigned i = 0; i < p->count; i++)
		size += p->regions[i].bytes;
	if (job->size.bytes && job->size.bytes < size)
		size = job->size.bytes;
	total = job->io_size.bytes;
	if (job->io_size.percent > 0)
		total = (uint64_t)ceil((double)size * job->io_size.percent / 100);
	p->passes_left = loops;
	if (total && passes_for(p, total, pass) > loops)
		p->passes_left = passes_for(p, total, pass);
	p->bytes_left = u64_product(total ? total : size, loops);
	p->bytes = u64_product(pass, p->passes_left);
	if (p->bytes > p->bytes_left) {
		uint64_t unit = p->mix.dir[p->mix.only_write].smallest;
		uint64_t rest = p->bytes_left % unit;

		p->bytes = p->bytes_left + (rest ? unit - rest : 0);
	}
}

int pattern_new(struct pattern **out, const struct pattern_config *cfg, struct mlgen_err *err)
{
	struct pattern *p = mem_zalloc(sizeof(*p));
	int r;

	p->seed = rng_u64(cfg->job->randseed, RNG_WORKER, cfg->worker);
	r = mix_init(&p->mix, cfg->job, p->seed, err);
	p->order = order_of(cfg->job, &p->mix);
	if (p->mix.one_size)
		p->same_bytes = p->mix.dir[p->mix.only_write].largest;
	if (!r)
		r = add_regions(p, cfg, err);
	if (r) {
		pattern_free(p);
		return r;
	}
	set_limits(p, cfg->job);
	/* Once where nothing changes, else again for every batch. */
	if (!p->mix.is_mixed)
		mix_draw(&p->mix, p->ops, BATCH);
	*out = p;
	return 0;
}

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < p->count; i++)
		pieces_free(p->regions[i].pieces);
	mem_free(p->regions);
	mem_free(p->active);
	mem_free(p);
}

bool pattern_next(struct pattern *p, struct pattern_op *op)
{
	if (p->op_at == p->op_count && !refill(p))
		return false;
	*op = p->ops[p->op_at++];
	return true;
}

uint64_t pattern_bytes(const struct pattern *p)
{
	return p->bytes;
}

uint64_t pattern_largest_bytes(const struct job *job)
{
	struct mix m;
	uint64_t a, b;

	if (mix_init(&m, job, 0, NULL))
		return 0;
	a = m.dir[0].largest;
	b = m.dir[1].largest;
	return a > b ? a : b;
}
