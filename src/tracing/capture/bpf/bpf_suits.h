/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_suits.h - which programs suit the kernel that runs: is there what they watch, and as they
 * know it? */
#pragma once

#include <mlgen/err.h>

#include "base/buf.h"

struct bpf_object;

/* Switch off what does not; `notes` gets a line for what is not recorded for that. 0, or -errno
 * with err: without some of them there is no capture. */
int suits_choose(struct bpf_object *object, struct buf *notes, struct mlgen_err *err);
