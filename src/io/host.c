/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - CPUs, memory and names of this host. */
#include "io/host.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "config.h"

static FILE *open_below(const char *root, const char *path)
{
	char name[PATH_MAX];
	int len = snprintf(name, sizeof(name), "%s%s", root, path);

	if (len < 0 || (size_t)len >= sizeof(name)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	return fopen(name, "re");
}

static int sysfile_number(const char *text, uint64_t *out, const char **end)
{
	unsigned long long v;
	char *stop;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &stop, 10);
	if (errno)
		return -errno;
	*out = v;
	*end = stop;
	return 0;
}

int sysfile_line(char *out, size_t size, const char *root, const char *path)
{
	FILE *f = open_below(root, path);
	int rc = 0;

	out[0] = '\0';
	if (!f)
		return -errno;
	if (!fgets(out, (int)size, f))
		rc = ferror(f) ? -EIO : -ENODATA;
	fclose(f);
	for (size_t n = strlen(out); n && strchr(" \n", out[n - 1]); n--)
		out[n - 1] = '\0';
	return rc;
}

int sysfile_u64(uint64_t *out, const char *root, const char *path)
{
	char line[64];
	const char *end;
	int rc = sysfile_line(line, sizeof(line), root, path);

	return rc ? rc : sysfile_number(line, out, &end);
}

int sysfile_keyed(uint64_t *out, const char *root, const char *path, const char *key)
{
	FILE *f = open_below(root, path);
	size_t len = strlen(key);
	int rc = -ENODATA;
	char line[256];
	const char *end = "";

	if (!f)
		return -errno;
	while (rc == -ENODATA && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, len) || !strchr(": ", line[len]))
			continue;
		rc = sysfile_number(line + len + strspn(line + len, ": \t"), out, &end);
		if (rc == 0 && strncmp(end, " kB", 3) == 0)
			*out *= 1024;
	}
	fclose(f);
	return rc;
}

void sysfile_unescape(char *s)
{
	char *to = s;

	for (; *s; to++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to = *s++;
		}
	}
	*to = '\0';
}

bool sysfile_list_has(const char *list, const char *word, size_t len, char separator)
{
	const char all[] = { separator, '\0' };

	for (; *list; list += strcspn(list, all), list += *list == separator)
		if (strncmp(list, word, len) == 0 && (list[len] == separator || list[len] == '\0'))
			return true;
	return false;
}

void host_facts(const struct host *h, void (*put)(void *arg, const char *key, const char *value),
		void *arg)
{
	char cpus[24], memory[24];

	snprintf(cpus, sizeof(cpus), "%" PRIu64, h->cpus);
	snprintf(memory, sizeof(memory), "%" PRIu64, h->memory_bytes);
	put(arg, "program", "mlgen");
	put(arg, "version", MLGEN_VERSION);
	put(arg, "host", h->hostname);
	put(arg, "kernel", h->kernel);
	put(arg, "cpus", cpus);
	put(arg, "memory_bytes", memory);
	put(arg, "command", h->command);
}

#define CPUS_MAX 8192u      /* NR_CPUS of the largest kernels */
#define LAUNCHER_DISTANCE 4 /* processes from mlgen up to mpirun or srun */

/* A larger set than glibc's 1024 CPUs, without allocation. */
union cpus {
	cpu_set_t set;
	unsigned char bytes[CPUS_MAX / 8];
};

static bool has_cpu(const union cpus *c, unsigned cpu)
{
	return cpu < CPUS_MAX && (c->bytes[cpu / 8] >> (cpu % 8)) & 1;
}

/* Read the main thread's CPUs, because workers may have bound themselves already. Returns their
 * number; 0 = unknown. */
static unsigned allowed_cpus(union cpus *c)
{
	memset(c, 0, sizeof(*c));
	if (sched_getaffinity(getpid(), sizeof(*c), &c->set))
		return 0;
	return (unsigned)CPU_COUNT_S(sizeof(*c), &c->set);
}

static void lower(uint64_t *to, uint64_t limit)
{
	if (limit < *to)
		*to = limit;
}

struct limits {
	uint64_t *cpus, *memory_bytes;
};

