/* SPDX-License-Identifier: Apache-2.0 */
/* train_text_parts.h - the parts of a training's report beside its tables. */
#pragma once

#include "report/text_block.h"

/* What ran, on what: job to host. */
extern const struct text_line train_settings[];

/* What a cache tier did, if there is one; lines of the evidence. */
void train_text_cache(struct buf *out, const struct text_block *b);

/* Where time and bytes went. */
extern const struct text_line train_evidence[];
