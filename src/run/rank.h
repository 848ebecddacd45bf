/* SPDX-License-Identifier: Apache-2.0 */
/* rank.h - one simulated accelerator: take a batch, compute, wait for the others. */
#pragma once

#include "run/train.h"

/* The accelerator's thread. */
void *rank_main(void *arg);
