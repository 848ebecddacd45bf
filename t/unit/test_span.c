/* SPDX-License-Identifier: Apache-2.0 */
/* test_span.c - windows of measurement, and the seconds that lie in them. */
#include <string.h>

#include "run/activity.h"
#include "run/series.h"
#include "run/span.h"
#include "suites.h"

#define MS UINT64_C(1000000)
#define WORKERS 2

static struct worker workers[WORKERS];

static struct worker *worker_at(const struct slot *s, uint64_t i)
{
	(void)s;
	return i < WORKERS ? &workers[i] : NULL;
}

static size_t one_each(const struct slot *s)
{
	(void)s;
	return WORKERS;
}

static const struct activity two_records = { .worker = worker_at,
					     .records = one_each };

struct scene {
	struct clock *clock;
	struct job job;
	struct slot slot;
};

static void scene_init(struct scene *c, uint64_t ramp_ns)
{
	const struct netif none = { 0 };

	memset(c, 0, sizeof(*c));
	c->clock = clock_new_virtual(1);
	c->job.ramp_time_ns = ramp_ns;
	c->slot.job = &c->job;
	c->slot.does = &two_records;
	for (unsigned i = 0; i < WORKERS; i++) {
		memset(&workers[i], 0, sizeof(workers[i]));
		worker_init(&workers[i]);
	}
	span_open(&c->slot.span, c->clock, &none, WORKERS);
	clock_expect(c->clock, 1);
	clock_join(c->clock);
}

static void scene_fini(struct scene *c)
{
	clock_leave(c->clock);
	span_close(&c->slot.span);
	for (unsigned i = 0; i < WORKERS; i++)
		worker_fini(&workers[i]);
	clock_free(c->clock);
}

/* A second of it, in which each worker that still works reads `bytes`. */
static void second(struct scene *c, uint64_t bytes)
{
	clock_sleep_until(c->clock, clock_now(c->clock) + 1000 * MS);
	for (unsigned i = 0; i < WORKERS; i++)
		if (!atomic_load(&workers[i].has_ended))
			count_add(&workers[i].stat.io_bytes[0], bytes);
	series_tick(&c->slot, clock_now(c->clock), 1000);
}

START_TEST(each_record_ends_with_its_own_worker)
{
	struct scene c;
	struct span *p = &c.slot.span;

	scene_init(&c, 0);
	clock_sleep_until(c.clock, 100 * MS);
	span_begin(p);
	clock_sleep_until(c.clock, 300 * MS);
	span_end(p, 1);
	clock_sleep_until(c.clock, 900 * MS);
	span_end(p, 1); /* it has ended before */
	span_end_all(p);
	ck_assert_uint_eq(span_ns(p, 1), 200 * MS);
	ck_assert_uint_eq(span_ns(p, 0), 800 * MS);
	ck_assert_uint_ge(p->ends[0].cpu.process_user_ns,
			  p->ends[1].cpu.process_user_ns);
	scene_fini(&c);
}
END_TEST

START_TEST(behind_ramp_time_it_begins_anew_and_once)
{
	struct scene c;
	struct span *p = &c.slot.span;

	scene_init(&c, 200 * MS);
	clock_sleep_until(c.clock, 100 * MS);
	span_begin(p);
	ck_assert(!slot_counts(&c.slot));
	clock_sleep_until(c.clock, 300 * MS);
	span_begin_anew(p);
	ck_assert(slot_counts(&c.slot));
	clock_sleep_until(c.clock, 310 * MS);
	span_begin_anew(p); /* the next worker */
	clock_sleep_until(c.clock, 900 * MS);
	span_end_all(p);
	ck_assert_uint_eq(span_ns(p, 0), 600 * MS);
	scene_fini(&c);
}
END_TEST

START_TEST(what_never_began_has_no_window)
{
	struct scene c;

	scene_init(&c, 0);
	clock_sleep_until(c.clock, 300 * MS);
	span_end_all(&c.slot.span);
	ck_assert_uint_eq(span_ns(&c.slot.span, 0), 0);
	ck_assert_uint_eq(span_ns(&c.slot.span, 7), 0);
	scene_fini(&c);
}
END_TEST

START_TEST(a_worker_that_ended_has_no_more_seconds)
{
	struct scene c;

	scene_init(&c, 0);
	span_begin(&c.slot.span);
	second(&c, 0); /* where the counters stand */
	second(&c, 1000);
	worker_stop_counting(&workers[1], clock_now(c.clock));
	second(&c, 1000);
	second(&c, 1000);
	ck_assert_uint_eq(workers[1].rates.bytes[0].samples, 1);
	ck_assert(workers[1].rates.bytes[0].min >= 999.9);
	ck_assert_uint_eq(workers[0].rates.bytes[0].samples, 3);
	ck_assert(workers[0].rates.bytes[0].min >= 999.9);
	scene_fini(&c);
}
END_TEST

START_TEST(seconds_of_ramp_time_are_in_no_series)
{
	struct scene c;

	scene_init(&c, 2500 * MS);
	span_begin(&c.slot.span);
	second(&c, 0);
	second(&c, 7);
	clock_sleep_until(c.clock, 2500 * MS);
	span_begin_anew(&c.slot.span);
	second(&c, 7); /* half of it is ramp_time */
	ck_assert_uint_eq(c.slot.rates.bytes[0].samples, 0);
	second(&c, 1000);
	ck_assert_uint_eq(c.slot.rates.bytes[0].samples, 1);
	ck_assert(c.slot.rates.bytes[0].min >= 1999.9);
	ck_assert_uint_eq(c.slot.mhz_looks, 2);
	scene_fini(&c);
}
END_TEST

Suite *suite_span(void)
{
	Suite *s = suite_create("span");
	TCase *t = tcase_create("span");

	tcase_add_test(t, each_record_ends_with_its_own_worker);
	tcase_add_test(t, behind_ramp_time_it_begins_anew_and_once);
	tcase_add_test(t, what_never_began_has_no_window);
	tcase_add_test(t, a_worker_that_ended_has_no_more_seconds);
	tcase_add_test(t, seconds_of_ramp_time_are_in_no_series);
	suite_add_tcase(s, t);
	return s;
}
