/* SPDX-License-Identifier: Apache-2.0 */
/* channels.c - see channels.h. */
#include "hosts/channels.h"

#include "base/mem.h"
#include "hosts/hosts_inside.h"

/* Others may come to one before it is opened here. */
struct hosts_channel *channel_of(struct hosts *h, uint32_t number)
{
	struct hosts_channel *c;

	pthread_mutex_lock(&h->lock);
	while (h->channels.count <= number)
		vec_push(&h->channels, NULL);
	c = h->channels.at[number];
	if (!c) {
		c = h->channels.at[number] = mem_zalloc(sizeof(*c));
		pthread_mutex_init(&c->calls, NULL);
		pthread_cond_init(&c->has_said, NULL);
		c->hosts = h;
		c->number = number;
		c->members = h->total;
	}
	pthread_mutex_unlock(&h->lock);
	return c;
}

static void tell_passed(struct hosts_channel *c, uint64_t votes)
{
	if (c->waiter && !c->has_left && !c->is_closed)
		c->waiter->passed(c->arg, votes);
}

/* With `calls` held, of rank 0: has the last one arrived? */
static void look_at_members(struct hosts_channel *c)
{
	uint64_t votes = c->votes;

	if (c->is_closed || !c->members || c->arrived != c->members)
		return;
	c->arrived = 0;
	c->votes = 0;
	star_send_all(c->hosts, NULL, MESSAGE_PASS, c->number, votes, NULL);
	tell_passed(c, votes);
}

/* With `calls` held. */
void channel_close_here(struct hosts_channel *c)
{
	if (c->is_closed)
		return;
	if (c->hosts->rank == 0)
		star_send_all(c->hosts, NULL, MESSAGE_CLOSE, c->number, 0, NULL);
	if (c->waiter && !c->has_left)
		c->waiter->closed(c->arg);
	c->is_closed = true;
	pthread_cond_broadcast(&c->has_said);
}

/* With `calls` held. */
static void channel_take(struct hosts_channel *c, enum message_kind kind, uint64_t votes)
{
	switch (kind) {
	case MESSAGE_ARRIVE:
		c->votes |= votes;
		c->arrived++;
		look_at_members(c);
		break;
	case MESSAGE_LEAVE:
		c->members--;
		look_at_members(c);
		exchange_look(c);
		break;
	case MESSAGE_PASS:
		tell_passed(c, votes);
		break;
	default:
		channel_close_here(c);
	}
}

void channels_take(struct hosts *h, struct peer *p, const struct message *m)
{
	struct hosts_channel *c = channel_of(h, m->channel);

	p->rounds += m->kind == MESSAGE_ARRIVE;
	pthread_mutex_lock(&c->calls);
	channel_take(c, (enum message_kind)m->kind, m->value);
	pthread_mutex_unlock(&c->calls);
}

/* The same of this process, which in rank 0 needs no message. */
static void tell(struct hosts_channel *c, enum message_kind kind, uint64_t votes)
{
	pthread_mutex_lock(&c->calls);
	c->has_left |= kind == MESSAGE_LEAVE;
	if (c->hosts->rank == 0)
		channel_take(c, kind, votes);
	else
		star_send_all(c->hosts, NULL, kind, c->number, votes, NULL);
	pthread_mutex_unlock(&c->calls);
}

/* The next that there is, from a number on; NULL = no more. */
static struct hosts_channel *next_channel(struct hosts *h, size_t *number)
{
	struct hosts_channel *c = NULL;

	pthread_mutex_lock(&h->lock);
	while (!c && *number < h->channels.count)
		c = h->channels.at[(*number)++];
	pthread_mutex_unlock(&h->lock);
	return c;
}

void channels_close_wanted(struct hosts *h)
{
	struct hosts_channel *c;
	size_t at = 0;

	while ((c = next_channel(h, &at)))
		if (atomic_exchange(&c->wants_close, false))
			tell(c, MESSAGE_CLOSE, 0);
}

void channels_close_all(struct hosts *h)
{
	struct hosts_channel *c;
	size_t at = 0;

	while ((c = next_channel(h, &at))) {
		pthread_mutex_lock(&c->calls);
		channel_close_here(c);
		pthread_mutex_unlock(&c->calls);
	}
}

void channels_fini(struct hosts *h)
{
	for (size_t i = 0; i < h->channels.count; i++) {
		if (!h->channels.at[i])
			continue;
		exchange_fini(h->channels.at[i]);
		pthread_cond_destroy(&h->channels.at[i]->has_said);
		pthread_mutex_destroy(&h->channels.at[i]->calls);
		mem_free(h->channels.at[i]);
	}
	vec_fini(&h->channels);
}

uint32_t hosts_reserve(struct hosts *h, uint32_t count)
{
	if (!h)
		return 0;
	pthread_mutex_lock(&h->lock);
	uint32_t first = h->reserved;
	h->reserved += count;
	pthread_mutex_unlock(&h->lock);
	return first;
}

struct hosts_channel *hosts_open(struct hosts *h, uint32_t number,
				 const struct hosts_waiter *waiter, void *arg)
{
	struct hosts_channel *c = channel_of(h, number);

	pthread_mutex_lock(&c->calls);
	c->waiter = waiter;
	c->arg = arg;
	if (c->is_closed)
		waiter->closed(arg);
	pthread_mutex_unlock(&c->calls);
	/* Whoever is gone may have gone between: no close came of it then. */
	pthread_mutex_lock(&h->lock);
	bool is_lost = h->lost.code != 0;
	pthread_mutex_unlock(&h->lock);
	if (is_lost) {
		pthread_mutex_lock(&c->calls);
		channel_close_here(c);
		pthread_mutex_unlock(&c->calls);
	}
	return c;
}

void hosts_refuse(struct hosts *h, uint32_t number)
{
	hosts_close(channel_of(h, number));
}

void hosts_shut(struct hosts_channel *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->calls);
	c->waiter = NULL;
	pthread_mutex_unlock(&c->calls);
}

void hosts_arrive(struct hosts_channel *c, uint64_t votes)
{
	tell(c, MESSAGE_ARRIVE, votes);
}

void hosts_leave(struct hosts_channel *c)
{
	tell(c, MESSAGE_LEAVE, 0);
}

void hosts_close(struct hosts_channel *c)
{
	atomic_store(&c->wants_close, true);
	star_wake(c->hosts);
}
