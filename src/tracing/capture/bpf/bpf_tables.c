/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_tables.c - lookups of the files, tasks, mappings and disks that events refer to by number. */
#include "tracing/capture/bpf/bpf.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "io/host.h"
#include "tracing/capture/capture.h"

/* ---- files ---- */

struct inode_slot {
	uint64_t ino;
	uint32_t dev, id; /* id 0 = free */
	char *directory;  /* its path; NULL = not a directory */
};

struct bpf_files {
	struct trace_writer *writer;
	struct inode_slot *slots;
	size_t size, used; /* size: a power of two */
	/* The inode of each name, by id, for renames. */
	struct inode_of {
		uint64_t ino;
		uint32_t dev;
	} * inode_of;
	size_t inode_room;
	uint32_t last_id;
	struct buf path; /* reused, to save allocations */
};

struct bpf_files *files_new(struct trace_writer *writer)
{
	struct bpf_files *f = mem_zalloc(sizeof(*f));

	f->writer = writer;
	f->size = 1024;
	f->slots = mem_array(f->size, sizeof(*f->slots));
	return f;
}

void files_free(struct bpf_files *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->size; i++)
		mem_free(f->slots[i].directory);
	mem_free(f->slots);
	mem_free(f->inode_of);
	buf_fini(&f->path);
	mem_free(f);
}

/* The slot of this inode, or the free slot for it. */
static struct inode_slot *find_slot(const struct bpf_files *f, uint32_t dev, uint64_t ino)
{
	uint64_t key = (ino ^ (uint64_t)dev << 40) * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (size_t)(key >> 20) & (f->size - 1);

	while (f->slots[at].id && (f->slots[at].ino != ino || f->slots[at].dev != dev))
		at = (at + 1) & (f->size - 1);
	return &f->slots[at];
}

/* Set the name of an inode. */
static struct inode_slot *set_name(struct bpf_files *f, uint32_t dev, uint64_t ino, uint32_t id)
{
	struct inode_slot *s = find_slot(f, dev, ino);

	if (!s->id && ++f->used > f->size / 2) {
		struct inode_slot *old = f->slots;
		size_t size = f->size;

		f->size = 2 * size;
		f->slots = mem_array(f->size, sizeof(*f->slots));
		for (size_t i = 0; i < size; i++)
			if (old[i].id)
				*find_slot(f, old[i].dev, old[i].ino) = old[i];
		mem_free(old);
		s = find_slot(f, dev, ino);
	}
	s->ino = ino;
	s->dev = dev;
	s->id = id;
	if (id >= f->inode_room) {
		size_t room = f->inode_room ? 2 * f->inode_room : 1024;

		while (room <= id)
			room *= 2;
		f->inode_of = mem_realloc(f->inode_of, room * sizeof(*f->inode_of));
		memset(f->inode_of + f->inode_room, 0,
		       (room - f->inode_room) * sizeof(*f->inode_of));
		f->inode_room = room;
	}
	f->inode_of[id] = (struct inode_of){ ino, dev };
	return s;
}

/* Write a name to the trace. `known`: size, device, inode and generation, or NULL. */
static uint32_t name_id(struct bpf_files *f, const char *text, size_t bytes,
			const uint64_t known[4])
{
	uint32_t id = known ? trace_writer_file(f->writer, text, bytes, known)
			    : trace_writer_name(f->writer, text, bytes);

	if (id > f->last_id)
		f->last_id = id;
	return id;
}

/* ---- names from the kernel ---- */

