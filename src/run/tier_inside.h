/* SPDX-License-Identifier: Apache-2.0 */
/* tier_inside.h - the parts of a cache tier, for src/run/tier*.c alone. */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/count.h"
#include "base/perm.h"
#include "base/stop.h"
#include "data/cache/cache.h"
#include "data/order/order.h"
#include "run/bell.h"
#include "run/tier.h"
#include "run/tier_peers.h"
#include "run/tier_slot.h"
#include "run/tier_units.h"

/* Epochs with a record of their own; what comes later is in the sums. */
#define TIER_EPOCHS 1024u

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
	_Atomic uint64_t *slots; /* tier_slot.h; NULL = nothing is kept */
	uint64_t all_slots;
	uint64_t slot_count;        /* of these that are here */
	uint32_t *sums;             /* of slots: cache_verify; else NULL */
	struct tier_filler *filler; /* of cache_fill=async; else NULL */
	struct tier_server *server; /* for other processes; NULL */
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

static inline bool tier_is_own(const struct tier_cache *c, uint64_t rank)
{
	return rank >= c->own_first && rank < c->own_end;
}

struct tier_place;
struct tier_thread;

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

/* tier_sizes.c */

/* Of one whose limits are known. */
struct tier_sizes {
	struct tier_units units;
	struct cache_config limits;
	uint64_t slot_bytes, slots;
};

void tier_size_up(struct tier_sizes *s, const struct job *job, const struct pass *pass);
uint64_t tier_cache_count(const struct job *job);
/* Where it counts whether bytes are there. */
bool tier_has_slots(const struct job *job);
/* Do loaders need memory of their own for units? */
bool tier_has_buffers(const struct job *job);
/* Payload of the data set, or its files; and the mean of a unit, as it is kept. */
uint64_t tier_data_bytes(const struct tier_units *u);
double tier_mean_bytes(const struct tier_units *u);
/* What is the same in all processes that have parts of it. */
uint64_t tier_identity(const struct job *job, const struct pass *pass);
/* Accelerators whose accesses are decided here, which may be those of others. */
uint64_t tier_ranks_of(const struct job *job);

/* The one that a rank asks; NULL: it is one of another host. */
struct tier_cache *tier_cache_of(const struct tier *t, uint64_t rank);

/* Is it one of those that cache=hot keeps? */
bool tier_is_hot(const void *tier, uint64_t unit);

/* tier_note.c: under c->lock, all of it */

/* Where an epoch is counted: in its own record, or in that of the rest. */
struct cache_counts *tier_record_of(struct tier_cache *c, uint64_t epoch);

/* What was decided of an extent, for the epoch and the rank. */
void tier_note_access(struct tier_cache *c, const struct extent *x, const struct tier_decision *d,
		      struct tier_rank *rank, struct cache_counts *r);

/* Extents that were seen: 4 bytes each. An epoch begins. */
void tier_note_init(struct tier_cache *c, uint64_t extents);
void tier_note_fini(struct tier_cache *c);
void tier_note_begin(struct tier_cache *c);

/* Where an extent stands in this epoch's order, and where it did before. */
void tier_note_order(struct tier_cache *c, const struct tier_access *a, struct cache_counts *r);

/* The record of the epoch at hand is complete. */
void tier_end_epoch(struct tier_cache *c);

/* tier_walk.c: the accesses of an epoch, one by one; under c->lock. */
void tier_walk_begin(struct tier_cache *c, uint64_t epoch);
/* NULL: the epoch is over. It is there until the next one is asked for. */
const struct tier_access *tier_walk_next(struct tier_cache *c);
/* The same, and it is still the next. */
const struct tier_access *tier_walk_look(struct tier_cache *c);
void tier_walk_end(struct tier_cache *c); /* at any time */

/* tier_ring.c */
void tier_ring_init(struct tier_ring *r, const struct tier *t);
void tier_ring_fini(struct tier_ring *r);
uint64_t tier_ring_bytes(const struct job *job, const struct pass *pass);
void tier_ring_put(struct tier_ring *r, uint64_t number, const struct tier_decision *d);
struct tier_decision tier_ring_get(const struct tier_ring *r, uint64_t number);

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

/* tier_substitute.c: what the cache has in place of a unit that is missed and would not be kept:
 * its unit and slot. False: nothing. */
bool tier_substitute(struct tier_cache *c, const struct extent *x, uint64_t *unit, uint32_t *slot);
/* Would it be kept, as far as is known before the access? */
bool tier_makes_room(const struct tier_cache *c, uint64_t unit);

/* tier_future.c: when each unit is next accessed (belady). */

/* c->future; 0, or -errno with err. */
int tier_future_init(struct tier_cache *c, struct mlgen_err *err);
uint64_t tier_future_bytes(const struct job *job, const struct pass *pass, uint64_t units);
/* An epoch begins. */
void tier_future_begin(struct tier_cache *c, uint64_t epoch);
/* Of the next access in its order. */
uint64_t tier_future_next(struct tier_cache *c);

/* tier_places.c, for places: a miss is read from storage, to memory or (NULL) to nowhere. Its
 * ranges as pieces; their number. */
void tier_read_storage(struct tier_way *w, const struct extent *x, unsigned char *memory);
unsigned tier_storage_pieces(struct tier_way *w, const struct extent *x, unsigned char *memory);
uint32_t tier_sum(const unsigned char *memory, uint64_t bytes);
/* Of the way's slot, in memory: its bytes; and they are all there, or are not. */
unsigned char *tier_memory_slot(const struct tier_way *w);
void tier_memory_filled(struct tier_way *w, bool is_whole);
/* Of a unit that is in memory: the extent, to where it is wanted, or (NULL) into the worker's
 * buffer. */
void tier_copy_out(struct tier_way *w, const struct extent *x, const unsigned char *from,
		   void *into, uint64_t into_bytes);
void tier_took(struct tier_way *w, const struct extent *x, uint64_t start_ns, uint64_t end_ns);

/* tier_remote.c: slots of other processes. */

/* A hit: it is asked for, and waited for. False: it is not there, and nothing has begun; or its
 * process is lost, and l->peer_err says so. */
bool tier_remote_hit(struct tier_way *w, const struct extent *x, void *into, uint64_t into_bytes,
		     uint64_t *ready_ns);
/* A miss is read from storage, into w->memory; behind it that is sent to whose slot it is for.
 * -errno with err: its process is lost. */
void tier_remote_miss(struct tier_way *w, const struct extent *x);
int tier_remote_fill(struct tier_way *w, const struct read_task *task, struct mlgen_err *err);
