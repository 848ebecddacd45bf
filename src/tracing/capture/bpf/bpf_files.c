/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_files.c - see bpf_files.h. */
#include "tracing/capture/bpf/bpf_files.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/buf.h"
#include "base/mem.h"

struct inode_slot {
	uint64_t ino;
	uint32_t dev, id; /* id 0 = free */
	char *directory;  /* its path, where it is one */
};

struct bpf_files {
	struct trace_writer *writer;
	struct inode_slot *slots;
	size_t size, used; /* size: a power of two */
	/* Of a name the slot's inode, for renames: by id. */
	struct inode_of {
		uint64_t ino;
		uint32_t dev;
	} * inode_of;
	size_t inode_room;
	uint32_t last_id;
	struct buf path; /* kept for its memory */
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

/* Where this inode is, or would go. */
static struct inode_slot *find_slot(const struct bpf_files *f, uint32_t dev, uint64_t ino)
{
	uint64_t key = (ino ^ (uint64_t)dev << 40) * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (size_t)(key >> 20) & (f->size - 1);

	while (f->slots[at].id && (f->slots[at].ino != ino || f->slots[at].dev != dev))
		at = (at + 1) & (f->size - 1);
	return &f->slots[at];
}

static void bpf_files_grow(struct bpf_files *f)
{
	struct inode_slot *old = f->slots;
	size_t size = f->size;

	f->size = 2 * size;
	f->slots = mem_array(f->size, sizeof(*f->slots));
	for (size_t i = 0; i < size; i++)
		if (old[i].id)
			*find_slot(f, old[i].dev, old[i].ino) = old[i];
	mem_free(old);
}

static void bpf_files_remember(struct bpf_files *f, uint32_t id, uint32_t dev, uint64_t ino)
{
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
}

static struct inode_slot *bpf_files_put(struct bpf_files *f, uint32_t dev, uint64_t ino,
					uint32_t id)
{
	struct inode_slot *s = find_slot(f, dev, ino);

	if (!s->id && ++f->used > f->size / 2) {
		bpf_files_grow(f);
		s = find_slot(f, dev, ino);
	}
	s->ino = ino;
	s->dev = dev;
	s->id = id;
	bpf_files_remember(f, id, dev, ino);
	return s;
}

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

/* "leaf\0folder\0" as /folder/leaf. */
static void join_names(struct buf *to, const struct capture_name *n, size_t bytes)
{
	size_t end = bytes;

	buf_reset(to);
	if (n->more & EVENT_IS_CUT)
		buf_add(to, "...");
	while (end) {
		size_t at = end - 1; /* its 0 */

		while (at && n->text[at - 1])
			at--;
		/* What has no tree, such as memory, begins with one, too. */
		if (n->text[at] != '/')
			buf_addc(to, '/');
		buf_addn(to, n->text + at, end - 1 - at);
		end = at;
	}
	if (!bytes)
		buf_addc(to, '/');
	if (n->more & EVENT_IS_DELETED)
		buf_add(to, " (deleted)");
}

void files_name(struct bpf_files *f, const struct capture_name *n)
{
	uint64_t known[4] = {
		n->size_bytes,
		makedev(n->dev >> 20, n->dev & 0xfffff),
		n->ino,
		n->generation,
	};
	struct inode_slot *s;
	uint32_t id;

	join_names(&f->path, n, n->text_bytes);
	id = name_id(f, buf_str(&f->path), f->path.len, known);
	s = bpf_files_put(f, n->dev, n->ino, id);
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
	bpf_files_put(f, dev, ino, id);
	return id;
}

/* ---- names from programs ---- */

/* Cuts the last part off. */
static void go_up(struct buf *path)
{
	const char *slash = memrchr(buf_str(path), '/', path->len);

	buf_cut(path, slash ? (size_t)(slash - path->s) : 0);
}

/* Part by part, as the kernel goes, but for links. */
static void add_parts(struct buf *path, const char *text, size_t bytes)
{
	while (bytes) {
		const char *slash = memchr(text, '/', bytes);
		size_t part = slash ? (size_t)(slash - text) : bytes;

		if (part == 2 && text[0] == '.' && text[1] == '.') {
			go_up(path);
		} else if (part && !(part == 1 && text[0] == '.')) {
			buf_addc(path, '/');
			buf_addn(path, text, part);
		}
		part += slash ? 1 : 0;
		text += part;
		bytes -= part;
	}
}

uint32_t files_path(struct bpf_files *f, uint32_t dev, uint64_t ino, const char *text, size_t bytes)
{
	const char *from = ino ? find_slot(f, dev, ino)->directory : NULL;

	buf_reset(&f->path);
	if (from && strcmp(from, "/") != 0)
		buf_add(&f->path, from);
	if (ino && !from) { /* nobody knows where */
		buf_addn(&f->path, text, bytes);
		return bytes ? name_id(f, buf_str(&f->path), bytes, NULL) : 0;
	}
	add_parts(&f->path, text, bytes);
	if (!f->path.len)
		buf_addc(&f->path, '/');
	return name_id(f, buf_str(&f->path), f->path.len, NULL);
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
		return; /* that name was another's meanwhile */
	f->inode_of[from] = (struct inode_of){ 0 };
	bpf_files_put(f, i.dev, i.ino, to);
}

uint32_t files_text(struct bpf_files *f, const char *text)
{
	return name_id(f, text, strlen(text), NULL);
}

uint64_t files_count(const struct bpf_files *f)
{
	return f->last_id;
}
