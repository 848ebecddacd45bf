/* SPDX-License-Identifier: Apache-2.0 */
/* state_list.c - the tensors of a tensor_sizes file. */
#include "data/state/state_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/wordlines.h"
#include "data/state/state.h"

/* More tensors than any model has. */
#define BYTES_MAX (UINT64_C(1) << 30)

struct list_tensor {
	size_t name_at; /* in names */
	uint64_t bytes;
	unsigned line;
};

struct state_list {
	struct list_tensor *tensors;
	uint64_t count, bytes;
	struct buf names; /* each with its zero byte */
};

/* What is read, and how far. */
struct reading {
	struct wordlines in;
	struct state_list *list;
	unsigned kb_base;
	double scale;
};

#define FAIL(r, code, ...) wordlines_fail(&(r)->in, (code), __VA_ARGS__)

static void state_list_add(struct state_list *l, const char *name, uint64_t bytes, unsigned line)
{
	struct list_tensor *t;

	/* Powers of two: room doubles when it is used up. */
	if ((l->count & (l->count - 1)) == 0)
		l->tensors = mem_realloc(l->tensors,
					 (l->count ? l->count * 2 : 1) * sizeof(*l->tensors));
	t = &l->tensors[l->count];
	*t = (struct list_tensor){ l->names.len, bytes, line };
	if (name)
		buf_add(&l->names, name);
	else
		buf_addf(&l->names, "tensor.%" PRIu64, l->count);
	buf_addc(&l->names, '\0');
	l->count++;
	l->bytes += bytes;
}

/* Names go into files of several formats, and into messages. */
static int state_list_check_name(const struct reading *r, const char *name)
{
	if (strlen(name) >= STATE_NAME_BYTES)
		return FAIL(r, -EINVAL, "'%.40s...': a name has at most %d bytes", name,
			    STATE_NAME_BYTES - 1);
	for (const char *c = name; *c; c++) {
		if (*c <= ' ' || *c > '~' || strchr("\"'\\", *c))
			return FAIL(r, -EINVAL,
				    "'%s': a name has letters, digits and marks of ASCII, and no "
				    "quotes or backslashes",
				    name);
	}
	return 0;
}

static int take_tensor(struct reading *r, const char *name, const char *size)
{
	struct mlgen_err why = { 0 };
	uint64_t bytes = 0;
	int rc = units_size(size, r->kb_base, &bytes, &why);

	if (rc)
		return FAIL(r, rc, "%s; a line is BYTES, or NAME BYTES", why.text);
	if (bytes == 0)
		return FAIL(r, -EINVAL, "a tensor of 0 bytes; leave it out");
	if (bytes > INT64_MAX - r->list->bytes)
		return FAIL(r, -ERANGE, "the tensors are more than 8 EiB");
	if (r->list->count == STATE_LIST_MAX)
		return FAIL(r, -E2BIG, "more than %u tensors", STATE_LIST_MAX);
	if (name && state_list_check_name(r, name))
		return -EINVAL;
	state_list_add(r->list, name, state_scaled(bytes, r->scale), r->in.line);
	return 0;
}

static int take_line(void *arg, char *line)
{
	struct reading *r = arg;
	const char *first = wordlines_word(&line);
	const char *second = wordlines_word(&line);

	if (wordlines_word(&line))
		return FAIL(r, -EINVAL, "more than two words; a line is BYTES, or NAME BYTES");
	return second ? take_tensor(r, first, second) : take_tensor(r, NULL, first);
}

static int read_tensors(struct reading *r)
{
	static const struct wordlines_sort tensors = {
		.option = "tensor_sizes: ",
		.noun = "a list of tensors",
		.most_bytes = BYTES_MAX,
		.take = take_line,
	};
	int rc = wordlines_read(&r->in, &tensors, r);

	if (rc == 0 && r->list->count == 0)
		rc = mlgen_fail(r->in.err, -EINVAL,
				"tensor_sizes: %s: no tensor stands in it; write one a line: "
				"BYTES, or NAME BYTES",
				r->in.path);
	return rc;
}

/* For a sort, which knows nothing of the list. */
struct named {
	const char *name;
	unsigned line;
};

static int state_list_by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int state_list_check_twins(struct reading *r)
{
	const struct state_list *l = r->list;
	struct named *names = mem_array(l->count, sizeof(*names));
	int rc = 0;

	for (uint64_t i = 0; i < l->count; i++)
		names[i] = (struct named){ state_list_name(l, i), l->tensors[i].line };
	qsort(names, l->count, sizeof(*names), state_list_by_name);
	for (uint64_t i = 1; i < l->count && rc == 0; i++) {
		if (strcmp(names[i].name, names[i - 1].name) != 0)
			continue;
		r->in.line = names[i].line;
		rc = FAIL(r, -EINVAL, "'%s' is the name of line %u, too; each tensor has its own",
			  names[i].name, names[i - 1].line);
	}
	mem_free(names);
	return rc;
}

int state_list_new(struct state_list **out, const char *path, unsigned kb_base, double scale,
		   struct mlgen_err *err)
{
	struct reading r = { .in = { .path = path, .err = err },
			     .list = mem_zalloc(sizeof(*r.list)),
			     .kb_base = kb_base,
			     .scale = scale };
	int rc = read_tensors(&r);

	*out = NULL;
	if (rc == 0)
		rc = state_list_check_twins(&r);
	if (rc)
		state_list_free(r.list);
	else
		*out = r.list;
	return rc;
}

void state_list_free(struct state_list *l)
{
	if (!l)
		return;
	buf_fini(&l->names);
	mem_free(l->tensors);
	mem_free(l);
}

uint64_t state_list_tensors(const struct state_list *l)
{
	return l->count;
}

uint64_t state_list_bytes(const struct state_list *l)
{
	return l->bytes;
}

uint64_t state_list_size(const struct state_list *l, uint64_t i)
{
	return l->tensors[i].bytes;
}

const char *state_list_name(const struct state_list *l, uint64_t i)
{
	return l->names.s + l->tensors[i].name_at;
}

uint64_t state_scaled(uint64_t bytes, double scale)
{
	uint64_t scaled;

	if (scale >= 100)
		return bytes;
	scaled = (uint64_t)((double)bytes * scale / 100 + 0.5);
	return scaled ? scaled : 1;
}
