/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c - format=npy: a NumPy array of all samples, and optionally an array of their labels. */
#include "data/formats/formats_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "data/scan/scan.h"

struct npy_array {
	uint64_t data_off, data_bytes, file_bytes;
	uint64_t samples; /* 0 = the array is empty */
};

/* Limit of the header's text, which only a structure of thousands of fields exceeds. */
#define NPY_TEXT_MAX (1u << 20)

/* ---- the header of an array from any writer ---- */

/*
 * The text is a Python literal (numpy.lib.format): a dictionary of descr, fortran_order and shape.
 * descr is a string or a list of fields. A field is (name, descr) or (name, descr, shape), where
 * name may be (title, name) and descr again a list, because structures may be nested.
 */
#define NESTING_MAX 64u

/* The rest of the text, and the first fault. */
struct header_text {
	const char *at, *end;
	unsigned nested;
	const char *why;
};

static bool text_fail(struct header_text *t, const char *why)
{
	if (!t->why)
		t->why = why;
	return false;
}

static bool peek(struct header_text *t, char c)
{
	while (t->at < t->end &&
	       (*t->at == ' ' || *t->at == '\n' || *t->at == '\t' || *t->at == '\r'))
		t->at++;
	return t->at < t->end && *t->at == c;
}

static bool accept(struct header_text *t, char c)
{
	if (!peek(t, c))
		return false;
	t->at++;
	return true;
}

static bool expect(struct header_text *t, char c)
{
	return accept(t, c) ||
	       text_fail(t, "its header is not a dictionary as numpy.save writes it");
}

/* Parse a quoted string; names may have any characters. */
static bool parse_string(struct header_text *t, const char **from, size_t *bytes)
{
	if (peek(t, 'u') || peek(t, 'b'))
		t->at++;
	if (!peek(t, '\'') && !peek(t, '"'))
		return expect(t, '\'');
	char quote = *t->at++;
	*from = t->at;
	while (t->at < t->end && *t->at != quote)
		t->at += *t->at == '\\' && t->at + 1 < t->end ? 2 : 1;
	*bytes = (size_t)(t->at - *from);
	return expect(t, quote);
}

static bool is_digit(const struct header_text *t)
{
	return t->at < t->end && *t->at >= '0' && *t->at <= '9';
}

/* Parse a number; Python 2 wrote some as 10L. */
static bool parse_count(struct header_text *t, uint64_t *v)
{
	*v = 0;
	if (peek(t, '-'))
		return text_fail(t, "its shape has a negative side");
	if (!is_digit(t))
		return text_fail(t, "a number is missing in its header");
	for (; is_digit(t); t->at++)
		if (__builtin_mul_overflow(*v, 10, v) ||
		    __builtin_add_overflow(*v, (uint64_t)(*t->at - '0'), v))
			return text_fail(t, "a side is too large");
	accept(t, 'L');
	return true;
}

static bool multiply(struct header_text *t, uint64_t *v, uint64_t by)
{
	return !__builtin_mul_overflow(*v, by, v) ||
	       text_fail(t, "it has more bytes than a file can have");
}

/* Parse a shape: (3,), (), (2, 3), or the bare number that a field may have. */
static bool parse_shape(struct header_text *t, struct npy_head *h)
{
	uint64_t side;

	h->axes = 0;
	h->first_axis = h->items = 1;
	if (!accept(t, '('))
		return parse_count(t, &h->items);
	while (!accept(t, ')')) {
		if (!parse_count(t, &side) || !multiply(t, &h->items, side))
			return false;
		if (h->axes++ == 0)
			h->first_axis = side;
		if (!accept(t, ',') && !peek(t, ')'))
			return expect(t, ')');
	}
	return true;
}

static bool is_one_of(char c, const char *of)
{
	return c && strchr(of, c);
}

/* Parse a type like "<f4": byte order, kind, bytes of an element. "U" counts letters of four bytes
 * each. A date is followed by its unit. */
