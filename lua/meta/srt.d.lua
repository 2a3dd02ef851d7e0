---@meta
-- SPDX-License-Identifier: Apache-2.0
-- luacheck: ignore
-- What policies can use, for editors; tables.d.lua has the tables in srt, policy.d.lua the keys of a policy. It is
-- never run; spec/lua/names_spec.lua and box_srt_spec.lua compare it with the live table.

---Answers of callbacks and marks in lists; made by the functions below.
---@class srt.Answer

---Header fields, read by name in any case; values of one name are joined by ", ".
---@alias srt.Headers table<string, string>

---A process of the sandbox. Whose connection it is gets looked for when `process` is read, and is nil where nobody has it
---open any more. Attribution, not a boundary: processes of one sandbox can drive each other and pass connections on.
---@class srt.Process
---@field pid integer as the sandbox sees it
---@field hostPid integer as the host sees it
---@field exe string|nil the program's path inside; nil where that can't be told
---@field parents srt.Process[]|nil its parent, that one's, and so on up to the command, 16 at most

---A connection that no list decides.
---@class srt.Conn
---@field host string as the client named it, in its one form
---@field port integer
---@field protocol "http"|"connect"|"socks5"|"socks4a"|"transparent"
---@field command string|nil of run --command-text; else the command's arguments
---@field commandId string|nil of run --command-id
---@field process srt.Process|nil

---What was denied, as onViolation gets it.
---@class srt.Violation
---@field time number seconds since 1970
---@field kind "connect"|"request"|"response"|"address"|"name"|"socket"|"namespace"|"mount"|"write"|"read"|"callback"|"system"
---@field target string "example.org:443", "GET https://example.org/x?…" or a path
---@field rule string|nil the key of the policy that denied, or what did besides
---@field origin string|nil file and line of that rule
---@field reason string|nil
---@field advice string|nil what to add to the policy to allow it
---@field count integer|nil so many attempts, or more, where it is about several
---@field command string of run --command-text; else the command's arguments
---@field commandId string of run --command-id; else as command
---@field process srt.Process|nil

---An open that the lists deny, as filesystem.decideOpen gets it.
---@class srt.Open
---@field path string the real one
---@field mode "read"|"write"
---@field process srt.Process
---@field command string

---A request that the proxy can read. Read-only; it ends with the callback.
---@class srt.Request
---@field method string
---@field scheme string
---@field host string
---@field port integer
---@field path string before the "?"
---@field query string|nil behind it
---@field url string scheme, host, port, path and query
---@field target string as spelled on the wire
---@field headers srt.Headers
---@field sni string|nil the server name of TLS
---@field process srt.Process|nil
---@field conn srt.Conn|nil
local request = {}

---All values of that name, joined by ", ".
---@param name string in any case
---@return string|nil
function request:header(name) end

---All values of that name, in the order in which they came.
---@param name string in any case
---@return string[]
function request:values(name) end

---All fields, as they were spelled, in their order.
---@return { name: string, value: string }[]
function request:fields() end

---Waits. The body, without chunks and without its Content-Encoding (gzip, x-gzip, deflate). What was read goes on as it came.
---In filterRequest only.
---@param max integer|nil bytes; limits.bodyBytes unless told, and at most
---@return string|nil body nil where it is longer, or can't be decoded
---@return string|nil message
function request:body(max) end

---A response. Read-only; it ends with the callback.
---@class srt.Response
---@field status integer
---@field headers srt.Headers
local response = {}

---All values of that name, joined by ", ".
---@param name string in any case
---@return string|nil
function response:header(name) end

---@param name string in any case
---@return string[]
function response:values(name) end

---@return { name: string, value: string }[]
function response:fields() end

---Waits, as that of a request.
---@param max integer|nil
---@return string|nil body
---@return string|nil message
function response:body(max) end

srt = {}

---The system that srt-lua runs on.
---@type "linux"|"macos"|"windows"
srt.platform = "linux"
---The real folder of the policy.
---@type string
srt.here = ""
---The working directory, in which the command starts.
---@type string
srt.cwd = ""
---The home directory, which "~" means.
---@type string|nil
srt.home = ""
---The user's name.
---@type string|nil
srt.user = ""
---The environment of srt-lua, read-only.
---@type table<string, string>
srt.env = {}
---Lives as long as the run.
---@type table
srt.state = {}

---While the policy is loaded only, as all that reads files. Is there a file or directory? "~" and relative paths (from cwd) are understood.
---@param path string
---@return boolean
function srt.exists(path) end

