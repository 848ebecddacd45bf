/* SPDX-License-Identifier: Apache-2.0 */
/* jobtext.h - a job file as it is written for people: sections of options, each with what says
 * so. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* How sure a line is. */
enum distil_sure {
	DISTIL_SURE,   /* the trace says it, or nothing else would give these calls */
	DISTIL_LIKELY, /* it explains nearly all there is */
	DISTIL_GUESS,  /* something has to stand there */
};

struct jobtext;
struct jobsection;

struct jobtext *jobtext_new(void);
void jobtext_free(struct jobtext *t); /* NULL is fine */

/* A comment in the head of the file. */
__attribute__((format(printf, 2, 3))) void jobtext_head(struct jobtext *t, const char *fmt, ...);
/* Sections so far. */
size_t jobtext_count(const struct jobtext *t);
/* A new section, "training": names that are there get a number behind. */
struct jobsection *jobtext_section(struct jobtext *t, const char *name);

/* A heading of the lines that follow: "data set". */
void jobsection_heading(struct jobsection *s, const char *text);
/* An option, and in a comment how sure it is and what says so. An option that was said before has
 * the new value. The texts are copied. */
__attribute__((format(printf, 5, 6))) void jobsection_say(struct jobsection *s,
							  enum distil_sure sure, const char *option,
							  const char *value, const char *why, ...);
/* A comment alone: what there is no option for. */
__attribute__((format(printf, 2, 3))) void jobsection_note(struct jobsection *s, const char *fmt,
							   ...);
/* The value that was said; NULL = none. */
const char *jobsection_value(const struct jobsection *s, const char *option);

/* A name that is none of another section's, and no header of inih's is broken. */
void jobtext_write(const struct jobtext *t, FILE *to);
