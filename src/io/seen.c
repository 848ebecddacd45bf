/* SPDX-License-Identifier: Apache-2.0 */
/* seen.c - what one worker has outstanding, for another thread to look at. */
#include "io/seen.h"

#include "base/mem.h"

static void copy_slot(const struct seen *s, unsigned slot, struct io_outstanding *out)
{
	const struct seen_slot *from = &s->slots[slot];

	out->off = atomic_load_explicit(&from->off, memory_order_relaxed);
	out->op = (enum mlgen_op)atomic_load_explicit(&from->op, memory_order_relaxed);
	for (size_t i = 0; i < SEEN_PATH_WORDS; i++) {
		uint64_t word = atomic_load_explicit(&s->path[slot].word[i], memory_order_relaxed);

		memcpy(out->path + i * 8, &word, 8);
	}
	out->path[sizeof(out->path) - 1] = '\0';
}

void seen_init(struct seen *s, unsigned slots)
{
	*s = (struct seen){ .count = slots };
	s->slots = mem_array(slots, sizeof(*s->slots));
	s->path = mem_array(slots, sizeof(*s->path));
}

void seen_fini(struct seen *s)
{
	mem_free(s->slots);
	mem_free(s->path);
	*s = (struct seen){ 0 };
}

void seen_path(struct seen *s, unsigned slot, const char *path)
{
	size_t len = strnlen(path, SEEN_PATH_WORDS * 8 - 1);

	for (size_t at = 0; at <= len; at += 8) {
		uint64_t word = 0;

		memcpy(&word, path + at, len - at < 8 ? len - at : 8);
		atomic_store_explicit(&s->path[slot].word[at / 8], word, memory_order_relaxed);
	}
}

void seen_look(const struct seen *s, struct io_outstanding *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < s->count; i++) {
		uint64_t start = atomic_load_explicit(&s->slots[i].start_ns, memory_order_relaxed);

		if (start == 0 || (out->start_ns && out->start_ns <= start))
			continue;
		out->start_ns = start;
		copy_slot(s, i, out);
	}
}

const struct mlgen_file *seen_oldest(const struct seen *s)
{
	const struct mlgen_file *file = NULL;
	uint64_t oldest = 0;

	for (unsigned i = 0; i < s->count; i++) {
		uint64_t start = atomic_load_explicit(&s->slots[i].start_ns, memory_order_relaxed);

		if (start == 0 || (oldest && oldest <= start))
			continue;
		oldest = start;
		file = s->slots[i].file;
	}
	return file;
}
