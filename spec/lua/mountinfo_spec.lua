-- SPDX-License-Identifier: Apache-2.0
-- What the kernel says of mounts, taken apart: proc_pid_mountinfo(5).
require("spec.lua.support")
local mountinfo = require "srt.mountinfo"
local sys = require "srt.c.sys"

-- As the kernel writes a name.
local function escaped(name)
  return (name:gsub("[ \t\n\\#]", function(byte) return ("\\%03o"):format(byte:byte()) end))
end

describe("sys.mounts", function()
  it("takes a line apart, whatever optional fields it has", function()
    for _, optional in ipairs { "", "shared:1 ", "shared:1 master:2 propagate_from:3 unbindable " } do
      local text = "36 35 98:0 /mnt1 /mnt/parent rw,noatime " .. optional .. "- ext3 /dev/root rw,errors=continue\n"
      assert.same({ { id = "36", parent = "35", device = "98:0", root = "/mnt1", point = "/mnt/parent",
        options = "rw,noatime", kind = "ext3", super = "rw,errors=continue" } }, sys.mounts(text))
    end
  end)

  it("gives names as they are", function()
    local list = sys.mounts("1 2 0:3 /a\\040b /c\\011\\012\\134\\043d rw - tmpfs none rw\n"
      .. "1 2 0:3 /\\04 /\\089\\ rw - tmpfs none rw\n1 2 0:3 / /\\0400 rw - tmpfs none rw\n")
    assert.same({ "/a b", "/c\t\n\\#d" }, { list[1].root, list[1].point })
    assert.same({ "/\\04", "/\\089\\" }, { list[2].root, list[2].point }, "what is no such byte stays")
    assert.equal("/ 0", list[3].point)
  end)

  it("knows a file system without a source", function()
    local list = sys.mounts("1 2 0:3 / /a rw -  tmpfs rw\n1 2 0:3 / /b ro - tmpfs  rw,size=1k\n")
    assert.same({ "/b", "tmpfs", "rw,size=1k" }, { list[1].point, list[1].kind, list[1].super })
    assert.is_nil(list[2])
  end)

  it("gives those of some types alone", function()
    local text = "1 0 0:1 / / rw - ext4 /dev/vda rw\n2 1 0:2 / /proc rw - proc proc rw\n3 1 0:3 / /sys rw - sysfs sysfs rw\n"
    assert.same({ { root = "/", point = "/proc", kind = "proc" } }, sys.mounts(text, { proc = true, ext2 = true }))
    assert.same({}, sys.mounts(text, {}))
  end)

  it("passes over what is no such line", function()
    assert.same({}, sys.mounts(""))
    assert.same({}, sys.mounts("\n\n \n-\n1 2 0:3 / /a rw\n1 2 0:3 / /a rw -\n1 2 0:3 / /a rw x tmpfs none rw\n1 2  / /a rw - t n r"))
    assert.equal("t", sys.mounts("1 2 0:3 / /a rw - t")[1].kind, "the last line may lack its end")
    assert.has_error(function() sys.mounts("", "proc") end)
  end)

  it("agrees with who wrote the lines, and survives any bytes", function()
    local bytes = "ab/ \\0147\t\n-#:,"
    local function any(least, most)
      local out = {}
      for i = 1, math.random(least, most) do
        local at = math.random(#bytes)
        out[i] = bytes:sub(at, at)
      end
      return table.concat(out)
    end
    for _ = 1, 300 do
      local lines, wanted = {}, {}
      for i = 1, math.random(0, 6) do
        local root, point, kind = "/" .. any(0, 9), "/" .. any(0, 9), ({ "proc", "ext4", "fuse.x" })[math.random(3)]
        lines[i] = ("%d 1 0:%d %s %s rw %s- %s %s rw\n"):format(i, i, escaped(root), escaped(point),
          ({ "", "shared:7 " })[math.random(2)], kind, escaped(any(0, 5)))
        if kind ~= "ext4" then wanted[#wanted + 1] = { root = root, point = point, kind = kind } end
      end
      assert.same(wanted, sys.mounts(table.concat(lines), { proc = true, ["fuse.x"] = true }))
      assert.is_table(sys.mounts(any(0, 200)))
    end
  end)
end)

it("mountinfo.list says which mounts are read-only, by themselves or as a file system", function()
  local list = mountinfo.list("1 0 0:1 / / rw,nosuid - ext4 /dev/vda rw\n2 1 0:2 / /a ro,nosuid - ext4 /dev/vda rw\n"
    .. "3 1 0:3 / /b rw - ext4 /dev/vdb ro,x\n4 1 0:4 / /c row - ext4 /dev/vdc rw,ro\n")
  for i, readOnly in ipairs { false, true, true, false } do assert.equal(readOnly, list[i].readOnly) end
  assert.is_true(#mountinfo.list() > 0)
end)
