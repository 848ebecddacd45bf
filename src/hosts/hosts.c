/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.c - what is done together; see hosts.h. */
#include "hosts/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "hosts/channels.h"
#include "hosts/hosts_inside.h"

/* Before the bytes of a part; of one that is gone it says so. */
#define PART_GONE UINT64_MAX

/* With the lock held: the first of what is there. */
static void take_data(struct peer *p, struct buf *to, bool with_length)
{
	uint64_t n;
	size_t skip = with_length ? 0 : sizeof(n);

	memcpy(&n, p->data.s, sizeof(n));
	size_t whole = sizeof(n) + (size_t)n;
	buf_addn(to, p->data.s + skip, whole - skip);
	memmove(p->data.s, p->data.s + whole, p->data.len - whole);
	buf_cut(&p->data, p->data.len - whole);
}

/* With the lock held. */
static int fail_lost(struct hosts *h, struct mlgen_err *err)
{
	return mlgen_fail(err, -EPIPE, "%s", h->lost.text);
}

static void gather_from(struct hosts *h, struct peer *p, struct buf *all)
{
	const uint64_t gone = PART_GONE;

	pthread_mutex_lock(&h->lock);
	while (!p->data.len && !p->is_gone)
		pthread_cond_wait(&h->changed, &h->lock);
	if (p->data.len)
		take_data(p, all, true);
	else
		buf_addn(all, (const char *)&gone, sizeof(gone));
	pthread_mutex_unlock(&h->lock);
}

static int send_part(struct hosts *h, const void *mine, size_t n, struct mlgen_err *err)
{
	int rc = 0;

	star_send(h, &h->peers[0], MESSAGE_DATA, 0, n, mine);
	pthread_mutex_lock(&h->lock);
	if (h->peers[0].is_gone)
		rc = fail_lost(h, err);
	pthread_mutex_unlock(&h->lock);
	return rc;
}

static int await_share(struct hosts *h, struct buf *b, struct mlgen_err *err)
{
	struct peer *p = &h->peers[0];
	int rc = 0;

	buf_reset(b);
	pthread_mutex_lock(&h->lock);
	while (!p->data.len && !h->lost.code)
		pthread_cond_wait(&h->changed, &h->lock);
	if (p->data.len)
		take_data(p, b, false);
	else
		rc = fail_lost(h, err);
	pthread_mutex_unlock(&h->lock);
	return rc;
}

/* Is a process the first on its host, and not alone there? */
static bool has_others(const struct hosts *h, unsigned first)
{
	for (unsigned i = first + 1; i < h->total; i++)
		if (h->host_of[i] == h->host_of[first])
			return hosts_is_first_on_host(h, first);
	return false;
}

/* Rank 0: the bytes of a first process to the others on its host. */
static void send_on(struct hosts *h, unsigned first, const char *bytes, size_t n)
{
	for (unsigned i = first + 1; i < h->total; i++)
		if (h->host_of[i] == h->host_of[first])
			star_send(h, star_peer(h, i), MESSAGE_DATA, 0, n, bytes);
}

static int pass_on(struct hosts *h, const struct buf *own, struct mlgen_err *err)
{
	int rc = 0;

	send_on(h, 0, buf_str(own), own->len);
	for (unsigned i = 1; i < h->total; i++) {
		struct buf part = { 0 };
		uint64_t n = 0;

		if (!has_others(h, i))
			continue;
		gather_from(h, star_peer(h, i), &part);
		memcpy(&n, part.s, sizeof(n));
		if (n != PART_GONE)
			send_on(h, i, part.s + sizeof(n), (size_t)n);
		buf_fini(&part);
	}
	pthread_mutex_lock(&h->lock);
	if (h->lost.code)
		rc = fail_lost(h, err);
	pthread_mutex_unlock(&h->lock);
	return rc;
}

/* "host n2 (rank 1): ", of what happened there; of what another one has said, and this one passes
 * on, nothing more. */
static void name_process(const struct hosts *h, unsigned rank, const char *text, char *to,
			 size_t size)
{
	for (unsigned i = 0; i < h->total; i++) {
		snprintf(to, size, "host %s (rank %u): ", hosts_name(h, i), i);
		if (strncmp(text, to, strlen(to)) == 0) {
			*to = '\0';
			return;
		}
	}
	snprintf(to, size, "host %s (rank %u): ", hosts_name(h, rank), rank);
}

/* Of the lowest rank that has failed, for all. */
static void take_first_error(const struct hosts *h, const struct buf *all, struct buf *to)
{
	struct mlgen_err e, named = { 0 };
	char of[128];

	for (unsigned rank = 0; rank < h->total; rank++) {
		size_t n;
		const char *part = hosts_part(all, rank, &n);

		if (!part || n != sizeof(e))
			continue;
		memcpy(&e, part, sizeof(e));
		if (!e.code)
			continue;
		name_process(h, rank, e.text, of, sizeof(of));
		mlgen_fail(&named, e.code, "%s%.*s", of, MLGEN_ERR_MAX - 128, e.text);
		break;
	}
	buf_addn(to, (const char *)&named, sizeof(named));
}

void hosts_add_part(struct buf *all, const void *bytes, size_t n)
{
	uint64_t length = n;

	buf_addn(all, (const char *)&length, sizeof(length));
	buf_addn(all, bytes, n);
}

unsigned hosts_rank(const struct hosts *h)
{
	return h ? h->rank : 0;
}

unsigned hosts_total(const struct hosts *h)
{
	return h ? h->total : 1;
}

unsigned hosts_count(const struct hosts *h)
{
	return h ? h->count : 1;
}

