/* SPDX-License-Identifier: Apache-2.0 */
/* relay.c - see relay.h. */
#include "hosts/relay.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"

#define PIECE_BYTES (1u << 20)

/* Votes behind a piece. */
enum { GOES_ON = 1, HAS_FAILED = 2 };

/* Does anybody take what the first process of a host gives? */
static bool has_takers(const struct hosts *h, unsigned host)
{
	unsigned there = 0;

	for (unsigned i = 0; i < hosts_total(h); i++)
		there += hosts_host_of(h, i) == host;
	return there > 1;
}

static bool is_needed(const struct hosts *h, bool is_everywhere)
{
	for (unsigned i = 0; i < hosts_count(h) && !is_everywhere; i++)
		if (has_takers(h, i))
			return true;
	return is_everywhere && hosts_total(h) > 1;
}

void relay_begin(struct relay *r, struct hosts *h, bool is_everywhere)
{
	unsigned here = hosts_host_of(h, hosts_rank(h));

	*r = (struct relay){ .hosts = h,
			     .is_everywhere = is_everywhere,
			     .gives = is_everywhere ? hosts_rank(h) == 0 : hosts_is_first_here(h),
			     .has_takers = is_everywhere || has_takers(h, here),
			     .goes_on = is_needed(h, is_everywhere) };
}

bool relay_gives(const struct relay *r)
{
	return r->gives;
}

/* A piece goes round. */
static int relay_step(struct relay *r, uint64_t vote, struct mlgen_err *err)
{
	uint64_t all = 0;
	int rc = r->is_everywhere ? hosts_share(r->hosts, &r->piece, err)
				  : hosts_share_here(r->hosts, &r->piece, err);

	if (rc == 0)
		rc = hosts_vote(r->hosts, vote, &all, err);
	if (r->gives)
		buf_reset(&r->piece);
	r->at = 0;
	r->is_broken = rc < 0;
	r->is_stopped = all & HAS_FAILED;
	r->goes_on = rc == 0 && all == GOES_ON;
	if (rc == 0 && r->is_stopped && !(vote & HAS_FAILED))
		rc = mlgen_fail(err, -ECANCELED, "another process of the job has failed");
	return rc;
}

int relay_put(struct relay *r, const void *bytes, size_t n, struct mlgen_err *err)
{
	const char *from = bytes;

	while (n && r->goes_on && r->has_takers) {
		size_t some = (size_t)u64_min(n, PIECE_BYTES - r->piece.len);
		int rc;

		buf_addn(&r->piece, from, some);
		from += some;
		n -= some;
		rc = r->piece.len == PIECE_BYTES ? relay_step(r, GOES_ON, err) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

int relay_get(struct relay *r, void *to, size_t n, struct mlgen_err *err)
{
	char *at = to;

	while (n) {
		size_t some = (size_t)u64_min(n, r->piece.len - r->at);
		int rc = 0;

		memcpy(at, buf_str(&r->piece) + r->at, some);
		r->at += some;
		at += some;
		n -= some;
		if (n && !r->goes_on)
			rc = mlgen_fail(
				err, -EPROTO,
				"what another process of the job has found has come in part");
		else if (n)
			rc = relay_step(r, 0, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int relay_end(struct relay *r, int rc, struct mlgen_err *err)
{
	struct mlgen_err ignored = { 0 };
	uint64_t vote = rc < 0 ? HAS_FAILED : 0;

	while (r->goes_on)
		relay_step(r, vote, &ignored);
	buf_fini(&r->piece);
	/* Whose words are those of another one. */
	if (r->is_stopped && rc == -ECANCELED) {
		*err = (struct mlgen_err){ 0 };
		rc = 0;
	}
	return hosts_agree(r->hosts, rc, err);
}
