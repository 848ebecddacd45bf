/* SPDX-License-Identifier: Apache-2.0 */
/* view_pen.h - what draws letters at a place of a picture. */
#pragma once

#include <stdbool.h>

enum view_look {
	VIEW_PLAIN,
	VIEW_TITLE, /* the line on top */
	VIEW_HEAD,  /* of a panel */
	VIEW_STRONG,
	VIEW_GOOD, /* what is wanted: compute, bytes */
	VIEW_POOR, /* what is waited for */
	VIEW_BAD,  /* errors */
	VIEW_FAINT,
	VIEW_LOOKS
};

struct view_pen {
	/* A printable text, which has room; columns and rows from 0. */
	void (*put)(void *to, unsigned row, unsigned column, enum view_look look, const char *text);
	void *to;
	unsigned rows, columns;
	bool is_utf8; /* else text is ASCII */
};
