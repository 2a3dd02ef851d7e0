/* SPDX-License-Identifier: Apache-2.0 */
/* The journal is written before a list is changed, and again when an entry is
 * gone from its list; so at any moment it names all that is there, or more.
 */
#include "core/windows/lists.h"

#include <errno.h>

#include <aclapi.h>

#include "core/windows/journal.h"

static struct sid trustee_sid(enum trustee trustee, const struct sid *account)
{
	struct sid owner;

	sid_parse(&owner, "S-1-3-4");
	return trustee == TRUSTEE_ACCOUNT ? *account : owner;
}

/* The object that has this very name: nothing on the way leads elsewhere. */
static HANDLE open_path(const char *path, bool *folder, DWORD *code)
{
	owned_ptr wchar_t *name = wide(path);
	BY_HANDLE_FILE_INFORMATION info;
	wchar_t real[32768];
	HANDLE file = INVALID_HANDLE_VALUE;

	*code = ERROR_INVALID_NAME;
	if (!name)
		return file;
	file = CreateFileW(
		name, READ_CONTROL | WRITE_DAC | FILE_READ_ATTRIBUTES,
		FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
		OPEN_EXISTING,
		FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT,
		NULL);
	*code = GetLastError();
	if (file == INVALID_HANDLE_VALUE)
		return file;
	if (GetFileInformationByHandle(file, &info) &&
	    GetFinalPathNameByHandleW(file, real, ARRAY_SIZE(real), 0) > 4 &&
	    _wcsicmp(real + 4, name) == 0) {
		*folder = info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
		return file;
	}
	*code = ERROR_CANT_RESOLVE_FILENAME;
	CloseHandle(file);
	return INVALID_HANDLE_VALUE;
}

/* The bytes of an object's list; a missing one lets everybody in. */
static int list_of(HANDLE file, PSECURITY_DESCRIPTOR *holder, ACL **list)
{
	if (GetSecurityInfo(file, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION,
			    NULL, NULL, list, NULL, holder))
		return -EACCES;
	return *list && acl_valid((const uint8_t *)*list, (*list)->AclSize)
		       ? 0
		       : -EINVAL;
}

static int put_list(HANDLE file, const struct acl_bytes *list)
{
	return SetSecurityInfo(file, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION,
			       NULL, NULL, (ACL *)(void *)list->bytes, NULL)
		       ? -EACCES
		       : 0;
}

static int change_list(HANDLE file, const struct ace *ace, bool add)
{
	owned_local PSECURITY_DESCRIPTOR holder = NULL;
	struct acl_bytes fresh = { 0 };
	ACL *list = NULL;
	int error = list_of(file, &holder, &list);

	if (error)
		return error;
	/* Another run has put it there: this one holds it as well. */
	if (add && acl_count((const uint8_t *)list, ace))
		return 0;
	error = add ? acl_add((const uint8_t *)list, ace, &fresh)
		    : acl_remove((const uint8_t *)list, ace, &fresh);
	if (error)
		return error == -ENOENT ? 0 : error;
	error = put_list(file, &fresh);
	free(fresh.bytes);
	return error;
}

static int change(const char *path, const struct rule *rule,
		  const struct sid *account, bool add, struct failure *failure)
{
	struct ace ace = { .deny = rule->deny,
			   .flags = rule->flags,
			   .mask = rule->mask,
			   .sid = trustee_sid(rule->trustee, account) };
	bool folder = false;
	DWORD code;
	owned_handle HANDLE file = open_path(path, &folder, &code);
	int error;

	/* It was removed, and its list with it. */
	if (file == INVALID_HANDLE_VALUE && !add &&
	    (code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND))
		return 0;
	if (file == INVALID_HANDLE_VALUE)
		return win_failed(failure, code, "the access list of %s", path);
	if (!folder)
		ace.flags = 0;
	error = change_list(file, &ace, add);
	if (error)
		failure_set(failure, -error, "the access list of %s", path);
	return error;
}

static struct holder holder_of(HANDLE process, uint32_t pid)
{
	FILETIME begun = { 0 }, other;
	struct holder out = { .pid = pid };

	GetProcessTimes(process, &begun, &other, &other, &other);
	out.started =
		(uint64_t)begun.dwHighDateTime << 32 | begun.dwLowDateTime;
	return out;
}

static struct holder ourselves(void)
{
	return holder_of(GetCurrentProcess(), GetCurrentProcessId());
}

static bool is_dead(const struct holder *holder, void *data)
{
	owned_handle HANDLE process =
		OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE,
			    FALSE, holder->pid);

	(void)data;
	/* What can't be opened is there: another user's, or not ours to end. */
	if (!process)
		return GetLastError() == ERROR_INVALID_PARAMETER;
	return holder_of(process, holder->pid).started != holder->started ||
	       WaitForSingleObject(process, 0) == WAIT_OBJECT_0;
}

static bool is_dead_or_us(const struct holder *holder, void *data)
{
	struct holder us = ourselves();

	return (holder->pid == us.pid && holder->started == us.started) ||
	       is_dead(holder, data);
}

static HANDLE lock(void)
{
	HANDLE mutex = CreateMutexW(NULL, FALSE, L"Global\\srt-lua-lists");

	if (mutex && WaitForSingleObject(mutex, INFINITE) == WAIT_FAILED) {
		CloseHandle(mutex);
		mutex = NULL;
	}
	return mutex;
}

