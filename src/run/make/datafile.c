/* SPDX-License-Identifier: Apache-2.0 */
/* datafile.c - the files of a data set: written, looked at, removed. */
#include "run/make/make_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "io/engines.h"
#include "io/mount.h"
#include "io/pagecache.h"

/* So many files are asked for, evenly spread, unless all are. */
#define DATASAMPLE_FILES UINT64_C(1000)

/* ---- what files begin with ---- */

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

/* Of a file of a complete dataset, in words: it cannot be had, or has another size. Gives an error
 * back, `code` in the first case, with err. */
static int firstbytes_unreadable(const char *path, enum mlgen_op op, int code,
				 struct mlgen_err *err)
{
	int r = filekind_check(path, FILEKIND_OF_DATASET, err);

	return r ? r
		 : mlgen_fail(err, code, "%s: %s: %s; the dataset was complete: %s", path,
			      opstat_name(op), strerror(-code),
			      code == -ENOENT ? "--phase=prepare writes what is missing"
					      : "make it readable, or another directory");
}

static int firstbytes_wrong_size(const char *path, uint64_t has, uint64_t wanted,
				 struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "%s: has %" PRIu64 " bytes instead of %" PRIu64
			  "; it was truncated or replaced; --phase=prepare writes it again",
			  path, has, wanted);
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

/*
 * Before a complete dataset is trusted, of its file `index`, whose path is w->path: can it be read,
 * does it have its size, does it begin as its format says (of part 0; -EILSEQ if not)? 0, or -errno
 * with err, which names the way out. Leaves the page cache as it was.
 */
