/* SPDX-License-Identifier: Apache-2.0 */
/* mount.c - where files lie: mounts, their devices, and room on them. */
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

/* An entry may lead to the directory through links, or end with a slash. */
static bool is_same(const char *entry, const char *directory)
{
	char real[PATH_MAX];

	return strcmp(entry, directory) == 0 ||
	       (realpath(entry, real) && strcmp(real, directory) == 0);
}

static bool is_named(const char *root, const char *directory)
{
	char path[PATH_MAX], text[4096];
	struct mntent entry;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/etc/fstab", root);
	f = setmntent(path, "re");
	while (f && !found && getmntent_r(f, &entry, text, sizeof(text)))
		found = is_same(entry.mnt_dir, directory);
	if (f)
		endmntent(f);
	return found;
}

bool fstab_awaits(const char *root, const char *directory)
{
	struct stat st = { 0 };
	struct mount m;

	if (!is_named(root, directory))
		return false;
	if (!*root && stat(directory, &st) != 0)
		return false;
	mount_read_at(&m, root, directory, st.st_dev);
	return strcmp(m.target, directory) != 0;
}

/* What one place in /proc or /sys has. */
struct place {
	struct lustre_stat sum;
	char mount[64]; /* the first mount's; it may be mounted twice */
	bool has_stats;
};

/* "scratch-OST0003-osc-ffff8c0123456789": the number of its mount, or NULL where it is another's
 * ("-osc-MDT0000" is a server's own). */
static const char *mount_of(const char *device, const char *name, const char *kind)
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

/* read_bytes N samples [bytes] MIN MAX SUM [SQUARES]; not there before the first one. */
static bool add_file(struct lustre_stat *sum, const char *path)
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

static void add_device(struct place *p, const char *folder, const char *device, const char *mount)
{
	char path[PATH_MAX];

	if (!p->mount[0])
		snprintf(p->mount, sizeof(p->mount), "%s", mount);
	if (strstr(device, "-OST") && !strcmp(p->mount, mount))
		p->sum.osts++;
	snprintf(path, sizeof(path), "%s/%s/stats", folder, device);
	p->has_stats |= add_file(&p->sum, path);
}

