/* SPDX-License-Identifier: Apache-2.0 */
/* tier_backends.c - units of a cache, and the backends that keep them in memory or only in time. */
#include "work/train/tier/tier_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/dist.h"
#include "base/units.h"
#include "base/util.h"

/* Maximum number of units of the largest file that are sampled to size slots. */
#define SIZING_SAMPLES 1024u

static uint64_t align_up(const struct tier_units *u, uint64_t bytes)
{
	return u->plan->align_bytes ? round_up(bytes, u->plan->align_bytes) : bytes;
}

/* The range that plan_plain reads for an extent in one of its files. */
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

/* Offset in the unit at which the last of n ranges ends. */
static uint64_t tier_ranges_end(const struct tier_units *u, const struct tier_range *ranges,
				unsigned n)
{
	assert(n > 0);
	const struct tier_range *last = &ranges[n - 1];

	return last->at + align_up(u, last->bytes);
}

/* Store the ranges of the whole unit that contains an extent. Returns their number. */
static unsigned tier_unit_ranges(const struct tier_units *u, const struct extent *x,
				 struct tier_range *out)
{
	const struct dataset *ds = u->plan->dataset;
	unsigned parts = dataset_parts_of(ds, x->file);
	struct extent whole_page;

	if (u->kind == CACHE_PAGES) {
		uint64_t page = pages_unit(&u->pages, x);

		dataset_extent(ds, pages_first(&u->pages, page), &whole_page);
		whole_page.samples =
			(uint32_t)(pages_extents(&u->pages, page) * ds->extent_samples);
		x = &whole_page;
	}
	for (unsigned p = 0; p < parts; p++) {
		uint64_t file = p * ds->files + x->file;

		if (u->kind == CACHE_FILES)
			out[p] = (struct tier_range){ .file = file,
						      .bytes = dataset_file_bytes(ds, file) };
		else
			out[p] = range_of(u, x, file);
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

/* Id of a unit's first extent, and the number of its extents. */
static uint64_t first_extent_of(const struct tier_units *u, uint64_t unit, uint64_t *count)
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

	return first_extent_of(u, unit, &count);
}

void tier_unit_extent(const struct tier_units *u, uint64_t unit, const struct extent *instead_of,
		      struct extent *out)
{
	uint64_t instead_count, count, first = first_extent_of(u, unit, &count), index;

