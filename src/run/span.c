/* SPDX-License-Identifier: Apache-2.0 */
/* span.c - see span.h. */
#include "run/span.h"

#include "base/mem.h"

/* Workers that leave one behind the other need no counters of their own: they would take time from
 * those that still work. */
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
		m->ns = 1; /* a virtual clock begins there */
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

void span_begin_anew(struct span *p)
{
	pthread_mutex_lock(&p->lock);
	if (!p->is_behind_ramp)
		read_mark(&p->begin, p);
	p->is_behind_ramp = true;
	pthread_mutex_unlock(&p->lock);
}

/* The newest end that another record has just had; NULL = there is none. */
static const struct mark *recent(const struct span *p, uint64_t now_ns)
{
	for (size_t i = 0; i < p->records; i++)
		if (p->ends[i].ns && p->ends[i].ns + SAME_MARK_NS > now_ns)
			return &p->ends[i];
	return NULL;
}

static void end_one(struct span *p, size_t record)
{
	const struct mark *other;

	if (p->ends[record].ns)
		return;
	other = recent(p, clock_now(p->clock));
	if (other)
		p->ends[record] = *other;
	else
		read_mark(&p->ends[record], p);
}

void span_end(struct span *p, size_t record)
{
	pthread_mutex_lock(&p->lock);
	end_one(p, record);
	pthread_mutex_unlock(&p->lock);
}

void span_end_all(struct span *p)
{
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->records; i++)
		end_one(p, i);
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
		.is_behind_ramp = p->is_behind_ramp,
		.network = p->network.name[0] ? &p->network : NULL,
		.storage = p->storage.kind != MEMSOURCE_NONE ? &p->storage : NULL,
	};
	if (!marks_ns(out))
		*out = (struct marks){ 0 };
}