static void add_kind(struct place *p, const char *base, const char *name, const char *kind)
{
	char folder[PATH_MAX - 300];
	struct dirent *e;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/%s", base, kind);
	dir = opendir(folder);
	while (dir && (e = readdir(dir))) {
		const char *mount = mount_of(e->d_name, name, kind);

		if (mount)
			add_device(p, folder, e->d_name, mount);
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
	struct place p = { 0 };
	unsigned osts = 0;

	for (size_t i = 0; *name && !p.has_stats && i < ARRAY_LEN(bases); i++) {
		char base[PATH_MAX - 320];

		snprintf(base, sizeof(base), "%s%s", root, bases[i]);
		p = (struct place){ 0 };
		add_kind(&p, base, name, "osc");
		add_kind(&p, base, name, "mdc"); /* files on a metadata target */
		if (p.sum.osts > osts)
			osts = p.sum.osts;
	}
	*s = p.has_stats ? p.sum : (struct lustre_stat){ 0 };
	s->osts = osts;
	return p.has_stats ? 0 : -ENODATA;
}

/* What fits of a text; an option list is better cut than refused. */
static void mount_put(char *to, size_t size, const char *from)
{
	size_t len = strnlen(from, size - 1);

	memcpy(to, from, len);
	to[len] = '\0';
}

/* The last component of the link `dir`/`name`. "" where there is none. */
static void link_name(char *out, size_t size, const char *dir, const char *name)
{
	char path[PATH_MAX + 64], to[PATH_MAX];
	const char *slash;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	n = readlink(path, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = '\0';
	slash = strrchr(to, '/');
	mount_put(out, size, slash ? slash + 1 : to);
}

static bool has_entry(const char *dir, const char *name)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

/* "nvme", over a fabric "nvme-rdma". */
static void put_nvme_kind(struct mount *m, const char *disk)
{
	char transport[16];

	mount_put(m->device_kind, sizeof(m->device_kind), "nvme");
	if (sysfile_line(transport, sizeof(transport), disk, "/device/transport") == 0 &&
	    strcmp(transport, "pcie") != 0)
		snprintf(m->device_kind, sizeof(m->device_kind), "nvme-%s", transport);
}

/* The bus the disk hangs on; what has none is named by its driver. */
static void put_kind(struct mount *m, const char *disk)
{
	static const char *const stacked[][2] = {
		{ "dm", "device-mapper" },
		{ "md", "md" },
		{ "loop", "loop" },
	};

	link_name(m->device_kind, sizeof(m->device_kind), disk, "device/subsystem");
	if (strncmp(m->device_kind, "nvme", 4) == 0)
		put_nvme_kind(m, disk);
	for (size_t i = 0; !m->device_kind[0] && i < 3; i++)
		if (has_entry(disk, stacked[i][0]))
			mount_put(m->device_kind, sizeof(m->device_kind), stacked[i][1]);
}

/* Of NVMe the paths are disks of their own, which know the transport; of dm the parts are paths if
 * its table is one of multipath. */
static void put_paths(struct mount *m, const char *root, const char *disk)
{
	struct devset below = { 0 };
	char path[PATH_MAX], uuid[16] = "";

	sysfile_line(uuid, sizeof(uuid), disk, "/dm/uuid");
	if (!strncmp(m->device, "nvme", 4) || !strncmp(uuid, "mpath-", 6))
		devset_below(&below, root, m->device);
	m->paths = (unsigned)below.count;
	if (below.count && !uuid[0]) {
		snprintf(path, sizeof(path), "%s/sys/block/%s", root, below.names[0]);
		put_nvme_kind(m, path);
	}
	devset_fini(&below);
}

/* "mq-deadline [none]": the one in brackets; a lone word is it, too. */
static void put_scheduler(struct mount *m, const char *disk)
{
	char line[128], *open, *close;

	if (sysfile_line(line, sizeof(line), disk, "/queue/scheduler"))
		return;
	open = strchr(line, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close)
		*close = '\0';
	mount_put(m->scheduler, sizeof(m->scheduler), close ? open + 1 : line);
}

/* Of SCSI and NVMe disks; what has none is no piece of hardware. */
static void put_model(struct mount *m, const char *disk)
{
	char line[sizeof(m->device_model)];

	if (sysfile_line(line, sizeof(line), disk, "/device/model") == 0)
		mount_put(m->device_model, sizeof(m->device_model), line);
}

/* The sysfs directory of the whole disk. False: no block device. */
static bool find_disk(char *disk, const char *root, unsigned dev_major, unsigned dev_minor)
{
	char path[PATH_MAX];
	char *slash;

	snprintf(path, sizeof(path), "%s/sys/dev/block/%u:%u", root, dev_major, dev_minor);
	if (dev_major == 0 || !realpath(path, disk))
		return false;
	slash = strrchr(disk, '/');
	if (slash && has_entry(disk, "partition"))
		*slash = '\0';
	return true;
}

/* Network filesystems have a read-ahead without a disk. */
static void put_bdi(struct mount *m, const char *root)
{
	char path[96];
	uint64_t kib;

	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", m->dev_major,
		 m->dev_minor);
	if (sysfile_u64(&kib, root, path) == 0)
		m->read_ahead_bytes = kib * 1024;
}

/* mount.c: of m->dev_major and dev_minor, which become the whole disk's or 0: the disk, its
 * kind, model, paths, scheduler and read-ahead. */
static void mount_put_device(struct mount *m, const char *root)
{
	char disk[PATH_MAX], line[32];
	uint64_t kib;

	if (!find_disk(disk, root, m->dev_major, m->dev_minor)) {
		put_bdi(m, root);
		m->dev_major = m->dev_minor = 0;
		return;
	}
	mount_put(m->device, sizeof(m->device), strrchr(disk, '/') + 1);
	if (sysfile_line(line, sizeof(line), disk, "/dev") ||
	    sscanf(line, "%u:%u", &m->dev_major, &m->dev_minor) != 2)
		m->dev_major = m->dev_minor = 0;
	put_kind(m, disk);
	put_paths(m, root, disk);
	put_scheduler(m, disk);
	put_model(m, disk);
	if (sysfile_u64(&kib, disk, "/queue/read_ahead_kb") == 0)
		m->read_ahead_bytes = kib * 1024;
}

static const char *target_of(const struct mount *m)
{
	return m->target[0] ? m->target : "this filesystem";
}

/* A quota of inodes is one of these, too. */
static void put_quota(char out[NOROOM_BYTES], const struct mount *m)
{
	snprintf(out, NOROOM_BYTES,
		 "; a quota of this user, group or project is used up on %s, whatever df says: "
		 "raise it, or remove files",
		 target_of(m));
}

static void put_no_inodes(char out[NOROOM_BYTES], const struct mount *m)
{
	char text[UNITS_TEXT_BYTES];

	snprintf(out, NOROOM_BYTES,
		 "; no inodes are left on %s (df -i), though %s are free: fewer and larger files, "
		 "or remove some",
		 target_of(m), units_human_bytes(text, (double)m->free_bytes));
}

/* write(2) fails at the limit of the process, or at that of the filesystem. */
static void put_too_large(char out[NOROOM_BYTES], const struct mount *m, uint64_t end_bytes)
{
	struct rlimit limit;
	char text[UNITS_TEXT_BYTES];

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    (!end_bytes || end_bytes > limit.rlim_cur))
		snprintf(out, NOROOM_BYTES,
			 "; ulimit -f allows files of %s: raise it, or make smaller files",
			 units_human_bytes(text, (double)limit.rlim_cur));
	else
		snprintf(out, NOROOM_BYTES, "; %s on %s takes no file as large: make smaller ones",
			 m->type[0] ? m->type : "the filesystem", target_of(m));
}

const char *noroom_put(char out[NOROOM_BYTES], const char *path, int code, uint64_t end_bytes)
{
	struct mount m = { 0 };

	out[0] = '\0';
	if (code != -ENOSPC && code != -EDQUOT && code != -EFBIG)
		return out;
	if (mount_read(&m, path, NULL) < 0)
		m.free_inodes = UINT64_MAX;
	if (code == -EDQUOT)
		put_quota(out, &m);
	else if (code == -EFBIG)
		put_too_large(out, &m, end_bytes);
	else if (m.free_inodes == 0 && m.free_bytes > 0)
		put_no_inodes(out, &m);
	return out;
}

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
