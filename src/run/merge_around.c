/* SPDX-License-Identifier: Apache-2.0 */
/* merge_around.c - see merge_around.h. */
#include "run/merge_around.h"

#include <math.h>
#include <string.h>

#include "field/merge_rules.h"
#include "run/mark.h"

/* Jobs of which each read from another source: there is no one window for what these delivered, but
 * a mean of the shares. One that is not known leaves none, but for a job that read nothing. */
static void mix_sources(struct storage_result *to, double bytes_to,
			const struct storage_result *from, double bytes_from)
{
	bool is_known = !(isnan(to->memory_percent) && bytes_to > 0) &&
			!(isnan(from->memory_percent) && bytes_from > 0);

	to->memory_percent = is_known ? merge_mean_of(to->memory_percent, bytes_to,
						      from->memory_percent, bytes_from)
				      : (double)NAN;
	to->device_read_bytes = to->device_reads = to->jobs_read_bytes = UINT64_MAX;
	if (!to->source || !from->source || strcmp(to->source, from->source))
		to->source = isnan(to->memory_percent) ? "unknown" : "several sources";
}

/* Of two jobs, not of two workers of one. */
static void merge_caches(struct storage_result *to, const struct storage_result *from)
{
	to->is_memory &= from->is_memory;
	to->resident_before_percent =
		merge_mean_of(to->resident_before_percent, (double)to->resident_files,
			      from->resident_before_percent, (double)from->resident_files);
	to->resident_files += from->resident_files;
	to->cache_drops += from->cache_drops;
	to->caches_dropped &= from->caches_dropped;
}

/* Of two records of a run: what neither of them had is others'. */
static void merge_thread_cpu(struct thread_cpu_result *to, const struct thread_cpu_result *from,
			     const struct marks *both)
{
	to->workers_seconds = merge_sum_of(to->workers_seconds, from->workers_seconds);
	to->workers_waited_seconds =
		merge_sum_of(to->workers_waited_seconds, from->workers_waited_seconds);
	to->accelerators_seconds =
		merge_sum_of(to->accelerators_seconds, from->accelerators_seconds);
	marks_other_cpu(to, both);
}

void merge_around(struct job_result *to, const struct job_result *from)
{
	struct storage_result *a = &to->storage;
	const struct storage_result *b = &from->storage;

	marks_join(&to->marks, &from->marks);
	if (to->job != from->job)
		merge_caches(a, b);
	if (!to->marks.storage || !marks_storage(a, &to->marks))
		mix_sources(a, (double)to->read.io_bytes, b, (double)from->read.io_bytes);
	if (!marks_ns(&to->marks))
		return;
	marks_window(&to->window, &to->marks);
	marks_host(&to->host, &to->marks);
	marks_network(&to->network, &to->marks);
	merge_thread_cpu(&to->thread_cpu, &from->thread_cpu, &to->marks);
	marks_energy(&to->energy, &to->marks,
		     to->read.io_bytes + to->write.io_bytes + from->read.io_bytes +
			     from->write.io_bytes,
		     to->ml.samples + from->ml.samples);
}
