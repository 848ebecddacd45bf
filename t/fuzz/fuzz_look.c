/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_look.c - any bytes as a file that a scan looks into, by every format but HDF5: refused, or
 * samples within it. */
#include "look_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	put_file(data, size);
	for (int i = FORMAT_NPZ; i <= FORMAT_CSV; i++) {
		const struct format *f = format_of((enum job_format)i);

		/* fuzz_hdf5.c has that one. */
		if (f->look && f != &format_hdf5)
			look_as(f, size);
	}
	return 0;
}
