-- SPDX-License-Identifier: Apache-2.0
-- Lets pip and uv install packages: PyPI over https, and their caches, which they share with pip and uv outside.

return {
  network = {
    allowedDomains = { "pypi.org:443", "files.pythonhosted.org:443" },
  },
  filesystem = {
    allowWrite = { "~/.cache/pip", "~/.cache/uv" },
    -- May hold passwords of private indexes; ~/.pypirc is for publishing.
    denyRead = { "~/.pypirc", "~/.config/pip/pip.conf", "~/.pip/pip.conf" },
  },
  env = {
    set = { PIP_DISABLE_PIP_VERSION_CHECK = "1", PIP_NO_INPUT = "1" },
  },
}
