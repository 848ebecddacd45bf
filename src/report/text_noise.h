/* SPDX-License-Identifier: Apache-2.0 */
/* text_noise.h - the lines for what is out of the ordinary: a noisy host, one slow file or rank. */
#pragma once

#include "report/text_block.h"

/* What else the host did, where it touches the result; else nothing. */
void text_noise(struct buf *text, const struct text_block *b);

/* The slowest sample's file, and the slowest accelerator, where they stand out; else nothing. */
void text_slowest(struct buf *text, const struct text_block *b);

/* Whole lines: the command line, to be copied into a shell. */
void text_command(struct buf *out, const struct text_block *b);

/* Such a line, behind a label that is `indent` wide. */
void text_put_command(struct buf *out, const char *label, unsigned indent, const char *command);
