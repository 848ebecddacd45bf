/* SPDX-License-Identifier: Apache-2.0 */
/* tier_internal.h - declarations that the files of work/train/tier share. */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/dist.h"
#include "base/util.h"
#include "data/cache/cache.h"
#include "data/file/file.h"
#include "data/order/order.h"
#include "run/slot/slot.h"
#include "work/train/tier/tier.h"

/* ---- requests and replies between processes about slots of a cache ---- */

/*
 * A request is this header; a fill is followed by the bytes of the unit. A reply is its header; the
 * reply to a get is followed by the requested bytes if the slot has them. All processes run the
 * same program on the same architecture (star.c compares versions), so integers are sent in host
 * byte order.
 */
enum tier_ask_kind { TIER_GET = 1, TIER_FILL };

#define TIER_ASK_PIECES 2 /* a unit has at most this many ranges */

struct tier_request {
	uint32_t kind, slot, generation;
	uint32_t sum; /* checksum of all bytes of a fill, with cache_verify */
	uint64_t epoch, extent;
	uint32_t samples, count; /* count: number of pieces */
	struct tier_piece {
		uint64_t at, bytes; /* offset in the slot, and length */
	} pieces[TIER_ASK_PIECES];
};

enum tier_status {
	TIER_PRESENT = 1,
	TIER_ABSENT,  /* missing yet, or evicted */
	TIER_STORED,  /* a fill: the slot has the bytes now */
	TIER_QUEUED,  /* a fill: queued; the filler counts it */
	TIER_DROPPED, /* a fill: not kept */
	TIER_FAILED,  /* `sum` is an errno */
};

struct tier_reply {
	uint32_t said;
	uint32_t sum; /* checksum of the whole slot */
	uint64_t bytes;
};

/*
 * Wait until every process serves requests (at the start) or has stopped making them (at the end).
 * One thread of each process calls it. Returns at once if a process has gone, failed before it
 * began, or left.
 */
void tier_peers_wait(struct tier_peers *p);
/* Tell the other processes that this process never begins, so that they do not wait for it. */
void tier_peers_leave(struct tier_peers *p);

/* Abort all current and future requests. Any thread. */
void tier_peers_abort(struct tier_peers *p);

/*
 * Send a request and receive the reply. If the slot's bytes are present, the requested pieces are
 * stored in `memory`, each at its offset. The bytes of a fill are read from `memory`. On failure
 * -errno with err, which names the host.
 */
int tier_peers_request(struct tier_peers *p, unsigned rank, const struct tier_request *ask,
		       unsigned char *memory, struct tier_reply *answer, struct mlgen_err *err);

struct tier_backend;
struct tier_thread;
struct tier_ahead;
struct tier_filler;
struct tier_server;

/* ---- units: the samples, files or pages that a tier keeps as a whole ---- */

/*
 * A unit has a number, a size, and one range of bytes of a file, or two ranges where samples are
 * pairs. The tier stores the ranges of a unit one after the other. Where reads are direct, each
 * range consists of whole blocks and begins at a block boundary.
 */
struct tier_units {
	const struct plan_config *plan;
	int kind;           /* enum job_cache_unit */
	struct pages pages; /* CACHE_PAGES */
	double factor;      /* bytes kept for each byte read (cache_stage) */
	uint64_t count;
	uint64_t same_bytes;    /* size of every unit; 0 = sizes differ */
	uint64_t largest_bytes; /* the largest of a sample of units */
	/* Bytes of all units as the tier stores them, before decoding. cache_size= may be a
	 * percentage of this number. */
	uint64_t stored_bytes;
};

#define TIER_RANGES 2

struct tier_range {
	uint64_t file; /* number among the files of all parts */
	uint64_t off, bytes;
	uint64_t at; /* offset in the unit */
};

void tier_units_init(struct tier_units *u, const struct plan_config *plan, const struct job *job);

uint64_t tier_unit_of(const struct tier_units *u, const struct extent *x);
uint64_t tier_unit_bytes(const struct tier_units *u, uint64_t unit);
const char *tier_unit_word(const struct tier_units *u); /* "sample", "file" or "page" */
uint64_t tier_unit_samples(const struct tier_units *u); /* samples in the largest unit */

/* Id of the first extent of a unit. */
uint64_t tier_unit_first(const struct tier_units *u, uint64_t unit);

