/* SPDX-License-Identifier: Apache-2.0 */
/* trace_gunzip.h - what is in a gzip file, block by block, whatever number of members it has. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of the file go in, those of the text come out; it holds neither for long. Members follow
 * one another, as writers of blocks leave them, and zeros behind the last are padding.
 */
struct trace_gunzip;

enum trace_gunzip_state {
	GUNZIP_HAS_MORE, /* there may be more from what went in */
	GUNZIP_NEEDS,    /* trace_gunzip_give */
	GUNZIP_IS_BAD,
};

/* With what was read of the file already, which is copied. */
struct trace_gunzip *trace_gunzip_new(const char *begun, size_t bytes);
void trace_gunzip_free(struct trace_gunzip *g); /* NULL is fine */

/* Where the next bytes of the file go, and how many there may be; only when it needs some. */
char *trace_gunzip_room(struct trace_gunzip *g, size_t *bytes);
/* So many are there now. */
void trace_gunzip_give(struct trace_gunzip *g, size_t bytes);

/* *bytes of the text to `to`, 0 of them where it needs more or is bad. */
enum trace_gunzip_state trace_gunzip_take(struct trace_gunzip *g, char *to, size_t room,
					  size_t *bytes);

/* May the file end here? */
bool trace_gunzip_is_whole(const struct trace_gunzip *g);
/* Of the file, that went in. */
uint64_t trace_gunzip_at_bytes(const struct trace_gunzip *g);
/* Of the text, that came out. */
uint64_t trace_gunzip_out_bytes(const struct trace_gunzip *g);
/* Where it is bad. */
const char *trace_gunzip_why(const struct trace_gunzip *g);
