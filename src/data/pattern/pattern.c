/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.c - the sequence of requests of one worker of a plain job. */

#include <assert.h>
#include <errno.h>
#include <math.h>

#include "base/mem.h"
#include "base/dist.h"
#include "base/units.h"
#include "base/util.h"
#include "data/pattern/pattern_internal.h"

/*
 * A job moves as many bytes as with fio (3.33, measured):
 *
 * Each pass goes through all regions; the next one starts when all of them are at their ends. The
 * job ends when a total of bytes is reached or the passes are over. The total is loops x io_size,
 * or loops x size without io_size; the request that reaches the total is not shortened. The number
 * of passes is loops, or more if io_size needs them. A size below the regions' (filesize is larger)
 * limits the total, but not where requests go.
 *
 * In a pass where no byte is accessed twice (one direction in sequence, or a random map), a rest at
 * the end that is smaller than a request is left out. Other orders (both directions in sequence,
 * norandommap) have passes that never end; in a sequential mix, each direction starts over when it
 * reaches the end of the region. With time_based there is neither a total nor a last pass, whatever
 * io_size is.
 *
 * With a map and several sizes (bssplit) the bytes are fio's, but the pieces are not
 * (pattern_internal.h). With a map and reads and writes of different sizes, fio ends when it finds
 * no free place for the larger size, at about two thirds of the region. mlgen uses pieces in this
 * case, too, and accesses every byte once.
 */

/* Number of requests that are computed at a time, so that their computations overlap. */
#define BATCH 64

#define ENDLESS UINT64_MAX

enum order { IN_SEQUENCE, WITH_MAP, WITH_PIECES, WITHOUT_MAP };

struct region {
	uint64_t off, bytes;
	uint64_t at[2]; /* position in sequence, of reads and of writes */
	uint64_t left;  /* requests left in this pass, or a lower bound of that */
	struct perm_walk walk;
	struct pieces *pieces;
};

struct pattern {
	/* Requests that are computed, but not yet delivered. */
	unsigned op_at, op_count;
	struct pattern_op ops[BATCH];

	enum order order;
	struct mix mix;
	uint64_t same_bytes; /* size of every request, 0 = sizes differ */
	uint64_t seed;
	unsigned count;
	struct region *regions;
	uint32_t *active; /* regions that are not at their ends, in order */
	unsigned active_count, cursor;

	uint64_t bytes, bytes_left;
	uint64_t passes_left, pass;
};

/* Do requests differ only in their offsets? */
static inline bool pattern_is_plain(const struct pattern *p)
{
	return p->same_bytes && !p->mix.is_mixed;
}

/* ---- requests of one region: `turns` of them, in every step-th entry of the batch ---- */

