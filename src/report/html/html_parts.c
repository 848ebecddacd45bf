/* SPDX-License-Identifier: Apache-2.0 */
/* html_parts.c - see html_parts.h: page.css, page.js and Chart.js, as bytes. */
#include "report/html/html_parts.h"

#include "config.h"

/* make runs at the top of the tree. */
#define EMBED(name, file)                                                      \
	".globl " name ", " name "_end\n" name ":\n" file name "_end:\n"       \
	".byte 0\n"
#define FILE_AT(path) ".incbin \"" path "\"\n"

#ifdef CHARTJS_FILE
#define CHARTJS FILE_AT(CHARTJS_FILE)
#else
#define CHARTJS
#endif

__asm__(".pushsection .rodata\n" EMBED("html_css",
				       FILE_AT("src/report/html/page.css"))
		EMBED("html_js", FILE_AT("src/report/html/page.js"))
			EMBED("html_chartjs", CHARTJS) ".popsection\n");
