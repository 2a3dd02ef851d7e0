-- SPDX-License-Identifier: Apache-2.0
-- Lets the docker command talk to the engine of this machine. That is as good as root on the host: trust who gets it.

-- The engine that docker itself would take; another machine's is a host for network.allowedDomains.
local socket = (srt.env.DOCKER_HOST or ""):match("^unix://(/.+)$") or "/run/docker.sock"

return {
  network = {
    allowUnixSockets = { socket },
  },
}
