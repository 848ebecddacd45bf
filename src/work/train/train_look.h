/* SPDX-License-Identifier: Apache-2.0 */
/* train_look.h - how far a training is while it runs. */
#pragma once

struct live;
struct slot;

/* Add what the slot's ranks and their loaders have done until now. While its threads run. */
void train_look(const struct slot *s, struct live *live);
