-- SPDX-License-Identifier: Apache-2.0
-- Hides the system's own secrets, which a command run as root could read otherwise.

return {
  filesystem = {
    denyRead = {
      "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/security/opasswd",
      "/etc/sudoers", "/etc/sudoers.d",
      "/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key",
      "/etc/ssl/private", "/etc/krb5.keytab", "/etc/wireguard", "/etc/NetworkManager/system-connections",
      "/var/lib/NetworkManager", "/var/lib/sss", "/var/lib/private",
      -- Containers and Kubernetes put theirs there.
      "/run/secrets",
    },
  },
}
