/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_import_blktrace.c - any bytes as a file of blktrace: refused with the place, or a trace. */
#include "import_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rig_log_and_back(import_blktrace, data, size);
	return 0;
}
