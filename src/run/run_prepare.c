/* SPDX-License-Identifier: Apache-2.0 */
/* run_prepare.c - what jobs need before they start, by one process or by all of a job; see
 * run_inside.h. */
#include "run/run_inside.h"

#include "hosts/hosts.h"
#include "run/activity.h"
#include "run/make/make.h"

struct slot *run_next_in_group(struct run *r, unsigned group, struct slot *after)
{
	struct slot *s = after ? after + 1 : r->slots;

	while (s < r->slots + r->shared.cfg.count && s->job->group != group)
		s++;
	return s < r->slots + r->shared.cfg.count ? s : NULL;
}

bool run_is_stopping(const struct run *r)
{
	return atomic_load(&r->shared.interrupted) || atomic_load(&r->shared.failure.is_set);
}

bool run_stops(struct run *r, bool ends)
{
	struct mlgen_err err = { 0 };
	uint64_t any = 0;

	ends |= run_is_stopping(r);
	if (hosts_vote(r->shared.cfg.hosts, ends, &any, &err) < 0)
		failure_set(&r->shared.failure, &err);
	else if (any && !ends)
		run_interrupt(r);
	return any || run_is_stopping(r);
}

/* When it is this process's turn, from 0: rank 0, whose files are those of all where they have one
 * directory; then one of each other host; then the others, who find what the first of their host
 * has made. */
static unsigned turn_of(const struct hosts *h)
{
	return hosts_rank(h) == 0 ? 0 : hosts_is_first_here(h) ? 1 : 2;
}

#define PREPARE_TURNS 3

static int prepare_in_turn(struct run *r, struct slot *s, struct mlgen_err *err)
{
	struct hosts *h = r->shared.cfg.hosts;
	int rc = 0;

	for (unsigned turn = 0; turn < PREPARE_TURNS; turn++) {
		if (turn == turn_of(h))
			rc = s->does->prepare(s, &r->shared, err);
		/* Who was stopped takes part in what is left. */
		int all = hosts_agree(h, rc < 0 ? rc : 0, err);
		if (all < 0)
			return all;
	}
	return rc;
}

static bool is_one_dataset(const struct slot *s)
{
	return slot_has_dataset(s) && s->job->shared;
}

static int check_places(struct hosts *h, const struct slot *s, struct mlgen_err *err)
{
	int rc = 0;

	if (is_one_dataset(s))
		rc = oneplace_check(h, s->dataset.directory,
				    ", or shared=0 where each has a data set of its own", err);
	if (rc == 0 && s->checkpoint_directory)
		rc = oneplace_check(h, s->checkpoint_directory, " as checkpoint_directory=", err);
	return rc;
}

/* A data set is the same one for all of them, and so are checkpoints: they make them together. */
static int prepare_as_one(struct run *r, struct slot *s, struct mlgen_err *err)
{
	struct hosts *h = r->shared.cfg.hosts;
	int rc = check_places(h, s, err);

	if (rc < 0)
		return rc;
	rc = s->does->prepare(s, &r->shared, err);
	int all = hosts_agree(h, rc < 0 ? rc : 0, err);
	return all < 0 ? all : rc;
}

int run_prepare(struct run *r, unsigned group, struct mlgen_err *err)
{
	bool is_alone = hosts_total(r->shared.cfg.hosts) == 1;
	int rc = 0;
	struct slot *s = NULL;

	while (!run_stops(r, rc != 0) && (s = run_next_in_group(r, group, s))) {
		if (!slot_touches_files(s))
			continue;
		if (is_alone)
			rc = s->does->prepare(s, &r->shared, err);
		else if (is_one_dataset(s) || (s->checkpoint_directory && !slot_has_dataset(s)))
			rc = prepare_as_one(r, s, err);
		else if ((rc = check_places(r->shared.cfg.hosts, s, err)) == 0)
			rc = prepare_in_turn(r, s, err);
	}
	return rc;
}
