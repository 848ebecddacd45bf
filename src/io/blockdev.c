/* SPDX-License-Identifier: Apache-2.0 */
/* blockdev.c - block devices that are about to be written: who uses them, and keep others off. */
#include "io/blockdev.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/vec.h"
#include "io/mount.h"
#include "io/sysfile.h"

/* A device as sysfs has it: /sys/dev/block/MAJOR:MINOR. */
struct node {
	dev_t device;
	char sys[PATH_MAX];
	char whose[300]; /* "" or "its partition sda1 " */
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

/* The first device that is made of this one: of dm, md, bcache. */
static bool find_holder(char name[256], const struct node *n)
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

static bool blockdev_tell(char out[BLOCKDEV_USER_BYTES], const struct node *n)
{
	char target[256], holder[256];

	if (mount_of_device(target, sizeof(target), "", n->device))
		snprintf(out, BLOCKDEV_USER_BYTES, "%sis mounted at %.150s", n->whose, target);
	else if (is_swap(n->device))
		snprintf(out, BLOCKDEV_USER_BYTES, "%sis used as swap", n->whose);
	else if (find_holder(holder, n))
		snprintf(out, BLOCKDEV_USER_BYTES, "%sis part of %.150s", n->whose, holder);
	else
		return false;
	return true;
}

/* 0, or -ENODATA: what sysfs lists there is no partition. */
static int partition_of(struct node *part, const struct node *whole, const char *name)
{
	char text[32];
	unsigned dev_major, dev_minor;

	if (name[0] == '.' ||
	    snprintf(part->sys, sizeof(part->sys), "%s/%s", whole->sys, name) >=
		    (int)sizeof(part->sys) ||
	    sysfile_line(text, sizeof(text), part->sys, "/partition") ||
	    sysfile_line(text, sizeof(text), part->sys, "/dev") ||
	    sscanf(text, "%u:%u", &dev_major, &dev_minor) != 2)
		return -ENODATA;
	part->device = makedev(dev_major, dev_minor);
	snprintf(part->whose, sizeof(part->whose), "its partition %s ", name);
	return 0;
}

static bool tell_of_partitions(char out[BLOCKDEV_USER_BYTES], const struct node *whole)
{
	DIR *d = opendir(whole->sys);
	bool told = false;
	struct dirent *e;
	struct node part;

	while (d && !told && (e = readdir(d)))
		told = partition_of(&part, whole, e->d_name) == 0 && blockdev_tell(out, &part);
	if (d)
		closedir(d);
	return told;
}

static struct blockdev_guard *blockdev_find(const struct blockdev_guards *g, dev_t device)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->at[i].device == device)
			return &g->at[i];
	return NULL;
}

/*
 * For a block device O_EXCL without O_CREAT is a claim (open(2)): it fails with EBUSY as long as
 * anybody else has one, a mount, swap, dm or md included, and of a whole disk also while somebody
 * has claimed a partition. `fd` is of the device that was looked at, whatever the name leads to by
 * now.
 */
static int claim(const char *path, dev_t device, struct mlgen_err *err)
{
	char user[BLOCKDEV_USER_BYTES];
	int fd = open(path, O_RDWR | O_EXCL | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == EBUSY) {
		blockdev_user(user, device);
		return mlgen_fail(err, -EBUSY, "%s: %s; a block device in use is never written",
				  path, user);
	}
	if (fd < 0)
		return mlgen_fail(err, -errno, "%s: open for writing: %s", path, strerror(errno));
	if (fstat(fd, &st) != 0 || !S_ISBLK(st.st_mode) || st.st_rdev != device) {
		close(fd);
		return mlgen_fail(err, -ESTALE, "%s: became another device meanwhile", path);
	}
	return fd;
}

int blockdev_hold(struct blockdev_guards *g, const char *path, dev_t device, struct mlgen_err *err)
{
	struct blockdev_guard *held = blockdev_find(g, device);
	int fd;

	if (held) {
		held->users++;
		return 0;
	}
	fd = claim(path, device, err);
	if (fd < 0)
		return fd;
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

void blockdev_user(char out[BLOCKDEV_USER_BYTES], dev_t device)
{
	struct node whole = { .device = device };

	snprintf(whole.sys, sizeof(whole.sys), "/sys/dev/block/%u:%u", major(device),
		 minor(device));
	if (!blockdev_tell(out, &whole) && !tell_of_partitions(out, &whole))
		snprintf(out, BLOCKDEV_USER_BYTES,
			 "is held by another program (lsof may tell which)");
}
