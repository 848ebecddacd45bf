/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - file calls by name, and a model of descriptors that infers missing offsets. */
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

/* ---- pointers by number ---- */

enum { ID_MAP_SIZE = 16 };

static size_t home_slot(uint32_t key, size_t size)
{
	return (size_t)(key * UINT32_C(2654435761)) & (size - 1);
}

/* The slot of a key, or the unused slot where it would be. */
static struct id_slot *slot_of(const struct id_map *m, uint32_t key)
{
	size_t i = home_slot(key, m->size);

	while (m->slots[i].value && m->slots[i].key != key)
		i = (i + 1) & (m->size - 1);
	return &m->slots[i];
}

void *id_map_find(const struct id_map *m, uint32_t key)
{
	return m->size ? slot_of(m, key)->value : NULL;
}

struct id_slot *id_map_set(struct id_map *m, uint32_t key, void *value)
{
	struct id_slot *to;

	if (4 * (m->count + 1) > 3 * m->size) {
		struct id_map old = *m;

		m->size = old.size ? 2 * old.size : ID_MAP_SIZE;
		m->slots = mem_array(m->size, sizeof(*m->slots));
		for (size_t i = 0; i < old.size; i++)
			if (old.slots[i].value)
				*slot_of(m, old.slots[i].key) = old.slots[i];
		mem_free(old.slots);
	}
	to = slot_of(m, key);
	m->count += !to->value;
	*to = (struct id_slot){ .value = value, .key = key };
	return to;
}

/* Later entries of the same run move up, so that probing finds them. */
void id_map_remove(struct id_map *m, uint32_t key)
{
	size_t mask = m->size - 1, hole = (size_t)(slot_of(m, key) - m->slots), i = hole;

	m->count--;
	for (;;) {
		m->slots[hole].value = NULL;
		size_t home;

		do {
			i = (i + 1) & mask;
			if (!m->slots[i].value)
				return;
			home = home_slot(m->slots[i].key, m->size);
		} while (((i - home) & mask) < ((i - hole) & mask));
		m->slots[hole] = m->slots[i];
		hole = i;
	}
}

/* ---- the descriptors of one process ---- */

struct fd_map {
	unsigned references;
	struct id_map open; /* struct fd_open by descriptor */
};

struct fdtable {
	struct id_map maps; /* struct fd_map by task */
};

static void fd_open_unref(struct fd_open *f)
{
	if (--f->references == 0)
		mem_free(f);
}

static void fd_map_unref(struct fd_map *map)
{
	if (--map->references)
		return;
	for (size_t i = 0; i < map->open.size; i++)
		if (map->open.slots[i].value)
			fd_open_unref(map->open.slots[i].value);
	mem_free(map->open.slots);
	mem_free(map);
}

static void fd_map_remove(struct fd_map *map, struct id_slot *slot)
{
	fd_open_unref(slot->value);
	id_map_remove(&map->open, slot->key);
}

/* Takes over the caller's reference to `open`. */
static void fd_map_set(struct fd_map *map, int fd, struct fd_open *open, bool closes_on_exec)
{
	struct fd_open *old = id_map_find(&map->open, (uint32_t)fd);

	if (old)
		fd_open_unref(old);
	id_map_set(&map->open, (uint32_t)fd, open)->closes_on_exec = closes_on_exec;
}

static struct fd_map *fd_map_copy(const struct fd_map *map)
{
	struct fd_map *copy = mem_zalloc(sizeof(*copy));

	copy->references = 1;
	for (size_t i = 0; i < map->open.size; i++) {
		const struct id_slot *s = &map->open.slots[i];
		struct fd_open *f = s->value;

		if (!f)
			continue;
		f->references++;
		fd_map_set(copy, (int)s->key, f, s->closes_on_exec);
	}
	return copy;
}

/* ---- the maps of tasks ---- */

struct fdtable *fdtable_new(void)
{
	return mem_zalloc(sizeof(struct fdtable));
}

