-- SPDX-License-Identifier: Apache-2.0
-- What the documents show is so: their Lua loads, their links lead somewhere, messages that they quote are ours, and the
-- manual page knows every command. The reference of keys has a spec of its own.
require("spec.lua.support")

local function read(name)
  local f = assert(io.open(name))
  local text = f:read("a")
  f:close()
  return text
end

local function lines_of(command)
  local p <close> = assert(io.popen(command))
  local list = {}
  for line in p:lines() do list[#list + 1] = line end
  return list
end

local DOCS = lines_of("ls *.md docs/*.md core/*.md")

describe("the manual", function()
  -- The page without what troff makes of it.
  local text = read("man/srt-lua.1"):gsub("\\f[BRIP]", ""):gsub("\\([%-,&])", function(c) return c == "-" and c or "" end)
    :gsub("\\%(dq", '"'):gsub("\\%(aq", "'"):gsub("\\%(ti", "~")

  it("has policies that load", function()
    local count = 0
    for example in text:gmatch("%.EX\n(return.-)%.EE") do
      assert(load(example))
      count = count + 1
    end
    assert.is_true(count >= 2)
  end)

  for name in read("lua/srt/cli/commands.lua"):match("local COMMANDS = (%b{})"):gmatch('{ "(%w+)"') do
    it("knows " .. name .. ", and README.md's table does", function()
      assert.truthy(text:find(".B " .. name .. "\n", 1, true))
      assert.truthy(read("README.md"):find("\n| `srt%-lua " .. name .. "%f[%W]"))
    end)
  end
end)

describe("the documents", function()
  local count, links = 0, 0

  for _, name in ipairs(DOCS) do
    local text = read(name)
    it(name .. " has Lua that loads, as a policy or as keys of one", function()
      for example in text:gmatch("```lua\n(.-)```") do
        assert(load(example) or load("return {\n" .. example .. "\n}"), example)
        count = count + 1
      end
    end)

    it(name .. " has links that lead somewhere", function()
      for target in text:gmatch("%]%(([^)%s]+)%)") do
        if not target:find("^%a+:") then
          local path = (name:match("^(.*/)") or "") .. target:gsub("#.*", "")
          assert(io.open(path), path):close()
          links = links + 1
        end
      end
    end)
  end

  -- cmake/Install.cmake: HACKING.md and those of core/ are for who has the sources.
  it("have links that lead somewhere where they are installed", function()
    local installed = { LICENSE = true }
    for _, name in ipairs(lines_of("ls README.md SECURITY.md CHANGELOG.md docs/*.md")) do installed[name] = true end
    for name in pairs(installed) do
      for target in read(name):gmatch("%]%(([^)%s]+)%)") do
        local path = (name:match("^(.*/)") or "") .. target:gsub("#.*", "")
        path = path:gsub("^docs/%.%./", "")
        assert.is_true(target:find("^%a+:") ~= nil or target:find("^#") ~= nil or installed[path], name .. ": " .. target)
      end
    end
  end)

  it("are each named by another one", function()
    for _, name in ipairs(DOCS) do
      local last, found = name:match("^docs/([^/]+)$"), false
      for _, other in ipairs(DOCS) do
        found = found or (other ~= name and last ~= nil and read(other):find(last, 1, true) ~= nil)
      end
      assert.is_true(found or not last, name)
    end
  end)

  it("are not without them", function()
    assert.is_true(count >= 5)
    assert.is_true(links >= 10)
  end)
end)

-- The message in one piece, as the sources have it in parts: strings that are joined are one.
local function sources()
  local parts = {}
  for _, name in ipairs(lines_of("ls lua/srt/*.lua lua/srt/*/*.lua lua/*.c backends/*.lua core/*.c proxy/*.c")) do
    local text = read(name)
    text = name:find("%.c$") and text:gsub('"%s*"', "") or text:gsub('"%s*%.%.%s*"', "")
    parts[#parts + 1] = text:gsub("\\(.)", "%1")
  end
  return table.concat(parts, "\n")
end

-- What other programs say.
local OTHERS = { ["Read-only file system"] = 1, ["Permission denied"] = 1, ["Device or resource busy"] = 1,
  ["Invalid cross-device link"] = 1, ["Is a directory"] = 1, ["File exists"] = 1, [".quarantined-by-srt-lua"] = 1,
  ["git config"] = 1, ["git push -u"] = 1, ["could not lock config file"] = 1,
  ["could not write config file"] = 1, ["Could not resolve hostname"] = 1,
  ["Name or service not known"] = 1, ["SSL certificate problem: unable to get local issuer certificate"] = 1,
  ["attempt to index a nil value"] = 1, ["attempt to call a nil value"] = 1,
  ["connect EPERM /…"] = 1, ["Operation not permitted"] = 1, ["ECONNREFUSED 127.0.0.1:5432"] = 1 }

describe("docs/troubleshooting.md", function()
  local all, text, count = sources(), read("docs/troubleshooting.md"), 0
  for line in text:gmatch("(.-)\n") do
    for message in (line:match("^%*%*.*") or ""):gmatch("`([^`]+)`") do
      if not OTHERS[message] then
        count = count + 1
        it("quotes what we say: " .. message, function()
          local found = false
          for fragment in (message .. "…"):gmatch("(.-)…") do
            local words = fragment:match("^%s*(.-)%s*$")
            if #words > 6 then
              found = true
              assert.truthy(all:find(words, 1, true), words)
            end
          end
          assert.is_true(found, "nothing to look for")
        end)
      end
    end
  end
  it("quotes some", function() assert.is_true(count > 40, count) end)
end)
