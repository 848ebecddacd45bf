/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - calls by name, and the positions of descriptors that a log of calls leaves out. */
#include "tracing/import/import_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/util.h"
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

/* ---- names of system calls, and of functions above them, and what they do to a file ---- */

/* Longer than any of them, with what may stand around it. */
enum { NAME_MAX_BYTES = 48 };

/* In the order of strcmp. */
/* clang-format off */
static const struct call known_calls[] = {
	{ "access", CALL_QUIET, TRACE_NONE, false },
	{ "chdir", CALL_QUIET, TRACE_NONE, false },
	{ "clone", CALL_FORK, TRACE_FORK, false },
	{ "clone3", CALL_FORK, TRACE_FORK, false },
	{ "close", CALL_CLOSE, TRACE_CLOSE, false },
	{ "closedir", CALL_CLOSE, TRACE_CLOSE, false },
	{ "creat", CALL_OPEN, TRACE_OPEN, false },
	{ "dup", CALL_DUP, TRACE_NONE, false },
	{ "dup2", CALL_DUP, TRACE_NONE, false },
	{ "dup3", CALL_DUP, TRACE_NONE, false },
	{ "faccessat", CALL_QUIET, TRACE_NONE, false },
	{ "faccessat2", CALL_QUIET, TRACE_NONE, false },
	{ "fadvise", CALL_AT, TRACE_ADVISE, false },
	{ "fallocate", CALL_AT, TRACE_ALLOCATE, false },
	{ "fchdir", CALL_QUIET, TRACE_NONE, false },
	{ "fclose", CALL_CLOSE, TRACE_CLOSE, true },
	{ "fcntl", CALL_QUIET, TRACE_NONE, false },
	{ "fdatasync", CALL_FILE, TRACE_FDATASYNC, false },
	{ "fdopen", CALL_QUIET, TRACE_NONE, true },
	{ "feof", CALL_QUIET, TRACE_NONE, true },
	{ "fflush", CALL_QUIET, TRACE_NONE, true },
	{ "fgetxattr", CALL_QUIET, TRACE_NONE, false },
	{ "fileno", CALL_QUIET, TRACE_NONE, true },
	{ "flistxattr", CALL_QUIET, TRACE_NONE, false },
	{ "flock", CALL_QUIET, TRACE_NONE, false },
	{ "fopen", CALL_OPEN, TRACE_OPEN, true },
	{ "fork", CALL_FORK, TRACE_FORK, false },
	{ "fread", CALL_MOVES, TRACE_READ, true },
	{ "freopen", CALL_OPEN, TRACE_OPEN, true },
	{ "fseek", CALL_SEEK, TRACE_NONE, true },
	{ "fseeko", CALL_SEEK, TRACE_NONE, true },
	{ "fstat", CALL_FILE, TRACE_STAT, false },
	{ "fstatat", CALL_FILE, TRACE_STAT, false },
	{ "fstatfs", CALL_QUIET, TRACE_NONE, false },
	{ "fsync", CALL_FILE, TRACE_FSYNC, false },
	{ "ftell", CALL_QUIET, TRACE_NONE, true },
	{ "ftello", CALL_QUIET, TRACE_NONE, true },
	{ "fwrite", CALL_MOVES, TRACE_WRITE, true },
	{ "getcwd", CALL_QUIET, TRACE_NONE, false },
	{ "getdents", CALL_FILE, TRACE_GETDENTS, false },
	{ "getxattr", CALL_QUIET, TRACE_NONE, false },
	{ "ioctl", CALL_QUIET, TRACE_NONE, false },
	{ "lgetxattr", CALL_QUIET, TRACE_NONE, false },
	{ "listxattr", CALL_QUIET, TRACE_NONE, false },
	{ "llistxattr", CALL_QUIET, TRACE_NONE, false },
	{ "llseek", CALL_SEEK, TRACE_NONE, false },
	{ "lseek", CALL_SEEK, TRACE_NONE, false },
	{ "lstat", CALL_FILE, TRACE_STAT, false },
	{ "mkdir", CALL_FILE, TRACE_MKDIR, false },
	{ "mkdirat", CALL_FILE, TRACE_MKDIR, false },
	{ "mmap", CALL_AT, TRACE_MMAP, false },
	{ "msync", CALL_QUIET, TRACE_NONE, false },
	{ "munmap", CALL_QUIET, TRACE_NONE, false },
	{ "newfstatat", CALL_FILE, TRACE_STAT, false },
	{ "open", CALL_OPEN, TRACE_OPEN, false },
	{ "openat", CALL_OPEN, TRACE_OPEN, false },
	{ "openat2", CALL_OPEN, TRACE_OPEN, false },
	{ "opendir", CALL_OPEN, TRACE_OPEN, false },
	{ "posix_fadvise", CALL_AT, TRACE_ADVISE, false },
	{ "posix_fallocate", CALL_AT, TRACE_ALLOCATE, false },
	{ "pread", CALL_AT, TRACE_READ, false },
	{ "preadv", CALL_AT, TRACE_READ, false },
	{ "preadv2", CALL_AT, TRACE_READ, false },
	{ "pwrite", CALL_AT, TRACE_WRITE, false },
	{ "pwritev", CALL_AT, TRACE_WRITE, false },
	{ "pwritev2", CALL_AT, TRACE_WRITE, false },
	{ "read", CALL_MOVES, TRACE_READ, false },
	{ "readahead", CALL_AT, TRACE_ADVISE, false },
	{ "readdir", CALL_QUIET, TRACE_NONE, false },
	{ "readlink", CALL_QUIET, TRACE_NONE, false },
	{ "readlinkat", CALL_QUIET, TRACE_NONE, false },
	{ "readv", CALL_MOVES, TRACE_READ, false },
	{ "remove", CALL_FILE, TRACE_UNLINK, false },
	{ "rename", CALL_RENAME, TRACE_RENAME, false },
	{ "renameat", CALL_RENAME, TRACE_RENAME, false },
	{ "renameat2", CALL_RENAME, TRACE_RENAME, false },
	{ "rewind", CALL_SEEK, TRACE_NONE, true },
	{ "rewinddir", CALL_QUIET, TRACE_NONE, false },
	{ "rmdir", CALL_FILE, TRACE_RMDIR, false },
	{ "stat", CALL_FILE, TRACE_STAT, false },
	{ "statfs", CALL_QUIET, TRACE_NONE, false },
	{ "statx", CALL_FILE, TRACE_STAT, false },
	{ "unlink", CALL_FILE, TRACE_UNLINK, false },
	{ "unlinkat", CALL_FILE, TRACE_UNLINK, false },
	{ "vfork", CALL_FORK, TRACE_FORK, false },
	{ "write", CALL_MOVES, TRACE_WRITE, false },
	{ "writev", CALL_MOVES, TRACE_WRITE, false },
};
/* clang-format on */

