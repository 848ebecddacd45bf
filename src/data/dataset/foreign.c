/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.c - find other programs' files in a directory, and datasets of DLIO or MLPerf Storage. */
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
#include "base/log.h"
#include "data/file/file.h"
#include "data/state/state.h"
#include "job/job.h"

/* ---- a dataset that DLIO or MLPerf Storage wrote, where mlgen would make its own ---- */

/* Levels of folders searched for the first name; DLIO makes one level below train/. */
#define DLIO_DEPTH_MAX 2

/* DLIO's names have no longer numbers, and 18 digits fit into 64 bits. */
#define DIGITS_MAX 18

struct dlio_names {
	const struct format *format;
	uint64_t named; /* the N in all names */
	bool is_other;  /* a file has another name, or another N */
};

static const char *parse_digits(const char *s, uint64_t *v, size_t *digits)
{
	*v = 0;
	for (*digits = 0; isdigit((unsigned char)*s); s++, ++*digits) {
		if (*digits == DIGITS_MAX)
			return NULL;
		*v = *v * 10 + (uint64_t)(*s - '0');
	}
	return *digits ? s : NULL;
}

/* Parse "img_III_of_N.SUFFIX", as dataset_path formats it: N, or 0. */
static uint64_t parse_dlio_name(const char *name, const struct format *f)
{
	const char *suffix = f->parts[0].suffix;
	size_t width, digits;
	uint64_t index, n;

	if (strncmp(name, "img_", 4) != 0)
		return 0;
	name = parse_digits(name + 4, &index, &width);
	if (!name || strncmp(name, "_of_", 4) != 0)
		return 0;
	name = parse_digits(name + 4, &n, &digits);
	if (!name || *name != '.' || width != digits || index >= n)
		return 0;
	return strcmp(name + 1, suffix ? suffix : f->name) == 0 ? n : 0;
}

static bool is_index_or_hidden(const char *name)
{
	size_t n = strlen(name);

	return *name == '.' || (n > 4 && strcmp(name + n - 4, ".idx") == 0);
}

/* 1 = the first file is named as DLIO names its files; 0 = it has another name; -1 = there is no
 * file. */
static int check_first_name(const char *path, const struct format *f, unsigned depth)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int found = -1;

	while (dir && found < 0 && (d = readdir(dir))) {
		char below[PATH_MAX];
		struct stat st;
		int n = snprintf(below, sizeof(below), "%s/%s", path, d->d_name);

		if (is_index_or_hidden(d->d_name) || n < 0 || (size_t)n >= sizeof(below) ||
		    stat(below, &st) != 0)
			continue;
		if (S_ISREG(st.st_mode))
			found = st.st_size && parse_dlio_name(d->d_name, f);
		else if (S_ISDIR(st.st_mode) && depth < DLIO_DEPTH_MAX)
			found = check_first_name(below, f, depth + 1);
		else
			found = 0;
	}
	if (dir)
		closedir(dir);
	return found;
}

bool dataset_dlio_exists(const struct dataset *ds, const struct job *job)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/" MANIFEST_NAME, ds->directory);

	if (job_work(job)->only_prepares || !job_touches_files(job) || n < 0 ||
	    (size_t)n >= sizeof(path) || access(path, F_OK) == 0)
		return false;
	snprintf(path, sizeof(path), "%s/train", ds->directory);
	return check_first_name(path, ds->format, 1) == 1;
}

static bool keep_dlio_name(void *arg, const char *path)
{
	struct dlio_names *k = arg;
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	uint64_t n = parse_dlio_name(name, k->format);

	if (n == 0 && is_index_or_hidden(name))
		return false;
	k->is_other |= n == 0 || (k->named && n != k->named);
	k->named = n;
	return true;
}

uint64_t dataset_dlio_keep(struct scan *scan, const struct format *format, uint64_t *named)
{
	struct dlio_names k = { .format = format };

	scan_filter_named(scan, keep_dlio_name, &k);
	*named = k.named;
	return k.is_other ? 0 : scan_files(scan);
}

/* ---- somebody else's files ---- */

/* Number of names in a message, and bytes of each. */
#define NAMES_SHOWN 3u
#define NAME_BYTES 60

/* A larger directory without a manifest does not belong to mlgen. */
#define NAMES_READ_MAX 65536u

/* Levels of folders; a symbolic link may lead to its own parent. */
#define DEPTH_MAX 8u

struct foreign_look {
	struct buf names;
	unsigned foreign; /* counts up to one more than are named */
	unsigned names_read;
};

