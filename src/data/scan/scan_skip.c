/* SPDX-License-Identifier: Apache-2.0 */
/* scan_skip.c - what a scan leaves out: named, counted, and a reason to refuse or not. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/units.h"
#include "data/scan/scan_internal.h"

/* So many of what is skipped are named; the others are counted. */
#define TOLD_MAX 5

static void put_some(struct buf *to, uint64_t n, const char *one, const char *many)
{
	char text[UNITS_TEXT_BYTES];

	if (n)
		buf_addf(to, "%s%s %s", to->len ? ", " : "", units_human_count(text, n),
			 n == 1 ? one : many);
}

static void put_wrong(struct buf *to, const struct scan_skipped *s)
{
	put_some(to, s->special, "socket, pipe or device", "sockets, pipes or devices");
	put_some(to, s->links, "link that leads nowhere or in a circle",
		 "links that lead nowhere or in a circle");
	put_some(to, s->unreadable, "that cannot be read", "that cannot be read");
	put_some(to, s->too_long, "path that is too long", "paths that are too long");
}

static void put_listed(struct buf *to, const struct scan_skipped *s)
{
	put_some(to, s->missing, "file that is not there", "files that are not there");
	put_some(to, s->folders, "folder", "folders");
}

/* No reason to refuse anything. */
static void put_harmless(struct buf *to, const struct scan_skipped *s)
{
	put_some(to, s->empty, "empty file", "empty files");
	put_some(to, s->again, "that was met before", "that were met before");
	put_some(to, s->deeper, "folder deeper than scan_depth", "folders deeper than scan_depth");
}

void scan_note(const struct scan *s, const char *fmt, ...)
{
	char text[PATH_MAX + 512];
	va_list ap;

	if (s->is_quiet)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_note("%s", text);
}

bool scan_is_quiet(const struct scan *s)
{
	return s->is_quiet;
}

void scan_skip(struct walk *w, uint64_t *counter, const char *why)
{
	++*counter;
	if (w->told++ >= TOLD_MAX)
		return;
	scan_note(w->scan, "%s: %s%s", w->path, why,
		  w->req->errors == SCAN_SKIP ? "; left out" : "");
}

int scan_judge(struct walk *w, const char *where, const char *found)
{
	const struct scan_skipped *s = &w->scan->skipped;
	struct buf text = { 0 };
	int r = 0;

	put_listed(&text, s);
	put_wrong(&text, s);
	if (text.len && w->req->errors != SCAN_SKIP)
		r = mlgen_fail(w->err, s->unreadable ? -EACCES : -EINVAL,
			       "%s: %s %s; --scan_errors=skip goes without", where, found,
			       buf_str(&text));
	put_harmless(&text, s);
	if (r == 0 && text.len)
		scan_note(w->scan, "%s: left out: %s", where, buf_str(&text));
	buf_fini(&text);
	return r;
}

int scan_judge_list(struct walk *w, const char *list)
{
	const struct scan_skipped *s = &w->scan->skipped;
	struct buf text = { 0 };
	int r = 0;

	put_listed(&text, s);
	put_wrong(&text, s);
	if (text.len && w->req->errors != SCAN_SKIP)
		r = mlgen_fail(w->err, -EINVAL,
			       "%s: file_list names %s; --scan_errors=skip goes without", list,
			       buf_str(&text));
	buf_fini(&text);
	return r;
}
