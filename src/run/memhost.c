/* SPDX-License-Identifier: Apache-2.0 */
/* memhost.c - see memhost.h. */
#include "run/memhost.h"

#include <string.h>

#include "base/mem.h"

/* What a process says, of one job each. */
static void put_part(struct buf *to, const struct memneed_jobs *all, const struct memroom *room)
{
	buf_addn(to, (const char *)room, sizeof(*room));
	for (size_t i = 0; i < all->count; i++) {
		uint64_t n = memneed_bytes(all, all->jobs[i]->group);

		buf_addn(to, (const char *)&n, sizeof(n));
	}
}

/* Of one job, for all processes. */
struct memhost_look {
	const struct hosts *h;
	const struct memroom *rooms; /* by rank; of who is gone zeroed */
	const uint64_t *needs;
};

static const struct memroom_place *find_place(const struct memroom *room, const uint64_t id[2])
{
	for (size_t i = 0; i < room->place_count; i++)
		if (memcmp(room->places[i].id, id, sizeof(room->places[i].id)) == 0)
			return &room->places[i];
	return NULL;
}

/* Of the processes on the host of this one that are there, too. */
static bool is_enough(const struct memhost_look *l, unsigned rank,
		      const struct memroom_place *there, struct memneed_host *host)
{
	uint64_t least = there->bytes;

	*host = (struct memneed_host){ .name = hosts_name(l->h, rank), .of = there->of };
	for (unsigned i = 0; i < hosts_total(l->h); i++) {
		const struct memroom_place *p = find_place(&l->rooms[i], there->id);

		if (!p || hosts_host_of(l->h, i) != hosts_host_of(l->h, rank))
			continue;
		host->processes++;
		if (__builtin_add_overflow(host->bytes, l->needs[i], &host->bytes))
			host->bytes = UINT64_MAX;
		if (p->bytes < least) {
			least = p->bytes;
			host->of = p->of;
		}
	}
	return host->processes < 2 || host->bytes <= least;
}

static bool all_have_enough(const struct memhost_look *l, struct memneed_host *host)
{
	for (unsigned rank = 0; rank < hosts_total(l->h); rank++)
		for (size_t i = 0; i < l->rooms[rank].place_count; i++)
			if (!is_enough(l, rank, &l->rooms[rank].places[i], host))
				return false;
	return true;
}

/* Of each process its own, and of a job what each takes. */
static void read_parts(const struct hosts *h, const struct buf *parts, size_t job,
		       struct memroom *rooms, uint64_t *needs)
{
	for (unsigned rank = 0; rank < hosts_total(h); rank++) {
		size_t n;
		const char *part = hosts_part(parts, rank, &n);

		if (!part)
			continue;
		memcpy(&rooms[rank], part, sizeof(rooms[rank]));
		memcpy(&needs[rank], part + sizeof(rooms[rank]) + job * sizeof(needs[rank]),
		       sizeof(needs[rank]));
	}
}

static int check_all(const struct hosts *h, const struct memneed_jobs *all, const struct buf *parts,
		     size_t *job, struct mlgen_err *err)
{
	struct memroom *rooms = mem_array(hosts_total(h), sizeof(*rooms));
	uint64_t *needs = mem_array(hosts_total(h), sizeof(*needs));
	const struct memhost_look look = { h, rooms, needs };
	struct memneed_host host;
	int rc = 0;

	for (*job = 0; *job < all->count && rc == 0; (*job)++) {
		read_parts(h, parts, *job, rooms, needs);
		if (!all_have_enough(&look, &host))
			rc = memneed_fail_host(all, all->jobs[*job]->group, &host, err);
	}
	*job -= rc < 0;
	mem_free(rooms);
	mem_free(needs);
	return rc;
}

int memhost_check(struct hosts *h, const struct memneed_jobs *all, const struct memroom *room,
		  size_t *job, struct mlgen_err *err)
{
	struct buf mine = { 0 }, parts = { 0 };

	if (hosts_total(h) == 1)
		return 0;
	put_part(&mine, all, room);
	int rc = hosts_gather(h, buf_str(&mine), mine.len, &parts, err);
	if (rc == 0 && hosts_rank(h) == 0)
		rc = check_all(h, all, &parts, job, err);
	buf_fini(&mine);
	buf_fini(&parts);
	return rc;
}
