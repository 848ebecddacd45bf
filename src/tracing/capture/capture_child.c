/* SPDX-License-Identifier: Apache-2.0 */
/* capture_child.c - the command that is recorded: a child that waits until it is followed, and its
 * end. */
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

/* ---- whom it runs as ---- */

static struct passwd *find_passwd(const char *name)
{
	struct passwd *pw = getpwnam(name);
	char *end;
	unsigned long uid = strtoul(name, &end, 10);

	if (pw || !*name || *end || strchr("+- ", *name) || uid >= UINT_MAX)
		return pw;
	return getpwuid((uid_t)uid);
}

static void find_groups(struct capture_user *u)
{
	int n = 64;

	u->groups = mem_array((size_t)n, sizeof(*u->groups));
	if (getgrouplist(u->name, u->gid, u->groups, &n) < 0) {
		u->groups = mem_realloc(u->groups, (size_t)n * sizeof(*u->groups));
		if (getgrouplist(u->name, u->gid, u->groups, &n) < 0)
			n = 0;
	}
	u->group_count = n;
}

int capture_user_find(struct capture_user *u, const char *name, struct mlgen_err *err)
{
	const struct passwd *pw;

	*u = (struct capture_user){ 0 };
	if (geteuid() != 0)
		return mlgen_fail(err, -EPERM,
				  "capture-user=%s: only root can run a command as somebody else; "
				  "begin with sudo, or leave it out",
				  name);
	pw = find_passwd(name);
	if (!pw)
		return mlgen_fail(
			err, -ENOENT,
			"capture-user=%s: there is no such user; getent passwd lists them", name);
	u->name = mem_strdup(pw->pw_name);
	u->home = mem_strdup(pw->pw_dir);
	u->uid = pw->pw_uid;
	u->gid = pw->pw_gid;
	find_groups(u);
	return 0;
}

void capture_user_fini(struct capture_user *u)
{
	mem_free(u->name);
	mem_free(u->home);
	mem_free(u->groups);
	*u = (struct capture_user){ 0 };
}

/* ---- is it there? ---- */

/* 0, or -errno: ENOENT goes on to the next folder of a path. */
static int look_at(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return access(path, X_OK) < 0 ? -errno : 0;
}

/* As execvp goes through $PATH. */
static int look_in_path(const char *command)
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
		int rc = n < (int)sizeof(path) ? look_at(path) : -ENOENT;

		if (rc == 0)
			return 0;
		if (rc != -ENOENT && rc != -EISDIR && first == -ENOENT)
			first = rc;
		if (!at[len])
			return first;
		at += len + 1;
	}
}

/* A script whose interpreter is not there is as little found as no script. */
static int tell_why(const char *command, int rc, struct mlgen_err *err)
{
	bool is_path = strchr(command, '/') != NULL;
	int status = rc == -ENOENT ? CAPTURE_NOT_FOUND : CAPTURE_NOT_EXECUTABLE;

	if (rc == -ENOENT && !is_path)
		mlgen_fail(err, rc, "%s: there is no such command in $PATH", command);
	else if (rc == -ENOENT && access(command, F_OK) == 0)
		mlgen_fail(err, rc,
			   "%s: cannot be executed: the interpreter that it names is not there",
			   command);
	else
		mlgen_fail(err, rc, "%s: cannot be executed: %s", command, strerror(-rc));
	return status;
}

int capture_command_check(const char *command, struct mlgen_err *err)
{
	int rc = strchr(command, '/') ? look_at(command)
		 : *command           ? look_in_path(command)
				      : -ENOENT;

	return rc < 0 ? tell_why(command, rc, err) : 0;
}

/* ---- the child ---- */

/* What it could not do. */
enum step { STEP_READY, STEP_USER, STEP_EXEC };

struct told {
	enum step step;
	int error;
};

static void capture_child_tell(int fd, enum step step, int error)
{
	struct told t = { .step = step, .error = error };

	(void)!write(fd, &t, sizeof(t));
}

