/* SPDX-License-Identifier: Apache-2.0 */
/* text_checkpoint_parts.h - the parts of a checkpoint job's report below its answer. */
#pragma once

#include "report/text_block.h"

/* What ran, on what; where time and bytes went. */
extern const struct text_line text_save_settings[], text_restore_settings[],
	text_checkpoint_evidence[];

/* One line per checkpoint under a header, in at most so many lines. */
void text_checkpoint_table(struct buf *out, const struct text_block *b, unsigned most_lines);

/* By operation, as far as they occurred. */
void text_checkpoint_latency(struct buf *out, const struct text_block *b);

/* Of a training that saves checkpoints; nothing of one that does not. `brief`: writes and flushes
 * alone. */
void text_saves_latency(struct buf *out, const struct text_block *b, bool brief);
void text_saves_evidence(struct buf *out, const struct text_block *b);
