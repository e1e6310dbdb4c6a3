/** Gateways that are killed while keys are made: the receiver gets an event for each, with one id. */
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Schema } from "effect"
import { afterAll, expect, it } from "vitest"
import { eventually } from "../support/gateway.ts"
import { type Receiver, startReceiver } from "../support/receiver.ts"
import { useProcesses } from "../support/use-processes.ts"

const secret = `whsec_${Buffer.alloc(32, "kill").toString("base64")}`
const receivers: ReadonlyArray<Receiver> = await Promise.all([1, 2, 3].map(() => startReceiver(secret)))
afterAll(() => Promise.all(receivers.map(({ stop }) => stop())))

const { serve, dir } = useProcesses()

const catalogue = () => `
version: 1
orgs: [{ id: acme, name: Acme, currency: USD, models: [] }]
apps: [{ id: app, org: acme }]
webhooks:
${receivers
  .map(
    ({ port }, at) =>
      `  - { id: hook-${at}, url: "http://127.0.0.1:${port}/", secret: "env:KILL_SECRET", events: [key.created] }`,
  )
  .join("\n")}
`

const decodeMinted = Schema.decodeUnknownSync(Schema.Struct({ keyId: Schema.String }))

it("three webhooks, six kills: every key that was made is told to each at least once, under one id", async () => {
  const file = join(dir(), "weir.yaml")
  writeFileSync(file, catalogue())
  const env = { SVC_CATALOGUE: file, KILL_SECRET: secret, SVC_MASTER_KEY: "master" }
  // The first fails now and then, the second's answers get lost: what it had comes again.
  for (const [at, status] of [500, 0].entries()) {
    const receiver = receivers[at]
    if (receiver === undefined) continue
    const isNew = (event: string) => receiver.received.every(({ id }) => id !== event)
    receiver.answer = ({ id }) => (isNew(id) && Math.random() < 0.3 ? status : 204)
  }

  const made = new Set<string>()
  for (let kill = 0; kill < 6; kill++) {
    const { ready, child, exit } = await serve(env)
    const makeKeys = async () => {
      for (;;) {
        const reply = await fetch(`${ready.baseUrl}/v1/admin/keys`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-svc-admin-key": ready.adminKey },
          body: JSON.stringify({ app: "app" }),
        })
        if (reply.ok) made.add(decodeMinted(await reply.json()).keyId)
        // More keys would take time, and show no more.
        await sleep(50)
      }
    }
    const making = Array.from({ length: 4 }, () => makeKeys().catch(() => undefined))
    await sleep(700 + Math.random() * 1500)
    child.kill("SIGKILL")
    await exit
    rmSync(join(dir(), "ready"))
    await Promise.all(making)
  }
  await serve(env)
  const acceptedBy = ({ received }: Receiver) =>
    new Set(received.filter(({ status }) => status === 204).map(({ data }) => data["key"]))
  // The deliveries of a killed gateway are leased for half a minute.
  await eventually(() => receivers.every((receiver) => made.isSubsetOf(acceptedBy(receiver))), 100_000)
  expect(made.size).toBeGreaterThan(20)
  const ids = new Map<unknown, Set<string>>()
  for (const { received } of receivers) {
    for (const { id, data } of received) ids.set(data["key"], (ids.get(data["key"]) ?? new Set()).add(id))
  }
  expect([...ids.values()].filter((each) => each.size !== 1)).toEqual([])
}, 180_000)
