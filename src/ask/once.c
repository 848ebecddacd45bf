/* SPDX-License-Identifier: Apache-2.0 */
/* once.c - see once.h. */
#include "ask/once.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/util.h"

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : a + b;
}

static void add_saves(struct once *o, const struct checkpoints_result *saves)
{
	if (saves->count == 0)
		return;
	o->has_saved = true;
	o->dirty_bytes = u64_max(o->dirty_bytes, saves->dirty_bytes);
	o->in_memory_bytes = sum(o->in_memory_bytes, saves->in_memory_bytes);
}

void once_add(struct once *o, const struct job_result *r)
{
	assert(r);
	const struct once one = {
		.is_there = true,
		.cpu_percent = r->host.cpu_percent,
		.user_percent = r->host.user_percent,
		.system_percent = r->host.system_percent,
		.network_percent = r->network.percent,
		.received_bits_per_sec = r->network.received_bits_per_sec,
		.device_read_bytes = r->storage.device_read_bytes,
		.device_reads = r->storage.device_reads,
		.received_bytes = r->network.received_bytes,
		.line_rate = r->network.line_rate_bits_per_sec,
	};

	if (!o->is_there) {
		*o = one;
		add_saves(o, &r->ml.saves);
		return;
	}
	o->cpu_percent = fmax(o->cpu_percent, one.cpu_percent);
	o->user_percent += one.user_percent;
	o->system_percent += one.system_percent;
	o->network_percent = fmax(o->network_percent, one.network_percent);
	o->received_bits_per_sec = fmax(o->received_bits_per_sec, one.received_bits_per_sec);
	o->device_read_bytes = u64_max(o->device_read_bytes, one.device_read_bytes);
	o->device_reads = u64_max(o->device_reads, one.device_reads);
	o->received_bytes = u64_max(o->received_bytes, one.received_bytes);
	add_saves(o, &r->ml.saves);
}

/* Each process sees what is dirty of all of them, so the sum of what they say of their own may be
 * more than there is. */
static uint64_t in_memory(const struct once *host)
{
	if (host->in_memory_bytes == UINT64_MAX || host->dirty_bytes == UINT64_MAX)
		return host->in_memory_bytes;
	return u64_min(host->in_memory_bytes, host->dirty_bytes);
}

static void total_saves(struct once *t, const struct once *host)
{
	if (!host->has_saved)
		return;
	t->has_saved = true;
	t->dirty_bytes = sum(t->dirty_bytes, host->dirty_bytes);
	t->in_memory_bytes = sum(t->in_memory_bytes, in_memory(host));
}

struct once once_total(const struct once *hosts, size_t count, size_t step)
{
	struct once t = { 0 };
	double n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct once *o = &hosts[i * step];

		if (!o->is_there)
			continue;
		n++;
		t.cpu_percent += o->cpu_percent;
		t.user_percent += o->user_percent;
		t.system_percent += o->system_percent;
		t.network_percent += o->network_percent;
		t.received_bits_per_sec += o->received_bits_per_sec;
		t.device_read_bytes = sum(t.device_read_bytes, o->device_read_bytes);
		t.device_reads = sum(t.device_reads, o->device_reads);
		t.received_bytes = sum(t.received_bytes, o->received_bytes);
		t.line_rate = sum(t.line_rate, o->line_rate);
		total_saves(&t, o);
	}
	t.is_there = n > 0;
	t.cpu_percent /= n;
	t.user_percent /= n;
	t.system_percent /= n;
	t.network_percent /= n;
	return t;
}

/* /proc/self/io is of a process: there the sum of all ranks is right. */
static bool is_counted_by_process(const struct storage_result *s)
{
	return s->source && strncmp(s->source, "/proc/self", 10) == 0;
}

static void put_storage(const struct once *t, struct storage_result *st)
{
	st->device_read_bytes = t->device_read_bytes;
	st->device_reads = t->device_reads;
	if (st->device_read_bytes != UINT64_MAX && st->jobs_read_bytes &&
	    st->jobs_read_bytes != UINT64_MAX)
		st->memory_percent = fmax(
			100 * (1 - (double)st->device_read_bytes / (double)st->jobs_read_bytes), 0);
}

void once_put(const struct once *t, struct job_result *to)
{
	to->host.cpu_percent = t->cpu_percent;
	to->host.user_percent = t->user_percent;
	to->host.system_percent = t->system_percent;
	to->network.percent = t->network_percent;
	to->network.received_bits_per_sec = t->received_bits_per_sec;
	to->network.received_bytes = t->received_bytes;
	to->network.line_rate_bits_per_sec = t->line_rate;
	if (t->has_saved) {
		to->ml.saves.dirty_bytes = t->dirty_bytes;
		to->ml.saves.in_memory_bytes = t->in_memory_bytes;
	}
	if (!is_counted_by_process(&to->storage))
		put_storage(t, &to->storage);
}
