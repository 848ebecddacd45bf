/* SPDX-License-Identifier: Apache-2.0 */
/* text_checkpoint.h - the text report of a job that saves or restores a model's state. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "report/text_block.h"

void text_checkpoint_report(FILE *to, struct text_block *b);

/*
 * "NOT DURABLE: 41.2 of 1047 GiB were still in this host's memory at the end", where there are
 * checkpoints that were not flushed; else nothing. A larger `brevity` (0 to 3) takes fewer words.
 * True if anything was appended.
 */
bool text_not_durable(struct buf *out, const struct job *job, const struct checkpoints_result *c,
		      unsigned brevity);
