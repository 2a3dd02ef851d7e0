/* SPDX-License-Identifier: Apache-2.0 */
/* Filters that stay over restarts, in a sublayer of their own. A filter's key
 * is that of the sublayer and its number, so no list of them is kept.
 */
#include "core/windows/wfp.h"

#include <errno.h>
#include <stdio.h>

#include <fwpmu.h>
#include <sddl.h>

/* fwpmu.h of MinGW-w64 has none of these. */
enum { FILTER_PERSISTENT = 1, SUBLAYER_PERSISTENT = 1 };

/* What the filters are about, as the headers of Windows have it. */
static const wchar_t *const layers[FENCE_LAYERS] = {
	[FENCE_CONNECT_V4] = L"{c38d57d1-05a7-4c33-904f-7fbceee60e82}",
	[FENCE_CONNECT_V6] = L"{4a72393b-319f-44bc-84c3-ba54dcb3b6b4}",
	[FENCE_ACCEPT_V4] = L"{e1cd9fe7-f4b5-4273-96c0-592e487b8650}",
	[FENCE_ACCEPT_V6] = L"{a3b42c97-9f04-4672-b87e-cee9c483257f}",
};
static const wchar_t user_id[] = L"{af043a0a-b34d-4f86-979c-c90371af6e66}";
static const wchar_t ip_protocol[] = L"{3971ef2b-623e-4f9a-8cb1-6e79b806b9a7}";
static const wchar_t remote_address[] =
	L"{b235ae9a-1d64-49b8-a44c-5ff3d9095045}";
static const wchar_t remote_port[] = L"{c35a604d-d22b-4e1a-91b4-68f674ee674b}";

/* What is no identifier comes out as nil, which no layer or condition has. */
static GUID id_of(const wchar_t *text)
{
	GUID out = { 0 };

	CLSIDFromString(text, &out);
	return out;
}

static GUID filter_key(const GUID *sublayer, unsigned index)
{
	GUID key = *sublayer;

	key.Data4[7] ^= (unsigned char)(index + 1);
	return key;
}

/* A descriptor that only the account passes: what the condition compares. */
static bool user_of(const struct sid *account, FWP_BYTE_BLOB *out)
{
	wchar_t text[256];
	owned_local wchar_t *sid = NULL;
	ULONG size;

	if (!ConvertSidToStringSidW((void *)account->bytes, &sid))
		return false;
	swprintf(text, ARRAY_SIZE(text), L"D:(A;;CC;;;%ls)", sid);
	if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(
		    text, SDDL_REVISION_1, (void **)&out->data, &size))
		return false;
	out->size = size;
	return true;
}

static unsigned conditions_of(const struct fence_filter *filter,
			      FWP_BYTE_BLOB *user, FWP_RANGE0 *ports,
			      FWPM_FILTER_CONDITION0 out[4])
{
	FWP_CONDITION_VALUE0 port = { .type = FWP_RANGE_TYPE,
				      .rangeValue = ports };

	out[0] = (FWPM_FILTER_CONDITION0){
		id_of(user_id),
		FWP_MATCH_EQUAL,
		{ .type = FWP_SECURITY_DESCRIPTOR_TYPE, .sd = user },
	};
	if (!filter->protocol)
		return 1;
	out[1] = (FWPM_FILTER_CONDITION0){
		id_of(ip_protocol),
		FWP_MATCH_EQUAL,
		{ .type = FWP_UINT8, .uint8 = filter->protocol },
	};
	out[2] = (FWPM_FILTER_CONDITION0){
		id_of(remote_address),
		FWP_MATCH_EQUAL,
		{ .type = FWP_UINT32, .uint32 = filter->address },
	};
	ports->valueLow =
		(FWP_VALUE0){ .type = FWP_UINT16, .uint16 = filter->low };
	ports->valueHigh =
		(FWP_VALUE0){ .type = FWP_UINT16, .uint16 = filter->high };
	out[3] = (FWPM_FILTER_CONDITION0){ id_of(remote_port), FWP_MATCH_RANGE,
					   port };
	return 4;
}

