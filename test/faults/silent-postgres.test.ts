/** A PostgreSQL whose host vanishes: nobody closes its connections, and nothing is answered on them. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { hello } from "../../src/testing/index.ts"
import { hasServers, postgres, type Service } from "../support/faults/processes.ts"
import { openLine } from "../support/faults/proxy.ts"
import { freePort } from "../support/free-port.ts"
import { eventually, useGateway } from "../support/gateway.ts"

describe.skipIf(!hasServers())("a PostgreSQL that is silent", async () => {
  const dir = mkdtempSync(join(tmpdir(), "weir-silent-"))
  chmodSync(dir, 0o755)
  const port = await freePort()
  const line = await openLine(port)
  let server: Service | undefined
  beforeAll(async () => {
    server = postgres(join(dir, "pg"), port)
    await server.start()
  })
  afterAll(async () => {
    line.close()
    await server?.kill()
    rmSync(dir, { recursive: true, force: true })
  })
  const gateway = useGateway({
    config: {
      databaseUrl: Redacted.make(`postgres://weir@127.0.0.1:${line.port}/postgres`),
      databaseDeadlineMs: 500,
      settlePatienceMs: 300,
      dataDir: dir,
    },
  })
  const isWhole = async () => {
    const response = await gateway().exchange(hello)
    const text = await response.text()
    const ready = await fetch(`${gateway().baseUrl}/readyz`)
    return response.status === 200 && !text.includes("settlement_deferred") && ready.status === 200
  }

  it("is reached over new connections: those that owe an answer for long are left", async () => {
    expect(await isWhole()).toBe(true)
    line.stall(600_000)
    await eventually(isWhole)
  })
})
