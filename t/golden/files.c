/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - where paths lead: to the test's own folder, to a machine made of text, or to the real
 * one. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim.h"
#include "wraps.h"

/* As what mlgen sees its current folder, wherever that is. */
#define HOME "/golden"

#define PAGE_BYTES 4096
#define FREE_BLOCKS (UINT64_C(600) << 18) /* of 4 KiB: 600 GiB */
#define ALL_BLOCKS (UINT64_C(1) << 28)    /* 1 TiB */

/* Both are absolute and without links. */
static const char *home(void)
{
	return getenv("GOLDEN_HOME");
}

static const char *machine(void)
{
	return getenv("GOLDEN_MACHINE");
}

static bool is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && strchr("/", path[n]);
}

static bool is_real(const char *path)
{
	static const char *const real[] = { "/dev", "/proc/self/fd", "/proc/self/cmdline" };

	for (size_t i = 0; i < sizeof(real) / sizeof(*real); i++)
		if (is_below(path, real[i]))
			return true;
	return path[0] != '/' || is_below(path, home()) || is_below(path, machine());
}

/* Into `out` of PATH_MAX where it leads elsewhere. */
static const char *lead(char *out, const char *path)
{
	if (is_below(path, HOME))
		snprintf(out, PATH_MAX, "%s%s", home(), path + strlen(HOME));
	else if (is_real(path))
		return path;
	else
		snprintf(out, PATH_MAX, "%s%s", machine(), path);
	return out;
}

/* The way back, in place. */
static void lead_back(char *path)
{
	size_t n = strlen(home());

	if (is_below(path, home())) {
		memmove(path + strlen(HOME), path + n, strlen(path + n) + 1);
		memcpy(path, HOME, strlen(HOME));
	} else if (is_below(path, machine())) {
		n = strlen(machine());
		memmove(path, path + n, strlen(path + n) + 1);
	}
}

/* The machine's counters: @1000+3/2@ is 1000 and 3 in every 2 ms, and a name is what storage has
 * done. */

static uint64_t since_begin_ms(void)
{
	return sim_now_ns() / 1000000 - 1000000;
}

static uint64_t counter(const char *text)
{
	const struct sim_storage *s = sim_storage();
	const struct {
		const char *name;
		uint64_t value;
	} names[] = {
		{ "reads@", s->reads },
		{ "read_bytes@", s->read_bytes },
		{ "read_sectors@", s->read_bytes / 512 },
		{ "writes@", s->writes },
		{ "write_sectors@", s->written_bytes / 512 },
		{ "busy_ms@", s->busy_ns / 1000000 },
	};
	unsigned long base = 0, n = 0, in_ms = 1;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(text, names[i].name, strlen(names[i].name)) == 0)
			return names[i].value;
	if (sscanf(text, "%lu+%lu/%lu@", &base, &n, &in_ms) != 3)
		abort();
	return base + since_begin_ms() * n / in_ms;
}

static void put_counters(FILE *to, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "@");

		fwrite(text, 1, n, to);
		text += n;
		if (!*text)
			break;
		fprintf(to, "%llu", (unsigned long long)counter(text + 1));
		text = strchr(text + 1, '@') + 1;
	}
}

static FILE *open_counters(const char *path, const char *mode)
{
	char text[16384];
	FILE *from = __real_fopen(path, mode), *to;
	size_t n;
	int fd;

	if (!from)
		return NULL;
	n = fread(text, 1, sizeof(text) - 1, from);
	text[n] = '\0';
	fclose(from);
	fd = memfd_create("counters", MFD_CLOEXEC);
	to = fdopen(fd, "w+");
	if (!to)
		abort();
	put_counters(to, text);
	rewind(to);
	return to;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	char led[PATH_MAX];

	path = lead(led, path);
	return path == led && is_below(path, machine()) ? open_counters(path, mode)
							: __real_fopen(path, mode);
}

/* Paths. */

