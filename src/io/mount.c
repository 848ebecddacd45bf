/* SPDX-License-Identifier: Apache-2.0 */
/* mount.c - read mounts, their devices, free space and alignment. */
#include "io/mount_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "io/devices.h"
#include "io/host.h"

bool fstab_expects_mount(const char *root, const char *directory)
{
	char path[PATH_MAX], real[PATH_MAX], text[4096];
	struct mntent entry;
	struct stat st = { 0 };
	bool is_listed = false;
	struct mount m;
	FILE *f;

	snprintf(path, sizeof(path), "%s/etc/fstab", root);
	f = setmntent(path, "re");
	/* An entry may lead to the directory through links, or end with a slash. */
	while (f && !is_listed && getmntent_r(f, &entry, text, sizeof(text)))
		is_listed = strcmp(entry.mnt_dir, directory) == 0 ||
			    (realpath(entry.mnt_dir, real) && strcmp(real, directory) == 0);
	if (f)
		endmntent(f);
	if (!is_listed || (!*root && stat(directory, &st) != 0))
		return false;
	mount_read_at(&m, root, directory, st.st_dev);
	return strcmp(m.target, directory) != 0;
}

/* Statistics found in a base folder of /proc or /sys. */
struct lustre_sum {
	struct lustre_stat sum;
	/* Instance of the first mount seen. Targets are counted for this mount only, since a
	 * filesystem may be mounted twice. */
	char mount[64];
	bool has_stats;
};

/* The mount instance in a device name such as "scratch-OST0003-osc-ffff8c0123456789". NULL for a
 * device of another filesystem or of a server ("-osc-MDT0000"). */
static const char *mount_instance(const char *device, const char *name, const char *kind)
{
	size_t len = strlen(name);
	char infix[16];
	const char *at;

	snprintf(infix, sizeof(infix), "-%s-", kind);
	if (strncmp(device, name, len) ||
	    (strncmp(device + len, "-OST", 4) && strncmp(device + len, "-MDT", 4)))
		return NULL;
	at = strstr(device + len, infix);
	return at && strncmp(at + strlen(infix), "MDT", 3) ? at + strlen(infix) : NULL;
}

/* Add the line "read_bytes N samples [bytes] MIN MAX SUM [SQUARES]", which is absent before the
 * first read. False: no such file. */
static bool add_stats(struct lustre_stat *sum, const char *path)
{
	FILE *f = fopen(path, "re");
	uint64_t n, bytes;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "read_bytes %" SCNu64 " samples [bytes] %*u %*u %" SCNu64, &n,
			   &bytes) == 2) {
			sum->reads += n;
			sum->server_read_bytes += bytes;
		}
	if (f)
		fclose(f);
	return f != NULL;
}

static void add_devices(struct lustre_sum *p, const char *base, const char *name, const char *kind)
{
	char folder[PATH_MAX - 300], path[PATH_MAX];
	struct dirent *e;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/%s", base, kind);
	dir = opendir(folder);
	while (dir && (e = readdir(dir))) {
		const char *mount = mount_instance(e->d_name, name, kind);

		if (!mount)
			continue;
		if (!p->mount[0])
			snprintf(p->mount, sizeof(p->mount), "%s", mount);
		if (strstr(e->d_name, "-OST") && !strcmp(p->mount, mount))
			p->sum.osts++;
		snprintf(path, sizeof(path), "%s/%s/stats", folder, e->d_name);
		p->has_stats |= add_stats(&p->sum, path);
	}
	if (dir)
		closedir(dir);
}

void lustre_name(char *out, size_t size, const char *mount_source)
{
	const char *at = strstr(mount_source, ":/");

	at = at ? at + 2 : "";
	snprintf(out, size, "%.*s", (int)strcspn(at, "/"), at);
}

int lustre_read(struct lustre_stat *s, const char *root, const char *name)
{
	static const char *const bases[] = { "/proc/fs/lustre", "/sys/kernel/debug/lustre",
					     "/sys/fs/lustre" };
	struct lustre_sum p = { 0 };
	unsigned osts = 0;

	for (size_t i = 0; *name && !p.has_stats && i < ARRAY_LEN(bases); i++) {
		char base[PATH_MAX - 320];

		snprintf(base, sizeof(base), "%s%s", root, bases[i]);
		p = (struct lustre_sum){ 0 };
		add_devices(&p, base, name, "osc");
		add_devices(&p, base, name, "mdc"); /* files on a metadata target */
		if (p.sum.osts > osts)
			osts = p.sum.osts;
	}
	*s = p.has_stats ? p.sum : (struct lustre_stat){ 0 };
	s->osts = osts;
	return p.has_stats ? 0 : -ENODATA;
}

