/* SPDX-License-Identifier: Apache-2.0 */
/* fstab.h - filesystems that fstab(5) names and that are not mounted. */
#pragma once

#include <stdbool.h>

/*
 * Does fstab name a filesystem for this directory, a real path, on which none is mounted now? For
 * tests, which put a tree at `root` ("" is this machine).
 */
bool fstab_awaits(const char *root, const char *directory);
