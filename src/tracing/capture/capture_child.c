/* SPDX-License-Identifier: Apache-2.0 */
/* capture_child.c - the recorded command: a child that waits until it is followed, and its end. */
#include "tracing/capture/capture_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"

/* ---- the user ---- */

int capture_user_find(struct capture_user *u, const char *name, struct mlgen_err *err)
{
	const struct passwd *pw;
	unsigned long uid;
	char *end;
	int n = 64;

	*u = (struct capture_user){ 0 };
	if (geteuid() != 0)
		return mlgen_fail(err, -EPERM,
				  "user=%s: only root can run a command as another user; run "
				  "mltrace under sudo, or leave out the option",
				  name);
	pw = getpwnam(name);
	uid = strtoul(name, &end, 10);
	if (!pw && *name && !*end && !strchr("+- ", *name) && uid < UINT_MAX)
		pw = getpwuid((uid_t)uid);
	if (!pw)
		return mlgen_fail(err, -ENOENT,
				  "user=%s: there is no such user; getent passwd lists users",
				  name);
	u->name = mem_strdup(pw->pw_name);
	u->home = mem_strdup(pw->pw_dir);
	u->uid = pw->pw_uid;
	u->gid = pw->pw_gid;
	u->groups = mem_array((size_t)n, sizeof(*u->groups));
	if (getgrouplist(u->name, u->gid, u->groups, &n) < 0) {
		u->groups = mem_realloc(u->groups, (size_t)n * sizeof(*u->groups));
		if (getgrouplist(u->name, u->gid, u->groups, &n) < 0)
			n = 0;
	}
	u->group_count = n;
	return 0;
}

void capture_user_fini(struct capture_user *u)
{
	mem_free(u->name);
	mem_free(u->home);
	mem_free(u->groups);
	*u = (struct capture_user){ 0 };
}

/* ---- can the command be executed? ---- */

/* 0 or -errno; after -ENOENT a search of $PATH continues. */
static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return access(path, X_OK) < 0 ? -errno : 0;
}

/* Search $PATH as execvp does. */
static int check_path(const char *command)
{
	const char *at = getenv("PATH");
	char path[PATH_MAX];
	int first = -ENOENT;

	if (!at)
		at = "/bin:/usr/bin";
	for (;;) {
		size_t len = strcspn(at, ":");
		int n = snprintf(path, sizeof(path), "%.*s%s%s", (int)len, at, len ? "/" : "",
				 command);
		int rc = n < (int)sizeof(path) ? check_executable(path) : -ENOENT;

		if (rc == 0)
			return 0;
		if (rc != -ENOENT && rc != -EISDIR && first == -ENOENT)
			first = rc;
		if (!at[len])
			return first;
		at += len + 1;
	}
}

/* Fill err, and return the exit status. A script without its interpreter counts as not found, as in
 * a shell. */
static int fail_command(const char *command, int rc, struct mlgen_err *err)
{
	bool is_path = strchr(command, '/') != NULL;
	int status = rc == -ENOENT ? CAPTURE_NOT_FOUND : CAPTURE_NOT_EXECUTABLE;

	if (rc == -ENOENT && !is_path)
		mlgen_fail(err, rc, "%s: command not found in $PATH", command);
	else if (rc == -ENOENT && access(command, F_OK) == 0)
		mlgen_fail(err, rc, "%s: cannot be executed: its interpreter does not exist",
			   command);
	else
		mlgen_fail(err, rc, "%s: cannot be executed: %s", command, strerror(-rc));
	return status;
}

int capture_command_check(const char *command, struct mlgen_err *err)
{
	int rc = strchr(command, '/') ? check_executable(command)
		 : *command           ? check_path(command)
				      : -ENOENT;

	return rc < 0 ? fail_command(command, rc, err) : 0;
}

/* ---- the child ---- */

enum step { STEP_READY, STEP_USER, STEP_EXEC };

/* The step that the child has reached, or at which it failed with `error`. */
struct child_report {
	enum step step;
	int error;
};

static void child_report(int fd, enum step step, int error)
{
	struct child_report r = { .step = step, .error = error };

	(void)!write(fd, &r, sizeof(r));
}

