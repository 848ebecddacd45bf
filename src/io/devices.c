/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - exclusive use and counters of block devices, and the bytes that storage delivered. */
#include "io/devices.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "io/host.h"
#include "io/mount_internal.h"

/* A device and its folder in sysfs, /sys/dev/block/MAJOR:MINOR. */
struct blockdev_node {
	dev_t device;
	char sys[PATH_MAX];
	char subject[300]; /* "" or "its partition sda1 " */
};

static bool is_swap(dev_t device)
{
	char line[PATH_MAX + 128];
	FILE *f = fopen("/proc/swaps", "re");
	bool found = false;
	struct stat st;

	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, " \t\n")] = '\0';
		sysfile_unescape(line);
		found = line[0] == '/' && stat(line, &st) == 0 && S_ISBLK(st.st_mode) &&
			st.st_rdev == device;
	}
	if (f)
		fclose(f);
	return found;
}

/* Find a device that is made of this one (dm, md, bcache). */
static bool find_holder(char name[256], const struct blockdev_node *n)
{
	char path[PATH_MAX + 16];
	struct dirent *e = NULL;
	DIR *d;

	snprintf(path, sizeof(path), "%s/holders", n->sys);
	d = opendir(path);
	while (d && (e = readdir(d)) && e->d_name[0] == '.')
		;
	if (e)
		snprintf(name, 256, "%s", e->d_name);
	if (d)
		closedir(d);
	return e;
}

static bool describe_user(char out[BLOCKDEV_USER_BYTES], const struct blockdev_node *n)
{
	char target[256], holder[256];

	if (mount_of_device(target, sizeof(target), "", n->device))
		snprintf(out, BLOCKDEV_USER_BYTES, "%sis mounted at %.150s", n->subject, target);
	else if (is_swap(n->device))
		snprintf(out, BLOCKDEV_USER_BYTES, "%sis used as swap", n->subject);
	else if (find_holder(holder, n))
		snprintf(out, BLOCKDEV_USER_BYTES, "%sis part of %.150s", n->subject, holder);
	else
		return false;
	return true;
}

/* Fill `part` from an entry of the device's folder. False: the entry is not a partition. */
static bool read_partition(struct blockdev_node *part, const struct blockdev_node *whole,
			   const char *name)
{
	char text[32];
	unsigned dev_major, dev_minor;

	if (name[0] == '.' ||
	    snprintf(part->sys, sizeof(part->sys), "%s/%s", whole->sys, name) >=
		    (int)sizeof(part->sys) ||
	    sysfile_line(text, sizeof(text), part->sys, "/partition") ||
	    sysfile_line(text, sizeof(text), part->sys, "/dev") ||
	    sscanf(text, "%u:%u", &dev_major, &dev_minor) != 2)
		return false;
	part->device = makedev(dev_major, dev_minor);
	snprintf(part->subject, sizeof(part->subject), "its partition %s ", name);
	return true;
}

static struct blockdev_guard *blockdev_find(const struct blockdev_guards *g, dev_t device)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->at[i].device == device)
			return &g->at[i];
	return NULL;
}

static void describe_busy(char out[BLOCKDEV_USER_BYTES], dev_t device)
{
	struct blockdev_node part, whole = { .device = device };
	struct dirent *e;
	bool is_known;
	DIR *d;

	snprintf(whole.sys, sizeof(whole.sys), "/sys/dev/block/%u:%u", major(device),
		 minor(device));
	is_known = describe_user(out, &whole);
	d = is_known ? NULL : opendir(whole.sys);
	while (d && !is_known && (e = readdir(d)))
		is_known = read_partition(&part, &whole, e->d_name) && describe_user(out, &part);
	if (d)
		closedir(d);
	if (!is_known)
		snprintf(out, BLOCKDEV_USER_BYTES,
			 "is held by another program (lsof may tell which)");
}

/*
 * Open with O_EXCL, which without O_CREAT claims a block device (open(2)). The claim fails with
 * EBUSY while another user has one, a mount, swap, dm or md included. On a whole disk it also fails
 * while a partition is claimed. The path may lead to another device by now.
 */
