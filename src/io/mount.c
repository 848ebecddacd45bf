/* SPDX-License-Identifier: Apache-2.0 */
/* mount.c - what lies under a path: filesystem, device, space, alignment, counters. */

#include "io/mount_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/dirs.h"
#include "base/mem.h"
#include "base/util.h"
#include "io/lustre.h"
#include "io/sysfile.h"

#define SECTOR_BYTES 512u /* of sysfs, whatever the device's own is */

/* One line of /proc/self/mountinfo, cut in place. */
struct line {
	unsigned dev_major, dev_minor;
	char *target, *options;      /* of this mount */
	char *type, *source, *super; /* of the filesystem */
};

/* id parent MAJ:MIN root TARGET OPTIONS [tags] - TYPE SOURCE SUPER (proc(5)) */
static bool cut_line(struct line *l, char *text)
{
	char *at = text, *dev, *word;

	text[strcspn(text, "\n")] = '\0';
	strsep(&at, " ");
	strsep(&at, " ");
	dev = strsep(&at, " ");
	strsep(&at, " ");
	l->target = strsep(&at, " ");
	l->options = strsep(&at, " ");
	do
		word = strsep(&at, " ");
	while (word && strcmp(word, "-") != 0);
	l->type = strsep(&at, " ");
	l->source = strsep(&at, " ");
	l->super = strsep(&at, " ");
	if (!l->super || sscanf(dev, "%u:%u", &l->dev_major, &l->dev_minor) != 2)
		return false;
	sysfile_unescape(l->target);
	sysfile_unescape(l->source);
	return true;
}

/* Does `path` lie at or below the mount point? Its length, or 0. */
static size_t covers(const char *target, const char *path)
{
	size_t len = strlen(target);

	if (len == 1)
		return *path == '/';
	if (strncmp(target, path, len) != 0)
		return 0;
	return path[len] == '/' || path[len] == '\0' ? len : 0;
}

static bool has_option(const char *list, const char *word, size_t len)
{
	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strncmp(list, word, len) == 0 && (list[len] == ',' || list[len] == '\0'))
			return true;
	return false;
}

/* The mount's own options, then those of the filesystem that are new. */
static void put_options(struct mount *m, const struct line *l)
{
	size_t at, len;

	mount_put(m->options, sizeof(m->options), l->options);
	m->read_only = has_option(l->options, "ro", 2) || has_option(l->super, "ro", 2);
	for (const char *o = l->super; *o; o += len, o += *o == ',') {
		len = strcspn(o, ",");
		at = strlen(m->options);
		if (has_option(l->options, o, len) || at + len + 2 > sizeof(m->options))
			continue;
		snprintf(m->options + at, sizeof(m->options) - at, ",%.*s", (int)len, o);
	}
}

