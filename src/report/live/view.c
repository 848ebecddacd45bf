/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - --live: a full screen of a run's figures, while it runs. */
#include "report/live/live_internal.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/util.h"

#define MESSAGE_BYTES 2048

struct view {
	struct view_terminal *terminal;
	struct tracks tracks;
	struct track past; /* snapshots of `all` */
	struct live all;
	struct view_series bytes_per_sec, au_percent;
	uint64_t moved_bytes, moved_ns; /* figures of the last update; ns 0 = none */
	struct hist *scratch;
	uint64_t begin_ns;
	bool is_ending;
};

int view_check(struct mlgen_err *err)
{
	return view_terminal_check(err);
}

int view_open(struct view **out, struct mlgen_err *err)
{
	struct view *v = *out = mem_zalloc(sizeof(*v));
	int rc = view_terminal_open(&v->terminal, err);

	if (rc < 0) {
		mem_free(v);
		*out = NULL;
		return rc;
	}
	live_hists_new(&v->all);
	v->scratch = hist_new();
	v->begin_ns = clock_monotonic_ns();
	return 0;
}

void view_close(struct view *v)
{
	if (!v)
		return;
	view_terminal_close(v->terminal);
	tracks_fini(&v->tracks);
	track_fini(&v->past);
	live_hists_free(&v->all);
	hist_free(v->scratch);
	mem_free(v);
}

/* Add a job's figures to those that the live view shows as a total of all jobs. */
static void add_job(struct live *to, const struct live *job)
{
	struct {
		struct hist *to, *from;
	} const pairs[] = {
		{ to->stall, job->stall },
		{ to->sample, job->sample },
		{ to->lat[MLGEN_READ], job->lat[MLGEN_READ] },
		{ to->lat[MLGEN_WRITE], job->lat[MLGEN_WRITE] },
	};

	to->compute_ns += job->compute_ns;
	to->step_ns += job->step_ns;
	to->stall_ns += job->stall_ns;
	to->inside_ns += job->inside_ns;
	to->idle_ns += job->idle_ns;
	to->worker_ns += job->worker_ns;
	for (unsigned d = 0; d < 2; d++)
		to->io_moved[d] += job->io_moved[d];
	to->bytes_done += job->bytes_done;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		if (pairs[i].from && pairs[i].from->count > 0)
			hist_merge(pairs[i].to, pairs[i].from);
}

/* The phase of a training job is preferred: training has figures that other phases lack. */
static enum live_phase phase_of_all(const struct live *jobs, size_t n)
{
	enum live_phase phase = LIVE_DONE;

	for (size_t i = 0; i < n; i++) {
		if (jobs[i].phase == LIVE_TRAIN || jobs[i].phase == LIVE_DROP)
			return LIVE_TRAIN;
		if (jobs[i].phase != LIVE_DONE)
			phase = jobs[i].phase;
	}
	return phase;
}

static void view_draw(struct view *v, const struct live *jobs, size_t n)
{
	char messages[MESSAGE_BYTES];
	struct view_pen pen;
	const struct view_scene scene = {
		.jobs = jobs,
		.job_count = n,
		.tracks = &v->tracks,
		.all = &v->all,
		.all_then = track_oldest(&v->past, &v->all),
		.bytes_per_sec = &v->bytes_per_sec,
		.au_percent = &v->au_percent,
		.scratch = v->scratch,
		.elapsed_ns = clock_monotonic_ns() - v->begin_ns,
		.messages = messages,
		.is_ending = v->is_ending,
	};

	view_restore_messages(messages, sizeof(messages));
	view_terminal_begin(v->terminal, &pen);
	view_layout(&pen, &scene);
	view_terminal_show(v->terminal);
}

void view_update(struct view *v, const struct live *jobs, size_t n)
{
	live_reset(&v->all);
	v->all.phase = phase_of_all(jobs, n);
	v->all.work = v->all.phase;
	v->all.now_ns = n ? jobs[0].now_ns : 0;
	for (size_t i = 0; i < n; i++)
		add_job(&v->all, &jobs[i]);

	const struct live *all = &v->all, *then = track_oldest(&v->past, all);
	uint64_t moved = all->io_moved[0] + all->io_moved[1] + all->bytes_done;
	uint64_t step_ns = all->step_ns - then->step_ns;
	uint64_t ns = all->now_ns - v->moved_ns;

	if (v->moved_ns && ns > 0)
		view_series_add(&v->bytes_per_sec,
				moved > v->moved_bytes
					? (double)(moved - v->moved_bytes) / ((double)ns / 1e9)
					: 0);
	v->moved_bytes = moved;
	v->moved_ns = all->now_ns;
	if (all->step_ns > then->step_ns)
		view_series_add(&v->au_percent, 100 * (double)(all->compute_ns - then->compute_ns) /
							(double)step_ns);

	/* Draw before the snapshots are stored, for the reason given in status_update(). */
	view_draw(v, jobs, n);
	for (size_t i = 0; i < n; i++)
		tracks_follow(&v->tracks, &jobs[i]);
	track_follow(&v->past, &v->all, true);
}

bool view_handle_input(struct view *v, const struct live *jobs, size_t n)
{
	bool quits = false, must_draw = view_terminal_is_resized(v->terminal);
	int key;

	while ((key = view_terminal_key(v->terminal)) != 0) {
		quits |= key == 'q' || key == 'Q';
		must_draw = true;
	}
	if (must_draw)
		view_draw(v, jobs, n);
	return quits;
}

void view_set_ending(struct view *v)
{
	v->is_ending = true;
}
