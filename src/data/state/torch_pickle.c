/* SPDX-License-Identifier: Apache-2.0 */
/* torch_pickle.c - data.pkl of an archive: the dict of tensors, as Python's pickler writes it. */
#include "data/state/state_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

/* Opcodes of pickle's protocols 1 and 2 (Python's Lib/pickletools.py). */
enum {
	PROTO = 0x80,
	EMPTY_DICT = '}',
	EMPTY_TUPLE = ')',
	MARK = '(',
	TUPLE = 't',
	TUPLE1 = 0x85,
	NEWFALSE = 0x89,
	GLOBAL = 'c',
	REDUCE = 'R',
	BINPERSID = 'Q',
	BINUNICODE = 'X',
	BININT1 = 'K',
	BININT2 = 'M',
	BININT = 'J',
	LONG1 = 0x8a,
	BINPUT = 'q',
	LONG_BINPUT = 'r',
	BINGET = 'h',
	LONG_BINGET = 'j',
	SETITEM = 's',
	SETITEMS = 'u',
	STOP = '.',
};

/* Items of a dict that one SETITEMS sets. */
#define BATCH 1000

/* Types of a storage; bytes that are no whole number of values are a byte's. */
/* clang-format off */
static const struct type {
	unsigned value_bytes;
	const char *global;
} types[] = {
	{ 0, "torch\nByteStorage\n" },
	{ 1, "torch\nCharStorage\n" },
	{ 2, "torch\nHalfStorage\n" },
	{ 4, "torch\nFloatStorage\n" },
	{ 8, "torch\nDoubleStorage\n" },
};
/* clang-format on */
#define TYPES ARRAY_LEN(types)

/* What is written again by the number under which it was first remembered;
 * 0 = it was not yet (the dict has that number). */
struct pickler {
	struct window *w;
	uint64_t memo; /* objects remembered so far */
	uint64_t rebuild, storage, cpu, hooks;
	uint64_t types[TYPES];
};

static void op(struct pickler *p, unsigned char code)
{
	window_put(p->w, &code, 1);
}

/* A number in one byte, or else in four. */
static void op_number(struct pickler *p, unsigned char small, unsigned char large, uint64_t v)
{
	op(p, v < 256 ? small : large);
	window_number(p->w, v < 256 ? 1 : 4, v);
}

static uint64_t torch_pickle_remember(struct pickler *p)
{
	op_number(p, BINPUT, LONG_BINPUT, p->memo);
	return p->memo++;
}

/* An object of its own. */
static void string(struct pickler *p, const char *text)
{
	size_t bytes = strlen(text);

	op(p, BINUNICODE);
	window_number(p->w, 4, bytes);
	window_put(p->w, text, bytes);
	torch_pickle_remember(p);
}

static bool torch_pickle_is_known(struct pickler *p, uint64_t memo)
{
	if (memo)
		op_number(p, BINGET, LONG_BINGET, memo);
	return memo != 0;
}

/* One that all tensors share. */
static void shared_string(struct pickler *p, uint64_t *memo, const char *text)
{
	if (torch_pickle_is_known(p, *memo))
		return;
	*memo = p->memo;
	string(p, text);
}

static void global(struct pickler *p, uint64_t *memo, const char *names)
{
	if (torch_pickle_is_known(p, *memo))
		return;
	op(p, GLOBAL);
	window_text(p->w, names);
	*memo = torch_pickle_remember(p);
}

/* The fewest bytes with room for a sign. */
static unsigned signed_bytes(uint64_t v)
{
	unsigned bytes = 1;

	while (bytes < 8 && v >> (8 * bytes - 1))
		bytes++;
	return bytes;
}

static void integer(struct pickler *p, uint64_t v)
{
	if (v < 256) {
		op(p, BININT1);
		window_number(p->w, 1, v);
	} else if (v < 65536) {
		op(p, BININT2);
		window_number(p->w, 2, v);
	} else if (v <= INT32_MAX) {
		op(p, BININT);
		window_number(p->w, 4, v);
	} else {
		op(p, LONG1);
		window_number(p->w, 1, signed_bytes(v));
		window_number(p->w, signed_bytes(v), v);
	}
}

static void tuple_of_one(struct pickler *p, uint64_t v)
{
	integer(p, v);
	op(p, TUPLE1);
	torch_pickle_remember(p);
}

static unsigned type_of(const struct state_tensor *t)
{
	for (unsigned i = 1; i < TYPES; i++)
		if (types[i].value_bytes == t->value_bytes && t->bytes % t->value_bytes == 0)
			return i;
	return 0;
}

static uint64_t values_of(const struct state_tensor *t, unsigned type)
{
	return type == 0 ? t->bytes : t->bytes / types[type].value_bytes;
}

/* ('storage', type, key, 'cpu', values), the persistent id of a storage. */
static void storage(struct pickler *p, uint64_t key, unsigned type, uint64_t values)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, key);
	op(p, MARK);
	shared_string(p, &p->storage, "storage");
	global(p, &p->types[type], types[type].global);
	string(p, text);
	shared_string(p, &p->cpu, "cpu");
	integer(p, values);
	op(p, TUPLE);
	torch_pickle_remember(p);
	op(p, BINPERSID);
}

static void empty_hooks(struct pickler *p)
{
	global(p, &p->hooks, "collections\nOrderedDict\n");
	op(p, EMPTY_TUPLE);
	op(p, REDUCE);
	torch_pickle_remember(p);
}

/* name: _rebuild_tensor_v2(storage, 0, (values,), (1,), False, OrderedDict()) */
static void item(struct pickler *p, uint64_t key, const struct state_tensor *t)
{
	unsigned type = type_of(t);
	uint64_t values = values_of(t, type);

	string(p, t->name);
	global(p, &p->rebuild, "torch._utils\n_rebuild_tensor_v2\n");
	op(p, MARK);
	storage(p, key, type, values);
	integer(p, 0);
	tuple_of_one(p, values);
	tuple_of_one(p, 1);
	op(p, NEWFALSE);
	empty_hooks(p);
	op(p, TUPLE);
	torch_pickle_remember(p);
	op(p, REDUCE);
	torch_pickle_remember(p);
}

static void items(struct pickler *p, const struct shard *f)
{
	struct state_tensor t;

	for (uint64_t i = 0; i < f->tensors; i++) {
		if (i % BATCH == 0 && f->tensors > 1)
			op(p, MARK);
		shard_tensor(f, i, &t);
		item(p, i, &t);
		if (i % BATCH == BATCH - 1)
			op(p, SETITEMS);
	}
	if (f->tensors == 1) {
		op(p, SETITEM);
		return;
	}
	/* A full batch is followed by another, be it empty. */
	if (f->tensors && f->tensors % BATCH == 0)
		op(p, MARK);
	if (f->tensors)
		op(p, SETITEMS);
}

void torch_pickle(const struct shard *f, struct window *w)
{
	struct pickler p = { .w = w };

	op(&p, PROTO);
	window_number(w, 1, 2);
	op(&p, EMPTY_DICT);
	torch_pickle_remember(&p);
	items(&p, f);
	op(&p, STOP);
}
