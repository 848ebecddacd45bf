/* SPDX-License-Identifier: Apache-2.0 */
/* shard.c - one file of a checkpoint: its name, its pieces, the calls that write and read it. */

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "data/state/state_internal.h"

static const struct layout *const layouts[] = {
	[LAYOUT_TORCH] = &layout_torch,
	[LAYOUT_DEEPSPEED] = &layout_deepspeed,
	[LAYOUT_STREAM] = &layout_stream,
	[LAYOUT_PATTERN] = &layout_pattern,
};

static uint64_t end_of(const struct shard_piece *p)
{
	return p->off + p->bytes;
}

static uint64_t groups_per_mark(const struct shard *f)
{
	return (f->groups + SHARD_MARKS - 1) / SHARD_MARKS;
}

/* Move to the piece with byte `off`, which must be in the file. */
static void seek_piece(const struct shard *f, struct shard_piece *p, uint64_t off)
{
	if (off < p->off)
		*p = (struct shard_piece){ 0 };
	while (off >= end_of(p))
		if (!shard_next(f, p))
			return;
}

/* Return the number of bytes of [off, off + bytes) in the run of `off`, and set *of to that run. */
static uint64_t in_run(const struct shard *f, const struct shard_piece *p, uint64_t off,
		       uint64_t bytes, struct content_of *of)
{
	uint64_t run_off, run_bytes;

	shard_run(f, p, off, &run_off, &run_bytes);
	shard_content_of(f, run_off, of);
	return u64_min(bytes, run_off + run_bytes - off);
}

static void copy_tensor(const struct shard *f, const struct shard_piece *p, uint64_t off,
			uint8_t *to, uint64_t bytes)
{
	struct content_of of;

	for (uint64_t n; bytes; off += n, to += n, bytes -= n) {
		n = in_run(f, p, off, bytes, &of);
		content_copy(f->set->content, &of, off - of.off, to, n);
	}
}

static uint64_t check_tensor(const struct shard *f, const struct shard_piece *p, uint64_t off,
			     const uint8_t *buf, uint64_t bytes)
{
	struct content_of of;

	for (uint64_t done = 0, n, right; done < bytes; done += n) {
		n = in_run(f, p, off + done, bytes - done, &of);
		right = content_check(f->set->content, &of, off + done - of.off, buf + done, n);
		if (right < n)
			return done + right;
	}
	return bytes;
}

static uint64_t check_meta(const struct shard *f, const struct shard_piece *p, uint64_t off,
			   const uint8_t *buf, uint64_t bytes)
{
	uint8_t right[4096];

	for (uint64_t done = 0, n; done < bytes; done += n) {
		n = u64_min(bytes - done, sizeof(right));
		shard_meta(f, p, off + done - p->off, right, n);
		for (uint64_t i = 0; i < n; i++)
			if (right[i] != buf[done + i])
				return done + i;
	}
	return bytes;
}

const struct layout *layout_of(const struct job *job)
{
	return layouts[job->checkpoint_layout];
}

uint64_t shard_files(const struct shard_set *set, uint64_t rank)
{
	return set->layout->files(set, rank);
}

void shard_init(struct shard *f, const struct shard_set *set, uint64_t rank, uint64_t index,
		uint64_t checkpoint)
{
	struct state_group g;

	*f = (struct shard){ .set = set, .rank = rank, .index = index, .checkpoint = checkpoint };
	set->layout->groups(f);
	for (uint64_t i = 0; i < f->groups; i++) {
		if (i % groups_per_mark(f) == 0)
			f->marks[i / groups_per_mark(f)] = f->tensors;
		state_group(set->state, rank, f->first_group + i, &g);
		f->tensors += g.tensors;
		f->tensor_bytes += g.bytes;
	}
	f->bytes = f->tensor_bytes;
	if (set->layout->init)
		set->layout->init(f);
}

bool shard_next_file(struct shard *f, const struct shard_set *set, struct shard_cursor *at,
		     uint64_t checkpoint)
{
	for (; at->local < state_local_count(set->state); at->local++, at->index = 0) {
		uint64_t rank = state_local_rank(set->state, at->local);

		if (at->index == shard_files(set, rank))
			continue;
		shard_init(f, set, rank, at->index++, checkpoint);
		return true;
	}
	return false;
}

void shard_name(const struct shard *f, char *to, size_t bytes)
{
	f->set->layout->name_of(f, to, bytes);
}

/* Skip a number as printf writes it: no leading zeros. NULL = there is none. */
static const char *skip_number(const char *s)
{
	size_t digits = strspn(s, "0123456789");

	if (digits == 0 || digits > 20 || (digits > 1 && *s == '0'))
		return NULL;
	return s + digits;
}

/* Does the name match a pattern, in which # stands for a number? */
static bool matches(const char *name, const char *pattern)
{
	for (; *pattern; pattern++) {
		if (*pattern == '#')
			name = skip_number(name);
		else if (*name++ != *pattern)
			return false;
		if (!name)
			return false;
	}
	return *name == '\0';
}