void files_name(struct bpf_files *f, const struct capture_name *n)
{
	uint64_t known[4] = {
		n->size_bytes,
		makedev(n->dev >> 20, n->dev & 0xfffff),
		n->ino,
		n->generation,
	};
	size_t end = n->text_bytes;
	struct inode_slot *s;
	uint32_t id;

	/* Turn "leaf\0folder\0" into "/folder/leaf". */
	buf_reset(&f->path);
	if (n->more & EVENT_IS_CUT)
		buf_add(&f->path, "...");
	while (end) {
		size_t at = end - 1; /* the zero */

		while (at && n->text[at - 1])
			at--;
		/* The name of a file without a tree, such as a memfd, may begin with a slash. */
		if (n->text[at] != '/')
			buf_addc(&f->path, '/');
		buf_addn(&f->path, n->text + at, end - 1 - at);
		end = at;
	}
	if (!n->text_bytes)
		buf_addc(&f->path, '/');
	if (n->more & EVENT_IS_DELETED)
		buf_add(&f->path, " (deleted)");

	id = name_id(f, buf_str(&f->path), f->path.len, known);
	s = set_name(f, n->dev, n->ino, id);
	mem_replace(&s->directory, S_ISDIR(n->mode) ? buf_str(&f->path) : NULL);
}

uint32_t files_known(struct bpf_files *f, uint32_t dev, uint64_t ino)
{
	return find_slot(f, dev, ino)->id;
}

uint32_t files_find(struct bpf_files *f, uint32_t dev, uint64_t ino)
{
	uint64_t known[4] = { TRACE_UNKNOWN, makedev(dev >> 20, dev & 0xfffff), ino,
			      TRACE_UNKNOWN };
	uint32_t id = files_known(f, dev, ino);
	char text[64];

	if (id)
		return id;
	int n = snprintf(text, sizeof(text), "(inode %" PRIu64 " of %u:%u)", ino, dev >> 20,
			 dev & 0xfffff);
	id = name_id(f, text, (size_t)n, known);
	set_name(f, dev, ino, id);
	return id;
}

/* ---- names from programs ---- */

uint32_t files_path(struct bpf_files *f, uint32_t dev, uint64_t ino, const char *text, size_t bytes)
{
	const char *from = ino ? find_slot(f, dev, ino)->directory : NULL;
	struct buf *path = &f->path;

	buf_reset(path);
	if (from && strcmp(from, "/") != 0)
		buf_add(path, from);
	if (ino && !from) { /* the path of the directory is not known */
		buf_addn(path, text, bytes);
		return bytes ? name_id(f, buf_str(path), bytes, NULL) : 0;
	}
	/* Resolve . and .., but not symbolic links. */
	while (bytes) {
		const char *slash = memchr(text, '/', bytes);
		size_t part = slash ? (size_t)(slash - text) : bytes;

		if (part == 2 && text[0] == '.' && text[1] == '.') {
			const char *last = memrchr(buf_str(path), '/', path->len);

			buf_cut(path, last ? (size_t)(last - path->s) : 0);
		} else if (part && !(part == 1 && text[0] == '.')) {
			buf_addc(path, '/');
			buf_addn(path, text, part);
		}
		part += slash ? 1 : 0;
		text += part;
		bytes -= part;
	}
	if (!path->len)
		buf_addc(path, '/');
	return name_id(f, buf_str(path), path->len, NULL);
}

void files_renamed(struct bpf_files *f, uint32_t from, uint32_t to)
{
	struct inode_of i;
	struct inode_slot *s;

	if (from >= f->inode_room || !f->inode_of[from].ino || from == to)
		return;
	i = f->inode_of[from];
	s = find_slot(f, i.dev, i.ino);
	if (s->id != from)
		return; /* the inode has another name by now */
	f->inode_of[from] = (struct inode_of){ 0 };
	set_name(f, i.dev, i.ino, to);
}

uint32_t files_text(struct bpf_files *f, const char *text)
{
	return name_id(f, text, strlen(text), NULL);
}

uint64_t files_count(const struct bpf_files *f)
{
	return f->last_id;
}

/* ---- tasks ---- */

#define BUCKETS 4096

struct task {
	struct task *next;
	uint32_t pid, parent;
	uint64_t start_ns;
	char *text; /* command line; NULL = not known */
};

