-- SPDX-License-Identifier: Apache-2.0
-- Where credentials usually lie. What the system's own are, policies/no-system-secrets.lua says.
local paths = require "srt.paths"

local stores = {}

-- In the home directory.
stores.HOME = {
  ".ssh", ".gnupg", ".password-store", ".local/share/keyrings", ".config/op", ".config/sops", ".config/age",
  ".vault-token",
  ".aws", ".azure", ".boto", ".s3cfg", ".config/gcloud", ".config/doctl", ".config/rclone", ".kube", ".oci",
  ".docker/config.json", ".config/containers/auth.json", ".terraformrc", ".terraform.d/credentials.tfrc.json",
  ".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli",
  ".netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".config/pip/pip.conf", ".cargo/credentials",
  ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".gradle/gradle.properties", ".composer/auth.json",
  ".config/composer/auth.json", ".nuget/NuGet/NuGet.Config", ".pgpass", ".my.cnf",
  ".claude/.credentials.json", ".codex/auth.json",
  ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
}

-- In any folder.
local NAMES = { [".env"] = true, [".npmrc"] = true, [".pypirc"] = true, [".netrc"] = true, [".git-credentials"] = true,
  [".htpasswd"] = true, [".pgpass"] = true }

local Stores = {}
Stores.__index = Stores

---The store that a path is, or lies in.
---@param path string absolute
---@return string|nil store absolute
function Stores:holding(path)
  local at = path
  while at ~= "/" do
    if self.known[at] or NAMES[at:match("[^/]*$")] then return self.known[at] or at end
    at = paths.parent(at)
  end
  return nil
end

---@param home string|nil
---@param system string[] absolute paths
---@param real fun(path: string): string|nil where a store really lies, if it is there
---@return table stores with :holding, and `list` of absolute paths
function stores.new(home, system, real)
  local self = setmetatable({ list = {}, known = {}, system = {} }, Stores)
  for _, name in ipairs(home and stores.HOME or {}) do self.list[#self.list + 1] = paths.join(home, name) end
  for _, path in ipairs(system) do
    self.list[#self.list + 1], self.system[path] = path, true
  end
  for _, path in ipairs(self.list) do self.known[real(path) or path] = path end
  for _, path in ipairs(self.list) do self.known[path] = path end
  return self
end

return stores