/* Pick the extent of `unit` that replaces `instead_of`: the extent with the same index in its unit,
 * modulo the number of extents. */
void tier_unit_extent(const struct tier_units *u, uint64_t unit, const struct extent *instead_of,
		      struct extent *out);
/* Bytes that are kept for this many bytes of a unit (cache_stage). */
uint64_t tier_cached_bytes(const struct tier_units *u, uint64_t bytes);

/* Ranges of one extent, with its offsets in the unit. Returns their number. */
unsigned tier_extent_ranges(const struct tier_units *u, const struct extent *x,
			    struct tier_range *out);

/* ---- slots: one atomic word each for the content and the readers ---- */

/*
 * A slot serves one unit after another. Each assignment has a generation number, from 1. The word
 * holds the generation whose bytes are in the slot or being filled in, the state, and the number of
 * readers. Acquire and release order the slot's bytes with the word: a reader that has entered sees
 * the whole fill, and a filler starts after all readers have left.
 */
enum tier_slot_state { SLOT_EMPTY, SLOT_FILLING, SLOT_READY, SLOT_FAILED };

_Static_assert((SLOT_READY | SLOT_FILLING) == SLOT_FAILED, "tier_slot_spoil");

#define SLOT_READERS_BITS 20u
#define SLOT_STATE_BITS 4u
#define SLOT_GENERATION_SHIFT (SLOT_READERS_BITS + SLOT_STATE_BITS)
#define SLOT_READERS_MASK ((UINT64_C(1) << SLOT_READERS_BITS) - 1)

static inline uint64_t tier_slot_word(uint64_t generation, enum tier_slot_state s)
{
	return generation << SLOT_GENERATION_SHIFT | (uint64_t)s << SLOT_READERS_BITS;
}

static inline uint64_t tier_slot_generation(uint64_t word)
{
	return word >> SLOT_GENERATION_SHIFT;
}

static inline enum tier_slot_state tier_slot_state(uint64_t word)
{
	return (enum tier_slot_state)(word >> SLOT_READERS_BITS & ((1u << SLOT_STATE_BITS) - 1));
}

/* Enter a slot as a reader. True if the slot has the bytes of this generation; they stay until
 * tier_slot_leave. */
static inline bool tier_slot_enter(_Atomic uint64_t *slot, uint64_t generation)
{
	uint64_t ready = tier_slot_word(generation, SLOT_READY);
	uint64_t w = atomic_load_explicit(slot, memory_order_relaxed);

	do {
		if ((w & ~SLOT_READERS_MASK) != ready)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(slot, &w, w + 1, memory_order_acquire,
							memory_order_relaxed));
	return true;
}

static inline void tier_slot_leave(_Atomic uint64_t *slot)
{
	atomic_fetch_sub_explicit(slot, 1, memory_order_release);
}

/* Mark the bytes as damaged, so that no further reader enters. The caller is a reader of the
 * slot. */
static inline void tier_slot_spoil(_Atomic uint64_t *slot)
{
	/* SLOT_READY and this bit make SLOT_FAILED. */
	atomic_fetch_or_explicit(slot, tier_slot_word(0, SLOT_FILLING), memory_order_relaxed);
}

/*
 * Claim a slot in order to fill in the bytes of this generation. Returns false while the slot is
 * being read or filled, if a later generation has the slot, or if the bytes are already present.
 * With `grows` false only a slot that had bytes before can be filled, because no more space can be
 * used.
 */
static inline bool tier_slot_fill(_Atomic uint64_t *slot, uint64_t generation, bool grows)
{
	uint64_t w = atomic_load_explicit(slot, memory_order_relaxed);

	do {
		enum tier_slot_state s = tier_slot_state(w);

		if (s == SLOT_FILLING || w & SLOT_READERS_MASK ||
		    tier_slot_generation(w) > generation ||
		    (tier_slot_generation(w) == generation && s == SLOT_READY) ||
		    (!grows && s != SLOT_READY))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		slot, &w, tier_slot_word(generation, SLOT_FILLING), memory_order_acquire,
		memory_order_relaxed));
	return true;
}

/* Finish a fill. The caller claimed the slot with tier_slot_fill. */
static inline void tier_slot_filled(_Atomic uint64_t *slot, uint64_t generation, bool is_whole)
{
	atomic_store_explicit(slot, tier_slot_word(generation, is_whole ? SLOT_READY : SLOT_FAILED),
			      memory_order_release);
}

