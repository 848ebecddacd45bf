/* SPDX-License-Identifier: Apache-2.0 */
/* roles.h - who of a trace's processes and threads trains, loads or saves, and how sure that is. */
#pragma once

#include "tracing/describe/taskbook.h"

/* What a text of TRACE_THREAD says; ROLE_OTHER: nothing of that. */
enum described_role roles_said(const char *text);

/*
 * Fill role and sure of all, whose sums are there. What the program itself says is said. Else of
 * several children of one parent those that read are loaders, and the parent is the trainer, be it
 * that it saves, too; who wrote most of the bytes, and reads no more than it writes, is the
 * checkpoint writer; and a process that reads alone is the trainer.
 */
void roles_find(struct taskbook *b);
