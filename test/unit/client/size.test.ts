/** The client without Effect, as an application bundles it. */
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { rolldown } from "rolldown"
import { expect, it } from "vitest"

const mostGzipBytes = 25_000

it("connect is at most 25 kB, compressed, and has no Effect and nothing of Node", async () => {
  const input = fileURLToPath(new URL("../../../src/client/index.ts", import.meta.url))
  const bundle = await rolldown({ input, platform: "browser", logLevel: "silent", external: /^node:/ })
  const { output } = await bundle.generate({ format: "esm", minify: true })
  await bundle.close()
  const [{ code, imports, moduleIds }] = output
  expect(imports).toEqual([])
  expect(moduleIds.filter((id) => id.includes("node_modules"))).toEqual([])
  expect(moduleIds.length).toBeGreaterThan(10)
  expect(gzipSync(code).length).toBeLessThan(mostGzipBytes)
})
