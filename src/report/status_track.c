/* SPDX-License-Identifier: Apache-2.0 */
/* status_track.c - see status_track.h. */
#include "report/status_track.h"

#include <string.h>

#include "base/mem.h"
#include "base/util.h"

#define LOOKS TRACK_LOOKS
#define LOOK_NS NS_PER_S

static void status_track_remember(struct track *t, const struct live *now, bool is_whole)
{
	struct live *l = &t->looks[t->next];

	if (is_whole)
		live_hists_new(l);
	else if (now->stall && !l->stall)
		l->stall = hist_new();
	live_copy(l, now);
	t->next = (t->next + 1) % LOOKS;
	if (t->count < LOOKS)
		t->count++;
}

void track_follow(struct track *t, const struct live *now, bool is_whole)
{
	const struct live *last;

	if (t->count == 0 || t->phase != now->phase) {
		t->phase = now->phase;
		t->begin_ns = now->now_ns;
		t->next = t->count = 0;
	}
	last = &t->looks[(t->next + LOOKS - 1) % LOOKS];
	if (t->count == 0 || now->now_ns >= last->now_ns + LOOK_NS)
		status_track_remember(t, now, is_whole);
}

void track_fini(struct track *t)
{
	mem_free(t->job_name);
	for (unsigned i = 0; i < LOOKS; i++)
		live_hists_free(&t->looks[i]);
	*t = (struct track){ 0 };
}

static bool is_known(const struct track *t, const struct live *now)
{
	return t && t->count > 0 && t->phase == now->phase;
}

const struct live *track_then(const struct track *t, const struct live *now)
{
	if (!is_known(t, now))
		return now;
	return &t->looks[t->count < LOOKS ? 0 : t->next];
}

uint64_t track_begin_ns(const struct track *t, const struct live *now)
{
	return is_known(t, now) ? t->begin_ns : now->now_ns;
}

const struct track *tracks_find(const struct tracks *t, const char *job_name)
{
	for (size_t i = 0; i < t->count; i++)
		if (!strcmp(t->items[i].job_name, job_name))
			return &t->items[i];
	return NULL;
}

/* A job seen for the first time: on the main thread, once per job. */
static size_t new_track(struct tracks *t, const char *job_name)
{
	t->items = mem_realloc(t->items, (t->count + 1) * sizeof(*t->items));
	t->items[t->count] = (struct track){ .job_name = mem_strdup(job_name) };
	return t->count++;
}

void tracks_follow(struct tracks *t, const struct live *now)
{
	const struct track *known = tracks_find(t, now->job_name);
	size_t i = known ? (size_t)(known - t->items) : new_track(t, now->job_name);

	track_follow(&t->items[i], now, false);
}

void tracks_fini(struct tracks *t)
{
	for (size_t i = 0; i < t->count; i++)
		track_fini(&t->items[i]);
	mem_free(t->items);
	*t = (struct tracks){ 0 };
}
