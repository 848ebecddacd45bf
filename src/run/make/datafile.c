/* SPDX-License-Identifier: Apache-2.0 */
/* datafile.c - write, check and remove the files of a dataset. */
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
#include "io/devices.h"
#include "io/host.h"

/* Number of files in a sample, evenly spread over the dataset. */
#define DATASAMPLE_FILES UINT64_C(1000)

/* ---- the first bytes of files ---- */

/* Maximum number of first bytes that are compared, and printed in messages. */
#define MAGIC_MAX 16

static void print_hex(char *out, size_t size, const unsigned char *bytes, size_t n)
{
	size_t len = 0;

	*out = '\0';
	for (size_t i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%02x", i ? " " : "", bytes[i]);
}

/* Read the first bytes of w->path, without readahead by the kernel. Returns the number of bytes, or
 * -errno, and sets *failed to the operation that failed. */
static int read_first_bytes(struct pool_worker *w, unsigned char out[MAGIC_MAX], size_t n,
			    enum mlgen_op *failed)
{
	struct mlgen_file file = { .path = w->path,
				   .fd = -1,
				   .flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC };
	struct io_op advise = {
		.io = { .op = MLGEN_ADVISE, .file = &file, .advice = POSIX_FADV_RANDOM }
	};
	struct io_op op = { .io = { .op = MLGEN_READ, .file = &file, .len_bytes = n },
			    .eof_ok = true };
	size_t bytes;
	int r = pool_do(w, MLGEN_OPEN, &file);

	*failed = MLGEN_OPEN;
	if (r < 0)
		return r;
	*failed = MLGEN_READ;
	io_do(w->io, &advise); /* a failure costs only memory */
	r = (int)io_do(w->io, &op);
	if (r >= 0)
		memcpy(out, io_buffer(w->io, &bytes), n);
	pool_do(w, MLGEN_CLOSE, &file);
	return r < 0 ? r : (int)op.done_bytes;
}

/* Number of first bytes to read: at least one, since even a folder or a fifo can be opened. */
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
	print_hex(is, sizeof(is), got, n);
	print_hex(wanted, sizeof(wanted), magic, magic_bytes(f));
	return mlgen_fail(err, -EILSEQ,
			  "%s: begins with the bytes %s, but format=%s begins with %s; "
			  "--phase=prepare writes wrong files again",
			  path, n ? is : "(none)", f->name, wanted);
}

/* Report that a file of a complete dataset cannot be read. Returns -errno with err: `code`, or the
 * error of filekind_check. */
static int fail_unreadable(const char *path, enum mlgen_op op, int code, struct mlgen_err *err)
{
	int r = filekind_check(path, FILEKIND_OF_DATASET, err);

	return r ? r
		 : mlgen_fail(err, code, "%s: %s: %s; the dataset was complete: %s", path,
			      opstat_name(op), strerror(-code),
			      code == -ENOENT ? "--phase=prepare writes what is missing"
					      : "make it readable, or use another directory");
}

static int fail_wrong_size(const char *path, uint64_t has, uint64_t wanted, struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "%s: has %" PRIu64 " bytes instead of %" PRIu64
			  "; it was truncated or replaced; --phase=prepare writes it again",
			  path, has, wanted);
}

/* ---- folders ---- */

/* The rest of a path after "DIRECTORY/"; "" for the directory itself. */
static const char *datadir_below(const struct datadir *d, const char *path)
{
	path += strlen(d->path);
	return path + strspn(path, "/");
}

int datadir_open(struct datadir *d, const char *path, uid_t maker, struct mlgen_err *err)
{
	*d = (struct datadir){ .path = path, .maker = maker };
	d->fd = below_open_root(path);
	return d->fd < 0 ? datafile_failed(path, MLGEN_OPEN, d->fd, err) : 0;
}

void datadir_close(struct datadir *d)
{
	close(d->fd);
}

static void close_folder(struct pool_worker *w)
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
				  "%s: a folder on the way is a symbolic link, and mlgen creates "
				  "and removes nothing below such a link; remove the link (only "
				  "the path in directory= may contain links)",
				  path);
	return datafile_failed(path, MLGEN_OPEN, folder_fd, err);
}

/*
 * Open the folder of w->path as w->folder_fd, unless it is open. 0, -ENOENT without err, -ELOOP (a
 * symbolic link) or another -errno with err.
 */
