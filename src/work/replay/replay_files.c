/* SPDX-License-Identifier: Apache-2.0 */
/* replay_files.c - maps names of a trace to files of the replay, and checks both. */
#include "work/replay/replay_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "io/devices.h"
#include "run/make/make.h"

static int with_direct(const struct job *j, int flags, bool was_direct)
{
	bool is_direct = !(flags & O_DIRECTORY) && plain_passes_cache(j, was_direct);

	return (flags & ~O_DIRECT) | (is_direct ? O_DIRECT : 0);
}

int replay_flags(const struct job *j, const struct replay_files *f, uint32_t id, uint32_t traced)
{
	int flags = (int)traced & O_DIRECTORY;

	if (replay_file_is_traced(f, id))
		return with_direct(j, flags | O_RDONLY | O_CLOEXEC, traced & O_DIRECT);
	/* A file that is mapped for writing also has to be readable. */
	if (replay_file(f, id)->flags & REPLAY_FILE_CHANGED && !(flags & O_DIRECTORY))
		flags |= O_RDWR | ((int)traced & (O_CREAT | O_TRUNC | O_SYNC));
	return with_direct(j, flags | O_CLOEXEC | O_NOFOLLOW, traced & O_DIRECT);
}

int replay_flags_unseen(const struct job *j, const struct replay_files *f, uint32_t id)
{
	const struct replay_file *file = replay_file(f, id);
	bool is_made = file->flags & REPLAY_FILE_CHANGED && !(file->flags & REPLAY_FILE_FOLDER);

	return replay_flags(j, f, id,
			    (is_made ? O_CREAT : 0) |
				    (file->flags & REPLAY_FILE_DEVICE ? O_DIRECT : 0));
}

/* ---- one name for each file below the directory ---- */

/* Number of bytes that messages show of a name that is too long. */
#define SHOWN_BYTES 160

/*
 * Append the steps of `path` to the first `root` bytes of `out`, each with a slash before it. ".."
 * never removes any of these first bytes. 0 or -ENAMETOOLONG.
 */
static int replay_add_steps(char out[PATH_MAX], size_t root, const char *path)
{
	size_t len = root;

	while (*path) {
		size_t step = strcspn(path, "/");

		if (step == 2 && path[0] == '.' && path[1] == '.') {
			while (len > root && out[--len] != '/')
				;
		} else if (step && (step > 1 || *path != '.')) {
			if (step > NAME_MAX || len + 1 + step >= PATH_MAX)
				return -ENAMETOOLONG;
			out[len++] = '/';
			memcpy(out + len, path, step);
			len += step;
		}
		path += step + (path[step] == '/');
	}
	out[len] = '\0';
	return 0;
}

/* Make a name an alias of its path without "." and "..", unless they are equal. */
static int resolve_name(struct replay_files *f, uint32_t id, struct mlgen_err *err)
{
	size_t bytes;
	const char *name = trace_names_text(f->names, id, &bytes);
	char path[PATH_MAX];

	if (replay_files_path(f, id, path) != 0 || replay_add_steps(path, 0, name) != 0)
		return mlgen_fail(err, -ENAMETOOLONG,
				  "%s: %s below %s; name a directory with a shorter path, or "
				  "another filesystem: %.*s...",
				  f->job->replay_trace ? f->job->replay_trace : "replay_trace",
				  strerror(ENAMETOOLONG), f->directory, SHOWN_BYTES, name);
	if (*path == '\0')
		memcpy(path, "/", 2);
	if (strlen(path) == bytes && memcmp(path, name, bytes) == 0)
		return 0;
	uint32_t other = replay_files_id(f, path, strlen(path));
	struct replay_file *from = replay_file(f, id);
	struct replay_file *to = replay_file(f, other);
	to->flags |= from->flags;
	to->bytes = u64_max(to->bytes, from->bytes);
	from->flags |= REPLAY_FILE_ALIAS;
	return 0;
}

static int check_name(const struct replay_files *f, uint32_t id, struct mlgen_err *err)
{
	static const char *const ours[] = { "/" REPLAY_MARKER, "/" JSONFILE_PART(REPLAY_MARKER),
					    "/" DIRLOCK_NAME };
	const char *name = trace_names_text(f->names, id, NULL);

	if (name[1] == '\0' && !(replay_file(f, id)->flags & REPLAY_FILE_FOLDER))
		return mlgen_fail(
			err, -EISDIR,
			"%s: the trace has a file with the name %s, which is this directory",
			f->directory, name);
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (strcmp(name, ours[i]) == 0)
			return mlgen_fail(err, -EINVAL,
					  "%s%s: the trace has a file of this name, which mlgen "
					  "needs for its own file",
					  f->directory, name);
	return 0;
}

