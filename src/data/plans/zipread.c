/* SPDX-License-Identifier: Apache-2.0 */
/* zipread.c - what Python's zipfile asks of an archive's file when a member of it is read. */
#include "data/plans/plans_internal.h"

#include "base/util.h"

/* ZipExtFile.MIN_READ_SIZE */
#define LEAST 4096u

void zipread_open(struct zipread *z, const struct zip_member *member)
{
	*z = (struct zipread){ .member = *member, .at = member->header_off };
}

void zipread_head(struct zipread *z, struct pyfile *f, uint64_t bytes)
{
	pyfile_seek(f, z->at);
	pyfile_read(f, bytes);
	z->at += bytes;
}

void zipread_read(struct zipread *z, uint64_t bytes)
{
	uint64_t now = u64_min(bytes, z->ready);

	z->ready -= now;
	z->want = bytes - now;
}

static void deliver(struct zipread *z, uint64_t bytes)
{
	if (bytes > z->want)
		z->ready = bytes - z->want;
	z->want -= u64_min(bytes, z->want);
}

/* At least LEAST, or what is left: what was asked of the file. */
static uint64_t zipread_take(struct zipread *z, struct pyfile *f, uint64_t bytes)
{
	uint64_t left = z->member.stored_bytes - z->taken;

	bytes = u64_min(u64_max(bytes, LEAST), left);
	if (bytes == 0)
		return 0;
	zipread_head(z, f, bytes);
	z->taken += bytes;
	return bytes;
}

/* v x by / of, in 128 bits. */
static uint64_t in_proportion(uint64_t v, uint64_t by, uint64_t of)
{
	return of ? (uint64_t)((unsigned __int128)v * by / of) : 0;
}

/* One call of ZipExtFile._read1: whether it asked the file. What was taken and could not be
 * inflated yet, since no more was asked for, comes first. */
static bool more_deflated(struct zipread *z, struct pyfile *f)
{
	const struct zip_member *m = &z->member;
	uint64_t used = in_proportion(z->plain, m->stored_bytes, m->plain_bytes);
	uint64_t tail = z->taken > used ? z->taken - used : 0;
	uint64_t asked = 0, most, out;

	if (z->want > tail)
		asked = zipread_take(z, f, z->want - tail);
	most = in_proportion(z->taken, m->plain_bytes, m->stored_bytes);
	out = most > z->plain ? most - z->plain : 0;
	out = u64_min(out, u64_max(z->want, LEAST));
	if (asked == 0 && out == 0)
		asked = zipread_take(z, f, LEAST);
	z->plain += out;
	deliver(z, out);
	if (asked == 0 && out == 0)
		z->want = 0;
	return asked > 0;
}

bool zipread_more(struct zipread *z, struct pyfile *f)
{
	uint64_t got;

	while (z->want && z->member.is_deflated)
		if (more_deflated(z, f))
			return true;
	if (z->want == 0)
		return false;
	got = zipread_take(z, f, z->want);
	deliver(z, got);
	if (got == 0)
		z->want = 0;
	return got > 0;
}
