/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.c - see exchange.h. */
#include "hosts/exchange.h"

#include <errno.h>

#include "base/mem.h"
#include "hosts/hosts_inside.h"

/* With `calls` held, of rank 0: this is what a process says. */
static void note_said(struct hosts_channel *c, unsigned rank, const char *bytes, size_t n)
{
	if (!c->said)
		c->said = mem_array(c->hosts->total, sizeof(*c->said));
	buf_reset(&c->said[rank]);
	buf_addn(&c->said[rank], bytes, n);
	c->said_count++;
	exchange_look(c);
	pthread_cond_broadcast(&c->has_said);
}

/* With `calls` held: all parts are one text, and the next ones may come. */
static void put_together(struct hosts_channel *c, struct buf *all)
{
	buf_reset(all);
	for (unsigned i = 0; i < c->hosts->total; i++) {
		hosts_add_part(all, buf_str(&c->said[i]), c->said[i].len);
		buf_reset(&c->said[i]);
	}
	c->said_count = 0;
}

/* Of rank 0. What goes to the others is sent with no lock held: they read it when they do. */
static int exchange_here(struct hosts_channel *c, const void *mine, size_t n, struct buf *all)
{
	pthread_mutex_lock(&c->calls);
	note_said(c, 0, mine, n);
	while (c->said_count < c->hosts->total && !c->is_closed)
		pthread_cond_wait(&c->has_said, &c->calls);
	bool has_all = c->said_count == c->hosts->total;
	if (has_all)
		put_together(c, all);
	pthread_mutex_unlock(&c->calls);
	if (!has_all)
		return -EPIPE;
	star_send_all(c->hosts, NULL, MESSAGE_TOLD, c->number, all->len, buf_str(all));
	return 0;
}

static int exchange_there(struct hosts_channel *c, const void *mine, size_t n, struct buf *all)
{
	star_send(c->hosts, star_peer(c->hosts, 0), MESSAGE_SAY, c->number, n, mine);
	pthread_mutex_lock(&c->calls);
	while (!c->is_told && !c->is_closed)
		pthread_cond_wait(&c->has_said, &c->calls);
	bool is_told = c->is_told;
	c->is_told = false;
	buf_reset(all);
	if (is_told)
		buf_addn(all, buf_str(&c->told), c->told.len);
	pthread_mutex_unlock(&c->calls);
	return is_told ? 0 : -EPIPE;
}

void exchange_look(struct hosts_channel *c)
{
	if (c->said_count && c->members < c->hosts->total)
		channel_close_here(c);
}

void exchange_take(struct hosts *h, const struct peer *p, const struct message *m,
		   const char *bytes)
{
	struct hosts_channel *c = channel_of(h, m->channel);

	pthread_mutex_lock(&c->calls);
	if (m->kind == MESSAGE_SAY) {
		note_said(c, p->rank, bytes, (size_t)m->value);
	} else {
		buf_reset(&c->told);
		buf_addn(&c->told, bytes, (size_t)m->value);
		c->is_told = true;
		pthread_cond_broadcast(&c->has_said);
	}
	pthread_mutex_unlock(&c->calls);
}

void exchange_fini(struct hosts_channel *c)
{
	for (unsigned i = 0; c->said && i < c->hosts->total; i++)
		buf_fini(&c->said[i]);
	mem_free(c->said);
	buf_fini(&c->told);
}

int hosts_exchange(struct hosts_channel *c, const void *mine, size_t n, struct buf *all)
{
	return c->hosts->rank == 0 ? exchange_here(c, mine, n, all)
				   : exchange_there(c, mine, n, all);
}
