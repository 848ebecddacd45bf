/* SPDX-License-Identifier: Apache-2.0 */
/* uring_scene.h - the io_uring engine without an io layer, and a file for it. */
#pragma once

#include "engine_rig.h"

#define BLOCK 4096u
#define BUF_BYTES (16 * BLOCK)

/* An engine with its options, and a file of rig_byte in a directory. */
struct scene {
	struct bare_rig b;
	struct rig r; /* only dir, path */
	struct mlgen_file file;
};

static inline bool scene_init(struct scene *s, const char *const *options, unsigned depth,
			      unsigned files, uint64_t bytes)
{
	memset(s, 0, sizeof(*s));
	bare_prepare(&s->b, "io_uring", options, depth);
	bare_buffer(&s->b, BUF_BYTES);
	s->b.ctx.files = files;
	if (!bare_init(&s->b))
		return false;
	rig_file(&s->r, bytes, O_RDONLY);
	close(s->r.file.fd);
	s->file = (struct mlgen_file){ .path = s->r.path, .fd = -1, .flags = O_RDONLY };
	return true;
}

static inline void scene_end(struct scene *s)
{
	bare_end(&s->b);
	unlink(s->r.path);
	ck_assert_int_eq(rmdir(s->r.dir), 0);
}

static inline struct mlgen_io an_op(enum mlgen_op kind, struct mlgen_file *file)
{
	return (struct mlgen_io){ .op = kind, .file = file };
}

static inline int64_t one(struct scene *s, enum mlgen_op kind, struct mlgen_file *file)
{
	struct mlgen_io op = an_op(kind, file);

	return bare_do(&s->b, &op);
}

/* All that were accepted come back. */
static inline void reap_all(struct scene *s, unsigned n)
{
	struct mlgen_io *done[16];

	while (n > 0) {
		int rc = s->b.engine->reap(&s->b.ctx, done, 1, n, UINT64_MAX);

		ck_assert_int_gt(rc, 0);
		n -= (unsigned)rc;
	}
}

static inline void check_open(const struct mlgen_file *file, bool in_table, bool by_fd)
{
	ck_assert_int_eq(file->word != 0, in_table);
	ck_assert_int_eq(file->fd >= 0, by_fd);
}
