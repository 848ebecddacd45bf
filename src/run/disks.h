/* SPDX-License-Identifier: Apache-2.0 */
/* disks.h - what the disks below a run's files did from its beginning to its end. */
#pragma once

#include <stdatomic.h>

#include "base/clock.h"
#include "run/result/result.h"
#include "run/slot.h"

struct disk_count;

/* As fio's disk_util: preparation and all groups are in it. A zeroed one is empty. */
struct disks {
	struct disk_count *items;
	size_t count;
	uint64_t begin_ns, end_ns;
	_Atomic bool has_ended;
};

/* The slots were checked: where their files lie is known. */
void disks_begin(struct disks *d, const struct slot *slots, size_t slot_count,
		 const struct clock *clock);
/* Any thread; the first call counts. */
void disks_end(struct disks *d, const struct clock *clock);
/* After the end: into out->disks, which becomes the caller's. */
void disks_collect(struct run_result *out, const struct disks *d);
void disks_fini(struct disks *d);