/* ---- decisions and caches ---- */

/* Maximum number of decisions that a read thread fetches at a time. */
#define TIER_FETCH_MAX 256u

/* Number of epochs whose start in a rank's ring is remembered. */
#define TIER_EPOCH_STARTS 8u

struct tier_decision {
	uint64_t unit;
	uint32_t slot, generation; /* CACHE_NO_SLOT: the unit is not kept */
	bool is_hit;
	/* The unit `substitute`, which is in the slot, is read instead. */
	bool is_substituted;
	uint32_t substitute;
	/* The ring overwrote the decision before any thread asked for it. The extent is read, and
	 * nothing else. */
	bool is_lost;
};

/* A decision stores this many bits of a generation. */
#define TIER_GENERATION_MAX ((UINT32_C(1) << 30) - 1)

/* A decision as the ring stores it. */
struct tier_entry {
	uint32_t slot;
	uint32_t word; /* generation and two flags: hit, substituted */
};

/* Decisions on a rank's accesses, numbered consecutively across all epochs. Decision n is at index
 * n % room. */
struct tier_ring {
	struct tier_entry *at;
	uint32_t *substitutes; /* units; NULL = no substitution */
	uint64_t room, end;
	uint64_t starts[TIER_EPOCH_STARTS]; /* epoch e at index e % TIER_EPOCH_STARTS */
};

/* Number of accesses that are looked up together, before they are decided. */
#define TIER_UPCOMING 16u

struct tier_access {
	struct orderwalk_at at;
	struct extent extent;
	uint64_t unit;
};

/* The accesses of an epoch in the order of the plan, and a window of upcoming ones. */
struct tier_walk {
	struct orderwalk order;
	struct tier_access upcoming[TIER_UPCOMING];
	unsigned next, end;
};

/*
 * The number of an extent's last access tells both the epoch and the position in the epoch, because
 * accesses are numbered consecutively across all epochs, from 1. Only the current and the previous
 * epoch matter, so numbers are reduced to start from the previous epoch before 32 bits are full.
 */
#define TIER_EPOCH_ACCESSES_MAX (UINT32_C(1) << 31) /* maximum number of accesses of an epoch */

struct tier_seen {
	uint32_t *last; /* first access of each extent in an epoch; 0 = none */
	/* Number of the first access of the current and of the previous epoch. */
	uint64_t epoch_first, previous_first;
};

/* Sums over the order of the current epoch, for its correlation with the previous one. */
struct tier_order {
	uint64_t accesses, follows;
	double pairs, x, y, xx, yy, xy; /* sums of positions now (x) and before (y) */
};

/* Counters of the events of one epoch. Its decisions are counted elsewhere. */
struct tier_tally {
	uint64_t late_hits, fills, dropped_fills;
	uint64_t cache_bytes, storage_bytes, filled_bytes;
	uint64_t accesses, hits, verified, wrong;
	/* Requests to other processes, and requests from other processes. */
	uint64_t peer_hits, peer_bytes, sent_bytes;
	uint64_t served_samples, served_bytes, received_bytes;
};

/* Counters of a rank: totals, and the epochs after the first. */
struct tier_rank {
	uint64_t accesses, hits, misses, substitutions;
	uint64_t later_accesses, later_hits;
};

/* "a5/1f4a5.unit", named after its slot */
#define TIER_NAME_BYTES 24

/* The folder of one cache. */
struct tier_folder {
	char *path; /* owned; NULL = none */
	int dir_fd, lock_fd;
	bool is_ours; /* set once the marker is locked; the content may be removed */
};