void fdtable_free(struct fdtable *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->maps.size; i++)
		if (t->maps.slots[i].value)
			fd_map_unref(t->maps.slots[i].value);
	mem_free(t->maps.slots);
	mem_free(t);
}

/* NULL = the task has none. */
static struct fd_map *fd_map_find(const struct fdtable *t, uint32_t task)
{
	return id_map_find(&t->maps, task);
}

/* Takes over the caller's reference to the map. */
static void set_owner(struct fdtable *t, uint32_t task, struct fd_map *map)
{
	struct fd_map *old = fd_map_find(t, task);

	if (old)
		fd_map_unref(old);
	id_map_set(&t->maps, task, map);
}

static struct fd_map *fd_map_of(struct fdtable *t, uint32_t task)
{
	struct fd_map *map = fd_map_find(t, task);

	if (!map) {
		map = mem_zalloc(sizeof(*map));
		map->references = 1;
		id_map_set(&t->maps, task, map);
	}
	return map;
}

void fdtable_exit(struct fdtable *t, uint32_t task)
{
	struct fd_map *map = fd_map_find(t, task);

	if (!map)
		return;
	fd_map_unref(map);
	id_map_remove(&t->maps, task);
}

void fdtable_fork(struct fdtable *t, uint32_t parent, uint32_t child, bool shares)
{
	struct fd_map *map;

	if (parent == child)
		return;
	map = fd_map_of(t, parent);
	if (shares)
		map->references++;
	set_owner(t, child, shares ? map : fd_map_copy(map));
}

void fdtable_unshare(struct fdtable *t, uint32_t task)
{
	struct fd_map *map = fd_map_find(t, task);

	if (map && map->references > 1)
		set_owner(t, task, fd_map_copy(map));
}

void fdtable_mark_shared(struct fdtable *t, uint32_t task)
{
	const struct fd_map *map = fd_map_find(t, task);

	for (size_t i = 0; map && i < map->open.size; i++) {
		struct fd_open *f = map->open.slots[i].value;

		if (f)
			f->is_shared = true;
	}
}

void fdtable_rename(struct fdtable *t, uint32_t file, uint32_t becomes)
{
	for (size_t i = 0; i < t->maps.size; i++) {
		const struct fd_map *map = t->maps.slots[i].value;

		for (size_t k = 0; map && k < map->open.size; k++) {
			struct fd_open *f = map->open.slots[k].value;

			if (f && f->file == file)
				f->file = becomes;
		}
	}
}

void fdtable_exec(struct fdtable *t, uint32_t task)
{
	struct fd_map *map;

	fdtable_unshare(t, task);
	map = fd_map_find(t, task);
	for (size_t i = 0; map && i < map->open.size; i++)
		/* Removing an entry may move another one to this slot. */
		while (map->open.slots[i].value && map->open.slots[i].closes_on_exec)
			fd_map_remove(map, &map->open.slots[i]);
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
	fd_map_set(fd_map_of(t, task), fd, f, closes_on_exec);
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
	fd_map_set(fd_map_of(t, task), to, f, closes_on_exec);
}

void fdtable_close(struct fdtable *t, uint32_t task, int fd)
{
	struct fd_map *map = fd_map_find(t, task);

	if (map && id_map_find(&map->open, (uint32_t)fd))
		fd_map_remove(map, slot_of(&map->open, (uint32_t)fd));
}

void fdtable_close_range(struct fdtable *t, uint32_t task, unsigned first, unsigned last,
			 bool on_exec)
{
	struct fd_map *map = fd_map_find(t, task);

	for (size_t i = 0; map && i < map->open.size; i++) {
		struct id_slot *s = &map->open.slots[i];

		while (s->value && s->key >= first && s->key <= last) {
			if (on_exec) {
				s->closes_on_exec = true;
				break;
			}
			fd_map_remove(map, s);
		}
	}
}