static bool exists_in(int folder, const char *name)
{
	struct stat st;

	return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A folder with a manifest belongs to mlgen. */
static bool has_manifest(int folder)
{
	return exists_in(folder, MANIFEST_NAME) || exists_in(folder, CHECKPOINT_MANIFEST);
}

/* True for the lock, a manifest that is still being written, and the file that a run creates to
 * learn the owner of its files before it saves. */
static bool is_temporary(const char *name)
{
	struct checkpoint k;

	return strncmp(name, ".mlgen-", strlen(".mlgen-")) == 0 ||
	       (*name == '.' && checkpoint_parse_name(name, &k));
}

/* The next name in a folder except "." and ".."; NULL = no more. */
static const char *next_name(struct foreign_look *l, DIR *dir)
{
	struct dirent *d;

	do
		d = readdir(dir);
	while (d && (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0));
	l->names_read += d != NULL;
	return d ? d->d_name : NULL;
}

/* True if a name belongs to mlgen or to the filesystem, or has disappeared. A folder belongs to
 * mlgen if it has a manifest, or holds only allowed names. */
static bool is_allowed(struct foreign_look *l, int folder, const char *name, unsigned depth)
{
	bool allowed = true;
	struct stat st;

	if (fstatat(folder, name, &st, 0) != 0)
		return errno == ENOENT && !exists_in(folder, name);
	if (!S_ISDIR(st.st_mode))
		return S_ISREG(st.st_mode) && is_temporary(name);
	if (strcmp(name, "lost+found") == 0 || strcmp(name, ".snapshot") == 0)
		return true;
	if (depth == DEPTH_MAX || l->names_read >= NAMES_READ_MAX)
		return false;
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	DIR *dir = has_manifest(fd) ? NULL : fdopendir(fd);
	if (!dir) {
		allowed = has_manifest(fd);
		close(fd);
		return allowed;
	}
	while (allowed && (name = next_name(l, dir)))
		allowed = is_allowed(l, fd, name, depth + 1);
	/* A run may have written the manifest in the meantime. */
	allowed = allowed || has_manifest(fd);
	closedir(dir);
	return allowed;
}

/* Append a name, with control characters replaced, so that the message stays on one line. */
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

/* True if the folder is a checkpoint that mlgen has saved. */
static bool is_checkpoint(int folder, const char *name)
{
	char manifest[NAME_MAX + sizeof("/" CHECKPOINT_MANIFEST)];
	struct checkpoint k;

	if (!checkpoint_parse_name(name, &k))
		return false;
	snprintf(manifest, sizeof(manifest), "%s/" CHECKPOINT_MANIFEST, name);
	return exists_in(folder, manifest);
}

/* A directory of checkpoints belongs to mlgen if it holds any mlgen checkpoint, so it is read to
 * its end. */
static void collect_foreign(struct foreign_look *l, DIR *dir, bool at_checkpoints)
{
	unsigned enough = at_checkpoints ? UINT_MAX : NAMES_SHOWN + 1;
	const char *name;

	while (l->foreign < enough && l->names_read < NAMES_READ_MAX &&
	       (name = next_name(l, dir))) {
		if (at_checkpoints && is_checkpoint(dirfd(dir), name)) {
			l->foreign = 0;
			return;
		}
		if (l->foreign > NAMES_SHOWN)
			continue;
		if (!is_allowed(l, dirfd(dir), name, 0))
			add_name(l, name);
	}
}

/* True if the directory holds files that are not mlgen's; l->names has their names. */
static bool is_foreign(struct foreign_look *l, const char *directory, bool at_checkpoints)
{
	DIR *dir = opendir(directory);

	if (!dir)
		return false;
	if (!exists_in(dirfd(dir), MANIFEST_NAME))
		collect_foreign(l, dir, at_checkpoints);
	closedir(dir);
	return l->foreign > 0;
}

static const char *slash_after(const char *directory)
{
	size_t n = strlen(directory);

	return n && directory[n - 1] == '/' ? "" : "/";
}

int foreign_check_dataset(const char *directory, const struct job *job, struct mlgen_err *err)
{
	/* A scan also needs another place for checkpoints, and a folder valid/ to evaluate. */
	bool could_scan =
		!job_has_checkpoints(job) && !job->eval_files && dataset_scan_check(job, NULL) == 0;
	struct foreign_look l = { 0 };
	int rc = 0;

	if (is_foreign(&l, directory, false))
		rc = mlgen_fail(
			err, -EEXIST,
			"%s: contains %s, but no %s, so mlgen does not write here; "
			"--directory=%s%smlgen-data makes the dataset in a new folder below it%s",
			directory, buf_str(&l.names), MANIFEST_NAME, directory,
			slash_after(directory),
			could_scan
				? ", and --dataset=scan without num_files reads the existing files"
				: "");
	buf_fini(&l.names);
	return rc;
}

int foreign_check_checkpoints(const char *directory, const struct job *job, struct mlgen_err *err)
{
	bool is_own =
		job->checkpoint_directory || job_work(job)->checkpoints == CHECKPOINTS_OPTIONAL;
	struct foreign_look l = { 0 };
	int rc = 0;

	if (is_foreign(&l, directory, true))
		rc = mlgen_fail(err, -EEXIST,
				"%s: contains %s, but no checkpoint of mlgen; "
				"--%sdirectory=%s%smlgen-data saves in a new folder below it",
				directory, buf_str(&l.names), is_own ? "checkpoint_" : "",
				directory, slash_after(directory));
	buf_fini(&l.names);
	return rc;
}
