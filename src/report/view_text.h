/* SPDX-License-Identifier: Apache-2.0 */
/* view_text.h - text with an end, at a place of a picture. */
#pragma once

#include "report/view_pen.h"

#define VIEW_TEXT_BYTES 1024

/* In at most `columns`, and none beyond the picture: made printable, and where it has no UTF-8
 * other letters are '?'. */
void view_put(const struct view_pen *pen, unsigned row, unsigned column, unsigned columns,
	      enum view_look look, const char *text);
__attribute__((format(printf, 6, 7))) void view_printf(const struct view_pen *pen, unsigned row,
						       unsigned column, unsigned columns,
						       enum view_look look, const char *fmt, ...);
