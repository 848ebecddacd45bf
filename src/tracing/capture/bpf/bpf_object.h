/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_object.h - the compiled programs for the kernel, which are part of mlgen. */
#pragma once

#include <stdint.h>

/* An ELF object. */
extern const unsigned char capture_object[];
extern const uint64_t capture_object_bytes;
