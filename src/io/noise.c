/* SPDX-License-Identifier: Apache-2.0 */
/* noise.c - load by other processes, network interfaces and energy of this host. */
#include "io/devices.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "io/host.h"

#define CPUS_MAX 8192u /* NR_CPUS of the largest kernels */
#define CLOCKS_READ 8u /* a read may interrupt the CPU */
#define CPU_FILES "/sys/devices/system/cpu/cpu%u/"

/*
 * Limits in percent above which noise is reported. Reports give AU to a tenth of a percent, and
 * epochs of an undisturbed run differ by up to about a percent.
 */
#define MIN_STEAL 1.0     /* delays each thread by this share of its time */
#define MIN_THROTTLED 1.0 /* a throttled task stands still */
#define MIN_MEMORY 1.0    /* a task that waits for memory stands still */
/* Other processes matter only where CPUs are scarce; otherwise they use idle ones. */
#define MIN_OTHER 5.0
#define OTHER_BUSY 80.0     /* threads begin to wait for a CPU at this load */
#define OTHER_PRESSURE 10.0 /* or tasks have waited for a CPU this often */

struct cpus {
	cpu_set_t set;
	unsigned char rest[CPUS_MAX / 8 - sizeof(cpu_set_t)];
	bool are_all; /* true for a test's tree */
};

/* Read the main thread's CPUs, because workers may have bound themselves already. */
static void read_allowed(struct cpus *c, const char *root)
{
	memset(c, 0, sizeof(*c));
	c->are_all = root[0] || sched_getaffinity(getpid(), CPUS_MAX / 8, &c->set) < 0;
}

static bool may_use(const struct cpus *c, unsigned cpu)
{
	const unsigned char *bytes = (const unsigned char *)c;

	return cpu < CPUS_MAX && (c->are_all || (bytes[cpu / 8] >> (cpu % 8)) & 1);
}

/* Sums over CPUs and groups begin as unknown. */
static void noise_add(uint64_t *to, uint64_t n)
{
	*to = *to == UINT64_MAX ? n : *to + n;
}

/* Parse "cpu3 user nice system idle iowait irq softirq steal guest guest_nice", in ticks; user
 * includes guest. */
static void add_cpu(struct noise_counts *c, const struct cpus *allowed, const char *root,
		    const char *line, uint64_t tick_ns)
{
	uint64_t t[10] = { 0 }, throttles;
	char path[128];
	unsigned cpu;

	/* The line of the sum has a space instead of a number; %u would skip the space. */
	if (line[3] == ' ')
		return;
	if (sscanf(line,
		   "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &cpu, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7], &t[8],
		   &t[9]) < 9 ||
	    !may_use(allowed, cpu))
		return;
	c->cpus++;
	noise_add(&c->program_ns, (t[0] + t[1] + t[2]) * tick_ns);
	noise_add(&c->busy_ns, (t[0] + t[1] + t[2] + t[5] + t[6] + t[7]) * tick_ns);
	noise_add(&c->steal_ns, t[7] * tick_ns);
	noise_add(&c->guest_ns, (t[8] + t[9]) * tick_ns);
	snprintf(path, sizeof(path), CPU_FILES "thermal_throttle/core_throttle_count", cpu);
	if (sysfile_u64(&throttles, root, path) == 0)
		noise_add(&c->hot, throttles);
}

static void add_throttling(void *arg, const char *root, const char *dir, bool is_v2)
{
	struct noise_counts *c = arg;
	char path[CGROUP_PATH_BYTES];
	uint64_t n, time;

	snprintf(path, sizeof(path), "%.*s/cpu.stat", CGROUP_PATH_BYTES - 16, dir);
	if (sysfile_keyed(&n, root, path, "nr_throttled") ||
	    sysfile_keyed(&time, root, path, is_v2 ? "throttled_usec" : "throttled_time"))
		return;
	noise_add(&c->throttled, n);
	noise_add(&c->throttled_ns, is_v2 ? time * 1000 : time);
}

