/* SPDX-License-Identifier: Apache-2.0 */
/* iocontent.h - what a file that is laid out has in it: bytes that no storage can compress, or only
 * space. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "run/make/make.h"

/* As a newfile_kind has it. */
int iocontent_next(void *source, void *buf, size_t size, uint64_t *off, size_t *len,
		   struct mlgen_err *err);

/* All of a file, as newfile_fill. Files of other names have other content, the same name the
 * same. */
int iocontent_fill(struct newfile *x, struct mlgen_err *err);

/* A large file is written in pieces, by several workers at the same time. */
uint64_t iocontent_pieces(uint64_t file_bytes);
int iocontent_fill_piece(struct newfile *x, uint64_t piece, struct mlgen_err *err);

/*
 * Its space, of a file that has some bytes. Where the filesystem cannot give any, a file without
 * content ends with a byte at its end, so that it has its size all the same. 0 or -errno with err.
 */
int iocontent_allocate(struct newfile *x, bool has_content, struct mlgen_err *err);
