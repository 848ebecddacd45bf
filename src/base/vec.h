/* SPDX-License-Identifier: Apache-2.0 */
/* vec.h - an array that grows. */
#pragma once

#include <stddef.h>

#include "base/mem.h"

/*
 * A member, or a variable, that holds `count` elements of TYPE at `at`:
 *
 *	VEC(struct span) spans;
 *
 * Any struct with these three members will do. A zeroed struct is empty. Elements move when the
 * array grows, so pointers to them are valid until the next vec_add() or vec_room(). One thread at
 * a time. As in mem.h, the program exits if memory is short.
 */
#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t count, room;                                                                \
	}

/* Make room for `n` more elements. */
#define vec_room(v, n) ((v)->at = mem_grow((v)->at, &(v)->room, (v)->count + (n), sizeof(*(v)->at)))

/* Append an element and return a pointer to it. It is not zeroed. */
#define vec_add(v) (vec_room(v, 1), &(v)->at[(v)->count++])

/* Append this value. */
#define vec_push(v, ...) ((void)(*vec_add(v) = (__VA_ARGS__)))

/* The last element; there must be one. */
#define vec_last(v) (&(v)->at[(v)->count - 1])

/* Free the elements; the array is empty afterwards. */
#define vec_fini(v)                                                                                \
	do {                                                                                       \
		mem_free((v)->at);                                                                 \
		(v)->at = NULL;                                                                    \
		(v)->count = 0;                                                                    \
		(v)->room = 0;                                                                     \
	} while (0)
