/* SPDX-License-Identifier: Apache-2.0 */
/* capture_report.c - what is said of a recording when it is over, on standard error. */
#include "tracing/capture/capture_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/log.h"
#include "base/printable.h"
#include "base/util.h"
#include "tracing/describe/describe.h"

/* What is told of the device is a matter of the trace, from so much on. */
#define SHARE 0.1
#define SHARE_BYTES (UINT64_C(1) << 20)

static void each_line(const char *text, void (*put)(const char *line, int len))
{
	while (*text) {
		int len = (int)strcspn(text, "\n");

		put(text, len);
		text += len + (text[len] == '\n');
	}
}

static void put_note(const char *line, int len)
{
	if (len)
		log_note("%.*s", len, line);
}

static void put_plain(const char *line, int len)
{
	log_plain("%.*s", len, line);
}

void capture_tell_notes(const struct buf *notes)
{
	each_line(buf_str(notes), put_note);
}

/* Of what was read of files that are still there: on this device. */
static uint64_t read_from(const struct description *d, dev_t dev)
{
	const struct described_trace *t = &d->figures.trace;
	const struct described_file *files = t->top_files.items;
	uint64_t bytes = 0;
	struct stat st;

	for (size_t i = 0; i < t->top_files.count; i++)
		if (files[i].path && *files[i].path == '/' && lstat(files[i].path, &st) == 0 &&
		    st.st_dev == dev && S_ISREG(st.st_mode))
			bytes += files[i].read_bytes;
	return bytes;
}

/* The writes of the trace are among those of the device then. */
static void tell_device(const struct description *d, const char *path)
{
	uint64_t all = d->figures.trace.read_bytes;
	uint64_t there;
	struct stat st;

	/* Device numbers without a major are of no device: memory, network. */
	if (!all || stat(path, &st) < 0 || major(st.st_dev) == 0)
		return;
	there = read_from(d, st.st_dev);
	if (there >= SHARE_BYTES && (double)there > SHARE * (double)all)
		log_note("%s lies on the device that was read from, which wrote it meanwhile; "
			 "--capture=FILE elsewhere leaves it to what is recorded",
			 path);
}

static void tell_more(const char *path)
{
	struct buf word = { 0 };

	shellword_add(&word, path);
	log_plain("%s: mlgen --describe %s shows more", path, buf_str(&word));
	buf_fini(&word);
}

static void capture_report_tell(const struct description *d, bool quiet)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);

	if (!to)
		return;
	describe_brief(to, d, quiet);
	(void)fclose(to);
	each_line(text, put_plain);
	free(text);
}

void capture_describe(const char *path, bool quiet)
{
	struct description d = { 0 };
	struct mlgen_err err = { 0 };

	log_progress("%s is looked through ...", path);
	if (describe_trace(&d, &path, 1, NS_PER_S, &err) == 0) {
		capture_report_tell(&d, quiet);
		tell_device(&d, path);
		tell_more(path);
	} else {
		log_error("%s", err.text);
	}
	description_fini(&d);
}
