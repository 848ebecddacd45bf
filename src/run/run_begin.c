/* SPDX-License-Identifier: Apache-2.0 */
/* run_begin.c - jobs are set up from their options and their files, which one process of a job
 * looks for; see run_inside.h. */
#include "data/dataset/dataset.h"
#include "hosts/hosts.h"
#include "run/activity.h"
#include "run/run_inside.h"

static int give(const struct slot *s, struct relay *to, struct mlgen_err *err)
{
	int rc = dataset_give(&s->dataset, to, err);

	return rc ? rc : dataset_give(&s->eval, to, err);
}

static int take(struct dataset_given given[2], const struct slot *s, struct relay *from,
		struct mlgen_err *err)
{
	const char *beside = s->job->directory ? s->job->directory : ".";
	int rc = dataset_given_take(&given[0], beside, from, err);

	return rc ? rc : dataset_given_take(&given[1], beside, from, err);
}

/*
 * One looks, at what may be a million files: rank 0, or where each host has its own the first
 * process there. Then the others do with what it has found. What fails in one fails in all, before
 * anyone waits for it.
 */
static int init_with_files(struct run *r, struct slot *s, struct mlgen_err *err)
{
	struct hosts *h = r->shared.cfg.hosts;
	struct dataset_given given[2] = { 0 };
	struct relay relay;
	int rc = 0;

	relay_begin(&relay, h, s->job->shared);
	const bool looks = relay_gives(&relay);
	if (looks)
		rc = s->does->init(s, &r->shared, err);
	rc = hosts_agree(h, rc, err);
	if (rc < 0)
		return rc;
	rc = looks ? give(s, &relay, err) : take(given, s, &relay, err);
	rc = relay_end(&relay, rc, err);
	if (rc == 0 && !looks) {
		s->given = given;
		rc = s->does->init(s, &r->shared, err);
		s->given = NULL;
	}
	dataset_given_fini(&given[0]);
	dataset_given_fini(&given[1]);
	return hosts_agree(h, rc, err);
}

static int init_slot(struct run *r, struct slot *s, struct mlgen_err *err)
{
	struct hosts *h = r->shared.cfg.hosts;

	if (hosts_total(h) > 1 && slot_has_dataset(s))
		return init_with_files(r, s, err);
	return hosts_agree(h, s->does->init(s, &r->shared, err), err);
}

int run_begin(struct run *r, int rc, struct mlgen_err *err)
{
	/* Who is refused already is waited for by nobody. */
	rc = hosts_agree(r->shared.cfg.hosts, rc, err);
	for (size_t i = 0; i < r->shared.cfg.count && rc == 0; i++)
		rc = init_slot(r, &r->slots[i], err);
	return rc;
}