static __attribute__((noreturn)) void child_main(char *const *argv, const struct capture_user *u,
						 int release_fd, int report_fd)
{
	char byte;

	if (u->name) {
		if (setgroups((size_t)u->group_count, u->groups) < 0 || setgid(u->gid) < 0 ||
		    setuid(u->uid) < 0) {
			child_report(report_fd, STEP_USER, errno);
			_exit(CAPTURE_NOT_EXECUTABLE);
		}
		(void)setenv("HOME", u->home, 1);
		(void)setenv("USER", u->name, 1);
		(void)setenv("LOGNAME", u->name, 1);
	}
	/* The command must not inherit mltrace's ambient capabilities; execve still grants those of
	 * the command's file. */
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* Yama lets only ancestors trace a process, and strace is not an ancestor. */
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	child_report(report_fd, STEP_READY, 0);
	/* No byte: the parent gave up or died. */
	if (read(release_fd, &byte, 1) != 1)
		_exit(CAPTURE_NOT_EXECUTABLE);
	(void)prctl(PR_SET_PTRACER, 0, 0, 0, 0);
	signals_restore_inherited();
	execvp(argv[0], argv);
	child_report(report_fd, STEP_EXEC, errno);
	_exit(errno == ENOENT ? CAPTURE_NOT_FOUND : CAPTURE_NOT_EXECUTABLE);
}

int capture_child_start(struct capture_child *c, char *const *argv, const struct capture_user *user,
			struct mlgen_err *err)
{
	int release[2], report[2], error;
	struct child_report r;
	ssize_t n;

	*c = (struct capture_child){ .release_fd = -1, .report_fd = -1 };
	if (pipe2(release, O_CLOEXEC) < 0)
		return mlgen_fail(err, -errno, "capture: pipe: %s", strerror(errno));
	if (pipe2(report, O_CLOEXEC) < 0) {
		error = errno;
		close(release[0]);
		close(release[1]);
		return mlgen_fail(err, -error, "capture: pipe: %s", strerror(error));
	}
	c->pid = fork();
	if (c->pid == 0) {
		close(release[1]);
		child_main(argv, user, release[0], report[1]);
	}
	error = errno;
	close(release[0]);
	close(report[1]);
	c->release_fd = release[1];
	c->report_fd = report[0];
	if (c->pid < 0) {
		c->pid = 0;
		return mlgen_fail(err, -error, "capture: cannot start a process: %s",
				  strerror(error));
	}
	do
		n = read(c->report_fd, &r, sizeof(r));
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(r) && r.step == STEP_READY)
		return 0;
	error = n == (ssize_t)sizeof(r) ? r.error : ECHILD;
	return mlgen_fail(err, -error, "user=%s: %s", user->name ? user->name : "",
			  strerror(error));
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void capture_child_release(struct capture_child *c)
{
	(void)!write(c->release_fd, "", 1);
	close_end(&c->release_fd);
}

bool capture_child_has_ended(struct capture_child *c)
{
	pid_t pid;

	if (c->is_over || !c->pid)
		return c->is_over;
	pid = waitpid(c->pid, &c->wait_status, WNOHANG);
	c->is_over = pid == c->pid;
	if (pid < 0 && errno == ECHILD) { /* other code has waited for the child */
		c->wait_status = 0;
		c->is_over = true;
	}
	return c->is_over;
}

int capture_child_status(struct capture_child *c, const char *command, struct mlgen_err *err)
{
	struct child_report r;

	if (c->report_fd >= 0 && read(c->report_fd, &r, sizeof(r)) == sizeof(r) &&
	    r.step == STEP_EXEC)
		return fail_command(command, -r.error, err);
	close_end(&c->report_fd);
	return WIFSIGNALED(c->wait_status) ? 128 + WTERMSIG(c->wait_status)
					   : WEXITSTATUS(c->wait_status);
}

void capture_child_fini(struct capture_child *c)
{
	if (!c->pid)
		return;
	close_end(&c->release_fd);
	if (!c->is_over)
		(void)waitpid(c->pid, &c->wait_status, 0);
	close_end(&c->report_fd);
	*c = (struct capture_child){ 0 };
}
