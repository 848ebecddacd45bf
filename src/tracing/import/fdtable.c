/* SPDX-License-Identifier: Apache-2.0 */
/* fdtable.c - what processes had open, and where in it they were. */
#include "tracing/import/fdtable.h"

#include "base/mem.h"
#include "trace/trace.h"

struct entry {
	struct fd_open *open; /* NULL = the place is empty */
	int fd;
	bool closes_on_exec;
};

/* By descriptor, with linear probing; never full. */
struct table {
	unsigned references;
	size_t count, size; /* a power of two */
	struct entry *entries;
};

struct owner {
	struct table *table; /* NULL = the place is empty */
	uint32_t task;
};

struct fdtable {
	size_t count, size;
	struct owner *owners;
};

enum { TABLE_SIZE = 16, OWNERS_SIZE = 64 };

static size_t home_of(uint32_t number, size_t size)
{
	return (size_t)(number * UINT32_C(2654435761)) & (size - 1);
}

/* ---- one table ---- */

static struct table *table_new(size_t size)
{
	struct table *b = mem_zalloc(sizeof(*b));

	b->references = 1;
	b->size = size;
	b->entries = mem_array(size, sizeof(*b->entries));
	return b;
}

static void open_put(struct fd_open *f)
{
	if (--f->references == 0)
		mem_free(f);
}

static void table_put(struct table *b)
{
	if (--b->references)
		return;
	for (size_t i = 0; i < b->size; i++)
		if (b->entries[i].open)
			open_put(b->entries[i].open);
	mem_free(b->entries);
	mem_free(b);
}

/* Where it is, or would be. */
static size_t place_of(const struct table *b, int fd)
{
	size_t i = home_of((uint32_t)fd, b->size);

	while (b->entries[i].open && b->entries[i].fd != fd)
		i = (i + 1) & (b->size - 1);
	return i;
}

static void table_grow(struct table *b)
{
	struct entry *old = b->entries;
	size_t size = b->size;

	b->size *= 2;
	b->entries = mem_array(b->size, sizeof(*b->entries));
	for (size_t i = 0; i < size; i++)
		if (old[i].open)
			b->entries[place_of(b, old[i].fd)] = old[i];
	mem_free(old);
}

/* What stands behind it, and would be looked for from before, moves up. */
static void remove_at(struct table *b, size_t hole)
{
	size_t mask = b->size - 1, i = hole;

	open_put(b->entries[hole].open);
	b->count--;
	for (;;) {
		b->entries[hole].open = NULL;
		size_t home;

		do {
			i = (i + 1) & mask;
			if (!b->entries[i].open)
				return;
			home = home_of((uint32_t)b->entries[i].fd, b->size);
		} while (((i - home) & mask) < ((i - hole) & mask));
		b->entries[hole] = b->entries[i];
		hole = i;
	}
}

/* `open` has its reference already. */
static void table_set(struct table *b, int fd, struct fd_open *open, bool closes_on_exec)
{
	size_t i = place_of(b, fd);

	if (b->entries[i].open)
		remove_at(b, i);
	if (4 * (b->count + 1) > 3 * b->size)
		table_grow(b);
	b->entries[place_of(b, fd)] = (struct entry){ open, fd, closes_on_exec };
	b->count++;
}

static struct table *table_copy(const struct table *b)
{
	struct table *copy = table_new(b->size);

	copy->count = b->count;
	for (size_t i = 0; i < b->size; i++) {
		copy->entries[i] = b->entries[i];
		if (copy->entries[i].open)
			copy->entries[i].open->references++;
	}
	return copy;
}

/* ---- whose they are ---- */

struct fdtable *fdtable_new(void)
{
	struct fdtable *t = mem_zalloc(sizeof(*t));

	t->size = OWNERS_SIZE;
	t->owners = mem_array(t->size, sizeof(*t->owners));
	return t;
}

void fdtable_free(struct fdtable *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->size; i++)
		if (t->owners[i].table)
			table_put(t->owners[i].table);
	mem_free(t->owners);
	mem_free(t);
}

static size_t owner_of(const struct fdtable *t, uint32_t task)
{
	size_t i = home_of(task, t->size);

	while (t->owners[i].table && t->owners[i].task != task)
		i = (i + 1) & (t->size - 1);
	return i;
}

static void owners_grow(struct fdtable *t)
{
	struct owner *old = t->owners;
	size_t size = t->size;

	t->size *= 2;
	t->owners = mem_array(t->size, sizeof(*t->owners));
	for (size_t i = 0; i < size; i++)
		if (old[i].table)
			t->owners[owner_of(t, old[i].task)] = old[i];
	mem_free(old);
}

/* NULL = it has none. */
static struct table *table_find(const struct fdtable *t, uint32_t task)
{
	return t->owners[owner_of(t, task)].table;
}

/* The table has its reference already. */
static void give(struct fdtable *t, uint32_t task, struct table *b)
{
	struct owner *o = &t->owners[owner_of(t, task)];

	if (o->table) {
		table_put(o->table);
		o->table = b;
		return;
	}
	if (4 * (t->count + 1) > 3 * t->size)
		owners_grow(t);
	t->owners[owner_of(t, task)] = (struct owner){ b, task };
	t->count++;
}

static struct table *table_of(struct fdtable *t, uint32_t task)
{
	struct table *b = table_find(t, task);

	if (!b)
		give(t, task, b = table_new(TABLE_SIZE));
	return b;
}

