/* SPDX-License-Identifier: Apache-2.0 */
/* tier_folder.c - see tier_folder.h. */
#include "run/tier_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/below.h"
#include "base/buf.h"
#include "base/dirs.h"
#include "base/mem.h"

#define UNIT_SUFFIX ".unit"
#define MARKER_TEXT "a cache of mlgen's; it removes what is in here\n"

void tier_file_name(char out[TIER_NAME_BYTES], uint32_t slot)
{
	snprintf(out, TIER_NAME_BYTES, "%02x/%" PRIx32 UNIT_SUFFIX, slot % TIER_SHARDS, slot);
}

/* Which one of those of a job on a host it is. */
static void put_number(struct buf *text, const struct tier_cache *c)
{
	const struct job *j = c->tier->job;
	bool has_others = job_host_processes(j) > 1;

	if (c->parts > 1)
		buf_addf(text, "-part%" PRIu32, c->part);
	else if (c->tier->cache_count > 1 || (has_others && j->cache_scope == CACHE_OF_RANK))
		buf_addf(text, "-%" PRIu64, c->first_rank);
	else if (has_others)
		buf_addf(text, "-process%" PRIu64, j->place.process);
}

/* Of a job's name what no shell takes for something else. */
static char *folder_path(const struct tier_cache *c)
{
	const struct job *j = c->tier->job;
	struct buf text = { 0 };
	char *path;

	buf_addf(&text, "%s/mlgen-cache-", j->cache_directory);
	for (const char *s = j->name; *s; s++)
		buf_addf(&text, "%c", isalnum((unsigned char)*s) || *s == '.' ? *s : '_');
	put_number(&text, c);
	path = buf_take(&text);
	buf_fini(&text);
	return path;
}

static int tier_folder_fail(const struct tier_folder *f, const char *what, int code,
			    struct mlgen_err *err)
{
	return mlgen_fail(err, code, "cache_directory: %s%s: %s", f->path, what, strerror(-code));
}

/* An empty folder becomes ours. */
static int take_marker(struct tier_folder *f, const struct job *j, struct mlgen_err *err)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	bool is_new = dirs_is_empty(f->dir_fd);

	f->lock_fd = openat(f->dir_fd, TIER_MARKER, flags | (is_new ? O_CREAT | O_EXCL : 0), 0600);
	if (f->lock_fd < 0 && errno == ENOENT)
		return mlgen_fail(err, -EEXIST,
				  "cache_directory: %s is there and has files that are no cache of "
				  "mlgen's; another cache_directory, or name of the job",
				  f->path);
	if (f->lock_fd < 0)
		return tier_folder_fail(f, "/" TIER_MARKER, -errno, err);
	if (flock(f->lock_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return mlgen_fail(err, -EBUSY,
				  "cache_directory: %s is in use by another mlgen%s; wait until it "
				  "is done, or use another",
				  f->path,
				  j->place.hosts > 1 ? ", or by another host of this job, which is "
						       "to have a disk of its own there"
						     : "");
	f->is_ours = true;
	if (is_new && write(f->lock_fd, MARKER_TEXT, sizeof(MARKER_TEXT) - 1) <
			      (ssize_t)sizeof(MARKER_TEXT) - 1)
		return tier_folder_fail(f, "/" TIER_MARKER, -ENOSPC, err);
	return 0;
}

static int make_shards(struct tier_folder *f, struct mlgen_err *err)
{
	char name[8];

	for (unsigned i = 0; i < TIER_SHARDS; i++) {
		snprintf(name, sizeof(name), "%02x", i);
		if (mkdirat(f->dir_fd, name, 0700) != 0 && errno != EEXIST)
			return tier_folder_fail(f, "", -errno, err);
	}
	return 0;
}

int tier_folder_open(struct tier_cache *c, struct mlgen_err *err)
{
	struct tier_folder *f = &c->folder;
	char path[PATH_MAX];
	int rc;

	f->path = folder_path(c);
	f->dir_fd = f->lock_fd = -1;
	snprintf(path, sizeof(path), "%s", c->tier->job->cache_directory);
	rc = dirs_make(path, NULL);
	if (rc == 0 && mkdir(f->path, 0700) != 0 && errno != EEXIST)
		rc = -errno;
	if (rc == 0)
		f->dir_fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (rc == 0 && f->dir_fd < 0)
		rc = -errno;
	if (rc < 0)
		return tier_folder_fail(f, "", rc, err);
	rc = take_marker(f, c->tier->job, err);
	if (rc == 0 && c->tier->job->cache_layout == CACHE_LAYOUT_FILES)
		rc = make_shards(f, err);
	return rc;
}

/* "1f4a5.unit". */
static bool is_our_name(const char *name)
{
	size_t digits = strspn(name, "0123456789abcdef");

	return digits && strcmp(name + digits, UNIT_SUFFIX) == 0;
}

static void empty_shard(int dir_fd, const char *shard)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
	int fd = openat(dir_fd, shard, flags);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (is_our_name(e->d_name))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

void tier_folder_empty(struct tier_cache *c)
{
	struct tier_folder *f = &c->folder;
	char name[8];

	if (!f->is_ours)
		return;
	unlinkat(f->dir_fd, TIER_MANIFEST, 0);
	unlinkat(f->dir_fd, TIER_MANIFEST ".new", 0);
	unlinkat(f->dir_fd, TIER_SLAB, 0);
	for (unsigned i = 0; i < TIER_SHARDS; i++) {
		snprintf(name, sizeof(name), "%02x", i);
		empty_shard(f->dir_fd, name);
	}
}

void tier_folder_remove(struct tier_cache *c)
{
	struct tier_folder *f = &c->folder;
	char name[8];

	if (!f->is_ours)
		return;
	tier_folder_empty(c);
	for (unsigned i = 0; i < TIER_SHARDS; i++) {
		snprintf(name, sizeof(name), "%02x", i);
		unlinkat(f->dir_fd, name, AT_REMOVEDIR);
	}
	unlinkat(f->dir_fd, TIER_MARKER, 0);
	rmdir(f->path);
}

void tier_folder_close(struct tier_cache *c)
{
	struct tier_folder *f = &c->folder;

	if (!f->path)
		return;
	if (f->lock_fd >= 0)
		close(f->lock_fd);
	if (f->dir_fd >= 0)
		close(f->dir_fd);
	mem_free(f->path);
	*f = (struct tier_folder){ .dir_fd = -1, .lock_fd = -1 };
}
