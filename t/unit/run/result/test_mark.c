/* SPDX-License-Identifier: Apache-2.0 */
/* test_mark.c - the window of several records, and what was counted in it. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "run/result/result.h"
#include "suites.h"

#define SECOND UINT64_C(1000000000)
#define GBIT UINT64_C(1000000000)

static const struct netif eth0 = { "eth0", 10 * GBIT };
static const struct netif eth1 = { "eth1", 10 * GBIT };
static const struct memsource vda = {
	.kind = MEMSOURCE_DEVICE, .name = "device counters", .scope = "vda ", .is_sure = true
};
static const struct memsource vdb = {
	.kind = MEMSOURCE_DEVICE, .name = "device counters", .scope = "vdb ", .is_sure = true
};
static const struct memsource process = { .kind = MEMSOURCE_PROCESS,
					  .name = "/proc/self/io",
					  .is_sure = true };
static const struct memsource unsure = { .kind = MEMSOURCE_PROCESS, .name = "/proc/self/io" };

/*
 * This host as it is after so many seconds: of its two CPUs one is busy up to second 4, of which
 * this process has a half, and both are idle behind that. Each second 1000 bytes come in, and jobs
 * read 400, of which storage delivers 100 up to second 4, and all behind that.
 */
static struct mark at(uint64_t seconds)
{
	uint64_t busy = seconds < 4 ? seconds : 4;

	return (struct mark){
		.ns = seconds * SECOND,
		.cpu = { .cpus = 2,
			 .busy_ns = SECOND + busy * SECOND,
			 .process_user_ns = busy * SECOND / 2,
			 .switches = seconds * 10 },
		.noise = { .cpus = 2,
			   .steal_ns = busy * SECOND / 10,
			   .program_ns = busy * SECOND,
			   .busy_ns = busy * SECOND },
		.received_bytes = 5000 + seconds * 1000,
		.storage = { busy * 100 + (seconds - busy) * 400, seconds * 2 },
		.jobs_read_bytes = seconds * 400,
	};
}

static struct marks from_to(uint64_t begin, uint64_t end)
{
	return (struct marks){ .begin = at(begin),
			       .end = at(end),
			       .zero_ns = SECOND / 2,
			       .network = &eth0,
			       .storage = &vda };
}

/* Two windows, the one of both, and what is told of it. */
static const struct {
	uint64_t a_begin, a_end, b_begin, b_end;
	double begin, seconds, cpu, user, steal, switches, bits, percent;
	uint64_t delivered, read;
} rows[] = {
	/* one within the other */
	{ 1, 4, 2, 3, 0.5, 3, 50, 25, 5, 10, 8000, 75, 300, 1200 },
	/* one beside the other */
	{ 1, 3, 2, 4, 0.5, 3, 50, 25, 5, 10, 8000, 75, 300, 1200 },
	/* the later one while the host is idle */
	{ 2, 4, 3, 6, 1.5, 4, 25, 12.5, 2.5, 10, 8000, 37.5, 1000, 1600 },
	/* with nothing in between */
	{ 2, 3, 5, 6, 1.5, 4, 25, 12.5, 2.5, 10, 8000, 37.5, 1000, 1600 },
};

static void check_row(const struct marks *m, int i)
{
	struct storage_result st = { 0 };
	struct network_result n;
	struct window_result w;
	struct host_result h = { 0 };

	marks_window(&w, m);
	ck_assert_str_eq(w.from, "start");
	ck_assert_double_eq(w.begin_seconds, rows[i].begin);
	ck_assert_double_eq(w.seconds, rows[i].seconds);
	marks_host(&h, m);
	ck_assert_double_eq(h.cpus, 2);
	ck_assert_double_eq_tol(h.cpu_percent, rows[i].cpu, 1e-9);
	ck_assert_double_eq_tol(h.user_percent, rows[i].user, 1e-9);
	ck_assert_double_eq_tol(h.switches_per_sec, rows[i].switches, 1e-9);
	ck_assert_double_eq_tol(h.noise.steal_percent, rows[i].steal, 1e-9);
	/* What is not this process's own half. */
	ck_assert_double_eq_tol(h.noise.other_percent, rows[i].user, 1e-9);
	marks_network(&n, m);
	ck_assert_str_eq(n.interface, "eth0");
	ck_assert_double_eq_tol(n.received_bits_per_sec, rows[i].bits, 1e-9);
	ck_assert(marks_storage(&st, m));
	ck_assert_uint_eq(st.device_read_bytes, rows[i].delivered);
	ck_assert_uint_eq(st.device_reads, (uint64_t)rows[i].seconds * 2);
	ck_assert_uint_eq(st.jobs_read_bytes, rows[i].read);
	ck_assert_double_eq_tol(st.memory_percent, rows[i].percent, 1e-9);
}