static void apply_limits(void *arg, const char *root, const char *dir, bool is_v2)
{
	const char *name = is_v2 ? "memory.max" : "memory.limit_in_bytes";
	double cpus = cpuquota_of(root, dir, is_v2);
	struct limits *l = arg;
	char path[PATH_MAX];
	uint64_t bytes = 0;

	if (!isinf(cpus))
		lower(l->cpus, (uint64_t)ceil(cpus));
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (sysfile_u64(&bytes, root, path) == 0)
		lower(l->memory_bytes, bytes);
}

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

static uint64_t busy_ns(void)
{
	long hz = sysconf(_SC_CLK_TCK);
	FILE *f = fopen("/proc/stat", "re");
	union cpus allowed;
	uint64_t ticks = 0;
	char line[512];
	unsigned cpu;

	if (!f)
		return 0;
	allowed_cpus(&allowed);
	/* The lines of the CPUs come first. */
	while (fgets(line, sizeof(line), f) && strncmp(line, "cpu", 3) == 0) {
		/* "cpu3 user nice system idle iowait irq softirq steal ...", in ticks */
		uint64_t t[8] = { 0 };

		/* The line of the sum has a space instead of a number; %u would skip the space. */
		if (line[3] != ' ' &&
		    sscanf(line,
			   "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			   " %" SCNu64 " %" SCNu64 " %" SCNu64,
			   &cpu, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) >= 5 &&
		    has_cpu(&allowed, cpu))
			ticks += t[0] + t[1] + t[2] + t[5] + t[6] + t[7];
	}
	fclose(f);
	return hz > 0 ? ticks * (1000000000u / (uint64_t)hz) : 0;
}

/* Parse a CPU number at *text and advance *text. False: there is no number. */
static bool parse_cpu(const char **text, unsigned *out)
{
	unsigned long v;
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	v = strtoul(*text, &end, 10);
	*text = end;
	*out = v < CPUS_MAX ? (unsigned)v : CPUS_MAX;
	return true;
}

static int fail_list(const char *list, struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "cpus_allowed: '%s': must be CPU numbers and ranges, such as 0-3,8",
			  list);
}

static int fail_not_allowed(unsigned cpu, const union cpus *allowed, struct mlgen_err *err)
{
	char text[256] = "";
	size_t at = 0;

	for (unsigned i = 0, end; i < CPUS_MAX && at < 200; i = end + 1) {
		for (end = i; has_cpu(allowed, end); end++)
			;
		if (end == i)
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       end - i > 1 ? "%s%u-%u" : "%s%u", at ? "," : "", i, end - 1);
	}
	return mlgen_fail(err, -EINVAL,
			  "cpus_allowed: this process may not use CPU %u; it may use %s", cpu,
			  text);
}

static int parse_cpus(union cpus *c, const char *list, struct mlgen_err *err)
{
	const char *at = list;
	union cpus allowed;
	unsigned first, last;

	memset(c, 0, sizeof(*c));
	if (allowed_cpus(&allowed) == 0)
		return mlgen_fail(err, -ENOSYS,
				  "cpus_allowed: cannot find out which CPUs this process may use; "
				  "leave out cpus_allowed");
	do {
		if (!parse_cpu(&at, &first))
			return fail_list(list, err);
		last = first;
		if (*at == '-' && (at++, !parse_cpu(&at, &last)))
			return fail_list(list, err);
		if (last < first)
			return mlgen_fail(err, -EINVAL,
					  "cpus_allowed: %u-%u is reversed; write %u-%u", first,
					  last, last, first);
		for (unsigned cpu = first; cpu <= last; cpu++) {
			if (!has_cpu(&allowed, cpu))
				return fail_not_allowed(cpu, &allowed, err);
			c->bytes[cpu / 8] |= (unsigned char)(1u << (cpu % 8));
		}
	} while (*at == ',' && at++);
	return *at ? fail_list(list, err) : 0;
}

bool host_append_argument(char *out, size_t size, const char *arg)
{
	size_t at = strlen(out);
	struct buf text = { 0 };

	/* Each byte of the argument needs at most four: '\'' */
	if (at + 4 * strlen(arg) + 8 > size)
		return false;
	buf_add(&text, out);
	shellword_add(&text, arg);
	memcpy(out + at, text.s + at, text.len - at + 1);
	buf_fini(&text);
	return true;
}

