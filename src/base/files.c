/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - inspect, open, write and replace files. */
#include "base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"

#define KIND(what) what, "is " what ", not a regular file"

static const struct kind {
	mode_t type;
	const char *name, *wrong;
} kinds[] = {
	{ S_IFDIR, KIND("a directory") },    { S_IFIFO, KIND("a fifo") },
	{ S_IFSOCK, KIND("a socket") },      { S_IFCHR, KIND("a character device") },
	{ S_IFBLK, KIND("a block device") }, { S_IFLNK, KIND("a symbolic link") },
	{ 0, KIND("something else") },
};

/* Return the kind; NULL for a regular file. */
static const struct kind *kind_of(mode_t mode)
{
	const struct kind *k = kinds;

	if (S_ISREG(mode))
		return NULL;
	while (k->type && k->type != (mode & S_IFMT))
		k++;
	return k;
}

const char *filekind_other(mode_t mode)
{
	const struct kind *k = kind_of(mode);

	return k ? k->name : NULL;
}

int filekind_check(const char *path, const char *advice, struct mlgen_err *err)
{
	const char *other = NULL;
	struct stat st;

	if (stat(path, &st) == 0)
		other = filekind_other(st.st_mode);
	if (!other)
		return 0;
	return mlgen_fail(err, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL,
			  "%s: is %s, not a regular file%s", path, other, advice);
}

static const char *wrong_of(const struct stat *st)
{
	const struct kind *k = kind_of(st->st_mode);

	return k ? k->wrong : NULL;
}

int filekind_open(FILE **out, int dir_fd, const char *path, int flags, uint64_t most_bytes,
		  const char **wrong)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
	struct stat st;
	int rc;

	*out = NULL;
	*wrong = NULL;
	if (fd < 0) { /* a socket, a link, a device without a driver */
		rc = -errno;
		if (rc != -ENOENT &&
		    fstatat(dir_fd, path, &st, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) == 0)
			*wrong = wrong_of(&st);
		return rc;
	}
	rc = fstat(fd, &st) != 0 ? -errno : 0;
	if (rc == 0)
		*wrong = wrong_of(&st);
	if (*wrong) {
		rc = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	} else if (rc == 0 && (uint64_t)st.st_size > most_bytes) {
		*wrong = "is too large for this kind of file";
		rc = -EFBIG;
	} else if (rc == 0) {
		*out = fdopen(fd, "r");
		rc = *out ? 0 : -errno;
	}
	if (rc < 0)
		close(fd);
	return rc;
}

int path_inspect(const char *path, struct stat *st)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	int rc = fd < 0 || fstat(fd, st) < 0 ? -errno : 0;

	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return rc;
}

int path_open_inspected(int looked_at, const char *path, const struct stat *st, int flags)
{
	char link[32];
	struct stat opened;
	int fd, rc = 0;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", looked_at);
	fd = open(link, flags | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &opened) < 0)
		rc = -errno;
	else if (opened.st_dev != st->st_dev || opened.st_ino != st->st_ino ||
		 opened.st_rdev != st->st_rdev)
		rc = -ESTALE;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

#define HOLD (O_PATH | O_DIRECTORY | O_CLOEXEC)

/* Retry after EINTR, which filesystems in user space may return. */
static int open_at(int dir_fd, const char *name, int flags)
{
	int fd;

	do
		fd = openat(dir_fd, name, flags, 0666);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

int below_open_root(const char *path)
{
	return open_at(AT_FDCWD, path, HOLD);
}

/* Open one step; the kernel reports a link only as ENOTDIR. */
static int open_step(int dir_fd, const char *name)
{
	int fd = open_at(dir_fd, name, HOLD | O_NOFOLLOW);
	struct stat st;

	if (fd == -ENOTDIR && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(st.st_mode))
		fd = -ELOOP;
	return fd;
}

/* Copy the next name of `relative` and advance. 1, 0 at the end, or -errno. */
static int next_name(const char **relative, char name[NAME_MAX + 1])
{
	size_t length = strcspn(*relative, "/");

	if (length == 0)
		return **relative ? -EINVAL : 0;
	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, *relative, length);
	name[length] = '\0';
	*relative += length + ((*relative)[length] == '/');
	return strcmp(name, "..") == 0 ? -EINVAL : 1;
}

