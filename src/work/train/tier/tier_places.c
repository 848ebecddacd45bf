/* SPDX-License-Identifier: Apache-2.0 */
/* tier_places.c - places for samples: in memory, played, and what they hold. */
#include "work/train/tier/tier_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/units.h"
#include "base/util.h"

/* Of the largest file. */
#define EXTENTS_LOOKED_AT 1024u

static uint64_t align_up(const struct tier_units *u, uint64_t bytes)
{
	uint64_t align = u->plan->align_bytes;

	return align && bytes % align ? bytes + align - bytes % align : bytes;
}

/* Of an extent within its file of a part, as plan_plain reads it. */
static struct tier_range range_of(const struct tier_units *u, const struct extent *x, uint64_t file)
{
	const struct dataset *ds = u->plan->dataset;
	uint64_t align = u->plan->align_bytes, end, all;
	struct tier_range r = { .file = file };
	struct file_shape shape;

	format_shape(ds, file, &shape);
	all = end = format_file_bytes(ds->format, &shape);
	if (format_has_parts(ds->format, &shape)) {
		format_sample_range(ds->format, &shape, x->first_sample, x->samples, &r.off, &end);
		end += r.off;
	}
	if (align)
		r.off -= r.off % align;
	r.bytes = u64_min(align_up(u, end), all) - r.off;
	return r;
}

static struct tier_range whole_file(const struct tier_units *u, uint64_t file)
{
	return (struct tier_range){ .file = file,
				    .bytes = dataset_file_bytes(u->plan->dataset, file) };
}

/* Of ranges: where the last of them ends in the unit. */
static uint64_t tier_ranges_end(const struct tier_units *u, const struct tier_range *ranges,
				unsigned n)
{
	assert(n > 0);
	const struct tier_range *last = &ranges[n - 1];

	return last->at + align_up(u, last->bytes);
}

/* All of a page, as if it were one. */
static struct extent whole_page(const struct tier_units *u, uint64_t page)
{
	struct extent x;
	uint64_t n = pages_extents(&u->pages, page);

	dataset_extent(u->plan->dataset, pages_first(&u->pages, page), &x);
	x.samples = (uint32_t)(n * u->plan->dataset->extent_samples);
	return x;
}

/* Their number: of the whole unit that an extent is in; and of the extent. */
static unsigned tier_unit_ranges(const struct tier_units *u, const struct extent *x,
				 struct tier_range *out)
{
	const struct dataset *ds = u->plan->dataset;
	unsigned parts = dataset_parts_of(ds, x->file);
	struct extent page;

	if (u->kind == CACHE_PAGES) {
		page = whole_page(u, pages_unit(&u->pages, x));
		x = &page;
	}
	for (unsigned p = 0; p < parts; p++) {
		uint64_t file = p * ds->files + x->file;

		out[p] = u->kind == CACHE_FILES ? whole_file(u, file) : range_of(u, x, file);
		out[p].at = p ? tier_ranges_end(u, out, p) : 0;
	}
	return parts;
}

unsigned tier_extent_ranges(const struct tier_units *u, const struct extent *x,
			    struct tier_range *out)
{
	struct tier_range all[TIER_RANGES];
	unsigned n = tier_unit_ranges(u, x, all);

	for (unsigned i = 0; i < n; i++) {
		out[i] = range_of(u, x, all[i].file);
		out[i].at = all[i].at + out[i].off - all[i].off;
	}
	return n;
}

uint64_t tier_unit_of(const struct tier_units *u, const struct extent *x)
{
	switch (u->kind) {
	case CACHE_FILES:
		return x->file;
	case CACHE_PAGES:
		return pages_unit(&u->pages, x);
	default:
		return x->id;
	}
}

static uint64_t bytes_of(const struct tier_units *u, const struct extent *x)
{
	struct tier_range ranges[TIER_RANGES];

	return tier_ranges_end(u, ranges, tier_unit_ranges(u, x, ranges));
}

