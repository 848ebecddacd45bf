/* SPDX-License-Identifier: Apache-2.0 */
/* distil_rig.h - a trace of a few calls, read for finders; stages and classes are the test's. */
#pragma once

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "temp.h"
#include "trace/trace.h"
#include "tracing/distil/facts/facts.h"

struct distil_rig {
	struct distil d;
	struct jobsection *to; /* the test's own */
	char folder[TEMP_BYTES], path[TEMP_BELOW], side[TEMP_BYTES + 1];
	const char *paths[1];
	struct trace_writer *writer;
	int fd;
};

static inline void distil_rig_open(struct distil_rig *g)
{
	struct trace_head head = { .run_id = "rig", .wall_ns = 1 };
	struct mlgen_err err = { 0 };

	*g = (struct distil_rig){ 0 };
	temp_folder(g->folder);
	snprintf(g->path, sizeof(g->path), "%s/a.trace", g->folder);
	g->paths[0] = g->path;
	g->fd = open(g->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ck_assert_int_ge(g->fd, 0);
	ck_assert_int_eq(trace_writer_new(&g->writer, g->fd, g->path, &head, &err), 0);
	g->d.paths = g->paths;
	g->d.path_count = 1;
	snprintf(g->side, sizeof(g->side), "%s/", g->folder);
	g->d.side_folder = g->side;
	g->d.side_name = "a";
	g->d.to = jobtext_new();
}

/* `len` of a read or write is its result, too. */
static inline void distil_rig_record(struct distil_rig *g, struct trace_record r, const char *path)
{
	r.cpu_ns = TRACE_UNKNOWN;
	r.pid = r.pid ? r.pid : 10;
	if (path)
		r.file = trace_writer_name(g->writer, path, strlen(path));
	trace_writer_record(g->writer, &r);
}

static inline void distil_rig_call(struct distil_rig *g, uint16_t op, uint64_t start_ns,
				   uint32_t tid, const char *path, uint64_t off, uint64_t len,
				   uint16_t flags)
{
	distil_rig_record(g,
			  (struct trace_record){ .op = op,
						 .start_ns = start_ns,
						 .duration_ns = 5,
						 .tid = tid,
						 .off = off,
						 .len_bytes = len,
						 .result = op == TRACE_READ || op == TRACE_WRITE
								   ? (int64_t)len
								   : 0,
						 .flags = flags },
			  path);
}

static inline void distil_rig_stage(struct distil_rig *g, enum stage_kind kind, uint32_t party,
				    uint32_t number, uint64_t start_ns, uint64_t end_ns)
{
	struct distil *d = &g->d;

	d->stages = mem_realloc(d->stages, (d->stage_count + 1) * sizeof(*d->stages));
	d->stages[d->stage_count++] = (struct distil_stage){ .kind = kind,
							     .party = party,
							     .number = number,
							     .start_ns = start_ns,
							     .end_ns = end_ns };
}

/* All files are of the class; each visit is of the last stage that has its start. */
static inline void distil_rig_set_stage(void *arg, struct visit *x)
{
	const struct distil *d = arg;

	for (uint32_t i = 0; i < d->stage_count; i++)
		if (x->start_ns >= d->stages[i].start_ns && x->start_ns <= d->stages[i].end_ns)
			x->stage = (uint16_t)i;
}

static inline void distil_rig_read(struct distil_rig *g, enum file_class class)
{
	struct mlgen_err err = { 0 };
	struct distil *d = &g->d;

	ck_assert_int_eq(trace_writer_finish(g->writer, NULL, &err), 0);
	ck_assert_msg(distil_read(d, &err) == 0, "%s", err.text);
	d->task_count = d->tasks.threads.keys.count;
	d->task = mem_array(d->task_count + 1, sizeof(*d->task));
	for (uint32_t i = 0; i < d->task_count; i++)
		d->task[i] = (struct distil_task){ .party = UINT32_MAX,
						   .rank = UINT32_MAX,
						   .worker = UINT32_MAX };
	d->class = mem_array(d->file_count + 1, sizeof(*d->class));
	memset(d->class, (int)class, d->file_count);
	ck_assert_int_eq(visits_each(d->visits, distil_rig_set_stage, d, &err), 0);
}

static inline void distil_rig_close(struct distil_rig *g)
{
	char path[TEMP_BELOW];

	distil_fini(&g->d);
	close(g->fd);
	unlink(g->path);
	snprintf(path, sizeof(path), "%s/a.tensors", g->folder);
	unlink(path);
	ck_assert_int_eq(rmdir(g->folder), 0);
}
