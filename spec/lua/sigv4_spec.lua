-- SPDX-License-Identifier: Apache-2.0
-- Signatures of AWS's published examples, and what is refused.

require("spec.lua.support")
local sigv4 = require("srt.sigv4")

local SUITE = { key = "AKIDEXAMPLE", secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", service = "service",
  time = "20150830T123600Z", host = "example.amazonaws.com" }
local EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

local function with(more)
  return setmetatable(more, { __index = SUITE })
end

-- Names of the suite; method, path, query, more headers, payload, signature.
local ROWS = {
  { "get-vanilla", "GET", "/", nil, {}, EMPTY, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
  { "get-vanilla-query-order-key-case", "GET", "/", "Param2=value2&Param1=value1", {}, EMPTY,
    "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500" },
  { "post-vanilla", "POST", "/", nil, {}, EMPTY, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b" },
  { "get-slashes", "GET", "//", nil, {}, EMPTY, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
  { "get-relative", "GET", "/example/..", nil, {}, EMPTY,
    "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
  { "get-utf8", "GET", "/\u{1234}", nil, {}, EMPTY, "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85" },
  { "get-header-value-trim", "GET", "/", nil, { ["my-header1"] = { " value1" }, ["my-header2"] = { ' "a   b   c"' } },
    EMPTY, "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736" },
  { "post-x-www-form-urlencoded", "POST", "/", nil, { ["content-type"] = { "application/x-www-form-urlencoded" } },
    "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e",
    "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a" },
  { "the guide's ListUsers", "GET", "/", "Action=ListUsers&Version=2010-05-08",
    { ["content-type"] = { "application/x-www-form-urlencoded; charset=utf-8" } }, EMPTY,
    "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
    with { service = "iam", host = "iam.amazonaws.com" } },
  { "S3's GET Object", "GET", "/test.txt", nil, { range = { "bytes=0-9" }, ["x-amz-content-sha256"] = { EMPTY } }, EMPTY,
    "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41", with { service = "s3", key = "AKIAIOSFODNN7EXAMPLE",
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", time = "20130524T000000Z", host = "examplebucket.s3.amazonaws.com" } },
}

local function authorization(of, headers, signature)
  local names = {}
  for name in pairs(headers) do names[#names + 1] = name end
  table.sort(names)
  return ("AWS4-HMAC-SHA256 Credential=%s/%s/us-east-1/%s/aws4_request, SignedHeaders=%s, Signature=%s"):format(of.key,
    of.time:sub(1, 8), of.service, table.concat(names, ";"), signature)
end

describe("signatures of AWS", function()
  for _, row in ipairs(ROWS) do
    it("are as published: " .. row[1], function()
      local of, headers = row[8] or SUITE, row[5]
      headers.host, headers["x-amz-date"] = { of.host }, { of.time }
      local text = authorization(of, headers, row[7])
      local read = assert(sigv4.parse(text))
      local canonical = assert(sigv4.canonical({ method = row[2], path = row[3], query = row[4], headers = headers,
        payload = row[6] }, read))
      assert.equal(row[7], sigv4.sign(of.secret, canonical, read, of.time))
      assert.equal(text, sigv4.text(read, of.key, row[7]))
    end)
  end

  it("are no others", function()
    local good = authorization(SUITE, { host = {} }, ("0"):rep(64))
    assert.truthy(sigv4.parse(good))
    for from, to in pairs { ["HMAC"] = "ECDSA", ["aws4_request"] = "aws5_request", ["20150830"] = "2015",
      ["SignedHeaders=host, "] = "", ["Signature=0"] = "Signature=", ["0$"] = "g", ["Credential="] = "Key=",
      [", Sig"] = ", Credential=x, Sig" } do
      assert.is_nil(sigv4.parse((good:gsub(from, to, 1))), to)
    end
    assert.is_nil(sigv4.parse("Bearer x"))
    local _, problem = sigv4.canonical({ headers = {} }, assert(sigv4.parse(good)))
    assert.equal("the signed header host is not there", problem)
  end)
end)
