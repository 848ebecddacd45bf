/* SPDX-License-Identifier: Apache-2.0 */
/* capture_target.c - running processes and control groups: which may be recorded, and which tasks
 * they have. */
#include "tracing/capture/capture_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"

#define PF_KTHREAD 0x00200000ul /* linux/sched.h */

/* ---- processes ---- */

/* Fields of /proc/PID/stat. */
struct stat_line {
	char state;
	pid_t parent;
	unsigned long flags;
};

static bool read_stat(pid_t pid, struct stat_line *s)
{
	char path[64], text[1024];
	const char *at;
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = '\0';
	/* The name may contain anything, including parentheses. */
	at = strrchr(text, ')');
	return at &&
	       sscanf(at, ") %c %d %*d %*d %*d %*d %lu", &s->state, &s->parent, &s->flags) == 3;
}

int capture_pid_check(pid_t pid, struct mlgen_err *err)
{
	uint64_t group = 0; /* the process that the thread belongs to */
	struct stat_line s;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	(void)sysfile_keyed(&group, "", path, "Tgid");
	if (pid == getpid())
		return mlgen_fail(err, -EINVAL,
				  "pid=%d: is mltrace itself; mlgen --trace=FILE traces a run",
				  (int)pid);
	if (!group || !read_stat(pid, &s))
		return mlgen_fail(err, -ESRCH,
				  "pid=%d: there is no such process; ps -e lists processes",
				  (int)pid);
	if (group != (uint64_t)pid)
		return mlgen_fail(err, -EINVAL,
				  "pid=%d: is a thread of process %d; write --pid=%d to record all "
				  "threads of the process",
				  (int)pid, (int)group, (int)group);
	if (s.flags & PF_KTHREAD)
		return mlgen_fail(err, -EINVAL,
				  "pid=%d: is a kernel thread, which makes no system calls; name "
				  "the process of a program",
				  (int)pid);
	if (s.state == 'Z' || s.state == 'X')
		return mlgen_fail(err, -ESRCH, "pid=%d: has ended", (int)pid);
	return 0;
}

bool capture_pid_runs(pid_t pid)
{
	struct stat_line s;

	return read_stat(pid, &s) && s.state != 'Z' && s.state != 'X';
}

int capture_pid_owner(pid_t pid, uid_t *uid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) < 0)
		return -errno;
	*uid = st.st_uid;
	return 0;
}

pid_t capture_pid_parent(pid_t pid)
{
	struct stat_line s;

	return read_stat(pid, &s) ? s.parent : 0;
}

char *capture_join_words(const char *words, size_t bytes)
{
	char *line;

	while (bytes && !words[bytes - 1])
		bytes--;
	line = mem_zalloc(bytes + 1);
	for (size_t i = 0; i < bytes; i++)
		line[i] = words[i] ? words[i] : ' ';
	return line;
}

char *capture_pid_command_line(pid_t pid)
{
	char path[64], words[4096];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, words, sizeof(words));
		close(fd);
	}
	return n > 0 ? capture_join_words(words, (size_t)n) : NULL;
}

/* ---- sets of processes ---- */

static bool has_pid(const struct capture_pids *p, pid_t pid)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->at[i] == pid)
			return true;
	return false;
}

static void add_pid(struct capture_pids *p, pid_t pid)
{
	if (!has_pid(p, pid))
		vec_push(p, pid);
}

void capture_pids_tree(struct capture_pids *out, pid_t pid)
{
	const struct dirent *e;
	struct stat_line s;
	size_t before;

	add_pid(out, pid);
	/* Add processes whose parent is in the set until the set no longer grows. */
	do {
		DIR *dir = opendir("/proc");

		before = out->count;
		while (dir && (e = readdir(dir))) {
			char *end;
			long child = strtol(e->d_name, &end, 10);

			if (child > 0 && !*end && read_stat((pid_t)child, &s) &&
			    has_pid(out, s.parent) && s.state != 'Z')
				add_pid(out, (pid_t)child);
		}
		if (dir)
			closedir(dir);
	} while (out->count > before);
}

void capture_pids_cgroup(struct capture_pids *out, const char *directory)
{
	DIR *dir = opendir(directory);
	const struct dirent *e;
	char path[PATH_MAX];
	FILE *f = NULL;
	int pid;

	if (snprintf(path, sizeof(path), "%s/cgroup.procs", directory) < (int)sizeof(path))
		f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1)
		if (pid > 0) /* 0 is a process of another pid namespace */
			add_pid(out, pid);
	if (f)
		fclose(f);
	while (dir && (e = readdir(dir)))
		if (e->d_type == DT_DIR && e->d_name[0] != '.' &&
		    snprintf(path, sizeof(path), "%s/%s", directory, e->d_name) < (int)sizeof(path))
			capture_pids_cgroup(out, path);
	if (dir)
		closedir(dir);
}

void capture_pids_threads(struct capture_pids *out, pid_t pid)
{
	char path[64];
	const struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		long tid = strtol(e->d_name, NULL, 10);

		if (tid > 0)
			add_pid(out, (pid_t)tid);
	}
	if (dir)
		closedir(dir);
}

void capture_pids_fini(struct capture_pids *p)
{
	vec_fini(p);
	*p = (struct capture_pids){ 0 };
}

/* ---- control groups ---- */

static bool is_cgroup(const char *directory)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/cgroup.procs", directory) < (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

int capture_cgroup_find(struct buf *out, const char *given, struct mlgen_err *err)
{
	/* The mount point of version 2, and hierarchies of version 1. */
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified",
					     "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/pids",
					     "/sys/fs/cgroup/memory" };

	if (is_cgroup(given)) {
		buf_add(out, given);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		size_t at = out->len;

		buf_addf(out, "%s%s%s", roots[i], *given == '/' ? "" : "/", given);
		if (is_cgroup(buf_str(out) + at))
			return 0;
		buf_cut(out, at);
	}
	return mlgen_fail(err, -ENOENT,
			  "cgroup=%s: is not a control group, here or below /sys/fs/cgroup; "
			  "/proc/PID/cgroup names the group of a process",
			  given);
}

bool capture_cgroup_runs(const char *directory)
{
	uint64_t populated;

	/* Version 1 has no cgroup.events. */
	return is_cgroup(directory) &&
	       (sysfile_keyed(&populated, directory, "/cgroup.events", "populated") < 0 ||
		populated);
}

/* ---- clients of container daemons ---- */

const char *capture_client_name(const char *command)
{
	static const char *const clients[] = { "docker", "podman", "nerdctl",
					       "ctr",    "crictl", "kubectl" };
	const char *slash = strrchr(command, '/');
	const char *name = slash ? slash + 1 : command;

	for (size_t i = 0; i < ARRAY_LEN(clients); i++)
		if (strcmp(name, clients[i]) == 0)
			return clients[i];
	return NULL;
}
