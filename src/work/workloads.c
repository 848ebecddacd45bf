/* SPDX-License-Identifier: Apache-2.0 */
/* workloads.c - see workloads.h. */
#include "work/workloads.h"

#define ROW(number, name, help) [number] = &work_##name,
const struct workload *const workloads[] = { WORKLOADS(ROW) NULL };
#undef ROW

#define ROW(number, name, help) { #name, number, help },
const struct mlgen_choice workload_choices[] = { WORKLOADS(ROW){ 0 } };
#undef ROW
