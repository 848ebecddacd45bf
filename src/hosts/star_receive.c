/* SPDX-License-Identifier: Apache-2.0 */
/* star_receive.c - what comes from other processes, and that one of them is gone; see
 * hosts_inside.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "hosts/hosts_inside.h"

/* At most so many bytes in one message: a document is far below. */
#define MESSAGE_MOST (UINT64_C(1) << 32)

/* All who wait for anything look again. */
static void wake_all(struct hosts *h, const struct hosts_news *news)
{
	pthread_mutex_lock(&h->lock);
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
	if (!news)
		return;
	pthread_mutex_lock(&h->telling);
	if (h->hear)
		h->hear(h->hear_arg, news);
	pthread_mutex_unlock(&h->telling);
}

/* The first one who is gone is the one that is told of. */
static void note_lost(struct hosts *h, const char *text)
{
	struct hosts_news news = { .is_death = true };

	pthread_mutex_lock(&h->lock);
	bool is_first = !h->lost.code;
	if (is_first)
		mlgen_fail(&h->lost, -EPIPE, "%s", text);
	news.err = h->lost;
	pthread_mutex_unlock(&h->lock);
	channels_close_all(h);
	wake_all(h, is_first ? &news : NULL);
}

static void cut_off(struct hosts *h, struct peer *p)
{
	pthread_mutex_lock(&h->lock);
	p->is_gone = true;
	pthread_mutex_unlock(&h->lock);
	pthread_mutex_lock(&p->sending);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	pthread_mutex_unlock(&p->sending);
}

void star_lose(struct hosts *h, struct peer *p, const char *why)
{
	char text[512];

	cut_off(h, p);
	if (atomic_load(&h->is_ending)) {
		/* It has ended, as this one will; but who waits for it still would do so for
		 * ever. */
		pthread_mutex_lock(&h->lock);
		mlgen_fail(&h->lost, -EPIPE, "rank %u has ended", p->rank);
		pthread_mutex_unlock(&h->lock);
		channels_close_all(h);
		wake_all(h, NULL);
		return;
	}
	snprintf(text, sizeof(text),
		 "host %s (rank %u) is gone: %s; the last that it said is that it was %s%s",
		 hosts_name(h, p->rank), p->rank, why, p->does[0] ? p->does : "starting",
		 h->rank == 0 ? "" : "; rank 0 is what all are connected to");
	if (h->rank == 0 && p->rounds)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 ", and it had come to %" PRIu64 " barrier%s", p->rounds,
			 plural(p->rounds));
	if (h->rank == 0)
		star_send_all(h, p, MESSAGE_GONE, p->rank, strlen(text), text);
	note_lost(h, text);
}

static void take_data(struct hosts *h, struct peer *p, const char *bytes, uint64_t n)
{
	pthread_mutex_lock(&h->lock);
	buf_addn(&p->data, (const char *)&n, sizeof(n));
	buf_addn(&p->data, bytes, (size_t)n);
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

static void take_end(struct hosts *h, struct peer *p, const struct message *m, const char *bytes)
{
	struct hosts_news news = { .is_interrupted = m->channel == 0 };

	if (h->rank == 0)
		star_send_all(h, p, MESSAGE_END, m->channel, m->value, bytes);
	if (!news.is_interrupted)
		mlgen_fail(&news.err, -ECANCELED, "%.*s", (int)m->value, bytes);
	wake_all(h, &news);
}

static void take_text(struct peer *p, const char *bytes, uint64_t n)
{
	snprintf(p->does, sizeof(p->does), "%.*s", (int)u64_min(n, sizeof(p->does) - 1), bytes);
}

static void star_receive_take(struct hosts *h, struct peer *p, const struct message *m,
			      const char *bytes)
{
	char text[512];

	switch (m->kind) {
	case MESSAGE_BEAT:
		break;
	case MESSAGE_DOES:
		take_text(p, bytes, m->value);
		break;
	case MESSAGE_DATA:
		take_data(h, p, bytes, m->value);
		break;
	case MESSAGE_END:
		take_end(h, p, m, bytes);
		break;
	case MESSAGE_GONE:
		snprintf(text, sizeof(text), "%.*s", (int)u64_min(m->value, sizeof(text) - 1),
			 bytes);
		if (!atomic_load(&h->is_ending))
			note_lost(h, text);
		break;
	case MESSAGE_ASK:
		survey_take_question(h, m);
		break;
	case MESSAGE_ANSWER:
		survey_take_answer(h, p->rank, m, bytes);
		break;
	case MESSAGE_SAY:
	case MESSAGE_TOLD:
		exchange_take(h, p, m, bytes);
		break;
	default:
		channels_take(h, p, m);
	}
}

/* All whole messages of what has come. False: what came is no message. */
static bool take_whole_ones(struct hosts *h, struct peer *p)
{
	struct message m;
	size_t at = 0;

	while (p->in.len - at >= sizeof(m)) {
		memcpy(&m, p->in.s + at, sizeof(m));
		uint64_t n = message_has_bytes(m.kind) ? m.value : 0;

		if (m.kind >= MESSAGE_KINDS || n > MESSAGE_MOST || m.channel > UINT16_MAX * 64)
			return false;
		if (p->in.len - at - sizeof(m) < n)
			break;
		star_receive_take(h, p, &m, p->in.s + at + sizeof(m));
		at += sizeof(m) + (size_t)n;
	}
	if (at) {
		memmove(p->in.s, p->in.s + at, p->in.len - at);
		buf_cut(&p->in, p->in.len - at);
	}
	return true;
}

void star_receive(struct hosts *h, struct peer *p)
{
	char bytes[65536];

	for (;;) {
		ssize_t n = recv(p->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n == 0) {
			star_lose(h, p, "its connection was closed");
			return;
		}
		if (n < 0) {
			char why[96];

			snprintf(why, sizeof(why), "its connection broke (%s)", strerror(errno));
			star_lose(h, p, why);
			return;
		}
		p->heard_ns = star_now_ns();
		buf_addn(&p->in, bytes, (size_t)n);
		if (!take_whole_ones(h, p)) {
			star_lose(h, p, "what came from it is no message");
			return;
		}
		if ((size_t)n < sizeof(bytes))
			return;
	}
}