void fdtable_close_on_exec(struct fdtable *t, uint32_t task, int fd, bool is_on)
{
	struct fd_map *map = fd_map_find(t, task);

	if (map && id_map_find(&map->open, (uint32_t)fd))
		slot_of(&map->open, (uint32_t)fd)->closes_on_exec = is_on;
}

struct fd_open *fdtable_find(struct fdtable *t, uint32_t task, int fd)
{
	const struct fd_map *map = fd_map_find(t, task);

	return map ? id_map_find(&map->open, (uint32_t)fd) : NULL;
}

/* ---- positions ---- */

static void set_last_move(struct fd_open *f, uint32_t tid, uint64_t end_ns)
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
	set_last_move(f, tid, end_ns);
	return at;
}

void fd_open_seek(struct fd_open *f, uint32_t tid, uint64_t end_ns, uint64_t position)
{
	f->position = position;
	f->is_position_known = true;
	set_last_move(f, tid, end_ns);
}

/* ---- system calls and C functions by name ---- */

/* Longer than any name with a prefix and suffix. */
enum { NAME_MAX_BYTES = 48 };

/* Sorted by strcmp. */
/* clang-format off */
static const struct call known_calls[] = {
	{ "access", CALL_IGNORED, TRACE_NONE, false },
	{ "chdir", CALL_IGNORED, TRACE_NONE, false },
	{ "clone", CALL_FORK, TRACE_FORK, false },
	{ "clone3", CALL_FORK, TRACE_FORK, false },
	{ "close", CALL_CLOSE, TRACE_CLOSE, false },
	{ "closedir", CALL_CLOSE, TRACE_CLOSE, false },
	{ "creat", CALL_OPEN, TRACE_OPEN, false },
	{ "dup", CALL_DUP, TRACE_NONE, false },
	{ "dup2", CALL_DUP, TRACE_NONE, false },
	{ "dup3", CALL_DUP, TRACE_NONE, false },
	{ "faccessat", CALL_IGNORED, TRACE_NONE, false },
	{ "faccessat2", CALL_IGNORED, TRACE_NONE, false },
	{ "fadvise", CALL_AT, TRACE_ADVISE, false },
	{ "fallocate", CALL_AT, TRACE_ALLOCATE, false },
	{ "fchdir", CALL_IGNORED, TRACE_NONE, false },
	{ "fclose", CALL_CLOSE, TRACE_CLOSE, true },
	{ "fcntl", CALL_IGNORED, TRACE_NONE, false },
	{ "fdatasync", CALL_FILE, TRACE_FDATASYNC, false },
	{ "fdopen", CALL_IGNORED, TRACE_NONE, true },
	{ "feof", CALL_IGNORED, TRACE_NONE, true },
	{ "fflush", CALL_IGNORED, TRACE_NONE, true },
	{ "fgetxattr", CALL_IGNORED, TRACE_NONE, false },
	{ "fileno", CALL_IGNORED, TRACE_NONE, true },
	{ "flistxattr", CALL_IGNORED, TRACE_NONE, false },
	{ "flock", CALL_IGNORED, TRACE_NONE, false },
	{ "fopen", CALL_OPEN, TRACE_OPEN, true },
	{ "fork", CALL_FORK, TRACE_FORK, false },
	{ "fread", CALL_TRANSFER, TRACE_READ, true },
	{ "freopen", CALL_OPEN, TRACE_OPEN, true },
	{ "fseek", CALL_SEEK, TRACE_NONE, true },
	{ "fseeko", CALL_SEEK, TRACE_NONE, true },
	{ "fstat", CALL_FILE, TRACE_STAT, false },
	{ "fstatat", CALL_FILE, TRACE_STAT, false },
	{ "fstatfs", CALL_IGNORED, TRACE_NONE, false },
	{ "fsync", CALL_FILE, TRACE_FSYNC, false },
	{ "ftell", CALL_IGNORED, TRACE_NONE, true },
	{ "ftello", CALL_IGNORED, TRACE_NONE, true },
	{ "fwrite", CALL_TRANSFER, TRACE_WRITE, true },
	{ "getcwd", CALL_IGNORED, TRACE_NONE, false },
	{ "getdents", CALL_FILE, TRACE_GETDENTS, false },
	{ "getxattr", CALL_IGNORED, TRACE_NONE, false },
	{ "ioctl", CALL_IGNORED, TRACE_NONE, false },
	{ "lgetxattr", CALL_IGNORED, TRACE_NONE, false },
	{ "listxattr", CALL_IGNORED, TRACE_NONE, false },
	{ "llistxattr", CALL_IGNORED, TRACE_NONE, false },
	{ "llseek", CALL_SEEK, TRACE_NONE, false },
	{ "lseek", CALL_SEEK, TRACE_NONE, false },
	{ "lstat", CALL_FILE, TRACE_STAT, false },
	{ "mkdir", CALL_FILE, TRACE_MKDIR, false },
	{ "mkdirat", CALL_FILE, TRACE_MKDIR, false },
	{ "mmap", CALL_AT, TRACE_MMAP, false },
	{ "msync", CALL_IGNORED, TRACE_NONE, false },
	{ "munmap", CALL_IGNORED, TRACE_NONE, false },
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
	{ "read", CALL_TRANSFER, TRACE_READ, false },
	{ "readahead", CALL_AT, TRACE_ADVISE, false },
	{ "readdir", CALL_IGNORED, TRACE_NONE, false },
	{ "readlink", CALL_IGNORED, TRACE_NONE, false },
	{ "readlinkat", CALL_IGNORED, TRACE_NONE, false },
	{ "readv", CALL_TRANSFER, TRACE_READ, false },
	{ "remove", CALL_FILE, TRACE_UNLINK, false },
	{ "rename", CALL_RENAME, TRACE_RENAME, false },
	{ "renameat", CALL_RENAME, TRACE_RENAME, false },
	{ "renameat2", CALL_RENAME, TRACE_RENAME, false },
	{ "rewind", CALL_SEEK, TRACE_NONE, true },
	{ "rewinddir", CALL_IGNORED, TRACE_NONE, false },
	{ "rmdir", CALL_FILE, TRACE_RMDIR, false },
	{ "stat", CALL_FILE, TRACE_STAT, false },
	{ "statfs", CALL_IGNORED, TRACE_NONE, false },
	{ "statx", CALL_FILE, TRACE_STAT, false },
	{ "unlink", CALL_FILE, TRACE_UNLINK, false },
	{ "unlinkat", CALL_FILE, TRACE_UNLINK, false },
	{ "vfork", CALL_FORK, TRACE_FORK, false },
	{ "write", CALL_TRANSFER, TRACE_WRITE, false },
	{ "writev", CALL_TRANSFER, TRACE_WRITE, false },
};
/* clang-format on */

