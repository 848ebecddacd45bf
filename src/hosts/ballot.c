/* SPDX-License-Identifier: Apache-2.0 */
/* ballot.c - see ballot.h. */
#include "hosts/ballot.h"

#include <errno.h>
#include <pthread.h>

#include "base/mem.h"
#include "hosts/channels.h"

struct ballot {
	struct hosts_channel *channel;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t votes, passed; /* the last that was passed, and how many */
	bool is_closed;
};

static void passed(void *arg, uint64_t votes)
{
	struct ballot *b = arg;

	pthread_mutex_lock(&b->lock);
	b->votes = votes;
	b->passed++;
	pthread_mutex_unlock(&b->lock);
	/* Behind the lock, which whoever wakes takes first. */
	pthread_cond_broadcast(&b->changed);
}

static void closed(void *arg)
{
	struct ballot *b = arg;

	pthread_mutex_lock(&b->lock);
	b->is_closed = true;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

static const struct hosts_waiter waiter = { passed, closed };

struct ballot *ballot_open(struct hosts *h, uint32_t number)
{
	if (!h)
		return NULL;
	struct ballot *b = mem_zalloc(sizeof(*b));

	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	b->channel = hosts_open(h, number, &waiter, b);
	return b;
}

void ballot_free(struct ballot *b)
{
	if (!b)
		return;
	hosts_close(b->channel);
	hosts_shut(b->channel);
	pthread_mutex_destroy(&b->lock);
	pthread_cond_destroy(&b->changed);
	mem_free(b);
}

int ballot_vote(struct ballot *b, uint64_t mine, uint64_t *all)
{
	*all = mine;
	if (!b)
		return 0;
	pthread_mutex_lock(&b->lock);
	uint64_t before = b->passed;
	pthread_mutex_unlock(&b->lock);
	hosts_arrive(b->channel, mine);
	pthread_mutex_lock(&b->lock);
	while (b->passed == before && !b->is_closed)
		pthread_cond_wait(&b->changed, &b->lock);
	bool has_passed = b->passed != before;
	if (has_passed)
		*all = b->votes;
	pthread_mutex_unlock(&b->lock);
	return has_passed ? 0 : -EPIPE;
}

void ballot_close(struct ballot *b)
{
	if (b)
		hosts_close(b->channel);
}
