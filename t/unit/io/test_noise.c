/* SPDX-License-Identifier: Apache-2.0 */
/* test_noise.c - what else a machine did, from counters in trees of the test's own. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "io/devices.h"
#include "suites.h"
#include "tree.h"

#define S UINT64_C(1000000000)
#define CPU "/sys/devices/system/cpu/cpu"
#define NONE UINT64_MAX

static char root[TREE_BYTES];

static bool is_near(double a, double b)
{
	return fabs(a - b) < 1e-6;
}

/* Two CPUs; `n` seconds of everything. */
static void put_stat(unsigned n)
{
	unsigned long t = n * (unsigned long)sysconf(_SC_CLK_TCK);
	char text[512];

	snprintf(text, sizeof(text),
		 "cpu  1 2 3 4 5 6 7 8 9 10\n"
		 "cpu0 %lu %lu %lu 9 9 9 9 %lu %lu 0\n"
		 "cpu1 %lu 0 0 9 9 9 9 %lu 0 %lu\n"
		 "intr 5\ncpu2 1 1 1 1 1 1 1 1 1 1\n",
		 4 * t, t, t, t, 2 * t, 2 * t, t, t);
	tree_file(root, "/proc/stat", text);
}

static void put_pressure(const char *of, unsigned long long us)
{
	char path[64], text[160];

	snprintf(path, sizeof(path), "/proc/pressure/%s", of);
	snprintf(text, sizeof(text),
		 "some avg10=0.00 avg60=0.00 avg300=0.00 total=%llu\n"
		 "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
		 us);
	tree_file(root, path, text);
}

START_TEST(counters_are_those_of_the_kernel)
{
	struct noise_counts c;

	tree_make(root);
	put_stat(1);
	put_pressure("cpu", 1500000);
	put_pressure("io", 20);
	tree_file(root, CPU "0/thermal_throttle/core_throttle_count", "3\n");
	tree_file(root, CPU "1/thermal_throttle/core_throttle_count", "4\n");
	tree_file(root, "/proc/self/cgroup", "0::/a/b\n");
	tree_file(root, "/sys/fs/cgroup/a/b/cpu.stat",
		  "usage_usec 5\nnr_periods 9\nnr_throttled 2\n"
		  "throttled_usec 300\n");
	tree_file(root, "/sys/fs/cgroup/a/cpu.stat", "nr_throttled 1\nthrottled_usec 50\n");
	noise_read(&c, root);
	ck_assert_uint_eq(c.cpus, 2);
	ck_assert_uint_eq(c.program_ns, 8 * S);
	/* Two with 18 ticks of interrupts each. */
	ck_assert_uint_eq(c.busy_ns, 10 * S + 36 * S / (uint64_t)sysconf(_SC_CLK_TCK));
	ck_assert_uint_eq(c.steal_ns, 2 * S);
	ck_assert_uint_eq(c.guest_ns, 3 * S);
	ck_assert_uint_eq(c.hot, 7);
	ck_assert_uint_eq(c.throttled, 3);
	ck_assert_uint_eq(c.throttled_ns, 350000);
	ck_assert_uint_eq(c.waits_cpu_ns, 3 * S / 2);
	ck_assert_uint_eq(c.waits_io_ns, 20000);
	ck_assert_uint_eq(c.waits_memory_ns, NONE);
	tree_remove(root);
}
END_TEST

START_TEST(version_1_counts_throttling_in_nanoseconds)
{
	struct noise_counts c;

	tree_make(root);
	tree_file(root, "/proc/self/cgroup", "2:cpu,cpuacct:/x\n");
	tree_file(root, "/sys/fs/cgroup/cpu/x/cpu.stat",
		  "nr_periods 9\nnr_throttled 2\nthrottled_time 12345\n");
	noise_read(&c, root);
	ck_assert_uint_eq(c.throttled, 2);
	ck_assert_uint_eq(c.throttled_ns, 12345);
	tree_remove(root);
}
END_TEST

START_TEST(what_is_not_told_is_unknown)
{
	struct noise_counts c;
	struct noise n;

	tree_make(root);
	noise_read(&c, root);
	ck_assert_uint_eq(c.steal_ns, NONE);
	ck_assert_uint_eq(c.throttled, NONE);
	ck_assert_uint_eq(c.hot, NONE);
	noise_between(&n, &c, &c, 1e9, 0);
	ck_assert(isnan(n.steal_percent) && isnan(n.other_percent));
	ck_assert(isnan(n.throttled_percent) && isnan(n.pressure_io_percent));
	ck_assert_uint_eq(n.hot, NONE);
	ck_assert_uint_eq(noise_affects(&n, (double)NAN), 0);
	ck_assert(isnan(noise_clock_mhz(root)) && isnan(noise_max_mhz(root)));
	tree_remove(root);
}
END_TEST

