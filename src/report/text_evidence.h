/* SPDX-License-Identifier: Apache-2.0 */
/* text_evidence.h - the lines below the tables: where time and bytes went. */
#pragma once

#include "report/text_block.h"

/* Those of any job: over which time the next ones are, where it is not simply that of the job; what
 * came from memory, and, appended to such a line, which caches cannot be seen; load of the host and
 * of the network, NUMA where there is something to say. */
void text_window(struct buf *text, const struct text_block *b);
void text_from_memory(struct buf *text, const struct text_block *b);
void text_host(struct buf *text, const struct text_block *b);
/* What the host took, where it is known, or would be to root. */
void text_energy(struct buf *text, const struct text_block *b);
/* Is the share from memory also of what other jobs have read? */
bool text_has_others(const struct text_block *b);
void text_unseen(struct buf *text, const struct storage_result *s);
void text_numa(struct buf *text, const struct text_block *b);