START_TEST(a_window_of_two_has_what_was_counted_in_all_of_it)
{
	struct marks a = from_to(rows[_i].a_begin, rows[_i].a_end);
	struct marks b = from_to(rows[_i].b_begin, rows[_i].b_end);
	struct marks ab = a, ba = b;

	marks_join(&ab, &b);
	check_row(&ab, _i);
	marks_join(&ba, &a);
	check_row(&ba, _i);
}
END_TEST

START_TEST(one_that_never_began_adds_nothing)
{
	struct marks none = { .zero_ns = 1 }, a = from_to(1, 4), b = none;

	marks_join(&a, &none);
	check_row(&a, 0);
	marks_join(&b, &a);
	check_row(&b, 0);
	none.begin = at(3); /* it was over within ramp_time */
	none.end = at(2);
	marks_join(&a, &none);
	check_row(&a, 0);
}
END_TEST

START_TEST(the_first_beginning_is_the_one_that_is_named)
{
	struct marks ramp = from_to(2, 6), start = from_to(3, 4), joined = ramp;
	struct window_result w;

	ramp.is_after_ramp = joined.is_after_ramp = true;
	marks_join(&joined, &start);
	marks_window(&w, &joined);
	ck_assert_str_eq(w.from, "ramp_time");
	start.begin = at(1);
	marks_join(&joined, &start);
	marks_window(&w, &joined);
	ck_assert_str_eq(w.from, "start");
}
END_TEST

START_TEST(bytes_of_two_interfaces_are_nobodys)
{
	static const struct netif *const others[] = { &eth1, NULL };
	struct network_result n;

	for (unsigned i = 0; i < 2; i++) {
		struct marks a = from_to(1, 3), b = from_to(2, 4), c = b;

		b.network = others[i];
		marks_join(&a, &b);
		marks_join(&a, &c); /* which does not bring it back */
		marks_network(&n, &a);
		ck_assert_ptr_null(n.interface);
		ck_assert_uint_eq(n.received_bytes, UINT64_MAX);
		ck_assert(isnan(n.percent));
	}
}
END_TEST

/* Whose bytes storage delivered, and is there one who counts those of both? */
static const struct {
	const struct memsource *a, *b;
	bool is_one;
} sources[] = {
	{ &vda, &vda, true },
	{ &vda, &vdb, false },
	{ &vda, NULL, false },
	{ NULL, &vda, false },
	{ &vda, &process, false },
	{ &process, &vda, false },
	{ &process, &process, true },
	/* a quarter of the bytes: nobody knows whether it counts */
	{ &process, &unsure, false },
	{ &unsure, &process, false },
};

START_TEST(bytes_of_two_sources_have_no_one_figure)
{
	struct storage_result st = { .device_read_bytes = UINT64_MAX };
	struct marks a = from_to(1, 3), b = from_to(2, 4);

	a.storage = sources[_i].a;
	b.storage = sources[_i].b;
	marks_join(&a, &b);
	ck_assert_int_eq(marks_storage(&st, &a), sources[_i].is_one);
	ck_assert_uint_eq(st.device_read_bytes, sources[_i].is_one ? 300 : UINT64_MAX);
}
END_TEST

START_TEST(counters_that_were_cleared_or_are_gone_tell_nothing)
{
	struct storage_result st = { 0 };
	struct marks m = from_to(1, 3);

	m.end.storage.read_bytes = 0;
	ck_assert(!marks_storage(&st, &m));
	m.end.storage.read_bytes = UINT64_MAX;
	ck_assert(!marks_storage(&st, &m));
	m = from_to(1, 3);
	m.begin.storage.read_bytes = UINT64_MAX;
	ck_assert(!marks_storage(&st, &m));
	ck_assert_ptr_null(st.source);
}
END_TEST

