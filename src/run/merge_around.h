/* SPDX-License-Identifier: Apache-2.0 */
/* merge_around.h - what was measured around jobs that are reported as one: host, network,
 * storage. */
#pragma once

#include "run/results.h"

/* From the first of their beginnings to the last of their ends; what has no figure of both is
 * unknown. Before the bytes that they read are added up. */
void merge_around(struct job_result *to, const struct job_result *from);