/* A cache of a host, a rank, or all processes. `lock` guards the members below it. */
struct tier_cache {
	struct tier *tier;
	/* The ranks whose accesses are decided here, and those of them that belong to this
	 * process. */
	uint64_t first_rank, end_rank, own_first, own_end;
	/* Slot s belongs to this process if s % parts == part. 1 and 0 for a cache that is not
	 * divided. */
	uint32_t parts, part;
	_Atomic uint64_t *slots; /* see tier_slot_word(); NULL = nothing is kept */
	uint64_t all_slots;
	uint64_t slot_count;        /* slots of this process */
	uint32_t *sums;             /* checksums of the slots (cache_verify); NULL = none */
	struct tier_filler *filler; /* cache_fill=async; otherwise NULL */
	struct tier_server *server; /* serves other processes; NULL = not divided */
	struct tier_thread *warmer; /* thread of cache_warm, already joined; NULL = none */
	unsigned char *memory;      /* all slots, contiguous; NULL = not in memory */
	size_t memory_bytes;
	_Atomic uint64_t busy_until_ns; /* simulated tier: end of all transfers so far */
	struct tier_folder folder;
	uint64_t restored_units, warm_units;
	uint64_t used_bytes, used_units; /* use at the end of the run */
	bool is_closed;
	pthread_mutex_t lock;
	struct cache *cache;
	struct tier_walk walk;
	uint64_t epoch; /* current epoch, from 0 */
	bool has_begun;
	struct tier_ring *rings; /* an element for each rank of this process */
	struct tier_rank *ranks;
	uint64_t *last;       /* extent of each rank's previous access */
	uint64_t substituted; /* number of searches for a substitute so far */
	/* cache_substitute: the extents that each rank trained on in the current epoch, rank by
	 * rank. NULL = not needed. */
	uint32_t *trained;
	struct tier_seen seen;
	struct tier_order order;
	struct nextuse *future;       /* cache=belady; otherwise NULL */
	uint64_t future_at;           /* accesses of the epoch decided so far */
	struct tier_ahead *ahead;     /* cache_prefetch; otherwise NULL */
	struct cache_counts *records; /* an element for each epoch, and a last one for the rest */
	uint64_t record_count, epochs_begun;
	struct cache_counts all;
	uint64_t verified, wrong;
	uint64_t served_samples, served_bytes, received_bytes, sent_bytes;
	uint64_t draw_ns;
};

/* Number of slots that belong to a process. */
static inline uint64_t tier_local_slots(uint64_t slots, uint64_t parts, uint64_t part)
{
	return slots > part ? (slots - part - 1) / parts + 1 : 0;
}

/* True if a slot belongs to this process. Only such a slot has an index and a word. */
static inline bool tier_slot_is_local(const struct tier_cache *c, uint32_t slot)
{
	return slot % c->parts == c->part;
}

/* Index of a slot among the slots of its process. */
static inline uint32_t tier_local_index(const struct tier_cache *c, uint32_t slot)
{
	return slot / c->parts;
}

static inline _Atomic uint64_t *tier_word(const struct tier_cache *c, uint32_t slot)
{
	return &c->slots[tier_local_index(c, slot)];
}

struct tier {
	struct tier_config cfg;
	const struct job *job;
	struct tier_units units;
	struct plan_config plain; /* plan for misses: the plan of the pass with access=plain */
	const struct tier_backend *backend;
	uint64_t slot_bytes; /* distance between slots; fits the largest unit */
	uint64_t data_bytes;
	/* cache=hot: the first hot_units of a random ranking are kept. */
	uint64_t hot_units;
	struct perm ranking;
	struct cache_config limits;
	struct tier_cache *caches;
	uint64_t cache_count;
	_Atomic uint64_t accesses, hits;
	_Atomic bool is_full;
	bool has_started;     /* tier_start has waited for the other processes */
	pthread_mutex_t lock; /* guards the histograms */
	struct hist *hit_ns, *miss_ns, *peer_ns;
};

/* The transfer of one extent. */
struct tier_transfer {
	struct tier_transfer *next; /* list of free transfers */
	struct tier_loader *loader;
	struct tier_decision d;
	bool is_reader;               /* holds the slot as a reader */
	bool is_remote;               /* another process owns the slot */
	uint32_t sum;                 /* checksum that the other process reported */
	bool fills;                   /* the slot is to be filled */
	bool has_claimed;             /* has claimed the slot for filling */
	bool is_queued;               /* queued for the filler */
	uint64_t bytes, cached_bytes; /* bytes of its unit as read and as kept */
	unsigned char *memory;        /* buffer for a unit, owned by the loader; NULL = none */
	struct read_piece pieces[TIER_RANGES + 2];
	struct read_list list;
	struct extent extent;
	uint64_t requested_id;             /* id of the extent in the order */
	char paths[TIER_RANGES][PATH_MAX]; /* data-set files */
	/* File of the cache. */
	char path[PATH_MAX], name[TIER_NAME_BYTES];
};