/* Copy as much of a text as fits: a cut option list is better than an error. */
static void copy_text(char *to, size_t size, const char *from)
{
	size_t len = strnlen(from, size - 1);

	memcpy(to, from, len);
	to[len] = '\0';
}

static bool has_entry(const char *dir, const char *name)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

/* Set the kind to "nvme", or over a fabric for example to "nvme-rdma". */
static void read_nvme_kind(struct mount *m, const char *disk)
{
	char transport[16];

	copy_text(m->device_kind, sizeof(m->device_kind), "nvme");
	if (sysfile_line(transport, sizeof(transport), disk, "/device/transport") == 0 &&
	    strcmp(transport, "pcie") != 0)
		snprintf(m->device_kind, sizeof(m->device_kind), "nvme-%s", transport);
}

/* Set the kind to the bus of the disk; a disk without a bus is named by its driver. */
static void read_kind(struct mount *m, const char *disk)
{
	static const char *const stacked[][2] = {
		{ "dm", "device-mapper" },
		{ "md", "md" },
		{ "loop", "loop" },
	};
	char path[PATH_MAX + 64], to[PATH_MAX];
	const char *slash;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/device/subsystem", disk);
	n = readlink(path, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = '\0';
	slash = strrchr(to, '/');
	copy_text(m->device_kind, sizeof(m->device_kind), slash ? slash + 1 : to);
	if (strncmp(m->device_kind, "nvme", 4) == 0)
		read_nvme_kind(m, disk);
	for (size_t i = 0; !m->device_kind[0] && i < 3; i++)
		if (has_entry(disk, stacked[i][0]))
			copy_text(m->device_kind, sizeof(m->device_kind), stacked[i][1]);
}

/* Count the paths of a multipath disk. Those of NVMe are disks of their own, which know the
 * transport. The parts of a dm device are paths if its table is of type multipath. */
static void count_paths(struct mount *m, const char *root, const char *disk)
{
	struct devset below = { 0 };
	char path[PATH_MAX], uuid[16] = "";

	sysfile_line(uuid, sizeof(uuid), disk, "/dm/uuid");
	if (!strncmp(m->device, "nvme", 4) || !strncmp(uuid, "mpath-", 6))
		devset_components(&below, root, m->device);
	m->paths = (unsigned)below.count;
	if (below.count && !uuid[0]) {
		snprintf(path, sizeof(path), "%s/sys/block/%s", root, below.names[0]);
		read_nvme_kind(m, path);
	}
	devset_fini(&below);
}

/* Read the properties of the disk m->dev_major:dev_minor: kind, model, paths, scheduler and
 * read-ahead. The numbers become those of the whole disk, or 0. */
static void read_device(struct mount *m, const char *root)
{
	char disk[PATH_MAX], path[PATH_MAX], line[sizeof(m->device_model)], scheduler[128];
	char *slash, *open, *close;
	uint64_t kib;

	snprintf(path, sizeof(path), "%s/sys/dev/block/%u:%u", root, m->dev_major, m->dev_minor);
	if (m->dev_major == 0 || !realpath(path, disk)) {
		/* Network filesystems have a read-ahead without a disk. */
		snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", m->dev_major,
			 m->dev_minor);
		if (sysfile_u64(&kib, root, path) == 0)
			m->read_ahead_bytes = kib * 1024;
		m->dev_major = m->dev_minor = 0;
		return;
	}
	slash = strrchr(disk, '/');
	if (slash && has_entry(disk, "partition"))
		*slash = '\0';
	copy_text(m->device, sizeof(m->device), strrchr(disk, '/') + 1);
	if (sysfile_line(line, sizeof(line), disk, "/dev") ||
	    sscanf(line, "%u:%u", &m->dev_major, &m->dev_minor) != 2)
		m->dev_major = m->dev_minor = 0;
	read_kind(m, disk);
	count_paths(m, root, disk);
	/* The scheduler is the word in brackets of "mq-deadline [none]", or a lone word. */
	if (sysfile_line(scheduler, sizeof(scheduler), disk, "/queue/scheduler") == 0) {
		open = strchr(scheduler, '[');
		close = open ? strchr(open, ']') : NULL;
		if (close)
			*close = '\0';
		copy_text(m->scheduler, sizeof(m->scheduler), close ? open + 1 : scheduler);
	}
	/* SCSI and NVMe disks have a model; virtual disks do not. */
	if (sysfile_line(line, sizeof(line), disk, "/device/model") == 0)
		copy_text(m->device_model, sizeof(m->device_model), line);
	if (sysfile_u64(&kib, disk, "/queue/read_ahead_kb") == 0)
		m->read_ahead_bytes = kib * 1024;
}

