/* SPDX-License-Identifier: Apache-2.0 */
/* devstat.c - see devstat.h. */
#include "io/devstat.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

int devstat_read(struct devstat *s, const char *root, const char *name)
{
	char path[PATH_MAX];
	*s = (struct devstat){ 0 };
	if (!*name)
		return -ENODATA;
	snprintf(path, sizeof(path), "%s/sys/block/%s/stat", root, name);
	FILE *f = fopen(path, "re");
	if (!f)
		return -ENODATA;
	int n = fscanf(f,
		       "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		       " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		       " %" SCNu64 " %" SCNu64 " %" SCNu64,
		       &s->read_ios, &s->read_merges, &s->read_sectors,
		       &s->read_ticks_ms, &s->write_ios, &s->write_merges,
		       &s->write_sectors, &s->write_ticks_ms, &s->in_flight,
		       &s->io_ticks_ms, &s->in_queue_ms);
	fclose(f);
	return n == 11 ? 0 : -ENODATA;
}

void devstat_subtract(struct devstat *to, const struct devstat *from)
{
	to->read_ios -= from->read_ios;
	to->read_merges -= from->read_merges;
	to->read_sectors -= from->read_sectors;
	to->read_ticks_ms -= from->read_ticks_ms;
	to->write_ios -= from->write_ios;
	to->write_merges -= from->write_merges;
	to->write_sectors -= from->write_sectors;
	to->write_ticks_ms -= from->write_ticks_ms;
	to->io_ticks_ms -= from->io_ticks_ms;
	to->in_queue_ms -= from->in_queue_ms;
}
