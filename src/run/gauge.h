/* SPDX-License-Identifier: Apache-2.0 */
/* gauge.h - what storage delivered and the network carried during a training. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "io/memsource.h"
#include "io/mount.h"
#include "io/netif.h"

/*
 * Bytes of storage are counted from time zero until all loaders were joined,
 * as theirs are. Those of the network, which are a rate, end with the last
 * step. A zeroed struct is closed.
 */
struct gauge {
	const struct clock *clock; /* NULL = closed */
	struct memsource memory;
	struct netif network; /* name "" = none */
	pthread_mutex_t lock; /* of what follows */
	struct memsource_count memory_begin, memory_end;
	bool has_memory_begin, has_memory_end;
	uint64_t received_begin_bytes, received_bytes;
	uint64_t begin_ns, network_ns; /* network_ns 0 = not measured */
};

void gauge_open(struct gauge *g, const struct mount *mount,
		const struct clock *clock);
void gauge_close(struct gauge *g);

/* Any thread; `gauge` is a struct gauge (struct run_watch). */
void gauge_begin(void *gauge);      /* time zero */
void gauge_end(void *gauge);        /* the last step is done */
void gauge_finish(struct gauge *g); /* nobody reads any more */