static bool keeps_files_in_memory(const char *type)
{
	static const char *const types[] = { "tmpfs", "devtmpfs", "ramfs", "hugetlbfs" };

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

static void put_line(struct mount *m, const struct line *l)
{
	mount_put(m->type, sizeof(m->type), l->type);
	mount_put(m->source, sizeof(m->source), l->source);
	mount_put(m->target, sizeof(m->target), l->target);
	put_options(m, l);
	m->is_memory = keeps_files_in_memory(l->type);
	m->has_own_cache = strcmp(l->type, "zfs") == 0 || strcmp(l->type, "gpfs") == 0;
	m->dev_major = l->dev_major;
	m->dev_minor = l->dev_minor;
}

/*
 * The longest mount point above the path, of equals the last (it hides the others). Those with the
 * path's own device number win: of btrfs and overlay there may be none, their files have device
 * numbers of no mount.
 */
static int find_line(struct mount *m, FILE *f, const char *path, dev_t dev)
{
	size_t best = 0, size = 64 * 1024; /* overlay lines are long */
	char *text = mem_zalloc(size);
	bool best_is_ours = false;
	struct line l;

	while (fgets(text, (int)size, f)) {
		bool is_ours;
		size_t len;

		if (!cut_line(&l, text))
			continue;
		is_ours = makedev(l.dev_major, l.dev_minor) == dev;
		len = covers(l.target, path);
		if (len == 0 || is_ours < best_is_ours || (is_ours == best_is_ours && len < best))
			continue;
		best = len;
		best_is_ours = is_ours;
		put_line(m, &l);
	}
	mem_free(text);
	return best ? 0 : -ENODATA;
}

static void put_lustre(struct mount *m, const char *root)
{
	struct lustre_stat s;
	char name[64];

	lustre_name(name, sizeof(name), m->source);
	lustre_read(&s, root, name); /* as root only; the targets are public */
	m->osts = s.osts;
}

/* Cut the last component off; false: nothing is left to cut. */
static bool to_parent(char *path)
{
	size_t len = strlen(path);
	char *slash;

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	slash = strrchr(path, '/');
	if (strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
		return false;
	if (!slash)
		mount_put(path, 2, ".");
	else
		slash[slash == path] = '\0';
	return true;
}

static int cannot_look(const char *path, int rc, struct mlgen_err *err)
{
	char way[DIRS_WAY_BYTES];

	return mlgen_fail(err, rc, "%s: %s%s", path, strerror(-rc), dirs_in_the_way(way, path, rc));
}

/* The path, or its nearest parent that exists, without links. */
static int find_existing(char *out, const char *path, struct mlgen_err *err)
{
	char at[PATH_MAX];

	if (strlen(path) >= sizeof(at))
		return cannot_look(path, -ENAMETOOLONG, err);
	mount_put(at, sizeof(at), path[0] ? path : ".");
	while (!realpath(at, out)) {
		int rc = -errno;

		if (rc != -ENOENT || !to_parent(at))
			return cannot_look(at, rc, err);
	}
	return 0;
}

static int put_space(struct mount *m, const char *path, struct mlgen_err *err)
{
	struct statvfs v;

	if (statvfs(path, &v))
		return cannot_look(path, -errno, err);
	m->free_bytes = (uint64_t)v.f_bavail * v.f_frsize;
	m->total_bytes = (uint64_t)v.f_blocks * v.f_frsize;
	m->free_inodes = v.f_files ? v.f_favail : UINT64_MAX;
	m->read_only |= !!(v.f_flag & ST_RDONLY);
	return 0;
}

static void put_block_device(struct mount *m, const char *path, dev_t dev)
{
	char size[64];
	uint64_t sectors;

	mount_put(m->type, sizeof(m->type), "block device");
	mount_put(m->source, sizeof(m->source), path);
	mount_put(m->target, sizeof(m->target), path);
	snprintf(size, sizeof(size), "/sys/dev/block/%u:%u/size", major(dev), minor(dev));
	if (sysfile_u64(&sectors, "", size) == 0)
		m->total_bytes = sectors * SECTOR_BYTES;
	m->dev_major = major(dev);
	m->dev_minor = minor(dev);
	mount_put_device(m, "");
}

/*
 * In a chroot, or a container whose root is no mount point, the mount table does not list what its
 * root lies on. The type is then what statfs tells (linux/magic.h), and it is seen from the root
 * on; its source stays unknown.
 */
static void put_unlisted(struct mount *m, const char *root, const char *path, dev_t dev)
{
	static const struct {
		unsigned long magic;
		const char *type;
	} known[] = {
		{ 0xef53, "ext4" },        { 0x58465342, "xfs" },   { 0x9123683e, "btrfs" },
		{ 0x01021994, "tmpfs" },   { 0x858458f6, "ramfs" }, { 0x958458f6, "hugetlbfs" },
		{ 0x794c7630, "overlay" }, { 0x6969, "nfs" },       { 0x0bd00bd0, "lustre" },
	};
	char top[PATH_MAX];
	struct statfs v;
	struct stat st;

	snprintf(top, sizeof(top), "%s/", root);
	if (stat(top, &st) == 0 && st.st_dev == dev)
		mount_put(m->target, sizeof(m->target), "/");
	mount_put(m->type, sizeof(m->type), "unknown");
	for (size_t i = 0; statfs(path, &v) == 0 && i < ARRAY_LEN(known); i++)
		if ((unsigned long)v.f_type == known[i].magic)
			mount_put(m->type, sizeof(m->type), known[i].type);
	m->is_memory = keeps_files_in_memory(m->type);
	m->dev_major = major(dev);
	m->dev_minor = minor(dev);
}

/* O_DIRECT. */

/*
 * STATX_DIOALIGN is Linux 6.1; headers may be older than the kernel, so the two words are taken by
 * their place in the system call's answer.
 */
#define ASK_DIOALIGN 0x2000u

union statx_answer {
	struct statx x;
	struct {
		unsigned char head[0x98];
		uint32_t mem_align, offset_align;
	} dio;
};

_Static_assert(sizeof(struct statx) == 0x100, "statx is 256 bytes for ever");

static int refuses(const struct mount *m, struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "direct=1: %s at %s does not take O_DIRECT here: %s; use direct=0 or "
			  "another filesystem",
			  m->type, m->target, strerror(EINVAL));
}

static uint64_t logical_block(const struct mount *m)
{
	char path[128];
	uint64_t bytes;

	snprintf(path, sizeof(path), "/sys/block/%s/queue/logical_block_size", m->device);
	if (!m->device[0] || sysfile_u64(&bytes, "", path) || bytes == 0)
		return 4096;
	return bytes;
}

static int ask_alignment(const struct mount *m, int fd, uint64_t *align_bytes,
			 struct mlgen_err *err)
{
	union statx_answer a;

	memset(&a, 0, sizeof(a));
	*align_bytes = logical_block(m);
	if (statx(fd, "", AT_EMPTY_PATH, ASK_DIOALIGN, &a.x) || !(a.x.stx_mask & ASK_DIOALIGN))
		return 0;
	if (a.dio.offset_align == 0)
		return refuses(m, err);
	*align_bytes = a.dio.offset_align > a.dio.mem_align ? a.dio.offset_align : a.dio.mem_align;
	return 0;
}

/* A file to ask; -errno, of which -EINVAL is the filesystem's refusal. */
static int open_direct(const char *path, const struct stat *st)
{
	int flags = S_ISDIR(st->st_mode) ? O_TMPFILE | O_WRONLY : O_RDONLY | O_NONBLOCK;
	int fd = open(path, flags | O_DIRECT | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

void mount_put(char *to, size_t size, const char *from)
{
	size_t len = strnlen(from, size - 1);

	memcpy(to, from, len);
	to[len] = '\0';
}

int mount_read(struct mount *m, const char *path, struct mlgen_err *err)
{
	char real[PATH_MAX];
	struct stat st;
	int rc;

	memset(m, 0, sizeof(*m));
	rc = find_existing(real, path, err);
	if (rc)
		return rc;
	if (stat(real, &st))
		return cannot_look(real, -errno, err);
	if (S_ISBLK(st.st_mode)) {
		put_block_device(m, real, st.st_rdev);
		return 0;
	}
	mount_read_at(m, "", real, st.st_dev);
	return put_space(m, real, err);
}

void mount_read_at(struct mount *m, const char *root, const char *path, dev_t dev)
{
	char table[PATH_MAX];
	FILE *f;

	memset(m, 0, sizeof(*m));
	snprintf(table, sizeof(table), "%s/proc/self/mountinfo", root);
	f = fopen(table, "re");
	if (!f || find_line(m, f, path, dev))
		put_unlisted(m, root, path, dev);
	if (f)
		fclose(f);
	mount_put_device(m, root);
	if (!strcmp(m->type, "lustre"))
		put_lustre(m, root);
}

bool mount_of_device(char *target, size_t size, const char *root, dev_t dev)
{
	size_t bytes = 64 * 1024;
	char path[PATH_MAX], *text = mem_zalloc(bytes);
	bool found = false;
	struct stat st;
	struct line l;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	f = fopen(path, "re");
	while (f && !found && fgets(text, (int)bytes, f)) {
		if (!cut_line(&l, text))
			continue;
		/* btrfs has a device number of its own; its source tells. */
		found = makedev(l.dev_major, l.dev_minor) == dev ||
			(l.source[0] == '/' && stat(l.source, &st) == 0 && S_ISBLK(st.st_mode) &&
			 st.st_rdev == dev);
		if (found)
			mount_put(target, size, l.target);
	}
	if (f)
		fclose(f);
	mem_free(text);
	return found;
}

/* btrfs has a device number of its own, that of no mount. */
static dev_t listed_device(const struct line *l)
{
	struct statx st;

	if (strcmp(l->type, "btrfs") == 0 &&
	    statx(AT_FDCWD, l->target, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, 0, &st) == 0)
		return makedev(st.stx_dev_major, st.stx_dev_minor);
	return makedev(l->dev_major, l->dev_minor);
}

void mount_each(void (*see)(void *arg, const struct mount_listed *m), void *arg)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	size_t size = 0;
	char *text = NULL;
	struct line l;

	while (f && getline(&text, &size, f) >= 0) {
		if (!cut_line(&l, text))
			continue;
		const struct mount_listed m = { l.type, l.target, l.source, listed_device(&l) };
		see(arg, &m);
	}
	free(text);
	if (f)
		fclose(f);
}

static void put_escaped(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (strchr(" \t\n\\", *text))
			buf_addf(out, "\\%03o", (unsigned)*text);
		else
			buf_addc(out, *text);
	}
}

void mount_put_text(struct buf *out, const char *type, const char *target, const char *source)
{
	put_escaped(out, type);
	buf_addc(out, ' ');
	put_escaped(out, target);
	buf_addc(out, ' ');
	put_escaped(out, source);
}

int mount_direct_alignment(const char *file_or_directory, uint64_t *align_bytes,
			   struct mlgen_err *err)
{
	char real[PATH_MAX];
	struct mount m;
	struct stat st;
	int fd, rc = find_existing(real, file_or_directory, err);

	if (rc == 0)
		rc = mount_read(&m, real, err);
	if (rc)
		return rc;
	if (m.is_memory)
		return mlgen_fail(err, -EINVAL,
				  "direct=1: %s at %s keeps files in memory; O_DIRECT would mean "
				  "nothing here",
				  m.type, m.target);
	if (stat(real, &st))
		return cannot_look(real, -errno, err);
	fd = open_direct(real, &st);
	if (fd == -EINVAL)
		return refuses(&m, err);
	*align_bytes = logical_block(&m);
	if (fd < 0)
		return S_ISDIR(st.st_mode) ? 0 : cannot_look(real, fd, err);
	rc = ask_alignment(&m, fd, align_bytes, err);
	close(fd);
	return rc;
}
