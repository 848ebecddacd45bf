/* SPDX-License-Identifier: Apache-2.0 */
/* test_host.c - CPUs, memory and limits of the host, from trees of the test's own. */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/host.h"
#include "suites.h"
#include "temp.h"

#define MIB (UINT64_C(1) << 20)
#define S UINT64_C(1000000000)

static char root[TEMP_BYTES];

static void make_root(void)
{
	temp_folder(root);
}

static void remove_root(void)
{
	temp_remove(root);
}

/* A file below the root, with the directories above it. */
static void put_file(const char *path, const char *text)
{
	char name[600];

	snprintf(name, sizeof(name), "%s%s", root, path);
	for (char *s = name + strlen(root) + 1; (s = strchr(s, '/')); s++) {
		*s = '\0';
		mkdir(name, 0755);
		*s = '/';
	}
	FILE *f = fopen(name, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
}

struct entry {
	const char *path, *text;
};

/* clang-format off */
static const struct limit_case {
	const char *what;
	struct entry files[7];
	uint64_t cpus, memory_mib;	/* of 64 and 65536 */
} limit_cases[] = {
	{ "no groups", { { 0 } }, 64, 65536 },
	{ "v2, no limits",
	  { { "/proc/self/cgroup", "0::/a\n" },
	    { "/sys/fs/cgroup/a/cpu.max", "max 100000\n" },
	    { "/sys/fs/cgroup/a/memory.max", "max\n" } },
	  64, 65536 },
	{ "v2, own group, rounded up",
	  { { "/proc/self/cgroup", "0::/a/b\n" },
	    { "/sys/fs/cgroup/a/b/cpu.max", "250000 100000\n" },
	    { "/sys/fs/cgroup/a/b/memory.max", "1073741824\n" } },
	  3, 1024 },
	{ "v2, the group above is tighter",
	  { { "/proc/self/cgroup", "0::/a/b\n" },
	    { "/sys/fs/cgroup/a/b/cpu.max", "800000 100000\n" },
	    { "/sys/fs/cgroup/a/cpu.max", "50000 100000\n" },
	    { "/sys/fs/cgroup/a/memory.max", "536870912\n" },
	    { "/sys/fs/cgroup/a/b/memory.max", "max\n" } },
	  1, 512 },
	{ "v2, container's own root",
	  { { "/proc/self/cgroup", "0::/\n" },
	    { "/sys/fs/cgroup/cpu.max", "400000 100000\n" },
	    { "/sys/fs/cgroup/memory.max", "2147483648\n" } },
	  4, 2048 },
	{ "v1",
	  { { "/proc/self/cgroup",
	      "4:memory:/m\n3:cpuset:/c\n1:cpuacct,cpu:/c\n" },
	    { "/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "150000\n" },
	    { "/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n" },
	    { "/sys/fs/cgroup/memory/m/memory.limit_in_bytes",
	      "268435456\n" } },
	  2, 256 },
	{ "v1, no quota and the largest limit",
	  { { "/proc/self/cgroup", "4:memory:/\n1:cpu:/\n" },
	    { "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n" },
	    { "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n" },
	    { "/sys/fs/cgroup/memory/memory.limit_in_bytes",
	      "9223372036854771712\n" } },
	  64, 65536 },
	{ "v1, path of the host inside a container",
	  { { "/proc/self/cgroup", "4:memory:/docker/0123\n" },
	    { "/sys/fs/cgroup/memory/memory.limit_in_bytes",
	      "134217728\n" } },
	  64, 128 },
	{ "both versions at once",
	  { { "/proc/self/cgroup", "4:memory:/m\n0::/u\n" },
	    { "/sys/fs/cgroup/memory/m/memory.limit_in_bytes",
	      "134217728\n" },
	    { "/sys/fs/cgroup/unified/u/cpu.max", "700000 100000\n" } },
	  7, 128 },
	{ "nonsense",
	  { { "/proc/self/cgroup", "what\n:\n0::\n" },
	    { "/sys/fs/cgroup/cpu.max", "\n" },
	    { "/sys/fs/cgroup/memory.max", "much\n" } },
	  64, 65536 },
};
/* clang-format on */

START_TEST(control_groups_limit_cpus_and_memory)
{
	const struct limit_case *c = &limit_cases[_i];
	uint64_t cpus = 64, memory = 65536 * MIB;

	make_root();
	for (const struct entry *e = c->files; e->path; e++)
		put_file(e->path, e->text);
	host_cgroup_limits(root, &cpus, &memory);
	ck_assert_msg(cpus == c->cpus, "%s: %llu cpus", c->what, (unsigned long long)cpus);
	ck_assert_msg(memory == c->memory_mib * MIB, "%s: %llu bytes", c->what,
		      (unsigned long long)memory);
	remove_root();
}
END_TEST

/* clang-format off */
static const struct quota_case {
	const char *what;
	struct entry files[6];
	double cpus;			/* of 8, which were busy for 99 s; */
	enum host_cpu_of of;		/* mlgen itself for 3 s */
	uint64_t busy_ns;
} quota_cases[] = {
	{ "no groups", { { 0 } }, 8, HOST_CPU_OF_ALLOWED, 99 * S },
	{ "v2, half a CPU",
	  { { "/proc/self/cgroup", "0::/a/b\n" },
	    { "/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n" },
	    { "/sys/fs/cgroup/a/b/cpu.stat", "usage_usec 5000000\nuser_usec 1\n" } },
	  0.5, HOST_CPU_OF_QUOTA, 5 * S },
	{ "v2, more than the allowed CPUs",
	  { { "/proc/self/cgroup", "0::/a\n" },
	    { "/sys/fs/cgroup/a/cpu.max", "900000 100000\n" },
	    { "/sys/fs/cgroup/a/cpu.stat", "usage_usec 5000000\n" } },
	  8, HOST_CPU_OF_ALLOWED, 99 * S },
	{ "v2, the group above is tighter, and others are in it",
	  { { "/proc/self/cgroup", "0::/a/b\n" },
	    { "/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n" },
	    { "/sys/fs/cgroup/a/b/cpu.stat", "usage_usec 5000000\n" },
	    { "/sys/fs/cgroup/a/cpu.max", "150000 100000\n" },
	    { "/sys/fs/cgroup/a/cpu.stat", "usage_usec 7000000\n" } },
	  1.5, HOST_CPU_OF_QUOTA, 7 * S },
	{ "v1, both controllers in one place",
	  { { "/proc/self/cgroup", "3:cpu,cpuacct:/x\n" },
	    { "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "20000\n" },
	    { "/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n" },
	    { "/sys/fs/cgroup/cpu/x/cpuacct.usage", "4000000000\n" } },
	  0.2, HOST_CPU_OF_QUOTA, 4 * S },
	{ "v1, the same group of a controller elsewhere",
	  { { "/proc/self/cgroup", "3:cpu:/x/y\n2:cpuacct:/x/y\n" },
	    { "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "20000\n" },
	    { "/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n" },
	    { "/sys/fs/cgroup/cpuacct/x/y/cpuacct.usage", "4000000000\n" },
	    { "/sys/fs/cgroup/cpuacct/x/cpuacct.usage", "6000000000\n" } },
	  0.2, HOST_CPU_OF_QUOTA, 6 * S },
	{ "v1, another group of a controller elsewhere",
	  { { "/proc/self/cgroup", "3:cpu:/x\n2:cpuacct:/\n" },
	    { "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "20000\n" },
	    { "/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n" },
	    { "/sys/fs/cgroup/cpuacct/cpuacct.usage", "4000000000\n" } },
	  0.2, HOST_CPU_OF_QUOTA_ALONE, 3 * S },
};
/* clang-format on */
#define QUOTA_CASES (int)(sizeof(quota_cases) / sizeof(quota_cases[0]))

START_TEST(of_a_quota_the_groups_own_use_counts)
{
	const struct quota_case *q = &quota_cases[_i];
	struct host_cpu c = {
		.process_user_ns = 2 * S, .process_system_ns = S, .busy_ns = 99 * S, .cpus = 8
	};

	make_root();
	for (const struct entry *e = q->files; e->path; e++)
		put_file(e->path, e->text);
	host_cpu_limit(&c, root);
	ck_assert_msg(c.of == q->of, "%s: %d", q->what, (int)c.of);
	ck_assert_msg(fabs(c.cpus - q->cpus) < 1e-9, "%s: %g CPUs", q->what, c.cpus);
	ck_assert_msg(c.busy_ns == q->busy_ns, "%s: %llu ns", q->what,
		      (unsigned long long)c.busy_ns);
	remove_root();
}
END_TEST

START_TEST(cpu_percent_is_of_the_cpus_there_are)
{
	const struct host_cpu a = { .busy_ns = S, .cpus = 0.5, .of = HOST_CPU_OF_QUOTA };
	struct host_cpu b = a;

	b.busy_ns = 2 * S;
	ck_assert(fabs(host_cpu_percent(&a, &b, 10 * S) - 20) < 1e-9);
	/* A burst, and ticks. */
	b.busy_ns = 9 * S;
	ck_assert(fabs(host_cpu_percent(&a, &b, 10 * S) - 100) < 1e-9);
	ck_assert(isnan(host_cpu_percent(&a, &b, 0)));
	/* The quota went away meanwhile. */
	b.of = HOST_CPU_OF_ALLOWED;
	ck_assert(isnan(host_cpu_percent(&a, &b, 10 * S)));
	b = (struct host_cpu){ .cpus = 2 };
	ck_assert(isnan(host_cpu_percent(&b, &b, S)));
}
END_TEST

START_TEST(small_system_files_are_read_as_they_are_written)
{
	uint64_t v = 7;
	char line[8];

	make_root();
	put_file("/word", "none  \nsecond\n");
	put_file("/empty", "");
	put_file("/number", "128\n");
	put_file("/keyed", "MemTotalish: 1 kB\nMemTotal:    24 kB\nRss 5\n");
	ck_assert_int_eq(sysfile_line(line, sizeof(line), root, "/word"), 0);
	ck_assert_str_eq(line, "none");
	ck_assert_int_eq(sysfile_line(line, sizeof(line), root, "/empty"), -ENODATA);
	ck_assert_int_eq(sysfile_line(line, sizeof(line), root, "/absent"), -ENOENT);
	ck_assert_int_eq(sysfile_u64(&v, root, "/word"), -EINVAL);
	ck_assert_uint_eq(v, 7);
	ck_assert_int_eq(sysfile_u64(&v, root, "/number"), 0);
	ck_assert_uint_eq(v, 128);
	ck_assert_int_eq(sysfile_keyed(&v, root, "/keyed", "MemTotal"), 0);
	ck_assert_uint_eq(v, 24 * 1024);
	ck_assert_int_eq(sysfile_keyed(&v, root, "/keyed", "Rss"), 0);
	ck_assert_uint_eq(v, 5);
	ck_assert_int_eq(sysfile_keyed(&v, root, "/keyed", "Mem"), -ENODATA);
	remove_root();
}
END_TEST

START_TEST(this_host_has_cpus_memory_and_a_kernel)
{
	struct host h;

	host_read(&h);
	ck_assert_uint_ge(h.cpus, 1);
	ck_assert_uint_le(h.cpus, h.cpus_online);
	ck_assert_uint_gt(h.memory_bytes, 16 * MIB);
	ck_assert_uint_gt(h.open_files, 8);
	ck_assert_uint_gt(strlen(h.hostname), 0);
	ck_assert_int_eq(strncmp(h.kernel, "Linux ", 6), 0);
	if (access("/proc/self", X_OK) != 0)
		return;
	ck_assert_uint_gt(host_resident_bytes(), 100000);
	ck_assert_uint_lt(host_resident_bytes(), h.memory_bytes);
	ck_assert_uint_gt(host_page_cache_bytes(), 0);
}
END_TEST

START_TEST(the_network_is_all_interfaces_but_the_loopback)
{
	uint64_t received, sent;

	make_root();
	ck_assert(!host_network_read(root, &received, &sent));
	put_file("/proc/net/dev", "Inter-|   Receive       |  Transmit\n"
				  " face |bytes    packets errs drop fifo frame compressed "
				  "multicast|bytes    packets errs drop fifo colls carrier\n"
				  "    lo:    7777      1    0    0    0     0          0         "
				  "0     7777      1    0    0    0     0       0\n"
				  "  eth0:18446744073     20    0    0    0     0          0       "
				  "  0      300      3    0    0    0     0       0\n"
				  "ib0.8001: 10 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
	ck_assert(host_network_read(root, &received, &sent));
	ck_assert_uint_eq(received, UINT64_C(18446744083));
	ck_assert_uint_eq(sent, 309);
	remove_root();
}
END_TEST

START_TEST(cpu_time_grows_with_work)
{
	struct host_cpu before, after;

	host_cpu_read(&before);
	do {
		for (volatile uint64_t i = 0; i < 1000000;)
			i++;
		host_cpu_read(&after);
	} while (after.process_user_ns < before.process_user_ns + 30000000);
	if (access("/proc/stat", R_OK) == 0)
		ck_assert_uint_gt(after.busy_ns, before.busy_ns);
	ck_assert_uint_ge(after.switches, before.switches);
}
END_TEST

/* The first CPU this process may use. */
static unsigned first_cpu(void)
{
	cpu_set_t set;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	for (unsigned i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			return i;
	ck_abort_msg("no CPU");
	return 0;
}

START_TEST(a_list_of_cpus_is_applied_only_if_asked)
{
	struct mlgen_err err = { 0 };
	struct host before, after;
	unsigned cpu = first_cpu();
	char list[64];

	host_read(&before);
	snprintf(list, sizeof(list), "%u,%u-%u", cpu, cpu, cpu);
	ck_assert_msg(host_set_cpus(list, false, &err) == 0, "%s", err.text);
	host_read(&after);
	ck_assert_uint_eq(after.cpus, before.cpus);
	ck_assert_int_eq(host_set_cpus(list, true, &err), 0);
	host_read(&after);
	ck_assert_uint_eq(after.cpus, 1);
	ck_assert_uint_eq(first_cpu(), cpu);
}
END_TEST

START_TEST(a_wrong_list_of_cpus_is_refused_in_words)
{
	/* clang-format off */
	static const struct {
		const char *list, *text;
	} cases[] = {
		{ "", "cpus_allowed: '': must be CPU numbers and ranges, such as 0-3,8" },
		{ "a", "cpus_allowed: 'a': must be" },
		{ "-1", "cpus_allowed: '-1': must be" },
		{ "0,", "cpus_allowed: '0,': must be" },
		{ "0-", "cpus_allowed: '0-': must be" },
		{ "0 1", "cpus_allowed: '0 1': must be" },
		{ "0x1", "cpus_allowed: '0x1': must be" },
		{ "3-1", "cpus_allowed: 3-1 is reversed; write 1-3" },
		{ "8191", "cpus_allowed: this process may not use CPU 8191; it may use " },
		{ "99999999999999999999", "cpus_allowed: this process may not use CPU 8192" },
	};
	/* clang-format on */
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(host_set_cpus(cases[_i].list, true, &err), -EINVAL);
	ck_assert_msg(strncmp(err.text, cases[_i].text, strlen(cases[_i].text)) == 0, "%s",
		      err.text);
}
END_TEST

START_TEST(a_command_line_can_be_given_to_a_shell_again)
{
	/* Without the zero bytes between, which C strings cannot have. */
	/* clang-format off */
	static const struct {
		const char *arguments, *command;
	} cases[] = {
		{ "mlgen", "mlgen" },
		{ "/a/mlgen|x.job|--require=au>=90", "/a/mlgen x.job '--require=au>=90'" },
		{ "mlgen||--name=it's", "mlgen '' '--name=it'\\''s'" },
		{ "mlgen|--filename=a b|-x=$y", "mlgen '--filename=a b' '-x=$y'" },
	};
	/* clang-format on */
	char text[128], name[600];
	struct host h;
	size_t len = strlen(cases[_i].arguments);

	make_root();
	put_file("/proc/self/cmdline", "");
	snprintf(text, sizeof(text), "%s", cases[_i].arguments);
	for (size_t i = 0; i < len; i++)
		if (text[i] == '|')
			text[i] = '\0';
	snprintf(name, sizeof(name), "%s/proc/self/cmdline", root);
	FILE *f = fopen(name, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(text, 1, len + 1, f), len + 1);
	ck_assert_int_eq(fclose(f), 0);
	host_read_command(&h, root);
	ck_assert_str_eq(h.command, cases[_i].command);
	remove_root();
}
END_TEST

/* mpirun, a proxy with a blank in its name, and mlgen; the files of arguments end at their first
 * zero byte here. */
START_TEST(the_command_is_that_of_the_launcher)
{
	struct host h;

	make_root();
	put_file("/proc/self/cmdline", "mlgen");
	put_file("/proc/self/stat", "17 (mlgen) S 16 1 1");
	put_file("/proc/16/cmdline", "hydra_pmi_proxy");
	put_file("/proc/16/stat", "16 (a) proxy) S 15 1 1");
	put_file("/proc/15/cmdline", "/usr/bin/mpirun");
	host_read_command(&h, root);
	ck_assert_str_eq(h.command, "/usr/bin/mpirun");
	put_file("/proc/15/cmdline", "bash");
	put_file("/proc/15/stat", "15 (bash) S 1 1 1");
	host_read_command(&h, root);
	ck_assert_str_eq(h.command, "mlgen");
	remove_root();
}
END_TEST

START_TEST(a_command_line_that_is_too_long_ends_in_dots)
{
	static char text[3 * sizeof(((struct host *)0)->command)];
	struct host h;
	size_t len;

	memset(text, 'x', sizeof(text) - 1);
	make_root();
	put_file("/proc/self/cmdline", text);
	host_read_command(&h, root);
	len = strlen(h.command);
	ck_assert_str_eq(h.command + len - 3, "...");
	remove_root();
}
END_TEST

START_TEST(cpus_and_nodes_are_named)
{
	struct host h = { .numa_nodes = 0 };

	make_root();
	put_file("/proc/cpuinfo", "processor\t: 0\nmodel\t\t: 1\n"
				  "model name\t: Fast CPU 9000\n");
	put_file("/sys/devices/system/node/online", "0-1,4\n");
	host_read_model(&h, root);
	ck_assert_str_eq(h.cpu_model, "Fast CPU 9000");
	ck_assert_uint_eq(h.numa_nodes, 3);
	put_file("/proc/cpuinfo", "processor\t: 0\ncpu\t\t: POWER9\n");
	host_read_model(&h, root);
	ck_assert_str_eq(h.cpu_model, "POWER9");
	/* ARM has numbers only: then it is the architecture. */
	put_file("/proc/cpuinfo", "processor\t: 0\nCPU part\t: 0xd0c\n");
	host_read_model(&h, root);
	ck_assert_str_ne(h.cpu_model, "");
	remove_root();
}
END_TEST

Suite *suite_host(void)
{
	Suite *s = suite_create("host");
	TCase *t = tcase_create("host");

	tcase_add_loop_test(t, control_groups_limit_cpus_and_memory, 0,
			    sizeof(limit_cases) / sizeof(limit_cases[0]));
	tcase_add_loop_test(t, of_a_quota_the_groups_own_use_counts, 0, QUOTA_CASES);
	tcase_add_test(t, cpu_percent_is_of_the_cpus_there_are);
	tcase_add_test(t, small_system_files_are_read_as_they_are_written);
	tcase_add_test(t, this_host_has_cpus_memory_and_a_kernel);
	tcase_add_test(t, cpu_time_grows_with_work);
	tcase_add_loop_test(t, a_command_line_can_be_given_to_a_shell_again, 0, 4);
	tcase_add_test(t, the_command_is_that_of_the_launcher);
	tcase_add_test(t, a_command_line_that_is_too_long_ends_in_dots);
	tcase_add_test(t, the_network_is_all_interfaces_but_the_loopback);
	tcase_add_test(t, cpus_and_nodes_are_named);
	tcase_add_test(t, a_list_of_cpus_is_applied_only_if_asked);
	tcase_add_loop_test(t, a_wrong_list_of_cpus_is_refused_in_words, 0, 10);
	suite_add_tcase(s, t);
	return s;
}