/* The folder that `name` contains before `slash`; NULL if the trace has no operation on it. */
static struct replay_file *file_above(const struct replay_files *f, const char *name,
				      const char *slash)
{
	uint32_t id = trace_names_find(f->names, name, (size_t)(slash - name));

	return id && replay_file(f, id)->flags ? replay_file(f, id) : NULL;
}

/* Infer flags of a file and of the folders above it: a stat or a rename does not show that a name
 * is a folder. If the trace itself gave a folder its name, a file in it did not exist under this
 * name before. */
static void infer_flags(const struct replay_files *f, uint32_t id)
{
	const char *name = trace_names_text(f->names, id, NULL);
	struct replay_file *file = replay_file(f, id), *above;
	const char *slash = name;

	if (!(file->flags & (REPLAY_FILE_PRESENT | REPLAY_FILE_CHANGED)) ||
	    file->flags & REPLAY_FILE_ALIAS)
		return;
	if (strcmp(name, "/") == 0 && !(file->flags & REPLAY_FILE_READ))
		file->flags |= REPLAY_FILE_FOLDER;
	while (*slash && (slash = strchr(slash + 1, '/'))) {
		above = slash[1] ? file_above(f, name, slash) : NULL;
		if (!above || above->flags & (REPLAY_FILE_FOLDER | REPLAY_FILE_READ))
			continue;
		if (above->flags & REPLAY_FILE_PRESENT)
			above->flags |= REPLAY_FILE_FOLDER;
		else if (above->flags & REPLAY_FILE_MADE)
			file->flags &= ~(unsigned)REPLAY_FILE_PRESENT;
	}
}

/* Refuse a file whose name is also a folder of another file. */
static int check_above(const struct replay_files *f, uint32_t id, struct mlgen_err *err)
{
	const char *name = trace_names_text(f->names, id, NULL);
	const char *slash = name;

	if (!(replay_file(f, id)->flags & REPLAY_FILE_PRESENT))
		return 0;
	while ((slash = strchr(slash + 1, '/'))) {
		const struct replay_file *above = file_above(f, name, slash);
		unsigned flags = above ? above->flags : 0;

		if (flags & REPLAY_FILE_PRESENT && !(flags & REPLAY_FILE_FOLDER))
			return mlgen_fail(err, -ENOTDIR,
					  "%.*s: the trace has a file of this name, and %s in a "
					  "folder of the same name: both cannot be created",
					  (int)(slash - name), name, name);
	}
	return 0;
}

bool replay_file_is_below(const struct replay_files *f, uint32_t id)
{
	unsigned flags = replay_file(f, id)->flags;

	return flags & (REPLAY_FILE_PRESENT | REPLAY_FILE_CHANGED) &&
	       !(flags & REPLAY_FILE_ALIAS) && !replay_file_is_traced(f, id);
}

int replay_names_settle(struct replay_files *f, struct mlgen_err *err)
{
	uint32_t given = trace_names_count(f->names);
	int r = 0;

	for (uint32_t id = 1; id <= given && r == 0; id++) {
		unsigned flags = replay_file(f, id)->flags;

		if (flags && !(flags & REPLAY_FILE_ALIAS) && !replay_file_is_traced(f, id))
			r = resolve_name(f, id, err);
	}
	for (uint32_t id = 1; id <= trace_names_count(f->names) && r == 0; id++)
		infer_flags(f, id);
	f->files = f->bytes = f->changed_files = 0;
	f->uses_directory = false;
	for (uint32_t id = 1; id <= trace_names_count(f->names) && r == 0; id++) {
		unsigned flags = replay_file(f, id)->flags;

		if (!flags || flags & REPLAY_FILE_ALIAS)
			continue;
		f->changed_files += (flags & REPLAY_FILE_CHANGED) != 0;
		f->files += !(flags & REPLAY_FILE_FOLDER);
		if (flags & REPLAY_FILE_PRESENT && !(flags & REPLAY_FILE_FOLDER))
			f->bytes = u64_sum(f->bytes, replay_file(f, id)->bytes);
		if (!replay_file_is_below(f, id))
			continue;
		f->uses_directory = true;
		r = check_name(f, id, err);
		if (r == 0)
			r = check_above(f, id, err);
	}
	return r;
}

size_t replay_names_made_above(const struct replay_files *f, uint32_t id)
{
	const char *name = trace_names_text(f->names, id, NULL);
	const char *slash = name;

	if (replay_file(f, id)->flags & REPLAY_FILE_PRESENT)
		return 0;
	while ((slash = strchr(slash + 1, '/'))) {
		const struct replay_file *above = file_above(f, name, slash);
		unsigned flags = above ? above->flags : 0;
		bool is_folder = flags & REPLAY_FILE_FOLDER;
		bool was_present = flags & REPLAY_FILE_PRESENT;

		if (flags && is_folder != was_present)
			return (size_t)(slash - name);
	}
	return 0;
}

