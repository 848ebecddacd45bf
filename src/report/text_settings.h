/* SPDX-License-Identifier: Apache-2.0 */
/* text_settings.h - the lines that say what ran, on what: job to host. */
#pragma once

#include "report/text_block.h"

void text_settings(struct buf *out, const struct text_block *b);
