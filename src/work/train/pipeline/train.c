/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - a training job: set up, started, joined. */
#include "work/train/pipeline/pipeline_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "data/order/order.h"
#include "data/plans/plans.h"
#include "io/engines.h"
#include "run/read/read.h"
#include "run/slot/slot.h"
#include "run/watch/watch.h"
#include "work/checkpoint/writer/writer.h"
#include "work/train/tier/tier.h"

bool train_drops_before(const struct train *t, uint64_t epoch)
{
	int how = t->job->invalidate;

	return job_touches_files(t->job) &&
	       (how == INVALIDATE_EPOCH || (how == INVALIDATE_RUN && epoch == 0));
}

uint64_t train_ramp_end_ns(const struct train *t)
{
	return atomic_load(&t->start_ns) + t->job->ramp_time_ns;
}

bool train_is_last_epoch(const struct train *t, uint64_t epoch)
{
	return !t->job->time_based && epoch + 1 >= t->job->epochs;
}

static bool is_over(const struct train *t, uint64_t steps, uint64_t now_ns)
{
	const struct job *j = t->job;

	if (atomic_load(t->interrupted))
		return true;
	if (j->steps && steps >= j->steps)
		return true;
	return j->runtime_ns && now_ns >= train_ramp_end_ns(t) + j->runtime_ns;
}

static bool is_au_missed(const struct train *t)
{
	return atomic_load(&t->ranks_missing_au) == t->job->accelerators;
}

bool train_wants_stop(const struct train *t, uint64_t steps, uint64_t now_ns)
{
	return is_over(t, steps, now_ns) || is_au_missed(t);
}

/* Votes of a process at a barrier. VOTE_STOP: the process wants to stop. VOTE_REACHABLE: the
 * required AU is still within reach of its accelerators. A single VOTE_STOP ends the training, and
 * so does the lack of any VOTE_REACHABLE. */
enum { VOTE_STOP = 1, VOTE_REACHABLE = 2 };

uint64_t train_vote(void *train)
{
	struct train *t = train;
	bool stops = is_over(t, t->barrier_steps, clock_now(t->clock));

	return (stops ? VOTE_STOP : 0) | (is_au_missed(t) ? 0 : VOTE_REACHABLE);
}

void train_apply(void *train, uint64_t votes)
{
	struct train *t = train;

	if ((votes & VOTE_STOP) || !(votes & VOTE_REACHABLE))
		atomic_store(&t->is_decided, true);
}

const struct peers_decision train_decide_stop = { train_vote, train_apply };

static void init_rank(struct train *t, struct rank *r, uint64_t index)
{
	r->train = t;
	r->index = t->job->accelerators_before + index;
	r->local_index = index;
	r->step = hist_new();
	r->first_step = hist_new();
	r->stall = hist_new();
	r->oversleep = hist_new();
	r->epoch_stall = hist_new();
	pthread_mutex_init(&r->counts_lock, NULL);
	if (t->job->ramp_time_ns)
		r->ramp_stall = hist_new();
	r->decoded_ns = mem_array(t->job->decode_threads, sizeof(*r->decoded_ns));
	r->loaders = mem_array(job_readers(t->job), sizeof(*r->loaders));
	for (uint64_t i = 0; i < job_readers(t->job); i++) {
		struct loader *l = &r->loaders[i];

		l->rank = r;
		l->index = i;
		l->awaited_extents = UINT64_MAX;
		l->ring = ring_new(loader_ring_tokens(t->job, &t->stages));
		worker_init(&l->worker);
	}
}

static void fini_rank(struct rank *r)
{
	for (uint64_t i = 0; r->loaders && i < job_readers(r->train->job); i++) {
		struct loader *l = &r->loaders[i];

		tier_loader_free(l->tier);
		reader_free(l->reader);
		unpack_free(l->unpack);
		mem_free(l->per_sample.shares);
		mem_free(l->first_sample.shares);
		ring_free(l->ring);
		worker_fini(&l->worker);
	}
	hold_free(r->hold);
	mem_free(r->loaders);
	mem_free(r->decoded_ns);
	hist_free(r->step);
	hist_free(r->first_step);
	hist_free(r->stall);
	hist_free(r->oversleep);
	hist_free(r->epoch_stall);
	hist_free(r->ramp_stall);
	pthread_mutex_destroy(&r->counts_lock);
}

