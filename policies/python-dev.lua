-- SPDX-License-Identifier: Apache-2.0
-- For work on a Python project: writes in the working directory, packages by pip, uv and poetry, no credentials.

return {
  extends = { "workspace", "no-secrets", "pypi" },
  filesystem = {
    -- Not ~/.local, whose bin is on PATH: install into a venv in the project.
    allowWrite = { "~/.cache/pypoetry", "~/.cache/matplotlib" },
    -- Environments that poetry keeps at home run outside too.
    denyWrite = { "~/.cache/pypoetry/virtualenvs" },
  },
  env = {
    set = { POETRY_VIRTUALENVS_IN_PROJECT = "true" },
  },
}