struct bpf_tasks {
	struct trace_writer *writer;
	struct task *buckets[BUCKETS];
	uint64_t count;
};

struct bpf_tasks *tasks_new(struct trace_writer *writer)
{
	struct bpf_tasks *t = mem_zalloc(sizeof(*t));

	t->writer = writer;
	return t;
}

void tasks_free(struct bpf_tasks *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct task *k = t->buckets[i], *next; k; k = next) {
			next = k->next;
			mem_free(k->text);
			mem_free(k);
		}
	mem_free(t);
}

/* The pointer to a task, or the NULL pointer at the end of its bucket. */
static struct task **task_at(struct bpf_tasks *t, uint32_t pid)
{
	struct task **at = &t->buckets[pid % BUCKETS];

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	return at;
}

static const struct task *task_find(const struct bpf_tasks *t, uint32_t pid)
{
	const struct task *k = t->buckets[pid % BUCKETS];

	while (k && k->pid != pid)
		k = k->next;
	return k;
}

static void write_task(struct bpf_tasks *t, const struct task *k, uint64_t end_ns)
{
	struct trace_entry e = {
		.kind = TRACE_PROCESS,
		.number = { k->pid, k->parent ? k->parent : TRACE_UNKNOWN, k->start_ns, end_ns,
			    TRACE_UNKNOWN, TRACE_UNKNOWN },
		.text = k->text ? k->text : "",
	};

	e.text_bytes = strlen(e.text);
	trace_writer_entry(t->writer, &e);
}

static struct task *add_task(struct bpf_tasks *t, uint32_t pid, uint32_t parent, uint64_t start_ns)
{
	struct task **at = task_at(t, pid), *k = *at;

	if (!k) {
		k = mem_zalloc(sizeof(*k));
		*at = k;
	}
	t->count++;
	k->pid = pid;
	k->parent = parent;
	k->start_ns = start_ns;
	return k;
}

void tasks_started(struct bpf_tasks *t, uint32_t pid, uint32_t parent, uint64_t start_ns)
{
	const struct task *from = task_find(t, parent);
	struct task *k = add_task(t, pid, parent, start_ns);

	mem_replace(&k->text, from ? from->text : NULL);
	write_task(t, k, TRACE_UNKNOWN);
}

void tasks_add_running(struct bpf_tasks *t, uint32_t pid, uint32_t parent, uint64_t start_ns)
{
	struct task *k;

	if (task_find(t, pid))
		return; /* added for another thread of the process */
	k = add_task(t, pid, parent, start_ns);
	mem_free(k->text);
	k->text = capture_pid_command_line((pid_t)pid);
	write_task(t, k, TRACE_UNKNOWN);
}

void tasks_executed(struct bpf_tasks *t, uint32_t pid, const char *text, size_t bytes)
{
	struct task *k = *task_at(t, pid);

	if (!k)
		k = add_task(t, pid, 0, TRACE_UNKNOWN);
	mem_free(k->text);
	k->text = capture_join_words(text, bytes);
	write_task(t, k, TRACE_UNKNOWN);
}

void tasks_ended(struct bpf_tasks *t, uint32_t pid, uint64_t end_ns)
{
	struct task **at = task_at(t, pid), *k = *at;

	if (!k)
		return;
	write_task(t, k, end_ns);
	*at = k->next;
	mem_free(k->text);
	mem_free(k);
}

uint32_t tasks_parent(const struct bpf_tasks *t, uint32_t pid)
{
	const struct task *k = task_find(t, pid);

	return k ? k->parent : 0;
}

uint64_t tasks_count(const struct bpf_tasks *t)
{
	return t->count;
}

/* ---- mappings ---- */

#define SETS (1u << 14)
#define WAYS 4

struct mapping {
	uint64_t address, used;
	struct bpf_mapped_file file;
	uint32_t pid;
};

struct bpf_mapped {
	struct mapping at[SETS][WAYS];
	uint64_t clock;
};