static mode_t mode_of(int flags, va_list ap)
{
	return flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? (mode_t)va_arg(ap, int) : 0;
}

/* Not every filesystem below the test's folder has O_DIRECT. Opens that make a file, or look at
 * one, take no time. */
static int opened(int fd, const char *path, int flags)
{
	if (fd < 0)
		return fd;
	sim_opened(fd, path);
	if (!(flags & (O_CREAT | O_DIRECTORY | O_PATH)))
		sim_open_takes();
	return fd;
}

int __wrap_open(const char *path, int flags, ...)
{
	char led[PATH_MAX];
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	path = lead(led, path);
	return opened(__real_open(path, flags & ~O_DIRECT, mode), path, flags);
}

int __wrap_openat(int dir, const char *path, int flags, ...)
{
	char led[PATH_MAX];
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	path = lead(led, path);
	return opened(__real_openat(dir, path, flags & ~O_DIRECT, mode), path, flags);
}

DIR *__wrap_opendir(const char *path)
{
	char led[PATH_MAX];

	return __real_opendir(lead(led, path));
}

/* Filesystems have orders of their own; here it is that of the names. */

static struct listing {
	struct listing *next;
	DIR *dir;
	struct dirent *entries;
	size_t count, at;
} * listings;

static int by_name(const void *a, const void *b)
{
	const struct dirent *x = a, *y = b;

	return strcmp(x->d_name, y->d_name);
}

static struct listing *list(DIR *dir)
{
	struct listing *l = calloc(1, sizeof(*l));
	const struct dirent *e;

	if (!l)
		abort();
	l->dir = dir;
	while ((e = __real_readdir(dir))) {
		l->entries = reallocarray(l->entries, l->count + 1, sizeof(*e));
		if (!l->entries)
			abort();
		/* What the kernel gave is no longer than its name. */
		memcpy(&l->entries[l->count++], e, e->d_reclen);
	}
	if (l->count)
		qsort(l->entries, l->count, sizeof(*e), by_name);
	l->next = listings;
	listings = l;
	return l;
}

struct dirent *__wrap_readdir(DIR *dir)
{
	struct listing *l = listings;

	while (l && l->dir != dir)
		l = l->next;
	if (!l)
		l = list(dir);
	return l->at < l->count ? &l->entries[l->at++] : NULL;
}

int __wrap_closedir(DIR *dir)
{
	struct listing **at = &listings, *l;

	while (*at && (*at)->dir != dir)
		at = &(*at)->next;
	l = *at;
	if (l) {
		*at = l->next;
		free(l->entries);
		free(l);
	}
	return __real_closedir(dir);
}

int __wrap_stat(const char *path, struct stat *st)
{
	char led[PATH_MAX];

	return __real_stat(lead(led, path), st);
}

int __wrap_lstat(const char *path, struct stat *st)
{
	char led[PATH_MAX];

	return __real_lstat(lead(led, path), st);
}

int __wrap_statfs(const char *path, struct statfs *v)
{
	char led[PATH_MAX];

	return __real_statfs(lead(led, path), v);
}

int __wrap_statvfs(const char *path, struct statvfs *v)
{
	char led[PATH_MAX];
	int rc = __real_statvfs(lead(led, path), v);

	v->f_frsize = v->f_bsize = PAGE_BYTES;
	v->f_blocks = ALL_BLOCKS;
	v->f_bfree = v->f_bavail = sim_option("FREE_MIB", FREE_BLOCKS / 256) * 256;
	v->f_flag = 0;
	return rc;
}

/* As before Linux 6.1: alignment is the disk's. */
int __wrap_statx(int dir, const char *path, int flags, unsigned mask, struct statx *out)
{
	(void)dir;
	(void)path;
	(void)flags;
	(void)mask;
	(void)out;
	errno = ENOSYS;
	return -1;
}

int __wrap_access(const char *path, int mode)
{
	char led[PATH_MAX];

	return __real_access(lead(led, path), mode);
}

