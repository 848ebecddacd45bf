/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - the barrier of ranks that are threads of one process. */
#include "run/peers.h"

#include <errno.h>

void peers_init(struct peers *p, struct clock *clock, uint64_t ranks)
{
	*p = (struct peers){
		.local = ranks, .total = ranks, .clock = clock, .members = ranks
	};
	pthread_mutex_init(&p->lock, NULL);
}

void peers_fini(struct peers *p)
{
	if (p->clock)
		pthread_mutex_destroy(&p->lock);
}

/* With the lock held: everyone is there. */
static void pass(struct peers *p)
{
	p->arrived = 0;
	if (p->decide && !atomic_load(&p->closed))
		p->decide(p->arg);
	/* Before `round`, which those who wait look at. */
	atomic_store(&p->passed_ns, clock_now(p->clock));
	atomic_fetch_add(&p->round, 1);
}

static int wait_for_round(struct peers *p, uint32_t round)
{
	for (;;) {
		uint32_t seen = bell_look(&p->bell);

		if (atomic_load(&p->round) != round)
			return 0;
		if (atomic_load(&p->closed))
			return -EPIPE;
		bell_wait(&p->bell, p->clock, seen, CLOCK_NEVER);
	}
}

int peers_barrier(struct peers *p, void (*decide)(void *arg), void *arg)
{
	pthread_mutex_lock(&p->lock);
	/* Pairs with peers_cut: there it is decided under the lock, too. */
	if (atomic_load(&p->closed)) {
		pthread_mutex_unlock(&p->lock);
		return -EPIPE;
	}
	uint32_t round = atomic_load(&p->round);
	bool is_last = ++p->arrived == p->members;
	p->decide = decide;
	p->arg = arg;
	if (is_last)
		pass(p);
	pthread_mutex_unlock(&p->lock);
	if (!is_last)
		return wait_for_round(p, round);
	bell_ring(&p->bell, p->clock);
	return 0;
}

uint64_t peers_passed_ns(const struct peers *p)
{
	return atomic_load(&p->passed_ns);
}

void peers_leave(struct peers *p)
{
	pthread_mutex_lock(&p->lock);
	p->members--;
	bool is_last = p->members > 0 && p->arrived == p->members &&
		       !atomic_load(&p->closed);
	if (is_last)
		pass(p);
	pthread_mutex_unlock(&p->lock);
	if (is_last)
		bell_ring(&p->bell, p->clock);
}

void peers_close(struct peers *p)
{
	atomic_store(&p->closed, true);
	bell_ring(&p->bell, p->clock);
}

void peers_cut(struct peers *p)
{
	pthread_mutex_lock(&p->lock);
	atomic_store(&p->closed, true);
	pthread_mutex_unlock(&p->lock);
	bell_ring(&p->bell, p->clock);
}