int blockdev_hold(struct blockdev_guards *g, const char *path, dev_t device, struct mlgen_err *err)
{
	struct blockdev_guard *held = blockdev_find(g, device);
	char user[BLOCKDEV_USER_BYTES];
	struct stat st;
	int fd;

	if (held) {
		held->users++;
		return 0;
	}
	fd = open(path, O_RDWR | O_EXCL | O_CLOEXEC);
	if (fd < 0 && errno == EBUSY) {
		describe_busy(user, device);
		return mlgen_fail(err, -EBUSY,
				  "%s: %s; mlgen never writes to a block device in use", path,
				  user);
	}
	if (fd < 0)
		return mlgen_fail(err, -errno, "%s: open for writing: %s", path, strerror(errno));
	if (fstat(fd, &st) != 0 || !S_ISBLK(st.st_mode) || st.st_rdev != device) {
		close(fd);
		return mlgen_fail(err, -ESTALE, "%s: is a different device now", path);
	}
	vec_push(g, (struct blockdev_guard){ .device = device, .fd = fd, .users = 1 });
	return 0;
}

void blockdev_release(struct blockdev_guards *g, dev_t device)
{
	struct blockdev_guard *held = blockdev_find(g, device);

	if (!held || --held->users)
		return;
	close(held->fd);
	*held = g->at[--g->count];
	if (g->count == 0)
		vec_fini(g);
}

/* ---- counters of block devices ---- */

/* Deep enough: dm on md on dm on disks has four levels. */
#define MAX_LEVELS 8

static void devset_add(struct devset *set, const char *name)
{
	for (size_t i = 0; i < set->count; i++)
		if (!strcmp(set->names[i], name))
			return;
	if (strlen(name) >= DEVSET_NAME_BYTES)
		return;
	set->names = mem_realloc(set->names, (set->count + 1) * sizeof(*set->names));
	snprintf(set->names[set->count++], DEVSET_NAME_BYTES, "%s", name);
}

/* Is `name` a path of `head`? "nvme3n1" has the paths nvme3cXn1, one for each controller. */
static bool is_path_of(const char *name, const char *head)
{
	unsigned subsystem, controller, disk, of_subsystem, of_disk;
	int end = 0, of_end = 0;

	if (sscanf(head, "nvme%un%u%n", &of_subsystem, &of_disk, &of_end) != 2 || head[of_end])
		return false;
	return sscanf(name, "nvme%uc%un%u%n", &subsystem, &controller, &disk, &end) == 3 &&
	       !name[end] && subsystem == of_subsystem && disk == of_disk;
}

static int add_counting(struct devset *set, const char *root, const char *name, unsigned levels)
{
	char path[DEVSET_NAME_BYTES + 32];
	struct devset below = { 0 };
	struct devstat s;
	bool may_count;
	uint64_t is_on;
	int rc = 0;

	snprintf(path, sizeof(path), "/sys/block/%s/queue/iostats", name);
	may_count = devstat_read(&s, root, name) == 0 &&
		    (sysfile_u64(&is_on, root, path) != 0 || is_on);
	/* The counters of a device that was never read do not show whether it counts. */
	if ((!may_count || !s.read_ios) && levels > 0)
		devset_components(&below, root, name);
	if (below.count == 0) {
		if (!may_count)
			return -ENODATA;
		devset_add(set, name);
	}
	for (size_t i = 0; rc == 0 && i < below.count; i++)
		rc = add_counting(set, root, below.names[i], levels - 1);
	devset_fini(&below);
	return rc;
}

int devstat_read(struct devstat *s, const char *root, const char *name)
{
	/* Only the second folder contains partitions, which can be parts of md and dm. */
	static const char *const folders[] = { "block", "class/block" };
	char path[PATH_MAX];
	FILE *f = NULL;

	*s = (struct devstat){ 0 };
	if (!*name)
		return -ENODATA;
	for (size_t i = 0; !f && i < ARRAY_LEN(folders); i++) {
		snprintf(path, sizeof(path), "%s/sys/%s/%s/stat", root, folders[i], name);
		f = fopen(path, "re");
	}
	if (!f)
		return -ENODATA;
	int n = fscanf(f,
		       "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		       " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		       &s->read_ios, &s->read_merges, &s->read_sectors, &s->read_ticks_ms,
		       &s->write_ios, &s->write_merges, &s->write_sectors, &s->write_ticks_ms,
		       &s->in_flight, &s->io_ticks_ms, &s->in_queue_ms);
	fclose(f);
	return n == 11 ? 0 : -ENODATA;
}

