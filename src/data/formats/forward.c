/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c - how many samples of a file that is read in order are read together. */
#include "data/formats/formats.h"

uint64_t forward_extent_samples(uint64_t samples_per_file, uint64_t record_bytes)
{
	uint64_t n = TFRECORD_READ_BYTES / record_bytes;

	if (n > samples_per_file)
		n = samples_per_file;
	while (n > 1 && samples_per_file % n)
		n--;
	return n ? n : 1;
}
