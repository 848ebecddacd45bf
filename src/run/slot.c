/* SPDX-License-Identifier: Apache-2.0 */
/* slot.c - see slot.h. */
#include "run/slot.h"

#include "base/log.h"
#include "run/activity.h"
#include "run/make/make.h"
#include "run/peers.h"

bool slot_touches_files(const struct slot *s)
{
	return job_touches_files(s->job);
}

bool slot_drops_caches(const struct slot *s)
{
	return s->job->drop_caches != DROP_CACHES_NO && s->does->start && slot_touches_files(s);
}

bool slot_has_dataset(const struct slot *s)
{
	return job_work(s->job)->has_dataset;
}

bool slot_works_in(int phase)
{
	return phase == LIVE_TRAIN || phase == LIVE_CHECKPOINT || phase == LIVE_IO;
}

bool slot_is_working(const struct slot *s)
{
	return slot_works_in(atomic_load(&s->phase));
}

bool slot_has_begun(const struct slot *s)
{
	return s->does->start_ns && s->does->start_ns(s) != 0;
}

/* The workers that the job's figures count. */
static struct worker *first_of(const struct slot *s)
{
	return worker_counted(atomic_load(&s->workers.first));
}

uint64_t slot_worker_bytes(const struct worker *w, unsigned direction)
{
	return opstat_io_bytes(&w->stat, direction);
}

static uint64_t ios_of(const struct opstat *t, unsigned direction)
{
	enum mlgen_op op = direction ? MLGEN_WRITE : MLGEN_READ;

	return __atomic_load_n(&t->lat[op]->count, __ATOMIC_RELAXED) + count_get(&t->linked[op]);
}

uint64_t slot_worker_ios(const struct worker *w, unsigned direction)
{
	return ios_of(&w->stat, direction);
}

uint64_t slot_io_bytes(const struct slot *s, unsigned direction)
{
	uint64_t n = 0;

	for (const struct worker *w = first_of(s); w; w = worker_counted(w->next))
		n += slot_worker_bytes(w, direction);
	return n;
}

static uint64_t read_bytes_of(const struct slot *s)
{
	uint64_t n = 0;

	for (const struct worker *w = first_of(s); w; w = worker_counted(w->next))
		n += count_get(&w->stat.io_bytes[0]);
	return n;
}

/* Does the source of `of` count what `s` reads? Both began at the same time; a job whose work is
 * not set up has read nothing, nor can it be looked at. */
static bool is_counted(const struct slot *of, const struct slot *s)
{
	return s->job->group == of->job->group && atomic_load(&s->work_begin_ns) != 0 &&
	       memsource_counts(&of->span.storage, &s->span.storage);
}

uint64_t slot_counted_bytes(void *slot)
{
	const struct slot *of = slot;
	uint64_t n = 0;

	for (size_t i = 0; i < of->all_count; i++)
		if (is_counted(of, &of->all[i]))
			n += read_bytes_of(&of->all[i]);
	return n;
}

uint64_t slot_ios(const struct slot *s, unsigned direction)
{
	uint64_t n = 0;

	for (const struct worker *w = first_of(s); w; w = worker_counted(w->next))
		n += slot_worker_ios(w, direction);
	return n;
}

static void look_at_moved(const struct opstat *t, bool has_samples, struct live *live)
{
	for (unsigned d = 0; d < 2; d++) {
		live->io_ios[d] += ios_of(t, d);
		live->io_moved[d] += opstat_io_bytes(t, d);
	}
	for (unsigned op = 0; op < MLGEN_OPS; op++)
		if (live->lat[op])
			hist_gather(live->lat[op], t->lat[op]);
	if (live->sample && has_samples)
		hist_gather(live->sample, t->sample);
}

static void look_at_time(const struct opstat *t, struct live *live)
{
	for (unsigned i = 0; i < MLGEN_OPS; i++)
		live->inside_ns += count_get(&t->blocked_ns[i]);
	live->inside_ns += count_get(&t->reap_ns);
	live->idle_ns += count_get(&t->idle_ns);
}

static void look_at_all(const struct opstat *t, bool has_time, struct live *live)
{
	look_at_moved(t, has_time, live);
	if (has_time)
		look_at_time(t, live);
}

void slot_look_moved(struct worker *w, struct live *live)
{
	pthread_mutex_lock(&w->books);
	look_at_moved(&w->stat, true, live);
	pthread_mutex_unlock(&w->books);
}

