/* SPDX-License-Identifier: Apache-2.0 */
/* gauge.c - see gauge.h. */
#include "run/gauge.h"

void gauge_open(struct gauge *g, const struct mount *mount,
		const struct clock *clock)
{
	*g = (struct gauge){ .clock = clock };
	pthread_mutex_init(&g->lock, NULL);
	memsource_open(&g->memory, mount, "");
}

void gauge_close(struct gauge *g)
{
	if (!g->clock)
		return;
	memsource_close(&g->memory);
	pthread_mutex_destroy(&g->lock);
	*g = (struct gauge){ 0 };
}

void gauge_begin(struct gauge *g)
{
	pthread_mutex_lock(&g->lock);
	g->has_memory_begin = memsource_read(&g->memory, &g->memory_begin) == 0;
	pthread_mutex_unlock(&g->lock);
}

void gauge_finish(struct gauge *g)
{
	pthread_mutex_lock(&g->lock);
	g->has_memory_end = memsource_read(&g->memory, &g->memory_end) == 0;
	pthread_mutex_unlock(&g->lock);
}
