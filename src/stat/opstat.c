/* SPDX-License-Identifier: Apache-2.0 */
/* opstat.c - statistics of a worker's operations, and sizes of requests. */
#include "stat/opstat.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/util.h"

/* Classes with a smaller share are left out, because they do not characterise a workload. */
#define LEAST_PERCENT 1.0

/* Insert a share before the rarer ones; the last one is dropped if there is no room. */
static unsigned insert_share(struct sizes_share *out, unsigned n, unsigned max,
			     struct sizes_share share)
{
	unsigned at = n;

	while (at > 0 && out[at - 1].percent < share.percent)
		at--;
	if (at >= max)
		return n;
	if (n < max)
		n++;
	for (unsigned i = n - 1; i > at; i--)
		out[i] = out[i - 1];
	out[at] = share;
	return n;
}

void sizes_merge(struct sizes *to, const struct sizes *from)
{
	for (unsigned i = 0; i < SIZES_CLASSES; i++) {
		to->count[i] += from->count[i];
		if (from->largest[i] > to->largest[i])
			to->largest[i] = from->largest[i];
	}
}

unsigned sizes_shares(const struct sizes *s, struct sizes_share *out, unsigned max)
{
	double all = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < SIZES_CLASSES; i++)
		all += (double)s->count[i];
	for (unsigned i = 0; i < SIZES_CLASSES; i++) {
		struct sizes_share share = {
			s->largest[i],
			all > 0 ? 100 * (double)s->count[i] / all : 0,
		};

		if (share.percent >= LEAST_PERCENT)
			n = insert_share(out, n, max, share);
	}
	return n;
}

static const char *const names[MLGEN_OPS] = {
	[MLGEN_OPEN] = "open",           [MLGEN_STAT] = "stat",         [MLGEN_READ] = "read",
	[MLGEN_WRITE] = "write",         [MLGEN_ALLOCATE] = "allocate", [MLGEN_FSYNC] = "fsync",
	[MLGEN_FDATASYNC] = "fdatasync", [MLGEN_ADVISE] = "advise",     [MLGEN_CLOSE] = "close",
	[MLGEN_RENAME] = "rename",       [MLGEN_UNLINK] = "unlink",     [MLGEN_MKDIR] = "mkdir",
	[MLGEN_RMDIR] = "rmdir",
};

static uint64_t timeval_ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * NS_PER_S + (uint64_t)tv.tv_usec * 1000;
}

static struct usage usage_now(void)
{
	uint64_t ran, waited = 0;
	struct rusage ru = { 0 };
	char text[80];
	ssize_t n;
	int fd;

