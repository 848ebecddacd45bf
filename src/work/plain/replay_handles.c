/* SPDX-License-Identifier: Apache-2.0 */
/* replay_handles.c - see replay_handles.h. */
#include "work/plain/replay_handles.h"

#include "base/mem.h"

static struct replay_handle **bucket_of(const struct replay_handles *h, uint32_t id)
{
	return &h->buckets[(id * UINT32_C(2654435761) >> 7) & h->mask];
}

size_t replay_handles_bytes(size_t count, size_t path_bytes)
{
	return count *
	       (sizeof(struct replay_handle) + path_bytes + 4 * sizeof(struct replay_handle *));
}

void replay_handles_init(struct replay_handles *h, size_t count, size_t path_bytes)
{
	size_t buckets = 1;

	while (buckets < 2 * count)
		buckets *= 2;
	*h = (struct replay_handles){ .count = count,
				      .mask = buckets - 1,
				      .path_bytes = path_bytes };
	h->all = mem_array(count, sizeof(*h->all));
	h->buckets = mem_array(buckets, sizeof(struct replay_handle *));
	h->paths = mem_array(count, path_bytes);
	for (size_t i = count; i-- > 0;) {
		h->all[i].path = h->paths + i * path_bytes;
		h->all[i].next = h->free;
		h->free = &h->all[i];
	}
}

void replay_handles_fini(struct replay_handles *h)
{
	mem_free(h->all);
	mem_free(h->buckets);
	mem_free(h->paths);
	*h = (struct replay_handles){ 0 };
}

struct replay_handle *replay_handles_find(const struct replay_handles *h, uint32_t id)
{
	struct replay_handle *at = *bucket_of(h, id);

	while (at && at->id != id)
		at = at->next;
	return at;
}

struct replay_handle *replay_handles_take(struct replay_handles *h, uint32_t id)
{
	struct replay_handle *taken = h->free, **bucket = bucket_of(h, id);

	if (!taken)
		return NULL;
	h->free = taken->next;
	taken->id = id;
	taken->in_flight = 0;
	taken->next = *bucket;
	*bucket = taken;
	return taken;
}

void replay_handles_give(struct replay_handles *h, struct replay_handle *handle)
{
	struct replay_handle **at = bucket_of(h, handle->id);

	while (*at != handle)
		at = &(*at)->next;
	*at = handle->next;
	handle->next = h->free;
	handle->id = 0;
	h->free = handle;
}

struct replay_handle *replay_handles_any(const struct replay_handles *h)
{
	for (size_t i = 0; i < h->count; i++)
		if (h->all[i].id)
			return &h->all[i];
	return NULL;
}
