/* SPDX-License-Identifier: Apache-2.0 */
/* npy_look.c - arrays in files that somebody else has written, alone or with a twin. */
#include "data/formats/formats_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "data/file/file.h"
#include "data/scan/scan.h"

int npy_array_look(struct look *l, uint64_t labels, struct npy_array *a)
{
	struct npy_head h = { 0 };
	int r = npy_head_look(l, 0, l->file_bytes, &h);

	if (r)
		return r;
	a->data_off = h.header_bytes;
	a->data_bytes = h.items * h.item_bytes;
	a->file_bytes = l->file_bytes;
	a->samples = a->data_bytes ? npy_head_samples(&h) : 0;
	if (a->data_bytes && labels && h.axes == 1 && h.first_axis == labels)
		a->samples = labels;
	return 0;
}

/* Its path goes to `path`. */
static int name_twin(struct look *l, char path[PATH_MAX])
{
	struct namepair pair;
	int r = -EINVAL;

	if (namepair_parse(&pair, l->options->scan_pair))
		r = namepair_twin(&pair, l->path, path, PATH_MAX);
	return r < 0 ? mlgen_fail(l->err, r, "%s: scan_pair=%s gives it no twin: %s", l->path,
				  l->options->scan_pair, strerror(-r))
		     : 0;
}

static int open_twin(struct look *l, const char *first, const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return mlgen_fail(l->err, -errno,
				  "%s: %s; it is the twin of %s by scan_pair=", path,
				  strerror(errno), first);
	if (!S_ISREG(st.st_mode))
		return mlgen_fail(l->err, -EINVAL,
				  "%s: is no file; it is the twin of %s by scan_pair=", path,
				  first);
	return look_open(l, AT_FDCWD, path, path, (uint64_t)st.st_size);
}

static int look_at_twin(struct look *l, const char *first, uint64_t samples, struct npy_array *a)
{
	int r = npy_array_look(l, samples > 1 ? samples : 0, a);

	if (r || a->samples == samples)
		return r;
	return mlgen_fail(l->err, -EINVAL,
			  "%s: has %" PRIu64 " samples, and its twin %s has %" PRIu64
			  "; by scan_pair= both have as many",
			  first, samples, l->path, a->samples);
}

int npy_twin_look(struct look *l, struct npy_array *a)
{
	const char *first = l->path;
	char path[PATH_MAX];
	int r = name_twin(l, path);

	look_close(l);
	if (r == 0)
		r = open_twin(l, first, path);
	if (r == 0)
		r = look_at_twin(l, first, a->samples, a);
	l->path = first;
	return r;
}
