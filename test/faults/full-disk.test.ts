/** A PostgreSQL whose disk is full answers queries: a node is not ready until there is room again. Needs leave to mount. */
import { execFileSync, spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { hello } from "../../src/testing/index.ts"
import { hasServers, postgres, type Service } from "../support/faults/processes.ts"
import { freePort } from "../support/free-port.ts"
import { eventually, useGateway } from "../support/gateway.ts"

const dir = mkdtempSync(join(tmpdir(), "weir-full-"))
const disk = join(dir, "disk")
mkdirSync(disk)
chmodSync(dir, 0o755)
const isMounted = hasServers() && spawnSync("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", disk]).status === 0

describe.skipIf(!isMounted)("a PostgreSQL whose disk is full", async () => {
  const port = await freePort()
  let server: Service | undefined
  const psql = (...statements: ReadonlyArray<string>) => {
    const asked = statements.flatMap((statement) => ["-c", statement])
    execFileSync("psql", ["-h", "127.0.0.1", "-p", String(port), "-U", "weir", "-qAt", "postgres", ...asked])
  }
  beforeAll(async () => {
    server = postgres(join(dir, "pg"), port)
    await server.start()
    const space = join(disk, "tables")
    mkdirSync(space)
    execFileSync("chown", ["-R", "postgres", space])
    psql(`create tablespace small location '${space}'`, "alter role weir set default_tablespace = small")
  })
  afterAll(async () => {
    await server?.kill()
    spawnSync("umount", [disk])
    rmSync(dir, { recursive: true, force: true })
  })
  const gateway = useGateway({
    config: {
      databaseUrl: Redacted.make(`postgres://weir@127.0.0.1:${port}/postgres`),
      databaseConnections: 3,
      settlePatienceMs: 300,
      dataDir: dir,
    },
  })
  const readiness = async () => (await fetch(`${gateway().baseUrl}/readyz`)).status

  it("is not ready until there is room", async () => {
    expect(await readiness()).toBe(200)
    expect((await gateway().exchange(hello)).status).toBe(200)
    const filler = join(disk, "filler")
    try {
      for (;;) writeFileSync(filler, Buffer.alloc(8192), { flag: "a" })
    } catch {
      // There is no room.
    }
    await eventually(async () => (await readiness()) === 503)
    rmSync(filler)
    await eventually(async () => (await readiness()) === 200)
    expect((await gateway().exchange(hello)).status).toBe(200)
  })
})
