/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.c - does a directory hold what is somebody else's? And what DLIO or MLPerf Storage wrote
 * there. */
#include "data/dataset/dataset_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/printable.h"
#include "data/file/file.h"
#include "data/state/state.h"
#include "job/job.h"

/* ---- a dataset that DLIO or MLPerf Storage wrote, where mlgen would make its own ---- */

/* Folders below train/ that are looked into for the first name: DLIO makes one level of them. */
#define DLIO_DEPTH_MAX 2

/* As DLIO's own of more would not fit a path. */
#define DIGITS_MAX 18

struct names {
	const struct format *format;
	uint64_t named; /* the N of all */
	bool is_other;  /* another name, or another N */
};

static const char *read_digits(const char *s, uint64_t *v, size_t *digits)
{
	*v = 0;
	for (*digits = 0; isdigit((unsigned char)*s); s++, ++*digits) {
		if (*digits == DIGITS_MAX)
			return NULL;
		*v = *v * 10 + (uint64_t)(*s - '0');
	}
	return *digits ? s : NULL;
}

/* "img_III_of_N.SUFFIX", as dataset_path writes it: N, or 0. */
static uint64_t read_name(const char *name, const struct format *f)
{
	const char *suffix = f->parts[0].suffix;
	size_t width, digits;
	uint64_t index, n;

	if (strncmp(name, "img_", 4) != 0)
		return 0;
	name = read_digits(name + 4, &index, &width);
	if (!name || strncmp(name, "_of_", 4) != 0)
		return 0;
	name = read_digits(name + 4, &n, &digits);
	if (!name || *name != '.' || width != digits || index >= n)
		return 0;
	return strcmp(name + 1, suffix ? suffix : f->name) == 0 ? n : 0;
}

/* An index of it, or a hidden file. */
static bool is_beside(const char *name)
{
	size_t n = strlen(name);

	return *name == '.' || (n > 4 && strcmp(name + n - 4, ".idx") == 0);
}

/* 1: the first file has such a name; 0: it has none; -1: there is no file. */
static int look_below(const char *path, const struct format *f, unsigned depth)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int found = -1;

	while (dir && found < 0 && (d = readdir(dir))) {
		char below[PATH_MAX];
		struct stat st;
		int n = snprintf(below, sizeof(below), "%s/%s", path, d->d_name);

		if (is_beside(d->d_name) || n < 0 || (size_t)n >= sizeof(below) ||
		    stat(below, &st) != 0)
			continue;
		if (S_ISREG(st.st_mode))
			found = st.st_size && read_name(d->d_name, f);
		else if (S_ISDIR(st.st_mode) && depth < DLIO_DEPTH_MAX)
			found = look_below(below, f, depth + 1);
		else
			found = 0;
	}
	if (dir)
		closedir(dir);
	return found;
}

bool dataset_dlio_is_there(const struct dataset *ds, const struct job *job)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/" MANIFEST_NAME, ds->directory);

	if (job_work(job)->only_prepares || !job_touches_files(job) || n < 0 ||
	    (size_t)n >= sizeof(path) || access(path, F_OK) == 0)
		return false;
	snprintf(path, sizeof(path), "%s/train", ds->directory);
	return look_below(path, ds->format, 1) == 1;
}

static bool keep(void *arg, const char *path)
{
	struct names *k = arg;
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	uint64_t n = read_name(name, k->format);

	if (n == 0 && is_beside(name))
		return false;
	k->is_other |= n == 0 || (k->named && n != k->named);
	k->named = n;
	return true;
}

uint64_t dataset_dlio_keep(struct scan *scan, const struct format *format, uint64_t *named)
{
	struct names k = { .format = format };

	scan_keep_named(scan, keep, &k);
	*named = k.named;
	return k.is_other ? 0 : scan_files(scan);
}

/* ---- what is somebody else's ---- */

/* So many are named, and so much of a name is shown. */
#define NAMES_SHOWN 3u
#define NAME_BYTES 60

/* In all: a larger directory without a manifest is not mlgen's. */
#define LOOKS_MAX 65536u

/* Folders below one another; a link may lead back to where it lies. */
#define DEPTH_MAX 8u

struct foreign_look {
	struct buf names;
	unsigned foreign; /* up to one more than are named */
	unsigned looks;   /* names that were read */
};

