/* SPDX-License-Identifier: Apache-2.0 */
/* host_look.c - see host_look.h. */
#include "run/host_look.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "io/host.h"

struct host_look {
	uint64_t cpu_at_ns;
	uint64_t cpu_wall_ns; /* CLOCK_MONOTONIC of that reading */
	struct host_cpu cpu;
	uint64_t received_bytes, sent_bytes; /* at that time */
	bool has_network;
	struct live_host last; /* between that reading and the one before */
	char time[32];
};

struct host_look *host_look_new(void)
{
	struct host_look *h = mem_zalloc(sizeof(*h));

	host_cpu_read(&h->cpu);
	h->has_network = host_network_read("", &h->received_bytes, &h->sent_bytes);
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

static uint64_t per_second(uint64_t n, uint64_t ns)
{
	return ns ? (uint64_t)((double)n * 1e9 / (double)ns) : UINT64_MAX;
}

static void read_network(struct host_look *h, uint64_t ns)
{
	uint64_t received, sent;
	bool had = h->has_network;

	h->has_network = host_network_read("", &received, &sent);
	h->last.received_bytes_per_sec = h->last.sent_bytes_per_sec = UINT64_MAX;
	if (had && h->has_network) {
		h->last.received_bytes_per_sec = per_second(since(received, h->received_bytes), ns);
		h->last.sent_bytes_per_sec = per_second(since(sent, h->sent_bytes), ns);
	}
	h->received_bytes = received;
	h->sent_bytes = sent;
}

static void read_rates(struct host_look *h, uint64_t now_ns)
{
	struct host_cpu cpu;
	uint64_t wall_ns = clock_monotonic_ns();
	uint64_t ns = since(wall_ns, h->cpu_wall_ns);

	host_cpu_read(&cpu);
	h->last.cpu_percent = host_cpu_percent(&h->cpu, &cpu, ns);
	h->last.switches_per_sec = per_second(since(cpu.switches, h->cpu.switches), ns);
	read_network(h, ns);
	h->cpu = cpu;
	h->cpu_wall_ns = wall_ns;
	h->cpu_at_ns = now_ns;
}

/* Rows of several jobs come right behind each other. */
static bool is_recent(const struct host_look *h, uint64_t now_ns, uint64_t before_ns)
{
	return h->cpu_at_ns != 0 && since(now_ns, h->cpu_at_ns) * 2 < since(now_ns, before_ns);
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
	snprintf(out, size, "%s.%03uZ", text, (unsigned)(wall.tv_nsec / 1000000) % 1000);
}

void host_look(struct host_look *h, struct live_host *out, uint64_t now_ns, uint64_t before_ns)
{
	if (!is_recent(h, now_ns, before_ns))
		read_rates(h, now_ns);
	put_time(h->time, sizeof(h->time));
	*out = h->last;
	out->time = h->time;
	out->resident_bytes = known(host_resident_bytes());
	out->page_cache_bytes = known(host_page_cache_bytes());
}
