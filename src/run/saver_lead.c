/* SPDX-License-Identifier: Apache-2.0 */
/* saver_lead.c - the savers of all processes of a job have one checkpoint together: a thread of
 * each that votes. */
#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "data/state/state.h"
#include "hosts/ballot.h"
#include "hosts/hosts.h"
#include "run/saver_inside.h"

/*
 * A round of all savers, by the thread that leads each of them. What one tells
 * the others are votes (ballot.h), of which rank 0's has a number in it:
 *
 *	1	may it begin? All are there, and none stops
 *	2	of a save: rank 0 has made the directory: its number; 0 = it failed
 *	3	and where it is: step, place
 *		the threads do their part
 *	4	was any part not whole? Then rank 0 removes the rest
 *	5	of a save: rank 0 has committed it, or failed to
 *
 * A saver that ends closes the ballot; who votes then learns that there are no
 * more rounds. After a death nobody knows who still writes, so what is there
 * stays, incomplete.
 */
struct saver_lead {
	struct saver_thread thread; /* it moves no file, renames and deletes */
	struct ballot *ballot;
	bool is_cut_off; /* its own alone: the others vote no more */
	_Atomic bool is_over;
	/* Under the saver's lock. */
	bool is_wanted;
	struct checkpoint wanted;
};

/* Of a place, beside a step, which ends at 2^63-1 (checkpoints_check_next). */
#define PLACE_PART 1u

static int vote(struct saver *s, uint64_t mine, uint64_t *all)
{
	int rc = ballot_vote(s->lead->ballot, mine, all);

	if (rc < 0) {
		s->lead->is_cut_off = true;
		atomic_store(&s->lead->is_over, true);
	}
	return rc;
}

/* Rank 0's directory, or what there is of it to be known. */
static int make(struct saver *s, struct checkpoint *k)
{
	struct checkpoint wanted = *k;
	struct mlgen_err err = { 0 };
	uint64_t number = 0, where = 0;
	bool makes = saver_commits(s);

	if (makes && saver_make(s, wanted.epoch, wanted.step, k, &err) < 0) {
		saver_record_failed(s, k, &err);
		failure_set(s->cfg.failure, &err);
		vote(s, 0, &number);
		return -ECANCELED;
	}
	int rc = vote(s, makes ? k->number : 0, &number);
	if (rc == 0 && !number)
		return -ECANCELED;
	if (rc == 0)
		rc = vote(s, makes ? k->step << 1 | (k->place == CHECKPOINT_PART) : 0, &where);
	if (rc < 0 || makes)
		return rc;
	k->number = number;
	k->step = where >> 1;
	k->place = where & PLACE_PART ? CHECKPOINT_PART : CHECKPOINT_FINAL;
	checkpoint_put_name(k->name, k->epoch, k->step, k->place);
	return 0;
}

static void await_threads(struct saver *s)
{
	for (;;) {
		uint32_t seen = bell_look(&s->over);

		if (atomic_load(&s->left) == 0)
			return;
		bell_wait(&s->over, s->cfg.clock, seen, CLOCK_NEVER);
	}
}

/* There is none. */
static void cancel(struct saver *s)
{
	atomic_store(&s->is_busy, false);
	bell_ring(&s->over, s->cfg.clock);
}

static void lead_round(struct saver *s, struct checkpoint *k)
{
	uint64_t stops = 0;
	int rc = vote(s, saver_must_stop(s), &stops);

	if (rc == 0 && stops)
		rc = -ECANCELED;
	if (rc == 0 && !s->cfg.is_restore)
		rc = make(s, k);
	if (rc == 0 && saver_round(s, k) < 0) {
		saver_unmake(s, k);
		ballot_close(s->lead->ballot);
		rc = -EPIPE;
	}
	if (rc < 0) {
		cancel(s);
	} else {
		await_threads(s);
		saver_end_round(&s->lead->thread);
	}
	/* Those that may go look again. */
	bell_ring(&s->go, s->cfg.clock);
}