struct bpf_mapped *mapped_new(void)
{
	return mem_zalloc(sizeof(struct bpf_mapped));
}

void mapped_free(struct bpf_mapped *m)
{
	mem_free(m);
}

static size_t set_of(uint32_t pid, uint64_t address)
{
	uint64_t key = (address ^ (uint64_t)pid << 44) * UINT64_C(0x9e3779b97f4a7c15);

	return key >> 50;
}

void mapped_add(struct bpf_mapped *m, uint32_t pid, uint64_t address, struct bpf_mapped_file f)
{
	struct mapping *set = m->at[set_of(pid, address)], *to = set;

	for (unsigned i = 0; i < WAYS; i++) {
		if (set[i].address == address && set[i].pid == pid) {
			to = &set[i];
			break;
		}
		if (set[i].used < to->used)
			to = &set[i];
	}
	*to = (struct mapping){ address, ++m->clock, f, pid };
}

struct bpf_mapped_file mapped_find(const struct bpf_mapped *m, uint32_t pid, uint64_t address)
{
	const struct mapping *set = m->at[set_of(pid, address)];

	for (unsigned i = 0; i < WAYS; i++)
		if (set[i].address == address && set[i].pid == pid)
			return set[i].file;
	return (struct bpf_mapped_file){ 0 };
}

/* ---- disks ---- */

#define MAX_DEPTH 4 /* levels of stacked devices */

struct disk_list {
	uint32_t *devs;
	size_t count, max;
};

static void add_disk(struct disk_list *l, uint32_t dev)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->devs[i] == dev)
			return;
	if (l->count < l->max)
		l->devs[l->count++] = dev;
}

/* The device in FOLDER/dev; 0 = none. */
static uint32_t device_in(const char *folder)
{
	unsigned major, minor;
	char line[64];

	if (sysfile_line(line, sizeof(line), folder, "/dev") ||
	    sscanf(line, "%u:%u", &major, &minor) != 2)
		return 0;
	return major << 20 | minor;
}

/* NOLINTNEXTLINE(misc-no-recursion): MAX_DEPTH at most */
static void add_folder(struct disk_list *l, const char *folder, int depth)
{
	char path[PATH_MAX], inner[PATH_MAX];
	DIR *slaves;

	if (snprintf(path, sizeof(path), "%s/slaves", folder) >= (int)sizeof(path))
		return;
	add_disk(l, device_in(folder));
	slaves = depth ? opendir(path) : NULL;
	if (!slaves)
		return;
	for (struct dirent *d; (d = readdir(slaves));) {
		if (d->d_name[0] == '.' || snprintf(inner, sizeof(inner), "/sys/class/block/%s",
						    d->d_name) >= (int)sizeof(inner))
			continue;
		add_disk(l, device_in(inner));
		if (realpath(inner, path))
			add_folder(l, path, depth - 1);
	}
	closedir(slaves);
}

size_t disks_below(uint32_t dev, uint32_t *disks, size_t max)
{
	struct disk_list l = { disks, 0, max };
	char link[64], folder[PATH_MAX], part[PATH_MAX + 16];

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", dev >> 20, dev & 0xfffff);
	if (!realpath(link, folder))
		return 0;
	snprintf(part, sizeof(part), "%s/partition", folder);
	if (access(part, F_OK) == 0) {
		char *slash = strrchr(folder, '/');

		if (slash)
			*slash = '\0';
	}
	add_folder(&l, folder, MAX_DEPTH);
	return l.count;
}

void disk_name(char *out, size_t bytes, uint32_t dev)
{
	char link[64], folder[PATH_MAX];
	const char *slash = NULL;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", dev >> 20, dev & 0xfffff);
	if (realpath(link, folder))
		slash = strrchr(folder, '/');
	if (slash)
		snprintf(out, bytes, "/dev/%s", slash + 1);
	else
		snprintf(out, bytes, "(disk %u:%u)", dev >> 20, dev & 0xfffff);
}
