/* SPDX-License-Identifier: Apache-2.0 */
/* table_files.h - figures of documents as a table, for the questions that print one. */
#pragma once

#include "ask/ask.h"

/* A row for each job of the documents of `a`, in its output format: text, csv or json. `keys` have
 * commas between them. Gives the exit status. */
int table_files(const struct ask *a, const char *keys);