/* ---- does the directory hold files of the trace? ---- */

/* Up to this many names are resolved; of a larger number, every n-th name. Names that begin with
 * the directory are all checked. */
#define FOLLOWED_NAMES 16384u

/* State of the check. The last folder is kept, because the next name is often in the same
 * folder. */
struct apart_check {
	const struct replay_files *f;
	bool is_marked;
	char folder[PATH_MAX]; /* path in the trace */
	char real[PATH_MAX];   /* "" = the folder does not exist */
};

static bool is_in(const char *directory, const char *path)
{
	size_t root = replay_root(directory);

	return strncmp(path, directory, root) == 0 && path[root] == '/';
}

/* Find the real path of the folder of a name. False if it does not exist. */
static bool follow_folder(struct apart_check *x, const char *name)
{
	const char *slash = strrchr(name, '/');
	size_t bytes = slash ? (size_t)(slash - name) + 1 : 0;

	if (bytes >= PATH_MAX)
		return false;
	if (strncmp(x->folder, name, bytes) != 0 || x->folder[bytes] || !*x->real) {
		memcpy(x->folder, name, bytes);
		x->folder[bytes] = '\0';
		if (!realpath(bytes ? x->folder : ".", x->real))
			x->real[0] = '\0';
	}
	return *x->real;
}

static int not_apart(const struct apart_check *x, uint32_t id, const char *real,
		     struct mlgen_err *err)
{
	char here[PATH_MAX];

	if (x->is_marked && replay_files_path(x->f, id, here) == 0 && strcmp(here, real) == 0)
		return 0;
	return mlgen_fail(err, -EEXIST,
			  "%s: the directory contains files that the trace names: %s; name another "
			  "directory, or use replay_files=traced, which only reads them",
			  x->f->directory, real);
}

static int check_apart(struct apart_check *x, uint32_t id, struct mlgen_err *err)
{
	const char *name = trace_names_text(x->f->names, id, NULL);
	const char *slash = strrchr(name, '/');
	char real[PATH_MAX];
	struct stat st;

	if (!follow_folder(x, name) || lstat(name, &st) != 0)
		return 0;
	memcpy(real, x->real, strlen(x->real) + 1);
	if (replay_add_steps(real, replay_root(real), slash ? slash + 1 : name) == 0 &&
	    is_in(x->f->directory, real))
		return not_apart(x, id, real, err);
	if (S_ISLNK(st.st_mode) && realpath(name, real) && is_in(x->f->directory, real))
		return not_apart(x, id, real, err);
	return 0;
}

int replay_traced_check_apart(const struct replay_files *f, bool is_marked, struct mlgen_err *err)
{
	struct apart_check x = { .f = f, .is_marked = is_marked };
	uint32_t names = trace_names_count(f->names);
	uint32_t step = names / FOLLOWED_NAMES + 1;
	int r = 0;

	for (uint32_t id = 1; id <= names && r == 0; id++)
		if (replay_file(f, id)->flags & REPLAY_FILE_PRESENT &&
		    (id % step == 0 || is_in(f->directory, trace_names_text(f->names, id, NULL))))
			r = check_apart(&x, id, err);
	return r;
}

/* ---- can the files of the trace be used themselves? ---- */

/* Is it a memory device whose reads change nothing: null, zero, full, random or urandom? The
 * numbers are those of admin-guide/devices.txt of Linux. */
static bool is_harmless(dev_t device)
{
	unsigned n = minor(device);

	return major(device) == 1 && (n == 3 || n == 5 || (n >= 7 && n <= 9));
}

static int check_bytes(uint64_t has, uint64_t needs, char *why, size_t size)
{
	char text[2][UNITS_TEXT_BYTES];

	if (has >= needs)
		return 0;
	snprintf(why, size, "has %s, but the trace uses %s of it", units_format_size(text[0], has),
		 units_format_size(text[1], needs));
	return -EFBIG;
}