COMPARE_BY_TEXT(compare_names, struct call, name)

static const struct call *find_exact(const char *name)
{
	const struct call key = { .name = name };

	return bsearch(&key, known_calls, ARRAY_LEN(known_calls), sizeof(*known_calls),
		       compare_names);
}

static const char *without_prefix(const char *name)
{
	static const char *const prefixes[] = {
		"sys_enter_", "sys_exit_", "__x64_sys_", "sys_", "__x", "_",
	};

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		size_t n = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], n) == 0)
			return name + n;
	}
	return name;
}

const struct call *call_find(const char *name)
{
	const struct call *found = find_exact(name);
	char plain[NAME_MAX_BYTES];
	int n;

	if (found)
		return found;
	name = without_prefix(name);
	/* Of __lxstat and __fxstatat the x is the C library's. */
	if (strncmp(name, "_lxstat", 7) == 0)
		n = snprintf(plain, sizeof(plain), "lstat%s", name + 7);
	else if (strncmp(name, "_fxstat", 7) == 0)
		n = snprintf(plain, sizeof(plain), "fstat%s", name + 7);
	else
		n = snprintf(plain, sizeof(plain), "%s", name);
	if (n < 0 || (size_t)n >= sizeof(plain))
		return NULL;
	if (n > 2 && strcmp(plain + n - 2, "64") == 0)
		plain[n - 2] = '\0';
	return find_exact(plain);
}

/* ---- one import ---- */

/* No log is of 1973, and no host was up for three years. */
#define DAY_LEAST_NS (UINT64_C(100000000) * NS_PER_S)

struct calls {
	struct importing *m;
	bool is_in_order;
	struct fdtable *by_fd;
	/* Descriptors are ids of names: of logs that do not have them. */
	struct fdtable *by_name;
	/* Left out: neither a name nor a descriptor that has one. */
	struct importing nameless;
	uint64_t nameless_count;
	uint64_t unsized_count; /* nobody said how many bytes */
};

struct calls *calls_new(struct importing *m, bool is_in_order)
{
	struct calls *c = mem_zalloc(sizeof(*c));

	c->m = m;
	c->is_in_order = is_in_order;
	c->by_fd = fdtable_new();
	c->by_name = fdtable_new();
	return c;
}

void calls_free(struct calls *c)
{
	if (!c)
		return;
	fdtable_free(c->by_fd);
	fdtable_free(c->by_name);
	mem_free(c);
}

/* ---- what is open ---- */

static bool is_fd(int64_t fd)
{
	return fd >= 0 && fd <= INT32_MAX;
}

/* It was open before the log begins, or nobody saw how. */
static struct fd_open *open_unseen(struct fdtable *t, uint32_t pid, int fd, uint32_t file)
{
	struct fd_open *f = fdtable_open(t, pid, fd, file, false, false);

