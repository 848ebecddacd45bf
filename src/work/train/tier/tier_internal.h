/* SPDX-License-Identifier: Apache-2.0 */
/* tier_internal.h - what the files of work/train/tier share. */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/util.h"
#include "data/cache/cache.h"
#include "data/file/file.h"
#include "data/order/order.h"
#include "run/slot/slot.h"
#include "work/train/tier/tier.h"

/* ---- questions and answers between processes about slots of a cache ---- */

/*
 * A question is this head, of a fill with the bytes of the unit behind it; an answer is its head,
 * of a slot that is there with the bytes that were asked for behind it. All processes are the same
 * program on the same architecture (star.c compares versions), so numbers go as they are.
 */
enum tier_ask_kind { TIER_GET = 1, TIER_FILL };

#define TIER_ASK_PIECES 2 /* as many as a unit has ranges */

struct tier_ask {
	uint32_t kind, slot, generation;
	uint32_t sum; /* of a fill, with cache_verify: of all its bytes */
	uint64_t epoch, extent;
	uint32_t samples, count; /* count: of pieces */
	struct tier_piece {
		uint64_t at, bytes; /* in the slot */
	} pieces[TIER_ASK_PIECES];
};

enum tier_said {
	TIER_THERE = 1,
	TIER_NOT_THERE, /* not yet, or not any more */
	TIER_KEPT,      /* of a fill: it is there now */
	TIER_PASSED_ON, /* ... will be, and is counted by who keeps it */
	TIER_DROPPED,   /* ... is not */
	TIER_FAILED,    /* `sum` is an errno */
};

struct tier_answer {
	uint32_t said;
	uint32_t sum; /* of what is in the slot, all of it */
	uint64_t bytes;
};

/*
 * Together, by one thread of each: they answer, and may be asked; nobody asks any more. It waits
 * for all of them; where one of them is gone, failed before it had begun, or has left, it waits for
 * nobody.
 */
void tier_peers_await(struct tier_peers *p);
/* This one never begins: nobody is to wait. */
void tier_peers_leave(struct tier_peers *p);

/* Any thread: questions that are under way end, and so do all that come. */
void tier_peers_cut(struct tier_peers *p);

/*
 * A question, and its answer. Of a slot that is there its pieces come into `memory`, each at its
 * place; of a fill they come from there. What is wrong: -errno with err, which names the host.
 */
int tier_peers_ask(struct tier_peers *p, unsigned rank, const struct tier_ask *ask,
		   unsigned char *memory, struct tier_answer *answer, struct mlgen_err *err);

/* ---- the parts of a cache tier, for src/run/tier*.c alone ---- */

struct tier_place;
struct tier_thread;
struct tier_ahead;
struct tier_filler;
struct tier_server;

/* ---- what a cache tier keeps as a whole: samples, files, or pages of them ---- */

/*
 * A unit has a number, a size, and ranges of bytes of files: one, or two where samples are pairs.
 * In the tier they lie one behind the other; where reads are direct each is whole blocks, and
 * begins at one.
 */
struct tier_units {
	const struct plan_config *plan;
	int kind;           /* enum job_cache_unit */
	struct pages pages; /* CACHE_PAGES */
	double factor;      /* bytes that are kept of one that was read */
	uint64_t count;
	uint64_t same_bytes;    /* of each; 0 = they differ */
	uint64_t largest_bytes; /* of those that were looked at, a million */
	/* Of all units as they lie in the tier, before they are decoded: what cache_size= is a part
	 * of. */
	uint64_t stored_bytes;
};

#define TIER_RANGES 2

struct tier_range {
	uint64_t file; /* among those of all parts */
	uint64_t off, bytes;
	uint64_t at; /* in the unit */
};

void tier_units_init(struct tier_units *u, const struct plan_config *plan, const struct job *job);

uint64_t tier_unit_of(const struct tier_units *u, const struct extent *x);
uint64_t tier_unit_bytes(const struct tier_units *u, uint64_t unit);
const char *tier_unit_word(const struct tier_units *u); /* "sample" */
uint64_t tier_unit_samples(const struct tier_units *u); /* the most of one */

/* The id of its first extent. */
uint64_t tier_unit_first(const struct tier_units *u, uint64_t unit);

/* An extent of the unit, for one of another: in the place that this one has in its own, or the one
 * that comes next to it. */
