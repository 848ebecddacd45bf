/* SPDX-License-Identifier: Apache-2.0 */
/* wraps.h - the calls of libc that are another's in the binary of the golden files. */
#pragma once

#include <dirent.h>
#include <hwloc.h>
#include <ifaddrs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>

/*
 * The linker gives mlgen's calls of NAME to __wrap_NAME, and __real_NAME is libc's. The Makefile
 * reads the list of names from this file: a line
 * "X(type, name, (arguments))" each.
 */

/* clang-format off */

#define WRAPS(X) \
	/* sim.c: threads and time */ \
	X(int, clock_gettime, (clockid_t id, struct timespec *out)) \
	X(time_t, time, (time_t *out)) \
	X(long, syscall, (long number, ...)) \
	X(int, pthread_create, (pthread_t *id, const pthread_attr_t *attr, void *(*main)(void *), void *arg)) \
	X(int, pthread_join, (pthread_t id, void **result)) \
	X(int, pthread_mutex_lock, (pthread_mutex_t *m)) \
	X(int, pthread_mutex_unlock, (pthread_mutex_t *m)) \
	X(int, pthread_kill, (pthread_t id, int sig)) \
	X(int, sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *most)) \
	/* files.c: paths, and I/O that takes its time */ \
	X(int, open, (const char *path, int flags, ...)) \
	X(int, openat, (int dir, const char *path, int flags, ...)) \
	X(FILE *, fopen, (const char *path, const char *mode)) \
	X(DIR *, opendir, (const char *path)) \
	X(struct dirent *, readdir, (DIR *dir)) \
	X(int, closedir, (DIR *dir)) \
	X(int, stat, (const char *path, struct stat *st)) \
	X(int, lstat, (const char *path, struct stat *st)) \
	X(int, statfs, (const char *path, struct statfs *v)) \
	X(int, statvfs, (const char *path, struct statvfs *v)) \
	X(int, statx, (int dir, const char *path, int flags, unsigned mask, struct statx *out)) \
	X(int, access, (const char *path, int mode)) \
	X(int, faccessat, (int dir, const char *path, int mode, int flags)) \
	X(ssize_t, readlink, (const char *path, char *out, size_t size)) \
	X(char *, realpath, (const char *path, char *out)) \
	X(int, rename, (const char *from, const char *to)) \
	X(int, unlink, (const char *path)) \
	X(int, mkdir, (const char *path, mode_t mode)) \
	X(int, rmdir, (const char *path)) \
	X(int, mkostemps, (char *path, int suffix_bytes, int flags)) \
	X(ssize_t, pread, (int fd, void *to, size_t n, off_t off)) \
	X(ssize_t, preadv, (int fd, const struct iovec *v, int n, off_t off)) \
	X(ssize_t, preadv2, (int fd, const struct iovec *v, int n, off_t off, int flags)) \
	X(ssize_t, pwrite, (int fd, const void *from, size_t n, off_t off)) \
	X(ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t off)) \
	X(ssize_t, pwritev2, (int fd, const struct iovec *v, int n, off_t off, int flags)) \
	X(int, fsync, (int fd)) \
	X(int, fdatasync, (int fd)) \
	X(int, fallocate, (int fd, int mode, off_t off, off_t len)) \
	X(int, mincore, (void *at, size_t bytes, unsigned char *out)) \
	/* machine.c: what the machine is */ \
	X(int, uname, (struct utsname *out)) \
	X(long, sysconf, (int name)) \
	X(pid_t, getpid, (void)) \
	X(int, getrlimit, (int resource, struct rlimit *out)) \
	X(int, getrusage, (int who, struct rusage *out)) \
	X(int, sched_getaffinity, (pid_t pid, size_t size, cpu_set_t *out)) \
	X(int, sched_setaffinity, (pid_t pid, size_t size, const cpu_set_t *set)) \
	X(int, getcpu, (unsigned *cpu, unsigned *node)) \
	X(int, isatty, (int fd)) \
	X(int, ioctl, (int fd, unsigned long request, ...)) \
	X(int, connect, (int fd, const struct sockaddr *to, socklen_t len)) \
	X(int, getsockname, (int fd, struct sockaddr *out, socklen_t *len)) \
	X(int, getifaddrs, (struct ifaddrs **out)) \
	X(void, freeifaddrs, (struct ifaddrs *all)) \
	X(int, hwloc_linux_get_tid_cpubind, (hwloc_topology_t t, pid_t tid, hwloc_bitmap_t set)) \
	/* none */

/* clang-format on */

#define DECLARE_WRAP(type, name, args)                                                             \
	type __real_##name args;                                                                   \
	type __wrap_##name args;
WRAPS(DECLARE_WRAP)
#undef DECLARE_WRAP