static DWORD add_filter(HANDLE engine, const GUID *sublayer, unsigned index,
			const struct fence_filter *filter, FWP_BYTE_BLOB *user)
{
	FWPM_FILTER_CONDITION0 conditions[4];
	wchar_t name[] = L"srt-lua fence";
	FWP_RANGE0 ports;
	FWPM_FILTER0 out = {
		.filterKey = filter_key(sublayer, index),
		.displayData = { .name = name },
		.flags = FILTER_PERSISTENT,
		.layerKey = id_of(layers[filter->layer]),
		.subLayerKey = *sublayer,
		.weight = { .type = FWP_UINT8, .uint8 = filter->weight },
		.filterCondition = conditions,
		.action = { .type = filter->permit ? FWP_ACTION_PERMIT
						   : FWP_ACTION_BLOCK },
	};

	out.numFilterConditions =
		conditions_of(filter, user, &ports, conditions);
	return FwpmFilterAdd0(engine, &out, NULL, NULL);
}

static DWORD remove_all(HANDLE engine, const GUID *sublayer)
{
	DWORD code = 0;

	for (unsigned i = 0; !code && i < FENCE_FILTERS; i++) {
		GUID key = filter_key(sublayer, i);

		code = FwpmFilterDeleteByKey0(engine, &key);
		if (code == (DWORD)FWP_E_FILTER_NOT_FOUND)
			code = 0;
	}
	if (!code)
		code = FwpmSubLayerDeleteByKey0(engine, sublayer);
	return code == (DWORD)FWP_E_SUBLAYER_NOT_FOUND ? 0 : code;
}

static DWORD add_all(HANDLE engine, const GUID *sublayer,
		     const struct sid *account, struct port_range range)
{
	wchar_t name[] = L"srt-lua";
	FWPM_SUBLAYER0 layer = {
		.subLayerKey = *sublayer,
		.displayData = { .name = name },
		.flags = SUBLAYER_PERSISTENT,
		.weight = 0xffff,
	};
	struct fence_filter filters[FENCE_FILTERS];
	FWP_BYTE_BLOB user = { 0 };
	DWORD code = FwpmSubLayerAdd0(engine, &layer, NULL);

	if (!code && !user_of(account, &user))
		code = GetLastError();
	fence_filters(range, filters);
	for (unsigned i = 0; !code && i < FENCE_FILTERS; i++)
		code = add_filter(engine, sublayer, i, &filters[i], &user);
	LocalFree(user.data);
	return code;
}

/* One transaction: there is no moment with half of a fence. */
static DWORD change(const GUID *sublayer, const struct sid *account,
		    struct port_range range)
{
	HANDLE engine;
	DWORD code =
		FwpmEngineOpen0(NULL, RPC_C_AUTHN_DEFAULT, NULL, NULL, &engine);

	if (code)
		return code;
	code = FwpmTransactionBegin0(engine, 0);
	if (!code) {
		code = remove_all(engine, sublayer);
		if (!code && account)
			code = add_all(engine, sublayer, account, range);
		if (!code)
			code = FwpmTransactionCommit0(engine);
		else
			FwpmTransactionAbort0(engine);
	}
	FwpmEngineClose0(engine);
	return code;
}

static int change_text(const char *sublayer, const struct sid *account,
		       struct port_range range, struct failure *failure)
{
	owned_ptr wchar_t *text = wide(sublayer);
	GUID key;
	DWORD code;

	if (!text || FAILED(CLSIDFromString(text, &key)))
		return failure_set(failure, 0, "\"%s\" is no GUID", sublayer);
	code = change(&key, account, range);
	if (!code)
		return 0;
	return win_failed(failure, code, "the fence can't be changed");
}

int wfp_install(const char *sublayer, const struct sid *account,
		struct port_range range, struct failure *failure)
{
	return change_text(sublayer, account, range, failure);
}

int wfp_remove(const char *sublayer, struct failure *failure)
{
	return change_text(sublayer, NULL, (struct port_range){ 0 }, failure);
}