static bool foreign_is_there(int folder, const char *name)
{
	struct stat st;

	return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A manifest says whose a folder is. */
static bool has_manifest(int folder)
{
	return foreign_is_there(folder, MANIFEST_NAME) ||
	       foreign_is_there(folder, CHECKPOINT_MANIFEST);
}

static bool is_of_filesystem(const char *name)
{
	return strcmp(name, "lost+found") == 0 || strcmp(name, ".snapshot") == 0;
}

/* The lock, a manifest that is still being written, and the file by which a run that begins to save
 * finds out who owns what it makes. */
static bool is_of_preparation(const char *name)
{
	struct checkpoint k;

	return strncmp(name, ".mlgen-", strlen(".mlgen-")) == 0 ||
	       (*name == '.' && checkpoint_read_name(name, &k));
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* The next name in a folder; NULL = no more. */
static const char *next_name(struct foreign_look *l, DIR *dir)
{
	struct dirent *d;

	do
		d = readdir(dir);
	while (d && is_dots(d->d_name));
	l->looks += d != NULL;
	return d ? d->d_name : NULL;
}

static bool foreign_is_known(struct foreign_look *l, int folder, const char *name, unsigned depth);

/* Is there a manifest in the folder, or nothing but what is known? Takes `fd`. */
static bool holds_known(struct foreign_look *l, int fd, unsigned depth)
{
	DIR *dir = has_manifest(fd) ? NULL : fdopendir(fd);
	const char *name;
	bool known = true;

	if (!dir) {
		known = has_manifest(fd);
		close(fd);
		return known;
	}
	while (known && (name = next_name(l, dir)))
		known = foreign_is_known(l, fd, name, depth);
	/* A run may have written it while we looked. */
	known = known || has_manifest(fd);
	closedir(dir);
	return known;
}

/* Is it mlgen's, the filesystem's, or nothing? */
static bool foreign_is_known(struct foreign_look *l, int folder, const char *name, unsigned depth)
{
	struct stat st;
	int fd;

	if (fstatat(folder, name, &st, 0) != 0) /* it may have gone since */
		return errno == ENOENT && !foreign_is_there(folder, name);
	if (!S_ISDIR(st.st_mode))
		return S_ISREG(st.st_mode) && is_of_preparation(name);
	if (is_of_filesystem(name))
		return true;
	if (depth == DEPTH_MAX || l->looks >= LOOKS_MAX)
		return false;
	fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 && holds_known(l, fd, depth + 1);
}

/* A name stays on one line. */
static void add_name(struct foreign_look *l, const char *name)
{
	char text[NAME_BYTES + 1];

	if (l->foreign++ == NAMES_SHOWN)
		buf_add(&l->names, ", ...");
	if (l->foreign > NAMES_SHOWN)
		return;
	buf_add(&l->names, l->names.len ? ", " : "");
	printable_copy(text, sizeof(text), name);
	buf_addf(&l->names, "%s%s", text, strlen(text) == sizeof(text) - 1 ? "..." : "");
}

/* One that mlgen saved? */
static bool is_checkpoint(int folder, const char *name)
{
	char manifest[NAME_MAX + sizeof("/" CHECKPOINT_MANIFEST)];
	struct checkpoint k;

	if (!checkpoint_read_name(name, &k))
		return false;
	snprintf(manifest, sizeof(manifest), "%s/" CHECKPOINT_MANIFEST, name);
	return foreign_is_there(folder, manifest);
}

/* A directory of checkpoints is mlgen's by any of them: it is read further. */
static void foreign_look_at(struct foreign_look *l, DIR *dir, bool at_checkpoints)
{
	unsigned enough = at_checkpoints ? UINT_MAX : NAMES_SHOWN + 1;
	const char *name;

	while (l->foreign < enough && l->looks < LOOKS_MAX && (name = next_name(l, dir))) {
		if (at_checkpoints && is_checkpoint(dirfd(dir), name)) {
			l->foreign = 0;
			return;
		}
		if (l->foreign > NAMES_SHOWN)
			continue;
		if (!foreign_is_known(l, dirfd(dir), name, 0))
			add_name(l, name);
	}
}

/* True: it holds what is not mlgen's, and l->names says what. */
static bool is_foreign(struct foreign_look *l, const char *directory, bool at_checkpoints)
{
	DIR *dir = opendir(directory);

	if (!dir)
		return false;
	if (!foreign_is_there(dirfd(dir), MANIFEST_NAME))
		foreign_look_at(l, dir, at_checkpoints);
	closedir(dir);
	return l->foreign > 0;
}

static const char *slash_behind(const char *directory)
{
	size_t n = strlen(directory);

	return n && directory[n - 1] == '/' ? "" : "/";
}

int foreign_check_dataset(const char *directory, const struct job *job, struct mlgen_err *err)
{
	/* With checkpoints it needs another place for them, too, and to evaluate a folder
	 * valid/. */
	bool could_scan =
		!job_has_checkpoints(job) && !job->eval_files && dataset_scan_check(job, NULL) == 0;
	struct foreign_look l = { 0 };
	int rc = 0;

	if (is_foreign(&l, directory, false))
		rc = mlgen_fail(
			err, -EEXIST,
			"%s: holds %s, and no %s that says it is mlgen's to fill; "
			"--directory=%s%smlgen-data makes the dataset in a new folder below it%s",
			directory, buf_str(&l.names), MANIFEST_NAME, directory,
			slash_behind(directory),
			could_scan ? ", and --dataset=scan without num_files reads the files that "
				     "are there"
				   : "");
	buf_fini(&l.names);
	return rc;
}

int foreign_check_checkpoints(const char *directory, const struct job *job, struct mlgen_err *err)
{
	bool is_own = job->checkpoint_directory || job_work(job)->checkpoints == CHECKPOINTS_ASKED;
	struct foreign_look l = { 0 };
	int rc = 0;

	if (is_foreign(&l, directory, true))
		rc = mlgen_fail(err, -EEXIST,
				"%s: holds %s, and no checkpoint of mlgen's; "
				"--%sdirectory=%s%smlgen-data saves in a new folder below it",
				directory, buf_str(&l.names), is_own ? "checkpoint_" : "",
				directory, slash_behind(directory));
	buf_fini(&l.names);
	return rc;
}
