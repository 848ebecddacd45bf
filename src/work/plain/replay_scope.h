/* SPDX-License-Identifier: Apache-2.0 */
/* replay_scope.h - which files of a trace are replayed: those that are scored, and disks. */
#pragma once

#include <stdbool.h>

/* By its path: what score/scope.h has, and block devices by their usual names. */
bool replay_scope_has(const char *path);
