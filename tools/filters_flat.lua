-- SPDX-License-Identifier: Apache-2.0
-- Makes a seccomp program smaller and quicker to install, without changing an answer: the number is looked up once, in
-- a tree of ranges, and what depends on arguments follows for it alone. The kernel asks a program about every number
-- when it is installed, and compiles it: for libseccomp's own, two of them in a row, that took a third of what the
-- command's process does before it is the command.
--
-- Seccomp programs are classic BPF that jumps forward only and reads struct seccomp_data (linux/filter.h, seccomp(2)).
local flat = {}

local LOAD, AND, RET, JUMP = 0x20, 0x54, 0x06, 0x05 -- W|ABS; K; K; A
local EQUAL, LEAST, BITS = 0x15, 0x35, 0x45 -- JEQ, JGE, JSET; K
local TESTS = {
  [EQUAL] = function(a, k) return a == k end,
  [0x25] = function(a, k) return a > k end,
  [LEAST] = function(a, k) return a >= k end,
  [BITS] = function(a, k) return a & k ~= 0 end,
}
local NR, ARCH = 0, 4 -- offsets in struct seccomp_data
local FURTHEST = 255

--- The instructions of a program.
---@param bytes string of struct sock_filter
---@return {code: integer, jt: integer, jf: integer, k: integer}[]
function flat.read(bytes)
  local list = {}
  for at = 1, #bytes, 8 do
    local code, jt, jf, k = string.unpack("=I2BBI4", bytes, at)
    list[#list + 1] = { code = code, jt = jt, jf = jf, k = k }
  end
  return list
end

--- Two programs of which the second has the word where the first allows (seccomp_join()).
function flat.join(first, second)
  local list = table.move(second, 1, #second, #first + 1, table.move(first, 1, #first, 1, {}))
  for i, op in ipairs(first) do
    if op.code == RET and op.k == 0x7fff0000 then list[i] = { code = JUMP, jt = 0, jf = 0, k = #first - i } end
  end
  return list
end

-- Every constant that a value may be compared with begins a range, and so does what is behind it.
local function borders(constants)
  local seen, list = { [0] = true }, { 0 }
  for _, constant in ipairs(constants) do
    for _, at in ipairs { constant, constant + 1 } do
      if at <= 0xffffffff and not seen[at] then seen[at], list[#list + 1] = true, at end
    end
  end
  table.sort(list)
  return list
end

-- What is left of a program once some of its input is known: {ret=}; {load=, masks=, test=, k=, yes=, no=}; or where a
-- word is only compared, {load=, ranges = {{from=, node=}, …}}. Each is there once.
local Reader = {}
Reader.__index = Reader

function Reader:node(key, node)
  if not self.nodes[key] then
    self.count = self.count + 1
    node.id, self.nodes[key] = self.count, node
  end
  return self.nodes[key]
end

-- Among the facts {key=, code=, k=, holds=, more=} that earlier tests have told: does this one hold? nil: not known.
local function told(facts, key, code, k)
  while facts do
    if facts.key == key then
      if facts.code == code and facts.k == k then return facts.holds end
      if facts.code == EQUAL and facts.holds then return TESTS[code](facts.k, k) end
    end
    facts = facts.more
  end
end

-- {from=, node=} in order, each with another node than the one before; node_at(value) is the same between borders.
local function ranges_of(constants, node_at)
  local list = {}
  for _, from in ipairs(borders(constants)) do
    local node = node_at(from)
    if not list[1] or list[#list].node ~= node then list[#list + 1] = { from = from, node = node } end
  end
  return list
end

-- Words that no bits are taken of, by what they are compared with.
local function compared(node, words, seen)
  if node.ret or seen[node] then return words end
  seen[node] = true
  local word = words[node.load] or {}
  words[node.load] = word
  word.bits = word.bits or #node.masks > 0 or node.test == BITS
  word[#word + 1] = node.k
  return compared(node.no, compared(node.yes, words, seen), seen)
end

function Reader:range(pc, value, known, facts)
  local list = ranges_of(self.words[value.load], function(number)
    local more = setmetatable({ [value.load] = number }, { __index = known })
    return self:at(pc, number, more, facts, value.load)
  end)
  if not list[2] then return list[1].node end
  local key = { "ranges", value.load }
  for _, range in ipairs(list) do key[#key + 1] = range.from .. ":" .. range.node.id end
  return self:node(table.concat(key, " "), { load = value.load, ranges = list })
end

-- Of one bit it takes no mask to tell whether it is there.
local function as_bits(value, op)
  local masks = value.masks
  if op.code ~= EQUAL or op.k == 0 or op.k & (op.k - 1) ~= 0 or masks[#masks] ~= op.k then return value, op.code end
  return { load = value.load, masks = table.move(masks, 1, #masks - 1, 1, {}),
    key = value.key:sub(1, -2 - #tostring(op.k)) }, BITS
end

-- value: what the accumulator holds: a number, or {load=, masks=, key=}; of: the offset that it was read from
function Reader:at(pc, value, known, facts, of)
  local op = assert(self.code[pc], "a jump out of the program")
  if op.code == RET then return self:node("ret " .. op.k, { ret = op.k }) end
  if op.code == JUMP then return self:at(pc + 1 + op.k, value, known, facts, of) end
  if op.code == LOAD then
    return self:at(pc + 1, known[op.k] or { load = op.k, masks = {}, key = tostring(op.k) }, known, facts, op.k)
  end
  -- Bits of the number would make ranges of another kind.
  assert(of ~= NR or op.code ~= AND and op.code ~= BITS, "it looks at bits of the number")
  if op.code == AND then
    if type(value) == "number" then return self:at(pc + 1, value & op.k, known, facts, of) end
    if op.k == 0 then return self:at(pc + 1, 0, known, facts, of) end
    if op.k == 0xffffffff then return self:at(pc + 1, value, known, facts, of) end
    local masks = table.move(value.masks, 1, #value.masks, 1, {})
    masks[#masks + 1] = op.k
    return self:at(pc + 1, { load = value.load, masks = masks, key = value.key .. "&" .. op.k }, known, facts, of)
  end
  local test = assert(TESTS[op.code], "an instruction that no filter of ours has")
  local holds, seen, code
  if type(value) == "number" then
    holds = test(value, op.k)
  else
    seen, code = as_bits(value, op)
    holds = told(facts, seen.key, code, op.k)
  end
  if holds ~= nil then return self:at(pc + 1 + (holds and op.jt or op.jf), value, known, facts, of) end
  local word = self.words and self.words[value.load]
  if word and not word.bits then return self:range(pc, value, known, facts) end
  local function branch(way, holds_there)
    return self:at(pc + 1 + way, value, known,
      { key = seen.key, code = code, k = op.k, holds = holds_there, more = facts }, of)
  end
  local yes, no, k = branch(op.jt, true), branch(op.jf, false), op.k
  if yes == no then return yes end
  -- Any of them.
  if code == BITS and no.test == BITS and no.key == seen.key and no.yes == yes then k, no = k | no.k, no.no end
  return self:node(("%s %d %d %d %d"):format(seen.key, code, k, yes.id, no.id),
    { load = seen.load, masks = seen.masks, key = seen.key, test = code, k = k, yes = yes, no = no })
end

local function reader_of(code) return setmetatable({ code = code, nodes = {}, count = 0 }, Reader) end

local function ranges(code, arch)
  local reader, constants = reader_of(code), {}
  for _, op in ipairs(code) do
    if TESTS[op.code] then constants[#constants + 1] = op.k end
  end
  return ranges_of(constants, function(number)
    local known = { [NR] = number, [ARCH] = arch }
    reader.words = compared(reader_of(code):at(1, 0, known), {}, {})
    return reader:at(1, 0, known)
  end)
end

-- Written from the end to the beginning, so that where a jump leads is always known.
local Writer = {}
Writer.__index = Writer

function Writer:put(code, k, jt, jf)
  self.size = self.size + 1
  self.ops[self.size] = { code = code, k = k, jt = jt or 0, jf = jf or 0 }
  return self.size
end

-- How far it is from the instruction that comes next; with a stop on the way where a conditional jump can't lead there.
function Writer:reach(place, ret)
  if self.size - place <= FURTHEST - 1 then return place end
  return ret and self:put(RET, ret) or self:put(JUMP, self.size - place)
end

function Writer:jump(code, k, yes, no)
  -- The second stop may put the first place out of reach.
  for _ = 1, 2 do
    yes.place = self:reach(yes.place, yes.ret)
    no.place = self:reach(no.place, no.ret)
  end
  return self:put(code, k, self.size - yes.place, self.size - no.place)
end

function Writer:place(node)
  local place = self.places[node]
  if place then return { place = place, ret = node.ret } end
  if node.ret then
    self.places[node] = self:put(RET, node.ret)
    return { place = self.places[node], ret = node.ret }
  end
  if node.ranges then
    -- What is last in the tree is first in the program.
    local tree = self:tree(node.ranges, 1, #node.ranges)
    assert(tree.place == self.size, "a tree of one leaf")
    self.places[node] = self:put(LOAD, node.load)
    return { place = self.places[node] }
  end
  local function next_of(child)
    local target = self:place(child)
    -- The accumulator has it already.
    if child.key == node.key then target.place = self.tests[child] end
    return target
  end
  local no, yes = next_of(node.no), next_of(node.yes)
  self.tests[node] = self:jump(node.test, node.k, yes, no)
  for i = #node.masks, 1, -1 do self:put(AND, node.masks[i]) end
  self.places[node] = self:put(LOAD, node.load)
  return { place = self.places[node] }
end

-- The tree over ranges first to last. It is halved by how many numbers the kernel asks about.
function Writer:tree(list, first, last)
  if first == last then return self:place(list[first].node) end
  local lone = list[first + 1]
  if last == first + 2 and list[first].node == list[last].node and list[last].from == lone.from + 1 then
    local yes, no = self:place(lone.node), self:place(list[first].node)
    return { place = self:jump(EQUAL, lone.from, yes, no) }
  end
  local function weight(from, to)
    local above = list[to + 1] and list[to + 1].from or 512
    return math.max(math.min(above, 512) - math.min(list[from].from, 512), 0) + (to - from + 1) / 8
  end
  local best, split = math.huge, first
  for i = first, last - 1 do
    local heavier = math.max(weight(first, i), weight(i + 1, last))
    if heavier < best then best, split = heavier, i end
  end
  local high, low = self:tree(list, split + 1, last), self:tree(list, first, split)
  return { place = self:jump(LEAST, list[split + 1].from, high, low) }
end

--- The answer of a program.
---@param code table[] instructions
---@param data table<integer, integer> by offset in struct seccomp_data
---@return integer
function flat.run(code, data)
  local pc, a = 1, 0
  while true do
    local op = code[pc]
    if op.code == RET then return op.k end
    if op.code == LOAD then
      a = data[op.k]
    elseif op.code == AND then
      a = a & op.k
    elseif op.code == JUMP then
      pc = pc + op.k
    else
      pc = pc + (TESTS[op.code](a, op.k) and op.jt or op.jf)
    end
    pc = pc + 1
  end
end

-- By words that the program itself knows, and their neighbours.
local function check(code, new, list, arch)
  local words = { 0, 1, 0xffffffff }
  for _, op in ipairs(code) do
    if TESTS[op.code] or op.code == AND then table.move({ op.k, op.k - 1, op.k + 1 }, 1, 3, #words + 1, words) end
  end
  local state = 1
  local function word()
    state = (state * 6364136223846793005 + 1442695040888963407) & 0x7fffffffffffffff
    return words[(state >> 33) % #words + 1] & 0xffffffff
  end
  for _, range in ipairs(list) do
    for _, number in ipairs { range.from, range.from + 1, math.max(range.from - 1, 0) } do
      for _ = 1, 40 do
        local data = { [NR] = number & 0xffffffff, [ARCH] = arch }
        for at = 8, 60, 4 do data[at] = word() end
        assert(flat.run(code, data) == flat.run(new, data), "the smaller program answers otherwise")
        data[ARCH] = word()
        assert(flat.run(code, data) == flat.run(new, data), "the smaller program answers otherwise")
      end
    end
  end
end

--- The same program, smaller.
---@param code table[] instructions, which test first whether this is their architecture, and kill where it is not
---@return table[] instructions
function flat.make(code)
  assert(code[1].code == LOAD and code[1].k == ARCH and code[2].code == EQUAL, "it does not ask for its architecture")
  local arch = code[2].k
  local list = ranges(code, arch)
  local foreign = reader_of(code):at(1, 0, { [ARCH] = arch ~ 1 })
  assert(foreign.ret, "elsewhere it looks at the number")
  local writer = setmetatable({ ops = {}, size = 0, places = {}, tests = {} }, Writer)
  local bad = writer:put(RET, foreign.ret)
  local start = writer:tree(list, 1, #list).place
  assert(start == writer.size, "the tree is not what was written last")
  writer:put(LOAD, NR)
  local go_on = { place = writer.size }
  writer:jump(EQUAL, arch, go_on, { place = bad, ret = foreign.ret })
  writer:put(LOAD, ARCH)
  local new = {}
  for i = writer.size, 1, -1 do new[#new + 1] = writer.ops[i] end
  check(code, new, list, arch)
  return #new < #code and new or code
end

return flat
