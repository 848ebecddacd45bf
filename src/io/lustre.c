/* SPDX-License-Identifier: Apache-2.0 */
/* lustre.c - see lustre.h. */
#include "io/lustre.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

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
