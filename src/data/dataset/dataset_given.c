/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_given.c - the files that one process of a job has found, for the others. */
#include "data/dataset/dataset.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "data/scan/scan.h"

struct given_head {
	bool is_found, has_found, has_labels;
	char format[32];
	unsigned parts;
	uint64_t directory_bytes;
};

int dataset_give(const struct dataset *ds, struct relay *to, struct mlgen_err *err)
{
	struct given_head head = { .is_found = ds->scan != NULL,
				   .has_found = ds->found != NULL,
				   .has_labels = ds->labels != NULL,
				   .parts = ds->parts };

	if (ds->scan) {
		snprintf(head.format, sizeof(head.format), "%s", ds->format->name);
		head.directory_bytes = strlen(ds->directory);
	}
	int rc = relay_put(to, &head, sizeof(head), err);
	if (rc || !ds->scan)
		return rc;
	rc = relay_put(to, ds->directory, (size_t)head.directory_bytes, err);
	if (rc == 0)
		rc = scan_give(ds->scan, to, err);
	if (rc == 0 && ds->found)
		rc = found_give(ds->found, to, err);
	if (rc == 0 && ds->labels)
		rc = labels_give(ds->labels, to, err);
	return rc;
}

int dataset_given_take(struct dataset_given *g, const char *beside, struct relay *from,
		       struct mlgen_err *err)
{
	struct given_head head;
	int rc = relay_get(from, &head, sizeof(head), err);

	if (rc || !head.is_found)
		return rc;
	g->is_found = true;
	g->format = format_find(head.format);
	g->parts = head.parts;
	g->directory = mem_zalloc((size_t)head.directory_bytes + 1);
	rc = relay_get(from, g->directory, (size_t)head.directory_bytes, err);
	if (rc == 0)
		rc = scan_take(&g->scan, beside, from, err);
	if (rc == 0 && head.has_found)
		rc = found_take(&g->found, beside, from, err);
	if (rc == 0 && head.has_labels)
		rc = labels_take(&g->labels, from, err);
	return rc;
}

void dataset_given_fini(struct dataset_given *g)
{
	mem_free(g->directory);
	scan_free(g->scan);
	found_free(g->found);
	labels_free(g->labels);
	*g = (struct dataset_given){ 0 };
}
