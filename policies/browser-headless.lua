-- SPDX-License-Identifier: Apache-2.0
-- For Chromium without a screen, alone or by Playwright and Puppeteer: your own profiles and their logins stay unread.
-- It brings no host: list those to visit. Give a profile in TMPDIR: --user-data-dir="$TMPDIR/profile".

return {
  filesystem = {
    denyRead = { "~/.mozilla", "~/.config/google-chrome", "~/.config/chromium", "~/.config/BraveSoftware",
      "~/.config/microsoft-edge", "~/.pki" },
  },
  -- Its own sandbox, which keeps pages from the rest of the browser, is made of these. Root does without: --no-sandbox.
  allowNestedUserNamespaces = srt.user ~= "root",
}
