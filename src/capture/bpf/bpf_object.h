/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_object.h - the compiled programs for the kernel, which are part of mlgen. */
#pragma once

/* An ELF object: from capture_object to before capture_object_end. */
extern const unsigned char capture_object[], capture_object_end[];
