/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_import_dftracer.c - any bytes as a file of DFTracer, compressed or not: refused in words, or
 * a trace. */
#include "import_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rig_log_and_back(import_dftracer, data, size);
	return 0;
}
