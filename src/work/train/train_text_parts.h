/* SPDX-License-Identifier: Apache-2.0 */
/* train_text_parts.h - the parts of a training's report beside its tables. */
#pragma once

#include "report/text_block.h"

/* What ran, on what: job to host. */
void train_settings(struct buf *out, const struct text_block *b);

/* Where time and bytes went. */
void train_evidence(struct buf *out, const struct text_block *b);
