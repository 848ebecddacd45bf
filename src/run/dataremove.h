/* SPDX-License-Identifier: Apache-2.0 */
/* dataremove.h - remove a dataset that its manifest describes, and nothing else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "run/crew.h"
#include "run/datadir.h"

/* Bytes of it that are there. 0 or -errno with err. */
int dataremove_bytes(const char *directory, uint64_t *bytes, struct mlgen_err *err);

/*
 * Its files, those to evaluate with too, then its folders where nothing of others is in them, then
 * the manifest. Stopped half-way, the manifest still describes what is left. *started is set once
 * files may be gone. 0, CREW_STOPPED, or -errno with err: -EPERM or -ELOOP of a folder in which a
 * manifest is not believed (datadir.h), before anything is gone.
 */
int dataremove_all(const struct crew_config *crew, const struct datadir *dir, bool *started,
		   struct mlgen_err *err);
