/* SPDX-License-Identifier: Apache-2.0 */
/* survey.c - rank 0 polls the other processes while a job runs. */

#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "hosts/hosts_internal.h"

/* Precedes the bytes of an answer. */
struct answer_head {
	uint64_t turn; /* number of the question */
	uint64_t is_last;
};

/* Answers of one rank. */
struct answers {
	struct buf last;
	uint64_t turn;
	bool has_any, is_over;
};

struct survey {
	struct hosts *hosts;
	uint32_t number;
	survey_answer_fn *put;
	void *arg;
	struct survey *next; /* list of this process; hosts->lock protects this and all below */
	uint64_t asked;      /* number of the last question */
	uint64_t answered;   /* other ranks: number of the last question answered */
	bool is_ending;
	struct answers *of; /* rank 0: by rank; NULL in other ranks */
	pthread_t thread;
	bool has_thread;
};

/* ---- answering ranks ---- */

static void survey_send(struct survey *s, uint64_t turn, bool is_last)
{
	const struct answer_head head = { .turn = turn, .is_last = is_last };
	struct buf b = { 0 };

	buf_addn(&b, (const char *)&head, sizeof(head));
	s->put(s->arg, &b);
	star_send_all(s->hosts, NULL, MESSAGE_ANSWER, s->number, b.len, buf_str(&b));
	buf_fini(&b);
}

static void *survey_main(void *arg)
{
	struct survey *s = arg;
	struct hosts *h = s->hosts;
	bool is_last = false;

	while (!is_last) {
		pthread_mutex_lock(&h->lock);
		while (s->asked == s->answered && !s->is_ending)
			pthread_cond_wait(&h->changed, &h->lock);
		uint64_t turn = s->answered = s->asked;
		is_last = s->is_ending;
		pthread_mutex_unlock(&h->lock);
		survey_send(s, turn, is_last);
	}
	return NULL;
}

struct survey *survey_open(struct hosts *h, uint32_t number, survey_answer_fn *put, void *arg)
{
	if (!h)
		return NULL;
	struct survey *s = mem_zalloc(sizeof(*s));

	*s = (struct survey){ .hosts = h, .number = number, .put = put, .arg = arg };
	if (h->rank == 0)
		s->of = mem_array(h->total, sizeof(*s->of));
	pthread_mutex_lock(&h->lock);
	s->next = h->surveys;
	h->surveys = s;
	pthread_mutex_unlock(&h->lock);
	if (h->rank)
		s->has_thread = thread_start(&s->thread, survey_main, s) == 0;
	return s;
}

void survey_end(struct survey *s)
{
	if (!s || s->of)
		return;
	pthread_mutex_lock(&s->hosts->lock);
	bool was_ending = s->is_ending;
	s->is_ending = true;
	pthread_cond_broadcast(&s->hosts->changed);
	pthread_mutex_unlock(&s->hosts->lock);
	if (was_ending)
		return;
	if (s->has_thread)
		pthread_join(s->thread, NULL);
	else
		survey_send(s, 0, true);
}

void survey_free(struct survey *s)
{
	if (!s)
		return;
	survey_end(s);
	pthread_mutex_lock(&s->hosts->lock);
	struct survey **at = &s->hosts->surveys;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	pthread_mutex_unlock(&s->hosts->lock);
	for (unsigned i = 0; s->of && i < s->hosts->total; i++)
		buf_fini(&s->of[i].last);
	mem_free(s->of);
	mem_free(s);
}

/* ---- on the receiving thread ---- */

/* The caller holds hosts->lock. */
static struct survey *survey_of(struct hosts *h, uint32_t number)
{
	struct survey *s = h->surveys;

	while (s && s->number != number)
		s = s->next;
	return s;
}

void survey_receive_question(struct hosts *h, const struct message *m)
{
	pthread_mutex_lock(&h->lock);
	struct survey *s = survey_of(h, m->channel);
	if (s) {
		s->asked = m->value;
		pthread_cond_broadcast(&h->changed);
	}
	pthread_mutex_unlock(&h->lock);
}

void survey_receive_answer(struct hosts *h, unsigned rank, const struct message *m,
			   const char *bytes)
{
	struct answer_head head;

	if (h->rank || m->value < sizeof(head))
		return;
	memcpy(&head, bytes, sizeof(head));
	pthread_mutex_lock(&h->lock);
	struct survey *s = survey_of(h, m->channel);
	if (s) {
		struct answers *a = &s->of[rank];

		buf_reset(&a->last);
		buf_addn(&a->last, bytes + sizeof(head), (size_t)m->value - sizeof(head));
		a->turn = head.turn;
		a->has_any = true;
		a->is_over |= head.is_last != 0;
		pthread_cond_broadcast(&h->changed);
	}
	pthread_mutex_unlock(&h->lock);
}

/* ---- rank 0 ---- */

/* Number of processes that still have to answer this question; UINT64_MAX stands for the final
 * answer. The caller holds hosts->lock. */
static unsigned survey_awaited(const struct survey *s, uint64_t turn)
{
	const struct hosts *h = s->hosts;
	unsigned n = 0;

	for (unsigned i = 0; i < h->peer_count; i++) {
		const struct peer *p = &h->peers[i];
		const struct answers *a = &s->of[p->rank];

		n += !p->is_gone && !a->is_over && a->turn < turn;
	}
	return n;
}

void survey_ask(struct survey *s, uint64_t most_ns)
{
	if (!s || s->hosts->rank)
		return;
	struct hosts *h = s->hosts;
	uint64_t end_ns = star_now_ns() + most_ns;
	struct timespec until = { .tv_sec = (time_t)(end_ns / NS_PER_S),
				  .tv_nsec = (long)(end_ns % NS_PER_S) };

	pthread_mutex_lock(&h->lock);
	uint64_t turn = ++s->asked;
	pthread_mutex_unlock(&h->lock);
	star_send_all(h, NULL, MESSAGE_ASK, s->number, turn, NULL);
	pthread_mutex_lock(&h->lock);
	while (survey_awaited(s, turn) &&
	       pthread_cond_clockwait(&h->changed, &h->lock, CLOCK_MONOTONIC, &until) == 0)
		;
	pthread_mutex_unlock(&h->lock);
}

bool survey_answer(struct survey *s, unsigned rank, struct buf *to)
{
	buf_reset(to);
	if (!s || !s->of)
		return false;
	pthread_mutex_lock(&s->hosts->lock);
	const struct answers *a = &s->of[rank];
	bool has_any = a->has_any;
	buf_addn(to, buf_str(&a->last), a->last.len);
	pthread_mutex_unlock(&s->hosts->lock);
	return has_any;
}

bool survey_is_over(struct survey *s)
{
	if (!s || !s->of)
		return true;
	pthread_mutex_lock(&s->hosts->lock);
	bool is_over = survey_awaited(s, UINT64_MAX) == 0;
	pthread_mutex_unlock(&s->hosts->lock);
	return is_over;
}
