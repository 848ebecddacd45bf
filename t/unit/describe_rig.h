/* SPDX-License-Identifier: Apache-2.0 */
/* describe_rig.h - a trace in a file of its own, made record by record, and what is described of
 * it. */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "tracing/describe/describe.h"
#include "temp.h"
#include "trace/trace.h"

#define US UINT64_C(1000)

/* A trace in a file of its own, while it is made. */
static struct {
	char path[TEMP_BYTES];
	int fd;
	struct trace_writer *w;
} rig;
static struct mlgen_err err;
static struct description d;

static inline void set_up(void)
{
	const struct trace_head head = { .run_id = "a run",
					 .wall_ns = 1000 * NS_PER_S,
					 .clock_ns = 0 };

	rig.fd = temp_file(rig.path);
	ck_assert_int_eq(trace_writer_new(&rig.w, rig.fd, rig.path, &head, &err), 0);
}

static inline void tear_down(void)
{
	description_fini(&d);
	if (rig.w)
		trace_writer_finish(rig.w, NULL, &err);
	close(rig.fd);
	unlink(rig.path);
}

static inline uint32_t file(const char *path)
{
	return trace_writer_name(rig.w, path, strlen(path));
}

/* One that took a microsecond; what is special of it is set by the caller. */
static inline struct trace_record record(unsigned op, uint64_t at_us, uint32_t task, uint32_t f)
{
	return (struct trace_record){ .start_ns = at_us * US,
				      .duration_ns = US,
				      .cpu_ns = TRACE_UNKNOWN,
				      .pid = task,
				      .tid = task,
				      .file = f,
				      .op = (uint16_t)op };
}

static inline void put(unsigned op, uint64_t at_us, uint32_t task, uint32_t f)
{
	struct trace_record r = record(op, at_us, task, f);

	trace_writer_record(rig.w, &r);
}

static inline void put_read(uint64_t at_us, uint32_t task, uint32_t f, uint64_t off, uint64_t bytes)
{
	struct trace_record r = record(TRACE_READ, at_us, task, f);

	r.off = off;
	r.len_bytes = bytes;
	r.result = (int64_t)bytes;
	trace_writer_record(rig.w, &r);
}

static inline const struct described_trace *described_every(uint64_t interval_ns)
{
	const char *paths[] = { rig.path };

	ck_assert_int_eq(trace_writer_finish(rig.w, NULL, &err), 0);
	rig.w = NULL;
	int rc = describe_trace(&d, paths, 1, interval_ns, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	return &d.figures.trace;
}

static inline const struct described_trace *described(void)
{
	return described_every(NS_PER_S);
}

/* Reads a file as loaders do. */
static inline void visit(uint64_t at_us, uint32_t task, const char *path)
{
	uint32_t f = file(path);

	put(TRACE_OPEN, at_us, task, f);
	put_read(at_us + 2, task, f, 0, 4096);
	put_read(at_us + 4, task, f, 4096, 1000);
	put_read(at_us + 6, task, f, 5096, 0);
	put(TRACE_CLOSE, at_us + 8, task, f);
}