	index = instead_of->id - first_extent_of(u, tier_unit_of(u, instead_of), &instead_count);
	dataset_extent(u->plan->dataset, first + index % count, out);
}

uint64_t tier_cached_bytes(const struct tier_units *u, uint64_t bytes)
{
	/* A double could not hold every number of bytes exactly. */
	if (u->factor == 1)
		return bytes;
	return u64_max(1, (uint64_t)((double)bytes * u->factor + 0.5));
}

/* True if all units have the same size: files are alike, and so are the samples in them. */
static bool are_alike(const struct tier_units *u)
{
	const struct dataset *ds = u->plan->dataset;

	return dist_is_const(&ds->sample_size) && !ds->scan && !ds->found && !ds->uneven_samples &&
	       !ds->extents_differ &&
	       (u->kind != CACHE_PAGES || u->pages.file_extents % u->pages.extents == 0) &&
	       (u->kind == CACHE_FILES || !u->plan->align_bytes);
}

static uint64_t largest_bytes(const struct tier_units *u)
{
	const struct dataset *ds = u->plan->dataset;
	struct extent x = { .file = dataset_large_file(ds, UINT64_MAX) };
	uint64_t first = dataset_first_extent(ds, x.file), largest = 0;
	uint64_t n = dataset_first_extent(ds, x.file + 1) - first;

	if (u->kind == CACHE_FILES)
		return bytes_of(u, &x);
	if (u->kind == CACHE_PAGES) {
		first = x.file * u->pages.per_file;
		n = u->pages.per_file;
	}
	uint64_t step = n ? 1 + (n - 1) / SIZING_SAMPLES : 1;
	for (uint64_t i = 0; i < n; i += step)
		largest = u64_max(largest, tier_unit_bytes(u, first + i));
	return largest;
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
	u->largest_bytes = largest_bytes(u);
	if (are_alike(u)) {
		u->same_bytes = tier_unit_bytes(u, 0);
		u->stored_bytes = u->same_bytes * u->count;
		return;
	}
	for (uint64_t i = 0; i < u->count; i++)
		u->stored_bytes += tier_unit_bytes(u, i);
}

/* ---- reads from storage ---- */

uint32_t tier_sum(const unsigned char *memory, uint64_t bytes)
{
	return (uint32_t)crc32_z(0, memory, (size_t)bytes);
}

unsigned tier_storage_pieces(struct tier_transfer *tr, const struct extent *x,
			     unsigned char *memory)
{
	const struct tier *t = tr->loader->tier;
	struct tier_range ranges[TIER_RANGES];
	unsigned n = tier_unit_ranges(&t->units, x, ranges);
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK; /* see files.h */

	if (t->plain.direct)
		flags |= O_DIRECT;
	for (unsigned i = 0; i < n; i++) {
		/* dataset_init made sure that generated paths fit. */
		if (dataset_path(t->plain.dataset, ranges[i].file, tr->paths[i],
				 sizeof(tr->paths[i])) < 0)
			tr->paths[i][0] = '\0';
		tr->pieces[i] = (struct read_piece){
			.op = MLGEN_READ,
			.file = { .path = tr->paths[i], .fd = -1, .flags = flags },
			.off = ranges[i].off,
			.bytes = ranges[i].bytes,
			.memory = memory ? memory + ranges[i].at : NULL,
		};
	}
	return n;
}

void tier_read_storage(struct tier_transfer *tr, const struct extent *x, unsigned char *memory)
{
	struct tier_loader *l = tr->loader;

	if (!memory && l->tier->units.kind == CACHE_SAMPLES) {
		reader_start(l->reader, &l->tier->plain, x);
		return;
	}
	tr->list = (struct read_list){ .pieces = tr->pieces };
	tr->list.count = tier_storage_pieces(tr, x, memory);
	reader_start_list(l->reader, &l->tier->plain, x, &tr->list);
}

/* Report a finished read to the reader. */
static void complete_read(struct tier_transfer *tr, const struct extent *x, uint64_t start_ns,
			  uint64_t end_ns)
{
	struct tier_loader *l = tr->loader;

	reader_add_finished(l->reader, &l->tier->plain, x, start_ns, end_ns);
	io_wake(l->worker->io);
}

/* ---- simulated: a hit takes time, and there are no bytes ---- */

/* Append a transfer of ns to the queue of the simulated device, and return its end. Relaxed
 * accesses suffice, because only the number itself is shared. */
static uint64_t play_transfer(struct tier_cache *c, uint64_t start_ns, uint64_t ns)
{
	uint64_t busy_until_ns = atomic_load_explicit(&c->busy_until_ns, memory_order_relaxed);
	uint64_t end_ns;

	do {
		end_ns = u64_max(busy_until_ns, start_ns) + ns;
	} while (!atomic_compare_exchange_weak_explicit(&c->busy_until_ns, &busy_until_ns, end_ns,
							memory_order_relaxed,
							memory_order_relaxed));
	return end_ns;
}

/* A thread that wakes up late shortens its next hits by the delay, as the null engine does, unless
 * the whole host stood still. */
#define LATE_MAX_NS UINT64_C(10000000)

static void played_hit(struct tier_transfer *tr, const struct extent *x, void *into,
		       uint64_t into_bytes, uint64_t *ready_ns)
{
	struct tier_loader *l = tr->loader;
	const struct tier *t = l->tier;
	uint64_t now = clock_now(t->cfg.clock), end_ns = now;
	uint64_t due_ns = now > l->late_ns ? now - l->late_ns : 0;
	uint64_t bytes = tier_cached_bytes(&t->units, dataset_extent_bytes(t->plain.dataset, x));
	double rate = (double)t->job->cache_bandwidth_bytes;

	(void)into;
	(void)into_bytes;
	if (rate > 0)
		due_ns = play_transfer(l->cache, due_ns,
				       (uint64_t)((double)bytes * (double)NS_PER_S / rate));
	due_ns += dist_draw(&t->job->cache_latency, l->seed, RNG_ENGINE, l->draws++);
	if (due_ns > now) {
		stop_sleep_until(t->cfg.stop, t->cfg.clock, due_ns);
		end_ns = clock_now(t->cfg.clock);
	}
	l->late_ns = end_ns > due_ns ? u64_min(end_ns - due_ns, LATE_MAX_NS) : 0;
	count_add(&l->worker->stat.blocked_ns[MLGEN_READ], end_ns - now);
	complete_read(tr, x, now, end_ns);
	*ready_ns = end_ns;
}

/* A slot is filled only with cache_prefetch, because only then it matters whether bytes are
 * present. */
static void played_miss(struct tier_transfer *tr, const struct extent *x)
{
	tr->has_claimed = tr->fills && tier_slot_fill(tier_word(tr->loader->cache, tr->d.slot),
						      tr->d.generation, true);
	tier_read_storage(tr, x, NULL);
}

static int played_filled(struct tier_transfer *tr, const struct read_task *task,
			 struct mlgen_err *err)
{
	(void)err;
	if (tr->has_claimed)
		tier_slot_filled(tier_word(tr->loader->cache, tr->d.slot), tr->d.generation,
				 !task->error);
	return 0;
}

const struct tier_backend tier_played = {
	.name = "played",
	.hit = played_hit,
	.miss = played_miss,
	.filled = played_filled,
};

/* ---- memory: a slab of slots; hits are copied out ---- */

unsigned char *tier_memory_slot(const struct tier_transfer *tr)
{
	const struct tier_cache *c = tr->loader->cache;

	return c->memory + tier_local_index(c, tr->d.slot) * c->tier->slot_bytes;
}

/* Units of different sizes use only the pages that they need. All slots are touched in advance only
 * if units fill their slots completely. */
static int memory_open(struct tier_cache *c, struct mlgen_err *err)
{
	const struct tier *t = c->tier;
	enum mem_kind kind = (enum mem_kind)t->job->mem;
	char text[UNITS_TEXT_BYTES];
	uint64_t bytes;

	/* A process may have no slot at all. */
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
			  "cache_size: no memory for %s of slots%s; use a smaller size, "
			  "cache_directory=, or cache_latency= to simulate the cache",
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

/* Copy bytes to `into`. If there is no room, copy them piece by piece over the worker's buffer. */
static void copy_out(struct tier_transfer *tr, const unsigned char *from, uint64_t bytes,
		     unsigned char *into, uint64_t room)
{
	size_t part;
	unsigned char *buffer = io_buffer(tr->loader->worker->io, &part);

	if (into && bytes <= room) {
		memcpy(into, from, (size_t)bytes);
		return;
	}
	for (uint64_t done = 0; done < bytes; done += part)
		memcpy(buffer, from + done, u64_min(part, bytes - done));
}

/* Copy an extent of a unit in memory to `into`, or (NULL) into the worker's buffer. */
static void tier_copy_out(struct tier_transfer *tr, const struct extent *x,
			  const unsigned char *from, void *into, uint64_t into_bytes)
{
	const struct tier *t = tr->loader->tier;
	struct tier_range ranges[TIER_RANGES];
	unsigned n = tier_extent_ranges(&t->units, x, ranges);
	uint64_t used = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned char *to = into;
		uint64_t bytes = tier_cached_bytes(&t->units, ranges[i].bytes);

		copy_out(tr, from + ranges[i].at, bytes, to ? to + used : NULL, into_bytes - used);
		used = u64_min(into_bytes, used + bytes);
	}
}

static void memory_hit(struct tier_transfer *tr, const struct extent *x, void *into,
		       uint64_t into_bytes, uint64_t *ready_ns)
{
	const struct tier *t = tr->loader->tier;
	uint64_t begin_ns = clock_now(t->cfg.clock);

	tier_copy_out(tr, x, tier_memory_slot(tr), into, into_bytes);
	*ready_ns = clock_now(t->cfg.clock);
	complete_read(tr, x, begin_ns, *ready_ns);
}

/* The unit is read straight into the slot, unless the slot is in use. */
static void memory_miss(struct tier_transfer *tr, const struct extent *x)
{
	const struct tier *t = tr->loader->tier;

	tr->has_claimed =
		tr->fills && tr->bytes <= t->slot_bytes && tr->cached_bytes <= t->slot_bytes &&
		tier_slot_fill(tier_word(tr->loader->cache, tr->d.slot), tr->d.generation, true);
	tier_read_storage(tr, x, tr->has_claimed ? tier_memory_slot(tr) : NULL);
}

void tier_memory_filled(struct tier_transfer *tr, bool is_whole)
{
	struct tier_cache *c = tr->loader->cache;
	const struct tier *t = c->tier;

	/* The slot's pages after a smaller unit are returned to the system. */
	if (!t->units.same_bytes && tr->cached_bytes < t->slot_bytes && t->job->mem != MEM_HUGEPAGE)
		mem_release_pages(tier_memory_slot(tr) + tr->cached_bytes,
				  (size_t)(t->slot_bytes - tr->cached_bytes));
	if (c->sums && is_whole)
		c->sums[tier_local_index(c, tr->d.slot)] =
			tier_sum(tier_memory_slot(tr), tr->cached_bytes);
	tier_slot_filled(tier_word(c, tr->d.slot), tr->d.generation, is_whole);
}

static int memory_filled(struct tier_transfer *tr, const struct read_task *task,
			 struct mlgen_err *err)
{
	(void)err;
	if (tr->has_claimed)
		tier_memory_filled(tr, !task->error);
	return 0;
}

static const unsigned char *memory_address(struct tier_transfer *tr)
{
	return tier_memory_slot(tr);
}

const struct tier_backend tier_memory = {
	.name = "memory",
	.stores_bytes = true,
	.open = memory_open,
	.close = memory_close,
	.hit = memory_hit,
	.miss = memory_miss,
	.filled = memory_filled,
	.address = memory_address,
};

const struct tier_backend *tier_backend_of(const struct job *j)
{
	if (j->cache_directory)
		return &tier_directory;
	return dist_mean(&j->cache_latency) > 0 || j->cache_bandwidth_bytes ? &tier_played
									    : &tier_memory;
}

/* ---- slots of other processes ---- */

static struct tier_request make_request(const struct tier_transfer *tr, uint32_t kind)
{
	return (struct tier_request){
		.kind = kind,
		.slot = tr->d.slot,
		.generation = tr->d.generation,
		.epoch = tr->loader->epoch,
		.extent = tr->extent.id,
		.samples = tr->extent.samples,
		.count = 1,
		.pieces[0].bytes = tr->cached_bytes,
	};
}

/* Send a request to the owner of the slot. False: the request failed; err is set unless the run is
 * ending. */
static bool send_request(struct tier_transfer *tr, const struct tier_request *a,
			 struct tier_reply *answer, struct mlgen_err *err)
{
	const struct tier *t = tr->loader->tier;
	unsigned rank = tr->d.slot % tr->loader->cache->parts;
	struct mlgen_err failure = { 0 };

