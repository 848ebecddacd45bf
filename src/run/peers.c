/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - the barrier of ranks that are threads of one process, or of several. */
#include "run/peers.h"

#include <errno.h>

#include "hosts/exchange.h"

/* With the lock held: everyone is there. */
static void peers_pass(struct peers *p, uint64_t votes)
{
	p->arrived = 0;
	p->is_sent = false;
	if (p->decision && p->decision->apply && !atomic_load(&p->closed))
		p->decision->apply(p->arg, votes);
	/* Before `round`, which those who wait look at. */
	uint64_t now_ns = clock_now(p->clock);
	if (!p->channel)
		atomic_store(&p->here_ns, now_ns);
	atomic_store(&p->passed_ns, now_ns);
	atomic_fetch_add(&p->round, 1);
}

/* With the lock held: everyone here is there. True: the others are to be told, without the lock. */
static bool pass_here(struct peers *p, uint64_t *votes)
{
	*votes = 0;
	if (p->decision && p->decision->vote && !atomic_load(&p->closed))
		*votes = p->decision->vote(p->arg);
	if (p->channel) {
		atomic_store(&p->here_ns, clock_now(p->clock));
		p->is_sent = true;
		return true;
	}
	peers_pass(p, *votes);
	return false;
}

static void others_passed(void *arg, uint64_t votes)
{
	struct peers *p = arg;

	pthread_mutex_lock(&p->lock);
	peers_pass(p, votes);
	pthread_mutex_unlock(&p->lock);
	bell_ring(&p->bell, p->clock);
}

static void others_closed(void *arg)
{
	struct peers *p = arg;

	pthread_mutex_lock(&p->lock);
	atomic_store(&p->closed, true);
	pthread_mutex_unlock(&p->lock);
	bell_ring(&p->bell, p->clock);
}

static const struct hosts_waiter waiter = { others_passed, others_closed };

void peers_init(struct peers *p, struct clock *clock, uint64_t ranks)
{
	*p = (struct peers){ .local = ranks, .clock = clock, .members = ranks };
	pthread_mutex_init(&p->lock, NULL);
}

void peers_join(struct peers *p, struct hosts *hosts, uint32_t number)
{
	if (hosts)
		p->channel = hosts_open(hosts, number, &waiter, p);
}

void peers_fini(struct peers *p)
{
	hosts_shut(p->channel);
	if (p->clock)
		pthread_mutex_destroy(&p->lock);
}

static int wait_for_round(struct peers *p, uint32_t round)
{
	for (;;) {
		uint32_t seen = bell_look(&p->bell);
		/* Before the round: one that was passed, was. */
		bool is_closed = atomic_load(&p->closed);

		if (atomic_load(&p->round) != round)
			return 0;
		if (is_closed)
			return -EPIPE;
		bell_wait(&p->bell, p->clock, seen, CLOCK_NEVER);
	}
}

int peers_barrier(struct peers *p, const struct peers_decision *decision, void *arg)
{
	uint64_t votes;

	pthread_mutex_lock(&p->lock);
	/* Pairs with peers_cut: there it is decided under the lock, too. */
	if (atomic_load(&p->closed)) {
		pthread_mutex_unlock(&p->lock);
		return -EPIPE;
	}
	uint32_t round = atomic_load(&p->round);
	bool is_last = ++p->arrived == p->members;
	p->decision = decision;
	p->arg = arg;
	bool has_others = is_last && pass_here(p, &votes);
	pthread_mutex_unlock(&p->lock);
	if (has_others)
		hosts_arrive(p->channel, votes);
	if (!is_last || has_others)
		return wait_for_round(p, round);
	bell_ring(&p->bell, p->clock);
	return 0;
}

uint64_t peers_passed_ns(const struct peers *p)
{
	return atomic_load(&p->passed_ns);
}

uint64_t peers_here_ns(const struct peers *p)
{
	return atomic_load(&p->here_ns);
}

int peers_exchange(struct peers *p, const void *mine, size_t n, struct buf *all)
{
	return p->channel ? hosts_exchange(p->channel, mine, n, all) : -EPIPE;
}

void peers_leave(struct peers *p)
{
	uint64_t votes;

	pthread_mutex_lock(&p->lock);
	p->members--;
	bool is_last = p->members > 0 && p->arrived == p->members && !p->is_sent &&
		       !atomic_load(&p->closed);
	bool has_others = is_last && pass_here(p, &votes);
	bool was_last_here = p->members == 0;
	pthread_mutex_unlock(&p->lock);
	if (has_others)
		hosts_arrive(p->channel, votes);
	else if (is_last)
		bell_ring(&p->bell, p->clock);
	if (was_last_here && p->channel)
		hosts_leave(p->channel);
}

void peers_close(struct peers *p)
{
	atomic_store(&p->closed, true);
	bell_ring(&p->bell, p->clock);
	if (p->channel)
		hosts_close(p->channel);
}

void peers_cut(struct peers *p)
{
	pthread_mutex_lock(&p->lock);
	/* Where the others have been told, rank 0 says which came first. */
	if (!p->is_sent)
		atomic_store(&p->closed, true);
	pthread_mutex_unlock(&p->lock);
	bell_ring(&p->bell, p->clock);
	if (p->channel)
		hosts_close(p->channel);
}
