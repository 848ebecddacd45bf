/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_import_darshan.c - any text as what darshan-dxt-parser prints: refused in words, or a
 * trace. */
#include "import_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rig_log_and_back(import_darshan, data, size);
	return 0;
}
