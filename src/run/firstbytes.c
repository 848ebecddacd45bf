/* SPDX-License-Identifier: Apache-2.0 */
/* firstbytes.c - does a file begin as its format does. */
#include "run/firstbytes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/filekind.h"
#include "data/file/file.h"
#include "io/pagecache.h"

/* So many bytes are compared, and shown. */
#define MAGIC_MAX 16

static void put_bytes(char *out, size_t size, const unsigned char *bytes, size_t n)
{
	size_t len = 0;

	*out = '\0';
	for (size_t i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%02x", i ? " " : "", bytes[i]);
}

/* Its first bytes into `out`, without what a kernel would read ahead. The number of them, or
 * -errno. */
static int read_first(struct crew_worker *w, struct mlgen_file *file, unsigned char out[MAGIC_MAX],
		      size_t n)
{
	struct io_op advise = {
		.io = { .op = MLGEN_ADVISE, .file = file, .advice = POSIX_FADV_RANDOM }
	};
	struct io_op op = { .io = { .op = MLGEN_READ, .file = file, .len_bytes = n },
			    .eof_ok = true };
	size_t bytes;
	int r;

	io_do(w->io, &advise); /* what fails costs only memory */
	r = (int)io_do(w->io, &op);
	if (r >= 0)
		memcpy(out, io_buffer(w->io, &bytes), n);
	return r < 0 ? r : (int)op.done_bytes;
}

/* Opens w->path for it; *op is what failed. */
static int first_bytes(struct crew_worker *w, unsigned char out[MAGIC_MAX], size_t n,
		       enum mlgen_op *op)
{
	struct mlgen_file file = { .path = w->path,
				   .fd = -1,
				   .flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC };
	int r = crew_do(w, MLGEN_OPEN, &file);

	*op = MLGEN_OPEN;
	if (r < 0)
		return r;
	*op = MLGEN_READ;
	r = read_first(w, &file, out, n);
	crew_do(w, MLGEN_CLOSE, &file);
	return r;
}

/* Some that are read at least: a folder, or a fifo, can be opened, too. */
static size_t magic_bytes(const struct format *f)
{
	size_t n = f->magic ? f->magic_bytes : 1;

	return n < MAGIC_MAX ? n : MAGIC_MAX;
}

static int check_bytes(const struct format *f, const char *path, const unsigned char *got, size_t n,
		       struct mlgen_err *err)
{
	char is[3 * MAGIC_MAX + 1], wanted[3 * MAGIC_MAX + 1];
	unsigned char magic[MAGIC_MAX];

	if (!f->magic)
		return 0;
	memcpy(magic, f->magic, magic_bytes(f));
	if (n == magic_bytes(f) && memcmp(magic, got, n) == 0)
		return 0;
	put_bytes(is, sizeof(is), got, n);
	put_bytes(wanted, sizeof(wanted), magic, magic_bytes(f));
	return mlgen_fail(err, -EILSEQ,
			  "%s: begins with the bytes %s, and format=%s with %s: it is no such "
			  "file; --phase=prepare writes those that are wrong again",
			  path, n ? is : "(none)", f->name, wanted);
}

static int check_size(struct crew_worker *w, uint64_t bytes, struct mlgen_err *err)
{
	struct mlgen_file file = { .path = w->path, .fd = -1 };
	struct io_op op = { .io = { .op = MLGEN_STAT, .file = &file } };
	int r = (int)io_do(w->io, &op);

	if (r < 0)
		return firstbytes_unreadable(w->path, MLGEN_STAT, r, err);
	if (op.io.size_bytes == bytes)
		return 0;
	r = filekind_check(w->path, FILEKIND_OF_DATASET, err);
	if (r)
		return r;
	return firstbytes_wrong_size(w->path, op.io.size_bytes, bytes, err);
}

int firstbytes_check(struct crew_worker *w, const struct dataset *ds, uint64_t index,
		     struct mlgen_err *err)
{
	uint64_t resident = 0, looked;
	unsigned char bytes[MAGIC_MAX];
	enum mlgen_op op;
	int n, r;

	pagecache_sample(w->path, index, &resident, &looked);
	n = first_bytes(w, bytes, magic_bytes(ds->format), &op);
	if (n < 0)
		return firstbytes_unreadable(w->path, op, n, err);
	if (resident == 0)
		pagecache_drop(w->path); /* what fails costs only memory */
	r = check_size(w, dataset_file_bytes(ds, index), err);
	return r ? r : check_bytes(ds->format, w->path, bytes, (size_t)n, err);
}

bool firstbytes_match(struct crew_worker *w, const struct dataset *ds, uint64_t index)
{
	unsigned char bytes[MAGIC_MAX];
	enum mlgen_op op;
	int n;

	if (index >= ds->files)
		return true;
	n = first_bytes(w, bytes, magic_bytes(ds->format), &op);
	return n >= 0 && check_bytes(ds->format, w->path, bytes, (size_t)n, NULL) == 0;
}

int firstbytes_unreadable(const char *path, enum mlgen_op op, int code, struct mlgen_err *err)
{
	int r = filekind_check(path, FILEKIND_OF_DATASET, err);

	return r ? r
		 : mlgen_fail(err, code, "%s: %s: %s; the dataset was complete: %s", path,
			      opstat_name(op), strerror(-code),
			      code == -ENOENT ? "--phase=prepare writes what is missing"
					      : "make it readable, or another directory");
}

int firstbytes_wrong_size(const char *path, uint64_t has, uint64_t wanted, struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "%s: has %" PRIu64 " bytes instead of %" PRIu64
			  "; it was truncated or replaced; --phase=prepare writes it again",
			  path, has, wanted);
}
