/* SPDX-License-Identifier: Apache-2.0 */
/* gauge.c - see gauge.h. */
#include "run/gauge.h"

void gauge_open(struct gauge *g, const struct mount *mount,
		const struct clock *clock)
{
	*g = (struct gauge){ .clock = clock };
	pthread_mutex_init(&g->lock, NULL);
	memsource_open(&g->memory, mount, "");
	netif_find(&g->network, "", mount);
}

void gauge_close(struct gauge *g)
{
	if (!g->clock)
		return;
	memsource_close(&g->memory);
	pthread_mutex_destroy(&g->lock);
	*g = (struct gauge){ 0 };
}

void gauge_begin(void *gauge)
{
	struct gauge *g = gauge;

	pthread_mutex_lock(&g->lock);
	g->has_memory_begin = memsource_read(&g->memory, &g->memory_begin) == 0;
	if (g->network.name[0] &&
	    netif_received(&g->received_begin_bytes, "", g->network.name) == 0)
		g->begin_ns = clock_now(g->clock);
	pthread_mutex_unlock(&g->lock);
}

void gauge_end(void *gauge)
{
	struct gauge *g = gauge;
	uint64_t bytes;

	pthread_mutex_lock(&g->lock);
	if (g->begin_ns && !g->network_ns &&
	    netif_received(&bytes, "", g->network.name) == 0 &&
	    bytes >= g->received_begin_bytes) {
		g->received_bytes = bytes - g->received_begin_bytes;
		g->network_ns = clock_now(g->clock) - g->begin_ns;
	}
	pthread_mutex_unlock(&g->lock);
}

void gauge_finish(struct gauge *g)
{
	gauge_end(g);
	pthread_mutex_lock(&g->lock);
	g->has_memory_end = memsource_read(&g->memory, &g->memory_end) == 0;
	pthread_mutex_unlock(&g->lock);
}
