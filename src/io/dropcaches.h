/* SPDX-License-Identifier: Apache-2.0 */
/* dropcaches.h - empty this host's page cache of everything (vm.drop_caches). */
#pragma once

#include <mlgen/err.h>

/* `root` as in sysfile.h. May it be done? 0, or -errno with err that names the way out. */
int dropcaches_check(const char *root, struct mlgen_err *err);

/* Write back what is dirty, since only clean pages go; then pages, dentries and inodes. 0 or -errno
 * with err. */
int dropcaches_run(const char *root, struct mlgen_err *err);