---While the policy is loaded only. Is there a directory?
---@param path string
---@return boolean
function srt.isdir(path) end

---Reads a regular file, while the policy is loaded only; it counts as part of the policy, so the command can't change it.
---@param path string
---@param max integer|nil bytes, 1 MiB unless told, 16 MiB at most
---@return string|nil text
---@return string|nil message
function srt.read(path, max) end

---The paths that a pattern matches now, sorted; while the policy is loaded only. "~", and relative to cwd; links are not
---followed, and a folder that can't be read is passed over.
---@param pattern string as in path lists: `*`, `**/` for any depth, `?`, `[a-z]`
---@return string[] paths
function srt.glob(pattern) end

---Does the glob match all of the text? `*` any text, `?` one character, `[a-z]`; in linear time.
---@param text string
---@param pattern string
---@return boolean
function srt.match(text, pattern) end

---Seconds since 1970.
---@return number
function srt.now() end

---May this happen once more? At most n times in that many seconds, for each key.
---@param key string
---@param n number
---@param seconds number
---@return boolean
function srt.rate(key, n, seconds) end

---Waits. In callbacks of the network only; other connections go on meanwhile.
---@param seconds number
function srt.sleep(seconds) end

---The addresses of a name, as the host resolves it. Waits. The name server learns the name, whatever is decided then.
---@param name string
---@return string[]|nil addresses
---@return string|nil message
function srt.resolve(name) end

---Sends a line to a program on the host and gives the line that it answers. Waits.
---@param target string the path of a Unix socket, or "host:port"
---@param line string without the end of line; up to 64 KiB, and so is the answer
---@param seconds number|nil 10 unless told
---@return string|nil answer
---@return string|nil message
function srt.query(target, line, seconds) end

---@class srt.AskOptions
---@field seconds number|nil to answer; limits.askSeconds unless told, and at most
---@field default boolean|nil what an empty line, or no answer in time, means; false unless told
---@field choices string[]|nil words in place of yes, whose first letters serve as well; without default

---Asks the user on the terminal; the whole sandbox is stopped meanwhile. Waits. Without a terminal the answer is false.
---@param text string what is not plain text in it is made visible
---@param options srt.AskOptions|nil
---@return boolean|string answer the word, where there are choices and one was taken
---@return string|nil why where it is false
function srt.ask(text, options) end

---Stands for a value that the policy never has. `..`, base64.encode, sha256 and hmac make another such object of it; it
---goes into setHeaders, setBody and setTarget of a request to its hosts. All else is an error.
---@class srt.Secret
---@operator concat(string|number|srt.Secret): srt.Secret

---Those of the policy's `secrets`, by name.
---@type table<string, srt.Secret>
srt.secret = {}

---SHA-256.
---@param text string|srt.Secret
---@return string|srt.Secret hex
function srt.sha256(text) end

---HMAC-SHA-256.
---@param key string|srt.Secret
---@param text string|srt.Secret
---@return string|srt.Secret hex
function srt.hmac(key, text) end

---@class srt.Edits
---@field setHeaders table<string, string|srt.Secret>|nil each takes the place of all of that name
---@field removeHeaders string[]|nil
---@field setBody string|srt.Secret|nil in the place of the message's own; Content-Encoding and digests go with that
---@field setTarget string|srt.Secret|nil of a request: "/path?query", or a URL of the same scheme; a new host is decided as any other
---@field onResponse fun(status: integer, headers: srt.Headers)|nil of a request: told of its response; the answer is ignored
---@field status integer|nil of a response
---@field session boolean|nil of decideOpen: that path and mode are not asked about again

---As true; of a filter with what is to be changed on the way.
---@param edits srt.Edits|nil
---@return srt.Answer
function srt.allow(edits) end

---@class srt.Denial
---@field reason string|nil
---@field status integer|nil
---@field headers table<string, string>|nil
---@field body string|nil

---As false, with a reason, and of a filter with what the client gets.
---@param denial srt.Denial|string|nil a string is the reason
---@return srt.Answer
function srt.deny(denial) end

---@class srt.Reply
---@field status integer
---@field headers table<string, string>|nil
---@field body string|nil

---Of a filter: the proxy answers so itself; the server is not asked, or its answer is dropped.
---@param reply srt.Reply
---@return srt.Answer
function srt.respond(reply) end

---No opinion.
---@type srt.Answer
srt.pass = nil

---In a list: takes out an entry that an extended policy put in.
---@param entry string
---@return srt.Answer
function srt.remove(entry) end
