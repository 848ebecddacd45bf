/* SPDX-License-Identifier: Apache-2.0 */
/* text_settings.h - the lines that say what ran, on what: job to host. */
#pragma once

#include "report/text_block.h"

/* Those of any job: "storage", "host". */
void text_storage(struct buf *text, const struct text_block *b);
void text_machine(struct buf *text, const struct text_block *b);

/* Append a line with the title and one for each note; NULL = none. */
void text_put_title(struct buf *out, const char *title, const char *notes);
/* The same for a run; only its first job has them. */
void text_title(struct buf *out, const struct text_block *b);

/* " = 14.9 x this host's memory", appended. */
void text_memory_ratio(struct buf *text, const struct text_block *b, double bytes);
