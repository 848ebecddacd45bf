/* SPDX-License-Identifier: Apache-2.0 */
/* iopart.c - one file on its way to be laid out: made, filled in pieces, given its name. */
#include "work/plain/iopart.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/mem.h"
#include "base/units.h"
#include "io/mount.h"
#include "run/make/make.h"
#include "work/plain/iocontent.h"

static void put_no_room(const struct newfile *x, const char *left, char *out, size_t size)
{
	char have[UNITS_TEXT_BYTES];
	struct mount m = { 0 };

	mount_read(&m, x->file.path, NULL);
	snprintf(out, size,
		 "%s are still to be laid out, %s free; make room, or a smaller size=", left,
		 units_human_bytes(have, (double)m.free_bytes));
}

/* By path, as fio has it: the folders are the user's. */
static int open_new(struct newfile *x, struct crew_worker *w, const struct iopart *part, int flags,
		    struct mlgen_err *err)
{
	const struct ioparts *all = w->owner;
	int r;

	*x = (struct newfile){ .maker = all->maker,
			       .w = w,
			       .path = part->file->path,
			       .bytes = part->file->bytes,
			       .file = { .path = w->part,
					 .fd = -1,
					 .flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags,
					 .mode = 0666 },
			       .is_piece = true };
	newfile_temporary(w->part, x->path, &iopart_kind);
	r = crew_do(w, MLGEN_OPEN, &x->file);
	return r < 0 ? newfile_failed(x, opstat_name(MLGEN_OPEN), r, err) : 0;
}

static struct iopart *part_of(struct ioparts *p, uint64_t piece)
{
	return &p->list[BISECT(i, 1, p->count, p->list[i].first_piece > piece) - 1];
}

static int iopart_check_name(const struct iopart *part, struct mlgen_err *err)
{
	const char *path = part->file->path, *slash = strrchr(path, '/');
	char temporary[PATH_MAX];
	int r = newfile_temporary(temporary, path, &iopart_kind);

	return r ? mlgen_fail(err, r, "%s: %s; its temporary name .%s%s needs to be as short, too",
			      path, strerror(-r), slash ? slash + 1 : path, iopart_kind.suffix)
		 : 0;
}

const struct newfile_kind iopart_kind = { .suffix = ".mlgen-part",
					  .next = iocontent_next,
					  .put_no_room = put_no_room };

int ioparts_init(struct ioparts *p, struct iofiles *f, const struct job *job,
		 struct filemaker *maker, struct mlgen_err *err)
{
	int r = 0;

	*p = (struct ioparts){ .has_content = job_reads(job), .maker = maker };
	p->list = mem_array(f->missing_files, sizeof(*p->list));
	for (size_t i = 0; i < f->count && r == 0; i++) {
		struct iofile *file = &f->files[i];
		struct iopart *part = &p->list[p->count];

		if (!file->is_missing)
			continue;
		p->count++;
		part->file = file;
		part->first_piece = p->pieces;
		part->pieces_left = iocontent_pieces(file->bytes);
		p->pieces += part->pieces_left;
		r = iopart_check_name(part, err);
	}
	return r;
}

void ioparts_fini(struct ioparts *p)
{
	mem_free(p->list);
	*p = (struct ioparts){ 0 };
}

int ioparts_remove(const struct ioparts *p, struct mlgen_err *err)
{
	char temporary[PATH_MAX];
	int r = 0;

	for (size_t i = 0; i < p->count; i++) {
		newfile_temporary(temporary, p->list[i].file->path, &iopart_kind);
		if (unlink(temporary) != 0 && errno != ENOENT && r == 0)
			r = datafile_failed(temporary, MLGEN_UNLINK, -errno, err);
	}
	return r;
}

int iopart_make(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	const struct ioparts *all = w->owner;
	const struct iopart *part = &all->list[index];
	struct newfile x;
	int r = open_new(&x, w, part, O_CREAT | O_EXCL, err);

	if (r)
		return r;
	r = iocontent_allocate(&x, all->has_content, err);
	if (r == 0 && !all->has_content)
		atomic_fetch_add_explicit(&all->maker->progress->bytes_done, x.bytes,
					  memory_order_relaxed);
	r = newfile_end(&x, r, !all->has_content, err);
	if (r == 0 && !all->has_content)
		part->file->is_missing = false;
	return r;
}

int iopart_fill(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	struct iopart *part = part_of(w->owner, index);
	struct newfile x;
	uint64_t left;
	int r = open_new(&x, w, part, 0, err);

	if (r)
		return r;
	r = iocontent_fill_piece(&x, index - part->first_piece, err);
	/* The last one syncs what all have written: size and times, too. */
	left = r ? 0 : atomic_fetch_sub_explicit(&part->pieces_left, 1, memory_order_acq_rel);
	r = newfile_end(&x, r, left == 1, err);
	if (r == 0 && left == 1)
		part->file->is_missing = false; /* nobody else looks at it */
	return r;
}