void tier_unit_extent(const struct tier_units *u, uint64_t unit, const struct extent *instead_of,
		      struct extent *out);
/* Of so many bytes of a unit: as they are kept (cache_stage). */
uint64_t tier_kept_bytes(const struct tier_units *u, uint64_t bytes);

unsigned tier_extent_ranges(const struct tier_units *u, const struct extent *x,
			    struct tier_range *out);

/* ---- a slot of a cache tier: whose bytes it has, and who reads them, in one word ---- */

/*
 * A slot is given to one unit after the other; each time is a generation, from
 * 1. The word has the generation whose bytes are in it, or on their way, what
 * became of them, and how many threads read them. Acquire and release order what is in the slot
 * with the word: who enters sees all that was filled in, and who fills comes after all who have
 * left.
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

/* Has it the bytes of this generation? Then they stay until tier_slot_leave. */
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

/* By one of those who read it: nobody else will. */
static inline void tier_slot_spoil(_Atomic uint64_t *slot)
{
	/* READY and this bit are FAILED. */
	atomic_fetch_or_explicit(slot, tier_slot_word(0, SLOT_FILLING), memory_order_relaxed);
}

/* May the bytes of this generation come into it now? Not while somebody reads or fills it, nor
 * where a later one has it, nor where they are there. Of one that only has room where something
 * was, `grows` false. */
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

/* By who fills it. */
static inline void tier_slot_filled(_Atomic uint64_t *slot, uint64_t generation, bool is_whole)
{
	atomic_store_explicit(slot, tier_slot_word(generation, is_whole ? SLOT_READY : SLOT_FAILED),
			      memory_order_release);
}

/* ---- the parts of a cache tier, for src/run/tier*.c alone ---- */

/* Decisions that a loader takes at a time, at most. */
#define TIER_TAKEN 256u

/* Starts of epochs in a rank's ring that are known. */
#define TIER_STARTS 8u

struct tier_decision {
	uint64_t unit;
	uint32_t slot, generation; /* CACHE_NO_SLOT: is not kept */
	bool is_hit;
	/* Another unit, which is in the slot, is taken in its place. */
	bool is_substituted;
	uint32_t substitute;
	/* Nobody has asked for it before it was written over: it is read, and nothing else. */
	bool is_lost;
};

/* As many bits as a decision has of a generation. */
#define TIER_GENERATION_MOST ((UINT32_C(1) << 30) - 1)

/* As it waits for who asks for it. */
struct tier_entry {
	uint32_t slot;
	uint32_t word; /* generation, and two bits: hit, substituted */
};

/* Decisions on a rank's positions, numbered through all epochs; that of number n is at n % room. */
struct tier_ring {
	struct tier_entry *at;
	uint32_t *substitutes; /* units; NULL = nothing stands for another */
	uint64_t room, end;
	uint64_t starts[TIER_STARTS]; /* of epoch e at e % TIER_STARTS */
};

/* Accesses that are looked up together, before they are decided. */
#define TIER_COMING 16u

struct tier_access {
	struct orderwalk_at at;
	struct extent extent;
	uint64_t unit;
};

/* An epoch's accesses in the order of the plan, and those that come next. */
struct tier_walk {
	struct orderwalk order;
	struct tier_access coming[TIER_COMING];
	unsigned next, end;
};

/*
 * When an extent was accessed last, of which epoch and where in it, is one number: accesses are
 * counted through all epochs, from 1. What was before the epoch before this one need not be known,
 * so that they are counted anew from there before 32 bits are full.
 */
#define TIER_EPOCH_MOST (UINT32_C(1) << 31) /* accesses, that can be told apart */

struct tier_seen {
	uint32_t *last;                     /* of extents: their first access of an epoch; 0 */
	uint64_t epoch_first, before_first; /* this one, and the one before */
};

/* Of the order of the epoch at hand. */
struct tier_order {
	uint64_t accesses, follows;
	double pairs, x, y, xx, yy, xy; /* places now and before: sums */
};

/* What has happened beside what was decided; of one epoch. */
struct tier_tally {
	uint64_t late_hits, fills, dropped_fills;
	uint64_t cache_bytes, storage_bytes, filled_bytes;
	uint64_t accesses, hits, verified, wrong;
	/* Of other processes' parts; and for them. */
	uint64_t peer_hits, peer_bytes, sent_bytes;
	uint64_t served_samples, served_bytes, received_bytes;
};

