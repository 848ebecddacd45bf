/* SPDX-License-Identifier: Apache-2.0 */
/* shellword.h - arguments as a shell takes them back. */
#pragma once

#include "base/buf.h"

/* Append one argument, quoted if a shell would take it apart, behind a blank if there is something
 * before it. */
void shellword_add(struct buf *out, const char *arg);
