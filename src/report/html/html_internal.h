/* SPDX-License-Identifier: Apache-2.0 */
/* html_internal.h - the files that are in each page, as the build put them into the program. */
#pragma once

#include <stddef.h>

/* Each from begin to end. */
extern const char html_css[], html_css_end[];
extern const char html_js[], html_js_end[];
/* Chart.js with its licence; empty where configure did not find it. */
extern const char html_chartjs[], html_chartjs_end[];
