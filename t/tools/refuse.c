/* SPDX-License-Identifier: Apache-2.0 */
/* refuse.c - run a program to which the kernel refuses a system call, as in a container. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 *	refuse CALL ERROR PROGRAM [ARGUMENT]...
 *
 * Docker's seccomp profile answers io_uring_setup with EPERM, other runtimes
 * and kernels without it with ENOSYS; EAGAIN is what io_setup says when
 * fs.aio-max-nr is used up. 77: seccomp filters are not to be had here.
 */
enum { CANNOT = 77, USAGE = 2 };

struct word {
	const char *name;
	unsigned value;
};

static const struct word calls[] = {
	{ "io_uring_setup", SYS_io_uring_setup },
	{ "io_uring_enter", SYS_io_uring_enter },
	{ "io_uring_register", SYS_io_uring_register },
	{ "io_setup", SYS_io_setup },
	{ "io_submit", SYS_io_submit },
	{ "fallocate", SYS_fallocate },
	{ "statx", SYS_statx },
	{ NULL, 0 },
};

static const struct word errors[] = {
	{ "EPERM", EPERM },   { "ENOSYS", ENOSYS }, { "EAGAIN", EAGAIN },
	{ "ENOMEM", ENOMEM }, { "EINVAL", EINVAL }, { NULL, 0 },
};

static const struct word *find(const struct word *words, const char *name)
{
	for (; words->name; words++)
		if (strcmp(words->name, name) == 0)
			return words;
	fprintf(stderr, "refuse: %s: not known here\n", name);
	return NULL;
}

static int refuse(const struct word *call, const struct word *error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error->value),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(filter[0]),
		.filter = filter,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		return -errno;
	return 0;
}

int main(int argc, char **argv)
{
	const struct word *call = argc > 3 ? find(calls, argv[1]) : NULL;
	const struct word *error = call ? find(errors, argv[2]) : NULL;
	int rc;

	if (!error) {
		fputs("refuse CALL ERROR PROGRAM [ARGUMENT]...\n", stderr);
		return USAGE;
	}
	rc = refuse(call, error);
	if (rc < 0) {
		fprintf(stderr, "refuse: seccomp: %s\n", strerror(-rc));
		return CANNOT;
	}
	execvp(argv[3], argv + 3);
	fprintf(stderr, "refuse: %s: %s\n", argv[3], strerror(errno));
	return USAGE;
}
