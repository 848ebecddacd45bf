/* SPDX-License-Identifier: Apache-2.0 */
/* memsource.c - see memsource.h. */
#include "io/memsource.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "io/lustre.h"
#include "io/nfsstat.h"
#include "io/sysfile.h"

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

/* Without CONFIG_TASK_IO_ACCOUNTING there is no such file. */
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
 * Is what a thread reads in its /proc/self/io? On local disks the block layer puts it there, NFS
 * does so itself. Of the rest some count (Ceph), some count for a thread of the kernel (SMB), some
 * not at all (FUSE).
 */
static bool counts_for_tasks(const struct mount *mount)
{
	static const char *const types[] = { "btrfs", "bcachefs", "overlay" };

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (!strcmp(mount->type, types[i]))
			return true;
	return mount->device[0] || is_nfs(mount);
}

static void put_device_scope(struct memsource *m)
{
	size_t len = 0;

	for (size_t i = 0; i < m->devices.count && len < sizeof(m->scope); i++)
		len += (size_t)snprintf(m->scope + len, sizeof(m->scope) - len, "%s ",
					m->devices.names[i]);
}

/* What the mount asks for, before it is known whether it can be read. */
static enum memsource_kind put_scope(struct memsource *m, const struct mount *mount)
{
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
		put_device_scope(m);
		return MEMSOURCE_DEVICE;
	}
	return MEMSOURCE_PROCESS;
}

void memsource_open(struct memsource *m, const struct mount *mount, const char *root)
{
	struct memsource_count c;

	*m = (struct memsource){ 0 };
	snprintf(m->root, sizeof(m->root), "%s", root);
	m->kind = put_scope(m, mount);
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