static int firstbytes_check(struct crew_worker *w, const struct dataset *ds, uint64_t index,
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

/* Do its first bytes say that it is of the format, as far as any say so? */
static bool firstbytes_match(struct crew_worker *w, const struct dataset *ds, uint64_t index)
{
	unsigned char bytes[MAGIC_MAX];
	enum mlgen_op op;
	int n;

	if (index >= ds->files)
		return true;
	n = first_bytes(w, bytes, magic_bytes(ds->format), &op);
	return n >= 0 && check_bytes(ds->format, w->path, bytes, (size_t)n, NULL) == 0;
}

/* ---- folders ---- */

/* What is behind "DIRECTORY/" of a path that begins so; "" of it itself. */
static const char *datadir_below(const struct datadir *d, const char *path)
{
	path += strlen(d->path);
	return path + strspn(path, "/");
}

int datadir_open(struct datadir *d, const char *path, uid_t maker, struct mlgen_err *err)
{
	*d = (struct datadir){ .path = path, .maker = maker };
	d->fd = below_hold(path);
	return d->fd < 0 ? datafile_failed(path, MLGEN_OPEN, d->fd, err) : 0;
}

void datadir_close(struct datadir *d)
{
	close(d->fd);
}

/* "train/07" of DIRECTORY/train/07/NAME. */
static void folder_of(const struct datadir *d, const char *path, char folder[PATH_MAX])
{
	const char *below = datadir_below(d, path);
	const char *name = strrchr(below, '/');

	snprintf(folder, PATH_MAX, "%.*s", name ? (int)(name - below) : 0, below);
}

static void datadir_leave(struct crew_worker *w)
{
	if (w->folder_fd >= 0)
		close(w->folder_fd);
	w->folder_fd = -1;
}

int datadir_check_folder(int folder_fd, const char *path, struct mlgen_err *err)
{
	if (folder_fd >= 0 || folder_fd == -ENOENT)
		return 0;
	if (folder_fd == -ELOOP)
		return mlgen_fail(err, folder_fd,
				  "%s: a folder on the way is a symbolic link, and mlgen makes and "
				  "removes nothing behind one; directory= may be or lead through a "
				  "link, or remove it",
				  path);
	return datafile_failed(path, MLGEN_OPEN, folder_fd, err);
}

/*
 * The folder of w->path, a path below the directory, becomes w->folder_fd; with _make the folders
 * that are missing are made. 0, -ENOENT without err, -ELOOP (a symbolic link) or another -errno
 * with err.
 */
static int datadir_hold(const struct datadir *d, struct crew_worker *w, struct mlgen_err *err)
{
	char folder[PATH_MAX];
	int r;

	folder_of(d, w->path, folder);
	if (w->folder_fd >= 0 && strcmp(folder, w->folder) == 0)
		return 0;
	datadir_leave(w);
	w->folder_fd = below_folder(d->fd, folder);
	memcpy(w->folder, folder, strlen(folder) + 1);
	r = datadir_check_folder(w->folder_fd, w->path, err);
	return r ? r : w->folder_fd < 0 ? w->folder_fd : 0;
}

/* One step down, made where it is missing; w->folder_fd follows. */
static int step(struct crew_worker *w, const char *path, const char *name, struct mlgen_err *err)
{
	struct mlgen_file file = {
		.path = path, .name = name, .dir_fd = w->folder_fd, .fd = -1, .mode = 0777
	};
	int r = crew_do(w, MLGEN_MKDIR, &file);
	int fd;

	if (r && r != -EEXIST)
		return datafile_failed(path, MLGEN_MKDIR, r, err);
	fd = below_folder(w->folder_fd, name);
	if (fd == -ENOENT)
		return datafile_failed(path, MLGEN_OPEN, fd, err);
	r = datadir_check_folder(fd, path, err);
	if (r == 0) {
		close(w->folder_fd);
		w->folder_fd = fd;
	}
	return r;
}

static int make_all(const struct datadir *d, struct crew_worker *w, struct mlgen_err *err)
{
	char *at = w->path + (datadir_below(d, w->path) - w->path), *slash;
	int r = 0;

	w->folder_fd = below_folder(d->fd, "");
	if (w->folder_fd < 0)
		return datafile_failed(d->path, MLGEN_OPEN, w->folder_fd, err);
	while (r == 0 && (slash = strchr(at, '/'))) {
		*slash = '\0';
		r = step(w, w->path, at, err);
		*slash = '/';
		at = slash + 1;
	}
	if (r) /* it holds another folder than it says */
		datadir_leave(w);
	return r;
}

int datadir_make(const struct datadir *d, struct crew_worker *w, struct mlgen_err *err)
{
	int r = datadir_hold(d, w, err);

	return r == -ENOENT ? make_all(d, w, err) : r;
}

int datadir_check_owner(const struct datadir *d, int folder_fd, const char *path,
			struct mlgen_err *err)
{
	struct stat st;

	if (below_is_trusted(folder_fd, d->maker))
		return 0;
	if (fstat(folder_fd, &st) != 0)
		return datafile_failed(path, MLGEN_STAT, -errno, err);
	return mlgen_fail(err, -EPERM,
			  "%s: this folder is user %u's, and mlgen removes files only in folders "
			  "of user %u, as whom it makes them here, or of root; remove them by "
			  "hand, or run it as that user",
			  path, (unsigned)st.st_uid, (unsigned)d->maker);
}

/* ---- files ---- */

/* Where its content comes from. */
struct content {
	const struct format *format;
	struct format_writer writer;
};

static const char *datafile_name_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* Not mlgen's as far as anybody can tell: it stays, and the run does not. */
static int foreign(const char *path, struct mlgen_err *err)
{
	return mlgen_fail(err, -EEXIST,
			  "%s: is in the way, and there is no %s that says mlgen wrote it; another "
			  "directory, or remove it",
			  path, MANIFEST_NAME);
}

/* It is made, renamed and removed by its name in the folder that is held. */
static struct mlgen_file file_held(const struct crew_worker *w, const char *path)
{
	return (struct mlgen_file){
		.path = path, .name = datafile_name_of(path), .dir_fd = w->folder_fd, .fd = -1
	};
}

static int remove_name(struct crew_worker *w, const char *path, struct mlgen_err *err)
{
	struct mlgen_file file = file_held(w, path);
	int r = crew_do(w, MLGEN_UNLINK, &file);

	return r == 0 || r == -ENOENT ? 0 : datafile_failed(path, MLGEN_UNLINK, r, err);
}

static void put_no_room(const struct newfile *x, const char *left, char *out, size_t size)
{
	(void)x;
	snprintf(out, size,
		 "%s of the dataset are still to be written: make room and start again (what is "
		 "complete is kept), or fewer num_files",
		 left);
}

/* What a killed run has left is replaced; without a manifest it is not ours. */
static int open_new(struct newfile *x, const struct datafiles *d, bool ours, struct mlgen_err *err)
{
	int r = crew_do(x->w, MLGEN_OPEN, &x->file);

	if (r == -EEXIST && ours && below_is_trusted(x->w->folder_fd, d->dir.maker)) {
		crew_do(x->w, MLGEN_UNLINK, &x->file);
		r = crew_do(x->w, MLGEN_OPEN, &x->file);
	}
	if (r == -EEXIST)
		return foreign(x->w->part, err);
	return r < 0 ? newfile_failed(x, opstat_name(MLGEN_OPEN), r, err) : 0;
}

static int next_content(void *source, void *buf, size_t size, uint64_t *off, size_t *len,
			struct mlgen_err *err)
{
	struct content *c = source;

	(void)err;
	return c->format->write_next(&c->writer, buf, size, off, len);
}

static int write_content(struct newfile *x, const struct dataset *ds, uint64_t index,
			 struct mlgen_err *err)
{
	struct content c = { .format = ds->format,
			     .writer.seed_index = dataset_content(ds, index) };

	format_shape(ds, index, &c.writer.shape);
	return newfile_end(x, newfile_fill(x, &c, err), true, err);
}

/* Its path and its temporary one, of the worker. */
static int names_of(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		    struct mlgen_err *err)
{
	int r = datafile_path(d, index, w->path, err);

	/* dataset_init has left room for it. */
	if (r == 0)
		newfile_temporary(w->part, w->path, &datafile_kind);
	return r;
}

const struct newfile_kind datafile_kind = {
	.suffix = ".part", .replaces = true, .next = next_content, .put_no_room = put_no_room
};

uint64_t datafiles_count(const struct datafiles *d)
{
	return dataset_all_files(d->sets[0]) + (d->sets[1] ? dataset_all_files(d->sets[1]) : 0);
}

unsigned datafiles_set(const struct datafiles *d, uint64_t *index)
{
	uint64_t first = dataset_all_files(d->sets[0]);

	if (*index < first)
		return 0;
	*index -= first;
	return 1;
}

static int datafile_too_long(const struct dataset *ds, struct mlgen_err *err)
{
	return mlgen_fail(err, -ENAMETOOLONG, "%s: names of its files are too long", ds->directory);
}

int datafile_path(const struct datafiles *d, uint64_t index, char path[PATH_MAX],
		  struct mlgen_err *err)
{
	const struct dataset *ds = d->sets[datafiles_set(d, &index)];

	return dataset_path(ds, index, path, PATH_MAX) > 0 ? 0 : datafile_too_long(ds, err);
}

int datafile_failed(const char *path, enum mlgen_op op, int code, struct mlgen_err *err)
{
	char why[NOROOM_BYTES];

	return mlgen_fail(err, code, "%s: %s: %s%s", path, opstat_name(op), strerror(-code),
			  noroom_put(why, path, code, 0));
}

int datafile_look(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		  struct mlgen_err *err)
{
	struct mlgen_file file = { .path = w->path, .fd = -1 };
	struct io_op op = { .io = { .op = MLGEN_STAT, .file = &file } };
	int r = datafile_path(d, index, w->path, err);
	unsigned set = datafiles_set(d, &index);

	if (r)
		return r;
	r = (int)io_do(w->io, &op);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return datafile_failed(w->path, MLGEN_STAT, r, err);
	if (!d->ours[set])
		return foreign(w->path, err);
	/* Of whatever size: that of a folder may be the file's. */
	r = filekind_check(w->path, FILEKIND_OF_DATASET, err);
	if (r < 0)
		return r;
	if (op.io.size_bytes != dataset_file_bytes(d->sets[set], index))
		return 0;
	return !d->looks_inside || firstbytes_match(w, d->sets[set], index);
}

int datafile_check(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		   struct mlgen_err *err)
{
	int r = datafile_path(d, index, w->path, err);
	unsigned set = datafiles_set(d, &index);

	return r ? r : firstbytes_check(w, d->sets[set], index, err);
}

int datafile_write(const struct datafiles *d, struct filemaker *maker, struct crew_worker *w,
		   uint64_t index, struct mlgen_err *err)
{
	struct newfile x = { .maker = maker, .w = w, .path = w->path };
	int r = names_of(d, w, index, err);
	unsigned set = datafiles_set(d, &index);

	if (r == 0)
		r = datadir_make(&d->dir, w, err);
	if (r)
		return r;
	x.bytes = dataset_file_bytes(d->sets[set], index);
	x.file = file_held(w, w->part);
	x.file.flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	x.file.mode = 0666;
	r = open_new(&x, d, d->ours[set], err);
	if (r)
		return r;
	r = write_content(&x, d->sets[set], index, err);
	if (r)
		crew_do(w, MLGEN_UNLINK, &x.file);
	return r;
}

/* Remove it and its temporary name, where they exist. */
static int datafile_remove(const struct datafiles *d, struct crew_worker *w, uint64_t index,
			   struct mlgen_err *err)
{
	int r = names_of(d, w, index, err);

	if (r == 0)
		r = datadir_hold(&d->dir, w, err);
	if (r == -ENOENT) /* nor is there a file in it */
		return 0;
	if (r == 0)
		r = datadir_check_owner(&d->dir, w->folder_fd, w->path, err);
	if (r)
		return r;
	r = remove_name(w, w->path, err);
	return r ? r : remove_name(w, w->part, err);
}

/* ---- a sample of them is looked at ---- */

struct sampling {
	const struct dataset *dataset;
	bool is_complete;
	uint64_t files;             /* the first ones, of each part */
	_Atomic uint64_t first_bad; /* of those that a crew has met */
};

/* Parts are numbered behind one another. */
static uint64_t index_of(const struct sampling *s, uint64_t i)
{
	return i / s->files * s->dataset->files + i % s->files;
}

static uint64_t count_of(const struct sampling *s)
{
	return s->files * s->dataset->parts;
}

static int check_one(const struct sampling *s, uint64_t i, struct mlgen_err *err)
{
	const struct dataset *ds = s->dataset;
	uint64_t index = index_of(s, i), bytes = dataset_file_bytes(ds, index);
	char path[PATH_MAX];
	struct stat st;

	if (!dataset_has_file(ds, index))
		return 0;
	if (dataset_path(ds, index, path, sizeof(path)) < 0)
		return datafile_too_long(ds, err);
	if (stat(path, &st) != 0)
		return s->is_complete ? firstbytes_unreadable(path, MLGEN_OPEN, -errno, err) : 0;
	if (!S_ISREG(st.st_mode))
		return filekind_check(path, FILEKIND_OF_DATASET, err);
	if (!s->is_complete)
		return 0;
	if ((uint64_t)st.st_size != bytes)
		return firstbytes_wrong_size(path, (uint64_t)st.st_size, bytes, err);
	return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0
		       ? 0
		       : firstbytes_unreadable(path, MLGEN_OPEN, -errno, err);
}

static int ask_for(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	struct sampling *x = w->owner;
	uint64_t first = atomic_load(&x->first_bad);

	(void)err;
	if (crew_stopped(w))
		return CREW_STOPPED;
	if (index > first || check_one(x, index, NULL) == 0)
		return 0;
	while (index < first && !atomic_compare_exchange_weak(&x->first_bad, &first, index))
		;
	return 0;
}

static int check_all(struct sampling *x, const struct crew_config *crew, struct mlgen_err *err)
{
	const struct crew_task task = { ask_for, x, count_of(x) };
	struct crew_config plain = *crew;
	int r;

	/* What an engine does is for the run to see. */
	plain.engine = engines_find("psync");
	plain.engine_opts = NULL;
	r = crew_run(&plain, &task, err);
	return r || x->first_bad == UINT64_MAX ? r : check_one(x, x->first_bad, err);
}

static int check_set(const struct datasample *s, unsigned set, struct mlgen_err *err)
{
	struct sampling x = { .dataset = s->files->sets[set],
			      .is_complete = s->is_complete[set],
			      .first_bad = UINT64_MAX };
	int r = 0;

	if (!x.dataset || !s->files->ours[set] || (s->forgiving && x.is_complete))
		return 0;
	x.files = x.dataset->files;
	if (set == 0 && s->first_files && s->first_files < x.files)
		x.files = s->first_files;
	uint64_t all = count_of(&x);
	uint64_t n = all < DATASAMPLE_FILES ? all : DATASAMPLE_FILES;
	double each = (double)all / (double)n;

	if (s->all && all > n)
		return check_all(&x, s->crew, err);
	for (uint64_t i = 0; i < n && r == 0; i++)
		r = check_one(&x, n == all ? i : (uint64_t)((double)i * each), err);
	return r;
}

int datasample_check(const struct datasample *s, struct mlgen_err *err)
{
	int r = check_set(s, 0, err);

	return r ? r : check_set(s, 1, err);
}

/* ---- what lies in a folder ---- */

/* Of each part those of its files, the one above them and the part's own. */
static uint64_t subfolders(const struct dataset *ds)
{
	return ds->subfolders < ds->files ? ds->subfolders : ds->files;
}

static uint64_t folders(const struct dataset *ds)
{
	return ds ? ds->parts * (subfolders(ds) + 2) : 0;
}

/* The folder of a path, in place. */
static void cut_name(char path[PATH_MAX])
{
	*strrchr(path, '/') = '\0';
}

static int top_of(const struct dataset *ds, uint64_t index, char path[PATH_MAX])
{
	uint64_t each = subfolders(ds) + 2;
	unsigned part = (unsigned)(index / each);
	int n;

	index %= each;
	if (index < subfolders(ds))
		n = dataset_path(ds, part * ds->files + index, path, PATH_MAX);
	else
		n = dataset_folder(ds, part, path, PATH_MAX);
	if (n > 0 &&
	    (index < subfolders(ds) || (index == each - 1 && ds->format->parts[part].folder)))
		cut_name(path);
	return n;
}

uint64_t datafolders_count(const struct datafiles *d)
{
	return folders(d->sets[0]) + folders(d->sets[1]);
}

static int datafolder_path(const struct datafiles *d, uint64_t index, char path[PATH_MAX],
			   struct mlgen_err *err)
{
	uint64_t first = folders(d->sets[0]);
	const struct dataset *ds = d->sets[index >= first];
	int n = top_of(ds, index < first ? index : index - first, path);

	return n > 0 ? 0 : datafile_too_long(ds, err);
}

static int datafolder_check(const struct datafiles *d, const char *path, bool removes,
			    struct mlgen_err *err)
{
	int fd = below_folder(d->dir.fd, datadir_below(&d->dir, path));
	int r = datadir_check_folder(fd, path, err);

	if (r == 0 && fd >= 0 && removes)
		r = datadir_check_owner(&d->dir, fd, path, err);
	if (fd >= 0)
		close(fd);
	return r;
}

/* The directory, and of each part the folder of its files. */
int datafolders_check(const struct datafiles *d, bool removes, struct mlgen_err *err)
{
	char path[PATH_MAX];
	int r = datafolder_check(d, d->dir.path, removes, err);

	for (unsigned set = 0; set < 2; set++) {
		const struct dataset *ds = d->sets[set];

		for (unsigned part = 0; ds && part < ds->parts && !r; part++)
			if (dataset_folder(ds, part, path, sizeof(path)) > 0)
				r = datafolder_check(d, path, removes, err);
	}
	return r;
}

int datafolder_sync(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		    struct mlgen_err *err)
{
	int r = datafolder_path(d, index, w->path, err);

	/* One of a dataset that was trusted may have gone. */
	return r ? r : filemaker_sync_folder(w->path, -ENOENT, err);
}

static void remove_one(const struct datafiles *d, char path[PATH_MAX])
{
	char *name = strrchr(path, '/');
	int fd;

	if (!*datadir_below(&d->dir, path))
		return; /* the directory itself is the user's */
	*name++ = '\0';
	fd = below_folder(d->dir.fd, datadir_below(&d->dir, path));
	if (fd < 0)
		return;
	if (below_is_trusted(fd, d->dir.maker))
		unlinkat(fd, name, AT_REMOVEDIR);
	close(fd);
}

/* Remove those that are empty; what holds files of others stays. */
/* No look at the results: a folder that holds files of others stays. */
static void datafolders_remove(const struct datafiles *d)
{
	char path[PATH_MAX];

	for (uint64_t i = 0; i < datafolders_count(d); i++)
		if (datafolder_path(d, i, path, NULL) == 0)
			remove_one(d, path);
}

/* ---- what is in the way goes ---- */

struct old {
	struct dataset train, eval;
	struct datafiles files;
};

static void close_old(struct old *o)
{
	dataset_fini(&o->eval);
	dataset_fini(&o->train);
}

static int open_old(struct old *o, const char *directory, struct mlgen_err *err)
{
	int r = manifest_describe(directory, &o->train, err);

	if (r)
		return r;
	o->files.sets[0] = &o->train;
	if (o->train.eval_files == 0)
		return 0;
	r = dataset_init_split(&o->eval, &o->train, o->train.eval_files, err);
	o->files.sets[1] = &o->eval;
	if (r)
		dataset_fini(&o->train);
	return r;
}

static int remove_file(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	return datafile_remove(w->owner, w, index, err);
}

static int remove_manifest(const struct datadir *dir, struct mlgen_err *err)
{
	char path[PATH_MAX];

	if (unlinkat(dir->fd, MANIFEST_NAME, 0) == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", dir->path, MANIFEST_NAME);
	return datafile_failed(path, MLGEN_UNLINK, -errno, err);
}

int dataremove_bytes(const char *directory, uint64_t *bytes, struct mlgen_err *err)
{
	struct old o = { 0 };
	int r = open_old(&o, directory, err);

	*bytes = 0;
	if (r)
		return r;
	for (unsigned i = 0; i < 2 && r == 0 && o.files.sets[i]; i++) {
		uint64_t files, of_set;
		bool estimate;

		r = manifest_present(o.files.sets[i], &files, &of_set, &estimate, err);
		*bytes += of_set;
	}
	close_old(&o);
	return r;
}

static int remove_all(const struct crew_config *crew, struct old *o, bool *started,
		      struct mlgen_err *err)
{
	const struct crew_task task = { remove_file, &o->files, datafiles_count(&o->files) };
	int r = datafolders_check(&o->files, true, err);

	if (r)
		return r;
	*started = true;
	r = manifest_write(&o->train, false, err);
	if (r == 0)
		r = crew_run(crew, &task, err);
	if (r)
		return r;
	datafolders_remove(&o->files);
	return remove_manifest(&o->files.dir, err);
}

int dataremove_all(const struct crew_config *crew, const struct datadir *dir, bool *started,
		   struct mlgen_err *err)
{
	struct old o = { .files.dir = *dir };
	int r = open_old(&o, dir->path, err);

	if (r)
		return r;
	r = remove_all(crew, &o, started, err);
	close_old(&o);
	return r;
}
