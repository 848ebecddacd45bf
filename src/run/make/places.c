/* SPDX-License-Identifier: Apache-2.0 */
/* places.c - directory locks, directories that hosts share, and residency in the page cache. */
#include "run/make/make_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/files.h"
#include "base/dist.h"
#include "base/util.h"
#include "io/devices.h"
#include "io/host.h"

/* ---- directory locks ---- */

/* 0, -EBUSY, or -EAGAIN when the file was removed between open and flock. */
static int lock_file(int fd, struct stat *st)
{
	/* A filesystem without locks (ENOLCK, ENOSYS, EOPNOTSUPP) is not a reason to refuse: with
	 * O_EXCL only one process creates the file. */
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return -EBUSY;
	if (fstat(fd, st) != 0)
		return -errno;
	return st->st_nlink > 0 ? 0 : -EAGAIN;
}

/* Remove the lock file of a killed run, whoever owns it, since our lock must be a file of our own.
 * -EAGAIN: try again; or another -errno. */
static int remove_stale_lock(int dir_fd)
{
	const int flags = O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW;
	int fd = openat(dir_fd, DIRLOCK_NAME, flags), r;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	r = lock_file(fd, &st);
	if (r == 0)
		r = unlinkat(dir_fd, DIRLOCK_NAME, 0) == 0 || errno == ENOENT ? -EAGAIN : -errno;
	close(fd);
	return r;
}

static int make_lock(struct dirlock *l)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
	struct stat st;
	int r;

	l->fd = openat(l->dir_fd, DIRLOCK_NAME, flags, 0666);
	if (l->fd < 0)
		return errno == EEXIST ? remove_stale_lock(l->dir_fd) : -errno;
	r = lock_file(l->fd, &st);
	if (r)
		close(l->fd);
	else
		l->maker = st.st_uid;
	return r;
}

static int dirlock_fail(const char *directory, int code, struct mlgen_err *err)
{
	char why[NOROOM_BYTES];

	if (code == -EBUSY)
		return mlgen_fail(
			err, code,
			"%s: another mlgen is preparing this directory; wait until it has finished",
			directory);
	return mlgen_fail(
		err, code,
		"%s: cannot write here: %s%s; use another directory, or change its permissions",
		directory, strerror(-code), noroom_text(why, directory, code, 0));
}

/* Lock the directory of l->dir_fd, or close l->dir_fd on failure. */
static int dirlock_lock(struct dirlock *l, const char *directory, struct mlgen_err *err)
{
	int r = l->dir_fd;

	if (r < 0)
		return dirlock_fail(directory, r, err);
	do
		r = make_lock(l);
	while (r == -EAGAIN || r == -EINTR);
	l->is_held = r == 0;
	if (r == 0)
		return 0;
	close(l->dir_fd);
	return dirlock_fail(directory, r, err);
}

int dirlock_acquire(struct dirlock *l, const char *directory, struct mlgen_err *err)
{
	l->dir_fd = below_open_root(directory);
	return dirlock_lock(l, directory, err);
}

int dirlock_acquire_at(struct dirlock *l, int dir_fd, const char *directory, struct mlgen_err *err)
{
	l->dir_fd = below_folder(dir_fd, "");
	return dirlock_lock(l, directory, err);
}

void dirlock_drop(struct dirlock *l)
{
	if (!l->is_held)
		return;
	/* Unlink first, so that no process locks a file that is about to be removed. */
	unlinkat(l->dir_fd, DIRLOCK_NAME, 0);
	close(l->fd);
	close(l->dir_fd);
	l->is_held = false;
}

/* ---- directories that hosts share ---- */

#define RETRY_FOR_NS (10 * NS_PER_S)
#define RETRY_EVERY_NS 50000000

enum { TOKEN_BYTES = 32 };

/* Message of rank 0 to the other processes. */
struct directory_probe {
	char path[PATH_MAX];       /* the file with the token, or the directory */
	char token[TOKEN_BYTES];   /* "" = no file could be written */
	uint64_t inode, change_ns; /* the directory's, if there is no token */
};

/* Set `out` to the directory, or to its nearest parent that exists. */
static void find_existing(char out[PATH_MAX], const char *directory)
{
	snprintf(out, PATH_MAX, "%s", directory);
	while (access(out, F_OK) != 0) {
		char *slash = strrchr(out, '/');

		if (!slash) {
			snprintf(out, PATH_MAX, ".");
			return;
		}
		slash[slash == out] = '\0';
	}
}

static int stat_directory(struct directory_probe *p)
{
	struct stat st;

	if (stat(p->path, &st) != 0)
		return -errno;
	p->inode = st.st_ino;
	p->change_ns = (uint64_t)st.st_ctim.tv_sec * NS_PER_S + (uint64_t)st.st_ctim.tv_nsec;
	return 0;
}

static int write_token(const char *path, const char *token)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	ssize_t n = write(fd, token, TOKEN_BYTES);
	int rc = n < 0 ? -errno : n == TOKEN_BYTES ? 0 : -EIO;
	if (rc == 0 && fsync(fd) != 0)
		rc = -errno;
	if (close(fd) != 0 && rc == 0)
		rc = -errno;
	if (rc < 0)
		unlink(path);
	return rc;
}

