/* SPDX-License-Identifier: Apache-2.0 */
/* slot.c - see slot.h. */
#include "run/slot.h"

#include "base/log.h"
#include "run/activity.h"

bool slot_touches_files(const struct slot *s)
{
	return !(s->job->engine->caps & MLGEN_CAP_NO_FILES);
}

bool slot_has_dataset(const struct slot *s)
{
	return s->job->phase == PHASE_TRAIN || s->job->phase == PHASE_PREPARE;
}

/* While the job works, or after: before, there are none. */
static const struct worker *worker_of(const struct slot *s, uint64_t i)
{
	return s->does->worker ? s->does->worker(s, i) : NULL;
}

uint64_t slot_worker_bytes(const struct worker *w, unsigned direction)
{
	return count_get(&w->stat.io_bytes[direction]);
}

uint64_t slot_worker_ios(const struct worker *w, unsigned direction)
{
	enum mlgen_op op = direction ? MLGEN_WRITE : MLGEN_READ;

	return __atomic_load_n(&w->stat.lat[op]->count, __ATOMIC_RELAXED) +
	       count_get(&w->stat.linked[op]);
}

uint64_t slot_io_bytes(const struct slot *s, unsigned direction)
{
	const struct worker *w;
	uint64_t n = 0;

	for (uint64_t i = 0; (w = worker_of(s, i)); i++)
		n += slot_worker_bytes(w, direction);
	return n;
}

uint64_t slot_read_bytes(const struct slot *s)
{
	const struct worker *w;
	uint64_t n = slot_io_bytes(s, 0);

	for (uint64_t i = 0; (w = worker_of(s, i)); i++)
		n += w->uncounted_bytes;
	return n;
}

uint64_t slot_ios(const struct slot *s, unsigned direction)
{
	const struct worker *w;
	uint64_t n = 0;

	for (uint64_t i = 0; (w = worker_of(s, i)); i++)
		n += slot_worker_ios(w, direction);
	return n;
}

void slot_look_at(const struct worker *w, struct live *live)
{
	const struct io *io = atomic_load(&w->io);
	struct io_outstanding o = { 0 };

	if (io)
		io_look(io, &o);
	if (o.start_ns &&
	    (!live->oldest.start_ns || o.start_ns < live->oldest.start_ns))
		live->oldest = o;
}

void slot_begin_work(struct slot *s, struct clock *clock, int phase)
{
	gauge_open(&s->gauge, &s->mount, clock);
	s->has_device = devset_read(&s->device_before, &s->gauge.memory.devices,
				    "") == 0;
	noise_read(&s->noise_before, "");
	host_cpu_read(&s->cpu_before);
	atomic_store(&s->work_begin_ns, clock_now(clock));
	atomic_store(&s->phase, phase);
}

int slot_place(struct slot *s, const struct mount *m, struct mlgen_err *err)
{
	const struct placement_request req = { .job = s->job,
					       .mount = m,
					       .root = "" };
	int rc = placement_init(&s->place, &req, err);

	if (s->place.unbound)
		log_note("%s: numa=device: %s; its threads are not bound",
			 s->job->name, s->place.unbound);
	return rc;
}
