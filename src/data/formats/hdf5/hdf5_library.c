/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_library.c - libhdf5, loaded when the first HDF5 file is asked for. */
#include "config.h"

#ifdef HAVE_HDF5

#include <stddef.h>

#include "base/library.h"
#include "base/util.h"
#include "data/formats/hdf5/hdf5_internal.h"

/* Functions and identifiers alike: a pointer, and the symbol it points to. */
static const struct library_symbol symbols[] = {
#define HDF5_SYMBOL(name) { "H5" #name, offsetof(struct hdf5_library, name) },
	HDF5_FUNCTIONS(HDF5_SYMBOL)
#undef HDF5_SYMBOL
#define HDF5_SYMBOL(name) { "H5" #name "_g", offsetof(struct hdf5_library, name) },
		HDF5_IDS(HDF5_SYMBOL)
#undef HDF5_SYMBOL
};

const struct hdf5_library *hdf5_library(struct mlgen_err *err)
{
	static struct hdf5_library library;

	if (library.open)
		return &library;
	if (library_load("format=hdf5: libhdf5", HDF5_SONAME, symbols, ARRAY_LEN(symbols), &library,
			 err) < 0) {
		library.open = NULL;
		return NULL;
	}
	/* No handler of its own at exit, whichever thread that is in; nothing on stderr. */
	library.dont_atexit();
	library.open();
	library.Eset_auto2(H5E_DEFAULT, NULL, NULL);
	return &library;
}

#endif
