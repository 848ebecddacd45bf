/* SPDX-License-Identifier: Apache-2.0 */
/* found_file.h - a file of somebody else's: what a format's look finds in it, and the plan that
 * reads it. */
#pragma once

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/file/file.h"
#include "data/scan/scan.h"

struct found {
	struct look look;
	struct namefile words;
	struct mlgen_err err;
	struct file_shape shape;
	int result; /* of format->look */
};

/* The file of this path is looked at. */
static inline void found_path(struct found *f, const struct format *format, const char *path,
			      uint64_t bytes, const struct format_options *options)
{
	memset(f, 0, sizeof(*f));
	f->look.fd = -1;
	f->result = namefile_open(&f->words, NULL, &f->err);
	if (f->result == 0)
		f->result = look_init(&f->look, &f->words, &f->err);
	f->look.options = options;
	if (f->result == 0)
		f->result = look_open(&f->look, AT_FDCWD, path, path, bytes);
	if (f->result == 0 && format->look)
		f->result = format->look(&f->look);
	f->shape = (struct file_shape){ .samples = f->look.samples,
					.facts = f->look.facts,
					.scanned_bytes = f->look.file_bytes };
}

static inline void scanned_fini(struct found *f)
{
	look_fini(&f->look);
	namefile_close(&f->words);
}

/* A file in memory of these bytes, under a name that can be opened. */
static inline int found_make(const void *data, size_t bytes, char name[64])
{
	int fd = memfd_create("found", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		return -1;
	snprintf(name, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/* plan_init of it, without the dataset that it belongs to. */
static inline void found_plan(const struct found *f, const struct format *format,
			      const struct plan_config *config, struct plan *p)
{
	const struct extent x = { .samples = 1 };

	*p = (struct plan){ .config = config,
			    .kind = format->framework[0],
			    .extent = x,
			    .shape = f->shape,
			    .file_bytes = f->shape.scanned_bytes };
	p->kind->init(p, &p->shape, &x);
}

/* One of its operations, as plan_text.h writes them. */
static inline void found_text(const struct plan *p, const struct plan_op *op, char *out,
			      size_t size)
{
	uint64_t there = op->off < p->file_bytes ? p->file_bytes - op->off : 0;
	size_t n = strlen(out);
	const char *space = n ? " " : "";

	if (op->op != MLGEN_READ)
		snprintf(out + n, size - n, "%s%s", space,
			 op->op == MLGEN_OPEN   ? "open"
			 : op->op == MLGEN_STAT ? "stat"
						: "close");
	else if (op->len_bytes <= there)
		snprintf(out + n, size - n, "%s%" PRIu64 "@%" PRIu64, space, op->len_bytes,
			 op->off);
	else
		snprintf(out + n, size - n, "%s%" PRIu64 "@%" PRIu64 "=%" PRIu64, space,
			 op->len_bytes, op->off, there);
}