uint64_t tier_unit_bytes(const struct tier_units *u, uint64_t unit)
{
	struct extent x = { .file = unit };

	if (u->same_bytes)
		return u->same_bytes;
	if (u->kind == CACHE_PAGES)
		dataset_extent(u->plan->dataset, pages_first(&u->pages, unit), &x);
	else if (u->kind != CACHE_FILES)
		dataset_extent(u->plan->dataset, unit, &x);
	return bytes_of(u, &x);
}

const char *tier_unit_word(const struct tier_units *u)
{
	return u->kind == CACHE_FILES ? "file" : u->kind == CACHE_PAGES ? "page" : "sample";
}

uint64_t tier_unit_samples(const struct tier_units *u)
{
	const struct dataset *ds = u->plan->dataset;

	switch (u->kind) {
	case CACHE_FILES:
		return ds->samples_per_file;
	case CACHE_PAGES:
		return u->pages.extents * ds->extent_samples;
	default:
		return ds->extent_samples;
	}
}

/* The first of its extents, and how many it has. */
static uint64_t first_of(const struct tier_units *u, uint64_t unit, uint64_t *count)
{
	const struct dataset *ds = u->plan->dataset;
	uint64_t first;

	switch (u->kind) {
	case CACHE_FILES:
		first = dataset_first_extent(ds, unit);
		*count = dataset_first_extent(ds, unit + 1) - first;
		return first;
	case CACHE_PAGES:
		*count = pages_extents(&u->pages, unit);
		return pages_first(&u->pages, unit);
	default:
		*count = 1;
		return unit;
	}
}

uint64_t tier_unit_first(const struct tier_units *u, uint64_t unit)
{
	uint64_t count;

	return first_of(u, unit, &count);
}

void tier_unit_extent(const struct tier_units *u, uint64_t unit, const struct extent *instead_of,
		      struct extent *out)
{
	uint64_t had, count, first = first_of(u, unit, &count), at;

	at = instead_of->id - first_of(u, tier_unit_of(u, instead_of), &had);
	dataset_extent(u->plan->dataset, first + at % count, out);
}

uint64_t tier_kept_bytes(const struct tier_units *u, uint64_t bytes)
{
	double kept = (double)bytes * u->factor + 0.5;

	/* Not through a double where nothing changes. */
	return u->factor == 1 ? bytes : u64_max(1, (uint64_t)kept);
}

/* All files are alike, and all samples in them. */
static bool are_alike(const struct tier_units *u)
{
	const struct dataset *ds = u->plan->dataset;

	return dist_is_const(&ds->sample_size) && !ds->scan && !ds->found && !ds->uneven_samples &&
	       !ds->extents_differ &&
	       (u->kind != CACHE_PAGES || u->pages.file_extents % u->pages.extents == 0) &&
	       (u->kind == CACHE_FILES || !u->plan->align_bytes);
}

static uint64_t largest(const struct tier_units *u)
{
	const struct dataset *ds = u->plan->dataset;
	struct extent x = { .file = dataset_large_file(ds, UINT64_MAX) };
	uint64_t first = dataset_first_extent(ds, x.file), most = 0;
	uint64_t n = dataset_first_extent(ds, x.file + 1) - first;
	uint64_t step;

	if (u->kind == CACHE_FILES)
		return bytes_of(u, &x);
	if (u->kind == CACHE_PAGES) {
		first = x.file * u->pages.per_file;
		n = u->pages.per_file;
	}
	step = n ? 1 + (n - 1) / EXTENTS_LOOKED_AT : 1;
	for (uint64_t i = 0; i < n; i += step)
		most = u64_max(most, tier_unit_bytes(u, first + i));
	return most;
}

static uint64_t stored_bytes_of(const struct tier_units *u)
{
	uint64_t bytes = 0;

	if (u->same_bytes)
		return u->same_bytes * u->count;
	for (uint64_t i = 0; i < u->count; i++)
		bytes += tier_unit_bytes(u, i);
	return bytes;
}

