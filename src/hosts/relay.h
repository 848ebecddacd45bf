/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - what one process of a job has found, handed to the others in pieces, so that nobody
 * holds all of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "hosts/hosts.h"

/*
 * Together, from relay_begin to relay_end: rank 0 gives to all, or the first process of each host
 * to the others there. Who gives puts bytes, who takes gets as many in the same order; behind each
 * piece all vote, so that a process that is slow, or fails, holds the others up or stops them. With
 * no other process nothing is sent.
 */
struct relay {
	struct hosts *hosts;
	bool is_everywhere; /* from rank 0 */
	bool gives, has_takers;
	struct buf piece;
	size_t at; /* of what came, so much was taken */
	bool goes_on, is_broken, is_stopped;
};

void relay_begin(struct relay *r, struct hosts *h, bool is_everywhere);
bool relay_gives(const struct relay *r);

/* 0, or -errno with err: -ECANCELED where another process has failed, whose words relay_end
 * brings. */
int relay_put(struct relay *r, const void *bytes, size_t n, struct mlgen_err *err);
int relay_get(struct relay *r, void *to, size_t n, struct mlgen_err *err);

/* What came of it here, 0 or -errno with err; then for all, as hosts_agree. */
int relay_end(struct relay *r, int rc, struct mlgen_err *err);
