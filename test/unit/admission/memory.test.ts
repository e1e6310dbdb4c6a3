/** The limit of the heap of objects that survive, which ends a process; V8's own figure counts young ones too. */
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const memory = fileURLToPath(new URL("../../../src/memory.ts", import.meta.url))
const MiB = 1024 * 1024

const limitsOf = (args: ReadonlyArray<string>, nodeOptions = ""): { readonly ours: number; readonly v8: number } => {
  const print = `const { heapLimitBytes: ours } = await import(${JSON.stringify(memory)})
    console.log(JSON.stringify({ ours, v8: (await import("node:v8")).getHeapStatistics().heap_size_limit }))`
  const env = { ...process.env, NODE_OPTIONS: nodeOptions }
  return JSON.parse(execFileSync(process.execPath, [...args, "--input-type=module", "-e", print], { env }).toString())
}

describe("what the heap has", () => {
  it("is without young objects", () => {
    const print = `const { heapUsedBytes } = await import(${JSON.stringify(memory)})
      const { getHeapSpaceStatistics } = await import("node:v8")
      globalThis.young = Array.from({ length: 100_000 }, (_, at) => ({ at }))
      const ours = heapUsedBytes()
      const sizes = getHeapSpaceStatistics().filter(({ space_name }) => space_name !== "new_space")
      console.log(JSON.stringify({ ours, v8: sizes.reduce((sum, { space_used_size: size }) => sum + size, 0) }))`
    const told = execFileSync(process.execPath, ["--input-type=module", "-e", print]).toString()
    const { ours, v8 } = JSON.parse(told)
    expect(Math.abs(ours - v8)).toBeLessThan(MiB / 2)
  })
})

describe("the limit of the heap", () => {
  it("is the option's where V8 tells more", () => {
    const { ours, v8 } = limitsOf(["--max-old-space-size=128"])
    expect(ours).toBe(128 * MiB)
    expect(v8).toBeGreaterThan(ours)
  })

  it("is that of NODE_OPTIONS, unless the command line says otherwise", () => {
    expect(limitsOf([], "--max-old-space-size=256").ours).toBe(256 * MiB)
    expect(limitsOf(["--max-old-space-size=192"], "--max_old_space_size=256").ours).toBe(192 * MiB)
  })

  it("is below V8's without an option", () => {
    const { ours, v8 } = limitsOf([])
    expect(ours).toBeLessThan(v8)
    expect(ours).toBeGreaterThan(v8 * 0.9)
  })
})