static uint64_t sequence_left(const struct pattern *p, const struct region *r)
{
	const struct mix_sizes *d = &p->mix.dir[p->mix.only_write];
	uint64_t rest = r->bytes - r->at[p->mix.only_write];

	/* Smallest requests fill the end of the region. */
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

/* Offsets are aligned to the smallest size of the direction, as in fio. */
static void fill_anywhere(struct pattern *p, struct region *r, struct pattern_op *op, unsigned step,
			  unsigned turns)
{
	for (unsigned i = 0; i < turns; i++, op += step) {
		uint64_t unit = p->mix.dir[op->is_write].smallest, places;

		if (op->len_bytes > r->bytes)
			op->len_bytes = unit;
		places = (r->bytes - op->len_bytes) / unit + 1;
		unsigned __int128 random = mix_random(&p->mix);
		op->off = r->off + (uint64_t)((random * places) >> 64) * unit;
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

/* ---- passes ---- */

static void start_pass(struct pattern *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
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

		p->active[i] = i;
	}
	p->active_count = p->count;
	p->cursor = 0;
	p->pass++;
	p->passes_left--;
}

static uint32_t turn_of(const struct pattern *p, unsigned i)
{
	unsigned at = p->cursor + i;

	return p->active[at < p->active_count ? at : at - p->active_count];
}

/* Compute requests for one batch: several rounds over all regions, or one round over the first
 * regions if not all fit. Returns the number of requests. */
static unsigned compute_turns(struct pattern *p)
{
	unsigned window = (unsigned)u64_min(p->active_count, BATCH);

	assert(window > 0);
	unsigned turns = window < p->active_count ? 1 : BATCH / window;
	bool finished = false;

	for (unsigned i = 0; i < window; i++)
		turns = (unsigned)u64_min(turns, p->regions[turn_of(p, i)].left);
	if (!pattern_is_plain(p) && p->order != WITH_PIECES)
		mix_draw(&p->mix, p->ops, turns * window);
	for (unsigned i = 0; i < window; i++) {
		uint32_t region = turn_of(p, i);

		pattern_fill(p, region, &p->ops[i], window, turns);
		finished |= p->regions[region].left == 0;
	}
	p->cursor = (p->cursor + window) % p->active_count;
	if (finished) {
		/* Remove regions that are at their ends; the region whose turn is next stays the
		 * same. */
		unsigned left = 0, cursor = 0;

		for (unsigned i = 0; i < p->active_count; i++) {
			if (i == p->cursor)
				cursor = left;
			if (p->regions[p->active[i]].left > 0)
				p->active[left++] = p->active[i];
		}
		p->active_count = left;
		p->cursor = cursor < left ? cursor : 0;
	}
	return turns * window;
}

/* Count up to the request that reaches the total. Returns how many of n requests remain. */
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
	p->op_count = count_bytes(p, compute_turns(p));
	p->op_at = 0;
	return true;
}

/* ---- set-up ---- */

static int add_regions(struct pattern *p, const struct pattern_config *cfg, struct mlgen_err *err)
{
	struct piece_kind kinds[MIX_KINDS_MAX];
	unsigned n = mix_kinds(&p->mix, kinds);
	uint64_t needs = u64_max(p->mix.dir[0].smallest, p->mix.dir[1].smallest);
	char a[UNITS_TEXT_BYTES], b[UNITS_TEXT_BYTES];

	p->regions = mem_array(cfg->count, sizeof(*p->regions));
	p->active = mem_array(cfg->count, sizeof(*p->active));
	for (unsigned i = 0; i < cfg->count; i++) {
		struct region *r = &p->regions[i];

		r->off = cfg->regions[i].off;
		r->bytes = cfg->regions[i].bytes;
		if (r->bytes < needs) {
			units_human_bytes(a, (double)r->bytes);
			units_human_bytes(b, (double)needs);
			if (cfg->count == 1)
				return mlgen_fail(err, -EINVAL,
						  "size: %s is less than one request of %s; "
						  "raise size or lower bs",
						  a, b);
			return mlgen_fail(err, -EINVAL,
					  "size: file %u of %u has %s for this job, less than one "
					  "request of %s; raise size or lower bs",
					  i + 1, cfg->count, a, b);
		}
		if (p->order == WITH_PIECES)
			r->pieces = pieces_new(kinds, n, r->bytes);
		p->count++;
	}
	return 0;
}

/* Number of passes for this many bytes; no pass begins for less than a request. */
static uint64_t passes_for(const struct pattern *p, uint64_t bytes, uint64_t pass)
{
	uint64_t one = p->mix.dir[p->mix.only_write].largest;

	return bytes > one ? (bytes - one) / pass + 1 : 1;
}

static void set_limits(struct pattern *p, const struct job *job)
{
	uint64_t loops = job->loops ? job->loops : 1;
	uint64_t pass = 0, size = 0, total;

	if (p->order == WITHOUT_MAP || (p->order == IN_SEQUENCE && p->mix.is_mixed))
		pass = ENDLESS;
	for (unsigned i = 0; i < p->count && pass != ENDLESS; i++) {
		const struct region *r = &p->regions[i];
		uint64_t rest = r->bytes % p->mix.dir[p->mix.only_write].smallest;

		pass += r->pieces ? pieces_bytes(r->pieces) : r->bytes - rest;
	}
	assert(pass > 0); /* each region holds at least one request */
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

	p->seed = rng_u64(cfg->job->randseed, RNG_WORKER, cfg->worker);
	int r = mix_init(&p->mix, cfg->job, p->seed, err);
	if (!job_is_random(cfg->job))
		p->order = IN_SEQUENCE;
	else if (cfg->job->norandommap)
		p->order = WITHOUT_MAP;
	else
		p->order = p->mix.one_size ? WITH_MAP : WITH_PIECES;
	if (p->mix.one_size)
		p->same_bytes = p->mix.dir[p->mix.only_write].largest;
	if (!r)
		r = add_regions(p, cfg, err);
	if (r) {
		pattern_free(p);
		return r;
	}
	set_limits(p, cfg->job);
	/* Requests that are alike keep this draw; otherwise compute_turns draws for each batch. */
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

	if (mix_init(&m, job, 0, NULL))
		return 0;
	return u64_max(m.dir[0].largest, m.dir[1].largest);
}