static void make_probe(struct directory_probe *p, const char *directory)
{
	char path[PATH_MAX + 64];
	uint64_t random = 0;

	find_existing(p->path, directory);
	if (getrandom(&random, sizeof(random), 0) == sizeof(random))
		snprintf(p->token, sizeof(p->token), "mlgen%016" PRIx64, random);
	snprintf(path, sizeof(path), "%s/.mlgen-probe-%016" PRIx64, p->path, random);
	if (p->token[0] && strlen(path) < PATH_MAX && write_token(path, p->token) == 0) {
		memcpy(p->path, path, strlen(path) + 1);
		return;
	}
	p->token[0] = '\0';
	stat_directory(p);
}

static bool sees_token(const struct directory_probe *p)
{
	char seen[TOKEN_BYTES];
	int fd = open(p->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return false;
	ssize_t n = read(fd, seen, sizeof(seen));
	close(fd);
	return n == TOKEN_BYTES && memcmp(seen, p->token, TOKEN_BYTES) == 0;
}

static bool sees_directory(const struct directory_probe *p)
{
	struct directory_probe own = *p;

	return stat_directory(&own) == 0 && own.inode == p->inode && own.change_ns == p->change_ns;
}

/* Does this process see what rank 0 sees? Waits in real time, since other hosts do not follow the
 * run's clock. */
static bool sees_probe(const struct directory_probe *p)
{
	const struct timespec pause = { .tv_nsec = RETRY_EVERY_NS };
	uint64_t end_ns = clock_monotonic_ns() + RETRY_FOR_NS;

	for (;;) {
		if (p->token[0] ? sees_token(p) : sees_directory(p))
			return true;
		if (clock_monotonic_ns() >= end_ns)
			return false;
		nanosleep(&pause, NULL);
	}
}

int shareddir_check(struct hosts *h, const char *directory, const char *otherwise,
		    struct mlgen_err *err)
{
	struct directory_probe p = { 0 };
	struct buf b = { 0 };

	if (hosts_count(h) == 1)
		return 0;
	if (hosts_rank(h) == 0)
		make_probe(&p, directory);
	buf_addn(&b, (const char *)&p, sizeof(p));
	int rc = hosts_broadcast(h, &b, err);
	if (rc == 0) {
		memcpy(&p, buf_str(&b), sizeof(p));
		if (hosts_host_of(h, hosts_rank(h)) != 0 && !sees_probe(&p))
			rc = mlgen_fail(err, -EXDEV,
					"%s: is not the same directory as on %s; name a directory "
					"that all hosts share%s",
					directory, hosts_name(h, 0), otherwise);
		rc = hosts_agree(h, rc, err);
	}
	if (hosts_rank(h) == 0 && p.token[0])
		unlink(p.path);
	buf_fini(&b);
	return rc;
}

/* ---- residency in the page cache ---- */

/* A seed that no job uses. The first files in a job's own order are not typical: an interrupted run
 * has read them, and a long run has lost them from the cache first. */
#define SEED UINT64_C(0x7265736964656e74)

struct residency_request {
	const struct dataset *ds;
	const struct clock *clock;
	uint64_t deadline_ns, round;
	bool first_is_enough;
};

static void sample(struct residency *r, const struct residency_request *s)
{
	uint64_t files = dataset_all_files(s->ds);
	uint64_t wanted = files < RESIDENCY_FILES ? files : RESIDENCY_FILES;
	double resident = 0, total = 0;
	uint64_t absent = 0;
	struct perm order;

	*r = (struct residency){ .failed_file = UINT64_MAX };
	perm_init(&order, files, SEED, s->round);
	for (uint64_t i = 0; i < wanted; i++) {
		uint64_t file = perm_at(&order, i), resident_pages, sampled_pages;
		char path[PATH_MAX];

		if (s->deadline_ns != CLOCK_NEVER && clock_now(s->clock) >= s->deadline_ns)
			break;
		if (!dataset_has_file(s->ds, file)) {
			absent++;
			continue;
		}
		if (dataset_path(s->ds, file, path, sizeof(path)) <= 0 ||
		    pagecache_sample(path, file, &resident_pages, &sampled_pages)) {
			r->failed_file = file;
			continue;
		}
		double bytes = (double)dataset_file_bytes(s->ds, file);
		if (sampled_pages)
			resident += bytes * (double)resident_pages / (double)sampled_pages;
		total += bytes;
		r->files++;
		if (resident_pages && s->first_is_enough)
			break;
	}
	r->percent = total > 0 ? 100 * resident / total : (double)NAN;
	r->is_nothing = r->files + absent == wanted && resident <= 0;
}

void residency_sample(struct residency *r, const struct dataset *ds, const struct clock *clock,
		      uint64_t deadline_ns)
{
	const struct residency_request s = { ds, clock, deadline_ns, 0, false };

	sample(r, &s);
}

bool residency_is_nothing(const struct dataset *ds, uint64_t round, const struct clock *clock,
			  uint64_t deadline_ns)
{
	const struct residency_request s = { ds, clock, deadline_ns, round, true };
	struct residency r;

	sample(&r, &s);
	return r.is_nothing;
}