static int open_folder(const struct datadir *d, struct pool_worker *w, struct mlgen_err *err)
{
	/* "train/07" of DIRECTORY/train/07/NAME */
	const char *below = datadir_below(d, w->path), *name = strrchr(below, '/');
	char folder[PATH_MAX];
	int r;

	snprintf(folder, PATH_MAX, "%.*s", name ? (int)(name - below) : 0, below);
	if (w->folder_fd >= 0 && strcmp(folder, w->folder) == 0)
		return 0;
	close_folder(w);
	w->folder_fd = below_folder(d->fd, folder);
	memcpy(w->folder, folder, strlen(folder) + 1);
	r = datadir_check_folder(w->folder_fd, w->path, err);
	return r ? r : w->folder_fd < 0 ? w->folder_fd : 0;
}

/* Make the folder `name` in w->folder_fd if it is missing, and open it in place of w->folder_fd. */
static int make_folder(struct pool_worker *w, const char *path, const char *name,
		       struct mlgen_err *err)
{
	struct mlgen_file file = {
		.path = path, .name = name, .dir_fd = w->folder_fd, .fd = -1, .mode = 0777
	};
	int r = pool_do(w, MLGEN_MKDIR, &file);
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

int datadir_make(const struct datadir *d, struct pool_worker *w, struct mlgen_err *err)
{
	char *at = w->path + (datadir_below(d, w->path) - w->path), *slash;
	int r = open_folder(d, w, err);

	if (r != -ENOENT)
		return r;
	w->folder_fd = below_folder(d->fd, "");
	if (w->folder_fd < 0)
		return datafile_failed(d->path, MLGEN_OPEN, w->folder_fd, err);
	r = 0;
	while (r == 0 && (slash = strchr(at, '/'))) {
		*slash = '\0';
		r = make_folder(w, w->path, at, err);
		*slash = '/';
		at = slash + 1;
	}
	if (r) /* w->folder_fd is not the folder that w->folder names */
		close_folder(w);
	return r;
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
			  "%s: this folder belongs to user %u, and mlgen removes files only in "
			  "folders of user %u, who owns the files here, or of root; remove the "
			  "files by hand, or run mlgen as the owner of the folder",
			  path, (unsigned)st.st_uid, (unsigned)d->maker);
}

/* ---- files ---- */

/* Source of a file's content, for newfile_fill. */
struct datafile_source {
	const struct format *format;
	struct format_writer writer;
};

/* Report a file that mlgen is not known to have written. The file stays, and the run ends. */
static int fail_foreign(const char *path, struct mlgen_err *err)
{
	return mlgen_fail(err, -EEXIST,
			  "%s: is in the way, and no %s shows that mlgen wrote it; use another "
			  "directory, or remove the file",
			  path, MANIFEST_NAME);
}

/* Files are made, renamed and removed by their names in the folder that the worker holds. */
static struct mlgen_file file_in_folder(const struct pool_worker *w, const char *path)
{
	return (struct mlgen_file){
		.path = path, .name = strrchr(path, '/') + 1, .dir_fd = w->folder_fd, .fd = -1
	};
}

static int remove_name(struct pool_worker *w, const char *path, struct mlgen_err *err)
{
	struct mlgen_file file = file_in_folder(w, path);
	int r = pool_do(w, MLGEN_UNLINK, &file);

	return r == 0 || r == -ENOENT ? 0 : datafile_failed(path, MLGEN_UNLINK, r, err);
}

static void format_no_room(const struct newfile *x, const char *left, char *out, size_t size)
{
	(void)x;
	snprintf(out, size,
		 "%s of the dataset are still to be written: make room and start again (complete "
		 "files are kept), or lower num_files",
		 left);
}

static int next_content(void *source, void *buf, size_t size, uint64_t *off, size_t *len,
			struct mlgen_err *err)
{
	struct datafile_source *c = source;

	(void)err;
	return c->format->write_next(&c->writer, buf, size, off, len);
}

/* Set w->path to the path of a file, and w->part to its temporary path. */
static int set_paths(const struct datafiles *d, struct pool_worker *w, uint64_t index,
		     struct mlgen_err *err)
{
	int r = datafile_path(d, index, w->path, err);

	/* dataset_init has left room for the longer name. */
	if (r == 0)
		newfile_temporary(w->part, w->path, &datafile_kind);
	return r;
}