static bool parse_plain_type(struct header_text *t, uint64_t *bytes)
{
	struct header_text in = { 0 };
	const char *from = NULL;
	size_t n = 0;

	if (!parse_string(t, &from, &n))
		return false;
	in.at = from;
	in.end = from + n;
	if (in.at < in.end && is_one_of(*in.at, "<>|="))
		in.at++;
	if (in.at == in.end)
		return text_fail(t, "its descr is empty");
	char kind = *in.at++;
	if (kind == 'O' || kind == 'T')
		return text_fail(t, "it holds Python objects, whose size only Python knows; use an "
				    "array of numbers or of strings of one length");
	if (!is_one_of(kind, "?bBiufcmMSaUV"))
		return text_fail(t, "its descr has an unknown type");
	*bytes = 1;
	if (kind == '?' && in.at == in.end)
		return true;
	return (parse_count(&in, bytes) || text_fail(t, "its descr has no number of bytes")) &&
	       multiply(t, bytes, kind == 'U' ? 4 : 1);
}

static bool parse_type(struct header_text *t, uint64_t *bytes);

/* Parse the rest of (descr, shape) or (name, descr[, shape]) from descr on. */
static bool parse_tuple_rest(struct header_text *t, uint64_t *bytes)
{
	struct npy_head repeat = { .items = 1 };

	if (!parse_type(t, bytes))
		return false;
	if (accept(t, ',') && !peek(t, ')') && !parse_shape(t, &repeat))
		return false;
	accept(t, ',');
	return expect(t, ')') && multiply(t, bytes, repeat.items);
}

static bool parse_field_name(struct header_text *t)
{
	const char *from;
	size_t n;

	if (!accept(t, '('))
		return parse_string(t, &from, &n);
	return parse_string(t, &from, &n) && expect(t, ',') && parse_string(t, &from, &n) &&
	       (accept(t, ',') || true) && expect(t, ')');
}

static bool parse_fields(struct header_text *t, uint64_t *bytes)
{
	uint64_t one;

	*bytes = 0;
	while (!accept(t, ']')) {
		if (!expect(t, '(') || !parse_field_name(t) || !expect(t, ',') ||
		    !parse_tuple_rest(t, &one))
			return false;
		if (__builtin_add_overflow(*bytes, one, bytes))
			return text_fail(t, "its elements are too large");
		if (!accept(t, ',') && !peek(t, ']'))
			return expect(t, ']');
	}
	return true;
}

static bool parse_type(struct header_text *t, uint64_t *bytes)
{
	bool is_right;

	*bytes = 0;
	if (++t->nested > NESTING_MAX)
		return text_fail(t, "its descr is nested too deeply");
	if (accept(t, '['))
		is_right = parse_fields(t, bytes);
	else if (accept(t, '('))
		is_right = parse_tuple_rest(t, bytes);
	else
		is_right = parse_plain_type(t, bytes);
	t->nested--;
	return is_right;
}

static bool parse_bool(struct header_text *t, bool *v)
{
	static const char *const words[] = { "False", "True" };

	peek(t, ' ');
	for (unsigned i = 0; i < 2; i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(t->end - t->at) < n || memcmp(t->at, words[i], n) != 0)
			continue;
		t->at += n;
		*v = i;
		return true;
	}
	return text_fail(t, "fortran_order is neither True nor False");
}

enum { DESCR = 1, ORDER = 2, SHAPE = 4, ALL = 7 };

/* Parse a "key: value", and set its bit in *seen. */
static bool parse_entry(struct header_text *t, struct npy_head *h, unsigned *seen)
{
	const char *key = "";
	size_t n = 0;

	if (!parse_string(t, &key, &n) || !expect(t, ':'))
		return false;
	if (n == 5 && memcmp(key, "descr", n) == 0) {
		*seen |= DESCR;
		return parse_type(t, &h->item_bytes);
	}
	if (n == 13 && memcmp(key, "fortran_order", n) == 0) {
		*seen |= ORDER;
		return parse_bool(t, &h->is_fortran);
	}
	if (n == 5 && memcmp(key, "shape", n) == 0) {
		*seen |= SHAPE;
		if (!peek(t, '('))
			return expect(t, '(');
		return parse_shape(t, h);
	}
	return text_fail(t, "its header has a key other than descr, fortran_order and shape");
}

