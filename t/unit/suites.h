/* SPDX-License-Identifier: Apache-2.0 */
/* suites.h - every test suite of these folders, by the name of its file. */
#pragma once

#include <check.h>

/*
 * test_NAME.c, in the folder of its module, has one public function, `Suite *suite_NAME(void)`.
 * make writes the list from the names of the files, X(NAME) each, so a new test is one new file.
 */
#include "build/unit-suites.h"

#define SUITE_PROTOTYPE(name) Suite *suite_##name(void);
UNIT_SUITES(SUITE_PROTOTYPE)
#undef SUITE_PROTOTYPE
