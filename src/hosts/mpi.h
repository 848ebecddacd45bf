/* SPDX-License-Identifier: Apache-2.0 */
/* mpi.h - the plugin of an MPI library is found, loaded and started. */
#pragma once

#include <mlgen/err.h>

#include "hosts/launcher.h"
#include "hosts/mpi_plugin.h"

/*
 * The plugin of a launcher's library: in the folder build/ beside the program, or where it was
 * installed. It stays loaded, and started, until the process ends or calls its end(). NULL with
 * err: it was not built (err names the package), cannot be loaded, or the launcher is not one of
 * its library, for which every process is the only one.
 */
const struct hosts_mpi *mpi_start(const struct launcher *l, const char *binary_dir,
				  struct mlgen_err *err);