const char *npy_head_prefix(struct npy_head *h, const uint8_t *at, size_t bytes)
{
	if (bytes < 10 || memcmp(at, "\x93NUMPY", 6) != 0)
		return "no NumPy array begins here: \\x93NUMPY is missing";
	if (at[6] < 1 || at[6] > 3 || at[7] != 0)
		return "a NumPy array of a version other than 1.0, 2.0 and 3.0";
	h->has_long_length = at[6] > 1;
	unsigned length_bytes = h->has_long_length ? 4 : 2;
	if (bytes < 8 + length_bytes)
		return "the array ends in its header";
	h->header_bytes = 8 + length_bytes + look_le(at + 8, length_bytes);
	if (h->header_bytes > NPY_TEXT_MAX)
		return "its header is larger than 1 MiB";
	return NULL;
}

const char *npy_head_text(struct npy_head *h, const char *text, size_t bytes)
{
	struct header_text t = { .at = text, .end = text + bytes };
	unsigned seen = 0;
	uint64_t all;

	if (!expect(&t, '{'))
		return t.why;
	while (!accept(&t, '}')) {
		if (!parse_entry(&t, h, &seen))
			return t.why;
		if (!accept(&t, ',') && !peek(&t, '}'))
			expect(&t, '}');
		if (t.why)
			return t.why;
	}
	if (seen != ALL)
		return "its header lacks one of descr, fortran_order and shape";
	if (__builtin_mul_overflow(h->items, h->item_bytes, &all) || all > INT64_MAX)
		return "it has more bytes than a file can have";
	return NULL;
}

int npy_head_look(struct look *l, uint64_t off, uint64_t end, struct npy_head *h)
{
	size_t n = end - off < NPY_PREFIX_MAX ? (size_t)(end - off) : NPY_PREFIX_MAX;
	const uint8_t *at = look_at(l, off, n);

	if (!at)
		return l->err->code;
	const char *why = npy_head_prefix(h, at, n);
	if (why)
		return look_fail(l, off, "%s", why);
	n = h->has_long_length ? 12 : 10;
	if (h->header_bytes > end - off)
		return look_fail(l, off,
				 "the array's header of %" PRIu64
				 " bytes is incomplete: only %" PRIu64 " bytes exist",
				 h->header_bytes, end - off);
	char *text = mem_zalloc(h->header_bytes);
	int r = look_copy(l, off + n, text, h->header_bytes - n);
	why = r ? NULL : npy_head_text(h, text, h->header_bytes - n);
	mem_free(text);
	if (r)
		return r;
	if (why)
		return look_fail(l, off, "%s", why);
	uint64_t data = h->items * h->item_bytes;
	if (data > end - off - h->header_bytes)
		return look_fail(l, off,
				 "the array is incomplete: its header says %" PRIu64
				 " bytes of data, but only %" PRIu64 " exist",
				 data, end - off - h->header_bytes);
	return 0;
}

/* ---- arrays in files from any writer, alone or with a twin ---- */

/*
 * Look at the array in the open file. The first axis counts the samples. An array with a single
 * axis is one sample, and so is an array whose first axis varies fastest, because its rows are not
 * contiguous. However, if the single axis has `labels` elements, as many as the other file of the
 * pair has samples, each element is a sample. 0 or -errno with l->err.
 */
