/* SPDX-License-Identifier: Apache-2.0 */
/* capture_whom.c - processes and control groups that run already: may they be recorded, and which
 * tasks are they? */
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

/* Of /proc/PID/stat. */
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
	/* The name may hold anything, parentheses too. */
	at = strrchr(text, ')');
	return at &&
	       sscanf(at, ") %c %d %*d %*d %*d %*d %lu", &s->state, &s->parent, &s->flags) == 3;
}

/* The process that a thread is of, or 0. */
static pid_t group_of(pid_t pid)
{
	char path[64], line[256];
	int tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "Tgid: %d", &tgid) != 1)
		;
	if (f)
		fclose(f);
	return tgid;
}

int capture_pid_check(pid_t pid, struct mlgen_err *err)
{
	struct stat_line s;
	pid_t group = group_of(pid);

	if (pid == getpid())
		return mlgen_fail(err, -EINVAL,
				  "pid=%d: is mlgen itself; --trace=FILE of a run has what it does",
				  (int)pid);
	if (!group || !read_stat(pid, &s))
		return mlgen_fail(err, -ESRCH, "pid=%d: there is no such process; ps -e lists them",
				  (int)pid);
	if (group != pid)
		return mlgen_fail(err, -EINVAL,
				  "pid=%d: is a thread of process %d; write --pid=%d, which has "
				  "all of its threads",
				  (int)pid, (int)group, (int)group);
	if (s.flags & PF_KTHREAD)
		return mlgen_fail(err, -EINVAL,
				  "pid=%d: is a thread of the kernel, which calls nothing; name a "
				  "program's process",
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

char *capture_line_of(const char *words, size_t bytes)
{
	char *line;

	while (bytes && !words[bytes - 1])
		bytes--;
	line = mem_zalloc(bytes + 1);
	for (size_t i = 0; i < bytes; i++)
		line[i] = words[i] ? words[i] : ' ';
	return line;
}

char *capture_pid_line(pid_t pid)
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
	return n > 0 ? capture_line_of(words, (size_t)n) : NULL;
}

/* ---- lists of them ---- */

static bool has_pid(const struct capture_pids *p, pid_t pid)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->at[i] == pid)
			return true;
	return false;
}

static void add_pid(struct capture_pids *p, pid_t pid)
{
	if (has_pid(p, pid))
		return;
	vec_push(p, pid);
}

/* Those whose parent is in the list. True: there was another one. */
static bool add_children(struct capture_pids *p)
{
	DIR *dir = opendir("/proc");
	const struct dirent *e;
	size_t before = p->count;
	struct stat_line s;

	while (dir && (e = readdir(dir))) {
		char *end;
		long pid = strtol(e->d_name, &end, 10);

		if (pid > 0 && !*end && read_stat((pid_t)pid, &s) && has_pid(p, s.parent) &&
		    s.state != 'Z')
			add_pid(p, (pid_t)pid);
	}
	if (dir)
		closedir(dir);
	return p->count > before;
}

void capture_pids_tree(struct capture_pids *out, pid_t pid)
{
	add_pid(out, pid);
	while (add_children(out))
		;
}

static void add_procs(struct capture_pids *out, const char *directory)
{
	char path[PATH_MAX];
	int pid;
	FILE *f = NULL;

	if (snprintf(path, sizeof(path), "%s/cgroup.procs", directory) < (int)sizeof(path))
		f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1)
		if (pid > 0) /* 0 is of another namespace */
			add_pid(out, pid);
	if (f)
		fclose(f);
}

void capture_pids_cgroup(struct capture_pids *out, const char *directory)
{
	DIR *dir = opendir(directory);
	const struct dirent *e;
	char path[PATH_MAX];

	add_procs(out, directory);
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

/* Below the mount of version 2, or of any hierarchy of version 1. */
static bool find_below(struct buf *out, const char *root, const char *given)
{
	size_t at = out->len;

	buf_addf(out, "%s%s%s", root, *given == '/' ? "" : "/", given);
	if (is_cgroup(buf_str(out) + at))
		return true;
	buf_cut(out, at);
	return false;
}

int capture_cgroup_find(struct buf *out, const char *given, struct mlgen_err *err)
{
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified",
					     "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/pids",
					     "/sys/fs/cgroup/memory" };

	if (is_cgroup(given)) {
		buf_add(out, given);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(roots); i++)
		if (find_below(out, roots[i], given))
			return 0;
	return mlgen_fail(err, -ENOENT,
			  "cgroup=%s: is no control group, here or below /sys/fs/cgroup; "
			  "/proc/PID/cgroup names that of a process",
			  given);
}

bool capture_cgroup_runs(const char *directory)
{
	char path[PATH_MAX], line[256];
	int populated = 1;
	FILE *f;

	if (!is_cgroup(directory))
		return false;
	/* Version 1 does not tell. */
	snprintf(path, sizeof(path), "%.*s/cgroup.events", PATH_MAX - 32, directory);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "populated %d", &populated) != 1)
		;
	if (f)
		fclose(f);
	return populated;
}

/* ---- who has others do it ---- */

const char *capture_is_client(const char *command)
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
