/* SPDX-License-Identifier: Apache-2.0 */
/* tier_sizes.c - how large a cache tier is, what that takes of memory, and what it cannot be. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <zlib.h>

#include "base/util.h"
#include "run/tier_inside.h"

/* In files, and where reads are direct, slots begin at whole blocks. */
#define BLOCK_BYTES UINT64_C(4096)
#define SLOT_ALIGN UINT64_C(64)

uint64_t tier_data_bytes(const struct tier_units *u)
{
	struct dataset_totals totals;

	dataset_totals(u->plan->dataset, &totals);
	return u->kind == CACHE_FILES ? totals.bytes : totals.sample_bytes;
}

/* Of a unit, as it is kept. */
double tier_mean_bytes(const struct tier_units *u)
{
	return (double)u->stored_bytes * u->factor / (double)u->count;
}

uint64_t tier_cache_count(const struct job *j)
{
	return j->cache_scope == CACHE_OF_RANK ? j->accelerators : 1;
}

uint64_t tier_ranks_of(const struct job *j)
{
	return job_cache_parts(j) > 1 ? job_all_accelerators(j) : j->accelerators;
}

/* Of samples, those of a unit count together. */
static uint64_t units_of(const struct tier_units *u, uint64_t samples)
{
	uint64_t each = tier_unit_samples(u);

	return each ? divide_up(samples, each) : samples;
}

static struct cache_config limits_of(const struct job *j, const struct tier_units *u)
{
	const struct cache_size *size = &j->cache_size;
	struct cache_config cfg = { .policy = (enum job_cache)j->cache,
				    .units = u->count,
				    .capacity_bytes = UINT64_MAX,
				    .capacity_units = UINT64_MAX,
				    .seed = j->randseed };

	if (u->same_bytes)
		cfg.each_bytes = tier_kept_bytes(u, u->same_bytes);
	if (size->samples)
		cfg.capacity_units = units_of(u, size->samples);
	else if (size->percent > 0)
		cfg.capacity_bytes =
			(uint64_t)(size->percent / 100 * (double)u->stored_bytes + 0.5);
	else
		cfg.capacity_bytes = size->bytes;
	/* Equal ones are as many as fit, whatever is asked of them. */
	if (u->same_bytes && cfg.capacity_bytes < UINT64_MAX)
		cfg.capacity_units = u64_max(cfg.capacity_bytes / cfg.each_bytes, 1);
	return cfg;
}

static uint64_t slot_bytes_of(const struct job *j, const struct tier_units *u)
{
	uint64_t align = j->cache_directory || u->plan->align_bytes ? BLOCK_BYTES : SLOT_ALIGN;

	uint64_t most = u64_max(u->largest_bytes, tier_kept_bytes(u, u->largest_bytes));

	return u64_max(divide_up(most, align), 1) * align;
}

void tier_size_up(struct tier_sizes *s, const struct job *j, const struct pass *pass)
{
	tier_units_init(&s->units, &pass->plan, j);
	s->limits = limits_of(j, &s->units);
	s->slot_bytes = slot_bytes_of(j, &s->units);
	s->slots = cache_slots(&s->limits);
}

uint64_t tier_identity(const struct job *j, const struct pass *pass)
{
	struct tier_sizes s;

	tier_size_up(&s, j, pass);
	const uint64_t facts[] = {
		s.units.count,
		s.units.largest_bytes,
		s.units.same_bytes,
		s.limits.capacity_bytes,
		s.slot_bytes,
		s.slots,
		pass->sampler.ranks,
		pass->sampler.rank_extents,
		tier_data_bytes(&s.units),
	};
	return crc32_z(0, (const unsigned char *)facts, sizeof(facts));
}

bool tier_has_slots(const struct job *j)
{
	return tier_place_of(j)->keeps || j->cache_prefetch;
}

bool tier_has_buffers(const struct job *j)
{
	const struct tier_place *place = tier_place_of(j);

	return place->buffers || (place->keeps && job_cache_parts(j) > 1);
}

/* Of units that differ, so many as fit of the mean size: who looks at each of them is the run. */
static void expect_slots(struct tier_sizes *s)
{
	double mean = tier_mean_bytes(&s->units);
	double fit = (double)s->limits.capacity_bytes / fmax(1, mean);

	if (!s->units.same_bytes && fit < (double)s->limits.capacity_units)
		s->limits.capacity_units = (uint64_t)ceil(fit);
	s->slots = cache_slots(&s->limits);
}

/* Of all slots those of this process. */
static uint64_t tier_slots_of(const struct job *j, uint64_t slots)
{
	return tier_slots_here(slots, job_cache_parts(j), job_cache_part(j));
}

/* Of a slot, beside what the policy has of it: its word, and a checksum. */
static uint64_t slot_state_bytes(const struct job *j)
{
	bool has_sum = tier_place_of(j)->keeps && j->cache_verify;

	return tier_has_slots(j) ? sizeof(uint64_t) + (has_sum ? sizeof(uint32_t) : 0) : 0;
}

uint64_t tier_stored_bytes(const struct job *j, const struct stages *stages)
{
	struct tier_units u;

	tier_units_init(&u, &stages->train.plan, j);
	return u.stored_bytes;
}

uint64_t tier_state_bytes(const struct job *j, const struct stages *stages)
{
	const struct pass *pass = &stages->train;
	struct tier_sizes s;
	uint64_t bytes;

	tier_size_up(&s, j, pass);
	expect_slots(&s);
	bytes = tier_decide_bytes(j, pass, &s.limits) +
		tier_cache_count(j) * tier_slots_of(j, s.slots) * slot_state_bytes(j);
	if (j->cache == CACHE_BELADY)
		bytes += tier_future_bytes(j, pass, s.units.count);
	return bytes;
}