static int npy_array_look(struct look *l, uint64_t labels, struct npy_array *a)
{
	struct npy_head h = { 0 };
	int r = npy_head_look(l, 0, l->file_bytes, &h);

	if (r)
		return r;
	a->data_off = h.header_bytes;
	a->data_bytes = h.items * h.item_bytes;
	a->file_bytes = l->file_bytes;
	a->samples = 1;
	if (a->data_bytes == 0)
		a->samples = 0;
	else if (h.axes > 1 && !h.is_fortran)
		a->samples = h.first_axis;
	else if (labels && h.axes == 1 && h.first_axis == labels)
		a->samples = labels;
	return 0;
}

static int open_twin(struct look *l, const char *first, const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return mlgen_fail(l->err, -errno, "%s: %s; by scan_pair=, this is the twin of %s",
				  path, strerror(errno), first);
	if (!S_ISREG(st.st_mode))
		return mlgen_fail(
			l->err, -EINVAL,
			"%s: is not a regular file; by scan_pair=, this is the twin of %s", path,
			first);
	return look_open(l, AT_FDCWD, path, path, (uint64_t)st.st_size);
}

/* Replace the array *a of the open file by that of its twin (scan_pair=), which must have the same
 * number of samples. The twin stays open. */
static int npy_twin_look(struct look *l, struct npy_array *a)
{
	const char *first = l->path;
	uint64_t samples = a->samples;
	char path[PATH_MAX];
	struct namepair pair;
	int r = -EINVAL;

	if (namepair_parse(&pair, l->options->scan_pair))
		r = namepair_twin(&pair, l->path, path, PATH_MAX);
	if (r < 0)
		r = mlgen_fail(l->err, r, "%s: scan_pair=%s does not yield the name of a twin: %s",
			       l->path, l->options->scan_pair, strerror(-r));
	else
		r = 0;
	look_close(l);
	if (r == 0)
		r = open_twin(l, first, path);
	if (r == 0)
		r = npy_array_look(l, samples > 1 ? samples : 0, a);
	if (r == 0 && a->samples != samples)
		r = mlgen_fail(l->err, -EINVAL,
			       "%s: has %" PRIu64 " samples, but its twin %s has %" PRIu64
			       "; scan_pair= needs equal numbers",
			       first, samples, l->path, a->samples);
	l->path = first;
	return r;
}

/* ---- files of mlgen ---- */

enum { SAMPLES, LABELS, PARTS }; /* file_shape.part */

/* dataset.common, if the dataset has labels. */
struct npy_labels {
	uint64_t size_bytes; /* size of each label */
};

static uint64_t element_bytes(const struct file_shape *shape)
{
	const struct npy_labels *labels = shape->common;

	return shape->part == LABELS ? labels->size_bytes : format_sample_bytes(shape);
}

/* Facts of a found array, and of its twin. */
enum { DATA_OFF, ROW_BYTES, ARRAY };
enum { TWIN = ARRAY, TWIN_FILE_BYTES = 2 * ARRAY };

static const uint64_t *array_facts(const struct file_shape *shape)
{
	return shape->facts + (shape->part == LABELS ? TWIN : 0);
}

static uint64_t npy_file_bytes(const struct file_shape *shape)
{
	if (shape->facts && shape->part == LABELS)
		return shape->facts[TWIN_FILE_BYTES];
	return NPY_HEADER_BYTES + shape->samples * element_bytes(shape);
}

static void npy_sample_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			     uint64_t *off, uint64_t *len)
{
	*off = NPY_HEADER_BYTES + first * element_bytes(shape);
	*len = n * element_bytes(shape);
}

static bool npy_write_next(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			   size_t *len)
{
	uint64_t left = npy_file_bytes(&w->shape) - w->pos;
	uint8_t *to = buf;
	size_t head = 0;

	if (left == 0)
		return false;
	*off = w->pos;
	*len = left < bytes ? (size_t)left : bytes;
	if (w->pos == 0) {
		head = NPY_HEADER_BYTES;
		if (w->shape.part == LABELS) {
			char shape[48];

			snprintf(shape, sizeof(shape), "%" PRIu64 ", %" PRIu64, w->shape.samples,
				 element_bytes(&w->shape));
			npy_header(to, "|u1", shape);
		} else {
			npy_samples_header(to, &w->shape);
		}
	}
	format_content(to + head, *len - head, w->seed_index, w->pos + head - NPY_HEADER_BYTES);
	w->pos += *len;
	return true;
}

