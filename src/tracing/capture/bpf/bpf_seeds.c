/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_seeds.c - see bpf_seeds.h. */
#include "tracing/capture/bpf/bpf_seeds.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEEP 32 /* of control groups in control groups */

/* A kernel thread has no program. Only one that may look into it can tell. */
static bool is_kernel_thread(pid_t pid)
{
	char path[64], to[8];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return readlink(path, to, sizeof(to)) < 0 && errno == ENOENT && access(path, F_OK) < 0;
}

static bool is_there(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return access(path, F_OK) == 0;
}

int seed_process(struct bpf_kernel *k, pid_t pid, struct mlgen_err *err)
{
	int rc;

	if (is_there(pid) && is_kernel_thread(pid))
		return mlgen_fail(err, -EINVAL,
				  "process %d: is a thread of the kernel, or has ended already; "
				  "give the pid of a program",
				  (int)pid);
	rc = kernel_follow(k, pid);
	if (rc == -ESRCH)
		return mlgen_fail(err, rc, "process %d: no such process", (int)pid);
	if (rc == -EINVAL)
		return mlgen_fail(err, rc,
				  "process %d: is a thread of another one; give the pid of its "
				  "process (Tgid in /proc/%d/status)",
				  (int)pid, (int)pid);
	if (rc < 0)
		return mlgen_fail(err, rc, "process %d: cannot be followed: %s", (int)pid,
				  strerror(-rc));
	return 0;
}

/* How many of a file of pids, a line each; those that are gone are not ours. -errno: it cannot be
 * read. */
static long seed_list(struct bpf_kernel *k, const char *path)
{
	FILE *in = fopen(path, "re");
	long count = 0, pid;
	int rc;

	if (!in)
		return -errno;
	while (fscanf(in, "%ld", &pid) == 1) {
		rc = pid > 0 ? kernel_follow(k, (pid_t)pid) : -ESRCH;
		count += rc == 0;
	}
	fclose(in);
	return count;
}

/* NOLINTNEXTLINE(misc-no-recursion): DEEP at most */
static long seed_folder(struct bpf_kernel *k, const char *folder, int deep)
{
	char path[PATH_MAX];
	long count, inner;
	DIR *d;

	if (snprintf(path, sizeof(path), "%s/cgroup.procs", folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	count = seed_list(k, path);
	d = count < 0 || !deep ? NULL : opendir(folder);
	if (!d)
		return count;
	for (struct dirent *one; (one = readdir(d));) {
		if (one->d_name[0] == '.' || (one->d_type != DT_DIR && one->d_type != DT_UNKNOWN) ||
		    snprintf(path, sizeof(path), "%s/%s", folder, one->d_name) >= (int)sizeof(path))
			continue;
		inner = seed_folder(k, path, deep - 1);
		count += inner > 0 ? inner : 0;
	}
	closedir(d);
	return count;
}

int seed_cgroup(struct bpf_kernel *k, const char *folder, struct mlgen_err *err)
{
	long count = seed_folder(k, folder, DEEP);

	if (count < 0)
		return mlgen_fail(err, (int)count,
				  "%s: is no control group that can be read: cgroup.procs: %s",
				  folder, strerror((int)-count));
	if (count == 0)
		return mlgen_fail(err, -ESRCH, "%s: no process runs in this control group", folder);
	return 0;
}
