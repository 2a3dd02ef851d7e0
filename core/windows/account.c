/* SPDX-License-Identifier: Apache-2.0 */
/* An ordinary local account that nobody logs on with: its password is random,
 * new at each install, and kept by DPAPI for the user who installed.
 */
#include "core/windows/account.h"

#include <errno.h>
#include <stdio.h>

#include <bcrypt.h>
#include <lm.h>
#include <sddl.h>
#include <wincrypt.h>

#define HIDDEN                                                         \
	L"SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Winlogon\\" \
	L"SpecialAccounts\\UserList"

static wchar_t *password_file(const char *name)
{
	char file[64];

	snprintf(file, sizeof(file), "%s.key", name);
	return state_file(file);
}

/* 36 of 64 letters are 216 bits; the four kinds that rules ask for are there.
 */
static bool make_password(wchar_t out[PASSWORD_SIZE])
{
	static const wchar_t letters[] =
		L"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		L"0123456789-_";
	unsigned char random[PASSWORD_SIZE - 4];

	if (BCryptGenRandom(NULL, random, sizeof(random),
			    BCRYPT_USE_SYSTEM_PREFERRED_RNG) != 0)
		return false;
	for (size_t i = 0; i < sizeof(random); i++)
		out[i] = letters[random[i] & 63];
	wcscpy(out + sizeof(random), L"aZ9");
	SecureZeroMemory(random, sizeof(random));
	return true;
}

static int keep_password(const char *name, wchar_t password[PASSWORD_SIZE],
			 struct failure *failure)
{
	DATA_BLOB in = { PASSWORD_SIZE * sizeof(*password), (BYTE *)password };
	DATA_BLOB out = { 0 };
	owned_ptr wchar_t *path = password_file(name);
	int error;

	if (!path || !CryptProtectData(&in, NULL, NULL, NULL, NULL,
				       CRYPTPROTECT_UI_FORBIDDEN, &out))
		return win_failed(failure, GetLastError(),
				  "the password can't be kept");
	error = file_replace(path, out.pbData, out.cbData, failure);
	LocalFree(out.pbData);
	return error;
}

int account_password(const char *name, wchar_t out[PASSWORD_SIZE],
		     struct failure *failure)
{
	owned_ptr wchar_t *path = password_file(name);
	owned_ptr char *bytes = NULL;
	DATA_BLOB in, plain = { 0 };
	size_t size = 0;
	int error = path ? file_read(path, &bytes, &size, failure) : -EINVAL;

	if (error == -ENOENT)
		return failure_set(failure, 0,
				   "the password of %s is not here: it is kept "
				   "for the user who installed; run srt-win "
				   "windows-install as yourself, elevated",
				   name);
	if (error)
		return error;
	in = (DATA_BLOB){ (DWORD)size, (BYTE *)bytes };
	if (!CryptUnprotectData(&in, NULL, NULL, NULL, NULL,
				CRYPTPROTECT_UI_FORBIDDEN, &plain) ||
	    plain.cbData != PASSWORD_SIZE * sizeof(*out))
		return win_failed(failure, GetLastError(),
				  "the password of %s can't be read", name);
	memcpy(out, plain.pbData, plain.cbData);
	SecureZeroMemory(plain.pbData, plain.cbData);
	LocalFree(plain.pbData);
	return 0;
}

static bool fine(NET_API_STATUS status, NET_API_STATUS too)
{
	return status == NERR_Success || status == too;
}

/* Adds, or where the account is there, only changes its password. */
static NET_API_STATUS set_user(wchar_t *name, wchar_t *password)
{
	USER_INFO_1 user = {
		.usri1_name = name,
		.usri1_password = password,
		.usri1_priv = USER_PRIV_USER,
		.usri1_flags = UF_SCRIPT | UF_DONT_EXPIRE_PASSWD |
			       UF_PASSWD_CANT_CHANGE,
	};
	USER_INFO_1003 change = { .usri1003_password = password };
	NET_API_STATUS status = NetUserAdd(NULL, 1, (BYTE *)&user, NULL);

	if (status == NERR_UserExists)
		status =
			NetUserSetInfo(NULL, name, 1003, (BYTE *)&change, NULL);
	return status;
}

