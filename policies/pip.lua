-- SPDX-License-Identifier: Apache-2.0
-- Lets pip install packages: the public index over https, and pip's cache.

return {
  network = {
    allowedDomains = { "pypi.org:443", "files.pythonhosted.org:443" },
  },
  filesystem = {
    allowWrite = { "~/.cache/pip" },
    -- Holds tokens for publishing.
    denyRead = { "~/.pypirc" },
  },
  env = {
    set = { PIP_DISABLE_PIP_VERSION_CHECK = "1" },
  },
}
