/* SPDX-License-Identifier: Apache-2.0 */
/* combine_parts.c - what results of any kind have, combined. */
#include <math.h>
#include <string.h>

#include "ask/combine.h"

double combine_mean(double a, double weight_a, double b, double weight_b)
{
	if (isnan(a))
		return b;
	if (isnan(b) || !(weight_a + weight_b > 0))
		return a;
	return (a * weight_a + b * weight_b) / (weight_a + weight_b);
}

void combine_means(void *to, double weight_to, const void *from,
		   double weight_from, size_t bytes)
{
	double *a = to;
	const double *b = from;
	for (size_t i = 0; i < bytes / sizeof(*a); i++)
		a[i] = combine_mean(a[i], weight_to, b[i], weight_from);
}

static double sum(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

double combine_rate(const struct combine *c, double a, double b)
{
	return c->beside ? sum(a, b)
			 : combine_mean(a, c->wall_to, b, c->wall_from);
}

double combine_span(const struct combine *c, double a, double b)
{
	return c->beside ? fmax(a, b) : sum(a, b);
}

uint64_t combine_parts(const struct combine *c, uint64_t a, uint64_t b)
{
	return c->beside ? a + b : a > b ? a : b;
}

uint64_t combine_turns(const struct combine *c, uint64_t a, uint64_t b)
{
	return !c->beside ? a + b : a > b ? a : b;
}

uint64_t combine_known(uint64_t a, uint64_t b)
{
	return a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : a + b;
}

/* A histogram that `to` has not may be the one of `from`, which goes. */
void combine_hist(const struct combine *c, struct hist **to,
		  const struct hist *from)
{
	if (!from)
		return;
	if (!*to)
		*to = json_store_hist(c->store);
	hist_merge(*to, from);
}

void combine_lists(const struct combine *c, struct metric_list *to,
		   const struct metric_list *from, size_t element_bytes,
		   size_t most)
{
	size_t room = to->count < most ? most - to->count : 0;
	size_t n = from->count < room ? from->count : room;
	if (n == 0)
		return;
	char *all = json_store_alloc(c->store, (to->count + n) * element_bytes);
	if (to->count)
		memcpy(all, to->items, to->count * element_bytes);
	memcpy(all + to->count * element_bytes, from->items, n * element_bytes);
	*to = (struct metric_list){ all, to->count + n };
}

static void combine_op(const struct combine *c, struct op_result *to,
		       const struct op_result *from)
{
	to->total += from->total;
	combine_hist(c, &to->lat_ns, from->lat_ns);
}

void combine_ops(const struct combine *c, struct ops_result *to,
		 const struct ops_result *from)
{
	combine_op(c, &to->open, &from->open);
	combine_op(c, &to->stat, &from->stat);
	combine_op(c, &to->read, &from->read);
	combine_op(c, &to->write, &from->write);
	combine_op(c, &to->fsync, &from->fsync);
	combine_op(c, &to->close, &from->close);
}

static void combine_slowest(struct storage_result *to,
			    const struct storage_result *from)
{
	if (isnan(from->slowest_sample_ns) ||
	    to->slowest_sample_ns >= from->slowest_sample_ns)
		return;
	memcpy(to->slowest_file, from->slowest_file, sizeof(to->slowest_file));
	to->slowest_sample_ns = from->slowest_sample_ns;
	to->slowest_file_bytes = from->slowest_file_bytes;
}

void combine_storage(struct storage_result *to, double bytes_to,
		     const struct storage_result *from, double bytes_from)
{
	to->device_read_bytes =
		combine_known(to->device_read_bytes, from->device_read_bytes);
	to->device_reads = combine_known(to->device_reads, from->device_reads);
	to->jobs_read_bytes =
		combine_known(to->jobs_read_bytes, from->jobs_read_bytes);
	to->memory_percent = combine_mean(to->memory_percent, bytes_to,
					  from->memory_percent, bytes_from);
	to->resident_before_percent = combine_mean(
		to->resident_before_percent, (double)to->resident_files,
		from->resident_before_percent, (double)from->resident_files);
	to->resident_files += from->resident_files;
	to->cache_drops += from->cache_drops;
	to->caches_dropped &= from->caches_dropped;
	to->is_memory |= from->is_memory;
	to->has_own_cache |= from->has_own_cache;
	combine_slowest(to, from);
}

static uint64_t larger_known(uint64_t a, uint64_t b)
{
	return a == UINT64_MAX ? b : b == UINT64_MAX ? a : a > b ? a : b;
}

static void combine_noise(const struct combine *c, struct noise *to,
			  const struct noise *from)
{
	double a = c->weight_to, b = c->weight_from;
	to->steal_percent = fmax(to->steal_percent, from->steal_percent);
	to->guest_percent = fmax(to->guest_percent, from->guest_percent);
	to->other_percent = fmax(to->other_percent, from->other_percent);
	to->busy_percent = fmax(to->busy_percent, from->busy_percent);
	to->throttled = larger_known(to->throttled, from->throttled);
	to->throttled_percent =
		fmax(to->throttled_percent, from->throttled_percent);
	to->hot = larger_known(to->hot, from->hot);
	to->pressure_cpu_percent =
		fmax(to->pressure_cpu_percent, from->pressure_cpu_percent);
	to->pressure_io_percent =
		fmax(to->pressure_io_percent, from->pressure_io_percent);
	to->pressure_memory_percent = fmax(to->pressure_memory_percent,
					   from->pressure_memory_percent);
	to->clock_mhz = combine_mean(to->clock_mhz, a, from->clock_mhz, b);
	to->most_mhz = fmax(to->most_mhz, from->most_mhz);
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* Load is the mean of the hosts; of what disturbs, the worst is told. */
void combine_host(const struct combine *c, struct host_result *to,
		  const struct host_result *from)
{
	double a = c->weight_to, b = c->weight_from;
	/* Several hosts: no more than the mean of their percents is known. */
	if (!(to->cpus == from->cpus) ||
	    !is_same_text(to->cpu_percent_of, from->cpu_percent_of)) {
		to->cpus = (double)NAN;
		to->cpu_percent_of = NULL;
	}
	to->cpu_percent =
		combine_mean(to->cpu_percent, a, from->cpu_percent, b);
	to->user_percent =
		combine_mean(to->user_percent, a, from->user_percent, b);
	to->system_percent =
		combine_mean(to->system_percent, a, from->system_percent, b);
	to->switches_per_sec =
		combine_rate(c, to->switches_per_sec, from->switches_per_sec);
	combine_hist(c, &to->oversleep_ns, from->oversleep_ns);
	combine_noise(c, &to->noise, &from->noise);
}

void combine_network(const struct combine *c, struct network_result *to,
		     const struct network_result *from)
{
	to->line_rate_bits_per_sec =
		c->beside ? combine_known(to->line_rate_bits_per_sec,
					  from->line_rate_bits_per_sec)
			  : to->line_rate_bits_per_sec;
	to->received_bytes =
		combine_known(to->received_bytes, from->received_bytes);
	to->received_bits_per_sec = combine_rate(c, to->received_bits_per_sec,
						 from->received_bits_per_sec);
	to->percent = combine_mean(to->percent, c->weight_to, from->percent,
				   c->weight_from);
}

void combine_numa(struct numa_result *to, double weight_to,
		  const struct numa_result *from, double weight_from)
{
	if (to->device_node != from->device_node)
		to->device_node = UINT64_MAX;
	to->far_percent = combine_mean(to->far_percent, weight_to,
				       from->far_percent, weight_from);
}