/* Parse "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", in microseconds. */
static uint64_t pressure_ns(const char *root, const char *path)
{
	char line[160];
	const char *total;
	uint64_t us;

	if (sysfile_line(line, sizeof(line), root, path) || strncmp(line, "some ", 5) != 0)
		return UINT64_MAX;
	total = strstr(line, " total=");
	if (!total || sscanf(total, " total=%" SCNu64, &us) != 1)
		return UINT64_MAX;
	return us * 1000;
}

void noise_read(struct noise_counts *c, const char *root)
{
	const uint64_t none = UINT64_MAX;
	long hz = sysconf(_SC_CLK_TCK);
	uint64_t tick_ns = 1000000000u / (uint64_t)(hz > 0 ? hz : 100);
	struct cpus allowed;
	char path[PATH_MAX], line[512];
	FILE *f;

	*c = (struct noise_counts){ 0, none, none, none, none, none, none, none, none, none, none };
	read_allowed(&allowed, root);
	snprintf(path, sizeof(path), "%s/proc/stat", root);
	f = fopen(path, "re");
	/* The lines of the CPUs come first. */
	while (f && fgets(line, sizeof(line), f) && strncmp(line, "cpu", 3) == 0)
		add_cpu(c, &allowed, root, line, tick_ns);
	if (f)
		fclose(f);
	cgroup_walk(root, "cpu", add_throttling, c);
	c->waits_cpu_ns = pressure_ns(root, "/proc/pressure/cpu");
	c->waits_io_ns = pressure_ns(root, "/proc/pressure/io");
	c->waits_memory_ns = pressure_ns(root, "/proc/pressure/memory");
}

static bool clock_khz(uint64_t *khz, const char *root, unsigned cpu, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), CPU_FILES "cpufreq/%s", cpu, name);
	return sysfile_u64(khz, root, path) == 0;
}

double noise_clock_mhz(const char *root)
{
	struct cpus allowed;
	unsigned found = 0, misses = 0;
	uint64_t khz, sum = 0;

	read_allowed(&allowed, root);
	for (unsigned cpu = 0; cpu < CPUS_MAX && found < CLOCKS_READ && misses < CLOCKS_READ;
	     cpu++) {
		if (!may_use(&allowed, cpu))
			continue;
		if (clock_khz(&khz, root, cpu, "scaling_cur_freq")) {
			sum += khz;
			found++;
		} else {
			misses++;
		}
	}
	return found ? (double)sum / found / 1000 : (double)NAN;
}

double noise_max_mhz(const char *root)
{
	uint64_t khz;

	return clock_khz(&khz, root, 0, "cpuinfo_max_freq") ? (double)khz / 1000 : (double)NAN;
}

static bool noise_is_known(uint64_t before, uint64_t after)
{
	return before != UINT64_MAX && after != UINT64_MAX && after >= before;
}

static double percent(uint64_t before, uint64_t after, double whole_ns)
{
	if (!noise_is_known(before, after) || !(whole_ns > 0))
		return (double)NAN;
	return fmin(100 * (double)(after - before) / whole_ns, 100);
}

static uint64_t difference(uint64_t before, uint64_t after)
{
	return noise_is_known(before, after) ? after - before : UINT64_MAX;
}

void noise_between(struct noise *n, const struct noise_counts *before,
		   const struct noise_counts *after, double wall_ns, double own_ns)
{
	const struct noise_counts *a = before, *b = after;
	double cpus_ns = wall_ns * (double)b->cpus;

	*n = (struct noise){
		.steal_percent = percent(a->steal_ns, b->steal_ns, cpus_ns),
		.guest_percent = percent(a->guest_ns, b->guest_ns, cpus_ns),
		.other_percent = percent(a->program_ns, b->program_ns, cpus_ns),
		.busy_percent = percent(a->busy_ns, b->busy_ns, cpus_ns),
		.throttled = difference(a->throttled, b->throttled),
		.throttled_percent = percent(a->throttled_ns, b->throttled_ns, wall_ns),
		.hot = difference(a->hot, b->hot),
		.pressure_cpu_percent = percent(a->waits_cpu_ns, b->waits_cpu_ns, wall_ns),
		.pressure_io_percent = percent(a->waits_io_ns, b->waits_io_ns, wall_ns),
		.pressure_memory_percent = percent(a->waits_memory_ns, b->waits_memory_ns, wall_ns),
		.clock_mhz = (double)NAN,
		.most_mhz = (double)NAN,
	};
	/* Counts are in ticks of 10 ms, so the difference can be slightly below zero. */
	if (!isnan(n->other_percent))
		n->other_percent = fmax(n->other_percent - 100 * own_ns / cpus_ns, 0);
}

