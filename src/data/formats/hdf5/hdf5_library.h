/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_library.h - libhdf5, loaded when the first HDF5 file is asked for: no other job starts
 * it. */
#pragma once

#include <hdf5.h>
#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

#include <mlgen/err.h>

/* Flags of a file start a library that is linked; this one is when it is loaded. */
#undef H5CHECK
#define H5CHECK
#undef H5OPEN
#define H5OPEN

/* X(name without H5): the functions that mlgen calls. */
#define HDF5_FUNCTIONS(X)                                                                          \
	X(Dclose)                                                                                  \
	X(Dcreate2)                                                                                \
	X(Dget_create_plist)                                                                       \
	X(Dget_offset)                                                                             \
	X(Dget_space)                                                                              \
	X(Dget_storage_size)                                                                       \
	X(Dget_type)                                                                               \
	X(Dread)                                                                                   \
	X(Dread_chunk)                                                                             \
	X(Dwrite)                                                                                  \
	X(Eset_auto2)                                                                              \
	X(Ewalk2)                                                                                  \
	X(FDregister)                                                                              \
	X(FDunregister)                                                                            \
	X(Fclose)                                                                                  \
	X(Fcreate)                                                                                 \
	X(Fflush)                                                                                  \
	X(Fget_file_image)                                                                         \
	X(Fopen)                                                                                   \
	X(Gget_info)                                                                               \
	X(Iget_type)                                                                               \
	X(Lget_name_by_idx)                                                                        \
	X(Oclose)                                                                                  \
	X(Oopen)                                                                                   \
	X(Pclose)                                                                                  \
	X(Pcreate)                                                                                 \
	X(Pget_cache)                                                                              \
	X(Pget_chunk)                                                                              \
	X(Pget_driver_info)                                                                        \
	X(Pget_external_count)                                                                     \
	X(Pget_filter2)                                                                            \
	X(Pget_layout)                                                                             \
	X(Pget_nfilters)                                                                           \
	X(Pget_sieve_buf_size)                                                                     \
	X(Pset_driver)                                                                             \
	X(Pset_fapl_core)                                                                          \
	X(Pset_fclose_degree)                                                                      \
	X(Pset_libver_bounds)                                                                      \
	X(Pset_obj_track_times)                                                                    \
	X(Sclose)                                                                                  \
	X(Screate)                                                                                 \
	X(Screate_simple)                                                                          \
	X(Sget_simple_extent_dims)                                                                 \
	X(Sget_simple_extent_ndims)                                                                \
	X(Sselect_elements)                                                                        \
	X(Tclose)                                                                                  \
	X(Tget_class)                                                                              \
	X(Tget_member_type)                                                                        \
	X(Tget_nmembers)                                                                           \
	X(Tget_size)                                                                               \
	X(Tget_super)                                                                              \
	X(Tis_variable_str)                                                                        \
	X(dont_atexit)                                                                             \
	X(get_libversion)                                                                          \
	X(open)

/* X(name without H5 and _g): the identifiers that open() sets; of a type or a class they are what
 * the macro without _g stands for. */
#define HDF5_IDS(X)                                                                                \
	X(P_CLS_DATASET_CREATE_ID)                                                                 \
	X(P_CLS_FILE_ACCESS_ID)                                                                    \
	X(T_NATIVE_UINT8)                                                                          \
	X(T_STD_U8LE)

struct hdf5_library {
#define HDF5_MEMBER(name) __typeof__(H5##name) *name;
	HDF5_FUNCTIONS(HDF5_MEMBER)
#undef HDF5_MEMBER
#define HDF5_MEMBER(name) const hid_t *name;
	HDF5_IDS(HDF5_MEMBER)
#undef HDF5_MEMBER
};

/*
 * A start of mlgen took 9.3 ms of CPU time when it was linked, as it brings thirty libraries of its
 * own; without it 2.1 (of which any program takes 1.2). Stays until the process ends; one thread at
 * a time.
 * NULL with err: -ENOENT, not on this machine or not the version mlgen was built with.
 */
const struct hdf5_library *hdf5_library(struct mlgen_err *err);
