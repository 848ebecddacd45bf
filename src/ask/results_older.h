/* SPDX-License-Identifier: Apache-2.0 */
/* results_older.h - figures of documents of older programs, as this one counts them. */
#pragma once

#include <jansson.h>

/*
 * Some figures had another meaning in the schema version before this one. The document says enough
 * to put them right, so that nobody behind this has to know of it. What is of today's meaning is
 * left as it is, and so is what is damaged: whoever reads it says so. What stands at the top of the
 * document and is of one job, is put right with that job.
 */
void results_older_job(json_t *root, json_t *job);
