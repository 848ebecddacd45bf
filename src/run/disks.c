/* SPDX-License-Identifier: Apache-2.0 */
/* disks.c - see disks.h. */
#include "run/disks.h"

#include <string.h>

#include "base/mem.h"

struct disk_count {
	const char *name; /* of a slot's mount */
	struct devset devices;
	struct devstat before, after;
	bool is_known; /* at the end, too */
};

static bool disks_has(const struct disks *d, const char *name)
{
	for (size_t i = 0; i < d->count; i++)
		if (!strcmp(d->items[i].name, name))
			return true;
	return false;
}

/* Each device once, however many jobs have files there. */
static void disks_add(struct disks *d, const char *name)
{
	struct disk_count c = { .name = name };

	if (!*name || disks_has(d, name) || devset_counting(&c.devices, "", name))
		return;
	if (devset_read(&c.before, &c.devices, "")) {
		devset_fini(&c.devices);
		return;
	}
	d->items[d->count++] = c;
}

void disks_begin(struct disks *d, const struct slot *slots, size_t slot_count,
		 const struct clock *clock)
{
	d->items = mem_array(2 * slot_count, sizeof(*d->items));
	for (size_t i = 0; i < slot_count; i++) {
		disks_add(d, slots[i].mount.device);
		disks_add(d, slots[i].checkpoint_mount.device);
	}
	d->begin_ns = clock_now(clock);
}

void disks_end(struct disks *d, const struct clock *clock)
{
	if (atomic_exchange(&d->has_ended, true))
		return;
	for (size_t i = 0; i < d->count; i++) {
		struct disk_count *c = &d->items[i];

		c->is_known = devset_read(&c->after, &c->devices, "") == 0;
	}
	d->end_ns = clock_now(clock);
}

static struct disk_util util_of(const struct disk_count *c, double ms)
{
	struct devstat d = c->after;

	devstat_subtract(&d, &c->before);
	struct disk_util u = { .read_ios = d.read_ios,
			       .write_ios = d.write_ios,
			       .read_sectors = d.read_sectors,
			       .write_sectors = d.write_sectors,
			       .read_merges = d.read_merges,
			       .write_merges = d.write_merges,
			       .read_ticks = d.read_ticks_ms,
			       .write_ticks = d.write_ticks_ms,
			       .in_queue = d.in_queue_ms };
	u.util = ms > 0 ? 100 * (double)d.io_ticks_ms / ms : 0;
	if (u.util > 100)
		u.util = 100;
	u.queue_depth = ms > 0 ? (double)d.in_queue_ms / ms : (double)NAN;
	memcpy(u.name, c->name, strnlen(c->name, sizeof(u.name) - 1));
	return u;
}

void disks_collect(struct run_result *out, const struct disks *d)
{
	double ms = (double)(d->end_ns - d->begin_ns) / 1e6;

	out->disks = mem_array(d->count, sizeof(*out->disks));
	for (size_t i = 0; i < d->count; i++)
		if (d->items[i].is_known)
			out->disks[out->disk_count++] = util_of(&d->items[i], ms);
}

void disks_fini(struct disks *d)
{
	for (size_t i = 0; i < d->count; i++)
		devset_fini(&d->items[i].devices);
	mem_free(d->items);
}