/* The parent of process `pid`, or 0. */
static unsigned long parent_of(const char *root, const char *pid)
{
	char path[PATH_MAX], text[512];
	const char *at;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/%s/stat", root, pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	/* "17 (a name) S 16 ...", where the name may contain any character. */
	at = strrchr(text, ')');
	return at && strlen(at) > 4 ? strtoul(at + 4, NULL, 10) : 0;
}

/* Is `pid` a launcher of jobs of several processes? */
static bool is_launcher(const char *root, const char *pid)
{
	static const char *const names[] = {
		"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prun", "srun",
	};
	char path[PATH_MAX], program[PATH_MAX] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/%s/cmdline", root, pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	size_t n = fread(program, 1, sizeof(program) - 1, f);
	fclose(f);
	program[n] = '\0';
	const char *slash = strrchr(program, '/');
	const char *name = slash ? slash + 1 : program;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Read the arguments of a process, quoted for a shell. */
static void read_arguments(struct host *h, const char *root, const char *pid)
{
	char path[PATH_MAX], *text = NULL;
	size_t size = 0;
	FILE *f;

	h->command[0] = '\0';
	snprintf(path, sizeof(path), "%s/proc/%s/cmdline", root, pid);
	f = fopen(path, "re");
	if (!f)
		return;
	while (getdelim(&text, &size, '\0', f) >= 0) {
		/* There is always room for "...": arguments leave eight bytes. */
		if (host_append_argument(h->command, sizeof(h->command), text))
			continue;
		strncat(h->command, " ...", sizeof(h->command) - strlen(h->command) - 1);
		break;
	}
	free(text);
	fclose(f);
}

/* A launcher's arguments end with the command line of the processes that it starts. There may be a
 * proxy and a shell between the launcher and this process. */
void host_read_command(struct host *h, const char *root)
{
	char pid[24] = "self";

	for (int i = 0; i < LAUNCHER_DISTANCE; i++) {
		unsigned long parent = parent_of(root, pid);

		if (parent <= 1)
			break;
		snprintf(pid, sizeof(pid), "%lu", parent);
		if (is_launcher(root, pid)) {
			read_arguments(h, root, pid);
			return;
		}
	}
	read_arguments(h, root, "self");
}

/* Count the numbers of a list; "0-1,3" has three. */
static uint64_t count_list(const char *list)
{
	uint64_t n = 0;
	unsigned first, last;
	int len;

	for (; *list; list += *list == ',') {
		if (sscanf(list, "%u%n", &first, &len) != 1)
			return 0;
		list += len;
		last = first;
		if (*list == '-' && sscanf(list + 1, "%u%n", &last, &len) == 1)
			list += 1 + len;
		n += last - first + 1;
	}
	return n;
}

void host_read_model(struct host *h, const char *root)
{
	/* "model name : AMD EPYC", or "cpu : POWER9" on POWER; ARM has no such line. */
	static const char *const keys[] = { "model name", "cpu\t" };
	bool found = false;
	char line[512];
	struct utsname u;
	FILE *f;

	h->cpu_model[0] = '\0';
	f = open_below(root, "/proc/cpuinfo");
	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *value = strchr(line, ':');

		for (size_t i = 0; value && i < ARRAY_LEN(keys); i++)
			found |= strncmp(line, keys[i], strlen(keys[i])) == 0;
		if (!found)
			continue;
		value += 1 + strspn(value + 1, " \t");
		snprintf(h->cpu_model, sizeof(h->cpu_model), "%.*s", (int)strcspn(value, "\n"),
			 value);
	}
	if (f)
		fclose(f);
	if (!h->cpu_model[0] && uname(&u) == 0)
		snprintf(h->cpu_model, sizeof(h->cpu_model), "%.64s", u.machine);
	if (sysfile_line(line, sizeof(line), root, "/sys/devices/system/node/online") == 0)
		h->numa_nodes = count_list(line);
}

