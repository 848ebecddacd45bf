/* SPDX-License-Identifier: Apache-2.0 */
/* trace_rig.h - what the targets of importers share: a text as a trace, and that one as text
 * again. */
#pragma once

#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/trace.h"

typedef int (*rig_read)(struct trace_input *in, struct trace_fill *to, struct mlgen_err *err);
typedef void (*rig_write)(struct trace_ordered *o, FILE *to);

/* A file in memory; the same one each time. */
static int rig_file(int *fd)
{
	if (*fd < 0)
		*fd = memfd_create("fuzz", MFD_CLOEXEC);
	MUST(*fd >= 0 && ftruncate(*fd, 0) == 0 && lseek(*fd, 0, SEEK_SET) == 0);
	return *fd;
}

/* Into `trace`. False: it was refused, with its place. */
static bool rig_import(rig_read take, const char *text, size_t bytes, int trace)
{
	static int file = -1;
	struct mlgen_err err = { 0 };
	struct trace_fill_totals filled;
	struct trace_input in;
	struct trace_fill *fill;
	int rc;

	rig_file(&file);
	MUST(pwrite(file, text, bytes, 0) == (ssize_t)bytes);
	MUST(trace_fill_new(&fill, trace, "t", "fuzz", &err) == 0);
	trace_input_init(&in, file, "f");
	rc = take(&in, fill, &err);
	trace_input_close(&in);
	MUST(rc <= 0 && !rc == !err.code);
	if (rc < 0) {
		MUST(strncmp(err.text, "f:", 2) == 0);
		trace_fill_abandon(fill);
		return false;
	}
	MUST(trace_fill_finish(fill, &filled, &err) == 0);
	return true;
}

/* Owned by the caller. */
static char *rig_export(rig_write put, int trace, size_t *bytes)
{
	struct mlgen_err err = { 0 };
	struct trace_reader *r;
	struct trace_ordered *o;
	char path[64], *text = NULL;
	const char *const paths[] = { path };
	FILE *to = open_memstream(&text, bytes);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", trace);
	MUST(to && trace_reader_open(&r, paths, 1, &err) == 0);
	MUST(trace_ordered_read(&o, r, &err) == 0);
	MUST(!trace_reader_totals(r)->truncated);
	MUST(!trace_reader_totals(r)->damaged_chunks);
	put(o, to);
	MUST(fclose(to) == 0);
	trace_ordered_free(o);
	trace_reader_close(r);
	return text;
}

/* What is taken is kept: it comes back as the same text for ever. */
__attribute__((unused)) static void rig_there_and_back(rig_read take, rig_write put, rig_read again,
						       const uint8_t *data, size_t size)
{
	static int trace = -1;
	size_t bytes, same;
	char *text, *back;

	if (!rig_import(take, (const char *)data, size, rig_file(&trace)))
		return;
	text = rig_export(put, trace, &bytes);
	MUST(rig_import(again, text, bytes, rig_file(&trace)));
	back = rig_export(put, trace, &same);
	MUST(same == bytes && memcmp(text, back, bytes) == 0);
	free(text);
	free(back);
}
