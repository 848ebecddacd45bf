/* SPDX-License-Identifier: Apache-2.0 */
/* iofiles.c - the files of a plain job: names, checks and regions. */
#include "work/plain/plain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/units.h"
#include "io/devices.h"
#include "run/make/make.h"

/* ---- names, as in fio ---- */

static char *ionames_join(const char *directory, const char *name)
{
	struct buf path = { 0 };

	if (directory)
		buf_addf(&path, "%s/", directory);
	buf_add(&path, name);
	return buf_detach(&path);
}

static bool ionames_has(const struct ionames *n, const char *path)
{
	for (size_t i = 0; i < n->paths.count; i++)
		if (strcmp(n->paths.at[i], path) == 0)
			return true;
	return false;
}

static int add_entry(struct ionames *n, const char *directory, const char *entry,
		     struct mlgen_err *err)
{
	char *path = ionames_join(*entry == '/' ? NULL : directory, entry);

	if (strcmp(entry, "-") == 0)
		mlgen_fail(err, -EINVAL,
			   "filename: '-' (standard input or output) cannot be measured; name a "
			   "file, or write ./- for a file of this name");
	else if (ionames_has(n, path))
		mlgen_fail(err, -EINVAL, "filename: '%s' is named twice; once is enough", entry);
	else {
		vec_push(&n->paths, path);
		return 0;
	}
	mem_free(path);
	return -EINVAL;
}

/* The next entry of a list without its '\', from *at on, which is advanced; empty entries are
 * skipped. NULL: there are no more. The caller frees it. */
static char *ionames_next(const char **at)
{
	const char *from = *at + strspn(*at, ":");
	char *entry = mem_zalloc(strlen(from) + 1);
	size_t len = 0;

	for (; *from && *from != ':'; from++) {
		if (from[0] == '\\' && from[1] == ':')
			from++;
		entry[len++] = *from;
	}
	*at = from;
	if (len)
		return entry;
	mem_free(entry);
	return NULL;
}

/* True if the job's name is the path of a device. If the engine touches no files, no path is looked
 * at. */
static bool is_named_after_device(const struct job *job)
{
	struct stat st;

	return job_touches_files(job) && strchr(job->name, '/') && stat(job->name, &st) == 0 &&
	       (S_ISBLK(st.st_mode) || S_ISCHR(st.st_mode));
}

static int check_directory(const char *list, struct mlgen_err *err)
{
	size_t entries = 0;
	char *entry;

	for (const char *at = list; (entry = ionames_next(&at)); entries++)
		mem_free(entry);
	if (entries < 2)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "directory: '%s' is a list, but a job has one directory; write a colon "
			  "in a name as '\\:', or give the files with their folders in filename=",
			  list);
}

int ionames_init(struct ionames *n, const struct job *job, struct mlgen_err *err)
{
	char *directory = ionames_directory(job), *entry;
	int r = directory ? check_directory(job->directory, err) : 0;
	const char *list = job->filename;
	struct buf name = { 0 };

	*n = (struct ionames){ 0 };
	if (r == 0 && list && *list) {
		n->is_shared = true;
		while (r == 0 && (entry = ionames_next(&list))) {
			r = add_entry(n, directory, entry, err);
			mem_free(entry);
		}
		if (r == 0 && n->paths.count == 0)
			r = mlgen_fail(
				err, -EINVAL,
				"filename: contains no name; give one or more, separated by ':'");
	} else if (r == 0 && is_named_after_device(job)) {
		n->is_shared = true;
		vec_push(&n->paths, mem_strdup(job->name));
	} else {
		for (uint64_t i = 0; i < job->numjobs && r == 0; i++) {
			buf_reset(&name);
			buf_addf(&name, "%s.%" PRIu64 ".0", job->name, i);
			vec_push(&n->paths, ionames_join(directory, buf_str(&name)));
		}
	}
	buf_fini(&name);
	mem_free(directory);
	return r;
}

void ionames_fini(struct ionames *n)
{
	for (size_t i = 0; i < n->paths.count; i++)
		mem_free(n->paths.at[i]);
	vec_fini(&n->paths);
	*n = (struct ionames){ 0 };
}

char *ionames_directory(const struct job *job)
{
	const char *at = job->directory;
	size_t i = 0;

	while (job_fields[i].name && strcmp(job_fields[i].name, "directory"))
		i++;
	/* The default of directory= is meant for training jobs; a plain job ignores it. */
	bool is_default = job->origins && !job->origins[i].raw;
	return at && !is_default ? ionames_next(&at) : NULL;
}