void devstat_subtract(struct devstat *to, const struct devstat *from)
{
	to->read_ios -= from->read_ios;
	to->read_merges -= from->read_merges;
	to->read_sectors -= from->read_sectors;
	to->read_ticks_ms -= from->read_ticks_ms;
	to->write_ios -= from->write_ios;
	to->write_merges -= from->write_merges;
	to->write_sectors -= from->write_sectors;
	to->write_ticks_ms -= from->write_ticks_ms;
	to->io_ticks_ms -= from->io_ticks_ms;
	to->in_queue_ms -= from->in_queue_ms;
}

void devstat_add(struct devstat *to, const struct devstat *from)
{
	to->read_ios += from->read_ios;
	to->read_merges += from->read_merges;
	to->read_sectors += from->read_sectors;
	to->read_ticks_ms += from->read_ticks_ms;
	to->write_ios += from->write_ios;
	to->write_merges += from->write_merges;
	to->write_sectors += from->write_sectors;
	to->write_ticks_ms += from->write_ticks_ms;
	to->in_flight += from->in_flight;
	to->io_ticks_ms += from->io_ticks_ms;
	to->in_queue_ms += from->in_queue_ms;
}

void devset_fini(struct devset *set)
{
	mem_free(set->names);
	*set = (struct devset){ 0 };
}

void devset_components(struct devset *set, const char *root, const char *name)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/block/%s/slaves", root, name);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			devset_add(set, e->d_name);
	if (dir)
		closedir(dir);
	snprintf(path, sizeof(path), "%s/sys/block", root);
	dir = strncmp(name, "nvme", 4) ? NULL : opendir(path);
	while (dir && (e = readdir(dir)))
		if (is_path_of(e->d_name, name))
			devset_add(set, e->d_name);
	if (dir)
		closedir(dir);
}

int devset_counting(struct devset *set, const char *root, const char *name)
{
	int rc = *name ? add_counting(set, root, name, MAX_LEVELS) : -ENODATA;

	if (rc)
		devset_fini(set);
	return rc;
}

int devset_read(struct devstat *sum, const struct devset *set, const char *root)
{
	struct devstat one;

	*sum = (struct devstat){ 0 };
	for (size_t i = 0; i < set->count; i++) {
		if (devstat_read(&one, root, set->names[i]))
			return -ENODATA;
		devstat_add(sum, &one);
	}
	return set->count ? 0 : -ENODATA;
}

/* ---- bytes that storage delivered ---- */

/* Is this the first line of the mount at `target`? The form is "device SOURCE mounted on TARGET
 * with fstype TYPE statvers=1.1". */
static bool nfsstat_begins(char *line, const char *target)
{
	static const char before[] = " mounted on ", after[] = " with fstype ";
	char *at = strstr(line, before);
	char *end = at ? strstr(at, after) : NULL;

	if (!end || strncmp(end + strlen(after), "nfs", 3))
		return false;
	at += strlen(before);
	*end = '\0';
	sysfile_unescape(at);
	return !strcmp(at, target);
}

int nfsstat_read(struct nfsstat *s, const char *root, const char *target)
{
	char text[4096];
	bool is_ours = false, has_bytes = false;
	uint64_t n;
	FILE *f;

	snprintf(text, sizeof(text), "%s/proc/self/mountstats", root);
	f = fopen(text, "re");
	*s = (struct nfsstat){ 0 };
	while (f && fgets(text, sizeof(text), f)) {
		const char *line = text + strspn(text, " \t");

		if (!strncmp(text, "device ", 7)) {
			is_ours = nfsstat_begins(text, target);
			if (is_ours)
				*s = (struct nfsstat){ 0 };
			has_bytes &= !is_ours;
		} else if (is_ours) {
			/* "bytes: read() write() direct-read direct-write FROM-SERVER ..." */
			has_bytes |= sscanf(line, "bytes: %*u %*u %*u %*u %" SCNu64,
					    &s->server_read_bytes) == 1;
			/* "READ: REQUESTS transmissions timeouts ..." */
			if (sscanf(line, "READ: %" SCNu64, &n) == 1 ||
			    sscanf(line, "READ_PLUS: %" SCNu64, &n) == 1)
				s->reads += n;
		}
	}
	if (f)
		fclose(f);
	return has_bytes ? 0 : -ENODATA;
}

static int read_devices(const struct memsource *m, struct memsource_count *c)
{
	struct devstat s;
	int rc = devset_read(&s, &m->devices, m->root);

	*c = (struct memsource_count){ s.read_sectors * DEVSTAT_SECTOR_BYTES, s.read_ios };
	return rc;
}

