/** Ports that scripts and tests give to servers are not given twice, and not to connections. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { freePort } from "../../support/free-port.ts"

it("each port is given once, also to other processes", async () => {
  const own = await Promise.all(Array.from({ length: 300 }, freePort))
  const script = `
    import { freePort } from ${JSON.stringify(new URL("../../support/free-port.ts", import.meta.url).href)}
    console.log(JSON.stringify(await Promise.all(Array.from({ length: 3000 }, freePort))))
    process.exit()`
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" })
  expect(stderr).toBe("")
  const others: ReadonlyArray<number> = JSON.parse(stdout)
  expect(others).toHaveLength(3000)
  expect(new Set([...own, ...others]).size).toBe(3300)
})

it.skipIf(process.platform !== "linux")("no port is one that the system gives to connections", async () => {
  const [first = 0] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").split(/\s+/).map(Number)
  for (const port of await Promise.all(Array.from({ length: 100 }, freePort))) expect(port).toBeLessThan(first)
})
