/* SPDX-License-Identifier: Apache-2.0 */
/* iopart.c - one file on its way to be laid out: made, filled in pieces, given its name. */
#include "run/iopart.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/units.h"
#include "io/mount.h"
#include "run/datafile.h"

/* One worker's at a time: large enough that its open and its last sync do not
 * matter, small enough that all workers have some of a large file. */
#define PIECE_BYTES (UINT64_C(64) << 20)

/* So much is written before it is synced and dropped: bounds the page cache
 * that a layout takes, and the wait after a SIGINT. */
#define SYNC_BYTES (UINT64_C(16) << 20)

/* What the statics below work on. */
struct filling {
	struct ioparts *all;
	struct iopart *part;
	struct crew_worker *w;
	struct mlgen_file file;
	uint64_t seed;   /* of its content */
	uint64_t synced; /* up to here, of this piece */
};

static void add(_Atomic uint64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

/* FNV-1a: files of other names have other content, the same name the same. */
static uint64_t seed_of(const char *path)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *path; path++)
		h = (h ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
	return h;
}

static struct filling filling_of(struct crew_worker *w, struct iopart *part,
				 int flags)
{
	return (struct filling){ .all = w->owner,
				 .part = part,
				 .w = w,
				 .file = { .path = part->temp,
					   .fd = -1,
					   .flags = O_RDWR | O_NOFOLLOW |
						    O_CLOEXEC | flags,
					   .mode = 0666 },
				 .seed = seed_of(part->file->path) };
}

/* Faults */

static int no_room(const struct filling *x, const char *what, int code,
		   struct mlgen_err *err)
{
	char left[UNITS_TEXT_BYTES], have[UNITS_TEXT_BYTES];
	struct mount m = { 0 };

	mount_read(&m, x->part->temp, NULL);
	return mlgen_fail(
		err, code,
		"%s: %s: %s; %s are still to be laid out, %s free; make room, "
		"or a smaller size=",
		x->part->file->path, what, strerror(-code),
		units_human_bytes(left, (double)(x->all->bytes -
						 get(&x->all->made_bytes))),
		units_human_bytes(have, (double)m.free_bytes));
}

static int failed_to(const struct filling *x, const char *what, int code,
		     struct mlgen_err *err)
{
	if (code == -ENOSPC || code == -EDQUOT)
		return no_room(x, what, code, err);
	return mlgen_fail(err, code, "%s: %s: %s", x->part->file->path, what,
			  strerror(-code));
}

static int failed(const struct filling *x, enum mlgen_op op, int code,
		  struct mlgen_err *err)
{
	return failed_to(x, opstat_name(op), code, err);
}

static int in_the_way(const struct filling *x, struct mlgen_err *err)
{
	return mlgen_fail(err, -EEXIST,
			  "%s: somebody else made it while it was laid out; it "
			  "stays as it is, start again to use it",
			  x->part->file->path);
}

/* Operations on the file */

static int do_op(struct filling *x, enum mlgen_op op, struct mlgen_err *err)
{
	int r = crew_do(x->w, op, &x->file);

	return r < 0 ? failed(x, op, r, err) : 0;
}

static int close_file(struct filling *x, int so_far, struct mlgen_err *err)
{
	int r = crew_do(x->w, MLGEN_CLOSE, &x->file);

	return so_far || r >= 0 ? so_far : failed(x, MLGEN_CLOSE, r, err);
}

static int write_at(struct filling *x, uint64_t off, size_t len,
		    struct mlgen_err *err)
{
	struct io_op op = { .io = { .op = MLGEN_WRITE,
				    .file = &x->file,
				    .off = off,
				    .len_bytes = len } };
	int64_t r = io_do(x->w->io, &op);
	char what[48];

	if (r >= 0)
		return 0;
	snprintf(what, sizeof(what), "write at %" PRIu64, off);
	return failed_to(x, what, (int)r, err);
}

/* To the device, and out of the page cache: the job reads storage. */
static int sync_and_drop(struct filling *x, uint64_t end, struct mlgen_err *err)
{
	struct io_op advise = { .io = { .op = MLGEN_ADVISE,
					.file = &x->file,
					.off = x->synced,
					.len_bytes = end - x->synced,
					.advice = POSIX_FADV_DONTNEED } };
	int r = do_op(x, MLGEN_FDATASYNC, err);

	if (r)
		return r;
	io_do(x->w->io, &advise);
	add(&x->all->synced_bytes, end - x->synced);
	x->synced = end;
	return 0;
}

/*
 * Its space. Where the filesystem cannot give any, a file without content ends
 * with a byte at its end, so that it has its size all the same.
 */
static int allocate(struct filling *x, struct mlgen_err *err)
{
	uint64_t bytes = x->part->file->bytes;
	struct io_op op = { .io = { .op = MLGEN_ALLOCATE,
				    .file = &x->file,
				    .len_bytes = bytes } };
	int r = (int)io_do(x->w->io, &op);
	size_t buf_bytes;

	if (r != -EOPNOTSUPP && r != -ENOSYS)
		return r < 0 ? failed(x, MLGEN_ALLOCATE, r, err) : 0;
	if (x->all->has_content)
		return 0;
	memset(io_buffer(x->w->io, &buf_bytes), 0, 1);
	return write_at(x, bytes - 1, 1, err);
}

/* The name is free as far as anybody has looked; where the filesystem cannot
 * be told to keep a file that is there by now, look once more. */
