/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_ring.c - records and their names come out as they went in, or are counted. */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "suites.h"
#include "trace/tracer.h"

#define SLOTS ((unsigned)TRACE_RING_SLOTS_MIN)

static char room[TRACE_RING_NAMES_BYTES];

static bool put(struct trace_ring *r, uint64_t off, const char *name)
{
	size_t bytes = name ? strlen(name) : 0;
	unsigned slots = trace_ring_slots(bytes);
	struct trace_record *to = trace_ring_room(r, slots, TRACE_READ, off);

	if (!to)
		return false;
	*to = (struct trace_record){ .off = off, .pid = (uint32_t)bytes, .op = TRACE_READ };
	if (bytes)
		trace_ring_copy_name(r, 0, name, bytes);
	trace_ring_publish(r, slots);
	return true;
}

static bool take(struct trace_ring *r, struct trace_ring_item *t)
{
	bool is_there = trace_ring_read(r, trace_ring_head(r), room, t);

	trace_ring_release(r);
	return is_there;
}

START_TEST(names_of_any_length_come_out_wherever_the_ring_ends)
{
	struct trace_ring *r = trace_ring_new(SLOTS, 0, 1);
	struct trace_ring_item t;
	char name[TRACE_RING_NAME_BYTES + 1];

	/* 131 is prime to the slots: each length meets the end of the ring. */
	for (uint64_t i = 0; i < 20000; i++) {
		size_t bytes = (size_t)(i * 131 % TRACE_RING_NAME_BYTES);

		memset(name, (int)('a' + i % 26), bytes);
		name[bytes] = '\0';
		ck_assert(put(r, i, name));
		ck_assert(take(r, &t));
		ck_assert_uint_eq(t.record.off, i);
		ck_assert_uint_eq(t.name_bytes, bytes);
		ck_assert_uint_eq(t.record.pid, 0);
		ck_assert_int_eq(memcmp(t.name, name, bytes), 0);
	}
	ck_assert(!take(r, &t));
	trace_ring_free(r);
	trace_ring_free(NULL);
}
END_TEST

START_TEST(two_names_lie_behind_each_other)
{
	struct trace_ring *r = trace_ring_new(SLOTS, 0, 1);
	struct trace_ring_item t;
	char a[200], b[100];

	memset(a, 'a', sizeof(a));
	memset(b, 'b', sizeof(b));
	for (unsigned i = 0; i < 3 * SLOTS; i++) {
		unsigned slots = trace_ring_slots(sizeof(a) + sizeof(b));
		struct trace_record *to = trace_ring_room(r, slots, TRACE_RENAME, 0);

		ck_assert_uint_eq(slots, 6);
		*to = (struct trace_record){ .pid = sizeof(a), .tid = sizeof(b) };
		trace_ring_copy_name(r, 0, a, sizeof(a));
		trace_ring_copy_name(r, sizeof(a), b, sizeof(b));
		trace_ring_publish(r, slots);
		ck_assert(take(r, &t));
		ck_assert_uint_eq(t.name_bytes, sizeof(a));
		ck_assert_uint_eq(t.name2_bytes, sizeof(b));
		ck_assert_int_eq(memcmp(t.name, a, sizeof(a)), 0);
		ck_assert_int_eq(memcmp(t.name2, b, sizeof(b)), 0);
	}
	trace_ring_free(r);
}
END_TEST

START_TEST(what_has_no_room_is_counted_with_its_first_and_last_time)
{
	struct trace_ring *r = trace_ring_new(SLOTS, 0, 1);
	const struct trace_ring_lost *lost = &r->lost[TRACE_READ];
	struct trace_ring_item t;

	for (unsigned i = 0; i < SLOTS; i++)
		ck_assert(put(r, i, NULL));
	ck_assert_uint_eq(lost->count, 0);
	ck_assert(!put(r, 5000, NULL));
	ck_assert(!put(r, 6000, NULL));
	ck_assert(!put(r, 7000, NULL));
	ck_assert_uint_eq(lost->count, 3);
	ck_assert_uint_eq(lost->first_ns, 5000);
	ck_assert_uint_eq(lost->last_ns, 7000);
	ck_assert_uint_eq(r->lost[TRACE_WRITE].count, 0);
	/* One slot is no room for a record with a name. */
	ck_assert(take(r, &t));
	ck_assert(!put(r, 8000, "name"));
	ck_assert(put(r, 9000, NULL));
	ck_assert_uint_eq(lost->count, 4);
	for (unsigned i = 1; i < SLOTS; i++) {
		ck_assert(take(r, &t));
		ck_assert_uint_eq(t.record.off, i);
	}
	ck_assert(take(r, &t));
	ck_assert_uint_eq(t.record.off, 9000);
	ck_assert(!take(r, &t));
	trace_ring_free(r);
}
END_TEST