	getrusage(RUSAGE_THREAD, &ru);
	fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	/* Time on the run queue is the second of three numbers
	 * (Documentation/scheduler/sched-stats.rst). */
	if (sscanf(text, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2)
		waited = 0;
	return (struct usage){
		.user_ns = timeval_ns(ru.ru_utime),
		.system_ns = timeval_ns(ru.ru_stime),
		.waited_ns = waited,
		.context_switches = (uint64_t)(ru.ru_nvcsw + ru.ru_nivcsw),
		.major_faults = (uint64_t)ru.ru_majflt,
		.minor_faults = (uint64_t)ru.ru_minflt,
	};
}

void usage_begin(struct usage *u)
{
	*u = usage_now();
}

void usage_end(struct usage *u)
{
	struct usage now = usage_now();

	u->user_ns = now.user_ns - u->user_ns;
	u->system_ns = now.system_ns - u->system_ns;
	u->waited_ns = now.waited_ns - u->waited_ns;
	u->context_switches = now.context_switches - u->context_switches;
	u->major_faults = now.major_faults - u->major_faults;
	u->minor_faults = now.minor_faults - u->minor_faults;
}

void usage_add(struct usage *to, const struct usage *from)
{
	to->user_ns += from->user_ns;
	to->system_ns += from->system_ns;
	to->waited_ns += from->waited_ns;
	to->context_switches += from->context_switches;
	to->major_faults += from->major_faults;
	to->minor_faults += from->minor_faults;
}

void opstat_init(struct opstat *s)
{
	memset(s, 0, sizeof(*s));
	for (unsigned i = 0; i < MLGEN_OPS; i++)
		s->lat[i] = hist_new();
	s->sample = hist_new();
	for (unsigned i = 0; i < 2; i++) {
		s->slat[i] = hist_new();
		s->total[i] = hist_new();
	}
}

void opstat_fini(struct opstat *s)
{
	for (unsigned i = 0; i < MLGEN_OPS; i++)
		hist_free(s->lat[i]);
	hist_free(s->sample);
	for (unsigned i = 0; i < 2; i++) {
		hist_free(s->slat[i]);
		hist_free(s->total[i]);
	}
	memset(s, 0, sizeof(*s));
}

void opstat_reset(struct opstat *s)
{
	for (unsigned i = 0; i < MLGEN_OPS; i++) {
		hist_reset(s->lat[i]);
		count_set(&s->blocked_ns[i], 0);
		count_set(&s->linked[i], 0);
	}
	hist_reset(s->sample);
	memset(&s->slowest, 0, sizeof(s->slowest));
	for (unsigned i = 0; i < OPSTAT_DEPTHS; i++)
		s->depth[i] = s->submits[i] = s->reaps[i] = 0;
	for (unsigned i = 0; i < 2; i++) {
		hist_reset(s->slat[i]);
		hist_reset(s->total[i]);
		atomic_store(&s->bytes_at_reset[i], count_get(&s->io_bytes[i]));
		s->sizes[i] = (struct sizes){ 0 };
		s->short_ios[i] = 0;
	}
	count_set(&s->errors, 0);
	s->eval_bytes = 0;
	count_set(&s->reap_ns, 0);
	count_set(&s->idle_ns, 0);
	s->data_ns = 0;
	s->wall_ns = 0;
	s->usage = (struct usage){ 0 };
}

void opstat_merge_transfers(struct opstat *to, const struct opstat *from)
{
	for (unsigned i = 0; i < MLGEN_OPS; i++) {
		hist_merge(to->lat[i], from->lat[i]);
		count_add(&to->linked[i], count_get(&from->linked[i]));
	}
	for (unsigned i = 0; i < 2; i++) {
		count_add(&to->io_bytes[i], opstat_io_bytes(from, i));
		sizes_merge(&to->sizes[i], &from->sizes[i]);
		to->short_ios[i] += from->short_ios[i];
	}
	count_add(&to->errors, count_get(&from->errors));
}

void opstat_merge(struct opstat *to, const struct opstat *from)
{
	opstat_merge_transfers(to, from);
	hist_merge(to->sample, from->sample);
	if (from->slowest.ns > to->slowest.ns)
		to->slowest = from->slowest;
	for (unsigned i = 0; i < 2; i++) {
		hist_merge(to->slat[i], from->slat[i]);
		hist_merge(to->total[i], from->total[i]);
	}
	for (unsigned i = 0; i < OPSTAT_DEPTHS; i++) {
		to->depth[i] += from->depth[i];
		to->submits[i] += from->submits[i];
		to->reaps[i] += from->reaps[i];
	}
	for (unsigned i = 0; i < MLGEN_OPS; i++)
		count_add(&to->blocked_ns[i], count_get(&from->blocked_ns[i]));
	to->eval_bytes += from->eval_bytes;
	count_add(&to->reap_ns, count_get(&from->reap_ns));
	count_add(&to->idle_ns, count_get(&from->idle_ns));
	to->data_ns += from->data_ns;
	to->wall_ns += from->wall_ns;
	usage_add(&to->usage, &from->usage);
}

const char *opstat_name(enum mlgen_op op)
{
	return names[op];
}
