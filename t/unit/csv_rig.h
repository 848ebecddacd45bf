/* SPDX-License-Identifier: Apache-2.0 */
/* csv_rig.h - a log of intervals in a file of its own, and cells of its rows. */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/document/document.h"
#include "run/watch/watch.h"
#include "temp.h"

#define SEC UINT64_C(1000000000)
#define CELLS 48

/* A log in a file of its own, read back line by line. */
struct log {
	char path[TEMP_BYTES];
	struct csv *csv;
	char text[8192];
};

static inline int open_csv(struct csv **out, const char *path, struct mlgen_err *err)
{
	struct place p;
	int rc = place_open(&p, "log", path, err);

	*out = NULL;
	return rc ? rc : csv_open(out, &p, err);
}

static inline void log_open(struct log *l)
{
	struct mlgen_err err = { 0 };

	int fd = temp_file(l->path);
	close(fd);
	ck_assert_int_eq(open_csv(&l->csv, l->path, &err), 0);
}

/* The interval, with this host. */
static inline void log_row(struct csv *c, const struct live *now, const struct live *before)
{
	struct host_look *look = host_look_new();
	struct live_host host;

	host_look(look, &host, now->now_ns, before->now_ns);
	csv_row(c, &(struct live_span){ now, before, &host });
	host_look_free(look);
}

static inline void log_read(struct log *l)
{
	FILE *from = fopen(l->path, "r");

	ck_assert_ptr_nonnull(from);
	size_t n = fread(l->text, 1, sizeof(l->text) - 1, from);
	l->text[n] = '\0';
	fclose(from);
	unlink(l->path);
}

/* The cells of line `number`, from 0; cuts the text up. */
static inline unsigned cells_of(struct log *l, unsigned number, char *cells[CELLS])
{
	char *line = l->text;
	unsigned n = 0;

	while (number-- > 0)
		line = strchr(line, '\n') + 1;
	*strchr(line, '\n') = '\0';
	while (line && n < CELLS)
		cells[n++] = strsep(&line, ",");
	return n;
}

static inline unsigned column(const char *name)
{
	const struct live_field *f = live_fields;
	unsigned i = 0;

	for (; f->field.name && strcmp(f->field.name, name); f++)
		i += live_is_column(f);
	ck_assert_ptr_nonnull(f->field.name);
	return i;
}

/* One row, and the cells of it. */
static inline void one_row(struct log *l, const struct live *now, const struct live *before,
			   char *cells[CELLS])
{
	unsigned columns = 0;

	log_open(l);
	log_row(l->csv, now, before);
	ck_assert_int_eq(csv_close(l->csv), 0);
	log_read(l);
	for (const struct live_field *f = live_fields; f->field.name; f++)
		columns += live_is_column(f);
	ck_assert_uint_eq(cells_of(l, 1, cells), columns);
}

static inline struct live train(uint64_t seconds)
{
	return (struct live){ .job_name = "unet3d",
			      .phase = LIVE_TRAIN,
			      .now_ns = seconds * SEC,
			      .epoch = 1,
			      .epochs = 5,
			      .step = 1,
			      .steps = 500 };
}
