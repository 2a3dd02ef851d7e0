-- SPDX-License-Identifier: Apache-2.0
-- For Codex at work on the working directory: its API, its own files, no other credentials than its own.
-- This is the sandbox: start it as codex --sandbox danger-full-access, as its own would be one in another.

return {
  extends = { "workspace", "no-secrets" },
  network = {
    -- The API, by key or by account, and what logging in takes.
    allowedDomains = { "api.openai.com:443", "chatgpt.com:443", "auth.openai.com:443" },
  },
  filesystem = {
    allowWrite = { "~/.codex" },
    -- What the next one outside would run, or do as it is told.
    denyWrite = { "~/.codex/prompts", "~/.codex/skills", "~/.codex/rules",
      srt.exists("~/.codex/config.toml") and "~/.codex/config.toml" or nil,
      srt.exists("~/.codex/AGENTS.md") and "~/.codex/AGENTS.md" or nil },
    denyRead = { srt.remove "~/.codex/auth.json" },
  },
  env = {
    unset = { srt.remove "OPENAI_API_KEY" },
  },
}