static void need_memory(struct memneed *n, const struct job *j, const struct tier_sizes *s)
{
	uint64_t mapped = u64_product(tier_slots_of(j, s->slots), s->slot_bytes);
	uint64_t used = u64_min(mapped, divide_up(s->limits.capacity_bytes, job_cache_parts(j)));

	if (j->mem == MEM_HUGEPAGE)
		used = 0;
	memneed_add_for(n, "cache_size", u64_product(used, tier_cache_count(j)),
			u64_product(mapped, tier_cache_count(j)));
}

static void need_ahead(struct memneed *n, const struct job *j, const struct tier_sizes *s)
{
	uint64_t caches = tier_cache_count(j);
	uint64_t threads = u64_product(caches, tier_ahead_threads(j, j->accelerators / caches));
	uint64_t each = j->cache_directory ? s->slot_bytes : 0;

	if (!j->cache_prefetch)
		return;
	memneed_threads(n, threads, 1u << 20);
	memneed_add(n, u64_product(threads, each), u64_product(threads, each));
}

/* Who answers others has a unit in hand, if it is not in memory anyway. */
static void need_servers(struct memneed *n, const struct job *j, const struct tier_sizes *s)
{
	uint64_t each = j->cache_directory ? s->slot_bytes : 0;

	memneed_threads(n, TIER_SERVERS, TIER_SERVER_BYTES);
	memneed_add(n, TIER_SERVERS * each, u64_product(TIER_SERVERS, s->slot_bytes));
}

/* A filler needs memory for its queue and for the unit that it writes. */
static void need_filler(struct memneed *n, const struct job *j, const struct tier_sizes *s)
{
	uint64_t queue = u64_product(tier_filler_places(j, s->slot_bytes) + 1, s->slot_bytes);

	memneed_threads(n, tier_cache_count(j), 0);
	memneed_add_for(n, "cache_queue", u64_product(queue, tier_cache_count(j)),
			u64_product(queue, tier_cache_count(j)));
}

void tier_need(struct memneed *n, const struct job *j, const struct stages *stages)
{
	uint64_t state, buffers;
	struct tier_sizes s;

	if (j->cache == CACHE_NONE)
		return;
	tier_size_up(&s, j, &stages->train);
	state = tier_state_bytes(j, stages);
	memneed_add(n, state, state);
	if (tier_place_of(j) == &tier_memory)
		need_memory(n, j, &s);
	need_ahead(n, j, &s);
	if (!tier_has_buffers(j))
		return;
	if (job_cache_parts(j) > 1)
		need_servers(n, j, &s);
	buffers = u64_product(s.slot_bytes,
			      j->accelerators * job_readers(j) * job_samples_at_once(j));
	memneed_add(n, buffers, buffers);
	if (j->cache_directory && j->cache_fill == CACHE_FILL_ASYNC)
		need_filler(n, j, &s);
}

static int check_engine(const struct job *j, struct mlgen_err *err)
{
	if (!job_touches_files(j))
		return mlgen_fail(err, -EINVAL,
				  "cache_directory: ioengine=%s touches no files; cache_latency= "
				  "and cache_bandwidth= play a cache",
				  j->engine->name);
	if (!(j->engine->caps & MLGEN_CAP(MLGEN_WRITE)))
		return mlgen_fail(
			err, -EINVAL,
			"cache_directory: ioengine=%s cannot write; use psync, libaio or io_uring",
			j->engine->name);
	return 0;
}

/* What a tier here does not do. */
static int check_options(const struct job *j, const struct dataset *ds, struct mlgen_err *err)
{
	bool is_decoded = j->cache_stage == CACHE_DECODED;

	if (j->cache_unit.kind == CACHE_PAGES && pages_check(ds, j->cache_unit.number, err) < 0)
		return err->code;
	if (is_decoded && j->cache_unit.kind != CACHE_SAMPLES)
		return mlgen_fail(err, -EINVAL,
				  "cache_stage: what is decoded are samples; use "
				  "cache_unit=sample, or cache_stage=raw");
	if (is_decoded && job_decodes_batches(j))
		return mlgen_fail(err, -EINVAL,
				  "cache_stage: decoded samples need no preprocess_time, and "
				  "loader=tfdata with preprocess=sleep spends it on whole batches; "
				  "use preprocess=burn, or another loader");
	if (j->cache_substitute == CACHE_SUBSTITUTE_GROUP && dataset_extents(ds) == ds->files)
		return mlgen_fail(err, -EINVAL,
				  "cache_substitute: group takes another sample of the same file, "
				  "and the files of %s are read whole; use cache_substitute=any",
				  ds->directory);
	return 0;
}

int tier_check(const struct job *j, const struct stages *stages, struct mlgen_err *err)
{
	struct tier_sizes s;
	int rc;

	if (j->cache == CACHE_NONE)
		return 0;
	rc = check_options(j, stages->train.plan.dataset, err);
	if (rc < 0)
		return rc;
	tier_size_up(&s, j, &stages->train);
	if (s.limits.capacity_bytes < tier_kept_bytes(&s.units, s.units.largest_bytes) &&
	    s.units.same_bytes)
		return mlgen_fail(err, -EINVAL,
				  "cache_size: %" PRIu64
				  " bytes are less than one %s, which has %" PRIu64
				  "; make it larger",
				  s.limits.capacity_bytes, tier_unit_word(&s.units),
				  tier_kept_bytes(&s.units, s.units.largest_bytes));
	return j->cache_directory ? check_engine(j, err) : 0;
}
