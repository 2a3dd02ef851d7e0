/* SPDX-License-Identifier: Apache-2.0 */
/* Text, failures and files by Windows' own calls. */
#include "core/windows/win32.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <shlobj.h>

enum { LARGEST_FILE = 64 << 20 };

wchar_t *wide(const char *text)
{
	int size = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1,
				       NULL, 0);
	wchar_t *out = size ? malloc(sizeof(*out) * (size_t)size) : NULL;

	if (out)
		MultiByteToWideChar(CP_UTF8, 0, text, -1, out, size);
	return out;
}

char *narrow(const wchar_t *text)
{
	int size = WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, text, -1,
				       NULL, 0, NULL, NULL);
	char *out = size ? malloc((size_t)size) : NULL;

	if (out)
		WideCharToMultiByte(CP_UTF8, 0, text, -1, out, size, NULL,
				    NULL);
	return out;
}

int win_failed(struct failure *failure, DWORD code, const char *format, ...)
{
	wchar_t said[200] = L"";
	char what[300];
	owned_ptr char *text = NULL;
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM |
			       FORMAT_MESSAGE_IGNORE_INSERTS |
			       FORMAT_MESSAGE_MAX_WIDTH_MASK,
		       NULL, code, 0, said, ARRAY_SIZE(said), NULL);
	text = narrow(said);
	return failure_set(failure, 0, "%s: %s (%#lx)", what,
			   text && *text ? text : "it failed", code);
}

wchar_t *state_file(const char *name)
{
	wchar_t folder[MAX_PATH], *out;
	size_t size;

	if (FAILED(SHGetFolderPathW(NULL, CSIDL_LOCAL_APPDATA, NULL, 0,
				    folder)))
		return NULL;
	size = wcslen(folder) + strlen(name) + 20;
	out = malloc(sizeof(*out) * size);
	if (!out)
		return NULL;
	swprintf(out, size, L"%ls\\srt-lua", folder);
	/* Beneath the caller's profile, where the account has nothing. */
	CreateDirectoryW(out, NULL);
	swprintf(out, size, L"%ls\\srt-lua\\%hs", folder, name);
	return out;
}

static int read_all(HANDLE file, char **out, size_t *size)
{
	LARGE_INTEGER length;
	DWORD got;

	if (!GetFileSizeEx(file, &length) || length.QuadPart > LARGEST_FILE)
		return -E2BIG;
	*size = (size_t)length.QuadPart;
	*out = malloc(*size + 1);
	if (!*out)
		return -ENOMEM;
	if (ReadFile(file, *out, (DWORD)*size, &got, NULL) && got == *size) {
		(*out)[*size] = '\0';
		return 0;
	}
	free(*out);
	*out = NULL;
	return -EIO;
}

int file_read(const wchar_t *path, char **out, size_t *size,
	      struct failure *failure)
{
	owned_handle HANDLE file =
		CreateFileW(path, GENERIC_READ, FILE_SHARE_READ, NULL,
			    OPEN_EXISTING, 0, NULL);
	DWORD code = GetLastError();
	int error;

	*out = NULL;
	if (file == INVALID_HANDLE_VALUE && code == ERROR_FILE_NOT_FOUND)
		return -ENOENT;
	if (file == INVALID_HANDLE_VALUE)
		return win_failed(failure, code, "%ls can't be opened", path);
	error = read_all(file, out, size);
	if (error)
		failure_set(failure, -error, "%ls can't be read", path);
	return error;
}

int file_named(const char *name, char **out, size_t *size,
	       struct failure *failure)
{
	owned_ptr wchar_t *path = wide(name);
	int error = path ? file_read(path, out, size, failure) : -ENOENT;

	return error == -ENOENT ? failure_set(failure, ENOENT, "%s", name)
				: error;
}

static bool write_all(const wchar_t *path, const void *bytes, size_t size)
{
	owned_handle HANDLE file = CreateFileW(path, GENERIC_WRITE, 0, NULL,
					       CREATE_ALWAYS, 0, NULL);
	DWORD put;

	return file != INVALID_HANDLE_VALUE &&
	       WriteFile(file, bytes, (DWORD)size, &put, NULL) && put == size &&
	       FlushFileBuffers(file);
}

int file_replace(const wchar_t *path, const void *bytes, size_t size,
		 struct failure *failure)
{
	size_t length = wcslen(path) + 5;
	owned_ptr wchar_t *fresh = malloc(sizeof(*fresh) * length);

	if (!fresh)
		return failure_set(failure, ENOMEM, "writing a file");
	swprintf(fresh, length, L"%ls.new", path);
	if (write_all(fresh, bytes, size) &&
	    MoveFileExW(fresh, path,
			MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
		return 0;
	return win_failed(failure, GetLastError(), "%ls can't be written",
			  path);
}