static int check_kind(const struct stat *st, const char *name, const struct replay_file *file,
		      char *why, size_t size)
{
	const char *other = filekind_other(st->st_mode);
	bool is_folder = file->flags & REPLAY_FILE_FOLDER;
	struct mlgen_err err = { 0 };
	struct mount m;

	if (S_ISDIR(st->st_mode) && (is_folder || !(file->flags & REPLAY_FILE_READ)))
		return 0;
	if (S_ISREG(st->st_mode) && !is_folder)
		return check_bytes((uint64_t)st->st_size, file->bytes, why, size);
	if (S_ISCHR(st->st_mode) && is_harmless(st->st_rdev))
		return 0;
	if (S_ISBLK(st->st_mode) && !is_folder) {
		int r = mount_read(&m, name, &err);

		if (r == 0)
			return check_bytes(m.total_bytes, file->bytes, why, size);
		snprintf(why, size, "%s", strerror(-r));
		return r;
	}
	snprintf(why, size, "is %s, but a %s in the trace", other ? other : "a regular file",
		 is_folder ? "folder" : "file");
	return S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL;
}

static int look_at_traced(const char *name, const struct replay_file *file, char *why, size_t size)
{
	struct stat st;
	int r;

	if (stat(name, &st) == 0) {
		r = check_kind(&st, name, file, why, size);
		if (r || !(file->flags & REPLAY_FILE_READ) ||
		    faccessat(AT_FDCWD, name, R_OK, AT_EACCESS) == 0)
			return r;
	}
	r = -errno;
	snprintf(why, size, "%s", strerror(-r));
	return r;
}

int replay_traced_look(const struct replay_files *f, struct mlgen_err *err)
{
	char first_why[256], why[sizeof(first_why)], n[UNITS_TEXT_BYTES], more[96] = "";
	uint64_t unusable = 0;
	uint32_t first = 0;
	int code = 0, r;

	for (uint32_t id = 1; id <= trace_names_count(f->names); id++) {
		const struct replay_file *file = replay_file(f, id);

		if (!(file->flags & REPLAY_FILE_PRESENT) || !replay_file_is_traced(f, id))
			continue;
		r = look_at_traced(trace_names_text(f->names, id, NULL), file, why, sizeof(why));
		if (r && unusable++ == 0) {
			code = r;
			first = id;
			memcpy(first_why, why, sizeof(why));
		}
	}
	if (!unusable)
		return 0;
	if (unusable > 1)
		snprintf(more, sizeof(more), "; this affects %s of its files",
			 units_human_count(n, unusable));
	return mlgen_fail(err, code,
			  "%s: %s%s; replay_files=traced reads the files that the trace names, "
			  "replay_files=own creates its own files",
			  trace_names_text(f->names, first, NULL), first_why, more);
}

/* ---- files ---- */

size_t replay_root(const char *directory)
{
	return strcmp(directory, "/") == 0 ? 0 : strlen(directory);
}

void replay_files_init(struct replay_files *f, const struct job *job)
{
	const char *path = job->directory ? job->directory : ".";
	char *part = mem_strdup(path);
	size_t bytes = strlen(path); /* length of the existing part */
	char real[PATH_MAX];
	bool is_real;

	*f = (struct replay_files){ .job = job, .names = trace_names_new() };
	/* The real path of the directory. Steps that do not exist are appended unchanged. */
	while (!(is_real = realpath(bytes ? part : ".", real)) && bytes) {
		while (bytes > 0 && part[bytes - 1] != '/')
			bytes--;
		while (bytes > 1 && part[bytes - 1] == '/')
			bytes--;
		part[bytes] = '\0';
	}
	mem_free(part);
	if (!is_real || replay_add_steps(real, replay_root(real), path + bytes) != 0)
		f->directory = mem_strdup(path);
	else
		f->directory = mem_strdup(*real ? real : "/");
}

void replay_files_fini(struct replay_files *f)
{
	trace_names_free(f->names);
	spill_free(&f->list);
	mem_free(f->directory);
	*f = (struct replay_files){ 0 };
}

uint32_t replay_files_id(struct replay_files *f, const char *name, size_t bytes)
{
	uint32_t id = trace_names_id(f->names, name, bytes, NULL);

	spill_reserve(&f->list, ((size_t)id + 1) * sizeof(struct replay_file));
	return id;
}

struct replay_file *replay_file(const struct replay_files *f, uint32_t id)
{
	struct replay_file *list = f->list.at;

	return &list[id];
}

bool replay_file_is_traced(const struct replay_files *f, uint32_t id)
{
	return f->job->replay_files == REPLAY_TRACED &&
	       !(replay_file(f, id)->flags & REPLAY_FILE_CHANGED);
}

int replay_files_path(const struct replay_files *f, uint32_t id, char out[PATH_MAX])
{
	const char *name = trace_names_text(f->names, id, NULL);
	size_t root = replay_root(f->directory);

	if (replay_file_is_traced(f, id)) {
		size_t bytes = strlen(name) + 1;

		if (bytes > PATH_MAX)
			return -ENAMETOOLONG;
		memcpy(out, name, bytes);
		return 0;
	}
	if (root >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(out, f->directory, root);
	return replay_add_steps(out, root, name);
}