void tier_units_init(struct tier_units *u, const struct plan_config *plan, const struct job *job)
{
	int kind = job->cache_unit.kind;
	const struct dataset *ds = plan->dataset;

	*u = (struct tier_units){ .plan = plan, .kind = kind, .factor = 1 };
	if (job->cache_stage == CACHE_DECODED)
		u->factor = job->cache_decoded_factor;
	u->count = kind == CACHE_FILES ? ds->files : dataset_extents(ds);
	if (kind == CACHE_PAGES) {
		u->pages = pages_of(ds, job->cache_unit.number);
		u->count = u->pages.count;
	}
	u->largest_bytes = largest(u);
	if (are_alike(u))
		u->same_bytes = tier_unit_bytes(u, 0);
	u->stored_bytes = stored_bytes_of(u);
}

/* ---- nowhere but in time, or in memory ---- */

/* A thread that wakes late makes up for it with its next hits, as with the null engine; but not for
 * a host that stood still. */
#define LATE_MAX_NS UINT64_C(10000000)

uint32_t tier_sum(const unsigned char *memory, uint64_t bytes)
{
	return (uint32_t)crc32_z(0, memory, (size_t)bytes);
}

static struct mlgen_file storage_file(const struct tier_way *w, unsigned i)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK; /* see files.h */

	if (w->loader->tier->plain.direct)
		flags |= O_DIRECT;
	return (struct mlgen_file){ .path = w->paths[i], .fd = -1, .flags = flags };
}

unsigned tier_storage_pieces(struct tier_way *w, const struct extent *x, unsigned char *memory)
{
	const struct tier *t = w->loader->tier;
	struct tier_range ranges[TIER_RANGES];
	unsigned n = tier_unit_ranges(&t->units, x, ranges);

	for (unsigned i = 0; i < n; i++) {
		/* dataset_init made sure that made ones fit. */
		if (dataset_path(t->plain.dataset, ranges[i].file, w->paths[i],
				 sizeof(w->paths[i])) < 0)
			w->paths[i][0] = '\0';
		w->pieces[i] = (struct read_piece){
			.op = MLGEN_READ,
			.file = storage_file(w, i),
			.off = ranges[i].off,
			.bytes = ranges[i].bytes,
			.memory = memory ? memory + ranges[i].at : NULL,
		};
	}
	return n;
}

void tier_read_storage(struct tier_way *w, const struct extent *x, unsigned char *memory)
{
	struct tier_loader *l = w->loader;

	if (!memory && l->tier->units.kind == CACHE_SAMPLES) {
		reader_start(l->reader, &l->tier->plain, x);
		return;
	}
	w->list = (struct read_list){ .pieces = w->pieces };
	w->list.count = tier_storage_pieces(w, x, memory);
	reader_start_list(l->reader, &l->tier->plain, x, &w->list);
}

static void tier_took(struct tier_way *w, const struct extent *x, uint64_t start_ns,
		      uint64_t end_ns)
{
	struct tier_loader *l = w->loader;

	reader_took(l->reader, &l->tier->plain, x, start_ns, end_ns);
	io_wake(l->worker->io);
}

/* played: a hit takes its time, and there are no bytes. */

/* Behind all that is in the queue. Only the number itself is shared, so that nothing has to be
 * ordered with it. */
static uint64_t pass(struct tier_cache *c, uint64_t asked_ns, uint64_t ns)
{
	uint64_t free_ns = atomic_load_explicit(&c->free_ns, memory_order_relaxed);
	uint64_t end_ns;

	do {
		end_ns = u64_max(free_ns, asked_ns) + ns;
	} while (!atomic_compare_exchange_weak_explicit(
		&c->free_ns, &free_ns, end_ns, memory_order_relaxed, memory_order_relaxed));
	return end_ns;
}

static uint64_t played_end_ns(struct tier_loader *l, uint64_t from_ns, uint64_t bytes)
{
	const struct job *j = l->tier->job;
	uint64_t due_ns = from_ns, rate = j->cache_bandwidth_bytes;

	if (rate)
		due_ns = pass(l->cache, due_ns,
			      (uint64_t)((double)bytes * (double)NS_PER_S / (double)rate));
	return due_ns + dist_draw(&j->cache_latency, l->seed, RNG_ENGINE, l->drawn++);
}

