/* SPDX-License-Identifier: Apache-2.0 */
/* scan_links.c - what links led to, so that a scan follows each way once. */
#include "data/scan/scan_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/mem.h"

/* Of an entry that leaves. */
#define GONE UINT64_MAX

static struct link *place_of(struct link *table, uint64_t room, dev_t dev, ino_t ino)
{
	/* Knuth's multiplier, 2^64 / the golden ratio. */
	uint64_t at = ((uint64_t)ino ^ (uint64_t)dev << 32) * UINT64_C(0x9E3779B97F4A7C15) % room;

	while (table[at].ino && (table[at].ino != ino || table[at].dev != dev))
		at = (at + 1) % room;
	return &table[at];
}

static void scan_links_grow(struct links *l)
{
	uint64_t room = l->folder_room ? 2 * l->folder_room : 64;
	struct link *table = mem_array((size_t)room, sizeof(*table));

	memset(table, 0, (size_t)room * sizeof(*table));
	for (uint64_t i = 0; i < l->folder_room; i++)
		if (l->folders[i].ino)
			*place_of(table, room, l->folders[i].dev, l->folders[i].ino) =
				l->folders[i];
	mem_free(l->folders);
	l->folders = table;
	l->folder_room = room;
}

COMPARE_BY(by_name, struct link, name_at)

static bool is_same(const struct link *x, const struct link *y)
{
	return x->dev == y->dev && x->ino == y->ino;
}

COMPARE_BY3(by_file, struct link, dev, ino, rank)

static void rank(struct links *l, const struct scan *s)
{
	qsort(l->files, (size_t)l->count, sizeof(*l->files), by_name);
	for (uint64_t i = 0; i < s->count; i++) {
		struct link key = { .name_at = entry_name_at(&s->entries[i]) };
		struct link *found;

		if (!(s->entries[i].name & THROUGH_LINK))
			continue;
		found = bsearch(&key, l->files, (size_t)l->count, sizeof(*l->files), by_name);
		if (found)
			found->rank = i;
	}
	qsort(l->files, (size_t)l->count, sizeof(*l->files), by_file);
}

static uint64_t compact(struct scan *s)
{
	uint64_t kept = 0, before = s->count;

	for (uint64_t i = 0; i < before; i++)
		if (s->entries[i].size_bytes != GONE)
			s->entries[kept++] = s->entries[i];
	s->count = kept;
	return before - kept;
}

void links_fini(struct links *l)
{
	mem_free(l->files);
	mem_free(l->folders);
	memset(l, 0, sizeof(*l));
}

void links_add_file(struct links *l, const struct stat *st, uint64_t name_at)
{
	if (l->count == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		l->files = mem_realloc(l->files, l->room * sizeof(*l->files));
	}
	l->files[l->count++] = (struct link){
		.dev = st->st_dev, .ino = st->st_ino, .name_at = name_at, .rank = UINT64_MAX
	};
}

bool links_enter(struct links *l, const struct stat *st)
{
	struct link *at;

	if (2 * l->folder_count >= l->folder_room)
		scan_links_grow(l);
	at = place_of(l->folders, l->folder_room, st->st_dev, st->st_ino);
	if (at->ino)
		return false;
	*at = (struct link){ .dev = st->st_dev, .ino = st->st_ino };
	l->folder_count++;
	return true;
}

uint64_t links_keep_once(struct links *l, struct scan *s)
{
	if (l->count < 2)
		return 0;
	rank(l, s);
	for (uint64_t i = 1; i < l->count; i++)
		if (is_same(&l->files[i - 1], &l->files[i]) && l->files[i].rank < s->count)
			s->entries[l->files[i].rank].size_bytes = GONE;
	return compact(s);
}