int __wrap_faccessat(int dir, const char *path, int mode, int flags)
{
	char led[PATH_MAX];

	return __real_faccessat(dir, lead(led, path), mode, flags);
}

ssize_t __wrap_readlink(const char *path, char *out, size_t size)
{
	char led[PATH_MAX];

	if (strcmp(path, "/proc/self/exe") == 0)
		return snprintf(out, size, "/usr/bin/mlgen");
	return __real_readlink(lead(led, path), out, size);
}

char *__wrap_realpath(const char *path, char *out)
{
	char led[PATH_MAX];

	out = __real_realpath(lead(led, path), out);
	if (out)
		lead_back(out);
	return out;
}

int __wrap_rename(const char *from, const char *to)
{
	char a[PATH_MAX], b[PATH_MAX];

	return __real_rename(lead(a, from), lead(b, to));
}

int __wrap_unlink(const char *path)
{
	char led[PATH_MAX];

	return __real_unlink(lead(led, path));
}

int __wrap_mkdir(const char *path, mode_t mode)
{
	char led[PATH_MAX];

	return __real_mkdir(lead(led, path), mode);
}

int __wrap_rmdir(const char *path)
{
	char led[PATH_MAX];

	return __real_rmdir(lead(led, path));
}

/* The name has to come back as it went in. */
int __wrap_mkostemps(char *path, int suffix_bytes, int flags)
{
	size_t n = strlen(path), behind = 6 + (size_t)suffix_bytes;
	char led[PATH_MAX];
	int fd;

	snprintf(led, sizeof(led), "%s", path);
	lead(led, path);
	fd = __real_mkostemps(led, suffix_bytes, flags);
	memcpy(path + n - behind, led + strlen(led) - behind, behind);
	return fd;
}

/* Transfers. */

ssize_t __wrap_pread(int fd, void *to, size_t n, off_t off)
{
	ssize_t done = __real_pread(fd, to, n, off);

	sim_read_takes(fd, (uint64_t)off, done);
	return done;
}

ssize_t __wrap_preadv(int fd, const struct iovec *v, int n, off_t off)
{
	ssize_t done = __real_preadv(fd, v, n, off);

	sim_read_takes(fd, (uint64_t)off, done);
	return done;
}

/* Flags are asked of kernels that may not have them. */
ssize_t __wrap_preadv2(int fd, const struct iovec *v, int n, off_t off, int flags)
{
	(void)flags;
	return __wrap_preadv(fd, v, n, off);
}

ssize_t __wrap_pwrite(int fd, const void *from, size_t n, off_t off)
{
	ssize_t done = __real_pwrite(fd, from, n, off);

	sim_write_takes(fd, (uint64_t)off, done);
	return done;
}

ssize_t __wrap_pwritev(int fd, const struct iovec *v, int n, off_t off)
{
	ssize_t done = __real_pwritev(fd, v, n, off);

	sim_write_takes(fd, (uint64_t)off, done);
	return done;
}

ssize_t __wrap_pwritev2(int fd, const struct iovec *v, int n, off_t off, int flags)
{
	(void)flags;
	return __wrap_pwritev(fd, v, n, off);
}

/* Nothing has to outlive the test. */

int __wrap_fsync(int fd)
{
	sim_flush_takes(fd);
	return 0;
}

int __wrap_fdatasync(int fd)
{
	sim_flush_takes(fd);
	return 0;
}

/* Not every filesystem has it. */
int __wrap_fallocate(int fd, int mode, off_t off, off_t len)
{
	struct stat st;

	if (mode || fstat(fd, &st) || st.st_size >= off + len)
		return 0;
	return ftruncate(fd, off + len);
}

int __wrap_mincore(void *at, size_t bytes, unsigned char *out)
{
	size_t pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;

	(void)at;
	for (size_t i = 0; i < pages; i++)
		out[i] = i * 100 / pages < sim_option("STORAGE_CACHED", 0);
	return 0;
}