	if (tier_peers_request(t->cfg.peers, rank, a, tr->memory, answer, &failure) == 0)
		return true;
	if (!err->code && !stop_is_due(t->cfg.stop, clock_now(t->cfg.clock)))
		*err = failure;
	return false;
}

bool tier_remote_hit(struct tier_transfer *tr, const struct extent *x, void *into,
		     uint64_t into_bytes, uint64_t *ready_ns)
{
	struct tier_loader *l = tr->loader;
	const struct tier_units *u = &l->tier->units;
	struct tier_request a = make_request(tr, TIER_GET);
	struct tier_range ranges[TIER_RANGES];
	struct tier_reply answer;
	uint64_t begin_ns = clock_now(l->tier->cfg.clock), end_ns;

	_Static_assert(TIER_RANGES == TIER_ASK_PIECES, "ranges of a unit");
	/* Request only the extent's ranges of a larger unit, unless the checksum of the unit is
	 * needed. */
	if (!l->tier->job->cache_verify && u->kind != CACHE_SAMPLES) {
		a.count = tier_extent_ranges(u, x, ranges);
		for (unsigned i = 0; i < a.count; i++)
			a.pieces[i] = (struct tier_piece){
				ranges[i].at,
				tier_cached_bytes(u, ranges[i].bytes),
			};
	}
	bool is_there = send_request(tr, &a, &answer, &l->peer_err) && answer.said == TIER_PRESENT;

	if (is_there && into)
		tier_copy_out(tr, x, tr->memory, into, into_bytes);
	end_ns = clock_now(l->tier->cfg.clock);
	count_add(&l->worker->stat.blocked_ns[MLGEN_READ], end_ns - begin_ns);
	if (!is_there)
		return false;
	tr->sum = answer.sum;
	*ready_ns = end_ns;
	complete_read(tr, x, begin_ns, end_ns);
	return true;
}

void tier_remote_miss(struct tier_transfer *tr, const struct extent *x)
{
	const struct tier *t = tr->loader->tier;

	tr->fills &= tr->bytes <= t->slot_bytes && tr->cached_bytes <= t->slot_bytes;
	tier_read_storage(tr, x, tr->fills ? tr->memory : NULL);
}

int tier_remote_fill(struct tier_transfer *tr, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_loader *l = tr->loader;
	struct clock *clock = l->tier->cfg.clock;
	struct tier_request a = make_request(tr, TIER_FILL);
	struct tier_reply answer;
	struct mlgen_err failure = { 0 };

	if (task->error)
		return 0;
	if (l->tier->job->cache_verify)
		a.sum = tier_sum(tr->memory, tr->cached_bytes);
	uint64_t begin_ns = clock_now(clock);
	bool is_answered = send_request(tr, &a, &answer, &failure);

	count_add(&l->worker->stat.blocked_ns[MLGEN_WRITE], clock_now(clock) - begin_ns);
	if (!is_answered)
		return failure.code ? mlgen_fail(err, failure.code, "%s", failure.text) : 0;
	tr->has_claimed = answer.said == TIER_STORED;
	tr->is_queued = answer.said == TIER_QUEUED;
	l->tally.sent_bytes += tr->cached_bytes;
	return 0;
}
