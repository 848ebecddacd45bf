/* SPDX-License-Identifier: Apache-2.0 */
/* oneplace.c - see oneplace.h. */
#include "run/oneplace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"

#define PATIENCE_NS (10 * NS_PER_S)
#define LOOK_EVERY_NS 50000000

enum { TOKEN_BYTES = 32 };

/* What rank 0 says of it. */
struct probe {
	char path[PATH_MAX];       /* of the file, or of the directory */
	char token[TOKEN_BYTES];   /* in hex; "" = no file could be written */
	uint64_t inode, change_ns; /* of the directory then */
};

/* The last of what leads to it that is there. */
static void put_existing(char out[PATH_MAX], const char *directory)
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

static int look_at_directory(struct probe *p)
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

static void make_probe(struct probe *p, const char *directory)
{
	char path[PATH_MAX + 64];
	uint64_t random = 0;

	put_existing(p->path, directory);
	if (getrandom(&random, sizeof(random), 0) == sizeof(random))
		snprintf(p->token, sizeof(p->token), "mlgen%016" PRIx64, random);
	snprintf(path, sizeof(path), "%s/.mlgen-probe-%016" PRIx64, p->path, random);
	if (p->token[0] && strlen(path) < PATH_MAX && write_token(path, p->token) == 0) {
		memcpy(p->path, path, strlen(path) + 1);
		return;
	}
	p->token[0] = '\0';
	look_at_directory(p);
}

static bool sees_token(const struct probe *p)
{
	char found[TOKEN_BYTES];
	int fd = open(p->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return false;
	ssize_t n = read(fd, found, sizeof(found));
	close(fd);
	return n == TOKEN_BYTES && memcmp(found, p->token, TOKEN_BYTES) == 0;
}

static bool sees_directory(const struct probe *p)
{
	struct probe own = *p;

	return look_at_directory(&own) == 0 && own.inode == p->inode &&
	       own.change_ns == p->change_ns;
}

/* Whichever clock the run has: another host is not in it. */
static bool sees(const struct probe *p)
{
	const struct timespec pause = { .tv_nsec = LOOK_EVERY_NS };
	uint64_t end_ns = clock_monotonic_ns() + PATIENCE_NS;

	for (;;) {
		if (p->token[0] ? sees_token(p) : sees_directory(p))
			return true;
		if (clock_monotonic_ns() >= end_ns)
			return false;
		nanosleep(&pause, NULL);
	}
}

static int look(const struct hosts *h, const struct probe *p, const char *directory,
		const char *otherwise, struct mlgen_err *err)
{
	if (hosts_host_of(h, hosts_rank(h)) == 0 || sees(p))
		return 0;
	return mlgen_fail(err, -EXDEV,
			  "%s: is not the directory that %s has by that name; name one that all "
			  "hosts share%s",
			  directory, hosts_name(h, 0), otherwise);
}

int oneplace_check(struct hosts *h, const char *directory, const char *otherwise,
		   struct mlgen_err *err)
{
	struct probe p = { 0 };
	struct buf b = { 0 };

	if (hosts_count(h) == 1)
		return 0;
	if (hosts_rank(h) == 0)
		make_probe(&p, directory);
	buf_addn(&b, (const char *)&p, sizeof(p));
	int rc = hosts_share(h, &b, err);
	if (rc == 0) {
		memcpy(&p, buf_str(&b), sizeof(p));
		rc = hosts_agree(h, look(h, &p, directory, otherwise, err), err);
	}
	if (hosts_rank(h) == 0 && p.token[0])
		unlink(p.path);
	buf_fini(&b);
	return rc;
}