unsigned hosts_host_of(const struct hosts *h, unsigned rank)
{
	return h ? h->host_of[rank] : 0;
}

const char *hosts_name(const struct hosts *h, unsigned rank)
{
	return h ? h->hellos[rank].name : "";
}

bool hosts_is_first_here(const struct hosts *h)
{
	return hosts_is_first_on_host(h, hosts_rank(h));
}

bool hosts_is_first_on_host(const struct hosts *h, unsigned rank)
{
	for (unsigned i = 0; h && i < rank; i++)
		if (h->host_of[i] == h->host_of[rank])
			return false;
	return true;
}

int64_t hosts_clock_offset_ns(const struct hosts *h, unsigned rank, uint64_t *unsure_ns)
{
	*unsure_ns = h ? h->hellos[rank].clock_unsure_ns : 0;
	return h ? h->hellos[rank].clock_offset_ns : 0;
}

int hosts_vote(struct hosts *h, uint64_t mine, uint64_t *all, struct mlgen_err *err)
{
	*all = mine;
	if (!h || ballot_vote(h->votes, mine, all) == 0)
		return 0;
	pthread_mutex_lock(&h->lock);
	int rc = fail_lost(h, err);
	pthread_mutex_unlock(&h->lock);
	return rc;
}

int hosts_barrier(struct hosts *h, struct mlgen_err *err)
{
	uint64_t none;

	return hosts_vote(h, 0, &none, err);
}

int hosts_gather(struct hosts *h, const void *mine, size_t n, struct buf *all,
		 struct mlgen_err *err)
{
	if (h && h->rank)
		return send_part(h, mine, n, err);
	buf_reset(all);
	hosts_add_part(all, mine, n);
	for (unsigned i = 0; h && i < h->peer_count; i++)
		gather_from(h, &h->peers[i], all);
	return 0;
}

const char *hosts_part(const struct buf *all, unsigned rank, size_t *n)
{
	size_t at = 0;

	for (;; rank--) {
		uint64_t length;

		memcpy(&length, buf_str(all) + at, sizeof(length));
		at += sizeof(length);
		if (rank == 0) {
			*n = length == PART_GONE ? 0 : (size_t)length;
			return length == PART_GONE ? NULL : all->s + at;
		}
		at += length == PART_GONE ? 0 : (size_t)length;
	}
}

int hosts_share(struct hosts *h, struct buf *b, struct mlgen_err *err)
{
	int rc = 0;

	if (!h)
		return 0;
	if (h->rank)
		return await_share(h, b, err);
	pthread_mutex_lock(&h->lock);
	if (h->lost.code)
		rc = fail_lost(h, err);
	pthread_mutex_unlock(&h->lock);
	if (rc == 0)
		star_send_all(h, NULL, MESSAGE_DATA, 0, b->len, buf_str(b));
	return rc;
}

int hosts_share_here(struct hosts *h, struct buf *b, struct mlgen_err *err)
{
	unsigned first = 0;

	if (!h)
		return 0;
	if (h->rank == 0)
		return pass_on(h, b, err);
	while (h->host_of[first] != h->host_of[h->rank])
		first++;
	if (first != h->rank)
		return await_share(h, b, err);
	return has_others(h, first) ? send_part(h, b->s, b->len, err) : 0;
}

int hosts_agree(struct hosts *h, int rc, struct mlgen_err *err)
{
	struct buf all = { 0 }, first = { 0 };
	struct mlgen_err lost = { 0 }, e = { 0 };
	uint64_t failed;

	if (!h)
		return rc;
	if (rc < 0)
		mlgen_fail(&e, rc, "%s", err->text);
	int together = hosts_vote(h, rc < 0, &failed, &lost);
	if (together == 0 && failed) {
		together = hosts_gather(h, &e, sizeof(e), &all, &lost);
		if (together == 0 && h->rank == 0)
			take_first_error(h, &all, &first);
		if (together == 0)
			together = hosts_share(h, &first, &lost);
		if (together == 0 && first.len == sizeof(e))
			memcpy(&e, first.s, sizeof(e));
	}
	buf_fini(&all);
	buf_fini(&first);
	if (rc < 0)
		return rc;
	if (together < 0)
		return mlgen_fail(err, together, "%s", lost.text);
	return e.code ? mlgen_fail(err, e.code, "%s", e.text) : 0;
}

void hosts_doing(struct hosts *h, const char *what)
{
	if (h)
		star_send_all(h, NULL, MESSAGE_DOES, 0, strlen(what), what);
}

void hosts_watch(struct hosts *h, hosts_hear *hear, void *arg)
{
	struct hosts_news news = { .is_death = true };

	if (!h)
		return;
	pthread_mutex_lock(&h->telling);
	h->hear = hear;
	h->hear_arg = arg;
	pthread_mutex_lock(&h->lock);
	news.err = h->lost;
	pthread_mutex_unlock(&h->lock);
	if (hear && news.err.code)
		hear(arg, &news);
	pthread_mutex_unlock(&h->telling);
}

void hosts_tell(struct hosts *h, const struct mlgen_err *err)
{
	char text[1024] = "", of[128];

	if (!h)
		return;
	if (err) {
		name_process(h, h->rank, err->text, of, sizeof(of));
		snprintf(text, sizeof(text), "%s%.*s", of, 890, err->text);
	}
	star_send_all(h, NULL, MESSAGE_END, err != NULL, strlen(text), text);
}

bool hosts_is_lost(struct hosts *h)
{
	if (!h)
		return false;
	pthread_mutex_lock(&h->lock);
	bool is_lost = h->lost.code != 0;
	pthread_mutex_unlock(&h->lock);
	return is_lost;
}