int train_pass(struct pass *p, const struct job *job, const struct dataset *ds, bool is_eval,
	       uint64_t align_bytes, struct mlgen_err *err)
{
	struct sampler_config cfg = sampler_config(job, job_all_accelerators(job));

	cfg.is_eval = is_eval;
	/* Evaluation reads every sample exactly once. */
	if (is_eval && shuffle_repeats(cfg.shuffle.kind))
		cfg.shuffle.kind = SHUFFLE_NONE;
	if (is_eval && job->eval_batch_size)
		cfg.batch = job->eval_batch_size;
	*p = (struct pass){
		.is_eval = is_eval,
		.dataset = ds,
		.plan = { .dataset = ds,
			  .access = (enum job_access)job->access,
			  .bs_bytes = job->bs.read,
			  .direct = job->direct,
			  .align_bytes = align_bytes },
	};
	int rc = sampler_init(&p->sampler, &cfg, ds, err);

	if (rc == 0)
		p->window = loader_model(job)->window(job, p);
	return rc;
}

int train_stages(struct stages *s, const struct job *job, const struct dataset *dataset,
		 const struct dataset *eval, uint64_t align_bytes, struct mlgen_err *err)
{
	*s = (struct stages){ .has_eval = eval != NULL,
			      .eval_after = job->eval_after,
			      .eval_every = job->eval_every };
	int rc = train_pass(&s->train, job, dataset, false, align_bytes, err);
	if (rc == 0 && eval)
		rc = train_pass(&s->eval, job, eval, true, align_bytes, err);
	return rc;
}

uint64_t train_max_packed_bytes(const struct job *job, const struct stages *s)
{
	uint64_t most = dataset_packed_max(s->train.dataset);

	if (job->decompress != DECOMPRESS_REAL || !job_touches_files(job))
		return 0;
	if (s->has_eval)
		most = u64_max(most, dataset_packed_max(s->eval.dataset));
	return most;
}

/* Does the job move hits to the front of a fixed order? Importance sampling already reads cached
 * samples first. */
static bool reorders_hits(const struct job *j)
{
	return j->cache != CACHE_NONE && j->cache_hits_first &&
	       j->shuffle.kind != SHUFFLE_IMPORTANCE;
}

/* Set up the orders that are drawn before each epoch. */
static int init_drawn_orders(struct train *t, struct mlgen_err *err)
{
	struct sampler *s = &t->stages.train.sampler;
	struct importance_config cfg = importance_config(t->job, s);

	if (s->shuffle == SHUFFLE_IMPORTANCE) {
		int rc = importance_new(&t->importance, &cfg, err);

		if (rc < 0)
			return rc;
	}
	s->importance = t->importance;
	if (!reorders_hits(t->job))
		return 0;
	if (s->extents_differ || s->extents > UINT32_MAX)
		return mlgen_fail(err, -EINVAL,
				  "cache_hits_first: works with up to %" PRIu32
				  " samples that can each be read alone; leave it out",
				  UINT32_MAX);
	s->hits_first = t->hits_first = hitsfirst_new(s, sampler_ranks_known(t->job));
	return 0;
}

