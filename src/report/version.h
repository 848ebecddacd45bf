/* SPDX-License-Identifier: Apache-2.0 */
/* version.h - --version: which mlgen this is, and what it was built with. */
#pragma once

#include <stdio.h>

/*
 * "mlgen 0.1.0 (commit 0123456789ab)", then engines and libraries, a line each. An empty commit, of
 * what was built from an archive, is left out.
 */
void version_print(FILE *to, const char *commit);
