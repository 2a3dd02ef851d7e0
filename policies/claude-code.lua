-- SPDX-License-Identifier: Apache-2.0
-- For Claude Code at work on the working directory: its API, its own files, no other credentials than its own.

return {
  extends = { "workspace", "no-secrets" },
  network = {
    -- The API, and what logging in takes.
    allowedDomains = { "api.anthropic.com:443", "claude.ai:443", "platform.claude.com:443",
      "console.anthropic.com:443" },
  },
  filesystem = {
    -- A single file can't be replaced in place; Claude Code then writes it as it is.
    allowWrite = { "~/.claude", "~/.claude.json" },
    -- What the next one outside would run, or do as it is told. Commands, agents and settings are protected as it is.
    protect = { ".claude/hooks", ".claude/local", ".claude/plugins", ".claude/skills" },
    denyWrite = { srt.exists("~/.claude/CLAUDE.md") and "~/.claude/CLAUDE.md" or nil },
    denyRead = { srt.remove "~/.claude/.credentials.json" },
  },
  env = {
    unset = { srt.remove "ANTHROPIC_API_KEY" },
    set = { DISABLE_AUTOUPDATER = "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1" },
  },
  -- It does without this one, which would be made at home.
  ignoreViolations = { claude = { "/.claude.json.lock" } },
}