int train_init(struct train *t, const struct job *job, const struct dataset *dataset,
	       const struct dataset *eval, uint64_t align_bytes, struct clock *clock,
	       struct failure *failure, const _Atomic bool *interrupted, struct mlgen_err *err)
{
	*t = (struct train){ .job = job,
			     .dataset = dataset,
			     .eval = eval,
			     .clock = clock,
			     .failure = failure,
			     .interrupted = interrupted,
			     .max_loss_ns = (double)INFINITY };
	t->engine_job = (struct mlgen_engine_job){
		.engine = job->engine,
		.opts = job->engine_opts,
		.find = engines_find,
		.workers = (unsigned)(job->accelerators * job_readers(job)),
	};
	struct hold_config hold;
	int rc = train_stages(&t->stages, job, dataset, eval, align_bytes, err);
	if (rc == 0)
		rc = job_checkpoint_every(job, &t->saves.every, err);
	if (rc == 0 && job->engine->job_init)
		rc = job->engine->job_init(&t->engine_job, err);
	if (rc < 0)
		return rc;
	peers_init(&t->peers, clock, job->accelerators);
	pthread_mutex_init(&t->saves.lock, NULL);
	t->saves.stopped_ns = UINT64_MAX;
	t->buffer_bytes = plan_buffer_bytes(&t->stages.train.plan, job_depth(job));
	t->epochs = epochs_new(job->accelerators, job->batch_size, dist_mean(&dataset->sample_size),
			       &t->stages.train.sampler);
	t->ranks = mem_array(job->accelerators, sizeof(*t->ranks));
	for (uint64_t i = 0; i < job->accelerators; i++)
		init_rank(t, &t->ranks[i], i);
	rc = init_drawn_orders(t, err);
	if (rc < 0)
		return rc;
	hold_plan(&hold, job, &t->stages);
	for (uint64_t i = 0; hold.slots && i < job->accelerators && rc == 0; i++)
		rc = hold_new(&t->ranks[i].hold, &hold, err);
	return rc;
}

void train_fini(struct train *t)
{
	if (!t->ranks)
		return;
	for (uint64_t i = 0; i < t->job->accelerators; i++)
		fini_rank(&t->ranks[i]);
	mem_free(t->ranks);
	importance_free(t->importance);
	hitsfirst_free(t->hits_first);
	tier_free(t->tier);
	epochs_free(t->epochs);
	peers_fini(&t->peers);
	pthread_mutex_destroy(&t->saves.lock);
	if (t->job->engine->job_fini)
		t->job->engine->job_fini(&t->engine_job);
	*t = (struct train){ 0 };
}

void train_set_au_floor(struct train *t, double au_percent)
{
	const struct job *j = t->job;
	uint64_t epoch_steps = t->stages.train.sampler.steps;
	uint64_t steps = j->epochs * epoch_steps;

	/* The length is unknown, or the end of ramp_time resets the loss. */
	if (j->time_based || j->ramp_time_ns || !(au_percent > 0))
		return;
	if (j->steps && j->steps < steps)
		steps = j->steps;
	/* The first step of each epoch is not counted. */
	steps -= (steps + epoch_steps - 1) / epoch_steps;
	t->max_loss_ns = (double)steps * dist_mean(&j->compute_time) * (100 / au_percent - 1);
}

static double drawn_weight(const void *sampler, uint64_t extent)
{
	return sampler_weight(sampler, extent);
}

static double learnt_weight(const void *importance, uint64_t extent)
{
	return importance_weight(importance, extent);
}

int train_open_tier(struct train *t, struct mlgen_err *err)
{
	struct tier_config cfg = {
		.job = t->job,
		.pass = &t->stages.train,
		.clock = t->clock,
		.engine_job = &t->engine_job,
		.place = t->place,
		.traced = t->traced,
		.workers = t->workers,
		.counting = &t->counting,
		.stop = t->stop,
		.peers = t->cache_peers,
	};

	if (t->job->cache == CACHE_NONE)
		return 0;
	if (t->job->shuffle.kind == SHUFFLE_WEIGHTED) {
		cfg.weight = drawn_weight;
		cfg.weights = &t->stages.train.sampler;
	}
	if (t->importance) {
		cfg.weight = learnt_weight;
		cfg.weights = t->importance;
	}
	int rc = tier_new(&t->tier, &cfg, err);
	t->in_cache = tier_holds;
	t->cache = t->tier;
	if (rc < 0 || t->job->cache_warm <= 0)
		return rc;
	t->is_dropped = false; /* warming reads files */
	return tier_warm(t->tier, err);
}

int train_start(struct train *t, struct mlgen_err *err)
{
	const struct job *j = t->job;
	int rc = t->writer ? writer_start(t->writer, err) : 0;

	if (rc == 0 && t->tier)
		rc = tier_start(t->tier, err);
	atomic_store(&t->ranks_left, j->accelerators);
	for (uint64_t i = 0; i < j->accelerators && rc == 0; i++) {
		struct rank *r = &t->ranks[i];

		for (uint64_t w = 0; w < job_read_threads(j) && rc == 0; w++)
			rc = worker_start(&r->loaders[w].worker.thread, t->clock, loader_main,
					  &r->loaders[w], err);
		if (rc == 0)
			rc = worker_start(&r->thread, t->clock, rank_main, r, err);
	}
	if (rc < 0)
		train_close(t);
	return rc;
}