static void played_hit(struct tier_way *w, const struct extent *x, void *into, uint64_t into_bytes,
		       uint64_t *ready_ns)
{
	struct tier_loader *l = w->loader;
	const struct tier *t = l->tier;
	uint64_t now = clock_now(t->cfg.clock), due_ns, end_ns;

	(void)into;
	(void)into_bytes;
	due_ns = played_end_ns(
		l, now > l->late_ns ? now - l->late_ns : 0,
		tier_kept_bytes(&t->units, dataset_extent_bytes(t->plain.dataset, x)));
	end_ns = now;
	if (due_ns > now) {
		stop_sleep_until(t->cfg.stop, t->cfg.clock, due_ns);
		end_ns = clock_now(t->cfg.clock);
	}
	l->late_ns = end_ns > due_ns ? u64_min(end_ns - due_ns, LATE_MAX_NS) : 0;
	count_add(&l->worker->stat.blocked_ns[MLGEN_READ], end_ns - now);
	tier_took(w, x, now, end_ns);
	*ready_ns = end_ns;
}

/* With cache_prefetch it counts whether the bytes are there. */
static void played_miss(struct tier_way *w, const struct extent *x)
{
	w->is_held = w->fills &&
		     tier_slot_fill(tier_word(w->loader->cache, w->d.slot), w->d.generation, true);
	tier_read_storage(w, x, NULL);
}

static int played_filled(struct tier_way *w, const struct read_task *task, struct mlgen_err *err)
{
	(void)err;
	if (w->is_held)
		tier_slot_filled(tier_word(w->loader->cache, w->d.slot), w->d.generation,
				 !task->error);
	return 0;
}

const struct tier_place tier_played = {
	.name = "played",
	.hit = played_hit,
	.miss = played_miss,
	.filled = played_filled,
};

/* memory: a slab, of which hits are copied out. */

unsigned char *tier_memory_slot(const struct tier_way *w)
{
	const struct tier_cache *c = w->loader->cache;

	return c->memory + tier_slot_here(c, w->d.slot) * c->tier->slot_bytes;
}

/* A unit that differs in size from the one before has no more in use than it needs; so only slots
 * that are all full are in use from the beginning. */
static int memory_open(struct tier_cache *c, struct mlgen_err *err)
{
	const struct tier *t = c->tier;
	enum mem_kind kind = (enum mem_kind)t->job->mem;
	char text[UNITS_TEXT_BYTES];
	uint64_t bytes;

	/* Of many processes one may have no slot. */
	if (__builtin_mul_overflow(u64_max(c->slot_count, 1), t->slot_bytes, &bytes))
		bytes = SIZE_MAX / 2;
	c->memory_bytes = (size_t)bytes;
	if (!t->units.same_bytes && kind == MEM_MALLOC)
		kind = MEM_MMAP;
	c->memory = t->units.same_bytes ? mem_buffer(c->memory_bytes, kind)
					: mem_reserve(c->memory_bytes, kind);
	if (c->memory)
		return 0;
	return mlgen_fail(err, -ENOMEM,
			  "cache_size: no memory for %s of slots%s; a smaller one, "
			  "cache_directory=, or cache_latency= to play it",
			  units_human_bytes(text, (double)bytes),
			  kind == MEM_HUGEPAGE ? " in huge pages" : "");
}

static int memory_close(struct tier_cache *c, struct mlgen_err *err)
{
	enum mem_kind kind = (enum mem_kind)c->tier->job->mem;

	(void)err;
	if (!c->tier->units.same_bytes && kind == MEM_MALLOC)
		kind = MEM_MMAP;
	mem_buffer_free(c->memory, c->memory_bytes, kind);
	c->memory = NULL;
	return 0;
}

