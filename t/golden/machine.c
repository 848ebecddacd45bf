/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - what calls tell of the machine: the same host, CPUs and limits everywhere. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim.h"
#include "wraps.h"

#define CPUS 8
#define MEMORY_BYTES (INT64_C(64) << 30)
#define PAGE_BYTES 4096
#define OPEN_FILES 65536
#define PID 4711
#define ADDRESS "192.0.2.77"

int __wrap_uname(struct utsname *out)
{
	const char *name = getenv("HOST_NAME");

	memset(out, 0, sizeof(*out));
	snprintf(out->sysname, sizeof(out->sysname), "Linux");
	snprintf(out->nodename, sizeof(out->nodename), "%s", name ? name : "golden");
	snprintf(out->release, sizeof(out->release), "6.1.0-golden");
	snprintf(out->version, sizeof(out->version), "#1 SMP");
	snprintf(out->machine, sizeof(out->machine), "x86_64");
	return 0;
}

long __wrap_sysconf(int name)
{
	switch (name) {
	case _SC_NPROCESSORS_ONLN:
		return CPUS;
	case _SC_PHYS_PAGES:
		return MEMORY_BYTES / PAGE_BYTES;
	case _SC_CLK_TCK:
		return 100;
	default:
		return __real_sysconf(name);
	}
}

pid_t __wrap_getpid(void)
{
	return PID;
}

int __wrap_getrlimit(int resource, struct rlimit *out)
{
	out->rlim_cur = out->rlim_max = RLIM_INFINITY;
	if (resource == RLIMIT_NOFILE)
		out->rlim_cur = out->rlim_max = OPEN_FILES;
	return 0;
}

static struct timeval part_of_time(uint64_t percent)
{
	uint64_t us = sim_now_ns() / 1000 * percent / 100;

	return (struct timeval){ .tv_sec = (time_t)(us / 1000000),
				 .tv_usec = (suseconds_t)(us % 1000000) };
}

int __wrap_getrusage(int who, struct rusage *out)
{
	long ms = (long)(sim_now_ns() / 1000000);

	memset(out, 0, sizeof(*out));
	out->ru_utime = part_of_time(who == RUSAGE_SELF ? 40 : 4);
	out->ru_stime = part_of_time(who == RUSAGE_SELF ? 20 : 2);
	out->ru_nvcsw = ms / 2;
	out->ru_nivcsw = ms / 20;
	out->ru_minflt = ms / 3;
	out->ru_majflt = ms / 70;
	return 0;
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *out)
{
	(void)pid;
	memset(out, 0, size);
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		CPU_SET_S(cpu, size, out);
	return 0;
}

int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	(void)pid;
	(void)size;
	(void)set;
	return 0;
}

int __wrap_hwloc_linux_get_tid_cpubind(hwloc_topology_t t, pid_t tid, hwloc_bitmap_t set)
{
	(void)t;
	(void)tid;
	return hwloc_bitmap_set_range(set, 0, CPUS - 1);
}

/* Threads take CPUs in turn, of two nodes. */
int __wrap_getcpu(unsigned *cpu, unsigned *node)
{
	*cpu = sim_thread() % CPUS;
	*node = *cpu / (CPUS / 2);
	return 0;
}

/* 0 columns: no terminal. */
int __wrap_isatty(int fd)
{
	if (fd == STDERR_FILENO && sim_option("TERMINAL_COLUMNS", 0))
		return 1;
	errno = ENOTTY;
	return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct winsize *w;
	void *arg;
	va_list ap;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (request != TIOCGWINSZ)
		return __real_ioctl(fd, request, arg);
	w = arg;
	memset(w, 0, sizeof(*w));
	w->ws_col = (unsigned short)sim_option("TERMINAL_COLUMNS", 0);
	return 0;
}

/* One interface, from which all servers are reached. */

static struct sockaddr_in own_address(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	inet_pton(AF_INET, ADDRESS, &a.sin_addr);
	return a;
}

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len)
{
	(void)fd;
	(void)to;
	(void)len;
	return 0;
}

int __wrap_getsockname(int fd, struct sockaddr *out, socklen_t *len)
{
	const struct sockaddr_in a = own_address();

	(void)fd;
	memcpy(out, &a, sizeof(a));
	*len = sizeof(a);
	return 0;
}

int __wrap_getifaddrs(struct ifaddrs **out)
{
	static struct sockaddr_in address;
	static char name[] = "eth0";
	static struct ifaddrs one;

	address = own_address();
	one.ifa_name = name;
	one.ifa_addr = (struct sockaddr *)&address;
	*out = &one;
	return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *all)
{
	(void)all;
}
