/* SPDX-License-Identifier: Apache-2.0 */
/* filemaker.c - see filemaker.h. */
#include "run/filemaker.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/below.h"
#include "base/count.h"
#include "base/dirs.h"
#include "base/units.h"
#include "base/util.h"
#include "io/engines.h"
#include "io/mount.h"

#define MOST_SECONDS 5

static void wait_for_speed(const struct filemaker *m, struct crew *crew)
{
	for (unsigned i = 1; i <= MOST_SECONDS; i++) {
		crew_wait(crew, m->start_ns + i * NS_PER_S);
		if (count_get(&m->synced_bytes))
			return;
	}
}

void filemaker_init(struct filemaker *m, uint64_t largest_file_bytes)
{
	struct crew_config *c = &m->crew;

	if (!(c->engine->caps & MLGEN_CAP(MLGEN_WRITE))) {
		c->engine = engines_find("psync");
		c->engine_opts = NULL;
	}
	c->stop = &m->progress->stop;
	c->view = &m->progress->crew;
	c->workers = crew_writers();
	c->buf_bytes = crew_writer_bytes(largest_file_bytes);
}

void filemaker_begin(struct filemaker *m)
{
	struct filemaker_progress *p = m->progress;

	count_set(&p->files_total, count_get(&m->present_files) + count_get(&m->missing_files));
	count_set(&p->bytes_total, count_get(&m->present_bytes) + count_get(&m->missing_bytes));
	count_set(&p->files_done, count_get(&m->present_files));
	count_set(&p->bytes_done, count_get(&m->present_bytes));
	m->start_ns = clock_now(m->crew.clock);
}

int filemaker_run(struct filemaker *m, const struct crew_task *task,
		  void (*announce)(const void *arg, const char *time), const void *arg,
		  struct mlgen_err *err)
{
	char time[FILEMAKER_TIME_BYTES];
	struct crew *crew;
	int r = crew_start(&crew, &m->crew, task, err);

	if (r)
		return r;
	wait_for_speed(m, crew);
	filemaker_time(time, clock_now(m->crew.clock) - m->start_ns, count_get(&m->synced_bytes),
		       count_get(&m->missing_bytes));
	announce(arg, time);
	return crew_finish(crew, err);
}

/* What is only in the page cache is no measure. */
void filemaker_time(char out[FILEMAKER_TIME_BYTES], uint64_t seen_ns, uint64_t synced_bytes,
		    uint64_t all_bytes)
{
	char time[UNITS_TEXT_BYTES];
	double ns = (double)seen_ns;

	if (synced_bytes >= all_bytes) {
		snprintf(out, FILEMAKER_TIME_BYTES, "in %s", units_human_time(time, seen_ns));
		return;
	}
	if (synced_bytes == 0 || seen_ns < NS_PER_S) {
		snprintf(out, FILEMAKER_TIME_BYTES, "time unknown");
		return;
	}
	ns *= (double)all_bytes / (double)synced_bytes;
	/* Whole seconds, once there are some: it is an estimate. */
	if (ns >= 10e9)
		ns = round(ns / 1e9) * 1e9;
	snprintf(out, FILEMAKER_TIME_BYTES, "about %s, estimate",
		 units_human_time(time, (uint64_t)ns));
}

uint64_t filemaker_usable(uint64_t free_bytes, bool allow_fill)
{
	return allow_fill ? free_bytes : free_bytes / 2;
}

int filemaker_check_room(const struct filemaker_room *room, struct mlgen_err *err)
{
	uint64_t missing = room->missing_bytes, free_bytes = room->free_bytes;
	bool fills = !room->allow_fill && missing <= free_bytes;
	char need[UNITS_TEXT_BYTES], have[UNITS_TEXT_BYTES];

	if (missing <= filemaker_usable(free_bytes, room->allow_fill))
		return 0;
	return mlgen_fail(err, -ENOSPC, "%s: %s %s, %s free%s; %s%s", room->path,
			  units_human_bytes(need, (double)missing), room->purpose,
			  units_human_bytes(have, (double)free_bytes),
			  room->allow_fill ? "" : ", of which half may be used", room->way_out,
			  fills ? room->or_fill : "");
}

int filemaker_check_writable(const char *path, const char *what, const char *option,
			     struct mlgen_err *err)
{
	char way[DIRS_WAY_BYTES];
	struct mount m;
	int r = mount_read(&m, path, err);

	if (r)
		return r;
	if (*dirs_in_the_way(way, path, -ENOTDIR))
		return mlgen_fail(err, -ENOTDIR, "%s: %s%s", path, strerror(ENOTDIR), way);
	if (m.read_only)
		return mlgen_fail(err, -EROFS, "%s: %s to write: %s at %s; choose another %s", path,
				  what, strerror(EROFS), m.target, option);
	if (dirs_can_write(path))
		return 0;
	return mlgen_fail(
		err, -EACCES,
		"%s: %s to write: %s; make it writable for this user, or choose another %s", path,
		what, strerror(EACCES), option);
}

int filemaker_sync_folder(const char *path, int excused, struct mlgen_err *err)
{
	int fd = below_hold(path);
	int r = fd < 0 ? fd : below_sync(fd);

	if (fd >= 0)
		close(fd);
	return r == 0 || r == excused ? 0 : mlgen_fail(err, r, "%s: fsync: %s", path, strerror(-r));
}