void fdtable_exit(struct fdtable *t, uint32_t task)
{
	size_t mask = t->size - 1, hole = owner_of(t, task), i = hole;

	if (!t->owners[hole].table)
		return;
	table_put(t->owners[hole].table);
	t->count--;
	for (;;) {
		t->owners[hole].table = NULL;
		size_t home;

		do {
			i = (i + 1) & mask;
			if (!t->owners[i].table)
				return;
			home = home_of(t->owners[i].task, t->size);
		} while (((i - home) & mask) < ((i - hole) & mask));
		t->owners[hole] = t->owners[i];
		hole = i;
	}
}

void fdtable_fork(struct fdtable *t, uint32_t parent, uint32_t child, bool shares)
{
	struct table *b;

	if (parent == child)
		return;
	b = table_of(t, parent);
	if (shares)
		b->references++;
	give(t, child, shares ? b : table_copy(b));
}

void fdtable_unshare(struct fdtable *t, uint32_t task)
{
	struct table *b = table_find(t, task);

	if (b && b->references > 1)
		give(t, task, table_copy(b));
}

void fdtable_share(struct fdtable *t, uint32_t task)
{
	const struct table *b = table_find(t, task);

	for (size_t i = 0; b && i < b->size; i++)
		if (b->entries[i].open)
			b->entries[i].open->is_shared = true;
}

void fdtable_rename(struct fdtable *t, uint32_t file, uint32_t becomes)
{
	for (size_t i = 0; i < t->size; i++) {
		const struct table *b = t->owners[i].table;

		for (size_t k = 0; b && k < b->size; k++)
			if (b->entries[k].open && b->entries[k].open->file == file)
				b->entries[k].open->file = becomes;
	}
}

/* What is moved to a place that was looked at is looked at again. */
void fdtable_exec(struct fdtable *t, uint32_t task)
{
	struct table *b;

	fdtable_unshare(t, task);
	b = table_find(t, task);
	for (size_t i = 0; b && i < b->size; i++)
		while (b->entries[i].open && b->entries[i].closes_on_exec)
			remove_at(b, i);
}

/* ---- descriptors ---- */

struct fd_open *fdtable_open(struct fdtable *t, uint32_t task, int fd, uint32_t file, bool appends,
			     bool closes_on_exec)
{
	struct fd_open *f = mem_zalloc(sizeof(*f));

	*f = (struct fd_open){ .file = file,
			       .appends = appends,
			       .is_position_known = true,
			       .end = TRACE_UNKNOWN,
			       .references = 1 };
	table_set(table_of(t, task), fd, f, closes_on_exec);
	return f;
}

void fdtable_dup(struct fdtable *t, uint32_t task, int from, int to, bool closes_on_exec)
{
	struct fd_open *f = fdtable_find(t, task, from);

	if (from == to)
		return;
	if (!f) {
		fdtable_close(t, task, to);
		return;
	}
	f->references++;
	table_set(table_of(t, task), to, f, closes_on_exec);
}

void fdtable_close(struct fdtable *t, uint32_t task, int fd)
{
	struct table *b = table_find(t, task);
	size_t i;

	if (!b)
		return;
	i = place_of(b, fd);
	if (b->entries[i].open)
		remove_at(b, i);
}

void fdtable_close_range(struct fdtable *t, uint32_t task, unsigned first, unsigned last,
			 bool on_exec)
{
	struct table *b = table_find(t, task);

	for (size_t i = 0; b && i < b->size; i++) {
		struct entry *e = &b->entries[i];

		while (e->open && (unsigned)e->fd >= first && (unsigned)e->fd <= last) {
			if (on_exec) {
				e->closes_on_exec = true;
				break;
			}
			remove_at(b, i);
		}
	}
}

void fdtable_close_on_exec(struct fdtable *t, uint32_t task, int fd, bool is_on)
{
	struct table *b = table_find(t, task);

	if (b)
		b->entries[place_of(b, fd)].closes_on_exec = is_on;
}

struct fd_open *fdtable_find(struct fdtable *t, uint32_t task, int fd)
{
	const struct table *b = table_find(t, task);

	return b ? b->entries[place_of(b, fd)].open : NULL;
}

/* ---- positions ---- */

static void moved(struct fd_open *f, uint32_t tid, uint64_t end_ns)
{
	if (end_ns < f->last_end_ns)
		return;
	f->last_tid = tid;
	f->last_end_ns = end_ns;
}

uint64_t fd_open_advance(struct fd_open *f, uint32_t tid, uint64_t start_ns, uint64_t end_ns,
			 uint64_t bytes, bool is_write, uint16_t *flags)
{
	bool is_to_end = is_write && f->appends;
	uint64_t at = is_to_end ? f->end : f->is_position_known ? f->position : TRACE_UNKNOWN;

	if (at > INT64_MAX || bytes > INT64_MAX) {
		f->is_position_known &= !is_to_end || !bytes;
		return TRACE_UNKNOWN;
	}
	*flags |= TRACE_OFF_INFERRED;
	if (f->is_shared || (is_write && f->may_append) ||
	    (f->last_tid != tid && f->last_end_ns > start_ns))
		*flags |= TRACE_OFF_INEXACT;
	if (bytes || !is_to_end) {
		f->position = at + bytes;
		f->is_position_known = true;
	}
	if (is_write && f->end != TRACE_UNKNOWN && at + bytes > f->end)
		f->end = at + bytes;
	moved(f, tid, end_ns);
	return at;
}

void fd_open_seek(struct fd_open *f, uint32_t tid, uint64_t end_ns, uint64_t position)
{
	f->position = position;
	f->is_position_known = true;
	moved(f, tid, end_ns);
}
