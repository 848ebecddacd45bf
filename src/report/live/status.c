/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - the status line: one line on stderr, redrawn in place while jobs run. */
#include "report/live/live_internal.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/util.h"

#define SNAPSHOT_NS NS_PER_S

void track_follow(struct track *t, const struct live *now, bool all_hists)
{
	if (t->count == 0 || t->phase != now->phase) {
		t->phase = now->phase;
		t->begin_ns = now->now_ns;
		t->next = t->count = 0;
	}
	const struct live *last = &t->snapshots[(t->next + TRACK_SNAPSHOTS - 1) % TRACK_SNAPSHOTS];
	if (t->count > 0 && now->now_ns < last->now_ns + SNAPSHOT_NS)
		return;
	struct live *l = &t->snapshots[t->next];
	if (all_hists)
		live_hists_new(l);
	else if (now->stall && !l->stall)
		l->stall = hist_new();
	live_copy(l, now);
	t->next = (t->next + 1) % TRACK_SNAPSHOTS;
	if (t->count < TRACK_SNAPSHOTS)
		t->count++;
}

void track_fini(struct track *t)
{
	mem_free(t->job_name);
	for (unsigned i = 0; i < TRACK_SNAPSHOTS; i++)
		live_hists_free(&t->snapshots[i]);
	*t = (struct track){ 0 };
}

static bool has_snapshot(const struct track *t, const struct live *now)
{
	return t && t->count > 0 && t->phase == now->phase;
}

const struct live *track_oldest(const struct track *t, const struct live *now)
{
	if (!has_snapshot(t, now))
		return now;
	return &t->snapshots[t->count < TRACK_SNAPSHOTS ? 0 : t->next];
}

uint64_t track_phase_begin_ns(const struct track *t, const struct live *now)
{
	return has_snapshot(t, now) ? t->begin_ns : now->now_ns;
}

const struct track *tracks_find(const struct tracks *t, const char *job_name)
{
	for (size_t i = 0; i < t->count; i++)
		if (!strcmp(t->items[i].job_name, job_name))
			return &t->items[i];
	return NULL;
}

void tracks_follow(struct tracks *t, const struct live *now)
{
	const struct track *known = tracks_find(t, now->job_name);
	size_t i = known ? (size_t)(known - t->items) : t->count;

	if (!known) {
		t->items = mem_realloc(t->items, (t->count + 1) * sizeof(*t->items));
		t->items[t->count++] = (struct track){ .job_name = mem_strdup(now->job_name) };
	}
	track_follow(&t->items[i], now, false);
}

void tracks_fini(struct tracks *t)
{
	for (size_t i = 0; i < t->count; i++)
		track_fini(&t->items[i]);
	mem_free(t->items);
	*t = (struct tracks){ 0 };
}

#define CLEAR "\r\033[K"

struct status {
	struct status_screen screen;
	bool is_enabled; /* draw the line in place */
	bool is_drawn;
	uint64_t interval_ns;  /* 0 = no whole lines */
	uint64_t next_line_ns; /* 0 = before the first update */
	struct tracks tracks;
	struct hist *scratch; /* stalls of the last seconds */
};

/* Ignore errors: standard error itself failed, so no message can be shown. */
static void status_write(const struct status *s, const char *text)
{
	(void)writeall(s->screen.fd, text, strlen(text));
}

static void job_line(struct status *s, const struct live *now, size_t columns, char *out,
		     size_t size)
{
	const struct track *t = tracks_find(&s->tracks, now->job_name);
	const struct status_baseline base = {
		.then = track_oldest(t, now),
		.begin_ns = track_phase_begin_ns(t, now),
		.scratch = s->scratch,
	};

	status_line(now, &base, columns, out, size);
}

static bool is_busy(const struct live *l)
{
	return l->phase != LIVE_WAIT && l->phase != LIVE_DONE;
}

/* Jobs that wait or are done are shown only while no job is busy. */
static bool is_shown(const struct live *l, const struct live *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_busy(&jobs[i]))
			return is_busy(l);
	return true;
}

static size_t count_shown(const struct live *jobs, size_t n)
{
	size_t shown = 0;

	for (size_t i = 0; i < n; i++)
		shown += is_shown(&jobs[i], jobs, n);
	return shown;
}