static const char *target_of(const struct mount *m)
{
	return m->target[0] ? m->target : "this filesystem";
}

const char *noroom_text(char out[NOROOM_BYTES], const char *path, int code, uint64_t end_bytes)
{
	char text[UNITS_TEXT_BYTES];
	struct mount m = { 0 };
	struct rlimit limit;
	bool has_limit;

	out[0] = '\0';
	if (code != -ENOSPC && code != -EDQUOT && code != -EFBIG)
		return out;
	if (mount_read(&m, path, NULL) < 0)
		m.free_inodes = UINT64_MAX;
	has_limit = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
		    (!end_bytes || end_bytes > limit.rlim_cur);
	if (code == -EDQUOT) /* a quota of bytes or of inodes */
		snprintf(out, NOROOM_BYTES,
			 "; a quota of this user, group or project is exceeded on %s, whatever df "
			 "shows: raise it, or remove files",
			 target_of(&m));
	else if (code == -EFBIG && has_limit)
		snprintf(out, NOROOM_BYTES,
			 "; ulimit -f allows files of %s: raise it, or make smaller files",
			 units_human_bytes(text, (double)limit.rlim_cur));
	else if (code == -EFBIG)
		snprintf(out, NOROOM_BYTES,
			 "; %s on %s does not support files of this size: make smaller files",
			 m.type[0] ? m.type : "the filesystem", target_of(&m));
	else if (m.free_inodes == 0 && m.free_bytes > 0)
		snprintf(out, NOROOM_BYTES,
			 "; %s has no free inodes (df -i), although %s are free: use fewer and "
			 "larger files, or remove files",
			 target_of(&m), units_human_bytes(text, (double)m.free_bytes));
	return out;
}

#define SECTOR_BYTES 512u /* unit of sizes in sysfs, whatever the device's sector size */

/* A line of /proc/self/mountinfo, split in place. */
struct mount_line {
	unsigned dev_major, dev_minor;
	char *target, *options;      /* this mount's */
	char *type, *source, *super; /* the filesystem's */
};

/* Parse "id parent MAJ:MIN root TARGET OPTIONS [tags] - TYPE SOURCE SUPER" (proc(5)). */
static bool parse_line(struct mount_line *l, char *text)
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

/* The length of the mount point if `path` is the mount point or below it, otherwise 0. */
static size_t covers(const char *target, const char *path)
{
	size_t len = strlen(target);

	if (len == 1)
		return *path == '/';
	if (strncmp(target, path, len) != 0)
		return 0;
	return path[len] == '/' || path[len] == '\0' ? len : 0;
}

