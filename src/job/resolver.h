/* SPDX-License-Identifier: Apache-2.0 */
/* resolver.h - what all of a resolver's files know: the engines, and whom faults are told. */
#pragma once

#include "job/resolve_engine.h"

struct resolver {
	struct resolve_engines engines;
	struct diag *d;
};
