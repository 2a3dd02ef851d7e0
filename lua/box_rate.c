/* SPDX-License-Identifier: Apache-2.0 */
/* srt.rate(key, n, seconds): a token bucket for each key. */
#include <lauxlib.h>
#include <stdbool.h>
#include <time.h>

#include "lua/box_host.h"
#include "lua/box_srt.h"
#include "lua/box_state.h"

#define RATE_KEYS 4096

/* Upvalues of srt.rate. */
#define BUCKETS lua_upvalueindex(1)
#define COUNT lua_upvalueindex(2)

/* @tokens at the time @at, never more than @most; @speed comes a second. */
struct bucket {
	double tokens, at, most, speed;
};

static double tokens_at(const struct bucket *bucket, double now)
{
	double tokens = bucket->tokens + (now - bucket->at) * bucket->speed;

	return tokens < bucket->most ? tokens : bucket->most;
}

/* Drops the buckets that are full: they are as good as none. */
static lua_Integer sweep(lua_State *B, double now)
{
	lua_Integer count = 0;

	box_charge(B, RATE_KEYS);
	lua_pushnil(B);
	while (lua_next(B, BUCKETS)) {
		const struct bucket *bucket = lua_touserdata(B, -1);

		lua_pop(B, 1);
		if (tokens_at(bucket, now) < bucket->most) {
			count++;
			continue;
		}
		lua_pushvalue(B, -1);
		lua_pushnil(B);
		lua_rawset(B, BUCKETS);
	}
	return count;
}

/* NULL where there are too many: a flood of keys must not fill the memory. */
static struct bucket *new_bucket(lua_State *B, double now)
{
	lua_Integer count = lua_tointeger(B, COUNT);
	struct bucket *bucket;

	if (count >= RATE_KEYS)
		count = sweep(B, now);
	lua_pushinteger(B, count < RATE_KEYS ? count + 1 : count);
	lua_replace(B, COUNT);
	if (count >= RATE_KEYS)
		return NULL;
	lua_pushvalue(B, 1);
	bucket = lua_newuserdatauv(B, sizeof(*bucket), 0);
	*bucket = (struct bucket){ 0 };
	lua_rawset(B, BUCKETS);
	return bucket;
}

static int srt_rate(lua_State *B)
{
	lua_Number n, period;
	struct bucket *bucket;
	double now = box_time(box_of(B), CLOCK_MONOTONIC);

	luaL_checkstring(B, 1);
	n = luaL_checknumber(B, 2);
	period = luaL_checknumber(B, 3);
	luaL_argcheck(B, n >= 1, 2, "must be 1 or more");
	luaL_argcheck(B, period > 0, 3, "must be more than 0");
	lua_pushvalue(B, 1);
	lua_rawget(B, BUCKETS);
	bucket = lua_touserdata(B, -1);
	if (!bucket) {
		bucket = new_bucket(B, now);
		if (bucket)
			bucket->tokens = n;
	} else {
		bucket->tokens = tokens_at(bucket, now);
	}
	if (!bucket) {
		lua_pushboolean(B, 0);
		return 1;
	}
	bucket->at = now;
	bucket->most = n;
	bucket->speed = n / period;
	lua_pushboolean(B, bucket->tokens >= 1);
	if (bucket->tokens >= 1)
		bucket->tokens -= 1;
	return 1;
}

void box_rate_open(lua_State *B)
{
	lua_newtable(B);
	lua_pushinteger(B, 0);
	lua_pushcclosure(B, srt_rate, 2);
	lua_setfield(B, -2, "rate");
}