unsigned noise_affects(const struct noise *n, double cpu_percent)
{
	unsigned kinds = 0;
	double busy = isnan(n->busy_percent) ? cpu_percent : n->busy_percent;

	if (n->steal_percent >= MIN_STEAL)
		kinds |= NOISE_STEAL;
	if (n->other_percent >= MIN_OTHER &&
	    (busy >= OTHER_BUSY || n->pressure_cpu_percent >= OTHER_PRESSURE))
		kinds |= NOISE_OTHER;
	if (n->throttled_percent >= MIN_THROTTLED)
		kinds |= NOISE_THROTTLED;
	if (n->hot != UINT64_MAX && n->hot > 0)
		kinds |= NOISE_HOT;
	if (n->pressure_memory_percent >= MIN_MEMORY)
		kinds |= NOISE_MEMORY;
	return kinds;
}

/* ---- energy ---- */

#define ZONES "/sys/class/powercap"
#define ZONE_PREFIX "intel-rapl:"

/* Longer than any name of a zone, such as "intel-rapl:12:3". */
#define NAME_MAX_BYTES 32

static const char no_zone[] = "no RAPL zone in /sys/class/powercap; a VM has none";
static const char for_root[] = "only root can read energy_uj in /sys/class/powercap";
static const char unreadable[] = "a zone in /sys/class/powercap cannot be read, or has no range";
static const char no_dram[] = "no zone measures DRAM";

/* Add the energy since the last read to *sum. 0 or -errno. */
static int read_zone(struct energy_zone *z, const char *root, uint64_t *sum)
{
	uint64_t now;
	int rc = sysfile_u64(&now, root, z->path);

	if (rc < 0)
		return rc;
	if (now < z->last_uj && now + z->range_uj < z->last_uj)
		return -ERANGE;
	*sum += now >= z->last_uj ? now - z->last_uj : now + z->range_uj - z->last_uj;
	z->last_uj = now;
	return 0;
}

static const char *reason_of(int rc)
{
	return rc == -EACCES || rc == -EPERM ? for_root : unreadable;
}

/* Add the zone in `folder` if it measures a CPU package or memory; ignore all other zones. */
static void add_zone(struct energy_meter *m, const char *folder)
{
	char path[96], name[NAME_MAX_BYTES];
	struct energy_zone *z;
	bool is_dram;
	unsigned *count;
	int rc;

	snprintf(path, sizeof(path), ZONES "/%.*s/name", NAME_MAX_BYTES, folder);
	if (sysfile_line(name, sizeof(name), m->root, path) < 0)
		return;
	is_dram = strcmp(name, "dram") == 0;
	if (!is_dram && strncmp(name, "package-", 8) != 0)
		return;
	count = is_dram ? &m->drams : &m->packages;
	if (*count == ENERGY_ZONES) {
		m->unmeasured = unreadable;
		return;
	}
	z = is_dram ? &m->dram[*count] : &m->package[*count];
	snprintf(z->path, sizeof(z->path), ZONES "/%.*s/energy_uj", NAME_MAX_BYTES, folder);
	snprintf(path, sizeof(path), ZONES "/%.*s/max_energy_range_uj", NAME_MAX_BYTES, folder);
	rc = sysfile_u64(&z->range_uj, m->root, path);
	if (rc == 0)
		rc = sysfile_u64(&z->last_uj, m->root, z->path);
	if (rc < 0)
		m->unmeasured = reason_of(rc);
	++*count;
}