struct tier_loader {
	struct tier *tier;
	struct tier_cache *cache;
	uint64_t rank;
	struct worker *worker;
	struct reader *reader;
	struct tier_transfer *transfers, *free_transfer;
	unsigned transfer_count;
	struct mlgen_file slab; /* fd -1: closed */
	char slab_path[PATH_MAX];
	bool has_slab;
	/* Decisions on the positions begin to end of an epoch. */
	struct tier_decision decisions[TIER_FETCH_MAX];
	uint64_t epoch, begin, end;
	struct tier_tally tally;
	struct hist *hit_ns, *miss_ns, *peer_ns;
	struct mlgen_err peer_err;     /* failure of another process; code 0 = none */
	bool fills_directly;           /* ignores cache_fill=async */
	bool is_ahead;                 /* prefetches; its accesses are not counted */
	uint64_t seed, draws, late_ns; /* only tier_played uses them */
};

/* A backend stores the bytes of a tier. */
struct tier_backend {
	const char *name;
	bool stores_bytes; /* slots have bytes in them */
	bool buffers;      /* loaders need buffers for units (tier_has_buffers) */
	/* Set up and tear down one cache, before and after the run. NULL = nothing to do. */
	int (*open)(struct tier_cache *c, struct mlgen_err *err);
	int (*close)(struct tier_cache *c, struct mlgen_err *err);
	int (*join)(struct tier_loader *l, struct mlgen_err *err);
	void (*leave)(struct tier_loader *l);
	/* Start the transfer of an extent. A miss is read from storage, and kept if tr->fills;
	 * `filled` is called after it. */
	void (*hit)(struct tier_transfer *tr, const struct extent *x, void *into,
		    uint64_t into_bytes, uint64_t *ready_ns);
	void (*miss)(struct tier_transfer *tr, const struct extent *x);
	/* Finish a fill, whose task may have failed. Called if tr->fills. 0, or -errno with err.
	 * NULL = nothing is kept. */
	int (*filled)(struct tier_transfer *tr, const struct read_task *task,
		      struct mlgen_err *err);
	/* The unit's bytes, after a hit; for cache_verify. */
	const unsigned char *(*address)(struct tier_transfer *tr);
	/* Serve another process. `fetch` starts reading the requested pieces to tr->memory; `store`
	 * keeps the bytes received into tr->memory and returns an enum tier_status. NULL = bytes
	 * are read at, or received to, the address that address() returns. */
	void (*fetch)(struct tier_transfer *tr, const struct tier_request *ask);
	uint32_t (*store)(struct tier_thread *th, struct tier_transfer *tr);
};

extern const struct tier_backend tier_played, tier_memory, tier_directory;
const struct tier_backend *tier_backend_of(const struct job *job);

/* tier.c */

/* True if loaders need memory of their own for units. */
bool tier_has_buffers(const struct job *job);
/* Checksum of all facts that must agree between processes that share a cache. */
uint64_t tier_identity(const struct job *job, const struct pass *pass);
/* Number of accelerators whose accesses are decided here; those of other processes may be
 * included. */
uint64_t tier_ranks_of(const struct job *job);

/* The cache that serves a rank. NULL: the rank belongs to another host. */
struct tier_cache *tier_cache_of(const struct tier *t, uint64_t rank);

/* tier_decide.c; callers hold c->lock */

/* Complete the record of the current epoch. */
void tier_end_epoch(struct tier_cache *c);

/* tier_decide.c */

/* Set up decisions and counters of the cache's ranks, policy included. 0, or -errno with err. */
int tier_decide_init(struct tier_cache *c, struct mlgen_err *err);
void tier_decide_fini(struct tier_cache *c);
uint64_t tier_decide_bytes(const struct job *job, const struct pass *pass,
			   const struct cache_config *limits);

/* Return the decision on an access of the loader's rank. Whenever decisions are fetched from the
 * ring, l->tally is added to the record of its epoch. */
const struct tier_decision *tier_decide(struct tier_loader *l, uint64_t epoch,
					struct sampler_epoch *order, uint64_t position);
/* Add l->tally to the record of its epoch. Callers hold c->lock. */
void tier_flush_tally(struct tier_loader *l);

