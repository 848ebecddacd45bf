/* SPDX-License-Identifier: Apache-2.0 */
/* requests.h - can the requests of a plain job be made, of its files as they are? */
#pragma once

#include <stdint.h>

#include <mlgen/err.h>

#include "job/job.h"
#include "work/plain/iofiles.h"

/* Bytes that one worker moves; UINT64_MAX where nothing but time ends it. 0, or -errno with err
 * where its files have no room for a request. */
int requests_bytes(const struct job *j, const struct iofiles *f, uint64_t worker, uint64_t *bytes,
		   struct mlgen_err *err);

/* The same of all workers. */
int requests_check(const struct job *j, const struct iofiles *f, struct mlgen_err *err);

/* With direct=1: what O_DIRECT asks for there, and are all sizes and offsets multiples of it? 0, or
 * -errno with err. */
int requests_check_direct(const struct job *j, const struct iofiles *f, uint64_t *align_bytes,
			  struct mlgen_err *err);
