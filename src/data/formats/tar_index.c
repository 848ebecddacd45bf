/* SPDX-License-Identifier: Apache-2.0 */
/* tar_index.c - the samples of a tar file by the index that lies beside it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/signals.h"
#include "base/util.h"
#include "data/file/file.h"
#include "data/formats/formats_internal.h"

/*
 * What DALI's wds2idx writes (NVIDIA/DALI, tools/wds2idx.py): "v1.2 SAMPLES", then a line for each
 * sample, of "EXTENSION OFFSET SIZE NAME" for each member, with a blank between them. OFFSET is
 * that of the member's bytes. Folders and hidden files are not in it.
 *
 * Nothing says which tar file it was made of. So a member is taken from it unseen only where it
 * follows the one before it by one header and no more: then it is at the right place if all before
 * it are, up to the end mark of the file, which is looked at. Any other is walked to, and has to be
 * what is said; so have the first, the last and a few between them. That also finds the places that
 * wds2idx itself has wrong, before members with extended headers.
 */
#define VERSION "v1.2"
#define SPOTS 16u

/* An interrupt is looked for after so many lines. */
#define LINES_AT_ONCE 65536u

#define DIGITS_MAX 19u

struct tar_index {
	FILE *f;
	char path[PATH_MAX];
	uint64_t lines, line; /* of samples: all; the one that is read, from 0 */
	bool is_first;        /* a member of its line */
	char text[PATH_MAX];  /* what was read last */
	int end;              /* and what stood behind it */
	/* The member. */
	uint64_t off, size;
};

/* ---- its text ---- */

/* What stands before the next blank or the end of the line, into x->text. */
static bool read_word(struct tar_index *x)
{
	size_t n = 0;
	int c;

	while ((c = getc_unlocked(x->f)) != ' ' && c != '\n' && c != EOF) {
		if (c == '\0' || n + 1 == sizeof(x->text))
			return false;
		x->text[n++] = (char)c;
	}
	x->text[n] = '\0';
	x->end = c;
	return n || c != EOF;
}

static bool read_count(struct tar_index *x, uint64_t *v)
{
	size_t n;

	if (!read_word(x))
		return false;
	n = strspn(x->text, "0123456789");
	*v = 0;
	for (size_t i = 0; i < n && n <= DIGITS_MAX; i++)
		*v = *v * 10 + (uint64_t)(x->text[i] - '0');
	return n > 0 && n <= DIGITS_MAX && !x->text[n];
}

static bool read_head(struct tar_index *x)
{
	return read_word(x) && x->end == ' ' && strcmp(x->text, VERSION) == 0 &&
	       read_count(x, &x->lines) && x->end == '\n' && x->lines > 0;
}

/* Its name is in x->text. */
static bool read_member(struct tar_index *x)
{
	return read_word(x) && x->end == ' ' && read_count(x, &x->off) && x->end == ' ' &&
	       read_count(x, &x->size) && x->end == ' ' && read_word(x) && *x->text;
}

/* ---- the file by it ---- */

/* That it is followed no further; its first reason counts. */
static int stale(struct tar_walk *w, const struct tar_index *x, const char *why)
{
	if (!w->l->note.code)
		look_index_note(w->l, x->path, "line %" PRIu64 ": %s", x->line + 2, why);
	return -ESTALE;
}

static int other_member(struct tar_walk *w, const struct tar_index *x)
{
	return stale(w, x, "the tar file has no such member there");
}

/* Names with a backslash are as `tar --list` quotes them. */
static bool is_quoted(const struct tar_index *x)
{
	return strchr(x->text, '\\') != NULL;
}

static bool is_spot(const struct tar_index *x)
{
	return x->is_first && (x->line % (x->lines / SPOTS + 1) == 0 || x->line == x->lines - 1);
}

static int take_unseen(struct tar_walk *w, const struct tar_index *x)
{
	const struct look *l = w->l;

	if (x->off > l->file_bytes || x->size > l->file_bytes - x->off)
		return other_member(w, x);
	snprintf(w->name, sizeof(w->name), "%s", x->text);
	w->size = x->size;
	w->at = x->off + round_up(x->size, TAR_BLOCK);
	return tar_take(w, x->off);
}