/* Of a rank, in all; and of the epochs after the first. */
struct tier_rank {
	uint64_t accesses, hits, misses, substitutions;
	uint64_t later_accesses, later_hits;
};

/* "a5/1f4a5.unit": its slot. */
#define TIER_NAME_BYTES 24

/* Where bytes are kept of one cache, but for memory. */
struct tier_folder {
	char *path; /* owned; NULL = none */
	int dir_fd, lock_fd;
	bool is_ours; /* from here on what is in it may be removed */
};

/* One cache, of a host, of a rank, or of all processes. What stands below `lock` is under it. */
struct tier_cache {
	struct tier *tier;
	/* Whose accesses are decided; and those of them that are asked here. */
	uint64_t first_rank, end_rank, own_first, own_end;
	/* Slot s is here if s % parts is `part`: 1 and 0 where it is whole. */
	uint32_t parts, part;
	_Atomic uint64_t *slots; /* of tier_slot_word(); NULL = nothing is kept */
	uint64_t all_slots;
	uint64_t slot_count;        /* of these that are here */
	uint32_t *sums;             /* of slots: cache_verify; else NULL */
	struct tier_filler *filler; /* of cache_fill=async; else NULL */
	struct tier_server *server; /* for other processes; NULL */
	struct tier_thread *warmer; /* of cache_warm, which has ended; NULL */
	unsigned char *memory;      /* all slots, one behind the other; NULL */
	size_t memory_bytes;
	_Atomic uint64_t free_ns; /* played: when all that is asked for passed */
	struct tier_folder folder;
	uint64_t kept_units, warm_units;
	uint64_t used_bytes, used_units; /* at the end */
	bool is_closed;
	pthread_mutex_t lock;
	struct cache *cache;
	struct tier_walk walk;
	uint64_t epoch; /* at hand, from 0 */
	bool has_begun;
	struct tier_ring *rings; /* of its own ranks */
	struct tier_rank *ranks;
	uint64_t *last;       /* extent of each rank's access before */
	uint64_t substituted; /* looks for a substitute so far */
	/* cache_substitute: extents as they are trained on, of each rank one behind the other, of
	 * the epoch at hand; NULL = nobody asks. */
	uint32_t *trained;
	struct tier_seen seen;
	struct tier_order order;
	struct nextuse *future;       /* of belady; NULL */
	uint64_t future_at;           /* accesses decided, of the epoch */
	struct tier_ahead *ahead;     /* of cache_prefetch; NULL */
	struct cache_counts *records; /* of epochs, and one of the rest */
	uint64_t record_count, epochs_begun;
	struct cache_counts all;
	uint64_t verified, wrong;
	uint64_t served_samples, served_bytes, received_bytes, sent_bytes;
	uint64_t draw_ns;
};

/* Of so many slots those that are here. */
static inline uint64_t tier_slots_here(uint64_t slots, uint64_t parts, uint64_t part)
{
	return slots > part ? (slots - part - 1) / parts + 1 : 0;
}

/* Is a slot that of this process? Its number among these, and its word. */
static inline bool tier_is_here(const struct tier_cache *c, uint32_t slot)
{
	return slot % c->parts == c->part;
}

static inline uint32_t tier_slot_here(const struct tier_cache *c, uint32_t slot)
{
	return slot / c->parts;
}

static inline _Atomic uint64_t *tier_word(const struct tier_cache *c, uint32_t slot)
{
	return &c->slots[tier_slot_here(c, slot)];
}

struct tier {
	struct tier_config cfg;
	const struct job *job;
	struct tier_units units;
	struct plan_config plain; /* of misses: the pass', read plainly */
	const struct tier_place *place;
	uint64_t slot_bytes; /* of the largest unit, as slots are apart */
	uint64_t data_bytes;
	/* cache=hot: the first so many of a ranking, which is drawn. */
	uint64_t hot_units;
	struct perm ranking;
	struct cache_config limits;
	struct tier_cache *caches;
	uint64_t cache_count;
	_Atomic uint64_t accesses, hits;
	_Atomic bool is_full;
	bool has_met;         /* tier_start has waited for the other processes */
	pthread_mutex_t lock; /* of what follows */
	struct hist *hit_ns, *miss_ns, *peer_ns;
};

