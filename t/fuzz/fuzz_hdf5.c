/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_hdf5.c - any bytes as an HDF5 file that a scan looks into, through libhdf5: refused, or
 * samples within it. */
#include "look_rig.h"

/* The leak checker asks for it. libhdf5 loses memory over damaged files, which would be all that is
 * found. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libhdf5\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	put_file(data, size);
	if (format_hdf5.look)
		look_as(&format_hdf5, size);
	return 0;
}