START_TEST(joules_are_told_of_each_gib_and_sample)
{
	struct marks m = from_to(1, 3);
	struct energy_result e;

	m.begin.energy = (struct energy_counts){ 5000000, 1000000, NULL };
	m.end.energy = (struct energy_counts){ 95000000, 11000000, NULL };
	marks_energy(&e, &m, UINT64_C(4) << 30, 50);
	ck_assert_double_eq_tol(e.package_joules, 90, 1e-9);
	ck_assert_double_eq_tol(e.dram_joules, 10, 1e-9);
	ck_assert_double_eq_tol(e.joules, 100, 1e-9);
	ck_assert_double_eq_tol(e.joules_per_gib, 25, 1e-9);
	ck_assert_double_eq_tol(e.joules_per_sample, 2, 1e-9);
	ck_assert_ptr_null(e.unmeasured);
	m.end.energy.dram_uj = UINT64_MAX;
	m.end.energy.unmeasured = "no zone measures DRAM";
	marks_energy(&e, &m, 0, 0);
	ck_assert_double_eq_tol(e.joules, 90, 1e-9);
	ck_assert(isnan(e.dram_joules) && isnan(e.joules_per_gib) && isnan(e.joules_per_sample));
	ck_assert_str_eq(e.unmeasured, "no zone measures DRAM");
	m.begin.energy.package_uj = UINT64_MAX;
	marks_energy(&e, &m, 1, 1);
	ck_assert(isnan(e.joules) && isnan(e.joules_per_gib));
}
END_TEST

START_TEST(other_threads_have_what_is_left_of_the_cpu_time)
{
	const struct marks m = from_to(1, 3);
	struct thread_cpu_result t = { 0.25, 0, 0.5, 7 };

	marks_other_cpu(&t, &m);
	ck_assert_double_eq_tol(t.others_seconds, 0.25, 1e-9);
	t.accelerators_seconds = (double)NAN;
	marks_other_cpu(&t, &m);
	ck_assert_double_eq_tol(t.others_seconds, 0.75, 1e-9);
	t.workers_seconds = 3;
	marks_other_cpu(&t, &m);
	ck_assert_double_eq(t.others_seconds, 0);
	marks_other_cpu(&t, &(const struct marks){ 0 });
	ck_assert(isnan(t.others_seconds));
}
END_TEST

START_TEST(without_a_window_there_is_nothing)
{
	const struct marks none = { 0 };
	struct hist *h = hist_new();
	struct host_result host = { .oversleep_ns = h };
	struct storage_result st = { 0 };
	struct network_result n;
	struct window_result w;
	struct energy_result e;

	marks_window(&w, &none);
	ck_assert_ptr_null(w.from);
	ck_assert(isnan(w.begin_seconds) && isnan(w.seconds));
	marks_host(&host, &none);
	ck_assert(isnan(host.cpu_percent) && isnan(host.noise.steal_percent));
	ck_assert_ptr_eq(host.oversleep_ns, h);
	marks_network(&n, &none);
	ck_assert(isnan(n.received_bits_per_sec));
	ck_assert(!marks_storage(&st, &none));
	marks_energy(&e, &none, 1, 1);
	ck_assert(isnan(e.joules) && isnan(e.joules_per_gib));
	hist_free(h);
}
END_TEST

Suite *suite_mark(void)
{
	Suite *s = suite_create("mark");
	TCase *t = tcase_create("mark");

	tcase_add_loop_test(t, a_window_of_two_has_what_was_counted_in_all_of_it, 0,
			    sizeof(rows) / sizeof(*rows));
	tcase_add_test(t, one_that_never_began_adds_nothing);
	tcase_add_test(t, the_first_beginning_is_the_one_that_is_named);
	tcase_add_test(t, bytes_of_two_interfaces_are_nobodys);
	tcase_add_loop_test(t, bytes_of_two_sources_have_no_one_figure, 0,
			    sizeof(sources) / sizeof(*sources));
	tcase_add_test(t, counters_that_were_cleared_or_are_gone_tell_nothing);
	tcase_add_test(t, joules_are_told_of_each_gib_and_sample);
	tcase_add_test(t, other_threads_have_what_is_left_of_the_cpu_time);
	tcase_add_test(t, without_a_window_there_is_nothing);
	suite_add_tcase(s, t);
	return s;
}