void host_read(struct host *h)
{
	struct utsname u;
	struct rlimit files;
	union cpus allowed;

	memset(h, 0, sizeof(*h));
	h->cpus_online = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	h->cpus = allowed_cpus(&allowed);
	if (h->cpus == 0)
		h->cpus = h->cpus_online;
	if (sysfile_keyed(&h->memory_bytes, "", "/proc/meminfo", "MemTotal"))
		h->memory_bytes =
			(uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	host_cgroup_limits("", &h->cpus, &h->memory_bytes);
	if (uname(&u) == 0) {
		snprintf(h->hostname, sizeof(h->hostname), "%.63s", u.nodename);
		snprintf(h->kernel, sizeof(h->kernel), "%.30s %.64s", u.sysname, u.release);
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		h->open_files = files.rlim_cur;
	host_read_model(h, "");
	host_read_command(h, "");
}

uint64_t host_job_memory_bytes(const struct host *h)
{
	return h->memory_bytes + h->others_memory_bytes;
}

void host_cgroup_limits(const char *root, uint64_t *cpus, uint64_t *memory_bytes)
{
	struct limits l = { cpus, memory_bytes };

	cgroup_walk(root, "cpu", apply_limits, &l);
	cgroup_walk(root, "memory", apply_limits, &l);
}

uint64_t host_resident_bytes(void)
{
	uint64_t bytes = 0;

	return sysfile_keyed(&bytes, "", "/proc/self/status", "VmRSS") ? 0 : bytes;
}

uint64_t host_page_cache_bytes(void)
{
	uint64_t bytes = 0;

	return sysfile_keyed(&bytes, "", "/proc/meminfo", "Cached") ? 0 : bytes;
}

bool host_network_read(const char *root, uint64_t *received_bytes, uint64_t *sent_bytes)
{
	char line[512], name[64];
	uint64_t in, out;
	FILE *f = open_below(root, "/proc/net/dev");

	*received_bytes = *sent_bytes = 0;
	if (!f)
		return false;
	/* "  eth0: 1 2 ...": the first figure is bytes received, the ninth bytes sent (proc(5)). */
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " %63[^:]: %" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, name,
			   &in, &out) != 3 ||
		    strcmp(name, "lo") == 0)
			continue;
		*received_bytes += in;
		*sent_bytes += out;
	}
	fclose(f);
	return true;
}

void host_cpu_limit(struct host_cpu *c, const char *root)
{
	struct cpuquota q;

	cpuquota_read(&q, root);
	if (!(q.cpus < c->cpus))
		return;
	c->cpus = q.cpus;
	c->of = q.used_ns == UINT64_MAX ? HOST_CPU_OF_QUOTA_ALONE : HOST_CPU_OF_QUOTA;
	c->busy_ns =
		q.used_ns == UINT64_MAX ? c->process_user_ns + c->process_system_ns : q.used_ns;
}

void host_cpu_read(struct host_cpu *c)
{
	struct rusage u;
	union cpus allowed;

	memset(c, 0, sizeof(*c));
	if (getrusage(RUSAGE_SELF, &u) == 0) {
		c->process_user_ns = timeval_ns(&u.ru_utime);
		c->process_system_ns = timeval_ns(&u.ru_stime);
		c->switches = (uint64_t)(u.ru_nvcsw + u.ru_nivcsw);
	}
	c->cpus = allowed_cpus(&allowed);
	if (!(c->cpus > 0))
		c->cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	c->busy_ns = busy_ns();
	host_cpu_limit(c, "");
}

double host_cpu_percent(const struct host_cpu *before, const struct host_cpu *after,
			uint64_t wall_ns)
{
	double room_ns = (double)wall_ns * after->cpus;

	/* Unknown if /proc is not mounted, or if a quota was set or removed in between. */
	if (after->busy_ns == 0 || after->busy_ns < before->busy_ns || after->of != before->of ||
	    !(room_ns > 0))
		return (double)NAN;
	return fmin(100 * (double)(after->busy_ns - before->busy_ns) / room_ns, 100);
}

int host_set_cpus(const char *list, bool apply, struct mlgen_err *err)
{
	union cpus c;
	int rc = parse_cpus(&c, list, err);

	if (rc || !apply)
		return rc;
	if (sched_setaffinity(0, sizeof(c), &c.set)) {
		rc = -errno;
		return mlgen_fail(err, rc, "cpus_allowed: '%s': %s", list, strerror(-rc));
	}
	return 0;
}
