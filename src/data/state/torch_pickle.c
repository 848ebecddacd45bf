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

/* Number of items that one SETITEMS adds to a dict. */
#define BATCH 1000

/* Types of a storage. Row 0 is for a tensor that is not a whole number of values. */
/* clang-format off */
static const struct storage_type {
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

struct pickler {
	struct window *w;
	uint64_t memo; /* number of objects memoized so far */
	/* Memo numbers of shared objects; 0 = not written yet, because 0 is the dict. */
	uint64_t rebuild, storage, cpu, hooks;
	uint64_t types[TYPES];
};

static void write_op(struct pickler *p, unsigned char code)
{
	window_write(p->w, &code, 1);
}

/* Write the short opcode and one byte for a number below 256, otherwise four bytes. */
static void write_op_number(struct pickler *p, unsigned char small, unsigned char large, uint64_t v)
{
	write_op(p, v < 256 ? small : large);
	window_number(p->w, v < 256 ? 1 : 4, v);
}

static uint64_t memoize(struct pickler *p)
{
	write_op_number(p, BINPUT, LONG_BINPUT, p->memo);
	return p->memo++;
}

/* Write a string, even if it was written before. */
static void write_string(struct pickler *p, const char *text)
{
	size_t bytes = strlen(text);

	write_op(p, BINUNICODE);
	window_number(p->w, 4, bytes);
	window_write(p->w, text, bytes);
	memoize(p);
}

/* Refer to an object that was written before; false = it was not. */
static bool write_known(struct pickler *p, uint64_t memo)
{
	if (memo)
		write_op_number(p, BINGET, LONG_BINGET, memo);
	return memo != 0;
}

static void write_shared_string(struct pickler *p, uint64_t *memo, const char *text)
{
	if (write_known(p, *memo))
		return;
	*memo = p->memo;
	write_string(p, text);
}

static void write_global(struct pickler *p, uint64_t *memo, const char *names)
{
	if (write_known(p, *memo))
		return;
	write_op(p, GLOBAL);
	window_text(p->w, names);
	*memo = memoize(p);
}

/* The smallest number of bytes that hold a number and its sign. */
static unsigned signed_bytes(uint64_t v)
{
	unsigned bytes = 1;

	while (bytes < 8 && v >> (8 * bytes - 1))
		bytes++;
	return bytes;
}

static void write_integer(struct pickler *p, uint64_t v)
{
	if (v < 256) {
		write_op(p, BININT1);
		window_number(p->w, 1, v);
	} else if (v < 65536) {
		write_op(p, BININT2);
		window_number(p->w, 2, v);
	} else if (v <= INT32_MAX) {
		write_op(p, BININT);
		window_number(p->w, 4, v);
	} else {
		write_op(p, LONG1);
		window_number(p->w, 1, signed_bytes(v));
		window_number(p->w, signed_bytes(v), v);
	}
}

static void write_tuple_of_one(struct pickler *p, uint64_t v)
{
	write_integer(p, v);
	write_op(p, TUPLE1);
	memoize(p);
}

/* name: _rebuild_tensor_v2(storage, 0, (values,), (1,), False, OrderedDict()) */
static void write_item(struct pickler *p, uint64_t key, const struct state_tensor *t)
{
	unsigned type = TYPES - 1;

	while (type > 0 &&
	       (types[type].value_bytes != t->value_bytes || t->bytes % t->value_bytes != 0))
		type--;
	uint64_t values = type == 0 ? t->bytes : t->bytes / types[type].value_bytes;
	write_string(p, t->name);
	write_global(p, &p->rebuild, "torch._utils\n_rebuild_tensor_v2\n");
	write_op(p, MARK);

	/* ('storage', type, key, 'cpu', values): the persistent id of a storage. */
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, key);
	write_op(p, MARK);
	write_shared_string(p, &p->storage, "storage");
	write_global(p, &p->types[type], types[type].global);
	write_string(p, text);
	write_shared_string(p, &p->cpu, "cpu");
	write_integer(p, values);
	write_op(p, TUPLE);
	memoize(p);
	write_op(p, BINPERSID);

	write_integer(p, 0);
	write_tuple_of_one(p, values);
	write_tuple_of_one(p, 1);
	write_op(p, NEWFALSE);
	write_global(p, &p->hooks, "collections\nOrderedDict\n");
	write_op(p, EMPTY_TUPLE);
	write_op(p, REDUCE);
	memoize(p);
	write_op(p, TUPLE);
	memoize(p);
	write_op(p, REDUCE);
	memoize(p);
}

void torch_pickle(const struct shard *f, struct window *w)
{
	struct pickler p = { .w = w };
	struct state_tensor t;

	write_op(&p, PROTO);
	window_number(w, 1, 2);
	write_op(&p, EMPTY_DICT);
	memoize(&p);
	for (uint64_t i = 0; i < f->tensors; i++) {
		if (i % BATCH == 0 && f->tensors > 1)
			write_op(&p, MARK);
		shard_tensor(f, i, &t);
		write_item(&p, i, &t);
		if (i % BATCH == BATCH - 1)
			write_op(&p, SETITEMS);
	}
	/* Python's pickler follows a full batch with another one, even if that is empty. */
	if (f->tensors > 1 && f->tensors % BATCH == 0)
		write_op(&p, MARK);
	if (f->tensors > 0)
		write_op(&p, f->tensors == 1 ? SETITEM : SETITEMS);
	write_op(&p, STOP);
}