/* To where the sample is wanted, or into the worker's buffer, again and again. */
static void copy_out(struct tier_way *w, const unsigned char *from, uint64_t bytes,
		     unsigned char *into, uint64_t room)
{
	size_t part;
	unsigned char *buffer = io_buffer(w->loader->worker->io, &part);

	if (into && bytes <= room) {
		memcpy(into, from, (size_t)bytes);
		return;
	}
	for (uint64_t done = 0; done < bytes; done += part)
		memcpy(buffer, from + done, u64_min(part, bytes - done));
}

/* Of a unit that is in memory: the extent, to where it is wanted, or (NULL) into the worker's
 * buffer. */
static void tier_copy_out(struct tier_way *w, const struct extent *x, const unsigned char *from,
			  void *into, uint64_t into_bytes)
{
	const struct tier *t = w->loader->tier;
	struct tier_range ranges[TIER_RANGES];
	unsigned n = tier_extent_ranges(&t->units, x, ranges);
	uint64_t used = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned char *to = into;
		uint64_t bytes = tier_kept_bytes(&t->units, ranges[i].bytes);

		copy_out(w, from + ranges[i].at, bytes, to ? to + used : NULL, into_bytes - used);
		used = u64_min(into_bytes, used + bytes);
	}
}

static void memory_hit(struct tier_way *w, const struct extent *x, void *into, uint64_t into_bytes,
		       uint64_t *ready_ns)
{
	const struct tier *t = w->loader->tier;
	uint64_t begin_ns = clock_now(t->cfg.clock);

	tier_copy_out(w, x, tier_memory_slot(w), into, into_bytes);
	*ready_ns = clock_now(t->cfg.clock);
	tier_took(w, x, begin_ns, *ready_ns);
}

/* Straight into the slot, where nobody is in it. */
static void memory_miss(struct tier_way *w, const struct extent *x)
{
	const struct tier *t = w->loader->tier;

	w->is_held = w->fills && w->bytes <= t->slot_bytes && w->kept_bytes <= t->slot_bytes &&
		     tier_slot_fill(tier_word(w->loader->cache, w->d.slot), w->d.generation, true);
	tier_read_storage(w, x, w->is_held ? tier_memory_slot(w) : NULL);
}

/* Of a smaller unit the pages behind it go back. */
static void give_back(const struct tier_way *w)
{
	const struct tier *t = w->loader->tier;

	if (!t->units.same_bytes && w->kept_bytes < t->slot_bytes && t->job->mem != MEM_HUGEPAGE)
		mem_give_back(tier_memory_slot(w) + w->kept_bytes,
			      (size_t)(t->slot_bytes - w->kept_bytes));
}

void tier_memory_filled(struct tier_way *w, bool is_whole)
{
	struct tier_cache *c = w->loader->cache;

	give_back(w);
	if (c->sums && is_whole)
		c->sums[tier_slot_here(c, w->d.slot)] =
			tier_sum(tier_memory_slot(w), w->kept_bytes);
	tier_slot_filled(tier_word(c, w->d.slot), w->d.generation, is_whole);
}

static int memory_filled(struct tier_way *w, const struct read_task *task, struct mlgen_err *err)
{
	(void)err;
	if (!w->is_held)
		return 0;
	tier_memory_filled(w, !task->error);
	return 0;
}

static const unsigned char *memory_look(struct tier_way *w)
{
	return tier_memory_slot(w);
}

const struct tier_place tier_memory = {
	.name = "memory",
	.keeps = true,
	.open = memory_open,
	.close = memory_close,
	.hit = memory_hit,
	.miss = memory_miss,
	.filled = memory_filled,
	.look = memory_look,
};

const struct tier_place *tier_place_of(const struct job *j)
{
	if (j->cache_directory)
		return &tier_directory;
	return dist_mean(&j->cache_latency) > 0 || j->cache_bandwidth_bytes ? &tier_played
									    : &tier_memory;
}

/* ---- other processes ---- */

static unsigned rank_of(const struct tier_way *w)
{
	return w->d.slot % w->loader->cache->parts;
}