/* Before all accesses: try to add a unit to the cache. True, with its slot, if the unit was added
 * and its slot belongs to this process. */
bool tier_decide_warm(struct tier_cache *c, uint64_t unit, struct tier_decision *d);

/* tier_decide_ahead: try to add the unit of an extent that will be access `number` of the run;
 * otherwise like tier_decide_warm. tier_count_dropped: count a prefetch that is given up. Callers
 * of both hold c->lock. */
bool tier_decide_ahead(struct tier_cache *c, uint64_t extent, uint64_t number,
		       struct tier_decision *d);
void tier_count_dropped(struct tier_cache *c);

/* Decide the accesses of other processes that follow the last access requested here. Call it while
 * no other thread makes decisions. */
void tier_decide_rest(struct tier_cache *c);

/* True if the slot already has the decision's unit, or has been given to another unit since. */
bool tier_is_obsolete(struct tier_cache *c, const struct tier_decision *d);

/* Add l->tally to the record of its epoch if that differs from `epoch`, and continue with
 * `epoch`. */
void tier_set_epoch(struct tier_loader *l, uint64_t epoch);

/* tier_loader.c: start reading an extent whose bytes are in no slot. */
void tier_miss(struct tier_loader *l, const struct tier_decision *d, const struct extent *x);

/* tier_backends.c, for backends. tier_read_storage: read a miss from storage into `memory`; NULL =
 * the bytes are not kept. tier_storage_pieces: store the unit's ranges in tr->pieces and return
 * their number. */
void tier_read_storage(struct tier_transfer *tr, const struct extent *x, unsigned char *memory);
unsigned tier_storage_pieces(struct tier_transfer *tr, const struct extent *x,
			     unsigned char *memory);
uint32_t tier_sum(const unsigned char *memory, uint64_t bytes);
/* _slot: return the address of a transfer's slot. _filled: end the fill of this slot. */
unsigned char *tier_memory_slot(const struct tier_transfer *tr);
void tier_memory_filled(struct tier_transfer *tr, bool is_whole);

/* Slots of other processes, in tier_backends.c. */

/* Request a hit and wait for the reply. Returns false if its bytes are not present and nothing was
 * started, or if the process is lost (see l->peer_err). */
bool tier_remote_hit(struct tier_transfer *tr, const struct extent *x, void *into,
		     uint64_t into_bytes, uint64_t *ready_ns);
/* Read a miss from storage into tr->memory; tier_remote_fill then sends it to the owner of the
 * slot. -errno with err if that process is lost. */
void tier_remote_miss(struct tier_transfer *tr, const struct extent *x);
int tier_remote_fill(struct tier_transfer *tr, const struct read_task *task, struct mlgen_err *err);

/* ---- background threads that read or write as a loader does ---- */

/*
 * A thread that fills for the loaders, prefetches, warms up the cache or serves other processes. It
 * has a worker with an engine of its own, a reader for one unit at a time, and a loader of the
 * tier. The owner sets the members up to `arg` before the thread starts; the rest belongs to the
 * thread until it is joined.
 */
struct tier_thread {
	struct tier_cache *cache;
	const char *role; /* name in traces */
	uint64_t number;  /* argument of tier_loader_new */
	unsigned files;
	size_t buf_bytes;
	bool may_stop;       /* the end of the run cancels its operations */
	bool fills_directly; /* ignores cache_fill=async */
	bool is_uncounted;   /* bytes and time are not counted */
	/* The body of the thread. Failures go to thread->err. */
	void (*work)(struct tier_thread *thread);
	void *arg;
	struct worker worker;
	struct reader *reader;
	struct tier_loader *loader;
	struct mlgen_err err; /* code 0 = none */
};

/* The owner has set the first members; the others are zero. */
void tier_thread_init(struct tier_thread *t);
int tier_thread_start(struct tier_thread *t, struct mlgen_err *err);
/* Call it after `work` was asked to end. 0, or -errno with err: the thread's failure, except
 * -ECANCELED from the end of the run. */
int tier_thread_join(struct tier_thread *t, struct mlgen_err *err);
/* Free the loader and the reader of a thread that was joined or never started. The worker stays
 * until tier_thread_fini, because the job's list of workers still refers to it. */
void tier_thread_end(struct tier_thread *t);
void tier_thread_fini(struct tier_thread *t);

