-- SPDX-License-Identifier: Apache-2.0
-- For steps of a CI job: writes in the checkout, the job's tokens are not there, a policy with warnings does not run.

return {
  extends = { "workspace", "no-secrets" },
  -- A runner checks out as another user than a container's.
  git = { safeDirectories = { srt.cwd } },
  env = {
    set = { CI = "true" },
  },
  -- Nobody reads warnings there.
  strict = true,
}
