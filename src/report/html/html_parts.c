/* SPDX-License-Identifier: Apache-2.0 */
/* html_parts.c - page.css, the scripts and Chart.js as bytes of the program. */
#include "report/html/html_internal.h"

#include "config.h"

/* Paths are relative to the top of the tree, where make runs. */
#define EMBED(name, file)                                                                          \
	".globl " name ", " name "_end\n" name ":\n" file name "_end:\n"                           \
	".byte 0\n"
#define FILE_AT(path) ".incbin \"" path "\"\n"

/* The script is the concatenation of these files, in order. */
#define SCRIPT(name) FILE_AT("src/report/html/" name ".js")
#define SCRIPTS                                                                                    \
	SCRIPT("kit")                                                                              \
	SCRIPT("words")                                                                            \
	SCRIPT("charts")                                                                           \
	SCRIPT("over_time")                                                                        \
	SCRIPT("job")                                                                              \
	SCRIPT("asked")                                                                            \
	SCRIPT("sweep")                                                                            \
	SCRIPT("trace")                                                                            \
	SCRIPT("page")

#ifdef CHARTJS_FILE
#define CHARTJS FILE_AT(CHARTJS_FILE)
#else
#define CHARTJS
#endif

__asm__(".pushsection .rodata\n" EMBED("html_css", FILE_AT("src/report/html/page.css"))
		EMBED("html_js", SCRIPTS) EMBED("html_chartjs", CHARTJS) ".popsection\n");