START_TEST(the_clock_is_the_mean_of_the_cpus)
{
	tree_make(root);
	tree_file(root, CPU "0/cpufreq/scaling_cur_freq", "2000000\n");
	tree_file(root, CPU "1/cpufreq/scaling_cur_freq", "3000000\n");
	tree_file(root, CPU "0/cpufreq/cpuinfo_max_freq", "3500000\n");
	ck_assert(is_near(noise_clock_mhz(root), 2500));
	ck_assert(is_near(noise_max_mhz(root), 3500));
	tree_remove(root);
}
END_TEST

START_TEST(shares_are_of_the_cpus_time)
{
	/* 10 s of 2 CPUs; 6 s of programs, of which 4 s are our own. */
	const struct noise_counts a = { 2, S, S, 10 * S, 12 * S, 5, S, NONE, 3 * S, S, NONE };
	const struct noise_counts b = { 2,         2 * S, 3 * S, 16 * S, 20 * S, 7,
					3 * S / 2, NONE,  5 * S, S,      9 };
	struct noise n;

	noise_between(&n, &a, &b, 10e9, 4e9);
	ck_assert(is_near(n.steal_percent, 5));
	ck_assert(is_near(n.guest_percent, 10));
	ck_assert(is_near(n.other_percent, 10));
	ck_assert(is_near(n.busy_percent, 40));
	ck_assert_uint_eq(n.throttled, 2);
	ck_assert(is_near(n.throttled_percent, 5));
	ck_assert_uint_eq(n.hot, NONE);
	ck_assert(is_near(n.pressure_cpu_percent, 20));
	ck_assert(is_near(n.pressure_io_percent, 0));
	ck_assert(isnan(n.pressure_memory_percent));
	/* Its own time is told finer than that of all. */
	noise_between(&n, &a, &b, 10e9, 7e9);
	ck_assert(is_near(n.other_percent, 0));
	/* Counters of CPUs that went away. */
	noise_between(&n, &b, &a, 10e9, 0);
	ck_assert(isnan(n.steal_percent));
	ck_assert_uint_eq(n.throttled, NONE);
}
END_TEST

/* clang-format off */
static const struct {
	struct noise noise;
	double cpu_percent;
	unsigned kinds;
} touch_cases[] = {
	{ { .steal_percent = 0.9, .throttled_percent = 0.9, .pressure_memory_percent = 0.9 }, 50, 0 },
	{ { .steal_percent = 1 }, 50, NOISE_STEAL },
	{ { .throttled_percent = 1 }, 50, NOISE_THROTTLED },
	{ { .pressure_memory_percent = 1 }, 50, NOISE_MEMORY },
	{ { .hot = 1 }, 50, NOISE_HOT },
	{ { .hot = NONE }, 50, 0 },
	/* Others are no harm while CPUs are free. */
	{ { .other_percent = 40 }, 50, 0 },
	{ { .other_percent = 40 }, 80, NOISE_OTHER },
	{ { .other_percent = 40, .pressure_cpu_percent = 10 }, 50, NOISE_OTHER },
	{ { .other_percent = 4.9, .pressure_cpu_percent = 90 }, 99, 0 },
	{ { .pressure_io_percent = 100, .guest_percent = 50 }, 99, 0 },
	{ { .steal_percent = 2, .hot = 3 }, (double)NAN, NOISE_STEAL | NOISE_HOT },
};
/* clang-format on */
#define TOUCH_CASES (int)(sizeof(touch_cases) / sizeof(touch_cases[0]))

START_TEST(what_touches_a_result_is_told_from_what_does_not)
{
	struct noise n = touch_cases[_i].noise;
	double cpu_percent = touch_cases[_i].cpu_percent;
	unsigned kinds;

	/* What an older program wrote down. */
	n.busy_percent = (double)NAN;
	kinds = noise_affects(&n, cpu_percent);
	ck_assert_msg(kinds == touch_cases[_i].kinds, "case %d: %u", _i, kinds);
	/* Of a quota, whatever was used of it. */
	n.busy_percent = cpu_percent;
	kinds = noise_affects(&n, 100 - cpu_percent);
	ck_assert_msg(kinds == touch_cases[_i].kinds, "case %d: %u", _i, kinds);
}
END_TEST

START_TEST(this_machine_has_cpus)
{
	struct noise_counts c;

	noise_read(&c, "");
	ck_assert_uint_ge(c.cpus, 1);
	ck_assert_uint_ne(c.program_ns, NONE);
}
END_TEST

Suite *suite_noise(void)
{
	Suite *s = suite_create("noise");
	TCase *t = tcase_create("noise");

	tcase_add_test(t, counters_are_those_of_the_kernel);
	tcase_add_test(t, version_1_counts_throttling_in_nanoseconds);
	tcase_add_test(t, what_is_not_told_is_unknown);
	tcase_add_test(t, the_clock_is_the_mean_of_the_cpus);
	tcase_add_test(t, shares_are_of_the_cpus_time);
	tcase_add_loop_test(t, what_touches_a_result_is_told_from_what_does_not, 0, TOUCH_CASES);
	tcase_add_test(t, this_machine_has_cpus);
	suite_add_tcase(s, t);
	return s;
}