void energy_open(struct energy_meter *m, const char *root)
{
	char path[PATH_MAX];
	struct dirent *d;
	DIR *dir;

	*m = (struct energy_meter){ .root = root };
	pthread_mutex_init(&m->lock, NULL);
	snprintf(path, sizeof(path), "%s" ZONES, root);
	dir = opendir(path);
	while (dir && (d = readdir(dir)))
		if (strncmp(d->d_name, ZONE_PREFIX, strlen(ZONE_PREFIX)) == 0 &&
		    strlen(d->d_name) < NAME_MAX_BYTES)
			add_zone(m, d->d_name);
	if (dir)
		closedir(dir);
	if (!m->packages)
		m->unmeasured = no_zone;
}

void energy_close(struct energy_meter *m)
{
	if (m->root)
		pthread_mutex_destroy(&m->lock);
	*m = (struct energy_meter){ 0 };
}

void energy_read(struct energy_meter *m, struct energy_counts *c)
{
	int rc = 0;

	pthread_mutex_lock(&m->lock);
	for (unsigned i = 0; !m->unmeasured && rc == 0 && i < m->packages; i++)
		rc = read_zone(&m->package[i], m->root, &m->package_uj);
	for (unsigned i = 0; !m->unmeasured && rc == 0 && i < m->drams; i++)
		rc = read_zone(&m->dram[i], m->root, &m->dram_uj);
	if (rc < 0)
		m->unmeasured = reason_of(rc);
	*c = (struct energy_counts){
		.package_uj = m->unmeasured ? UINT64_MAX : m->package_uj,
		.dram_uj = m->unmeasured || !m->drams ? UINT64_MAX : m->dram_uj,
		.unmeasured = m->unmeasured ? m->unmeasured
			      : m->drams    ? NULL
					    : no_dram,
	};
	pthread_mutex_unlock(&m->lock);
}

/* ---- network interfaces ---- */

/* A VLAN on a bond on hardware is common. */
#define MAX_LEVELS 4

/* A larger speed is "unknown" as an unsigned number. */
#define MAX_MEGABITS UINT64_C(10000000)

#define MEGABIT UINT64_C(1000000)

/* Any port will do: no packet is sent. */
#define SOME_PORT "2049"

/* Find the value of an option "KEY=VALUE" in a list, and its length; NULL = no such option. */
static const char *option(const char *list, const char *key, size_t *len)
{
	size_t n = strlen(key);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (!strncmp(list, key, n) && list[n] == '=') {
			*len = strcspn(list + n + 1, ",");
			return list + n + 1;
		}
	return NULL;
}

static bool is_rdma(const struct mount *m)
{
	size_t len;
	const char *proto = option(m->options, "proto", &len), *net;

	if (proto && !strncmp(proto, "rdma", 4))
		return true;
	if (sysfile_list_has(m->options, "rdma", 4, ','))
		return true;
	/* Sources of Lustre name the network: 192.0.2.5@o2ib:/scratch */
	net = strchr(m->source, '@');
	return !strcmp(m->type, "lustre") && (!net || strncmp(net, "@tcp", 4));
}

static bool is_address(const char *text)
{
	unsigned char binary[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, text, binary) == 1 || inet_pton(AF_INET6, text, binary) == 1;
}

/* Parse the address at the start of `text`: "192.0.2.1:/ai", "[2001:db8::1]:/ai",
 * "192.0.2.1:6789,192.0.2.2:6789:/", or an address alone. */
