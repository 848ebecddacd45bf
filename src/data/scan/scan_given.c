/* SPDX-License-Identifier: Apache-2.0 */
/* scan_given.c - what one process of a job has listed becomes a scan in another; see scan.h. */
#include <string.h>

#include "base/mem.h"
#include "data/scan/scan_internal.h"
#include "hosts/relay.h"

struct given_head {
	uint64_t count, bytes;
	struct scan_skipped skipped;
	uint64_t base_bytes, place_bytes;
};

/* Of a file; its name comes behind. */
struct given_file {
	uint64_t size_bytes;
	int64_t mtime_ns;
	uint64_t name_bytes;
};

static int put_file(const struct entry *e, const struct namefile_map *map, struct relay *to,
		    struct mlgen_err *err)
{
	struct given_file f = { .size_bytes = e->size_bytes, .name_bytes = entry_name_length(e) };
	const char *name = map->bytes + (entry_name_at(e) - map->start);

	memcpy(&f.mtime_ns, name - sizeof(f.mtime_ns), sizeof(f.mtime_ns));
	int rc = relay_put(to, &f, sizeof(f), err);
	return rc ? rc : relay_put(to, name, (size_t)f.name_bytes, err);
}

int scan_give(const struct scan *s, struct relay *to, struct mlgen_err *err)
{
	const struct given_head head = { .count = s->count,
					 .bytes = s->bytes,
					 .skipped = s->skipped,
					 .base_bytes = strlen(s->base),
					 .place_bytes = strlen(s->place) };
	struct namefile_map map;
	int rc = namefile_map(&s->names, 0, &map, err);

	if (rc)
		return rc;
	rc = relay_put(to, &head, sizeof(head), err);
	if (rc == 0)
		rc = relay_put(to, s->base, (size_t)head.base_bytes, err);
	if (rc == 0)
		rc = relay_put(to, s->place, (size_t)head.place_bytes, err);
	for (uint64_t i = 0; i < s->count && rc == 0; i++)
		rc = put_file(&s->entries[i], &map, to, err);
	namefile_unmap(&map);
	return rc;
}

static int take_text(char **out, uint64_t bytes, struct relay *from, struct mlgen_err *err)
{
	*out = mem_zalloc((size_t)bytes + 1);
	return relay_get(from, *out, (size_t)bytes, err);
}

static int take_file(struct scan *s, uint64_t file, struct relay *from, struct mlgen_err *err)
{
	char name[PATH_MAX];
	struct given_file f;
	int rc = relay_get(from, &f, sizeof(f), err);

	if (rc == 0)
		rc = relay_get(from, name, (size_t)f.name_bytes, err);
	if (rc == 0)
		rc = namefile_add(&s->names, (const char *)&f.mtime_ns, sizeof(f.mtime_ns), err);
	if (rc)
		return rc;
	s->entries[file] = (struct entry){
		.name = s->names.end << LENGTH_BITS | f.name_bytes,
		.size_bytes = f.size_bytes,
	};
	return namefile_add(&s->names, name, (size_t)f.name_bytes, err);
}

static int take_all(struct scan *s, struct relay *from, struct mlgen_err *err)
{
	struct given_head head;
	int rc = relay_get(from, &head, sizeof(head), err);

	if (rc)
		return rc;
	rc = take_text(&s->base, head.base_bytes, from, err);
	if (rc == 0)
		rc = take_text(&s->place, head.place_bytes, from, err);
	if (rc)
		return rc;
	s->skipped = head.skipped;
	s->bytes = head.bytes;
	s->entries = mem_array((size_t)head.count, sizeof(*s->entries));
	for (; s->count < head.count && rc == 0; s->count++)
		rc = take_file(s, s->count, from, err);
	return rc ? rc : namefile_flush(&s->names, err);
}

int scan_take(struct scan **out, const char *beside, struct relay *from, struct mlgen_err *err)
{
	struct scan *s = mem_zalloc(sizeof(*s));
	int rc = namefile_open(&s->names, beside, err);

	s->is_quiet = true; /* who has listed it tells of it */
	if (rc == 0)
		rc = take_all(s, from, err);
	namefile_end(&s->names);
	if (rc) {
		scan_free(s);
		return rc;
	}
	*out = s;
	return 0;
}
