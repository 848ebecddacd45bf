/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - from argv to an exit status. */
#include <stdio.h>

#include "config.h"

int main(void)
{
	printf("mlgen %s\n", MLGEN_VERSION);
	return 0;
}