/* One extent on its way. */
struct tier_way {
	struct tier_way *next; /* of those that are free */
	struct tier_loader *loader;
	struct tier_decision d;
	bool enters;                /* its slot is read */
	bool is_remote;             /* its slot is another process's */
	uint32_t sum;               /* ... which says this of its bytes */
	bool fills;                 /* its slot is to be filled, or is being */
	bool is_held;               /* ... and is, by this one */
	bool is_passed_on;          /* the filler has it */
	uint64_t bytes, kept_bytes; /* of its unit: read, and kept */
	unsigned char *memory;      /* of the loader's, for a unit; NULL */
	struct read_piece pieces[TIER_RANGES + 2];
	struct read_list list;
	struct extent extent;
	uint64_t asked;                    /* the id of the extent that stands in the order */
	char paths[TIER_RANGES][PATH_MAX]; /* of the data set */
	/* Of a file of the cache's. */
	char path[PATH_MAX], name[TIER_NAME_BYTES];
};

struct tier_loader {
	struct tier *tier;
	struct tier_cache *cache;
	uint64_t rank;
	struct worker *worker;
	struct reader *reader;
	struct tier_way *ways, *free_way;
	unsigned way_count;
	struct mlgen_file slab; /* fd -1: none is open */
	char slab_path[PATH_MAX];
	bool has_slab;
	/* Decisions that were taken: of these positions of an epoch. */
	struct tier_decision taken[TIER_TAKEN];
	uint64_t epoch, begin, end;
	struct tier_tally tally;
	struct hist *hit_ns, *miss_ns, *peer_ns;
	struct mlgen_err peer_err;     /* code 0 = none: of another process */
	bool fills_itself;             /* whatever cache_fill says */
	bool is_ahead;                 /* nobody has asked for it yet */
	uint64_t seed, drawn, late_ns; /* played */
};

/* Where bytes are: one row each. */
struct tier_place {
	const char *name;
	bool keeps;   /* has slots with bytes in them */
	bool buffers; /* loaders need memory for units (tier_has_buffers) */
	/* Of one cache, before and after the run. NULL = nothing to do. */
	int (*open)(struct tier_cache *c, struct mlgen_err *err);
	int (*close)(struct tier_cache *c, struct mlgen_err *err);
	int (*join)(struct tier_loader *l, struct mlgen_err *err);
	void (*leave)(struct tier_loader *l);
	/* Begin an extent. A miss is read from storage, and kept if w->fills; then `filled` is
	 * called when it is there. */
	void (*hit)(struct tier_way *w, const struct extent *x, void *into, uint64_t into_bytes,
		    uint64_t *ready_ns);
	void (*miss)(struct tier_way *w, const struct extent *x);
	/* Of one with w->fills, whose task is done, maybe with an error: 0, or -errno with err.
	 * NULL = nothing is kept. */
	int (*filled)(struct tier_way *w, const struct read_task *task, struct mlgen_err *err);
	/* Of a hit: the bytes of the unit, of cache_verify. */
	const unsigned char *(*look)(struct tier_way *w);
	/* For another process: the pieces that it asks for begin to be read to w->memory; what it
	 * has sent is there, and is kept: what is said of it (enum tier_said). NULL = look() has
	 * them, and they go there. */
	void (*fetch)(struct tier_way *w, const struct tier_ask *ask);
	uint32_t (*keep)(struct tier_thread *th, struct tier_way *w);
};

extern const struct tier_place tier_played, tier_memory, tier_directory;
const struct tier_place *tier_place_of(const struct job *job);

/* tier.c */

/* Do loaders need memory of their own for units? */
bool tier_has_buffers(const struct job *job);
/* What is the same in all processes that have parts of it. */
uint64_t tier_identity(const struct job *job, const struct pass *pass);
/* Accelerators whose accesses are decided here, which may be those of others. */
uint64_t tier_ranks_of(const struct job *job);

/* The one that a rank asks; NULL: it is one of another host. */
struct tier_cache *tier_cache_of(const struct tier *t, uint64_t rank);

/* Is it one of those that cache=hot keeps? */
bool tier_is_hot(const void *tier, uint64_t unit);

/* tier_decide.c: under c->lock, all of it */

/* The record of the epoch at hand is complete. */
void tier_end_epoch(struct tier_cache *c);

/* tier_decide.c */

/* Decisions and counts of its ranks begin; of its own memory and policy all is set. 0, or -errno
 * with err. */
int tier_decide_init(struct tier_cache *c, struct mlgen_err *err);
void tier_decide_fini(struct tier_cache *c);
uint64_t tier_decide_bytes(const struct job *job, const struct pass *pass,
			   const struct cache_config *limits);