/* Join the short lines of as many jobs as fit. */
static void join_jobs(struct status *s, const struct live *jobs, size_t n, size_t columns,
		      char *out, size_t size)
{
	char one[STATUS_COLUMNS * 4];
	size_t len = 0, left = count_shown(jobs, n);
	bool is_first = true;

	out[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (!is_shown(&jobs[i], jobs, n))
			continue;

		const struct track *t = tracks_find(&s->tracks, jobs[i].job_name);
		const struct live *then = track_oldest(t, &jobs[i]);
		bool is_measured = jobs[i].phase == LIVE_TRAIN || jobs[i].phase == LIVE_IO ||
				   jobs[i].phase == LIVE_CHECKPOINT;

		if (is_measured && then != &jobs[i])
			status_line_short(&jobs[i], then, one, sizeof(one));
		else
			job_line(s, &jobs[i], STATUS_COLUMNS, one, sizeof(one));

		/* Keep room for "  +12 more". */
		if (!is_first && len + strlen(one) + 13 > columns)
			break;
		len += (size_t)snprintf(out + len, size - len, "%s%s", is_first ? "" : " | ", one);
		is_first = false;
		left--;
	}
	if (left > 0 && len < columns)
		snprintf(out + len, size - len, "  +%zu more", left);
	if (strlen(out) > columns)
		out[columns] = '\0';
}

static void draw(struct status *s, const struct live *jobs, size_t n)
{
	char text[STATUS_COLUMNS * 8] = CLEAR;
	char *line = text + strlen(CLEAR);
	size_t room = sizeof(text) - strlen(CLEAR);
	size_t columns = s->screen.columns && s->screen.columns < STATUS_COLUMNS
				 ? s->screen.columns - 1
				 : STATUS_COLUMNS - 1;

	if (count_shown(jobs, n) > 1)
		join_jobs(s, jobs, n, columns, line, room);
	for (size_t i = 0; i < n && line[0] == '\0'; i++)
		if (is_shown(&jobs[i], jobs, n))
			job_line(s, &jobs[i], columns, line, room);
	status_write(s, text);
	s->is_drawn = true;
}

static unsigned terminal_columns(int fd)
{
	struct winsize w;

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &w) < 0 || w.ws_col < 2)
		return STATUS_COLUMNS;
	return w.ws_col;
}

static time_t wall_clock(void)
{
	return time(NULL);
}

struct status *status_new_on(const struct settings *set, const struct status_screen *screen)
{
	struct status *s = mem_zalloc(sizeof(*s));

	s->screen = *screen;
	s->is_enabled = set->eta == ETA_ALWAYS || (set->eta == ETA_AUTO && screen->columns > 0);
	s->interval_ns = set->status_interval_ns;
	s->scratch = hist_new();
	return s;
}

struct status *status_new(const struct settings *set)
{
	const struct status_screen screen = {
		.fd = STDERR_FILENO,
		.columns = terminal_columns(STDERR_FILENO),
		.wall_clock = wall_clock,
	};

	return status_new_on(set, &screen);
}

void status_update(struct status *s, const struct live *jobs, size_t n)
{
	if (n == 0)
		return;
	uint64_t now_ns = jobs[0].now_ns;
	if (s->next_line_ns == 0)
		s->next_line_ns = now_ns + s->interval_ns;
	/* Updates may come a little early, so a tenth of the interval is tolerated. */
	if (s->interval_ns > 0 && now_ns + s->interval_ns / 10 >= s->next_line_ns) {
		status_print(s, jobs, n);
		s->next_line_ns += s->interval_ns;
		/* Do not print two lines at once after the program was stopped (SIGSTOP). */
		if (s->next_line_ns <= now_ns)
			s->next_line_ns = now_ns + s->interval_ns;
	}
	if (s->is_enabled)
		draw(s, jobs, n);
	/* Store the snapshots after drawing, so that the oldest one is ten seconds old when it is
	 * drawn, not nine. */
	for (size_t i = 0; i < n; i++)
		tracks_follow(&s->tracks, &jobs[i]);
}

void status_print(struct status *s, const struct live *jobs, size_t n)
{
	char line[STATUS_COLUMNS * 4], text[STATUS_COLUMNS * 5], when[16] = "";
	time_t t = s->screen.wall_clock();
	struct tm utc;

	if (gmtime_r(&t, &utc))
		strftime(when, sizeof(when), "%H:%M:%S", &utc);
	status_erase(s);
	for (size_t i = 0; i < n; i++) {
		if (!is_shown(&jobs[i], jobs, n))
			continue;
		job_line(s, &jobs[i], STATUS_COLUMNS - strlen(when) - 2, line, sizeof(line));
		snprintf(text, sizeof(text), "%s  %s\n", when, line);
		status_write(s, text);
	}
}

void status_erase(struct status *s)
{
	if (s->is_drawn)
		status_write(s, CLEAR);
	s->is_drawn = false;
}

void status_free(struct status *s)
{
	if (!s)
		return;
	tracks_fini(&s->tracks);
	hist_free(s->scratch);
	mem_free(s);
}