/* What is no tar file there says that the index is wrong, or the file: which, the walk from the
 * file's beginning tells. */
static int walk_on(struct tar_walk *w)
{
	int r = w->at < w->l->file_bytes ? tar_step(w) : 1;

	if (r == -EINVAL)
		w->l->err->code = 0;
	return r == -EINVAL ? -ESTALE : r;
}

static int walk_to(struct tar_walk *w, const struct tar_index *x)
{
	int r;

	do
		r = walk_on(w);
	while (r == 0 && !w->is_member);
	if (r < 0 && r != -ESTALE)
		return r;
	if (r || w->data != x->off || w->size != x->size ||
	    (!is_quoted(x) && strcmp(w->name, x->text) != 0))
		return other_member(w, x);
	return 0;
}

static int take_one(struct tar_walk *w, const struct tar_index *x)
{
	if (tar_key_length(x->text) == 0)
		return 0;
	return x->off == w->at + TAR_BLOCK && !is_spot(x) && !is_quoted(x) ? take_unseen(w, x)
									   : walk_to(w, x);
}

static int take_line(struct tar_walk *w, struct tar_index *x)
{
	int r = 0;

	x->end = ' ';
	for (x->is_first = true; x->end == ' ' && r == 0; x->is_first = false) {
		if (!read_member(x))
			return stale(w, x, "is not as wds2idx writes it");
		r = take_one(w, x);
	}
	return r;
}

/* Behind the last of it there is nothing of a sample. */
static int take_end(struct tar_walk *w, const struct tar_index *x)
{
	int r;

	if (x->end != EOF && getc_unlocked(x->f) != EOF)
		return stale(w, x, "more lines follow than the first one says");
	do
		r = walk_on(w);
	while (r == 0 && !w->is_member);
	if (r == 0 || r == -ESTALE)
		return stale(w, x, "the tar file goes on behind it");
	return r;
}

static int tar_index_follow(struct tar_walk *w, struct tar_index *x)
{
	int r = 0;

	if (!read_head(x)) {
		look_index_note(w->l, x->path,
				"does not begin with \"" VERSION
				" SAMPLES\", as wds2idx writes it");
		return -ESTALE;
	}
	for (x->line = 0; x->line < x->lines && r == 0; x->line++) {
		r = take_line(w, x);
		if (r == 0 && x->line % LINES_AT_ONCE == 0 && signals_taken())
			r = mlgen_fail(w->l->err, -EINTR, "%s: interrupted", w->l->path);
	}
	return r ? r : take_end(w, x);
}

enum { WAYS = 3 };

/* wds2idx's own name ends at the first dot. */
static bool name_index(char *out, size_t size, const char *path, unsigned way)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *dot = way == 0 ? strrchr(name, '.') : strchr(name, '.');
	size_t stem = dot && way < 2 ? (size_t)(dot - path) : strlen(path);
	int n = snprintf(out, size, "%.*s.idx", (int)stem, path);

	return n > 0 && (size_t)n < size;
}

bool tar_beside(const char *path, unsigned i, char *out, size_t size)
{
	if (i < WAYS && !name_index(out, size, path, i))
		*out = '\0';
	return i < WAYS;
}

static int follow_index(struct tar_walk *w, struct tar_index *x)
{
	struct look *l = w->l;
	int r;

	x->f = look_index_open(l, tar_beside, x->path);
	if (!x->f)
		return 0;
	r = tar_index_follow(w, x);
	look_index_close(l, x->f);
	if (r != -ESTALE)
		return r;
	*w = (struct tar_walk){ .l = l };
	look_again(l);
	return 0;
}

int tar_by_index(struct tar_walk *w)
{
	struct tar_index *x = mem_zalloc(sizeof(*x));
	int r = follow_index(w, x);

	mem_free(x);
	return r;
}
