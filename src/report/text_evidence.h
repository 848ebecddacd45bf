/* SPDX-License-Identifier: Apache-2.0 */
/* text_evidence.h - the lines below the tables: where time and bytes went. */
#pragma once

#include "report/text_block.h"

void text_evidence(struct buf *out, const struct text_block *b);