/* Join the mount's own options and those of the filesystem that it does not repeat. */
static void join_options(struct mount *m, const struct mount_line *l)
{
	size_t at, len;

	copy_text(m->options, sizeof(m->options), l->options);
	m->read_only = sysfile_list_has(l->options, "ro", 2, ',') ||
		       sysfile_list_has(l->super, "ro", 2, ',');
	for (const char *o = l->super; *o; o += len, o += *o == ',') {
		len = strcspn(o, ",");
		at = strlen(m->options);
		if (sysfile_list_has(l->options, o, len, ',') || at + len + 2 > sizeof(m->options))
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

/*
 * Find the longest mount point above the path. Of several equal ones it is the last, which hides
 * the others. Mounts with the path's own device number have priority. For btrfs and overlay there
 * may be no such mount, because the device numbers of their files are not in the mount table.
 */
static int find_line(struct mount *m, FILE *f, const char *path, dev_t dev)
{
	size_t best = 0, size = 64 * 1024; /* overlay lines are long */
	char *text = mem_zalloc(size);
	bool best_is_ours = false;
	struct mount_line l;

	while (fgets(text, (int)size, f)) {
		bool is_ours;
		size_t len;

		if (!parse_line(&l, text))
			continue;
		is_ours = makedev(l.dev_major, l.dev_minor) == dev;
		len = covers(l.target, path);
		if (len == 0 || is_ours < best_is_ours || (is_ours == best_is_ours && len < best))
			continue;
		best = len;
		best_is_ours = is_ours;
		copy_text(m->type, sizeof(m->type), l.type);
		copy_text(m->source, sizeof(m->source), l.source);
		copy_text(m->target, sizeof(m->target), l.target);
		join_options(m, &l);
		m->is_memory = keeps_files_in_memory(l.type);
		m->has_own_cache = strcmp(l.type, "zfs") == 0 || strcmp(l.type, "gpfs") == 0;
		m->dev_major = l.dev_major;
		m->dev_minor = l.dev_minor;
	}
	mem_free(text);
	return best ? 0 : -ENODATA;
}

/* Cut the last component off. False: nothing is left to cut. */
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
		copy_text(path, 2, ".");
	else
		slash[slash == path] = '\0';
	return true;
}

static int fail_look(const char *path, int rc, struct mlgen_err *err)
{
	char way[DIRS_WAY_BYTES];

	return mlgen_fail(err, rc, "%s: %s%s", path, strerror(-rc),
			  dirs_explain_failure(way, path, rc));
}

/* Resolve the links of the path, or of its nearest parent that exists. */
static int find_existing(char *out, const char *path, struct mlgen_err *err)
{
	char at[PATH_MAX];

	if (strlen(path) >= sizeof(at))
		return fail_look(path, -ENAMETOOLONG, err);
	copy_text(at, sizeof(at), path[0] ? path : ".");
	while (!realpath(at, out)) {
		int rc = -errno;

		if (rc != -ENOENT || !to_parent(at))
			return fail_look(at, rc, err);
	}
	return 0;
}

/*
 * The mount table of a chroot, or of a container whose root is not a mount point, does not list the
 * filesystem of the root. Its type is then read from statfs (linux/magic.h), its target is "/" if
 * it lies on that filesystem, and its source stays unknown.
 */
static void read_unlisted(struct mount *m, const char *root, const char *path, dev_t dev)
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
		copy_text(m->target, sizeof(m->target), "/");
	copy_text(m->type, sizeof(m->type), "unknown");
	for (size_t i = 0; statfs(path, &v) == 0 && i < ARRAY_LEN(known); i++)
		if ((unsigned long)v.f_type == known[i].magic)
			copy_text(m->type, sizeof(m->type), known[i].type);
	m->is_memory = keeps_files_in_memory(m->type);
	m->dev_major = major(dev);
	m->dev_minor = minor(dev);
}

/* ---- alignment of O_DIRECT ---- */

/*
 * STATX_DIOALIGN is Linux 6.1; headers may be older than the kernel, so the two words are read by
 * their offset in the result of the system call.
 */
#define WANT_DIOALIGN 0x2000u

union statx_result {
	struct statx x;
	struct {
		unsigned char head[0x98];
		uint32_t mem_align, offset_align;
	} dio;
};

_Static_assert(sizeof(struct statx) == 0x100, "statx always has 256 bytes");

