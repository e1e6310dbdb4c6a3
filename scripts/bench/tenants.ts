/** Many tenants: how long a gateway takes to start with them and to take up a change, and how long its streams stand still. */
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { nodeOptions } from "../../test/support/node-options.ts"
import { preloaded } from "./preloaded.ts"
import { readyUrl } from "./subjects.ts"

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const adminKey = "wa_bench"

/** One application and two keys for each organisation; the first has this name. */
const catalogueOf = (orgs: number, models: number, name: string): string => {
  const each = (count: number, entry: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => entry(at)).join("\n")
  return `version: 1
vendors: [{ id: v, dialect: openai-chat, baseUrl: "http://127.0.0.1:9/v1" }]
models:
${each(models, (at) => `  - { handle: m${at}, maxOutput: 2000, targets: [{ vendor: v, model: a${at} }] }`)}
prices:
${each(models, (at) => `  - { model: m${at}, currency: USD, input: "0.03", output: "0.15", from: 2026-01-01 }`)}
plans: [{ id: p, perMinute: 1000, dailyTokens: 1000000 }]
orgs:
${each(orgs, (at) => `  - { id: o${at}, name: ${at === 0 ? name : `Name ${at}`}, plan: p, currency: USD, models: [m0] }`)}
apps:
${each(orgs, (at) => `  - { id: a${at}, org: o${at} }`)}
keys:
${each(orgs * 2, (at) => `  - { id: k${at}, app: a${at >> 1}, secret: "env:BENCH_TENANT_KEY" }`)}
topups:
${each(orgs, (at) => `  - { id: t${at}, org: o${at}, amount: "10" }`)}
`
}

export interface Declared {
  readonly startMs: number
  readonly startAgainMs: number
  readonly applyMs: number
  readonly stallMs: number
  readonly dryRunStallMs: number
}

/** A gateway on the embedded database whose catalogue declares so many organisations, and so many models and prices. */
export const measureDeclared = async (orgs: number, models: number): Promise<Declared> => {
  const dir = mkdtempSync(join(tmpdir(), "weir-tenants-"))
  const file = join(dir, "catalogue.yaml")
  const ready = join(dir, "ready.json")
  const delay = join(dir, "delay")
  writeFileSync(file, catalogueOf(orgs, models, "First"))
  const start = async () => {
    rmSync(ready, { force: true })
    const startedAt = performance.now()
    const measured = ["--import", here("./loop-delay.ts"), here("../../src/main.ts"), "serve"]
    const child = spawn(process.execPath, [...nodeOptions, ...measured], {
      env: {
        ...process.env,
        SVC_MASTER_KEY: "of the bench",
        SVC_LAME_DUCK_MS: "0",
        SVC_PORT: "0",
        SVC_DATA_DIR: join(dir, "data"),
        SVC_CATALOGUE: file,
        SVC_READY_FILE: ready,
        SVC_ADMIN_KEY_SHA256: createHash("sha256").update(adminKey).digest("hex"),
        SVC_LOG_LEVEL: "Error",
        BENCH_TENANT_KEY: "secret",
        BENCH_LOOP_DELAY: delay,
      },
      stdio: ["ignore", "ignore", "inherit"],
    })
    const baseUrl = await readyUrl(ready)
    return { child, baseUrl, ms: performance.now() - startedAt }
  }
  const stop = (child: ReturnType<typeof spawn>) =>
    new Promise((resolve) => {
      child.once("exit", resolve)
      child.kill("SIGTERM")
    })
  try {
    const first = await start()
    await stop(first.child)
    const { child, baseUrl, ms } = await start()
    const stall = preloaded(child.pid ?? Number.NaN, delay)
    const apply = async (name: string, dryRun: boolean) => {
      const body = JSON.stringify({ text: catalogueOf(orgs, models, name), dryRun })
      await stall()
      const startedAt = performance.now()
      const reply = await fetch(`${baseUrl}/v1/admin/catalogue`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-svc-admin-key": adminKey },
        body,
      })
      const text = await reply.text()
      if (reply.status !== 200) throw new Error(`The catalogue was refused: ${text}`)
      return { ms: performance.now() - startedAt, stallMs: await stall() }
    }
    const applied = await apply("Second", false)
    const dryRun = await apply("Third", true)
    await stop(child)
    return {
      startMs: first.ms,
      startAgainMs: ms,
      applyMs: applied.ms,
      stallMs: applied.stallMs,
      dryRunStallMs: dryRun.stallMs,
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
