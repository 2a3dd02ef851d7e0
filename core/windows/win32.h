/* SPDX-License-Identifier: Apache-2.0 */
/* What all files that ask Windows share: text, failures, folders. */
#ifndef SRT_WINDOWS_WIN32_H
#define SRT_WINDOWS_WIN32_H

#include <winsock2.h>
/* In this order. */

#include <windows.h>

#include "core/util.h"

/** wide() - UTF-8 as UTF-16; owned by the caller, NULL where it is none */
wchar_t *wide(const char *text);

/** narrow() - UTF-16 as UTF-8; owned by the caller, NULL where it is none */
char *narrow(const wchar_t *text);

/**
 * win_failed() - describe a failure of Windows
 * @code: of GetLastError() and the like
 * Return: -EINVAL
 */
int win_failed(struct failure *failure, DWORD code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * state_file() - a name in the caller's own folder for our state, which is made
 * Return: owned by the caller; NULL without a folder
 */
wchar_t *state_file(const char *name);

/**
 * file_read() - a whole file
 * @out: owned by the caller, ends with a NUL
 * Return: 0, or -ENOENT without @failure filled, or another -errno with it
 */
int file_read(const wchar_t *path, char **out, size_t *size,
	      struct failure *failure);

/** file_named() - likewise, of a name in UTF-8; what is not there fails too */
int file_named(const char *name, char **out, size_t *size,
	       struct failure *failure);

/** file_replace() - write a file as a whole: the old one stays, or is gone */
int file_replace(const wchar_t *path, const void *bytes, size_t size,
		 struct failure *failure);

static inline void cleanup_handle_(HANDLE *handle)
{
	if (*handle && *handle != INVALID_HANDLE_VALUE)
		CloseHandle(*handle);
}

static inline void cleanup_local_(void *p)
{
	LocalFree(*(void **)p);
}

#define owned_handle __attribute__((cleanup(cleanup_handle_)))
#define owned_local __attribute__((cleanup(cleanup_local_)))

#endif
