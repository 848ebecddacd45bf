/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - barriers: ranks of a job wait for each other, and for those of other processes. */
#include "run/slot/slot.h"

#include <errno.h>

#include "base/util.h"
#include "hosts/hosts.h"

uint32_t eventcount_get(const struct eventcount *b)
{
	return atomic_load_explicit(&b->notifications, memory_order_acquire);
}

int eventcount_wait(struct eventcount *b, struct clock *c, uint32_t seen, uint64_t deadline_ns)
{
	/* Pairs with eventcount_notify: either the notifier sees this waiter, or the wait sees the
	 * notification. Both sides are sequentially consistent for this reason. */
	atomic_fetch_add(&b->waiters, 1);
	int rc = clock_wait(c, &b->notifications, seen, deadline_ns);
	atomic_fetch_sub(&b->waiters, 1);
	return rc;
}

void eventcount_notify(struct eventcount *b, struct clock *c)
{
	atomic_fetch_add(&b->notifications, 1);
	if (atomic_load(&b->waiters))
		clock_wake(c, &b->notifications);
}

/* All ranks have arrived. Called with the lock held. */
static void peers_pass(struct peers *p, uint64_t votes)
{
	p->arrived = 0;
	p->is_sent = false;
	if (p->decision && p->decision->apply && !atomic_load(&p->closed))
		p->decision->apply(p->arg, votes);
	/* Store the times before `round`, which waiting ranks check. */
	uint64_t now_ns = clock_now(p->clock);
	if (!p->channel)
		atomic_store(&p->here_ns, now_ns);
	atomic_store(&p->passed_ns, now_ns);
	atomic_fetch_add(&p->round, 1);
}

/* All local ranks have arrived. Called with the lock held. True: the caller must call
 * hosts_channel_arrive after it has released the lock. */
static bool pass_local(struct peers *p, uint64_t *votes)
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

static void remote_passed(void *arg, uint64_t votes)
{
	struct peers *p = arg;

	pthread_mutex_lock(&p->lock);
	peers_pass(p, votes);
	pthread_mutex_unlock(&p->lock);
	eventcount_notify(&p->eventcount, p->clock);
}

static void remote_closed(void *arg)
{
	struct peers *p = arg;

	pthread_mutex_lock(&p->lock);
	atomic_store(&p->closed, true);
	pthread_mutex_unlock(&p->lock);
	eventcount_notify(&p->eventcount, p->clock);
}

static const struct hosts_waiter waiter = { remote_passed, remote_closed };

void peers_init(struct peers *p, struct clock *clock, uint64_t ranks)
{
	*p = (struct peers){ .local = ranks, .clock = clock, .members = ranks };
	pthread_mutex_init(&p->lock, NULL);
}

void peers_join(struct peers *p, struct hosts *hosts, uint32_t number)
{
	if (hosts)
		p->channel = hosts_channel_open(hosts, number, &waiter, p);
}

void peers_fini(struct peers *p)
{
	hosts_channel_detach(p->channel);
	if (p->clock)
		pthread_mutex_destroy(&p->lock);
}

static int wait_for_round(struct peers *p, uint32_t round)
{
	for (;;) {
		uint32_t seen = eventcount_get(&p->eventcount);
		/* Read before the round: a round that was passed stays passed. */
		bool is_closed = atomic_load(&p->closed);

		if (atomic_load(&p->round) != round)
			return 0;
		if (is_closed)
			return -EPIPE;
		eventcount_wait(&p->eventcount, p->clock, seen, CLOCK_NEVER);
	}
}

int peers_barrier(struct peers *p, const struct peers_decision *decision, void *arg)
{
	uint64_t votes;

	pthread_mutex_lock(&p->lock);
	/* Pairs with peers_cut, which sets `closed` under the lock. */
	if (atomic_load(&p->closed)) {
		pthread_mutex_unlock(&p->lock);
		return -EPIPE;
	}
	uint32_t round = atomic_load(&p->round);
	bool is_last = ++p->arrived == p->members;
	p->decision = decision;
	p->arg = arg;
	bool waits_for_hosts = is_last && pass_local(p, &votes);
	pthread_mutex_unlock(&p->lock);
	if (waits_for_hosts)
		hosts_channel_arrive(p->channel, votes);
	if (!is_last || waits_for_hosts)
		return wait_for_round(p, round);
	eventcount_notify(&p->eventcount, p->clock);
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
	bool waits_for_hosts = is_last && pass_local(p, &votes);
	bool was_last_here = p->members == 0;
	pthread_mutex_unlock(&p->lock);
	if (waits_for_hosts)
		hosts_channel_arrive(p->channel, votes);
	else if (is_last)
		eventcount_notify(&p->eventcount, p->clock);
	if (was_last_here && p->channel)
		hosts_channel_leave(p->channel);
}

void peers_close(struct peers *p)
{
	atomic_store(&p->closed, true);
	eventcount_notify(&p->eventcount, p->clock);
	if (p->channel)
		hosts_channel_close(p->channel);
}

void peers_cut(struct peers *p)
{
	pthread_mutex_lock(&p->lock);
	/* Once is_sent, rank 0 decides whether the barrier or the close came first. */
	if (!p->is_sent)
		atomic_store(&p->closed, true);
	pthread_mutex_unlock(&p->lock);
	eventcount_notify(&p->eventcount, p->clock);
	if (p->channel)
		hosts_channel_close(p->channel);
}

static double ns_per(uint64_t rate)
{
	return rate ? NS_PER_S / (double)rate : 0;
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

void pace_init(struct pace *p, const struct job *job)
{
	*p = (struct pace){
		.bytes_ns = { ns_per(job->rate.read), ns_per(job->rate.write) },
		.ios_ns = { ns_per(job->rate_iops.read), ns_per(job->rate_iops.write) },
	};
	for (unsigned d = 0; d < 2; d++)
		p->is_paced |= p->bytes_ns[d] > 0 || p->ios_ns[d] > 0;
}

uint64_t pace_due(const struct pace *p, unsigned direction)
{
	return (uint64_t)later(p->due_ns[direction], p->last_ns);
}

void pace_advance(struct pace *p, unsigned direction, uint64_t bytes)
{
	double cost = later(p->bytes_ns[direction] * (double)bytes, p->ios_ns[direction]);

	p->last_ns = later(p->due_ns[direction], p->last_ns);
	p->due_ns[direction] += cost;
}