static bool parse_address(char *out, size_t size, const char *text, size_t len)
{
	snprintf(out, size, "%.*s", (int)len, text);
	if (is_address(out))
		return true;
	if (out[0] == '[') {
		snprintf(out, size, "%.*s", (int)len - 1, text + 1);
		out[strcspn(out, "]")] = '\0';
	} else {
		out[strcspn(out, ":,/@%")] = '\0';
	}
	return is_address(out);
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
	struct sockaddr_in a4, b4;
	struct sockaddr_in6 a6, b6;

	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET) {
		memcpy(&a4, a, sizeof(a4));
		memcpy(&b4, b, sizeof(b4));
		return a4.sin_addr.s_addr == b4.sin_addr.s_addr;
	}
	if (a->sa_family != AF_INET6)
		return false;
	memcpy(&a6, a, sizeof(a6));
	memcpy(&b6, b, sizeof(b6));
	return !memcmp(&a6.sin6_addr, &b6.sin6_addr, sizeof(a6.sin6_addr));
}

static int interface_with(char name[IFNAMSIZ], const struct sockaddr *address)
{
	struct ifaddrs *all;
	int rc = -ENODATA;

	if (getifaddrs(&all))
		return -errno;
	for (const struct ifaddrs *a = all; a && rc; a = a->ifa_next)
		if (a->ifa_addr && same_address(a->ifa_addr, address)) {
			snprintf(name, IFNAMSIZ, "%s", a->ifa_name);
			rc = 0;
		}
	freeifaddrs(all);
	return rc;
}

static bool is_hardware(const char *root, const char *name, unsigned levels)
{
	char path[PATH_MAX];
	struct dirent *e;
	bool found;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/class/net/%s/device", root, name);
	found = access(path, F_OK) == 0;
	snprintf(path, sizeof(path), "%s/sys/class/net/%s", root, name);
	dir = found || levels == 0 ? NULL : opendir(path);
	while (dir && !found && (e = readdir(dir)))
		if (!strncmp(e->d_name, "lower_", 6))
			found = is_hardware(root, e->d_name + 6, levels - 1);
	if (dir)
		closedir(dir);
	return found;
}

int netif_find(struct netif *n, const char *root, const struct mount *mount)
{
	char address[INET6_ADDRSTRLEN];
	int rc = netif_server(address, sizeof(address), mount);

	*n = (struct netif){ 0 };
	if (rc == 0)
		rc = netif_route(n->name, address);
	if (rc == 0)
		n->line_rate_bits_per_sec = netif_line_rate(root, n->name);
	return rc ? -ENODATA : 0;
}

int netif_server(char *out, size_t size, const struct mount *mount)
{
	static const char *const keys[] = { "addr", "mon_addr" };
	size_t len;

	if (is_rdma(mount))
		return -ENODATA;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *value = option(mount->options, keys[i], &len);

		if (value && parse_address(out, size, value, len))
			return 0;
	}
	return parse_address(out, size, mount->source, strlen(mount->source)) ? 0 : -ENODATA;
}

int netif_route(char name[IFNAMSIZ], const char *address)
{
	const struct addrinfo numeric = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
					  .ai_socktype = SOCK_DGRAM };
	struct sockaddr_storage local = { 0 };
	socklen_t len = sizeof(local);
	struct addrinfo *server;
	int fd, rc = 0;

	if (getaddrinfo(address, SOME_PORT, &numeric, &server))
		return -EINVAL;
	/* The address that this host would send from. Connecting a UDP socket sends nothing, but
	 * the kernel chooses the route. */
	fd = socket(server->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, server->ai_addr, server->ai_addrlen) ||
	    getsockname(fd, (struct sockaddr *)&local, &len))
		rc = -errno;
	if (fd >= 0)
		close(fd);
	/* A server on this host is reached through memory. */
	if (rc == 0 && same_address((const struct sockaddr *)&local, server->ai_addr))
		rc = -ENODATA;
	freeaddrinfo(server);
	return rc ? rc : interface_with(name, (const struct sockaddr *)&local);
}

uint64_t netif_line_rate(const char *root, const char *name)
{
	char path[96];
	uint64_t megabits;

	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", name);
	if (!is_hardware(root, name, MAX_LEVELS) || sysfile_u64(&megabits, root, path) ||
	    megabits > MAX_MEGABITS)
		return 0;
	return megabits * MEGABIT;
}

int netif_received(uint64_t *bytes, const char *root, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/rx_bytes", name);
	return sysfile_u64(bytes, root, path);
}