/* `work` calls it before each unit. Bytes that the thread moves from now on are counted if
 * ramp_time is over. */
void tier_thread_begin(struct tier_thread *t);

/* `work` calls it to wait for the extent that it started. 0, or -errno with thread->err, which
 * names the option `name`. */
int tier_thread_finish(struct tier_thread *t, const char *name, const struct read_task **task);

/* ---- prefetching into the cache ahead of the batch (cache_prefetch) ---- */

/*
 * The order is known in advance, as in NoPFS (N. Dryden et al., SC '21). Each decision also
 * presents the extent that is cache_prefetch samples further on to the policy, as if it were
 * accessed now. If the policy adds it, threads of the tier read it from storage into its slot. When
 * its batch comes, the access is a hit, or a late hit if the threads were not fast enough.
 *
 * If the order of an epoch depends on the previous epoch, accesses are known only up to the end of
 * the current epoch.
 */
struct tier_ahead *tier_ahead_new(struct tier_cache *c);
void tier_ahead_free(struct tier_ahead *a); /* NULL is fine */
uint64_t tier_ahead_threads(const struct job *job, uint64_t ranks);

/* Call when an epoch begins, and before each access is decided. Callers hold the cache's lock. */
void tier_ahead_begin(struct tier_ahead *a, uint64_t epoch);
void tier_ahead_advance(struct tier_ahead *a);

/* Start and join the threads, before and after the training's threads. 0, or -errno with err. */
int tier_ahead_start(struct tier_ahead *a, struct mlgen_err *err);
int tier_ahead_end(struct tier_ahead *a, struct mlgen_err *err);

/* ---- filling misses into the cache in the background, through a bounded queue ---- */

/*
 * Each entry of the queue has memory for a unit (tier_filler_entries entries). A loader that has
 * read a unit looks for a free entry and swaps its own memory with the entry's. It never waits: if
 * no entry is free, the fill is dropped.
 */
void tier_filler_free(struct tier_filler *f); /* NULL is fine */

int tier_filler_start(struct tier_filler *f, struct mlgen_err *err);
/* Work off the queue, then join the thread. 0, or -errno with err: the thread's failure. */
int tier_filler_end(struct tier_filler *f, struct mlgen_err *err);

/* Number of entries: cache_queue. The default is reduced to the number of units of the largest size
 * that fit into 1 GiB, but not below two. */
uint64_t tier_filler_entries(const struct job *j, uint64_t slot_bytes);

/* ---- the folder in cache_directory, which belongs to one cache ---- */

#define TIER_MANIFEST "manifest"

/*
 * The folder is cache_directory/mlgen-cache-JOB, with -RANK, -partN or -processN appended where a
 * job has several folders on a host. A marker file in it says that the folder is mlgen's; a run
 * locks the marker. Other files in or next to the folder are not touched.
 */

/* Name of a slot's file within the folder. */
void tier_file_name(char out[TIER_NAME_BYTES], uint32_t slot);

/* The manifest lists the content of a cache that is kept for the next run. In tier_loader.c. */

/* Load the cache that an earlier run left, and remove the manifest. 1 if there was one, 0 if not,
 * or -errno with err if it does not match this job. */
int tier_manifest_read(struct tier_cache *c, struct mlgen_err *err);
/* Reserve disk space for the next manifest, before the cache fills the disk. A failure is reported
 * later, by tier_manifest_write. */
void tier_manifest_reserve(struct tier_cache *c);
/* Call after all threads have been joined. 0, or -errno with err. */
int tier_manifest_write(struct tier_cache *c, struct mlgen_err *err);

/* ---- the server that answers other processes about slots of this one ---- */

/*
 * A few threads serve the requests, and sleep while there are none. A connection belongs to one
 * thread while a request on it is served. A connection on which anything other than a request
 * arrives is shut down.
 */
#define TIER_SERVERS 4u
#define TIER_SERVER_BYTES 65536u /* buffer size of each thread */

/* 0, or -errno with err. */
int tier_server_start(struct tier_server **out, struct tier_cache *c,
		      const struct tier_peers *peers, struct mlgen_err *err);
/* Join the threads. 0, or -errno with err: the first failure of a thread. */
int tier_server_end(struct tier_server *s, struct mlgen_err *err);
/* Free the server and the counters of its threads. NULL is fine. */
void tier_server_free(struct tier_server *s);
