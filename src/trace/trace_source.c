/* SPDX-License-Identifier: Apache-2.0 */
/* trace_source.c - see trace_source.h. */
#include "trace/trace_source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/filekind.h"
#include "base/unnamed.h"
#include "base/util.h"
#include "trace/trace_chunk.h"
#include "trace/trace_fill.h"
#include "trace/trace_input.h"
#include "trace/trace_iolog.h"

/* By what a file begins with. */
enum form { FORM_TRACE, FORM_IOLOG, FORM_OTHER };

static const struct beginning {
	const char *text;
	enum form form;
	const char *is; /* of others: what it is, and what --import calls it */
	const char *import;
} beginnings[] = {
	{ TRACE_MAGIC, FORM_TRACE, "a trace", NULL },
	{ "fio version ", FORM_IOLOG, "a log of fio's", NULL },
	{ "start_ns,", FORM_OTHER, "a trace as text", "csv" },
	{ "# darshan log version", FORM_OTHER, "a text of Darshan's", "darshan" },
	{ "\x07tae", FORM_OTHER, "a file of blktrace's", "blktrace" },
};

/* NULL = nothing that is known. */
static const struct beginning *beginning_of(const char *at, size_t bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(beginnings); i++) {
		size_t n = strlen(beginnings[i].text);

		if (bytes >= n && memcmp(at, beginnings[i].text, n) == 0)
			return &beginnings[i];
	}
	return NULL;
}

static int trace_source_refuse(const char *path, const struct beginning *b, struct mlgen_err *err)
{
	if (!b)
		return mlgen_fail(
			err, -EINVAL,
			"%s: is neither a trace of mlgen's nor a log of fio's, whose first line is "
			"'fio version 3 iolog', or 2; what other programs log becomes a trace "
			"first, as by mlgen --import=strace FILE --trace=OUT",
			path);
	if (b->form == FORM_OTHER)
		return mlgen_fail(
			err, -EINVAL,
			"%s: is %s; mlgen --import=%s FILE --trace=OUT makes what can be replayed",
			path, b->is, b->import);
	return mlgen_fail(err, -EINVAL, "%s: is a trace in a gzip file; unpack it first", path);
}

static int look_at_text(struct trace_input *in, struct mlgen_err *err)
{
	const struct beginning *b;
	int rc = trace_input_more(in, err);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return mlgen_fail(err, -EINVAL,
				  "%s: is empty, and neither a trace nor a log of fio's", in->name);
	b = beginning_of(in->buffer + in->at, in->end - in->at);
	if (!b || b->form == FORM_OTHER || (b->form == FORM_TRACE && in->gunzip))
		return trace_source_refuse(in->name, b, err);
	return (int)b->form;
}

/* FORM_TRACE, FORM_IOLOG or -errno with err. What is no file is not waited for. */
static int trace_source_look(const char *path, struct mlgen_err *err)
{
	struct trace_input in;
	int rc;

	if (strcmp(path, "-") == 0)
		return mlgen_fail(
			err, -EINVAL,
			"-: is standard input; name a file, which is read more than once");
	rc = filekind_check(path, "; name a trace, or a log of fio's", err);
	if (rc < 0)
		return rc;
	rc = trace_input_open(&in, path, err);
	in.is_binary = true;
	in.only_looks = true;
	if (rc == 0)
		rc = look_at_text(&in, err);
	trace_input_close(&in);
	return rc;
}

/* Everything of the log into the file, whose name is for messages. */
static int convert(const char *path, int fd, const char *name, struct mlgen_err *err)
{
	struct trace_iolog_read what = { 0 };
	struct trace_fill *fill = NULL;
	struct trace_filled filled;
	struct trace_input in;
	int rc = trace_input_open(&in, path, err);

	if (rc == 0)
		rc = trace_fill_new(&fill, fd, name, "fio-iolog", err);
	if (rc == 0)
		rc = trace_iolog_read(&in, fill, &what, err);
	trace_input_close(&in);
	if (rc < 0) {
		trace_fill_abandon(fill);
		return rc;
	}
	trace_iolog_tell(path, &what);
	return trace_fill_finish(fill, &filled, err);
}

static int open_iolog(struct trace_reader **out, const char *path, struct mlgen_err *err)
{
	const char *folder = unnamed_folder(NULL);
	struct buf name = { 0 };
	int fd = unnamed_open(folder), rc;

	buf_addf(&name, "temporary file below %s (TMPDIR=DIR names another)", folder);
	rc = fd < 0 ? mlgen_fail(err, fd, "%s: %s", buf_str(&name), strerror(-fd))
		    : convert(path, fd, buf_str(&name), err);
	buf_fini(&name);
	if (rc == 0)
		return trace_reader_from(out, fd, path, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

int trace_source_open(struct trace_reader **out, const char *path, struct mlgen_err *err)
{
	int form = trace_source_look(path, err);

	*out = NULL;
	if (form < 0)
		return form;
	return form == FORM_IOLOG ? open_iolog(out, path, err)
				  : trace_reader_open(out, &path, 1, err);
}
