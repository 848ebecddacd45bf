/* SPDX-License-Identifier: Apache-2.0 */
/* mount_inside.h - what the files that fill a mount share. */
#pragma once

#include "io/mount.h"

/* What fits of a text; an option list is better cut than refused. */
void mount_put(char *to, size_t size, const char *from);

/* mount_device.c: of m->dev_major and dev_minor, which become the whole disk's or 0: the disk, its
 * kind, model, paths, scheduler and read-ahead. */
void mount_put_device(struct mount *m, const char *root);
