/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - what the fuzz targets share. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* libFuzzer calls it with one input after the other. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever the input was; the fuzzer keeps what broke it. */
#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #what);      \
			abort();                                                                   \
		}                                                                                  \
	} while (0)
