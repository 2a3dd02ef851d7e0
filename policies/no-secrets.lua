-- SPDX-License-Identifier: Apache-2.0
-- Hides where credentials usually lie, files and variables, at home and of the system. srt.remove "…" gives one back.

return {
  extends = { "no-system-secrets" },
  filesystem = {
    denyRead = {
      "~/.ssh", "~/.gnupg", "~/.password-store", "~/.local/share/keyrings", "~/.config/op", "~/.config/sops",
      "~/.config/age", "~/.vault-token",
      "~/.aws", "~/.azure", "~/.boto", "~/.s3cfg", "~/.config/gcloud", "~/.config/doctl", "~/.config/rclone", "~/.kube",
      "~/.oci", "~/.docker/config.json", "~/.config/containers/auth.json", "~/.terraformrc",
      "~/.terraform.d/credentials.tfrc.json",
      "~/.git-credentials", "~/.config/git/credentials", "~/.config/gh", "~/.config/hub", "~/.config/glab-cli",
      "~/.netrc", "~/.npmrc", "~/.yarnrc", "~/.yarnrc.yml", "~/.pypirc", "~/.config/pip/pip.conf",
      "~/.cargo/credentials", "~/.cargo/credentials.toml", "~/.gem/credentials", "~/.m2/settings.xml",
      "~/.gradle/gradle.properties", "~/.composer/auth.json", "~/.config/composer/auth.json",
      "~/.nuget/NuGet/NuGet.Config", "~/.pgpass", "~/.my.cnf",
      "~/.claude/.credentials.json", "~/.codex/auth.json",
      "~/.mozilla", "~/.thunderbird", "~/.config/google-chrome", "~/.config/chromium", "~/.config/BraveSoftware",
    },
  },
  env = {
    unset = {
      "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET", "ARM_CLIENT_SECRET",
      "DIGITALOCEAN_ACCESS_TOKEN", "CLOUDFLARE_API_TOKEN", "HCLOUD_TOKEN", "VAULT_TOKEN",
      "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN", "ACTIONS_RUNTIME_TOKEN",
      "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
      "NPM_TOKEN", "NODE_AUTH_TOKEN", "TWINE_PASSWORD", "UV_PUBLISH_TOKEN", "CARGO_REGISTRY_TOKEN", "DOCKER_PASSWORD",
      "HF_TOKEN", "SLACK_BOT_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "PGPASSWORD", "MYSQL_PWD",
    },
  },
}
