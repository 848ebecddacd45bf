/* SPDX-License-Identifier: Apache-2.0 */
/* replay_files_traced.c - the files that a trace names, where it names them: apart from the
 * directory, or read themselves. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/filekind.h"
#include "base/units.h"
#include "base/util.h"
#include "io/mount.h"
#include "work/plain/replay_inside.h"

/* ---- does the directory hold them? ---- */

/* So many names are followed to where they lie; of more, every n-th. Those that begin as the
 * directory does are all looked at. */
#define FOLLOWED_NAMES 16384u

/* Names are often of the same folder as the one before. */
struct apart {
	const struct replay_files *f;
	bool is_marked;
	char folder[PATH_MAX]; /* as the trace has it */
	char real[PATH_MAX];   /* "" = it is not there */
};

static bool is_in(const char *directory, const char *path)
{
	size_t root = replay_root(directory);

	return strncmp(path, directory, root) == 0 && path[root] == '/';
}

/* The real path of the folder of a name. False: it is not there. */
static bool follow_folder(struct apart *x, const char *name)
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

static int not_apart(const struct apart *x, uint32_t id, const char *real, struct mlgen_err *err)
{
	char here[PATH_MAX];

	if (x->is_marked && replay_files_path(x->f, id, here) == 0 && strcmp(here, real) == 0)
		return 0;
	return mlgen_fail(err, -EEXIST,
			  "%s: the directory holds files that the trace names: %s; name another "
			  "directory, or use replay_files=traced, which only reads them",
			  x->f->directory, real);
}

static int check_apart(struct apart *x, uint32_t id, struct mlgen_err *err)
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
	struct apart x = { .f = f, .is_marked = is_marked };
	uint32_t names = trace_names_count(f->names);
	uint32_t step = names / FOLLOWED_NAMES + 1;
	int r = 0;

	for (uint32_t id = 1; id <= names && r == 0; id++)
		if (replay_file(f, id)->flags & REPLAY_FILE_THERE &&
		    (id % step == 0 || is_in(f->directory, trace_names_text(f->names, id, NULL))))
			r = check_apart(&x, id, err);
	return r;
}

/* ---- can they be replayed themselves? ---- */

/* The first that cannot, and why. */
struct unfit {
	uint64_t wrong;
	int code;
	uint32_t id;
	char why[256];
};

/* Linux, admin-guide/devices.txt: of memory, those whose reads change nothing: null, zero, full,
 * random, urandom. */
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
	snprintf(why, size, "has %s, and the trace has %s of it", units_put_size(text[0], has),
		 units_put_size(text[1], needs));
	return -EFBIG;
}

static int check_kind(const struct stat *st, const char *name, const struct replay_file *file,
		      char *why, size_t size)
{
	const char *other = filekind_other(st->st_mode);
	bool is_folder = file->flags & REPLAY_FILE_FOLDER;
	struct mlgen_err err = { 0 };
	struct mount m;
	int r;

	if (S_ISDIR(st->st_mode) && (is_folder || !(file->flags & REPLAY_FILE_READ)))
		return 0;
	if (S_ISREG(st->st_mode) && !is_folder)
		return check_bytes((uint64_t)st->st_size, file->bytes, why, size);
	if (S_ISCHR(st->st_mode) && is_harmless(st->st_rdev))
		return 0;
	if (S_ISBLK(st->st_mode) && !is_folder) {
		r = mount_read(&m, name, &err);
		if (r == 0)
			return check_bytes(m.total_bytes, file->bytes, why, size);
		snprintf(why, size, "%s", strerror(-r));
		return r;
	}
	snprintf(why, size, "is %s, and in the trace a %s", other ? other : "a regular file",
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

static int traced_fail(const struct replay_files *f, const struct unfit *t, struct mlgen_err *err)
{
	char n[UNITS_TEXT_BYTES], more[96] = "";

	if (t->wrong > 1)
		snprintf(more, sizeof(more), "; so it is with %s of its files",
			 units_human_count(n, t->wrong));
	return mlgen_fail(err, t->code,
			  "%s: %s%s; replay_files=traced reads the files that the trace names, "
			  "replay_files=own makes such files",
			  trace_names_text(f->names, t->id, NULL), t->why, more);
}

int replay_traced_look(const struct replay_files *f, struct mlgen_err *err)
{
	struct unfit t = { 0 };

	for (uint32_t id = 1; id <= trace_names_count(f->names); id++) {
		const struct replay_file *file = replay_file(f, id);
		char why[sizeof(t.why)];
		int r;

		if (!(file->flags & REPLAY_FILE_THERE) || !replay_file_is_traced(f, id))
			continue;
		r = look_at_traced(trace_names_text(f->names, id, NULL), file, why, sizeof(why));
		if (r && t.wrong++ == 0) {
			t.code = r;
			t.id = id;
			memcpy(t.why, why, sizeof(why));
		}
	}
	return t.wrong ? traced_fail(f, &t, err) : 0;
}