/* That on a position of its rank; l->tally is counted with those of an epoch whenever more are
 * taken. */
const struct tier_decision *tier_decide(struct tier_loader *l, uint64_t epoch,
					struct sampler_epoch *order, uint64_t position);
/* Under c->lock. */
void tier_count(struct tier_loader *l);

/* Before all accesses: is the unit taken in, which was not there? Its slot. */
bool tier_decide_warm(struct tier_cache *c, uint64_t unit, struct tier_decision *d);

/* An extent that will be access `number` of the run: is its unit taken in, which was not there? Its
 * slot. Under c->lock, as is a fill that is not to be. */
bool tier_decide_ahead(struct tier_cache *c, uint64_t extent, uint64_t number,
		       struct tier_decision *d);
void tier_count_dropped(struct tier_cache *c);

/* What comes behind the last access that was asked for here, and is other processes'. While nobody
 * decides anything else. */
void tier_decide_rest(struct tier_cache *c);

/* Has somebody else brought, or taken, what it was decided for? */
bool tier_is_there(struct tier_cache *c, const struct tier_decision *d);

/* What l->tally has so far is of the epoch before. */
void tier_turn_to_epoch(struct tier_loader *l, uint64_t epoch);

/* tier_loader.c: begin an extent of which nothing is there. */
void tier_miss(struct tier_loader *l, const struct tier_decision *d, const struct extent *x);

/* When each unit is next accessed (belady). */

uint64_t tier_future_bytes(const struct job *job, const struct pass *pass, uint64_t units);

/* tier_places.c, for places: a miss is read from storage, to memory or (NULL) to nowhere. Its
 * ranges as pieces; their number. */
void tier_read_storage(struct tier_way *w, const struct extent *x, unsigned char *memory);
unsigned tier_storage_pieces(struct tier_way *w, const struct extent *x, unsigned char *memory);
uint32_t tier_sum(const unsigned char *memory, uint64_t bytes);
/* Of the way's slot, in memory: its bytes; and they are all there, or are not. */
unsigned char *tier_memory_slot(const struct tier_way *w);
void tier_memory_filled(struct tier_way *w, bool is_whole);

/* Slots of other processes: tier_places.c. */

/* A hit: it is asked for, and waited for. False: it is not there, and nothing has begun; or its
 * process is lost, and l->peer_err says so. */
bool tier_remote_hit(struct tier_way *w, const struct extent *x, void *into, uint64_t into_bytes,
		     uint64_t *ready_ns);
/* A miss is read from storage, into w->memory; behind it that is sent to whose slot it is for.
 * -errno with err: its process is lost. */
void tier_remote_miss(struct tier_way *w, const struct extent *x);
int tier_remote_fill(struct tier_way *w, const struct read_task *task, struct mlgen_err *err);

/* ---- a thread of a cache tier's own, which reads or writes as one of its loaders does ---- */

/*
 * Who fills behind the loaders, fetches ahead of them or fills before the run: a worker with an
 * engine of its own, a reader whose requests are those of one unit after the other, and a loader of
 * the tier. Members up to `work` are set by its owner before it starts, and what stands behind them
 * is the thread's until it is joined.
 */
struct tier_thread {
	struct tier_cache *cache;
	const char *role; /* in traces */
	uint64_t number;  /* as tier_loader_new asks for it */
	unsigned files;
	size_t buf_bytes;
	bool may_stop;     /* the run's end ends its operations */
	bool fills_itself; /* whatever cache_fill says */
	bool is_apart;     /* neither what it moves nor its time counts */
	/* All that it does. What fails is said in thread->err. */
	void (*work)(struct tier_thread *thread);
	void *arg;
	struct worker worker;
	struct reader *reader;
	struct tier_loader *loader;
	struct mlgen_err err; /* err.code 0 = none */
};

/* Of one whose first members are set; the others are zero. */
void tier_thread_init(struct tier_thread *t);
int tier_thread_start(struct tier_thread *t, struct mlgen_err *err);
/* Whoever ends it has told `work` to come to its end. 0, or -errno with err: what it has met, but
 * for the run's end, -ECANCELED. */
int tier_thread_join(struct tier_thread *t, struct mlgen_err *err);
/* After it was joined, or never started. Of one that has ended before the job the worker alone
 * stays, for those who walk through the list of workers. */