int below_folder(int dir_fd, const char *relative)
{
	const struct open_how how = { .flags = HOLD,
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	char name[NAME_MAX + 1];
	int fd = -1, r, below;

	/* The kernel opens all steps in one call (since 5.6). On failure the single steps find
	 * the reason. */
	if (*relative && !strstr(relative, "..") && !strstr(relative, "//"))
		fd = (int)syscall(SYS_openat2, dir_fd, relative, &how, sizeof(how));
	if (fd >= 0)
		return fd;
	fd = open_at(dir_fd, ".", HOLD);
	if (fd < 0)
		return fd;
	while ((r = next_name(&relative, name)) > 0) {
		below = open_step(fd, name);
		close(fd);
		if (below < 0)
			return below;
		fd = below;
	}
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

int below_create(int dir_fd, const char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = open_at(dir_fd, name, flags);

	if (fd != -EEXIST)
		return fd;
	if (unlinkat(dir_fd, name, 0) != 0 && errno != ENOENT)
		return -errno;
	return open_at(dir_fd, name, flags);
}

int below_creator(int made_fd, uid_t *maker)
{
	struct stat st;

	if (fstat(made_fd, &st) != 0)
		return -errno;
	*maker = st.st_uid;
	return 0;
}

bool below_is_trusted(int folder_fd, uid_t maker)
{
	struct stat st;

	return fstat(folder_fd, &st) == 0 && (st.st_uid == maker || st.st_uid == 0);
}

int below_sync(int folder_fd)
{
	int fd = open_at(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = 0;

	if (fd < 0)
		return fd;
	/* EINVAL: the filesystem does not support fsync of folders. */
	if (fsync(fd) != 0 && errno != EINVAL)
		r = -errno;
	close(fd);
	return r;
}

int below_lock(int dir_fd)
{
	int fd = open_at(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return fd;
	do
		rc = flock(fd, LOCK_EX) == 0 ? 0 : -errno;
	while (rc == -EINTR);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

void below_unlock(int lock_fd)
{
	if (lock_fd >= 0)
		close(lock_fd);
}

int dirs_make(char *path, bool *made)
{
	char *slash = path;

	do {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		/* For an existing directory, a read-only filesystem may return EROFS. */
		if (access(path, F_OK) != 0) {
			int rc = mkdir(path, 0777) != 0 ? -errno : 0;

			if (rc && rc != -EEXIST)
				return rc;
			if (made && rc == 0)
				*made = true;
		}
		if (slash)
			*slash = '/';
	} while (slash);
	return 0;
}

bool dirs_can_write(const char *path)
{
	char *part = mem_strdup(path);

	while (access(part, F_OK) && strcmp(part, ".") && strcmp(part, "/")) {
		char *slash = strrchr(part, '/');

		if (slash == part)
			slash++;
		if (slash)
			*slash = '\0';
		else
			mem_replace(&part, ".");
	}
	bool can = faccessat(AT_FDCWD, part, W_OK | X_OK, AT_EACCESS) == 0;
	mem_free(part);
	return can;
}

bool dirs_is_empty(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	bool empty = d != NULL;

	while (d && (e = readdir(d)))
		empty &= strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return empty;
}

const char *dirs_explain_failure(char out[DIRS_WAY_BYTES], const char *path, int code)
{
	char at[PATH_MAX];
	struct stat st;
	char *slash = at;

	out[0] = '\0';
	if (code != -ENOTDIR || (size_t)snprintf(at, sizeof(at), "%s", path) >= sizeof(at))
		return out;
	while (slash && stat(at, &st) != 0) {
		slash = strrchr(at, '/');
		if (slash)
			*slash = '\0';
	}
	if (slash && !S_ISDIR(st.st_mode)) {
		const char *other = filekind_other(st.st_mode);

		snprintf(out, DIRS_WAY_BYTES, "; %s is %s: name another directory, or move it away",
			 at, other ? other : "a regular file");
	}
	return out;
}

int unnamed_open(const char *folder)
{
	char path[PATH_MAX];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);

	/* A filesystem without O_TMPFILE may treat this as opening a folder. */
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd < 0 ? -errno : fd;
	if (snprintf(path, sizeof(path), "%s/mlgen.XXXXXX", folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

/* Avoid folders in memory, because temporary files exist to save memory, and folders on the
 * filesystem of the dataset, because its reads are measured. */
static bool is_unsuitable(const char *folder, const char *beside)
{
	struct stat here, there;
	struct statfs fs;

	if (statfs(folder, &fs) != 0 || fs.f_type == TMPFS_MAGIC)
		return true;
	return beside && stat(folder, &here) == 0 && stat(beside, &there) == 0 &&
	       here.st_dev == there.st_dev;
}

const char *unnamed_folder(const char *beside)
{
	static const char *const folders[] = { "/var/tmp", "/tmp" };
	const char *folder = getenv("TMPDIR");

	if (has_text(folder))
		return folder;
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (!is_unsuitable(folders[i], beside))
			return folders[i];
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (!is_unsuitable(folders[i], NULL))
			return folders[i];
	return "/tmp";
}

int writeall(int fd, const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(fd, text, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		text += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int writeall_at(int fd, const void *from, size_t bytes, uint64_t at)
{
	const char *in = from;

	while (bytes > 0) {
		ssize_t n = pwrite(fd, in, bytes, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		in += n;
		at += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}

#define SUFFIX ".part"

/* replace_stop() waits for files that are being created, but only STOP_STEPS steps of 1 ms, because
 * a filesystem may hang. */
#define STOP_STEPS 1000
#define STOP_STEP_NS 1000000

/* A process ends as a whole, so all files share this state. */
static struct {
	_Atomic unsigned making; /* files being created, not yet in r->temporary */
	_Atomic bool is_stopped;
} state;

mode_t replace_new_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

int replace_begin(struct replace *r, const char *target, mode_t mode)
{
	const char *slash = strrchr(target, '/');
	int folder = slash ? (int)(slash + 1 - target) : 0;
	struct buf name = { 0 };
	int rc;

	r->target = mem_strdup(target);
	buf_addf(&name, "%.*s.%s.XXXXXX" SUFFIX, folder, target, target + folder);
	/* Either this thread sees is_stopped, or replace_stop() sees the new value of `making`. */
	atomic_fetch_add(&state.making, 1);
	if (atomic_load(&state.is_stopped)) {
		atomic_fetch_sub(&state.making, 1);
		for (;;)
			pause();
	}
	/* replace_stop() sees both the file and its name, or neither. */
	r->fd = mkostemps(name.s, (int)strlen(SUFFIX), O_CLOEXEC);
	rc = r->fd < 0 ? -errno : 0;
	if (rc)
		buf_fini(&name);
	else
		atomic_store(&r->temporary, buf_detach(&name));
	atomic_fetch_sub(&state.making, 1);
	if (rc == 0 && fchmod(r->fd, mode) != 0)
		rc = -errno;
	if (rc)
		replace_abandon(r);
	return rc;
}

int replace_commit(struct replace *r)
{
	char *temporary = atomic_load(&r->temporary);
	/* A server may report only here that it has no space. */
	int rc = close(r->fd) ? -errno : 0;

	r->fd = -1;
	if (rc == 0 && temporary && rename(temporary, r->target) != 0)
		rc = -errno;
	if (rc == 0)
		mem_free(atomic_exchange(&r->temporary, NULL));
	replace_abandon(r);
	return rc;
}

void replace_abandon(struct replace *r)
{
	if (r->target && r->fd >= 0)
		close(r->fd);
	replace_discard(r);
	mem_free(r->target);
	r->target = NULL;
	r->fd = -1;
}

void replace_stop(void)
{
	const struct timespec step = { .tv_nsec = STOP_STEP_NS };

	atomic_store(&state.is_stopped, true);
	for (int i = 0; i < STOP_STEPS && atomic_load(&state.making); i++)
		nanosleep(&step, NULL);
}

void replace_discard(struct replace *r)
{
	/* The thread that gets the name removes the file. */
	char *temporary = atomic_exchange(&r->temporary, NULL);

	if (temporary)
		unlink(temporary);
	mem_free(temporary);
}

bool standard_files_fill(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
			return false;
	return true;
}
