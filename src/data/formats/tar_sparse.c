/* SPDX-License-Identifier: Apache-2.0 */
/* tar_sparse.c - what stands before the bytes of a sparse member of a tar file: where its holes
 * are. */
#include "data/file/file.h"
#include "data/formats/formats_internal.h"

/*
 * GNU tar's manual, "Storing Sparse Files". Pax formats 0.0 and 0.1 have the map in the extended
 * header, and nothing before the bytes.
 */
enum { NEXT_MORE_AT = 504 };

int tar_pass_sparse_headers(struct tar_walk *w, bool has_more, uint64_t *data)
{
	while (has_more) {
		const uint8_t *block = look_at(w->l, *data, TAR_BLOCK);

		if (!block)
			return w->l->err->code;
		has_more = block[NEXT_MORE_AT];
		*data += TAR_BLOCK;
	}
	return 0;
}

/* A count of pieces, then two numbers a piece, a line each. */
struct map {
	uint64_t pieces, lines; /* of them; that are still to come */
	bool has_pieces;
};

static bool take_byte(struct map *m, uint8_t c)
{
	if (c == '\n') {
		m->lines = m->has_pieces ? m->lines - 1 : 2 * m->pieces;
		m->has_pieces = true;
		return true;
	}
	if (!m->has_pieces && m->pieces <= UINT32_MAX)
		m->pieces = 10 * m->pieces + (uint64_t)(c - '0');
	return c >= '0' && c <= '9';
}

int tar_pass_sparse_map(struct tar_walk *w, uint64_t *data)
{
	struct map m = { .lines = 1 };

	while (m.lines) {
		const uint8_t *block;

		if (w->size < TAR_BLOCK)
			return look_fail(
				w->l, *data,
				"the map of a sparse member does not end before its bytes do");
		block = look_at(w->l, *data, TAR_BLOCK);
		if (!block)
			return w->l->err->code;
		for (unsigned i = 0; i < TAR_BLOCK && m.lines; i++)
			if (!take_byte(&m, block[i]))
				return look_fail(w->l, *data + i,
						 "no map of a sparse member: it has digits alone");
		*data += TAR_BLOCK;
		w->size -= TAR_BLOCK;
	}
	return 0;
}