/* Users, by whatever name this Windows has for them. */
static bool users_name(wchar_t *out, DWORD size)
{
	BYTE sid[SECURITY_MAX_SID_SIZE];
	DWORD sid_size = sizeof(sid), domain_size = 64;
	wchar_t domain[64];
	SID_NAME_USE use;

	return CreateWellKnownSid(WinBuiltinUsersSid, NULL, sid, &sid_size) &&
	       LookupAccountSidW(NULL, sid, out, &size, domain, &domain_size,
				 &use);
}

static NET_API_STATUS join(wchar_t *group, wchar_t *name)
{
	LOCALGROUP_MEMBERS_INFO_3 member = { name };
	NET_API_STATUS status =
		NetLocalGroupAddMembers(NULL, group, 3, (BYTE *)&member, 1);

	return status == ERROR_MEMBER_IN_ALIAS ? NERR_Success : status;
}

/* It is not offered where people log on. */
static LONG hide(const wchar_t *name)
{
	DWORD zero = 0;
	HKEY key;
	LONG status = RegCreateKeyExW(HKEY_LOCAL_MACHINE, HIDDEN, 0, NULL, 0,
				      KEY_SET_VALUE, NULL, &key, NULL);

	if (status)
		return status;
	status = RegSetValueExW(key, name, 0, REG_DWORD, (BYTE *)&zero,
				sizeof(zero));
	RegCloseKey(key);
	return status;
}

static NET_API_STATUS make(wchar_t *name, wchar_t *group, wchar_t *password)
{
	LOCALGROUP_INFO_0 info = { group };
	wchar_t users[64];
	NET_API_STATUS status = NetLocalGroupAdd(NULL, 0, (BYTE *)&info, NULL);

	if (!fine(status, ERROR_ALIAS_EXISTS))
		return status;
	status = set_user(name, password);
	if (!status)
		status = join(group, name);
	if (!status)
		status = users_name(users, ARRAY_SIZE(users))
				 ? join(users, name)
				 : GetLastError();
	return status ? status : (NET_API_STATUS)hide(name);
}

int account_install(const char *name, const char *group,
		    struct failure *failure)
{
	owned_ptr wchar_t *who = wide(name), *set = wide(group);
	wchar_t password[PASSWORD_SIZE];
	NET_API_STATUS status;
	int error;

	if (!who || !set || !make_password(password))
		return failure_set(failure, 0, "no password could be made");
	status = make(who, set, password);
	error = status ? win_failed(failure, status,
				    "the account %s can't be made", name)
		       : keep_password(name, password, failure);
	SecureZeroMemory(password, sizeof(password));
	return error;
}

int account_remove(const char *name, const char *group, struct failure *failure)
{
	owned_ptr wchar_t *who = wide(name), *set = wide(group);
	owned_ptr wchar_t *path = password_file(name);
	NET_API_STATUS status;
	HKEY key;

	if (!who || !set || !path)
		return failure_set(failure, ENOMEM, "removing the account");
	status = NetUserDel(NULL, who);
	if (fine(status, NERR_UserNotFound))
		status = NetLocalGroupDel(NULL, set);
	if (!fine(status, NERR_GroupNotFound) && status != ERROR_NO_SUCH_ALIAS)
		return win_failed(failure, status,
				  "the account %s can't be removed", name);
	if (!RegOpenKeyExW(HKEY_LOCAL_MACHINE, HIDDEN, 0, KEY_SET_VALUE,
			   &key)) {
		RegDeleteValueW(key, who);
		RegCloseKey(key);
	}
	DeleteFileW(path);
	return 0;
}

int account_sid(const char *name, struct sid *out, struct failure *failure)
{
	owned_ptr wchar_t *who = wide(name);
	DWORD size = sizeof(out->bytes), domain_size = 256;
	wchar_t domain[256];
	SID_NAME_USE use;

	if (!who ||
	    !LookupAccountNameW(NULL, who, out->bytes, &size, domain,
				&domain_size, &use) ||
	    use != SidTypeUser)
		return win_failed(failure, GetLastError(),
				  "there is no account %s; run srt-win "
				  "windows-install, elevated",
				  name);
	out->size = (uint8_t)GetLengthSid(out->bytes);
	return 0;
}
