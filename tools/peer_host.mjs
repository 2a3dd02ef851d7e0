// SPDX-License-Identifier: Apache-2.0
// A program that embeds the peer, for what its command line has not: node peer_host.mjs DIST SETTINGS COMMAND
// filterRequest denies what is beneath /deny.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [dist, settings, command] = process.argv.slice(2);
const { SandboxManager } = await import(join(dist, "index.js"));
const config = JSON.parse(readFileSync(settings, "utf8"));
config.network.filterRequest = async (request) => new URL(request.url).pathname.startsWith("/deny")
  ? { action: "deny", reason: "path is denied by test" } : { action: "allow" };
await SandboxManager.initialize(config);
const child = spawn(await SandboxManager.wrapWithSandbox(command), { shell: true, stdio: "inherit" });
const code = await new Promise((resolve) => child.on("exit", resolve));
await SandboxManager.reset();
process.exit(code ?? 1);