static int read_nfs(const struct memsource *m, struct memsource_count *c)
{
	struct nfsstat s;
	int rc = nfsstat_read(&s, m->root, m->scope);

	*c = (struct memsource_count){ s.server_read_bytes, s.reads };
	return rc;
}

static int read_lustre(const struct memsource *m, struct memsource_count *c)
{
	struct lustre_stat s;
	int rc = lustre_read(&s, m->root, m->scope);

	*c = (struct memsource_count){ s.server_read_bytes, s.reads };
	return rc;
}

/* The file does not exist in kernels without CONFIG_TASK_IO_ACCOUNTING. */
static int read_process(const struct memsource *m, struct memsource_count *c)
{
	c->reads = UINT64_MAX;
	return sysfile_keyed(&c->read_bytes, m->root, "/proc/self/io", "read_bytes") ? -ENODATA : 0;
}

static const struct {
	const char *name;
	int (*read)(const struct memsource *m, struct memsource_count *c);
} kinds[] = {
	[MEMSOURCE_NONE] = { "unknown", NULL },
	[MEMSOURCE_DEVICE] = { "device counters", read_devices },
	[MEMSOURCE_NFS] = { "NFS mountstats", read_nfs },
	[MEMSOURCE_LUSTRE] = { "Lustre osc statistics", read_lustre },
	[MEMSOURCE_PROCESS] = { "/proc/self/io", read_process },
};

static bool is_nfs(const struct mount *mount)
{
	return !strcmp(mount->type, "nfs") || !strcmp(mount->type, "nfs4");
}

/*
 * Do reads of a task appear in its /proc/self/io? The block layer counts reads of local disks, and
 * NFS counts its own reads. Of other filesystems, some count reads for the task (Ceph), some for a
 * thread of the kernel (SMB), and some not at all (FUSE).
 */
static bool counts_for_tasks(const struct mount *mount)
{
	static const char *const types[] = { "btrfs", "bcachefs", "overlay" };

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (!strcmp(mount->type, types[i]))
			return true;
	return mount->device[0] || is_nfs(mount);
}

/* Choose the counter for the type of the mount; the caller checks whether it can be read. */
static enum memsource_kind choose_source(struct memsource *m, const struct mount *mount)
{
	size_t len = 0;

	if (mount->is_memory || mount->has_own_cache)
		return MEMSOURCE_NONE;
	if (is_nfs(mount)) {
		snprintf(m->scope, sizeof(m->scope), "%s", mount->target);
		return MEMSOURCE_NFS;
	}
	if (!strcmp(mount->type, "lustre")) {
		lustre_name(m->scope, sizeof(m->scope), mount->source);
		return MEMSOURCE_LUSTRE;
	}
	if (devset_counting(&m->devices, m->root, mount->device) == 0) {
		for (size_t i = 0; i < m->devices.count && len < sizeof(m->scope); i++)
			len += (size_t)snprintf(m->scope + len, sizeof(m->scope) - len, "%s ",
						m->devices.names[i]);
		return MEMSOURCE_DEVICE;
	}
	return MEMSOURCE_PROCESS;
}

void memsource_open(struct memsource *m, const struct mount *mount, const char *root)
{
	struct memsource_count c;

	*m = (struct memsource){ 0 };
	snprintf(m->root, sizeof(m->root), "%s", root);
	m->kind = choose_source(m, mount);
	if (m->kind != MEMSOURCE_NONE && memsource_read(m, &c))
		m->kind = MEMSOURCE_PROCESS;
	if (m->kind == MEMSOURCE_PROCESS && memsource_read(m, &c))
		m->kind = MEMSOURCE_NONE;
	m->is_sure = m->kind != MEMSOURCE_PROCESS || counts_for_tasks(mount);
	m->name = kinds[m->kind].name;
}

void memsource_close(struct memsource *m)
{
	devset_fini(&m->devices);
	*m = (struct memsource){ 0 };
}

int memsource_read(const struct memsource *m, struct memsource_count *c)
{
	*c = (struct memsource_count){ 0 };
	return kinds[m->kind].read ? kinds[m->kind].read(m, c) : -ENODATA;
}

bool memsource_counts(const struct memsource *m, const struct memsource *other)
{
	if (m->kind == MEMSOURCE_PROCESS)
		return other->kind != MEMSOURCE_NONE;
	return m->kind == other->kind && !strcmp(m->scope, other->scope);
}