void train_join(struct train *t)
{
	struct mlgen_err err = { 0 };

	if (!t->ranks)
		return;
	for (uint64_t i = 0; i < t->job->accelerators; i++) {
		worker_join(&t->ranks[i].thread);
		for (uint64_t w = 0; w < job_read_threads(t->job); w++)
			worker_join(&t->ranks[i].loaders[w].worker.thread);
		hold_free(t->ranks[i].hold);
		t->ranks[i].hold = NULL;
	}
	if (t->writer)
		writer_join(t->writer);
	if (t->tier && tier_end(t->tier, &err) < 0)
		failure_set(t->failure, &err);
}

void train_wake(struct train *t)
{
	for (uint64_t i = 0; i < t->job->accelerators; i++) {
		rank_wake_loaders(&t->ranks[i], UINT64_MAX);
		eventcount_notify(&t->ranks[i].wakeup, t->clock);
	}
	if (t->writer)
		writer_wake(t->writer);
}

void train_close(struct train *t)
{
	atomic_store(&t->closed, true);
	peers_close(&t->peers);
	tier_abort(t->tier);
	train_wake(t);
	if (t->writer)
		writer_close(t->writer);
}

void train_live_saves(const struct train *t, struct live *live)
{
	struct writer_progress look;
	struct worker *w;

	if (!t->writer)
		return;
	for (uint64_t i = 0; (w = writer_worker(t->writer, i)); i++)
		slot_add_moved(w, live);
	writer_progress(t->writer, &look);
	live->checkpoint = look.count;
	live->checkpoint_done = look.bytes_done;
	live->checkpoint_bytes = look.bytes_total;
	live->is_checkpointing = look.is_busy;
}

/* Memory of a rank that waits for loaders, measured in control groups like THREAD_BYTES of
 * memneed.c. */
#define RANK_BYTES (UINT64_C(112) << 10)
#define RANK_ADDRESS_BYTES (THREAD_STACK_BYTES + (UINT64_C(192) << 10))

void train_need(struct memneed *n, const struct job *j, const struct stages *stages)
{
	const struct sampler *s = &stages->train.sampler;
	/* A rank has a single stack if read_threads=0, so half a MiB too much is counted then. */
	uint64_t loaders = u64_product(j->accelerators, job_readers(j));
	uint64_t buffer = plan_buffer_bytes(&stages->train.plan, job_depth(j));
	uint64_t packed = train_max_packed_bytes(j, stages), bytes;

	memneed_add(n, u64_product(j->accelerators, RANK_BYTES),
		    u64_product(j->accelerators, RANK_ADDRESS_BYTES));
	n->threads = u64_sum(n->threads, j->read_threads ? j->accelerators : 0);
	memneed_threads(n, loaders, ring_bytes(loader_ring_tokens(j, stages)));
	if (job_touches_files(j))
		memneed_buffers(n, j, loaders, buffer, false);
	else
		memneed_untouched(n, loaders, buffer);
	if (packed) {
		bytes = u64_product(loaders, unpack_bytes(packed));
		memneed_add(n, bytes, bytes);
	}
	if (s->shuffle == SHUFFLE_IMPORTANCE) {
		struct importance_config cfg = importance_config(j, s);

		bytes = importance_state_bytes(&cfg);
		memneed_add(n, bytes, bytes);
	}
	if (reorders_hits(j)) {
		bytes = hitsfirst_state_bytes(s, sampler_ranks_known(j));
		memneed_add(n, bytes, bytes);
	}
}

void train_need_hold(struct memneed *n, const struct job *j, const struct stages *stages)
{
	struct hold_config c;

	hold_plan(&c, j, stages);
	if (c.slots)
		memneed_add_for(n, "prefetch", (uint64_t)hold_bytes(j, stages),
				u64_product(j->accelerators, u64_product(c.slots, c.slot_bytes)));
}