bool shard_is_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(layouts); i++)
		for (const char *const *p = layouts[i]->names; *p; p++)
			if (matches(name, *p))
				return true;
	return false;
}

bool shard_next(const struct shard *f, struct shard_piece *p)
{
	return f->set->layout->next(f, p);
}

void shard_tensor(const struct shard *f, uint64_t tensor, struct state_tensor *t)
{
	uint64_t each = groups_per_mark(f), mark = (f->groups - 1) / each;
	struct state_group g;

	while (f->marks[mark] > tensor)
		mark--;
	tensor -= f->marks[mark];
	for (uint64_t i = f->first_group + mark * each;; i++) {
		state_group(f->set->state, f->rank, i, &g);
		if (tensor < g.tensors)
			break;
		tensor -= g.tensors;
	}
	state_tensor(f->set->state, &g, tensor, t);
}

void shard_meta(const struct shard *f, const struct shard_piece *p, uint64_t from, void *to,
		uint64_t bytes)
{
	f->set->layout->meta(f, p, from, to, bytes);
}

void shard_run(const struct shard *f, const struct shard_piece *p, uint64_t off, uint64_t *run_off,
	       uint64_t *run_bytes)
{
	uint64_t most = shard_max_run_bytes(f->set), begin = p->off, end = end_of(p);

	if (f->set->is_plain || f->set->layout->run_bytes) {
		begin = 0;
		end = f->bytes;
	}
	*run_off = off - (off - begin) % most;
	*run_bytes = u64_min(most, end - *run_off);
}

void shard_content_of(const struct shard *f, uint64_t run_off, struct content_of *of)
{
	*of = (struct content_of){
		.rank = f->rank,
		.checkpoint = f->checkpoint,
		.file = f->set->state->job->randseed << 32 | f->index,
		.off = run_off,
	};
}

uint32_t shard_crc32(const struct shard *f, const struct shard_piece *p)
{
	struct content_of of;
	uint32_t crc = 0;

	for (uint64_t off = p->off, n; off < end_of(p); off += n) {
		n = in_run(f, p, off, end_of(p) - off, &of);
		crc = content_crc32(f->set->content, &of, off - of.off, n, crc);
	}
	return crc;
}

void shard_copy(const struct shard *f, struct shard_piece *p, uint64_t off, void *to,
		uint64_t bytes)
{
	uint8_t *at = to;

	for (uint64_t n; bytes; off += n, at += n, bytes -= n) {
		seek_piece(f, p, off);
		n = u64_min(bytes, end_of(p) - off);
		if (p->is_tensor)
			copy_tensor(f, p, off, at, n);
		else
			shard_meta(f, p, off - p->off, at, n);
	}
}

bool shard_write_next(const struct shard *f, struct shard_write *w)
{
	return f->set->layout->write_next(f, w);
}

uint64_t shard_max_head_bytes(const struct shard_set *set)
{
	struct shard_cursor at = { 0 };
	uint64_t most = 0;
	struct shard f;

	if (set->layout->meta == NULL)
		return 0;
	while (shard_next_file(&f, set, &at, 0))
		most = u64_max(most, f.meta_bytes);
	return set->layout->buffer_bytes + u64_min(most, LAYOUT_META_BYTES);
}

uint64_t shard_max_run_bytes(const struct shard_set *set)
{
	uint64_t span = content_span_bytes(set->content);

	if (set->is_plain)
		return span;
	if (set->layout->run_bytes)
		return set->layout->run_bytes;
	return u64_min((CONTENT_PARTS - 1) * span, CONTENT_RUN_BYTES);
}

uint64_t shard_max_write_bytes(const struct shard_set *set)
{
	return shard_max_head_bytes(set) + shard_max_run_bytes(set);
}

bool shard_calls_stat(const struct shard_set *set, bool is_restore)
{
	const struct layout *l = set->layout;

	return is_restore ? l->stats_to_read : l->stats_to_write;
}

bool shard_read_next(const struct shard *f, struct shard_read *r)
{
	return f->set->layout->read_next(f, r);
}

bool shard_check(const struct shard *f, struct shard_piece *p, uint64_t off, const void *buf,
		 uint64_t bytes, uint64_t *wrong_off, char *where, size_t where_bytes)
{
	const uint8_t *at = buf;

	for (uint64_t n, right; bytes; off += n, at += n, bytes -= n) {
		seek_piece(f, p, off);
		n = u64_min(bytes, end_of(p) - off);
		right = (p->is_tensor ? check_tensor : check_meta)(f, p, off, at, n);
		if (right == n)
			continue;
		*wrong_off = off + right;
		if (p->is_tensor) {
			struct state_tensor t;

			shard_tensor(f, p->tensor, &t);
			snprintf(where, where_bytes, "tensor %s", t.name);
		} else {
			f->set->layout->describe(f, p, where, where_bytes);
		}
		return false;
	}
	return true;
}