	f->is_position_known = false;
	return f;
}

static struct fd_open *find_by(struct fdtable *t, uint32_t pid, int fd, uint32_t file)
{
	struct fd_open *f = fdtable_find(t, pid, fd);

	if (f && (!file || f->file == file))
		return f;
	return file ? open_unseen(t, pid, fd, file) : f;
}

/* NULL = it has no name. */
static struct fd_open *find_open(struct calls *c, const struct call_seen *s)
{
	if (is_fd(s->fd))
		return find_by(c->by_fd, s->pid, (int)s->fd, s->file);
	return s->file && s->file <= INT32_MAX ? find_by(c->by_name, s->pid, (int)s->file, s->file)
					       : NULL;
}

/* Of a file that is open twice nobody knows which one reads. */
static void open_name(struct calls *c, const struct call_seen *s, bool appends)
{
	int fd = (int)s->file;
	bool is_second = fdtable_find(c->by_name, s->pid, fd);
	struct fd_open *f = fdtable_open(c->by_name, s->pid, fd, s->file, appends, false);

	f->is_position_known = !is_second;
}

static void take_open(struct calls *c, const struct call_seen *s)
{
	bool has_flags = s->flags != TRACE_UNKNOWN;
	bool appends = has_flags && (s->flags & O_APPEND);

	if (!s->file || s->file > INT32_MAX || (s->has_result && s->result < 0))
		return;
	open_name(c, s, appends);
	if (s->has_result && is_fd(s->result))
		fdtable_open(c->by_fd, s->pid, (int)s->result, s->file, appends,
			     has_flags && (s->flags & O_CLOEXEC));
}

static void take_close(struct calls *c, const struct call_seen *s, uint32_t file)
{
	if (is_fd(s->fd))
		fdtable_close(c->by_fd, s->pid, (int)s->fd);
	if (file && file <= INT32_MAX)
		fdtable_close(c->by_name, s->pid, (int)file);
}

static uint64_t end_of(const struct call_seen *s)
{
	return s->start_ns + (s->duration_ns == TRACE_UNKNOWN ? 0 : s->duration_ns);
}

static void take_seek(struct fd_open *f, const struct call_seen *s)
{
	uint64_t to = TRACE_UNKNOWN;

	if (s->has_result && s->result < 0)
		return;
	/* fseek gives back 0, lseek the position. */
	if (s->whence == SEEK_SET)
		to = s->off;
	else if (s->has_result && s->result > 0)
		to = (uint64_t)s->result;
	else if (s->whence == SEEK_CUR && s->off != TRACE_UNKNOWN && f->is_position_known)
		to = f->position + s->off;
	if (to <= INT64_MAX)
		fd_open_seek(f, s->tid, end_of(s), to);
	else
		f->is_position_known = false;
}

static void take_dup(struct calls *c, const struct call_seen *s)
{
	if (is_fd(s->fd) && s->has_result && is_fd(s->result))
		fdtable_dup(c->by_fd, s->pid, (int)s->fd, (int)s->result, false);
}

static void take_fork(struct calls *c, const struct call_seen *s)
{
	uint32_t child = (uint32_t)s->result;
	uint64_t said[] = { child, s->pid };

	if (!s->has_result || s->result <= 0 || s->result > UINT32_MAX)
		return;
	if (c->is_in_order) {
		fdtable_fork(c->by_fd, s->pid, child, false);
		fdtable_fork(c->by_name, s->pid, child, false);
	}
	trace_fill_entry(c->m->fill, TRACE_PROCESS, said, ARRAY_LEN(said), "");
}

/* ---- the record ---- */

static bool moves_bytes(const struct call *k)
{
	return k->op == TRACE_READ || k->op == TRACE_WRITE;
}

/* Where the call is, at the position of what is open. */
static void calls_place(struct calls *c, const struct call *k, const struct call_seen *s,
			struct fd_open *f, struct trace_record *to)
{
	uint64_t moved = to->result > 0 ? (uint64_t)to->result : 0;

	to->off = fd_open_advance(f, s->tid, s->start_ns, end_of(s), moved, k->op == TRACE_WRITE,
				  &to->flags);
	if (to->flags & TRACE_OFF_INEXACT)
		c->m->tally.inexact++;
	else if (to->flags & TRACE_OFF_INFERRED)
		c->m->tally.inferred++;
}

static bool has_no_length(const struct call *k)
{
	return k->kind == CALL_CLOSE || k->kind == CALL_RENAME || k->kind == CALL_FORK ||
	       (k->kind == CALL_FILE && k->op != TRACE_STAT);
}

static void take_sizes(struct calls *c, const struct call *k, const struct call_seen *s,
		       struct trace_record *to)
{
	bool was_moved = moves_bytes(k) && s->has_result && s->result >= 0;

