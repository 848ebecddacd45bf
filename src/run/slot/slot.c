/* SPDX-License-Identifier: Apache-2.0 */
/* slot.c - one job of a run: its measurement window, and the sums of its workers' counts. */
#include "run/slot/slot.h"

#include "base/mem.h"
#include "io/engines.h"
#include "run/make/make.h"

/* Records that end within this time share one reading of the counters. Each reading takes time from
 * the workers that still run. */
#define SAME_MARK_NS 10000000u

static void read_mark(struct mark *m, const struct span *p)
{
	*m = (struct mark){ .received_bytes = UINT64_MAX,
			    .energy = { UINT64_MAX, UINT64_MAX, NULL } };
	if (p->network.name[0] && netif_received(&m->received_bytes, "", p->network.name))
		m->received_bytes = UINT64_MAX;
	noise_read(&m->noise, "");
	host_cpu_read(&m->cpu);
	if (p->energy)
		energy_read(p->energy, &m->energy);
	if (memsource_read(&p->storage, &m->storage))
		m->storage.read_bytes = UINT64_MAX;
	else if (p->read_bytes)
		m->jobs_read_bytes = p->read_bytes(p->arg);
	m->ns = clock_now(p->clock);
	if (m->ns == 0)
		m->ns = 1; /* a virtual clock begins at 0 */
}

void span_open(struct span *p, const struct span_request *req)
{
	*p = (struct span){ .clock = req->clock,
			    .energy = req->energy,
			    .read_bytes = req->read_bytes,
			    .arg = req->arg,
			    .ends = mem_array(req->records, sizeof(*p->ends)),
			    .records = req->records };
	pthread_mutex_init(&p->lock, NULL);
	if (!req->mount)
		return;
	netif_find(&p->network, req->root, req->mount);
	memsource_open(&p->storage, req->mount, req->root);
}

void span_close(struct span *p)
{
	if (!p->clock)
		return;
	memsource_close(&p->storage);
	mem_free(p->ends);
	pthread_mutex_destroy(&p->lock);
	*p = (struct span){ 0 };
}

void span_begin(struct span *p)
{
	pthread_mutex_lock(&p->lock);
	read_mark(&p->begin, p);
	pthread_mutex_unlock(&p->lock);
}

void span_end_ramp(struct span *p)
{
	pthread_mutex_lock(&p->lock);
	if (!p->is_after_ramp)
		read_mark(&p->begin, p);
	p->is_after_ramp = true;
	pthread_mutex_unlock(&p->lock);
}

static void end_record(struct span *p, size_t record)
{
	uint64_t now_ns;

	if (p->ends[record].ns)
		return;
	now_ns = clock_now(p->clock);
	for (size_t i = 0; i < p->records; i++)
		if (p->ends[i].ns && p->ends[i].ns + SAME_MARK_NS > now_ns) {
			p->ends[record] = p->ends[i];
			return;
		}
	read_mark(&p->ends[record], p);
}

void span_end(struct span *p, size_t record)
{
	pthread_mutex_lock(&p->lock);
	end_record(p, record);
	pthread_mutex_unlock(&p->lock);
}

void span_end_all(struct span *p)
{
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->records; i++)
		end_record(p, i);
	pthread_mutex_unlock(&p->lock);
}

uint64_t span_begin_ns(struct span *p)
{
	uint64_t ns = 0;

	if (!p->clock)
		return 0;
	pthread_mutex_lock(&p->lock);
	ns = p->begin.ns;
	pthread_mutex_unlock(&p->lock);
	return ns;
}

void span_marks(const struct span *p, size_t record, struct marks *out)
{
	*out = (struct marks){ 0 };
	if (record >= p->records)
		return;
	*out = (struct marks){
		.begin = p->begin,
		.end = p->ends[record],
		.is_after_ramp = p->is_after_ramp,
		.network = p->network.name[0] ? &p->network : NULL,
		.storage = p->storage.kind != MEMSOURCE_NONE ? &p->storage : NULL,
	};
	if (!marks_ns(out))
		*out = (struct marks){ 0 };
}

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

/* First worker whose counts enter the figures of the job. */
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

/* Callback of struct span_request: bytes that jobs of the slot's group have read since time zero,
 * including bytes that ramp_time leaves out. Only jobs whose reads the slot's storage source counts
 * are included. */
static uint64_t slot_counted_bytes(void *slot)
{
	const struct slot *of = slot;
	uint64_t n = 0;

	for (size_t i = 0; i < of->all_count; i++) {
		const struct slot *s = &of->all[i];

		/* A job whose work is not set up has read nothing, and must not be accessed. */
		if (s->job->group != of->job->group || atomic_load(&s->work_begin_ns) == 0 ||
		    !memsource_counts(&of->span.storage, &s->span.storage))
			continue;
		for (const struct worker *w = first_of(s); w; w = worker_counted(w->next))
			n += count_get(&w->stat.io_bytes[0]);
	}
	return n;
}

uint64_t slot_ios(const struct slot *s, unsigned direction)
{
	uint64_t n = 0;

	for (const struct worker *w = first_of(s); w; w = worker_counted(w->next))
		n += slot_worker_ios(w, direction);
	return n;
}

static void add_moved(const struct opstat *t, bool has_samples, struct live *live)
{
	for (unsigned d = 0; d < 2; d++) {
		live->io_ios[d] += ios_of(t, d);
		live->io_moved[d] += opstat_io_bytes(t, d);
	}
	for (unsigned op = 0; op < MLGEN_OPS; op++)
		if (live->lat[op])
			hist_merge_live(live->lat[op], t->lat[op]);
	if (live->sample && has_samples)
		hist_merge_live(live->sample, t->sample);
}

