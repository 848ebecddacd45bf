/* SPDX-License-Identifier: Apache-2.0 */
/* plan_lines.h - how the page of a dry run is laid out, and lines that every job has. */
#pragma once

#include "base/buf.h"
#include "report/plan_report.h"
#include "report/template.h"

/* Columns, from 0: where text begins, where the points of figures stand, and where the checklist
 * begins. A line ends at WRAP_COLUMNS. */
#define PLAN_TEXT_AT 10
#define PLAN_POINT_AT 64
#define PLAN_CHECK_AT 72

/* A new line with its label. plan_put_line prints it and frees it. */
void plan_start_line(struct buf *line, const char *label);
void plan_put_line(FILE *to, struct buf *line);

/* Blanks up to a column, at least one. */
void plan_pad_to(struct buf *line, size_t column);

/* A number with its point, or its end, at a column. */
void plan_add_at_point(struct buf *line, const char *number, size_t point);

/* The same in the column of figures; below a line that is too long for it. */
void plan_add_figure(FILE *to, struct buf *line, const char *number);
void plan_add_bytes(FILE *to, struct buf *line, double bytes);

/* Words between the indent and the end of the line; ends the line. */
void plan_put_wrapped(FILE *to, struct buf *line, size_t indent, const char *text);
void plan_put_sentence(FILE *to, const char *text);

/* The end of a line: what the check found, and its sentence below. */
void plan_put_checked(FILE *to, struct buf *line, const struct plan_check *check);

/*
 * A line of the page: `put` appends what stands behind the label, and there is no line where that
 * is nothing. It ends with the check of that name, if there is one; or it is a text that is
 * wrapped, so far from the left. `lines` makes whole lines instead.
 */
struct plan_line {
	const char *label;
	void (*put)(struct buf *text, const struct plan_report *p);
	const char *check;
	size_t wrapped_at;
	void (*lines)(FILE *to, const struct plan_report *p);
};

/* All of a list, which ends with a zeroed row. */
void plan_put_list(FILE *to, const struct plan_line *lines, const struct plan_report *p);

/* Append a template. Its keys are options of the job, `bs.read` and `bs.write`, and behind `plan.`
 * what the document has of a plan, or the page alone. */
#define plan_say(line, p, text) plan_template(line, TEMPLATE(plan_scopes, text), p)
extern const struct template_scope plan_scopes[];
void plan_template(struct buf *line, const struct template *t, const struct plan_report *p);

/* What is there and what is to be written, with the check of that name. */
void plan_put_present(FILE *to, const struct plan_report *p, const char *check);
void plan_put_free(FILE *to, const struct plan_report *p);
void plan_put_storage(FILE *to, const struct plan_report *p);
void plan_put_ratio(FILE *to, const struct plan_report *p, const char *what);
void plan_put_direct(FILE *to, const struct plan_report *p);

/* "files", with the check of that name. */
void plan_put_open_files(struct buf *text, const struct plan_report *p);
