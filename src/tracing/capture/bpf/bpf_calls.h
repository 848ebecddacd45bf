/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_calls.h - which system call has which number on this machine. */
#pragma once

#include "tracing/capture/bpf/bpf_events.h"

/* enum capture_call of each number; 0 = it is none that counts. */
void bpf_calls_fill(uint8_t call_of[CALL_NUMBERS]);
