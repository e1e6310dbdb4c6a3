/** Files that a gateway follows, replaced in every way in which deployments replace them. */
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import { eventually } from "../support/gateway.ts"
import { useCommands } from "../support/use-commands.ts"

describe("a catalogue in a watched file", () => {
  const { dir, serve, run } = useCommands()
  const catalogue = (name: string) => `version: 1\norgs:\n  - { id: o, name: ${name}, currency: USD, models: [] }\n`
  const start = async (file: string) => {
    const { ready, output } = await serve({ SVC_CATALOGUE: file })
    const env = { SVC_BASE_URL: ready.baseUrl, SVC_ADMIN_KEY: ready.adminKey ?? "" }
    const get = async (path: string) => {
      const headers = { "x-svc-admin-key": env.SVC_ADMIN_KEY }
      return (await fetch(`${ready.baseUrl}/v1/admin/${path}`, { headers })).text()
    }
    const nameInForce = async () => /name: (\w+)/.exec(await get("catalogue"))?.[1]
    const problems = async (): Promise<unknown> => JSON.parse(await get("problems"))
    return { env, output, nameInForce, problems }
  }

  it("is taken up when a ConfigMap is updated: the folder that a link names is another one", async () => {
    const mount = join(dir(), "mount")
    const version = (name: string) => {
      const folder = join(mount, `..${name}`)
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, "weir.yaml"), catalogue(name))
      symlinkSync(`..${name}`, join(mount, "..data_tmp"))
      renameSync(join(mount, "..data_tmp"), join(mount, "..data"))
    }
    version("First")
    symlinkSync("..data/weir.yaml", join(mount, "weir.yaml"))
    const { nameInForce } = await start(join(mount, "weir.yaml"))
    expect(await nameInForce()).toBe("First")
    version("Second")
    rmSync(join(mount, "..First"), { recursive: true })
    await eventually(async () => (await nameInForce()) === "Second")
  }, 60_000)

  it("is taken up when it is renamed over, and when it is written in place", async () => {
    const file = join(dir(), "weir.yaml")
    writeFileSync(file, catalogue("First"))
    const { nameInForce } = await start(file)
    writeFileSync(`${file}.new`, catalogue("Second"))
    renameSync(`${file}.new`, file)
    await eventually(async () => (await nameInForce()) === "Second")
    writeFileSync(file, catalogue("Third"))
    await eventually(async () => (await nameInForce()) === "Third")
  }, 60_000)

  it("that is wrong, or gone, is one log line and a problem that operators see, until it is right again", async () => {
    const file = join(dir(), "weir.yaml")
    writeFileSync(file, catalogue("First"))
    const { env, output, nameInForce, problems } = await start(file)
    expect(await problems()).toEqual({ data: [] })
    writeFileSync(file, `${catalogue("Second")}surprise: 1\n`)
    await eventually(() => output.text.includes(`${file}:4: surprise`))
    expect(await problems()).toMatchObject({ data: [{ what: file, problem: expect.stringContaining(":4: surprise") }] })
    expect((await run(["doctor"], env)).text).toMatch(/failed +.*:4: surprise/)
    // At later looks nothing more is reported.
    await sleep(5000)
    expect(output.text.split(`${file}:4: surprise`).length).toBe(2)
    expect(await nameInForce()).toBe("First")
    rmSync(file)
    await eventually(async () => JSON.stringify(await problems()).includes("missing or empty"))
    writeFileSync(file, catalogue("Third"))
    await eventually(async () => (await nameInForce()) === "Third")
    expect(await problems()).toEqual({ data: [] })
  }, 60_000)
})