static int load(struct journal *journal, wchar_t **path,
		struct failure *failure)
{
	owned_ptr char *text = NULL;
	size_t size = 0;
	int error;

	*journal = (struct journal){ 0 };
	*path = state_file("lists.journal");
	if (!*path)
		return failure_set(failure, ENOENT, "a folder for our state");
	error = file_read(*path, &text, &size, failure);
	if (error == -ENOENT)
		return 0;
	if (error)
		return error;
	error = journal_parse(journal, text, size);
	return error ? failure_set(failure, -error, "the journal %ls", *path)
		     : 0;
}

static int save(const struct journal *journal, const wchar_t *path,
		struct failure *failure)
{
	owned_ptr char *text = journal_print(journal);

	if (!text)
		return failure_set(failure, ENOMEM, "writing the journal");
	return file_replace(path, text, strlen(text), failure);
}

static void forget_folder(const char *path)
{
	owned_ptr wchar_t *name = wide(path);

	/* Only an empty one goes: what somebody put there stays. */
	if (name)
		RemoveDirectoryW(name);
}

static int revert(const struct hold *hold, const struct sid *account,
		  struct failure *failure)
{
	int error = change(hold->path, &hold->rule, account, false, failure);

	if (!error && hold->made)
		forget_folder(hold->path);
	return error;
}

/* Takes back, and keeps as nobody's what could not be. */
static int take_back(struct journal *journal, gone_fn *gone,
		     const struct sid *account, struct failure *failure)
{
	struct journal left = { 0 };
	struct hold hold;
	bool last;
	int error = 0, first = 0;

	while (journal_take(journal, gone, NULL, &hold, &last)) {
		error = last ? revert(&hold, account, failure) : 0;
		hold.holder = (struct holder){ 0 };
		if (error)
			journal_hold(&left, &hold);
		first = first ? first : error;
	}
	for (size_t i = 0; i < left.count; i++)
		journal_hold(journal, &left.holds[i]);
	journal_free(&left);
	return first;
}

/* What is there already, and was not made by a run, is the user's and stays. */
static bool will_make(struct journal *journal, const struct plan_path *at)
{
	owned_ptr wchar_t *name = at->make ? wide(at->path) : NULL;

	return name && (GetFileAttributesW(name) == INVALID_FILE_ATTRIBUTES ||
			journal_made(journal, at->path));
}

static int hold_all(struct journal *journal, const struct win_plan *plan,
		    const struct holder *us)
{
	struct hold hold = { .holder = *us };
	/* Asked before there is anything of ours. */
	owned_ptr bool *made = calloc(plan->path_count + 1, sizeof(*made));
	int error = made ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < plan->path_count; i++)
		made[i] = will_make(journal, &plan->paths[i]);
	for (size_t i = 0; !error && i < plan->path_count; i++) {
		const struct plan_path *at = &plan->paths[i];

		hold.path = (char *)at->path;
		hold.made = made[i];
		for (unsigned j = 0; !error && j < at->count; j++) {
			hold.rule = at->rules[j];
			error = journal_hold(journal, &hold);
		}
	}
	return error;
}

static int put_all(const struct win_plan *plan, const struct sid *account,
		   struct failure *failure)
{
	int error = 0;

	for (size_t i = 0; !error && i < plan->path_count; i++) {
		const struct plan_path *at = &plan->paths[i];
		owned_ptr wchar_t *name = wide(at->path);

		if (at->make && name)
			CreateDirectoryW(name, NULL);
		for (unsigned j = 0; !error && j < at->count; j++)
			error = change(at->path, &at->rules[j], account, true,
				       failure);
	}
	return error;
}

static int apply(struct journal *journal, const wchar_t *path,
		 const struct win_plan *plan, const struct sid *account,
		 struct failure *failure)
{
	const struct holder us = ourselves();
	const char *other;
	int error = take_back(journal, is_dead, account, failure);

	if (error)
		return error;
	error = hold_all(journal, plan, &us);
	if (error)
		return failure_set(failure, -error, "writing the journal");
	other = journal_conflict(journal, &us);
	if (other)
		return failure_set(failure, EBUSY,
				   "another command runs that is granted "
				   "something else at %s, and both have one "
				   "account",
				   other);
	error = save(journal, path, failure);
	if (!error)
		error = put_all(plan, account, failure);
	if (error) {
		take_back(journal, is_dead_or_us, account, NULL);
		save(journal, path, NULL);
	}
	return error;
}

static int locked(const struct win_plan *plan, const struct sid *account,
		  struct failure *failure)
{
	owned_ptr wchar_t *path = NULL;
	struct journal journal;
	int error = load(&journal, &path, failure), other;

	if (!error && plan) {
		error = apply(&journal, path, plan, account, failure);
	} else if (!error) {
		error = take_back(&journal, is_dead_or_us, account, failure);
		other = save(&journal, path, failure);
		error = error ? error : other;
	}
	journal_free(&journal);
	return error;
}

static int with_lock(const struct win_plan *plan, const struct sid *account,
		     struct failure *failure)
{
	owned_handle HANDLE mutex = lock();
	int error;

	if (!mutex)
		return win_failed(failure, GetLastError(), "the lock of lists");
	error = locked(plan, account, failure);
	ReleaseMutex(mutex);
	return error;
}

int lists_apply(const struct win_plan *plan, const struct sid *account,
		struct failure *failure)
{
	return with_lock(plan, account, failure);
}

int lists_release(const struct sid *account, struct failure *failure)
{
	return with_lock(NULL, account, failure);
}
