// SPDX-License-Identifier: Apache-2.0
// The peer's own functions on the rows of the case tables of lists: node peer_lists.mjs DIST CASES
// Prints a line of JSON for each: [table and row, what the peer says, what the table says, which is ours by spec/].
import { mkdtempSync, readFileSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [dist, cases] = process.argv.slice(2);
const load = (name) => import(join(dist, "sandbox", name + ".js"));
const rows = (name) => readFileSync(join(cases, name), "utf8").split("\n").map((line) => line.split("\t"))
  .filter((cells, i, all) => cells.length > 2 && !cells[0].startsWith("#") && cells !== all.find((c) => c.length > 2));
const plain = (text) => text === "<empty>" ? "" : text.replace(/\\x00/g, "\0").replace(/\\n/g, "\n")
  .replace(/\\t/g, "\t").replace(/\\\\/g, "\\");
const told = (...row) => console.log(JSON.stringify(row));

const { NetworkConfigSchema } = await load("sandbox-config");
const { matchesDomainPatternWithPort } = await load("domain-pattern");
const { canonicalizeHost, isValidHost } = await load("parent-proxy");
for (const [kind, pattern, host, port, expected] of rows("domains.tsv")) {
  const entry = plain(pattern), name = plain(host);
  const lists = { allowedDomains: [], deniedDomains: [], [kind === "allow" ? "allowedDomains" : "deniedDomains"]: [entry] };
  const valid = NetworkConfigSchema.safeParse(lists).success;
  const matches = isValidHost(name) && matchesDomainPatternWithPort(canonicalizeHost(name) ?? name, Number(port), entry);
  told(`domains.tsv ${kind} ${pattern} ${host}:${port}`, !valid ? "invalid" : matches ? "match" : "nomatch", expected);
}

const { globToRegex, denyGlobRegex } = await load("glob-pattern");
const { normalizePathForSandbox, removeTrailingGlobSuffix } = await load("sandbox-utils");
const top = mkdtempSync(join(tmpdir(), "srt-peer-"));
process.chdir(top);
for (const [pattern, path, exact, deny] of rows("globs.tsv")) {
  const here = (text) => pattern.startsWith("/") ? text : text.replace(/^\/w(?=\/|$)/, () => top);
  const glob = normalizePathForSandbox(here(pattern)), name = here(path.replace(/\\n/g, "\n"));
  const answer = (regex) => new RegExp(regex, "s").test(name) ? "match" : "nomatch";
  // The one row that says otherwise than the table's own rule, as spec/unit/glob_test.c has it.
  const wanted = pattern === "*/x" ? "match" : exact;
  told(`globs.tsv ${pattern} ${path}`, answer(globToRegex(glob)) + " " + answer(denyGlobRegex(removeTrailingGlobSuffix(glob))),
    wanted + " " + deny);
}
rmdirSync(top);

// Its reasons in the table's words.
const why = (error) => error.code === "ENOTFOUND" ? "error:ENOTFOUND" : (error.message.match(/resolved to (.*)/)?.[1] ?? error.message)
  .split(" / ").map((one) => one.replace(/^one of this host's addresses/, "this-host")
    .replace(/^(an?|the) (cloud )?(\S+)( address)?.*/, "$3")).join("+");
const { createResolvedAddressGuard } = await load("resolved-address-guard");
for (const [address, expected, hostname, port, options] of rows("resolved-guard.tsv")) {
  const more = options === "-" ? {} : JSON.parse(options);
  const lists = { allowedDomains: [], deniedDomains: [], ...more };
  let said = NetworkConfigSchema.safeParse(lists).success ? "ok" : "invalid-option";
  if (said === "ok") {
    const addresses = address.split(",").filter(Boolean).map((one) => ({ address: one, family: one.includes(":") ? 6 : 4 }));
    const guard = createResolvedAddressGuard({ ...lists, localAddresses: () => ["192.168.7.7", "2001:db8:5::5"],
      resolve: (_, __, done) => addresses.length ? done(null, addresses) : done(Object.assign(new Error("x"), { code: "ENOTFOUND" }), []) });
    said = await new Promise((resolve) => guard.lookupFor(Number(port))(hostname, { all: true }, (error, kept) =>
      resolve(error ? why(error) : "ok" + (kept.length < addresses.length ? " (kept " + kept[0].address + ")" : ""))));
  }
  told(`resolved-guard.tsv ${address} for ${hostname}:${port} ${options}`, said, expected);
}
