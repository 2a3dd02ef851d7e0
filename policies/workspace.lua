-- SPDX-License-Identifier: Apache-2.0
-- Lets the command write in the working directory, and nowhere else.

return {
  filesystem = {
    allowWrite = { srt.cwd },
  },
}
