// SPDX-License-Identifier: Apache-2.0
// A session for Node, as one would use SandboxManager: node agent.mjs 'echo hello >note; cat note'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

class Session {
  #waiting = new Map()
  #seq = 0

  // ask: (question) => true, false or { allow: false, reason }; may be async
  static async initialize(policy, ask) {
    const self = new Session()
    self.process = spawn('srt-lua', ['session', '--fd', '3'], {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'], detached: true,
    })
    self.pipe = self.process.stdio[3]
    const ready = new Promise((resolve, reject) => {
      self.process.once('error', reject)
      self.process.once('exit', code => reject(new Error(`srt-lua has ended (${code})`)))
      createInterface({ input: self.pipe }).on('line', line => self.#take(JSON.parse(line), resolve, reject, ask))
    })
    self.#send({ op: 'open', ...policy })
    await ready
    if (ask) await self.call({ op: 'ask' })
    return self
  }

  #send(message) {
    this.pipe.write(JSON.stringify(message) + '\n')
  }

  async #take(message, ready, failed, ask) {
    if (message.event === 'ready') return ready()
    if (message.event === 'ask') {
      const answer = await ask(message)
      return this.#send({ op: 'answer', n: message.n, allow: answer === true, reason: answer?.reason })
    }
    const waiting = this.#waiting.get(message.seq)
    this.#waiting.delete(message.seq)
    if (!waiting) return failed(new Error(message.error))
    if (message.ok) waiting.resolve(message)
    else waiting.reject(new Error(message.error))
  }

  call(message) {
    const seq = ++this.#seq
    return new Promise((resolve, reject) => {
      this.#waiting.set(seq, { resolve, reject })
      this.#send({ ...message, seq })
    })
  }

  // A string for spawn(…, { shell: true }).
  async wrapWithSandbox(command, { commandId, commandText } = {}) {
    return (await this.call({ op: 'wrap', command, id: commandId, text: commandText })).shell
  }

  async annotateStderrWithSandboxFailures(commandId, stderr) {
    return (await this.call({ op: 'annotate', id: commandId, stderr })).stderr
  }

  async getViolationsForCommand(commandId) {
    return (await this.call({ op: 'violations', id: commandId })).violations
  }

  updateConfig(settings) {
    return this.call({ op: 'update', settings })
  }

  async reset() {
    this.process.removeAllListeners('exit')
    const ended = new Promise(resolve => this.process.once('exit', resolve))
    this.pipe.end()
    await ended
  }
}

const session = await Session.initialize({ settings: {
  network: { allowedDomains: ['deb.debian.org'], deniedDomains: [] },
  filesystem: { denyRead: ['~/.ssh'], allowWrite: ['.'], denyWrite: [] },
} }, question => ({ allow: false, reason: `${question.host} is not trusted here` }))
for (const [i, command] of process.argv.slice(2).entries()) {
  const commandId = `command-${i}`
  const child = spawn(await session.wrapWithSandbox(command, { commandId }), { shell: true, stdio: ['ignore', 'inherit', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', data => { stderr += data })
  const code = await new Promise(resolve => child.once('close', resolve))
  const found = await session.getViolationsForCommand(commandId)
  console.log(`${command}: exit ${code}, ${found.length} denied`)
  console.log(await session.annotateStderrWithSandboxFailures(commandId, stderr))
}
await session.reset()