/* ---- files ---- */

/* Context of the functions below. */
struct iofiles_look {
	const struct iofiles_request *req;
	const struct job *job;
	struct iofiles *f;
	uint64_t share;    /* share of size= for each file; 0 = size= is not in bytes */
	uint64_t smallest; /* smallest request */
};

/* ---- type and access ---- */

static bool is_allowed(const struct iofiles_look *x, dev_t device)
{
	const char *at = x->req->allow_device ? x->req->allow_device : "";
	bool allowed = false;
	struct stat st;
	char *name;

	while (!allowed && (name = ionames_next(&at))) {
		allowed = stat(name, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == device;
		mem_free(name);
	}
	return allowed;
}

static struct blockdev_guards *guards_of(struct iofiles *f)
{
	return f->guards ? f->guards : &f->own_guards;
}

static int set_block_device(const struct iofiles_look *x, struct iofile *file, dev_t device,
			    struct mlgen_err *err)
{
	struct mount m;
	int r = mount_read(&m, file->path, err);

	if (r)
		return r;
	file->device = device;
	file->bytes = m.total_bytes;
	if (file->bytes == 0)
		return mlgen_fail(err, -ENOMEDIUM, "%s: is a block device without a size: %s",
				  file->path, strerror(ENOMEDIUM));
	if (!job_writes(x->job))
		return 0;
	if (!is_allowed(x, file->device))
		return mlgen_fail(err, -EPERM,
				  "%s: is a block device, and this job would overwrite its "
				  "contents; to allow this, use --allow_device=%s",
				  file->path, file->path);
	r = blockdev_hold(guards_of(x->f), file->path, file->device, err);
	if (r)
		return r;
	vec_push(&x->f->held, file->device);
	return 0;
}

static int set_kind(const struct iofiles_look *x, struct iofile *file, const struct stat *st,
		    struct mlgen_err *err)
{
	if (S_ISREG(st->st_mode)) {
		file->kind = IOFILE_REGULAR;
		file->bytes = (uint64_t)st->st_size;
		return 0;
	}
	if (S_ISBLK(st->st_mode)) {
		file->kind = IOFILE_BLOCK;
		return set_block_device(x, file, st->st_rdev, err);
	}
	if (S_ISCHR(st->st_mode)) {
		unsigned n = minor(st->st_rdev);

		file->kind = IOFILE_CHAR;
		/* Linux, admin-guide/devices.txt: 1:3 null, 1:5 zero, 1:7 full. */
		if (major(st->st_rdev) == 1 && (n == 3 || n == 5 || n == 7))
			return 0;
		return mlgen_fail(err, -EINVAL,
				  "%s: is a character device; mlgen can measure only /dev/null, "
				  "/dev/zero and /dev/full",
				  file->path);
	}
	return mlgen_fail(err, S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL,
			  "%s: is %s; filename= names files and block devices%s", file->path,
			  filekind_other(st->st_mode),
			  S_ISDIR(st->st_mode) ? ", directory= the folder of the files" : "");
}

static int set_missing(const struct iofiles_look *x, struct iofile *file, struct mlgen_err *err)
{
	size_t len = strlen(file->path);
	struct newdir_place place;
	struct stat st;
	int r = 0;

	if (lstat(file->path, &st) == 0)
		return mlgen_fail(err, -ENOENT,
				  "%s: is a link to a file that does not exist; remove the link, "
				  "or create the file",
				  file->path);
	if (file->path[len - 1] == '/')
		return mlgen_fail(err, -EISDIR, "%s: is the name of a directory; name a file in it",
				  file->path);
	file->kind = IOFILE_REGULAR;
	file->is_missing = true;

	/* Folders below directory= are created, but not directory= itself: it may be the mount
	 * point of a filesystem that is not mounted. */
	char *directory = ionames_directory(x->job);
	len = directory ? strlen(directory) : 0;
	bool is_in = len && strncmp(file->path, directory, len) == 0;
	if (is_in && stat(directory, &st) != 0)
		r = -errno;
	else if (is_in && !S_ISDIR(st.st_mode))
		r = -ENOTDIR;
	if (r)
		mlgen_fail(err, r, "%s: %s; create it, or name another",
			   newdir_format_place(&place, x->job, "directory", directory),
			   strerror(-r));
	mem_free(directory);
	return r;
}

static int look_at_file(const struct iofiles_look *x, struct iofile *file, struct mlgen_err *err)
{
	bool writes = job_writes(x->job);
	char way[DIRS_WAY_BYTES];
	struct stat st;

	if (stat(file->path, &st) == 0) {
		int r = set_kind(x, file, &st, err);

		/* Refuse missing permissions now rather than in the middle of the run. */
		if (r ||
		    faccessat(AT_FDCWD, file->path, writes ? R_OK | W_OK : R_OK, AT_EACCESS) == 0)
			return r;
		return mlgen_fail(err, -errno, "%s: cannot be %s: %s", file->path,
				  writes ? "written" : "read", strerror(errno));
	}
	int error = errno;
	if (error == ENOENT)
		return set_missing(x, file, err);
	return mlgen_fail(err, -error, "%s: %s%s", file->path, strerror(error),
			  dirs_explain_failure(way, file->path, -error));
}

/* ---- size and region ---- */

static uint64_t percent_of(uint64_t bytes, double percent)
{
	return percent >= 100 ? bytes : (uint64_t)((double)bytes * (percent / 100));
}

/* Report a file without a size of its own, for which the job gives no size either. */
static int size_unknown(const struct iofiles_look *x, const struct iofile *file,
			struct mlgen_err *err)
{
	const struct job *j = x->job;
	const char *what = file->is_missing ? "is missing" : "has no size of its own";
	const struct size_share *share = j->size.percent > 0 ? &j->size : &j->offset;
	char percent[UNITS_TEXT_BYTES];

	if (share->percent > 0)
		return mlgen_fail(err, -EINVAL,
				  "%s: %s%% of %s, which %s; give it in bytes, or filesize=",
				  share == &j->size ? "size" : "offset",
				  units_format_f64(percent, share->percent), file->path, what);
	if (j->size.bytes)
		return mlgen_fail(err, -EINVAL,
				  "size: '%" PRIu64
				  "' is less than a byte for each of the %zu files",
				  j->size.bytes, x->f->count);
	return mlgen_fail(err, -EINVAL, "size: %s %s; give its size", file->path, what);
}

static int too_small(const struct iofile *file, uint64_t end, struct mlgen_err *err)
{
	char has[UNITS_TEXT_BYTES], needs[UNITS_TEXT_BYTES];

	return mlgen_fail(
		err, -EFBIG, "%s: has %s, but size=, offset= and filesize= ask for %s; %s",
		file->path, units_format_size(has, file->bytes), units_format_size(needs, end),
		file->kind == IOFILE_BLOCK
			? "a device cannot be extended: use a smaller size, or size=100%"
			: "an existing file is never extended: use a smaller size or another file, "
			  "or remove this file and mlgen creates it in this size");
}

/* Set the size of a file that is missing, or has no size, from the options. */
static int set_bytes_from_job(const struct iofiles_look *x, struct iofile *file,
			      struct mlgen_err *err)
{
	const struct job *j = x->job;

	if (j->filesize_bytes) {
		file->bytes = j->filesize_bytes;
		return 0;
	}
	if (x->share == 0 || j->offset.percent > 0)
		return size_unknown(x, file, err);
	if (__builtin_add_overflow(j->offset.bytes, x->share, &file->bytes) ||
	    file->bytes > INT64_MAX)
		return mlgen_fail(err, -EFBIG,
				  "offset: no file can be as large as offset= and size= together");
	return 0;
}

static int set_region(const struct iofiles_look *x, struct iofile *file, struct mlgen_err *err)
{
	const struct job *j = x->job;
	bool is_real = !file->is_missing && file->kind != IOFILE_CHAR && job_touches_files(j);
	int r = is_real ? 0 : set_bytes_from_job(x, file, err);

	if (r)
		return r;
	uint64_t limit = j->filesize_bytes ? j->filesize_bytes : file->bytes;
	if (limit > file->bytes)
		return too_small(file, limit, err);
	uint64_t off = j->offset.bytes;
	if (j->offset.percent > 0) {
		/* A multiple of the smallest request, as O_DIRECT needs it. */
		off = percent_of(limit, j->offset.percent);
		off -= off % x->smallest;
	}
	if (off >= limit && x->share && !j->filesize_bytes)
		return too_small(file, off + x->share, err);
	if (off >= limit) {
		char from[UNITS_TEXT_BYTES], end[UNITS_TEXT_BYTES];

		if (file->bytes == 0)
			return mlgen_fail(err, -EINVAL,
					  "%s: is empty; remove it, and mlgen creates it in the "
					  "size that size= gives",
					  file->path);
		return mlgen_fail(err, -EINVAL, "offset: %s is not below the %s of %s",
				  units_format_size(from, off), units_format_size(end, limit),
				  file->path);
	}
	uint64_t room = limit - off;
	file->region = (struct pattern_region){ .off = off, .bytes = room };
	if (j->size.percent > 0) {
		uint64_t part = percent_of(limit, j->size.percent);

		file->region.bytes = part < room ? part : room;
	} else if (x->share && !j->filesize_bytes) {
		file->region.bytes = x->share;
		if (x->share > room)
			return too_small(file, off + x->share, err);
	}
	return 0;
}

/* ---- all files ---- */

static uint64_t smallest_request(const struct job *j)
{
	struct job_size sizes[JOB_SIZES_MAX];
	uint64_t smallest = UINT64_MAX;

	for (unsigned direction = 0; direction < 2; direction++) {
		bool used = direction ? job_writes(j) : job_reads(j);
		int n = used ? job_sizes(j, direction, sizes, NULL) : 0;

		for (int i = 0; i < n; i++)
			if (sizes[i].bytes && sizes[i].bytes < smallest)
				smallest = sizes[i].bytes;
	}
	return smallest == UINT64_MAX ? 1 : smallest;
}

static int look_at_files(struct iofiles_look *x, struct mlgen_err *err)
{
	struct iofiles *f = x->f;
	bool touches_files = job_touches_files(x->job);
	const struct iofile *first = f->files;
	char bytes[UNITS_TEXT_BYTES];
	int r = 0;

	/* size= is the size of each worker's own file, or of all files of filename= together. */
	x->share = x->job->size.bytes / (f->is_shared && f->count ? f->count : 1);
	x->smallest = smallest_request(x->job);
	for (size_t i = 0; i < f->count && r == 0; i++) {
		if (touches_files)
			r = look_at_file(x, &f->files[i], err);
		if (r == 0)
			r = set_region(x, &f->files[i], err);
		if (r == 0 && f->files[i].is_missing) {
			f->missing_files++;
			f->missing_bytes += f->files[i].bytes;
		}
	}
	if (r)
		return r;
	if (!touches_files)
		f->directory = mem_strdup("");
	else if (first->kind == IOFILE_BLOCK)
		f->directory = mem_strdup(first->path);
	else
		f->directory = iofiles_folder(first->path);
	if (!x->req->readonly || f->missing_files == 0)
		return 0;
	const struct iofile *file = first;
	while (!file->is_missing)
		file++;
	return mlgen_fail(err, -EROFS,
			  "readonly: %s is missing, and would be created with %s; create it once "
			  "without --readonly (--create_only=1)",
			  file->path, units_format_size(bytes, file->bytes));
}

int iofiles_init(struct iofiles *f, const struct iofiles_request *req, struct mlgen_err *err)
{
	struct iofiles_look x = { .req = req, .job = req->job, .f = f };
	struct ionames names;

	*f = (struct iofiles){ .guards = req->guards };
	if (req->readonly && job_writes(req->job))
		return mlgen_fail(
			err, -EROFS,
			"readonly: job '%s' writes; run it without --readonly, or with rw=read",
			req->job->name);
	int r = ionames_init(&names, req->job, err);
	if (r == 0) {
		f->count = names.paths.count;
		f->files = mem_array(f->count, sizeof(*f->files));
		f->is_shared = names.is_shared;
		for (size_t i = 0; i < f->count; i++)
			f->files[i].path = names.paths.at[i];
		names.paths.count = 0; /* the iofiles own the paths now */
		r = look_at_files(&x, err);
	}
	ionames_fini(&names);
	if (r)
		iofiles_fini(f);
	return r;
}

void iofiles_fini(struct iofiles *f)
{
	for (size_t i = 0; i < f->held.count; i++)
		blockdev_release(guards_of(f), f->held.at[i]);
	for (size_t i = 0; i < f->count; i++)
		mem_free(f->files[i].path);
	vec_fini(&f->held);
	mem_free(f->files);
	mem_free(f->directory);
	*f = (struct iofiles){ 0 };
}

const struct iofile *iofiles_of(const struct iofiles *f, uint64_t worker, size_t *count)
{
	*count = f->is_shared ? f->count : 1;
	return f->is_shared ? f->files : &f->files[worker];
}

uint64_t iofiles_largest_missing(const struct iofiles *f)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < f->count; i++)
		if (f->files[i].is_missing && f->files[i].bytes > largest)
			largest = f->files[i].bytes;
	return largest;
}

char *iofiles_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return mem_strdup(".");
	return mem_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}
