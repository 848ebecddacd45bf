/* SPDX-License-Identifier: Apache-2.0 */
/* host_look.c - see host_look.h. */
#include "report/host_look.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "io/host.h"

struct host_look {
	uint64_t cpu_at_ns;
	uint64_t cpu_wall_ns; /* CLOCK_MONOTONIC of that reading */
	struct host_cpu cpu;
	double cpu_percent;
	char time[32];
};

struct host_look *host_look_new(void)
{
	struct host_look *h = mem_zalloc(sizeof(*h));

	host_cpu_read(&h->cpu);
	h->cpu_wall_ns = clock_monotonic_ns();
	return h;
}

void host_look_free(struct host_look *h)
{
	mem_free(h);
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void read_cpu(struct host_look *h, uint64_t now_ns)
{
	struct host_cpu cpu;
	uint64_t wall_ns = clock_monotonic_ns();

	host_cpu_read(&cpu);
	h->cpu_percent =
		host_cpu_percent(&h->cpu, &cpu, since(wall_ns, h->cpu_wall_ns));
	h->cpu = cpu;
	h->cpu_wall_ns = wall_ns;
	h->cpu_at_ns = now_ns;
}

/* Rows of several jobs come right behind each other. */
static bool is_recent(const struct host_look *h, uint64_t now_ns,
		      uint64_t before_ns)
{
	return h->cpu_at_ns != 0 &&
	       since(now_ns, h->cpu_at_ns) * 2 < since(now_ns, before_ns);
}

/* 0: /proc is not mounted. */
static uint64_t known(uint64_t bytes)
{
	return bytes ? bytes : UINT64_MAX;
}

static void put_time(char *out, size_t size)
{
	char text[24] = "";
	struct timespec wall;
	struct tm utc;

	clock_gettime(CLOCK_REALTIME, &wall);
	if (gmtime_r(&wall.tv_sec, &utc))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(out, size, "%s.%03uZ", text,
		 (unsigned)(wall.tv_nsec / 1000000) % 1000);
}

void host_look(struct host_look *h, struct live_host *out, uint64_t now_ns,
	       uint64_t before_ns)
{
	if (!is_recent(h, now_ns, before_ns))
		read_cpu(h, now_ns);
	put_time(h->time, sizeof(h->time));
	*out = (struct live_host){
		.time = h->time,
		.cpu_percent = h->cpu_percent,
		.resident_bytes = known(host_resident_bytes()),
		.page_cache_bytes = known(host_page_cache_bytes()),
	};
}
