/* SPDX-License-Identifier: Apache-2.0 */
/* thread.c - threads, identities of processes, and libraries loaded on demand. */
#include "base/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Parsing the deepest JSON that jansson accepts needs 192 KiB, everything else less than 132 KiB
 * (VmStk). */
#define MAIN_STACK_BYTES (256u << 10)

int thread_start(pthread_t *thread, void *(*main)(void *), void *arg)
{
	pthread_attr_t attr;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES);
	rc = pthread_create(thread, &attr, main, arg);
	pthread_attr_destroy(&attr);
	return -rc;
}

void thread_yield(void)
{
	sched_yield();
}

const char *thread_too_small_stack(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= MAIN_STACK_BYTES)
		return NULL;
	return "mlgen: ulimit -s: the stack limit is below the 256 KiB that mlgen needs; raise it "
	       "(ulimit -s 256)\n";
}

/* Read the first word of a file; "" if there is none. */
static void read_word(const char *path, char *to, size_t bytes)
{
	FILE *f = fopen(path, "re");

	to[0] = '\0';
	if (!f)
		return;
	if (!fgets(to, (int)bytes, f))
		to[0] = '\0';
	fclose(f);
	to[strcspn(to, " \n")] = '\0';
}

/* Read from proc(5) whether a process is a zombie, and its start time. */
static bool read_stat(uint64_t pid, bool *is_over, uint64_t *start_ticks)
{
	char path[64], text[1024], state = 0;
	uint64_t threads = 0;
	const char *s;
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	s = strrchr(text, ')'); /* the process name may contain anything */
	if (!s ||
	    sscanf(s,
		   ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64
		   " %*s %" SCNu64,
		   &state, &threads, start_ticks) != 3)
		return false;
	/* A thread that is stuck in the kernel outlives the main thread. */
	*is_over = (state == 'Z' || state == 'X') && threads <= 1;
	return true;
}

void process_self(struct process *p)
{
	struct utsname name;
	struct stat st;
	bool is_over;

	*p = (struct process){ .pid = (uint64_t)getpid() };
	if (stat("/proc/self/ns/pid", &st) == 0)
		p->pid_namespace = st.st_ino;
	if (uname(&name) == 0)
		snprintf(p->host, sizeof(p->host), "%s", name.nodename);
	read_word("/etc/machine-id", p->machine_id, sizeof(p->machine_id));
	read_word("/proc/sys/kernel/random/boot_id", p->boot_id, sizeof(p->boot_id));
	if (!read_stat(p->pid, &is_over, &p->start_ticks))
		p->start_ticks = 0;
}

/* Hosts may share a name, and containers have no machine-id. */
static bool is_same_host(const struct process *a, const struct process *b)
{
	return a->host[0] && strcmp(a->host, b->host) == 0 &&
	       strcmp(a->machine_id, b->machine_id) == 0;
}

static bool is_same_boot(const struct process *a, const struct process *b)
{
	return a->boot_id[0] && strcmp(a->boot_id, b->boot_id) == 0;
}

bool process_is_same(const struct process *a, const struct process *b)
{
	return a->pid && a->pid == b->pid && a->start_ticks == b->start_ticks &&
	       a->pid_namespace == b->pid_namespace && is_same_host(a, b) && is_same_boot(a, b);
}

enum process_state process_check(const struct process *p, const struct process *self)
{
	uint64_t start_ticks;
	bool is_over;

	if (!p->pid || p->pid > INT32_MAX || !is_same_host(p, self))
		return PROCESS_UNKNOWN;
	if (!is_same_boot(p, self))
		/* Without a machine-id this may be another machine. */
		return p->boot_id[0] && self->boot_id[0] && self->machine_id[0] ? PROCESS_GONE
										: PROCESS_UNKNOWN;
	if (!p->pid_namespace || p->pid_namespace != self->pid_namespace)
		return PROCESS_UNKNOWN;
	/* Try kill first: /proc may hide the processes of other users. */
	if (kill((pid_t)p->pid, 0) != 0 && errno == ESRCH)
		return PROCESS_GONE;
	if (!p->start_ticks || !read_stat(p->pid, &is_over, &start_ticks))
		return PROCESS_UNKNOWN;
	return is_over || start_ticks != p->start_ticks ? PROCESS_GONE : PROCESS_RUNS;
}

int library_load(const char *who, const char *soname, const struct library_symbol *symbols,
		 size_t count, void *table, struct mlgen_err *err)
{
	void *object = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; object && i < count; i++) {
		void *at = dlsym(object, symbols[i].name);

		if (!at)
			object = NULL;
		else
			memcpy((char *)table + symbols[i].off, &at, sizeof(at));
	}
	if (object)
		return 0;
	return mlgen_fail(err, -ENOENT,
			  "%s cannot be loaded: %s; install the package that contains %s", who,
			  dlerror(), soname);
}