static int rename_part(struct filling *x)
{
	const char *path = x->part->file->path;
	struct io_op op = {
		.io = { .op = MLGEN_RENAME, .file = &x->file, .path2 = path }
	};

	if (renameat2(AT_FDCWD, x->part->temp, AT_FDCWD, path,
		      RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return access(path, F_OK) == 0 ? -EEXIST : (int)io_do(x->w->io, &op);
}

static int give_name(struct filling *x, struct mlgen_err *err)
{
	struct iofile *file = x->part->file;
	int r = rename_part(x);

	if (r == -EEXIST)
		return in_the_way(x, err);
	if (r < 0)
		return failed(x, MLGEN_RENAME, r, err);
	file->is_missing = false; /* nobody else looks at it meanwhile */
	add(&x->all->made_files, 1);
	add(&x->all->made_bytes, file->bytes);
	add(&x->all->progress->files_done, 1);
	return 0;
}

/* A piece */

static int fill_range(struct filling *x, uint64_t end, struct mlgen_err *err)
{
	size_t buf_bytes;
	void *buf = io_buffer(x->w->io, &buf_bytes);
	int r = 0;

	for (uint64_t off = x->synced; off < end && r == 0;) {
		size_t len =
			end - off < buf_bytes ? (size_t)(end - off) : buf_bytes;
		if (crew_stopped(x->w))
			return CREW_STOPPED;
		rng_fill(buf, len, x->seed, RNG_CONTENT, off);
		r = write_at(x, off, len, err);
		if (r)
			return r;
		off += len;
		add(&x->all->written_bytes, len);
		add(&x->all->progress->bytes_done, len);
		if (off == end || off - x->synced >= SYNC_BYTES)
			r = sync_and_drop(x, off, err);
	}
	return r;
}

static struct iopart *part_of(struct ioparts *p, uint64_t piece)
{
	size_t low = 0, high = p->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (p->list[middle].first_piece <= piece)
			low = middle;
		else
			high = middle;
	}
	return &p->list[low];
}

/* ".NAME.mlgen-part" beside NAME. */
static char *temp_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	struct buf temp = { 0 };

	buf_addn(&temp, path, (size_t)(name - path));
	buf_addf(&temp, ".%s.mlgen-part", name);
	return buf_take(&temp);
}

static int check_name(const struct iopart *part, struct mlgen_err *err)
{
	const char *slash = strrchr(part->temp, '/');
	const char *name = slash ? slash + 1 : part->temp;

	if (strlen(name) <= NAME_MAX && strlen(part->temp) < PATH_MAX)
		return 0;
	return mlgen_fail(err, -ENAMETOOLONG,
			  "%s: %s; its temporary name %s needs to be as short, "
			  "too",
			  part->file->path, strerror(ENAMETOOLONG), name);
}

int ioparts_init(struct ioparts *p, struct iofiles *f,
		 const struct iofiles_layout *l, struct mlgen_err *err)
{
	int r = 0;

	*p = (struct ioparts){ .has_content = job_reads(l->req->job),
			       .progress = l->progress };
	p->list = mem_array(f->missing_files, sizeof(*p->list));
	for (size_t i = 0; i < f->count && r == 0; i++) {
		struct iofile *file = &f->files[i];
		struct iopart *part = &p->list[p->count];
		if (!file->is_missing)
			continue;
		p->count++;
		part->file = file;
		part->temp = temp_of(file->path);
		part->first_piece = p->pieces;
		part->pieces_left =
			(file->bytes + PIECE_BYTES - 1) / PIECE_BYTES;
		p->pieces += part->pieces_left;
		p->bytes += file->bytes;
		r = check_name(part, err);
	}
	return r;
}

void ioparts_fini(struct ioparts *p)
{
	for (size_t i = 0; i < p->count; i++)
		mem_free(p->list[i].temp);
	mem_free(p->list);
	*p = (struct ioparts){ 0 };
}

int ioparts_remove(const struct ioparts *p, struct mlgen_err *err)
{
	int r = 0;

	for (size_t i = 0; i < p->count; i++)
		if (unlink(p->list[i].temp) != 0 && errno != ENOENT && r == 0)
			r = datafile_failed(p->list[i].temp, MLGEN_UNLINK,
					    -errno, err);
	return r;
}

int iopart_make(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	struct ioparts *all = w->owner;
	struct filling x = filling_of(w, &all->list[index], O_CREAT | O_EXCL);
	int r = do_op(&x, MLGEN_OPEN, err);

	if (r)
		return r;
	r = allocate(&x, err);
	if (r == 0 && !all->has_content)
		r = do_op(&x, MLGEN_FSYNC, err);
	r = close_file(&x, r, err);
	if (r == 0 && !all->has_content) {
		add(&all->progress->bytes_done, x.part->file->bytes);
		r = give_name(&x, err);
	}
	return r;
}

int iopart_fill(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	struct iopart *part = part_of(w->owner, index);
	struct filling x = filling_of(w, part, 0);
	uint64_t left, end, size = part->file->bytes;
	int r = do_op(&x, MLGEN_OPEN, err);

	if (r)
		return r;
	x.synced = (index - part->first_piece) * PIECE_BYTES;
	end = size - x.synced < PIECE_BYTES ? size : x.synced + PIECE_BYTES;
	r = fill_range(&x, end, err);
	/* The last one syncs what all have written: size and times, too. */
	left = r ? 0
		 : atomic_fetch_sub_explicit(&part->pieces_left, 1,
					     memory_order_acq_rel);
	if (left == 1)
		r = do_op(&x, MLGEN_FSYNC, err);
	r = close_file(&x, r, err);
	return r == 0 && left == 1 ? give_name(&x, err) : r;
}
