-- SPDX-License-Identifier: Apache-2.0
-- Lets go build with modules of the public proxy, and keeps them and what was built where go outside finds them too.

return {
  network = {
    allowedDomains = { "proxy.golang.org:443", "sum.golang.org:443" },
  },
  filesystem = {
    -- Not ~/go/bin, which is on PATH.
    allowWrite = { "~/go/pkg", "~/.cache/go-build" },
  },
  env = {
    -- Nothing is fetched from where a module's author keeps it; private modules have no proxy and need GOPRIVATE.
    set = { GOPROXY = "https://proxy.golang.org" },
  },
}