COMPARE_BY_TEXT(compare_names, struct call, name)

static const struct call *find_exact(const char *name)
{
	const struct call key = { .name = name };

	return bsearch(&key, known_calls, ARRAY_LEN(known_calls), sizeof(*known_calls),
		       compare_names);
}

const struct call *call_find(const char *name)
{
	static const char *const prefixes[] = {
		"sys_enter_", "sys_exit_", "__x64_sys_", "sys_", "__x", "_",
	};
	const struct call *call = find_exact(name);
	char plain[NAME_MAX_BYTES];
	int n;

	if (call)
		return call;
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
			name += strlen(prefixes[i]);
			break;
		}
	/* The C library's __lxstat and __fxstatat are lstat and fstatat. */
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

/* ---- the calls of an import ---- */

/* A smaller time is not counted from 1970 (this is in 1973), but from the boot of the host. */
#define UNIX_MIN_NS (UINT64_C(100000000) * NS_PER_S)

struct calls {
	struct importing *m;
	bool is_in_order;
	struct fdtable *by_fd;
	/* Logs without descriptors: the id of a name takes the place of a descriptor. */
	struct fdtable *by_name;
	/* Calls left out, since neither a name nor a descriptor identifies the file. */
	struct importing nameless;
	uint64_t nameless_count;
	uint64_t unsized_count; /* reads and writes of unknown size */
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

/* ---- open files ---- */

static bool is_fd(int64_t fd)
{
	return fd >= 0 && fd <= INT32_MAX;
}

/* The open file of a descriptor or name; NULL = unknown file. */
static struct fd_open *find_by(struct fdtable *t, uint32_t pid, int fd, uint32_t file)
{
	struct fd_open *f = fdtable_find(t, pid, fd);