const struct newfile_kind datafile_kind = {
	.suffix = ".part", .replaces = true, .next = next_content, .format_no_room = format_no_room
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

static int fail_too_long(const struct dataset *ds, struct mlgen_err *err)
{
	return mlgen_fail(err, -ENAMETOOLONG, "%s: names of its files are too long", ds->directory);
}

int datafile_path(const struct datafiles *d, uint64_t index, char path[PATH_MAX],
		  struct mlgen_err *err)
{
	const struct dataset *ds = d->sets[datafiles_set(d, &index)];

	return dataset_path(ds, index, path, PATH_MAX) > 0 ? 0 : fail_too_long(ds, err);
}

int datafile_failed(const char *path, enum mlgen_op op, int code, struct mlgen_err *err)
{
	char why[NOROOM_BYTES];

	return mlgen_fail(err, code, "%s: %s: %s%s", path, opstat_name(op), strerror(-code),
			  noroom_text(why, path, code, 0));
}

int datafile_look(const struct datafiles *d, struct pool_worker *w, uint64_t index,
		  struct mlgen_err *err)
{
	struct mlgen_file file = { .path = w->path, .fd = -1 };
	struct io_op op = { .io = { .op = MLGEN_STAT, .file = &file } };
	unsigned char bytes[MAGIC_MAX];
	enum mlgen_op failed;
	int r = datafile_path(d, index, w->path, err);
	unsigned set = datafiles_set(d, &index);
	const struct dataset *ds = d->sets[set];

	if (r)
		return r;
	r = (int)io_do(w->io, &op);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return datafile_failed(w->path, MLGEN_STAT, r, err);
	if (!d->ours[set])
		return fail_foreign(w->path, err);
	/* The size does not show the kind: a folder may have the size that the file should have. */
	r = filekind_check(w->path, FILEKIND_OF_DATASET, err);
	if (r < 0)
		return r;
	if (op.io.size_bytes != dataset_file_bytes(ds, index))
		return 0;
	/* Only files of part 0 have known first bytes. */
	if (!d->looks_inside || index >= ds->files)
		return 1;
	r = read_first_bytes(w, bytes, magic_bytes(ds->format), &failed);
	return r >= 0 && check_bytes(ds->format, w->path, bytes, (size_t)r, NULL) == 0;
}

int datafile_check(const struct datafiles *d, struct pool_worker *w, uint64_t index,
		   struct mlgen_err *err)
{
	int r = datafile_path(d, index, w->path, err), n;
	const struct dataset *ds = d->sets[datafiles_set(d, &index)];
	struct mlgen_file file = { .path = w->path, .fd = -1 };
	struct io_op stat = { .io = { .op = MLGEN_STAT, .file = &file } };
	uint64_t wanted = dataset_file_bytes(ds, index), resident = 0, sampled;
	unsigned char bytes[MAGIC_MAX];
	enum mlgen_op op;

	if (r)
		return r;
	pagecache_sample(w->path, index, &resident, &sampled);
	n = read_first_bytes(w, bytes, magic_bytes(ds->format), &op);
	if (n < 0)
		return fail_unreadable(w->path, op, n, err);
	if (resident == 0)
		pagecache_drop(w->path); /* a failure costs only memory */
	r = (int)io_do(w->io, &stat);
	if (r < 0)
		return fail_unreadable(w->path, MLGEN_STAT, r, err);
	if (stat.io.size_bytes != wanted) {
		r = filekind_check(w->path, FILEKIND_OF_DATASET, err);
		return r ? r : fail_wrong_size(w->path, stat.io.size_bytes, wanted, err);
	}
	return check_bytes(ds->format, w->path, bytes, (size_t)n, err);
}

int datafile_write(const struct datafiles *d, struct filemaker *maker, struct pool_worker *w,
		   uint64_t index, struct mlgen_err *err)
{
	struct newfile x = { .maker = maker, .w = w, .path = w->path };
	int r = set_paths(d, w, index, err);
	unsigned set = datafiles_set(d, &index);
	const struct dataset *ds = d->sets[set];
	struct datafile_source c = { .format = ds->format };

	if (r == 0)
		r = datadir_make(&d->dir, w, err);
	if (r)
		return r;
	x.bytes = dataset_file_bytes(ds, index);
	x.file = file_in_folder(w, w->part);
	x.file.flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	x.file.mode = 0666;
	r = pool_do(w, MLGEN_OPEN, &x.file);
	/* A temporary file of a killed run is replaced. Without a manifest, such a file is not
	 * ours. */
	if (r == -EEXIST && d->ours[set] && below_is_trusted(w->folder_fd, d->dir.maker)) {
		pool_do(w, MLGEN_UNLINK, &x.file);
		r = pool_do(w, MLGEN_OPEN, &x.file);
	}
	if (r == -EEXIST)
		return fail_foreign(w->part, err);
	if (r < 0)
		return newfile_failed(&x, opstat_name(MLGEN_OPEN), r, err);
	c.writer.seed_index = dataset_content(ds, index);
	format_shape(ds, index, &c.writer.shape);
	r = newfile_end(&x, newfile_fill(&x, &c, err), true, err);
	if (r)
		pool_do(w, MLGEN_UNLINK, &x.file);
	return r;
}

/* Remove a file and its temporary file, if they exist. */
static int remove_file(struct pool_worker *w, uint64_t index, struct mlgen_err *err)
{
	const struct datafiles *d = w->owner;
	int r = set_paths(d, w, index, err);

	if (r == 0)
		r = open_folder(&d->dir, w, err);
	if (r == -ENOENT) /* without the folder there is no file in it */
		return 0;
	if (r == 0)
		r = datadir_check_owner(&d->dir, w->folder_fd, w->path, err);
	if (r)
		return r;
	r = remove_name(w, w->path, err);
	return r ? r : remove_name(w, w->part, err);
}

/* ---- samples of files ---- */

struct set_check {
	const struct dataset *dataset;
	bool is_complete;
	uint64_t files;             /* number of first files of each part that are checked */
	_Atomic uint64_t first_bad; /* lowest index of a bad file so far */
};

/* Check the i-th of the files, which are numbered part by part. */
static int check_by_name(const struct set_check *s, uint64_t i, struct mlgen_err *err)
{
	const struct dataset *ds = s->dataset;
	uint64_t index = i / s->files * ds->files + i % s->files;
	uint64_t bytes = dataset_file_bytes(ds, index);
	char path[PATH_MAX];
	struct stat st;

	if (!dataset_has_file(ds, index))
		return 0;
	if (dataset_path(ds, index, path, sizeof(path)) < 0)
		return fail_too_long(ds, err);
	if (stat(path, &st) != 0)
		return s->is_complete ? fail_unreadable(path, MLGEN_OPEN, -errno, err) : 0;
	if (!S_ISREG(st.st_mode))
		return filekind_check(path, FILEKIND_OF_DATASET, err);
	if (!s->is_complete)
		return 0;
	if ((uint64_t)st.st_size != bytes)
		return fail_wrong_size(path, (uint64_t)st.st_size, bytes, err);
	return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0
		       ? 0
		       : fail_unreadable(path, MLGEN_OPEN, -errno, err);
}

static int find_bad_file(struct pool_worker *w, uint64_t index, struct mlgen_err *err)
{
	struct set_check *x = w->owner;
	uint64_t first = atomic_load(&x->first_bad);

	(void)err;
	if (pool_is_stopping(w))
		return POOL_STOPPED;
	if (index > first || check_by_name(x, index, NULL) == 0)
		return 0;
	while (index < first && !atomic_compare_exchange_weak(&x->first_bad, &first, index))
		;
	return 0;
}

static int check_set(const struct datasample *s, unsigned set, struct mlgen_err *err)
{
	struct set_check x = { .dataset = s->files->sets[set],
			       .is_complete = s->is_complete[set],
			       .first_bad = UINT64_MAX };
	int r = 0;

	if (!x.dataset || !s->files->ours[set] || (s->forgiving && x.is_complete))
		return 0;
	x.files = x.dataset->files;
	if (set == 0 && s->first_files && s->first_files < x.files)
		x.files = s->first_files;
	uint64_t all = x.files * x.dataset->parts;
	uint64_t n = all < DATASAMPLE_FILES ? all : DATASAMPLE_FILES;
	double each = (double)all / (double)n;

	if (s->all && all > n) {
		const struct pool_task task = { find_bad_file, &x, all };
		struct pool_config plain = *s->pool;

		/* The run, not its preparation, exercises the engine. */
		plain.engine = engines_find("psync");
		plain.engine_opts = NULL;
		r = pool_run(&plain, &task, err);
		return r || x.first_bad == UINT64_MAX ? r : check_by_name(&x, x.first_bad, err);
	}
	for (uint64_t i = 0; i < n && r == 0; i++)
		r = check_by_name(&x, n == all ? i : (uint64_t)((double)i * each), err);
	return r;
}

int datasample_check(const struct datasample *s, struct mlgen_err *err)
{
	int r = check_set(s, 0, err);

	return r ? r : check_set(s, 1, err);
}

/* ---- the folders of a dataset ---- */

static uint64_t subfolder_count(const struct dataset *ds)
{
	return ds->subfolders < ds->files ? ds->subfolders : ds->files;
}

/* Each part has its subfolders, its own folder, and the parent of its own folder (or its own folder
 * again). */
static uint64_t folder_count(const struct dataset *ds)
{
	return ds ? ds->parts * (subfolder_count(ds) + 2) : 0;
}

uint64_t datafolders_count(const struct datafiles *d)
{
	return folder_count(d->sets[0]) + folder_count(d->sets[1]);
}

static int datafolder_path(const struct datafiles *d, uint64_t index, char path[PATH_MAX],
			   struct mlgen_err *err)
{
	uint64_t first = folder_count(d->sets[0]);
	const struct dataset *ds = d->sets[index >= first];
	uint64_t subfolders = subfolder_count(ds), each = subfolders + 2;
	uint64_t in_set = index < first ? index : index - first, i = in_set % each;
	unsigned part = (unsigned)(in_set / each);
	int n = i < subfolders ? dataset_path(ds, part * ds->files + i, path, PATH_MAX)
			       : dataset_folder(ds, part, path, PATH_MAX);

	if (n <= 0)
		return fail_too_long(ds, err);
	if (i < subfolders || (i == each - 1 && ds->format->parts[part].folder))
		*strrchr(path, '/') = '\0';
	return 0;
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

int datafolder_sync(struct pool_worker *w, uint64_t index, struct mlgen_err *err)
{
	int r = datafolder_path(w->owner, index, w->path, err);

	/* A folder of a trusted dataset may have been removed. */
	return r ? r : filemaker_sync_folder(w->path, -ENOENT, err);
}

/* Remove a folder unless it holds other files. */
static void remove_folder(const struct datafiles *d, char path[PATH_MAX])
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

/* ---- removal of a dataset ---- */

/* The dataset that the manifest in a directory describes. */
struct old_dataset {
	struct dataset train, eval;
	struct datafiles files;
};

static void old_dataset_fini(struct old_dataset *o)
{
	dataset_fini(&o->eval);
	dataset_fini(&o->train);
}

static int old_dataset_init(struct old_dataset *o, const char *directory, struct mlgen_err *err)
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

int dataremove_bytes(const char *directory, uint64_t *bytes, struct mlgen_err *err)
{
	struct old_dataset o = { 0 };
	int r = old_dataset_init(&o, directory, err);

	*bytes = 0;
	if (r)
		return r;
	for (unsigned i = 0; i < 2 && r == 0 && o.files.sets[i]; i++) {
		uint64_t files, set_bytes;
		bool estimate;

		r = manifest_present(o.files.sets[i], &files, &set_bytes, &estimate, err);
		*bytes += set_bytes;
	}
	old_dataset_fini(&o);
	return r;
}

int dataremove_all(const struct pool_config *pool, const struct datadir *dir, bool *started,
		   struct mlgen_err *err)
{
	struct old_dataset o = { .files.dir = *dir };
	char path[PATH_MAX];
	int r = old_dataset_init(&o, dir->path, err);

	if (r)
		return r;
	r = datafolders_check(&o.files, true, err);
	if (r)
		goto out;
	*started = true;
	r = manifest_write(&o.train, false, err);
	if (r == 0) {
		const struct pool_task task = { remove_file, &o.files, datafiles_count(&o.files) };

		r = pool_run(pool, &task, err);
	}
	if (r)
		goto out;
	for (uint64_t i = 0; i < datafolders_count(&o.files); i++)
		if (datafolder_path(&o.files, i, path, NULL) == 0)
			remove_folder(&o.files, path);
	if (unlinkat(dir->fd, MANIFEST_NAME, 0) != 0) {
		r = -errno;
		snprintf(path, sizeof(path), "%s/%s", dir->path, MANIFEST_NAME);
		datafile_failed(path, MLGEN_UNLINK, r, err);
	}
out:
	old_dataset_fini(&o);
	return r;
}