static int fail_direct(const struct mount *m, struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "direct=1: %s at %s does not support O_DIRECT here: %s; use direct=0 or "
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

static int query_alignment(const struct mount *m, int fd, uint64_t *align_bytes,
			   struct mlgen_err *err)
{
	union statx_result a;

	memset(&a, 0, sizeof(a));
	*align_bytes = logical_block(m);
	if (statx(fd, "", AT_EMPTY_PATH, WANT_DIOALIGN, &a.x) || !(a.x.stx_mask & WANT_DIOALIGN))
		return 0;
	if (a.dio.offset_align == 0)
		return fail_direct(m, err);
	*align_bytes = a.dio.offset_align > a.dio.mem_align ? a.dio.offset_align : a.dio.mem_align;
	return 0;
}

int mount_read(struct mount *m, const char *path, struct mlgen_err *err)
{
	char real[PATH_MAX], size[64];
	uint64_t sectors;
	struct statvfs v;
	struct stat st;
	int rc;

	memset(m, 0, sizeof(*m));
	rc = find_existing(real, path, err);
	if (rc)
		return rc;
	if (stat(real, &st))
		return fail_look(real, -errno, err);
	if (S_ISBLK(st.st_mode)) {
		m->dev_major = major(st.st_rdev);
		m->dev_minor = minor(st.st_rdev);
		copy_text(m->type, sizeof(m->type), "block device");
		copy_text(m->source, sizeof(m->source), real);
		copy_text(m->target, sizeof(m->target), real);
		snprintf(size, sizeof(size), "/sys/dev/block/%u:%u/size", m->dev_major,
			 m->dev_minor);
		if (sysfile_u64(&sectors, "", size) == 0)
			m->total_bytes = sectors * SECTOR_BYTES;
		read_device(m, "");
		return 0;
	}
	mount_read_at(m, "", real, st.st_dev);
	if (statvfs(real, &v))
		return fail_look(real, -errno, err);
	m->free_bytes = (uint64_t)v.f_bavail * v.f_frsize;
	m->total_bytes = (uint64_t)v.f_blocks * v.f_frsize;
	m->free_inodes = v.f_files ? v.f_favail : UINT64_MAX;
	m->read_only |= !!(v.f_flag & ST_RDONLY);
	return 0;
}

void mount_read_at(struct mount *m, const char *root, const char *path, dev_t dev)
{
	char table[PATH_MAX], name[64];
	struct lustre_stat s;
	FILE *f;

	memset(m, 0, sizeof(*m));
	snprintf(table, sizeof(table), "%s/proc/self/mountinfo", root);
	f = fopen(table, "re");
	if (!f || find_line(m, f, path, dev))
		read_unlisted(m, root, path, dev);
	if (f)
		fclose(f);
	read_device(m, root);
	if (strcmp(m->type, "lustre") != 0)
		return;
	lustre_name(name, sizeof(name), m->source);
	lustre_read(&s, root, name); /* statistics need root; the number of targets does not */
	m->osts = s.osts;
}

bool mount_of_device(char *target, size_t size, const char *root, dev_t dev)
{
	size_t bytes = 64 * 1024;
	char path[PATH_MAX], *text = mem_zalloc(bytes);
	bool found = false;
	struct stat st;
	struct mount_line l;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	f = fopen(path, "re");
	while (f && !found && fgets(text, (int)bytes, f)) {
		if (!parse_line(&l, text))
			continue;
		/* btrfs has a device number of its own; its source is the device. */
		found = makedev(l.dev_major, l.dev_minor) == dev ||
			(l.source[0] == '/' && stat(l.source, &st) == 0 && S_ISBLK(st.st_mode) &&
			 st.st_rdev == dev);
		if (found)
			copy_text(target, size, l.target);
	}
	if (f)
		fclose(f);
	mem_free(text);
	return found;
}

void mount_each(void (*visit)(void *arg, const struct mount_listed *m), void *arg)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	size_t size = 0;
	char *text = NULL;
	struct mount_line l;
	struct statx st;

	while (f && getline(&text, &size, f) >= 0) {
		if (!parse_line(&l, text))
			continue;
		struct mount_listed m = { l.type, l.target, l.source,
					  makedev(l.dev_major, l.dev_minor) };
		/* For btrfs the mount table lists another device number than its files have. */
		if (strcmp(l.type, "btrfs") == 0 &&
		    statx(AT_FDCWD, l.target, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, 0, &st) == 0)
			m.dev = makedev(st.stx_dev_major, st.stx_dev_minor);
		visit(arg, &m);
	}
	free(text);
	if (f)
		fclose(f);
}

static void append_escaped(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (strchr(" \t\n\\", *text))
			buf_addf(out, "\\%03o", (unsigned)*text);
		else
			buf_addc(out, *text);
	}
}

void mount_append_text(struct buf *out, const char *type, const char *target, const char *source)
{
	append_escaped(out, type);
	buf_addc(out, ' ');
	append_escaped(out, target);
	buf_addc(out, ' ');
	append_escaped(out, source);
}

int mount_direct_alignment(const char *file_or_directory, uint64_t *align_bytes,
			   struct mlgen_err *err)
{
	char real[PATH_MAX];
	struct mount m;
	struct stat st;
	int fd, flags, rc = find_existing(real, file_or_directory, err);

	if (rc == 0)
		rc = mount_read(&m, real, err);
	if (rc)
		return rc;
	if (m.is_memory)
		return mlgen_fail(
			err, -EINVAL,
			"direct=1: %s at %s keeps files in memory; O_DIRECT would have no effect",
			m.type, m.target);
	if (stat(real, &st))
		return fail_look(real, -errno, err);
	flags = S_ISDIR(st.st_mode) ? O_TMPFILE | O_WRONLY : O_RDONLY | O_NONBLOCK;
	fd = open(real, flags | O_DIRECT | O_CLOEXEC, 0600);
	rc = fd < 0 ? -errno : 0;
	if (rc == -EINVAL)
		return fail_direct(&m, err);
	*align_bytes = logical_block(&m);
	if (fd < 0)
		return S_ISDIR(st.st_mode) ? 0 : fail_look(real, rc, err);
	rc = query_alignment(&m, fd, align_bytes, err);
	close(fd);
	return rc;
}