/* All workers share a clock, so their time is that of the clock, once for each. */
static void slot_look_at(struct worker *w, struct live *live)
{
	const struct io *io = atomic_load(&w->io);
	struct io_outstanding o = { 0 };

	bool has_time = w->share == WORKER_WHOLE;

	pthread_mutex_lock(&w->books);
	look_at_all(&w->stat, has_time, live);
	if (w->left_out.sample)
		look_at_all(&w->left_out, has_time, live);
	pthread_mutex_unlock(&w->books);
	if (has_time && io && !atomic_load(&w->has_ended))
		live->worker_ns += live->now_ns;
	live->errors += count_get(&w->stat.errors);
	if (io)
		io_look(io, &o);
	if (o.start_ns && (!live->oldest.start_ns || o.start_ns < live->oldest.start_ns))
		live->oldest = o;
}

void slot_look_at_workers(const struct slot *s, struct live *live)
{
	for (struct worker *w = first_of(s); w; w = worker_counted(w->next))
		slot_look_at(w, live);
}

struct telling {
	const struct slot *slot;
	uint64_t now_ns;
	slot_tell *tell;
	void *arg;
};

static void tell_one(void *arg, const struct io *io)
{
	const struct telling *t = arg;
	struct io_outstanding o;

	io_look(io, &o);
	if (o.start_ns)
		t->tell(t->arg, t->slot->job->name, &o,
			t->now_ns > o.start_ns ? t->now_ns - o.start_ns : 0);
}

static void tell_worker(struct telling *t, const struct worker *w)
{
	const struct io *io = atomic_load(&w->io);

	if (io)
		tell_one(t, io);
}

void slot_each_call(struct slot *s, uint64_t now_ns, slot_tell *tell, void *arg)
{
	struct telling t = { s, now_ns, tell, arg };
	const struct worker *w;

	crew_look(&s->progress.crew, tell_one, &t);
	for (w = atomic_load(&s->workers.first); w; w = w->next)
		tell_worker(&t, w);
}

void slot_begin_work(struct slot *s, struct clock *clock, int phase, size_t records)
{
	const struct span_request req = {
		.clock = clock,
		.mount = slot_touches_files(s) ? &s->mount : NULL,
		.root = "",
		.records = records,
		.energy = s->energy,
		.read_bytes = slot_counted_bytes,
		.arg = s,
	};

	span_open(&s->span, &req);
	atomic_store(&s->work_begin_ns, clock_now(clock));
	atomic_store(&s->phase, phase);
}

static void begin_window(void *slot)
{
	struct slot *s = slot;

	span_begin(&s->span);
}

static void begin_anew(void *slot)
{
	struct slot *s = slot;

	span_begin_anew(&s->span);
}

/* Of a worker with a record of its own. */
static void end_window(void *slot, uint64_t record)
{
	struct slot *s = slot;

	if (s->span.records > 1)
		span_end(&s->span, record);
}

const struct run_watch slot_watch = {
	.begin = begin_window,
	.begin_anew = begin_anew,
	.end = end_window,
};

bool slot_counts(struct slot *s)
{
	bool counts;

	if (!s->job->ramp_time_ns)
		return true;
	pthread_mutex_lock(&s->span.lock);
	counts = s->span.is_behind_ramp;
	pthread_mutex_unlock(&s->span.lock);
	return counts;
}

void slot_end_work(struct slot *s)
{
	if (atomic_exchange(&s->has_ended, true))
		return;
	span_end_all(&s->span);
	s->end_ns = clock_now(s->span.clock);
	atomic_store(&s->work_end_ns, s->end_ns);
}

int slot_place(struct slot *s, const struct mount *m, struct mlgen_err *err)
{
	const struct placement_request req = { .job = s->job, .mount = m, .root = "" };

	placement_fini(&s->place);
	return placement_init(&s->place, &req, err);
}

void slot_tell_place(const struct slot *s)
{
	if (s->place.unbound)
		log_note("%s: numa=device: %s; its threads are not bound", s->job->name,
			 s->place.unbound);
}

void slot_join_others(const struct slot *s, const struct run_shared *run, struct peers *peers)
{
	peers_join(peers, run->cfg.hosts, run->channels + (uint32_t)(s - s->all));
}