static void add_moved_and_time(const struct opstat *t, bool has_time, struct live *live)
{
	add_moved(t, has_time, live);
	if (!has_time)
		return;
	for (unsigned i = 0; i < MLGEN_OPS; i++)
		live->inside_ns += count_get(&t->blocked_ns[i]);
	live->inside_ns += count_get(&t->reap_ns);
	live->idle_ns += count_get(&t->idle_ns);
}

void slot_add_moved(struct worker *w, struct live *live)
{
	pthread_mutex_lock(&w->books);
	add_moved(&w->stat, true, live);
	pthread_mutex_unlock(&w->books);
}

void slot_add_workers(const struct slot *s, struct live *live)
{
	for (struct worker *w = first_of(s); w; w = worker_counted(w->next)) {
		const struct io *io = atomic_load(&w->io);
		struct io_outstanding o = { 0 };
		bool has_time = w->share == WORKER_WHOLE;

		pthread_mutex_lock(&w->books);
		add_moved_and_time(&w->stat, has_time, live);
		if (w->left_out.sample)
			add_moved_and_time(&w->left_out, has_time, live);
		pthread_mutex_unlock(&w->books);
		/* Each active worker adds the time of the common clock. The difference of two looks
		 * is then the time of all workers. */
		if (has_time && io && !atomic_load(&w->has_ended))
			live->worker_ns += live->now_ns;
		live->errors += count_get(&w->stat.errors);
		if (io)
			io_look(io, &o);
		if (o.start_ns && (!live->oldest.start_ns || o.start_ns < live->oldest.start_ns))
			live->oldest = o;
	}
}

struct call_report {
	const struct slot *slot;
	uint64_t now_ns;
	slot_call_fn *tell;
	void *arg;
};

static void report_call(void *arg, const struct io *io)
{
	const struct call_report *r = arg;
	struct io_outstanding o;

	io_look(io, &o);
	if (o.start_ns)
		r->tell(r->arg, r->slot->job->name, &o,
			r->now_ns > o.start_ns ? r->now_ns - o.start_ns : 0);
}

void slot_each_call(struct slot *s, uint64_t now_ns, slot_call_fn *tell, void *arg)
{
	struct call_report report = { s, now_ns, tell, arg };

	pool_look(&s->progress.pool, report_call, &report);
	for (const struct worker *w = atomic_load(&s->workers.first); w; w = w->next) {
		const struct io *io = atomic_load(&w->io);

		if (io)
			report_call(&report, io);
	}
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

static void ramp_ended(void *slot)
{
	struct slot *s = slot;

	span_end_ramp(&s->span);
}

/* Only workers that have a record of their own end windows. */
static void end_window(void *slot, uint64_t record)
{
	struct slot *s = slot;

	if (s->span.records > 1)
		span_end(&s->span, record);
}

const struct run_watch slot_watch = {
	.begin = begin_window,
	.ramp_ended = ramp_ended,
	.end = end_window,
};

bool slot_counts(struct slot *s)
{
	bool counts;

	if (!s->job->ramp_time_ns)
		return true;
	pthread_mutex_lock(&s->span.lock);
	counts = s->span.is_after_ramp;
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

void slot_join_hosts(const struct slot *s, const struct run_shared *run, struct peers *peers)
{
	peers_join(peers, run->cfg.hosts, run->channels + (uint32_t)(s - s->all));
}

/* Set up a worker and free it, so that an engine that cannot run here fails before any I/O. */
int rules_engine(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct job *j = s->job;
	struct mlgen_engine_job trial = {
		.engine = j->engine, .opts = j->engine_opts, .workers = 1, .find = engines_find
	};
	struct opstat stat;
	struct io_config cfg = { .job = &trial, .clock = run->cfg.clock, .stat = &stat };
	struct io *io = NULL;
	int rc;

	if (!j->engine || !j->engine->submit)
		return 0;
	cfg.iodepth = job_depth(j);
	cfg.buf_bytes = 4096;
	rc = j->engine->job_init ? j->engine->job_init(&trial, err) : 0;
	opstat_init(&stat);
	if (rc == 0)
		rc = io_new(&io, &cfg, err);
	io_free(io);
	opstat_fini(&stat);
	if (j->engine->job_fini)
		j->engine->job_fini(&trial);
	return rc;
}

int rules_cpus(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct placement_request req = {
		.job = s->job,
		.mount = slot_touches_files(s) ? &s->mount : NULL,
		.root = "",
	};

	(void)run;
	placement_fini(&s->place);
	return placement_init(&s->place, &req, err);
}

uint64_t pass_shuffle_buffer(const struct job *job, const struct pass *pass)
{
	return pass->is_eval ? 0 : job_shuffle_buffer(job);
}

/* Is there an evaluation after this many epochs? */
static bool evaluates_after(const struct stages *s, uint64_t epochs)
{
	return s->has_eval && epochs >= s->eval_after &&
	       (epochs - s->eval_after) % s->eval_every == 0;
}

struct stage stage_first(const struct stages *s)
{
	return (struct stage){ .pass = &s->train };
}

void stage_next(const struct stages *s, struct stage *at)
{
	at->first_batch += at->pass->sampler.steps;
	at->number++;
	if (!at->pass->is_eval && evaluates_after(s, at->epoch + 1)) {
		at->pass = &s->eval;
		return;
	}
	at->pass = &s->train;
	at->epoch++;
}

bool stage_runs_on(const struct stages *s, const struct stage *at)
{
	return !at->pass->is_eval && !evaluates_after(s, at->epoch + 1);
}
