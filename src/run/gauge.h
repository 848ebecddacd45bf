/* SPDX-License-Identifier: Apache-2.0 */
/* gauge.h - what storage delivered while a job worked. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "io/memsource.h"
#include "io/mount.h"

/*
 * Bytes of storage are counted from time zero until all loaders were joined,
 * as theirs are. A zeroed struct is closed.
 */
struct gauge {
	const struct clock *clock; /* NULL = closed */
	struct memsource memory;
	pthread_mutex_t lock; /* of what follows */
	struct memsource_count memory_begin, memory_end;
	bool has_memory_begin, has_memory_end;
};

void gauge_open(struct gauge *g, const struct mount *mount,
		const struct clock *clock);
void gauge_close(struct gauge *g);

/* Any thread. */
void gauge_begin(struct gauge *g);  /* time zero */
void gauge_finish(struct gauge *g); /* nobody reads any more */
