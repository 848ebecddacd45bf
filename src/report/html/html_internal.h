/* SPDX-License-Identifier: Apache-2.0 */
/* html_internal.h - the files of each page, which the build embeds into the program. */
#pragma once

#include <stddef.h>

/* Each array extends up to its _end symbol. */
extern const char html_css[], html_css_end[];
extern const char html_js[], html_js_end[];
/* Chart.js with its licence; empty if configure did not find it. */
extern const char html_chartjs[], html_chartjs_end[];