/* False: there are none any more. */
static bool await_wanted(struct saver *s, struct checkpoint *k)
{
	struct saver_lead *lead = s->lead;

	for (;;) {
		uint32_t seen = bell_look(&s->go);

		pthread_mutex_lock(&s->lock);
		bool has_one = lead->is_wanted;
		*k = lead->wanted;
		lead->is_wanted = false;
		pthread_mutex_unlock(&s->lock);
		if (has_one)
			return true;
		if (atomic_load(&s->closed) || atomic_load(&s->is_finishing))
			return false;
		bell_wait(&s->go, s->cfg.clock, seen, CLOCK_NEVER);
	}
}

static void *lead_main(void *saver)
{
	struct saver *s = saver;
	struct checkpoint k;

	/* Who cannot rename does not begin, either: it has closed. */
	saver_thread_open(&s->lead->thread);
	while (await_wanted(s, &k))
		lead_round(s, &k);
	ballot_close(s->lead->ballot);
	saver_thread_close(&s->lead->thread);
	return NULL;
}

void saver_lead_new(struct saver *s)
{
	struct saver_lead *lead = s->lead = mem_zalloc(sizeof(*lead));
	struct saver_thread *t = &lead->thread;

	t->saver = s;
	t->depth = 1;
	t->folder_fd = -1;
	worker_init(&t->worker);
	lead->ballot = ballot_open(s->cfg.hosts, s->cfg.channel);
}

void saver_lead_free(struct saver *s)
{
	if (!s->lead)
		return;
	ballot_free(s->lead->ballot);
	saver_thread_fini(&s->lead->thread);
	mem_free(s->lead);
	s->lead = NULL;
}

int saver_lead_start(struct saver *s, struct mlgen_err *err)
{
	return worker_start(&s->lead->thread.worker.thread, s->cfg.clock, lead_main, s, err);
}

void saver_lead_join(struct saver *s)
{
	worker_join(&s->lead->thread.worker.thread);
}

void saver_lead_close(struct saver *s)
{
	/* Once started it ends what is under way with the others. */
	if (!s->lead->thread.worker.thread)
		ballot_close(s->lead->ballot);
}

int saver_lead_begin(struct saver *s, const struct checkpoint *k)
{
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	if (s->gone || atomic_load(&s->closed)) {
		rc = -EPIPE;
	} else {
		s->lead->wanted = *k;
		s->lead->is_wanted = true;
		atomic_store(&s->is_busy, true);
	}
	pthread_mutex_unlock(&s->lock);
	if (rc == 0)
		bell_ring(&s->go, s->cfg.clock);
	return rc;
}

struct saver_thread *saver_lead_thread(const struct saver *s)
{
	return &s->lead->thread;
}

bool saver_is_over(const struct saver *s)
{
	return s->lead && atomic_load(&s->lead->is_over);
}

bool saver_commits(const struct saver *s)
{
	return !s->lead || (hosts_rank(s->cfg.hosts) == 0 && !s->lead->is_cut_off);
}

bool saver_all_whole(struct saver *s, bool is_whole)
{
	uint64_t is_cut;

	if (!s->lead)
		return is_whole;
	if (vote(s, !is_whole, &is_cut) == 0)
		return !is_cut;
	if (!s->cfg.is_restore && hosts_rank(s->cfg.hosts) == 0)
		log_warn("checkpoint %" PRIu64 ": %s/%s is incomplete, and is left as it is: "
			 "another process may still write there",
			 s->now.number, s->cfg.checkpoints->directory, s->now.name);
	return false;
}

void saver_all_complete(struct saver *s, struct checkpoint_result *r)
{
	uint64_t is_missing;

	if (!s->lead)
		return;
	bool commits = saver_commits(s);
	int rc = vote(s, commits && !r->complete, &is_missing);
	if (commits || rc < 0 || is_missing)
		return;
	r->complete = true;
	checkpoint_final_name(&s->now, r->name);
}
