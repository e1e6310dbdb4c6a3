/** The reference servers of the protocol as processes. */
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { expect, it } from "vitest"
import type { ServerNotification } from "../../../../src/tool-servers/processes/options.ts"
import { callTool, openProcesses, send } from "../../../support/tools/processes.ts"

const packaged = (name: string): string =>
  fileURLToPath(new URL(`../../../../node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url))

const everything = { id: "everything", program: process.execPath, arguments: [packaged("server-everything"), "stdio"] }

it("everything: a session, its lists, progress and errors", async () => {
  const notifications: Array<ServerNotification> = []
  const { processes } = await openProcesses([everything], {
    onNotification: (_server, notification) => notifications.push(notification),
  })
  const session = await Effect.runPromise(processes.ready("everything"))
  expect(session).toMatchObject({ version: "2025-11-25", isStateless: false, capabilities: { tools: {} } })
  expect(session.instructions).toContain("#")

  const listed = send(processes, { jsonrpc: "2.0", id: "list", method: "tools/list" }, "everything").received
  const [list] = (await listed.done).messages
  expect(list).toMatchObject({ id: "list", result: { tools: expect.arrayContaining([]) } })
  expect(listed.text).toContain('"get-sum"')

  const sums = [1, 2, 3].map((a) => callTool(processes, "get-sum", { a, b: 1 }, { server: "everything" }).received)
  for (const [at, sum] of sums.entries())
    expect((await sum.done).text).toContain(`The sum of ${at + 1} and 1 is ${at + 2}.`)

  const long = callTool(
    processes,
    "trigger-long-running-operation",
    { duration: 0.4, steps: 4 },
    { server: "everything", meta: { progressToken: "mine" } },
  ).received
  const messages = (await long.done).messages
  expect(messages.slice(0, -1)).toHaveLength(4)
  for (const message of messages.slice(0, -1))
    expect(message).toMatchObject({ method: "notifications/progress", params: { progressToken: "mine" } })

  const unknown = callTool(processes, "no-such-tool", {}, { server: "everything" }).received
  expect((await unknown.done).events.at(-1)).toBe("ended")
})

it("filesystem: reads a file of its folder, and none beside it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "weir-files-"))
  writeFileSync(join(folder, "a.txt"), "Hello, river")
  const server = { id: "files", program: process.execPath, arguments: [packaged("server-filesystem"), folder] }
  const { processes } = await openProcesses([server])
  const own = callTool(processes, "read_text_file", { path: join(folder, "a.txt") }, { server: "files" }).received
  expect((await own.done).text).toContain("Hello, river")
  const other = callTool(processes, "read_text_file", { path: "/etc/passwd" }, { server: "files" }).received
  expect((await other.done).text).toContain('"isError":true')
})
