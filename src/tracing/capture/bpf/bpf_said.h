/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_said.h - libbpf's own messages, kept for the moment when something fails. */
#pragma once

/* From now on libbpf prints nothing. */
void said_quiet(void);
/* The last of what it said, on one line; "" = nothing. Static. */
const char *said_last(void);
