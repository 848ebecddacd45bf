/* SPDX-License-Identifier: Apache-2.0 */
/* order_internal.h - what the samplers share. */
#pragma once

#include "data/order/order.h"