	if (!file || (f && f->file == file))
		return f;
	/* The log does not have the open. */
	f = fdtable_open(t, pid, fd, file, false, false);
	f->is_position_known = false;
	return f;
}

static void apply_open(struct calls *c, const struct call_event *s)
{
	bool has_flags = s->flags != TRACE_UNKNOWN;
	bool appends = has_flags && (s->flags & O_APPEND), is_second;
	struct fd_open *f;

	if (!s->file || s->file > INT32_MAX || (s->has_result && s->result < 0))
		return;
	/* If a file is open twice, the log does not tell which open file a call reads. */
	is_second = fdtable_find(c->by_name, s->pid, (int)s->file);
	f = fdtable_open(c->by_name, s->pid, (int)s->file, s->file, appends, false);
	f->is_position_known = !is_second;
	if (s->has_result && is_fd(s->result))
		fdtable_open(c->by_fd, s->pid, (int)s->result, s->file, appends,
			     has_flags && (s->flags & O_CLOEXEC));
}

static uint64_t end_of(const struct call_event *s)
{
	return s->start_ns + (s->duration_ns == TRACE_UNKNOWN ? 0 : s->duration_ns);
}

static void apply_seek(struct fd_open *f, const struct call_event *s)
{
	uint64_t to = TRACE_UNKNOWN;

	if (s->has_result && s->result < 0)
		return;
	/* fseek returns 0, lseek the position. */
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

static void apply_fork(struct calls *c, const struct call_event *s)
{
	uint32_t child = (uint32_t)s->result;
	uint64_t pids[] = { child, s->pid };

	if (!s->has_result || s->result <= 0 || s->result > UINT32_MAX)
		return;
	if (c->is_in_order) {
		fdtable_fork(c->by_fd, s->pid, child, false);
		fdtable_fork(c->by_name, s->pid, child, false);
	}
	trace_fill_entry(c->m->fill, TRACE_PROCESS, pids, ARRAY_LEN(pids), "");
}

/* ---- the record ---- */

static int add_record(struct calls *c, const struct call *k, const struct call_event *s,
		      struct fd_open *f, struct mlgen_err *err)
{
	uint64_t clock = c->m->clock_offset_ns;
	bool is_read_or_write = k->op == TRACE_READ || k->op == TRACE_WRITE;
	bool has_no_length = k->kind == CALL_CLOSE || k->kind == CALL_RENAME ||
			     k->kind == CALL_FORK || (k->kind == CALL_FILE && k->op != TRACE_STAT);
	struct trace_record to = {
		.start_ns = s->start_ns > clock ? s->start_ns - clock : 0,
		.duration_ns = s->duration_ns,
		.off = k->kind == CALL_AT ? s->off : TRACE_UNKNOWN,
		.len_bytes = k->kind == CALL_OPEN ? s->flags : s->bytes,
		.cpu_ns = TRACE_UNKNOWN,
		.pid = s->pid,
		.tid = s->tid,
		.file = f ? f->file : s->file,
		.op = k->op,
	};

	if (k->op == TRACE_UNLINK && s->flags != TRACE_UNKNOWN && (s->flags & AT_REMOVEDIR))
		to.op = TRACE_RMDIR;
	if (to.len_bytes == TRACE_UNKNOWN && is_read_or_write && s->has_result && s->result >= 0)
		to.len_bytes = (uint64_t)s->result;
	else if (to.len_bytes == TRACE_UNKNOWN && has_no_length)
		to.len_bytes = 0;
	if (s->has_result)
		to.result = s->result;
	else if (is_read_or_write && s->bytes <= INT64_MAX)
		to.result = (int64_t)s->bytes;
	/* Other positive results, such as a descriptor, have no meaning in a trace. */
	if (!is_read_or_write && k->op != TRACE_MMAP && k->op != TRACE_FORK && to.result > 0)
		to.result = 0;
	c->unsized_count += is_read_or_write && to.len_bytes == TRACE_UNKNOWN;
	if (k->kind == CALL_RENAME && s->becomes)
		to.off = s->becomes;
	if (k->kind == CALL_TRANSFER && f && to.result >= 0) {
		to.off = fd_open_advance(f, s->tid, s->start_ns, end_of(s), (uint64_t)to.result,
					 k->op == TRACE_WRITE, &to.flags);
		if (to.flags & TRACE_OFF_INEXACT)
			c->m->tally.inexact++;
		else if (to.flags & TRACE_OFF_INFERRED)
			c->m->tally.inferred++;
	}
	return trace_fill_add(c->m->fill, &to, err);
}

int calls_add(struct calls *c, const struct call *k, const struct call_event *s,
	      struct mlgen_err *err)
{
	struct fd_open *f = NULL;
	uint32_t file;
	int rc = 0;

	if (k->kind == CALL_IGNORED)
		return 0;
	/* A call on a path needs no open file. */
	if (k->kind == CALL_CLOSE || k->kind == CALL_TRANSFER || k->kind == CALL_AT ||
	    k->kind == CALL_SEEK || (k->kind == CALL_FILE && !s->file)) {
		if (is_fd(s->fd))
			f = find_by(c->by_fd, s->pid, (int)s->fd, s->file);
		else if (s->file && s->file <= INT32_MAX)
			f = find_by(c->by_name, s->pid, (int)s->file, s->file);
	}
	if (!f && !s->file && k->kind != CALL_DUP && k->kind != CALL_FORK) {
		import_count_unknown(&c->nameless, k->name);
		c->nameless_count++;
		return 0;
	}
	if (k->op != TRACE_NONE)
		rc = add_record(c, k, s, f, err);
	file = f ? f->file : s->file;
	switch (k->kind) {
	case CALL_OPEN:
		apply_open(c, s);
		break;
	case CALL_CLOSE:
		if (is_fd(s->fd))
			fdtable_close(c->by_fd, s->pid, (int)s->fd);
		if (file && file <= INT32_MAX)
			fdtable_close(c->by_name, s->pid, (int)file);
		break;
	case CALL_SEEK:
		if (f)
			apply_seek(f, s);
		break;
	case CALL_DUP:
		if (is_fd(s->fd) && s->has_result && is_fd(s->result))
			fdtable_dup(c->by_fd, s->pid, (int)s->fd, (int)s->result, false);
		break;
	case CALL_FORK:
		apply_fork(c, s);
		break;
	default:
		break;
	}
	return rc;
}

bool calls_has_fd(const struct calls *c, uint32_t pid, int64_t fd)
{
	return is_fd(fd) && fdtable_find(c->by_fd, pid, (int)fd);
}

void calls_add_notes(struct calls *c)
{
	uint64_t first_ns, last_ns;
	struct buf names = { 0 };

	import_list_unknown(&c->nameless.tally, &names);
	if (c->nameless_count)
		import_note(c->m,
			    "calls on descriptors without a name in the log, such as pipes, are "
			    "left out: %s",
			    buf_str(&names));
	if (c->unsized_count)
		import_note(
			c->m,
			"%" PRIu64
			" read%s or writes of unknown size: the log does not contain their bytes",
			c->unsized_count, plural(c->unsized_count));
	/* Some logs count from the boot of the host, or from their own start. */
	if (trace_fill_span(c->m->fill, &first_ns, &last_ns) && first_ns < UNIX_MIN_NS)
		c->m->no_clock = "the log's times are not times of day";
	buf_fini(&names);
}
