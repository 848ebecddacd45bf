/* SPDX-License-Identifier: Apache-2.0 */
/* energy.c - see energy.h. */
#include "io/energy.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "io/sysfile.h"

#define ZONES "/sys/class/powercap"
#define OF_ZONE "intel-rapl:"

/* "intel-rapl:12:3": as much of a name as can be one. */
#define NAME_MAX_BYTES 32

static const char no_zone[] = "no RAPL zone in /sys/class/powercap; a VM has none";
static const char for_root[] = "energy_uj in /sys/class/powercap is for root alone";
static const char unreadable[] = "a zone of /sys/class/powercap cannot be read, or has no range";
static const char no_dram[] = "no zone counts DRAM";

/* What was counted since the last time goes to *sum. 0 or -errno. */
static int look_at(struct energy_zone *z, const char *root, uint64_t *sum)
{
	uint64_t now;
	int rc = sysfile_u64(&now, root, z->path);

	if (rc < 0)
		return rc;
	if (now < z->last_uj && now + z->range_uj < z->last_uj)
		return -ERANGE;
	*sum += now >= z->last_uj ? now - z->last_uj : now + z->range_uj - z->last_uj;
	z->last_uj = now;
	return 0;
}

static int zone_init(struct energy_zone *z, const char *root, const char *name)
{
	char range[sizeof(z->path)];
	int rc;

	snprintf(z->path, sizeof(z->path), ZONES "/%.*s/energy_uj", NAME_MAX_BYTES, name);
	snprintf(range, sizeof(range), ZONES "/%.*s/max_energy_range_uj", NAME_MAX_BYTES, name);
	rc = sysfile_u64(&z->range_uj, root, range);
	return rc < 0 ? rc : sysfile_u64(&z->last_uj, root, z->path);
}

static const char *reason_of(int rc)
{
	return rc == -EACCES || rc == -EPERM ? for_root : unreadable;
}

/* By its name; one of neither is left out. */
static void add_zone(struct energy_meter *m, const char *folder)
{
	char path[96], name[NAME_MAX_BYTES];
	bool is_dram;
	unsigned *count;
	int rc;

	snprintf(path, sizeof(path), ZONES "/%.*s/name", NAME_MAX_BYTES, folder);
	if (sysfile_line(name, sizeof(name), m->root, path) < 0)
		return;
	is_dram = strcmp(name, "dram") == 0;
	if (!is_dram && strncmp(name, "package-", 8) != 0)
		return;
	count = is_dram ? &m->drams : &m->packages;
	if (*count == ENERGY_ZONES) {
		m->unmeasured = unreadable;
		return;
	}
	rc = zone_init(is_dram ? &m->dram[*count] : &m->package[*count], m->root, folder);
	if (rc < 0)
		m->unmeasured = reason_of(rc);
	++*count;
}

static bool is_zone(const char *name)
{
	return strncmp(name, OF_ZONE, strlen(OF_ZONE)) == 0 && strlen(name) < NAME_MAX_BYTES;
}

static void find_zones(struct energy_meter *m)
{
	char path[PATH_MAX];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "%s" ZONES, m->root);
	dir = opendir(path);
	while (dir && (d = readdir(dir)))
		if (is_zone(d->d_name))
			add_zone(m, d->d_name);
	if (dir)
		closedir(dir);
	if (!m->packages)
		m->unmeasured = no_zone;
}

void energy_open(struct energy_meter *m, const char *root)
{
	*m = (struct energy_meter){ .root = root };
	pthread_mutex_init(&m->lock, NULL);
	find_zones(m);
}

void energy_close(struct energy_meter *m)
{
	if (m->root)
		pthread_mutex_destroy(&m->lock);
	*m = (struct energy_meter){ 0 };
}

static void read_zones(struct energy_meter *m)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < m->packages; i++)
		rc = look_at(&m->package[i], m->root, &m->package_uj);
	for (unsigned i = 0; rc == 0 && i < m->drams; i++)
		rc = look_at(&m->dram[i], m->root, &m->dram_uj);
	if (rc < 0)
		m->unmeasured = reason_of(rc);
}

void energy_read(struct energy_meter *m, struct energy_counts *c)
{
	pthread_mutex_lock(&m->lock);
	if (!m->unmeasured)
		read_zones(m);
	*c = (struct energy_counts){
		.package_uj = m->unmeasured ? UINT64_MAX : m->package_uj,
		.dram_uj = m->unmeasured || !m->drams ? UINT64_MAX : m->dram_uj,
		.unmeasured = m->unmeasured ? m->unmeasured
			      : m->drams    ? NULL
					    : no_dram,
	};
	pthread_mutex_unlock(&m->lock);
}
