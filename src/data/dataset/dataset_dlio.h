/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_dlio.h - a dataset that DLIO or MLPerf Storage wrote, where mlgen would make its own. */
#pragma once

#include <stdbool.h>

#include "data/file/file.h"
#include "data/scan/scan.h"

/*
 * Does the job's directory hold train/ with files of the very names that DLIO gives those of the
 * format, and no manifest of mlgen's? Only the first name is looked at: dataset_dlio_keep sees all
 * of them. *ds has format and directory.
 */
bool dataset_dlio_is_there(const struct dataset *ds, const struct job *job);

/*
 * Of a scan of train/ or valid/ these files alone: an index beside them leaves. Their number, and
 * in *named how many their names say there are; 0 where any file has another name, which makes the
 * directory somebody else's.
 */
uint64_t dataset_dlio_keep(struct scan *scan, const struct format *format, uint64_t *named);