static int npy_init(struct dataset *ds, struct mlgen_err *err)
{
	(void)err;
	if (ds->options.label_size_bytes == 0)
		return 0;
	struct npy_labels *labels = mem_zalloc(sizeof(*labels));
	labels->size_bytes = ds->options.label_size_bytes;
	ds->common = labels;
	ds->parts = PARTS;
	return 0;
}

static void npy_fini(struct dataset *ds)
{
	mem_free(ds->common);
	ds->common = NULL;
}

static int npy_look(struct look *l)
{
	bool has_twin = l->options && l->options->scan_pair;
	struct npy_array a, twin;
	int r = npy_array_look(l, 0, &a);

	if (r || a.samples == 0)
		return r;
	twin = a;
	r = has_twin ? npy_twin_look(l, &twin) : 0;
	if (r)
		return r;
	l->samples = a.samples;
	l->sample_bytes = a.data_bytes + (has_twin ? twin.data_bytes : 0);
	l->facts[DATA_OFF] = a.data_off;
	l->facts[ROW_BYTES] = a.data_bytes / a.samples;
	l->facts[TWIN + DATA_OFF] = twin.data_off;
	l->facts[TWIN + ROW_BYTES] = twin.data_bytes / a.samples;
	l->facts[TWIN_FILE_BYTES] = twin.file_bytes;
	return 0;
}

static void npy_scanned_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			      uint64_t *off, uint64_t *len)
{
	const uint64_t *facts = array_facts(shape);

	*off = facts[DATA_OFF] + first * facts[ROW_BYTES];
	*len = n * facts[ROW_BYTES];
}

const struct format format_npy = {
	.name = "npy",
	.init = npy_init,
	.fini = npy_fini,
	.parts = { [LABELS] = { .suffix = "label.npy" } },
	.magic = "\x93NUMPY",
	.magic_bytes = 6,
	.file_bytes = npy_file_bytes,
	.sample_range = npy_sample_range,
	.write_next = npy_write_next,
	.framework = { &plan_npy, &plan_npy_direct },
	.reader = "NumPy",
	.is_array = true,
	.look = npy_look,
	.scanned_range = npy_scanned_range,
};

uint64_t npy_data_off(const struct file_shape *s)
{
	return s->facts ? array_facts(s)[DATA_OFF] : NPY_HEADER_BYTES;
}

uint64_t npy_data_bytes(const struct file_shape *s)
{
	return s->samples * (s->facts ? array_facts(s)[ROW_BYTES] : element_bytes(s));
}

void npy_header(uint8_t out[NPY_HEADER_BYTES], const char *descr, const char *shape)
{
	char text[NPY_HEADER_BYTES];
	int n = snprintf(text, sizeof(text),
			 "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);

	memset(out, ' ', NPY_HEADER_BYTES);
	memcpy(out, "\x93NUMPY\1\0\x76\0", 10); /* 0x76 = 128 - 10 */
	memcpy(out + 10, text, (size_t)n);
	out[NPY_HEADER_BYTES - 1] = '\n';
}

void npy_samples_header(uint8_t out[NPY_HEADER_BYTES], const struct file_shape *s)
{
	char shape[72];

	if (s->two_sides)
		snprintf(shape, sizeof(shape), "%" PRIu64 ", %" PRIu64 ", %" PRIu64, s->samples,
			 s->sides[0], s->sides[1]);
	else
		snprintf(shape, sizeof(shape), "%" PRIu64 ", %" PRIu64, s->samples,
			 format_sample_bytes(s));
	npy_header(out, "|u1", shape);
}