void tier_thread_end(struct tier_thread *t);
void tier_thread_fini(struct tier_thread *t);

/* Called by `work` before each unit: what it moves from here on counts if ramp_time is over. */
void tier_thread_begin(struct tier_thread *t);

/* By `work`: the extent that it has begun is done. 0, or -errno with thread->err, where `name` is
 * the option that it is for. */
int tier_thread_finish(struct tier_thread *t, const char *name, const struct read_task **task);

/* ---- samples that are brought into a cache tier ahead of their batch (cache_prefetch) ---- */

/*
 * As NoPFS does by the order that it knows (N. Dryden et al., SC '21): what is read so many samples
 * behind what is decided is accessed for its policy now, and where it was not there threads of the
 * tier read it from storage into its slot. When its batch comes it is a hit; a late one, where they
 * were not as fast.
 *
 * Orders that follow from the epoch before are known to its end only.
 */
struct tier_ahead *tier_ahead_new(struct tier_cache *c);
void tier_ahead_free(struct tier_ahead *a); /* NULL is fine */
uint64_t tier_ahead_threads(const struct job *job, uint64_t ranks);

/* Under the cache's lock: an epoch begins; and before each access is decided. */
void tier_ahead_begin(struct tier_ahead *a, uint64_t epoch);
void tier_ahead_go_on(struct tier_ahead *a);

/* Around the training's threads. 0, or -errno with err. */
int tier_ahead_start(struct tier_ahead *a, struct mlgen_err *err);
int tier_ahead_end(struct tier_ahead *a, struct mlgen_err *err);

/* ---- what loaders have missed is kept behind them, by a thread with a bounded queue ---- */

/*
 * A queue of places, each with memory for a unit (tier_filler_places). A loader that has read one
 * looks for a place that is free, leaves its memory there and takes that of the place: nobody
 * waits, and where none is free the fill is dropped.
 */
void tier_filler_free(struct tier_filler *f); /* NULL is fine */

int tier_filler_start(struct tier_filler *f, struct mlgen_err *err);
/* What is in the queue is still kept; then it is joined. 0, or -errno with err: what it has met. */
int tier_filler_end(struct tier_filler *f, struct mlgen_err *err);

/* How many units may wait: cache_queue, but where that is the default no more than 1 GiB of the
 * largest ones, or two. */
uint64_t tier_filler_places(const struct job *j, uint64_t slot_bytes);

/* ---- the folder of a cache tier in cache_directory: ours alone, made, kept and removed ---- */

#define TIER_MANIFEST "manifest"

/*
 * cache_directory/mlgen-cache-JOB, with -RANK, -partN or -processN where a job has several on a
 * host: what has the marker in it is ours, and the marker is locked while a run uses it. Whatever
 * else lies in there, or beside it, is not touched.
 */

/* Of a slot's file, whatever unit is in it; within the folder. */
void tier_file_name(char out[TIER_NAME_BYTES], uint32_t slot);

/* tier_loader.c: what is in the slots of a tier that is kept, for the next run. */

/* Take what an earlier one has left over; the manifest is gone then. 1 where it did, 0: there was
 * none, or -errno with err: it is of something else. */
int tier_manifest_read(struct tier_cache *c, struct mlgen_err *err);
/* Room on the disk for the one to come, before the tier takes all there is; where there is none,
 * that is what tier_manifest_write says. */
void tier_manifest_reserve(struct tier_cache *c);
/* After all have been joined. 0, or -errno with err. */
int tier_manifest_write(struct tier_cache *c, struct mlgen_err *err);
bool tier_manifest_is_there(const struct tier_cache *c);

/* ---- answers the other processes about the slots of a cache tier that are here ---- */

/*
 * A few threads, which sleep while nobody asks. A connection is one thread's while a question of it
 * is answered. Who says something else than a question is shut out.
 */
#define TIER_SERVERS 4u
#define TIER_SERVER_BYTES 65536u /* the buffer of each */

/* 0, or -errno with err. */
int tier_server_start(struct tier_server **out, struct tier_cache *c,
		      const struct tier_peers *peers, struct mlgen_err *err);
/* Joins the threads: 0, or -errno with err, what one of them has met. */
int tier_server_end(struct tier_server *s, struct mlgen_err *err);
/* Frees the server with what its threads have counted; NULL is fine. */
void tier_server_free(struct tier_server *s);