static int become(const struct capture_user *u)
{
	if (!u->name)
		return 0;
	if (setgroups((size_t)u->group_count, u->groups) < 0 || setgid(u->gid) < 0 ||
	    setuid(u->uid) < 0)
		return -errno;
	(void)setenv("HOME", u->home, 1);
	(void)setenv("USER", u->name, 1);
	(void)setenv("LOGNAME", u->name, 1);
	return 0;
}

/* Of no use to the command; those of files go with execve. */
static void drop_capabilities(void)
{
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

static __attribute__((noreturn)) void child_main(char *const *argv, const struct capture_user *u,
						 int go, int told)
{
	char byte;
	int rc = become(u);

	if (rc < 0) {
		capture_child_tell(told, STEP_USER, -rc);
		_exit(CAPTURE_NOT_EXECUTABLE);
	}
	drop_capabilities();
	/* Yama lets only parents trace, and a tracer is no parent. */
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	capture_child_tell(told, STEP_READY, 0);
	/* Its parent may have gone instead. */
	if (read(go, &byte, 1) != 1)
		_exit(CAPTURE_NOT_EXECUTABLE);
	(void)prctl(PR_SET_PTRACER, 0, 0, 0, 0);
	signals_hand_down();
	execvp(argv[0], argv);
	capture_child_tell(told, STEP_EXEC, errno);
	_exit(errno == ENOENT ? CAPTURE_NOT_FOUND : CAPTURE_NOT_EXECUTABLE);
}

static int wait_until_ready(struct capture_child *c, const struct capture_user *user,
			    struct mlgen_err *err)
{
	struct told t;
	ssize_t n;

	do
		n = read(c->told, &t, sizeof(t));
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(t) && t.step == STEP_READY)
		return 0;
	if (n != (ssize_t)sizeof(t))
		t.error = ECHILD;
	return mlgen_fail(err, -t.error, "capture-user=%s: %s", user->name ? user->name : "",
			  strerror(t.error));
}

int capture_child_start(struct capture_child *c, char *const *argv, const struct capture_user *user,
			struct mlgen_err *err)
{
	int go[2], told[2];

	*c = (struct capture_child){ .go = -1, .told = -1 };
	if (pipe2(go, O_CLOEXEC) < 0)
		return mlgen_fail(err, -errno, "capture: pipe: %s", strerror(errno));
	if (pipe2(told, O_CLOEXEC) < 0) {
		int rc = -errno;

		close(go[0]);
		close(go[1]);
		return mlgen_fail(err, rc, "capture: pipe: %s", strerror(-rc));
	}
	c->pid = fork();
	if (c->pid == 0) {
		close(go[1]);
		child_main(argv, user, go[0], told[1]);
	}
	int error = errno;
	close(go[0]);
	close(told[1]);
	c->go = go[1];
	c->told = told[0];
	if (c->pid < 0) {
		c->pid = 0;
		return mlgen_fail(err, -error, "capture: cannot start a process: %s",
				  strerror(error));
	}
	return wait_until_ready(c, user, err);
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void capture_child_go(struct capture_child *c)
{
	(void)!write(c->go, "", 1);
	close_end(&c->go);
}

bool capture_child_look(struct capture_child *c)
{
	pid_t pid;

	if (c->is_over || !c->pid)
		return c->is_over;
	pid = waitpid(c->pid, &c->wait_status, WNOHANG);
	if (pid < 0 && errno == ECHILD) /* somebody else has waited for it */
		c->wait_status = 0;
	c->is_over = pid == c->pid || (pid < 0 && errno == ECHILD);
	return c->is_over;
}

int capture_child_status(struct capture_child *c, const char *command, struct mlgen_err *err)
{
	struct told t;

	if (c->told >= 0 && read(c->told, &t, sizeof(t)) == sizeof(t) && t.step == STEP_EXEC)
		return tell_why(command, -t.error, err);
	close_end(&c->told);
	return WIFSIGNALED(c->wait_status) ? 128 + WTERMSIG(c->wait_status)
					   : WEXITSTATUS(c->wait_status);
}

void capture_child_fini(struct capture_child *c)
{
	if (!c->pid)
		return;
	close_end(&c->go);
	if (!c->is_over)
		(void)waitpid(c->pid, &c->wait_status, 0);
	close_end(&c->told);
	*c = (struct capture_child){ 0 };
}