	to->len_bytes = k->kind == CALL_OPEN ? s->flags : s->bytes;
	if (to->len_bytes == TRACE_UNKNOWN && was_moved)
		to->len_bytes = (uint64_t)s->result;
	else if (to->len_bytes == TRACE_UNKNOWN && has_no_length(k))
		to->len_bytes = 0;
	if (s->has_result)
		to->result = s->result;
	else if (moves_bytes(k) && s->bytes <= INT64_MAX)
		to->result = (int64_t)s->bytes;
	/* What it gives back is an address or a descriptor of no use. */
	if (!moves_bytes(k) && k->op != TRACE_MMAP && k->op != TRACE_FORK && to->result > 0)
		to->result = 0;
	c->unsized_count += moves_bytes(k) && to->len_bytes == TRACE_UNKNOWN;
}

static int add_record(struct calls *c, const struct call *k, const struct call_seen *s,
		      struct fd_open *f, struct mlgen_err *err)
{
	uint64_t clock = c->m->clock_offset_ns;
	struct trace_record to = {
		.start_ns = s->start_ns > clock ? s->start_ns - clock : 0,
		.duration_ns = s->duration_ns,
		.off = k->kind == CALL_AT ? s->off : TRACE_UNKNOWN,
		.cpu_ns = TRACE_UNKNOWN,
		.pid = s->pid,
		.tid = s->tid,
		.file = f ? f->file : s->file,
		.op = k->op,
	};

	if (k->op == TRACE_UNLINK && s->flags != TRACE_UNKNOWN && (s->flags & AT_REMOVEDIR))
		to.op = TRACE_RMDIR;
	take_sizes(c, k, s, &to);
	if (k->kind == CALL_RENAME && s->becomes)
		to.off = s->becomes;
	if (k->kind == CALL_MOVES && f && to.result >= 0)
		calls_place(c, k, s, f, &to);
	return trace_fill_add(c->m->fill, &to, err);
}

/* ---- by kind ---- */

static bool needs_open(const struct call *k)
{
	return k->kind == CALL_CLOSE || k->kind == CALL_MOVES || k->kind == CALL_AT ||
	       k->kind == CALL_SEEK || k->kind == CALL_FILE;
}

/* What happens to what is open besides; before the record, or behind it. */
static void calls_change(struct calls *c, const struct call *k, const struct call_seen *s,
			 struct fd_open *f)
{
	uint32_t file = f ? f->file : s->file;

	if (k->kind == CALL_OPEN)
		take_open(c, s);
	else if (k->kind == CALL_CLOSE)
		take_close(c, s, file);
	else if (k->kind == CALL_SEEK)
		take_seek(f, s);
	else if (k->kind == CALL_DUP)
		take_dup(c, s);
	else if (k->kind == CALL_FORK)
		take_fork(c, s);
}

int calls_take(struct calls *c, const struct call *k, const struct call_seen *s,
	       struct mlgen_err *err)
{
	struct fd_open *f = NULL;
	int rc = 0;

	if (k->kind == CALL_QUIET)
		return 0;
	/* What has a name needs no descriptor, and opens none. */
	if (needs_open(k) && !(k->kind == CALL_FILE && s->file))
		f = find_open(c, s);
	if (!f && !s->file && k->kind != CALL_DUP && k->kind != CALL_FORK) {
		import_unknown(&c->nameless, k->name);
		c->nameless_count++;
		return 0;
	}
	if (k->op != TRACE_NONE)
		rc = add_record(c, k, s, f, err);
	calls_change(c, k, s, f);
	return rc;
}

bool calls_knows(const struct calls *c, uint32_t pid, int64_t fd)
{
	return is_fd(fd) && fdtable_find(c->by_fd, pid, (int)fd);
}

/* Some count from the host's boot, or from their own. */
static void look_at_clock(struct importing *m)
{
	uint64_t first_ns, last_ns;

	if (trace_fill_span(m->fill, &first_ns, &last_ns) && first_ns < DAY_LEAST_NS)
		m->no_clock = "the log's times are none of day";
}

void calls_tell(struct calls *c)
{
	const struct import_tally *t = &c->nameless.tally;
	struct buf names = { 0 };

	for (size_t i = 0; i < t->unknown_count; i++)
		buf_addf(&names, "%s%s %" PRIu64, i ? ", " : "", t->unknown[i].name,
			 t->unknown[i].count);
	if (c->nameless_count)
		import_note(c->m,
			    "calls on what has no name in the log, such as pipes, are left out: %s",
			    buf_str(&names));
	if (c->unsized_count)
		import_note(c->m,
			    "of %" PRIu64
			    " read%s and writes the log does not say how many bytes they moved",
			    c->unsized_count, plural(c->unsized_count));
	look_at_clock(c->m);
	buf_fini(&names);
}
