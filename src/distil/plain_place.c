/* SPDX-License-Identifier: Apache-2.0 */
/* plain_place.c - in which files threads of a trace read and write, where in them and how much. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "base/util.h"
#include "distil/plain_saying.h"

void plain_say_size(struct jobsection *to, enum distil_sure sure, const char *option,
		    uint64_t bytes, const char *why)
{
	char text[UNITS_TEXT_BYTES];

	units_put_size(text, bytes);
	jobsection_say(to, sure, option, text, "%s", why);
}

void plain_say_number(struct jobsection *to, enum distil_sure sure, const char *option, uint64_t n,
		      const char *why)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	jobsection_say(to, sure, option, text, "%s", why);
}

/* ---- where ---- */

/* As the file was, or is then; 0 = not known. */
static uint64_t file_bytes(const struct plain_saying *g)
{
	const struct file_account *f = filebook_at(&g->d->files, g->s->files[0]);

	return f && f->size_bytes ? f->size_bytes - 1 : 0;
}

bool plain_is_name(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-+", *p))
			return false;
	return *name && strlen(name) < 128;
}

static const char *name_of(const struct plain_saying *g)
{
	return has_text(g->d->side_name) && plain_is_name(g->d->side_name) ? g->d->side_name
									   : "distilled";
}

static bool put_names(const struct plain_saying *g, struct buf *b)
{
	for (uint32_t i = 0; i < g->s->file_count; i++) {
		const char *path = distil_path(g->d, g->s->files[i]);
		const char *slash = strrchr(path, '/');
		const char *name = slash ? slash + 1 : path;

		if (!plain_is_name(name) || (b->len && strstr(buf_str(b), name)))
			return false;
		/* A job that writes is not to meet the files it was made of. */
		buf_addf(b, "%s%s.%s", i ? ":" : "", name_of(g), name);
	}
	return true;
}

static void say_names(const struct plain_saying *g)
{
	const struct plain_stream *s = g->s;
	struct buf b = { 0 };

	if ((s->threads == 1 || s->is_shared) && !s->is_after &&
	    s->file_count <= PLAIN_FILES_MOST && s->files[0] != UINT32_MAX && put_names(g, &b))
		jobsection_say(g->to, DISTIL_SURE, "filename", buf_str(&b), "%s%s, as %s",
			       s->file_count > 1 ? "files that are used in turn" : "the file",
			       s->is_shared ? " that all of them use" : "",
			       distil_path(g->d, s->files[0]));
	else if (s->file_count > 1)
		jobsection_note(g->to,
				"%" PRIu32
				" files, %s; here each thread has one, for all their bytes",
				s->file_count, s->is_after ? "one after the other" : "in turn");
	buf_fini(&b);
}

/* Who draws places misses the first and the last ones: the roundest edge that is not too far
 * away. */
static uint64_t round_edge(uint64_t off, uint64_t slack)
{
	for (uint64_t unit = UINT64_C(1) << 50; unit > 1; unit /= 2)
		if (off % unit <= slack)
			return off - off % unit;
	return off;
}

/* Where nearly all of it was touched, the whole file is what it moves in. */
static void find_region(const struct plain_saying *g, uint64_t *off, uint64_t *bytes)
{
	const struct plain_stream *s = g->s;
	uint64_t file = file_bytes(g);

	*off = s->low == UINT64_MAX ? 0 : s->low;
	*bytes = s->high > *off ? s->high - *off : g->thread_bytes;
	if (s->is_after || s->file_count > PLAIN_FILES_MOST) {
		*off = 0;
		*bytes = g->thread_bytes;
	}
	if (g->is_random && !s->is_after && *bytes) {
		uint64_t slack = 4 * *bytes / (s->dir[0].count + s->dir[1].count);
		uint64_t end = *off + *bytes;

		*off = round_edge(*off, slack);
		if (file >= end && file - end <= slack)
			end = file;
		*bytes = end - *off;
	}
	/* Each direction has its own place, and the sum of both is counted. */
	if (g->reads && g->writes && !g->is_random && g->thread_bytes > *bytes &&
	    g->thread_bytes <= 2 * *bytes)
		*bytes = g->thread_bytes;
}

/* Of size, which is of all files together. */
static void say_amount(const struct plain_saying *g, uint64_t bytes)
{
	double times = (double)g->thread_bytes / (double)bytes;

	if (g->is_mapped)
		return;
	if (times >= 1.9 && fabs(times - round(times)) < 0.02 * times) {
		plain_say_number(g->to, DISTIL_LIKELY, "loops", (uint64_t)llround(times),
				 "so many times its size is read or written");
		return;
	}
	if (times > 0.99 && times < 1.01)
		return;
	plain_say_size(g->to, DISTIL_SURE, "io_size", g->thread_bytes,
		       times < 1 ? "so much is read and written of it"
				 : "so much is read and written, some of it again");
}

/* Did it draw places that it had drawn before? */
static void say_map(const struct plain_saying *g, uint64_t bytes)
{
	struct described_file f;
	double could;

	if (!g->is_random || g->writes || g->s->threads > 1 || g->s->file_count > 1 ||
	    g->s->files[0] == UINT32_MAX)
		return;
	filebook_describe(&g->d->files, g->s->files[0], &f);
	could = (double)u64_min(g->thread_bytes, bytes);
	if (f.unique_bytes == UINT64_MAX || (double)f.unique_bytes > 0.97 * could)
		return;
	jobsection_say(g->to, DISTIL_LIKELY, "norandommap", "1",
		       "%" PRIu64 " different bytes are read where each block once would be %.0f",
		       f.unique_bytes, could);
}

void plain_say_place(const struct plain_saying *g)
{
	const struct plain_stream *s = g->s;
	uint64_t off, bytes, file = file_bytes(g);
	uint64_t files = s->is_after ? 1 : u64_max(1, s->file_count);

	say_names(g);
	find_region(g, &off, &bytes);
	if (off)
		plain_say_size(g->to, DISTIL_SURE, "offset", off,
			       "nothing in front of it is read or written");
	if (file > off + bytes && !s->is_after)
		plain_say_size(g->to, DISTIL_SURE, "filesize", file, "the file is so long");
	plain_say_size(g->to, DISTIL_SURE, "size", bytes * files,
		       files > 1 ? "what is read or written lies within, of all files"
				 : "what is read or written lies within");
	say_amount(g, bytes * files);
	say_map(g, bytes * files);
}
