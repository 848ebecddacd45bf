/* SPDX-License-Identifier: Apache-2.0 */
/* test_span.c - windows of measurement, and the seconds and bytes that lie in them. */
#include <inttypes.h>
#include <string.h>

#include "run/slot/slot.h"
#include "suites.h"
#include "tree.h"

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

static const struct activity two_records = { .worker = worker_at, .records = one_each };

struct scene {
	uint64_t read_bytes; /* by jobs */
	struct clock *clock;
	struct job job;
	struct slot slot;
};

/* Its files lie where the process counts, in a tree of the test's own. */
static const struct mount here = { .type = "btrfs" };
static char tree[TREE_BYTES];

static void deliver(uint64_t bytes)
{
	char text[64];

	snprintf(text, sizeof(text), "read_bytes: %" PRIu64 "\n", bytes);
	tree_file(tree, "/proc/self/io", text);
}

static uint64_t has_read(void *scene)
{
	return ((struct scene *)scene)->read_bytes;
}

static void scene_init(struct scene *c, uint64_t ramp_ns)
{
	memset(c, 0, sizeof(*c));
	tree_make(tree);
	deliver(0);
	c->clock = clock_new_virtual(1);
	c->job.ramp_time_ns = ramp_ns;
	c->slot.job = &c->job;
	c->slot.does = &two_records;
	for (unsigned i = 0; i < WORKERS; i++) {
		memset(&workers[i], 0, sizeof(workers[i]));
		worker_init(&workers[i]);
		workers[i].next = i ? &workers[i - 1] : NULL;
	}
	atomic_store(&c->slot.workers.first, &workers[WORKERS - 1]);
	span_open(&c->slot.span, &(struct span_request){ .clock = c->clock,
							 .mount = &here,
							 .root = tree,
							 .records = WORKERS,
							 .read_bytes = has_read,
							 .arg = c });
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
	tree_remove(tree);
}

static uint64_t window_ns(const struct scene *c, size_t record)
{
	struct marks m;

	span_marks(&c->slot.span, record, &m);
	return marks_ns(&m);
}

/* A second of it, in which each worker that still works reads `bytes`. */
static void second(struct scene *c, uint64_t bytes)
{
	clock_sleep_until(c->clock, clock_now(c->clock) + 1000 * MS);
	for (unsigned i = 0; i < WORKERS; i++)
		if (!atomic_load(&workers[i].has_ended))
			count_add(&workers[i].stat.io_bytes[0], bytes);
	rates_tick(&c->slot, clock_now(c->clock), 1000);
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
	ck_assert_uint_eq(window_ns(&c, 1), 200 * MS);
	ck_assert_uint_eq(window_ns(&c, 0), 800 * MS);
	ck_assert_uint_ge(p->ends[0].cpu.process_user_ns, p->ends[1].cpu.process_user_ns);
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
	span_end_ramp(p);
	ck_assert(slot_counts(&c.slot));
	clock_sleep_until(c.clock, 310 * MS);
	span_end_ramp(p); /* the next worker */
	clock_sleep_until(c.clock, 900 * MS);
	span_end_all(p);
	ck_assert_uint_eq(window_ns(&c, 0), 600 * MS);
	scene_fini(&c);
}
END_TEST

START_TEST(what_never_began_has_no_window)
{
	struct scene c;

	scene_init(&c, 0);
	clock_sleep_until(c.clock, 300 * MS);
	span_end_all(&c.slot.span);
	ck_assert_uint_eq(window_ns(&c, 0), 0);
	ck_assert_uint_eq(window_ns(&c, 7), 0);
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
	ck_assert_uint_eq(workers[1].rates.bytes[0].rates.count, 1);
	ck_assert(workers[1].rates.bytes[0].min >= 999.9);
	ck_assert_uint_eq(workers[0].rates.bytes[0].rates.count, 3);
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
	span_end_ramp(&c.slot.span);
	second(&c, 7); /* half of it is ramp_time */
	ck_assert_uint_eq(c.slot.rates.bytes[0].rates.count, 0);
	second(&c, 1000);
	ck_assert_uint_eq(c.slot.rates.bytes[0].rates.count, 1);
	ck_assert(c.slot.rates.bytes[0].min >= 1999.9);
	ck_assert_uint_eq(c.slot.mhz_readings, 2);
	scene_fini(&c);
}
END_TEST

/* Until then so much was delivered, and so much read, since time zero. */
static void at(struct scene *c, uint64_t ms, uint64_t delivered, uint64_t read)
{
	clock_sleep_until(c->clock, ms * MS);
	deliver(delivered);
	c->read_bytes = read;
}

/* A record's share from memory, of the bytes in its window. */
static void check_storage(const struct scene *c, size_t record, uint64_t delivered, uint64_t read,
			  double percent)
{
	struct storage_result st = { 0 };
	struct marks m;

	span_marks(&c->slot.span, record, &m);
	ck_assert(marks_storage(&st, &m));
	ck_assert_uint_eq(st.device_read_bytes, delivered);
	ck_assert_uint_eq(st.jobs_read_bytes, read);
	ck_assert_double_eq_tol(st.memory_percent, percent, 1e-9);
	ck_assert_str_eq(st.source, "/proc/self/io");
}

START_TEST(bytes_from_storage_are_those_of_the_window)
{
	struct scene c;
	struct span *p = &c.slot.span;

	scene_init(&c, 0);
	at(&c, 100, 5000, 3000);
	span_begin(p);
	at(&c, 300, 6000, 7000);
	span_end(p, 1);
	at(&c, 900, 6000, 13000);
	span_end_all(p);
	check_storage(&c, 1, 1000, 4000, 75);
	check_storage(&c, 0, 1000, 10000, 90);
	scene_fini(&c);
}
END_TEST

START_TEST(bytes_of_ramp_time_are_in_neither_part)
{
	struct scene c;
	struct span *p = &c.slot.span;

	scene_init(&c, 200 * MS);
	at(&c, 100, 0, 0);
	span_begin(p);
	at(&c, 300, 8000, 8000);
	span_end_ramp(p);
	at(&c, 310, 9000, 9000);
	span_end_ramp(p); /* the next worker */
	at(&c, 900, 10000, 16000);
	span_end_all(p);
	check_storage(&c, 0, 2000, 8000, 75);
	scene_fini(&c);
}
END_TEST

START_TEST(where_nothing_was_read_there_is_no_share)
{
	struct storage_result st = { 0 };
	struct scene c;
	struct marks m;

	scene_init(&c, 0);
	at(&c, 100, 0, 500);
	span_begin(&c.slot.span);
	at(&c, 300, 8000, 500); /* by somebody else */
	span_end_all(&c.slot.span);
	span_marks(&c.slot.span, 0, &m);
	ck_assert(!marks_storage(&st, &m));
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
	tcase_add_test(t, bytes_from_storage_are_those_of_the_window);
	tcase_add_test(t, bytes_of_ramp_time_are_in_neither_part);
	tcase_add_test(t, where_nothing_was_read_there_is_no_share);
	tcase_add_test(t, a_worker_that_ended_has_no_more_seconds);
	tcase_add_test(t, seconds_of_ramp_time_are_in_no_series);
	suite_add_tcase(s, t);
	return s;
}