START_TEST(numbers_of_files_are_taken_given_back_and_of_one_ring)
{
	struct trace_ring *r = trace_ring_new(SLOTS, 2, 7);
	struct trace_ring *other = trace_ring_new(SLOTS, 2, 8);
	uint32_t a = trace_ring_alloc_number(r);
	uint32_t b = trace_ring_alloc_number(r);

	ck_assert_uint_ne(trace_ring_number(r, a), 0);
	ck_assert_uint_ne(trace_ring_number(r, b), 0);
	ck_assert_uint_ne(trace_ring_number(r, a), trace_ring_number(r, b));
	ck_assert_uint_eq(trace_ring_alloc_number(r), 0);
	ck_assert_uint_eq(trace_ring_number(other, a), 0);
	ck_assert_uint_eq(trace_ring_number(r, 0), 0);
	trace_ring_free_number(r, trace_ring_number(r, a));
	ck_assert_uint_eq(trace_ring_alloc_number(r), a);
	trace_ring_free(r);
	trace_ring_free(other);
	/* Beyond what the upper half tells apart there are none. */
	r = trace_ring_new(SLOTS, 2, 65535);
	ck_assert_uint_eq(trace_ring_alloc_number(r), 0);
	trace_ring_free(r);
}
END_TEST

START_TEST(a_marker_is_a_record_with_its_text)
{
	struct trace_ring *r = trace_ring_new(SLOTS, 0, 1);
	const struct trace_mark m = { .op = TRACE_STAGE,
				      .start_ns = 100,
				      .end_ns = 350,
				      .off = TRACE_UNKNOWN,
				      .len_bytes = 12,
				      .result = 3,
				      .text = "train" };
	struct trace_ring_item t;

	trace_ring_mark(r, &m);
	ck_assert(take(r, &t));
	ck_assert_uint_eq(t.record.op, TRACE_STAGE);
	ck_assert_uint_eq(t.record.start_ns, 100);
	ck_assert_uint_eq(t.record.duration_ns, 250);
	ck_assert_uint_eq(t.record.off, TRACE_UNKNOWN);
	ck_assert_uint_eq(t.record.len_bytes, 12);
	ck_assert_int_eq(t.record.result, 3);
	ck_assert_uint_eq(t.record.cpu_ns, TRACE_UNKNOWN);
	ck_assert_uint_eq(t.name_bytes, 5);
	ck_assert_int_eq(memcmp(t.name, "train", 5), 0);
	trace_ring_free(r);
}
END_TEST

#define EVENTS UINT64_C(102400)
#define BLOCK 1024
#define MOST_SLOTS 4 /* of an event */

/* Names of 0 to 149 bytes, each of its event's own letter. */
static void *produce(void *arg)
{
	struct trace_ring *r = arg;
	char name[150] = "";

	for (uint64_t i = 0; i < EVENTS; i++) {
		size_t bytes = (size_t)(i % 150);

		memset(name, (int)('a' + i % 26), bytes);
		name[bytes] = '\0';
		put(r, i, name);
		/* From an empty ring on: some of so many have room, not all. */
		while (i % BLOCK == 0 && r->tail != r->head)
			sched_yield();
	}
	trace_ring_end(r);
	return NULL;
}

static void check_one(const struct trace_ring_item *t)
{
	uint64_t i = t->record.off;

	ck_assert_uint_eq(t->name_bytes, i % 150);
	for (size_t k = 0; k < t->name_bytes; k++)
		ck_assert_int_eq(t->name[k], (int)('a' + i % 26));
}

START_TEST(of_two_threads_what_came_and_what_was_lost_is_all)
{
	struct trace_ring *r = trace_ring_new(SLOTS, 0, 1);
	uint64_t came = 0, next = 0;
	struct trace_ring_item t;
	pthread_t thread;
	bool is_over;

	ck_assert_int_eq(pthread_create(&thread, NULL, produce, r), 0);
	do {
		is_over = trace_ring_is_over(r);
		uint64_t head = trace_ring_head(r);

		while (trace_ring_read(r, head, room, &t)) {
			check_one(&t);
			ck_assert_uint_ge(t.record.off, next);
			next = t.record.off + 1;
			came++;
		}
		trace_ring_release(r);
		sched_yield();
	} while (!is_over);
	pthread_join(thread, NULL);
	ck_assert_uint_ge(came, EVENTS / BLOCK * SLOTS / MOST_SLOTS);
	ck_assert_uint_eq(came + r->lost[TRACE_READ].count, EVENTS);
	trace_ring_free(r);
}
END_TEST

Suite *suite_trace_ring(void)
{
	Suite *s = suite_create("trace_ring");
	TCase *t = tcase_create("ring");

	tcase_add_test(t, names_of_any_length_come_out_wherever_the_ring_ends);
	tcase_add_test(t, two_names_lie_behind_each_other);
	tcase_add_test(t, what_has_no_room_is_counted_with_its_first_and_last_time);
	tcase_add_test(t, numbers_of_files_are_taken_given_back_and_of_one_ring);
	tcase_add_test(t, a_marker_is_a_record_with_its_text);
	tcase_add_test(t, of_two_threads_what_came_and_what_was_lost_is_all);
	suite_add_tcase(s, t);
	return s;
}
