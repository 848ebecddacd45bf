/* SPDX-License-Identifier: Apache-2.0 */
/* keyed.h - base/map.h by the name that importers of traces have for it. */
#pragma once

#include "base/map.h"

#define keyed map
#define keyed_number map_number
#define keyed_find map_find
#define keyed_fini map_fini