static struct tier_ask question(const struct tier_way *w, uint32_t kind)
{
	return (struct tier_ask){
		.kind = kind,
		.slot = w->d.slot,
		.generation = w->d.generation,
		.epoch = w->loader->epoch,
		.extent = w->extent.id,
		.samples = w->extent.samples,
		.count = 1,
		.pieces[0].bytes = w->kept_bytes,
	};
}

/* All of the unit, but where it has more than the sample and nobody looks at its sum. */
static void set_pieces(struct tier_ask *ask, const struct tier_way *w, const struct extent *x)
{
	const struct tier *t = w->loader->tier;
	struct tier_range ranges[TIER_RANGES];

	_Static_assert(TIER_RANGES == TIER_ASK_PIECES, "ranges of a unit");
	if (t->job->cache_verify || t->units.kind == CACHE_SAMPLES)
		return;
	ask->count = tier_extent_ranges(&t->units, x, ranges);
	for (unsigned i = 0; i < ask->count; i++)
		ask->pieces[i] = (struct tier_piece){
			ranges[i].at,
			tier_kept_bytes(&t->units, ranges[i].bytes),
		};
}

/* A run that ends has no failure: what is not there any more is read no more. */
static bool is_ending(const struct tier *t)
{
	return stop_has_come(t->cfg.stop, clock_now(t->cfg.clock));
}

static bool ask(struct tier_way *w, const struct tier_ask *a, struct tier_answer *answer,
		struct mlgen_err *err)
{
	const struct tier *t = w->loader->tier;
	struct mlgen_err why = { 0 };

	if (tier_peers_ask(t->cfg.peers, rank_of(w), a, w->memory, answer, &why) == 0)
		return true;
	if (!err->code && !is_ending(t))
		*err = why;
	return false;
}

bool tier_remote_hit(struct tier_way *w, const struct extent *x, void *into, uint64_t into_bytes,
		     uint64_t *ready_ns)
{
	struct tier_loader *l = w->loader;
	struct tier_ask a = question(w, TIER_GET);
	struct tier_answer answer;
	uint64_t begin_ns = clock_now(l->tier->cfg.clock), end_ns;

	set_pieces(&a, w, x);
	bool is_there = ask(w, &a, &answer, &l->peer_err) && answer.said == TIER_THERE;

	if (is_there && into)
		tier_copy_out(w, x, w->memory, into, into_bytes);
	end_ns = clock_now(l->tier->cfg.clock);
	count_add(&l->worker->stat.blocked_ns[MLGEN_READ], end_ns - begin_ns);
	if (!is_there)
		return false;
	w->sum = answer.sum;
	*ready_ns = end_ns;
	tier_took(w, x, begin_ns, end_ns);
	return true;
}

void tier_remote_miss(struct tier_way *w, const struct extent *x)
{
	const struct tier *t = w->loader->tier;

	w->fills &= w->bytes <= t->slot_bytes && w->kept_bytes <= t->slot_bytes;
	tier_read_storage(w, x, w->fills ? w->memory : NULL);
}

int tier_remote_fill(struct tier_way *w, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_loader *l = w->loader;
	struct clock *clock = l->tier->cfg.clock;
	struct tier_ask a = question(w, TIER_FILL);
	struct tier_answer answer;
	struct mlgen_err why = { 0 };

	if (task->error)
		return 0;
	if (l->tier->job->cache_verify)
		a.sum = tier_sum(w->memory, w->kept_bytes);
	uint64_t begin_ns = clock_now(clock);
	bool is_told = ask(w, &a, &answer, &why);

	count_add(&l->worker->stat.blocked_ns[MLGEN_WRITE], clock_now(clock) - begin_ns);
	if (!is_told)
		return why.code ? mlgen_fail(err, why.code, "%s", why.text) : 0;
	w->is_held = answer.said == TIER_KEPT;
	w->is_passed_on = answer.said == TIER_PASSED_ON;
	l->tally.sent_bytes += w->kept_bytes;
	return 0;
}
