/* SPDX-License-Identifier: Apache-2.0 */
/* capture_clock.c - which of the distances of two clocks a line was written by. */
#include "tracing/capture/capture_clock.h"

#include "base/clock.h"
#include "base/util.h"
#include "tracing/import/strace_line.h"
#include "trace/trace.h"

/* Between a look at one clock and at the other another thread may run: less than that is no
 * step. */
#define STEP_NS 1000000

/* strace may be kept from writing what it has the time of. When no distance that is known comes as
 * near, the time of day was set more than once. */
#define FAR_NS (10 * NS_PER_S)

/* strace writes in less, mostly; by so much a distance that nobody but a line has told may be
 * wrong. */
#define LATE_NS (NS_PER_S / 10)

void capture_clock_init(struct capture_clock *c, uint64_t offset_ns)
{
	*c = (struct capture_clock){ .offset_ns = offset_ns,
				     .other_ns = offset_ns,
				     .host_ns = offset_ns };
}

static uint64_t capture_clock_change(struct capture_clock *c, uint64_t offset_ns)
{
	if (offset_ns != c->offset_ns) {
		c->other_ns = c->offset_ns;
		c->offset_ns = offset_ns;
		c->since_ns = c->least_ns;
	}
	return offset_ns;
}

void capture_clock_look(struct capture_clock *c, uint64_t host_ns)
{
	int64_t step = (int64_t)(host_ns - c->host_ns);

	if (step <= STEP_NS && step >= -STEP_NS)
		return;
	c->host_ns = host_ns;
	c->was_set = true;
}

void capture_clock_empty(struct capture_clock *c, uint64_t now_ns)
{
	c->least_ns = now_ns;
	if (c->was_set)
		capture_clock_change(c, c->host_ns);
	c->was_set = false;
}

/* How far a line is from when it can have been written, by this distance. */
static uint64_t astray(const struct capture_clock *c, uint64_t wall_ns, uint64_t offset_ns,
		       uint64_t now_ns)
{
	int64_t at = (int64_t)(wall_ns - offset_ns);

	if (at > (int64_t)now_ns)
		return (uint64_t)at - now_ns;
	return at < (int64_t)c->least_ns ? (uint64_t)((int64_t)c->least_ns - at) : 0;
}

/* Of a step nobody has seen a line yet: by what has it begin last, until now. */
static bool is_of_host(const struct capture_clock *c, uint64_t wall_ns, uint64_t now_ns)
{
	int64_t at = (int64_t)(wall_ns - c->offset_ns);
	int64_t host_at = (int64_t)(wall_ns - c->host_ns);

	return c->was_set && host_at <= (int64_t)now_ns && (host_at > at || at > (int64_t)now_ns);
}

/* By the one before the last step only what is of before that step. */
static uint64_t of_earlier(const struct capture_clock *c, uint64_t wall_ns, uint64_t now_ns)
{
	int64_t at = (int64_t)(wall_ns - c->offset_ns);
	int64_t other_at = (int64_t)(wall_ns - c->other_ns);
	bool fits =
		at + (int64_t)LATE_NS >= (int64_t)c->since_ns && at <= (int64_t)(now_ns + LATE_NS);

	if (is_of_host(c, wall_ns, now_ns))
		return c->host_ns;
	return !fits && other_at <= (int64_t)c->since_ns ? c->other_ns : c->offset_ns;
}

uint64_t capture_clock_of(struct capture_clock *c, const struct capture_stamp *stamp,
			  uint64_t now_ns)
{
	const uint64_t known[] = { c->offset_ns, c->other_ns, c->host_ns };
	uint64_t wall_ns = stamp->wall_ns, least = UINT64_MAX;
	size_t best = 0;

	if (stamp->is_earlier)
		return of_earlier(c, wall_ns, now_ns);
	for (size_t i = 0; i < ARRAY_LEN(known) && least; i++) {
		uint64_t far = astray(c, wall_ns, known[i], now_ns);

		if (far < least)
			best = i;
		least = u64_min(least, far);
	}
	if (least > FAR_NS)
		return capture_clock_change(c, wall_ns - c->least_ns);
	c->least_ns = u64_max(c->least_ns, u64_min(wall_ns - known[best], now_ns));
	return known[best] == c->other_ns ? c->other_ns : capture_clock_change(c, known[best]);
}

struct capture_stamp capture_stamp_of(char *line, size_t bytes)
{
	struct capture_stamp stamp = { 0 };
	struct strace_line l;
	uint64_t duration_ns;

	strace_line_split(&l, (struct strace_text){ line, bytes });
	if (l.clock != STRACE_UNIX)
		return stamp;
	stamp.wall_ns = l.ns;
	if (strace_text_begins(l.body, "<... ") || strace_text_begins(l.body, "+++ "))
		return stamp;
	duration_ns = strace_line_duration(&l.body);
	stamp.is_earlier = duration_ns == TRACE_UNKNOWN;
	stamp.wall_ns += stamp.is_earlier ? 0 : duration_ns;
	return stamp;
}
