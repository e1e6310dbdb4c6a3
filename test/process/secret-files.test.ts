/** Secrets as files: they are read, refused, and read again when they change. */
import { createHash } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigProvider, Effect, Redacted } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { variableNames, WeirConfig } from "../../src/config.ts"
import { writeWholeFile } from "../../src/files/whole-file.ts"
import { secretInVariable } from "../../src/secret-files.ts"
import { eventually } from "../support/gateway.ts"
import { useProcesses } from "../support/use-processes.ts"

const folder = mkdtempSync(join(tmpdir(), "weir-secrets-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const fileOf = (name: string, text: string): string => {
  const path = join(folder, name)
  // At once, as container platforms replace them.
  writeWholeFile(path, text)
  return path
}
const digestOf = (key: string) => createHash("sha256").update(key).digest("hex")

const configOf = (env: Record<string, string>) =>
  WeirConfig.pipe(
    Effect.provide(WeirConfig.layer),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
    Effect.map((config) => ({
      master: config.masterKey && Redacted.value(config.masterKey),
      admin: config.adminKeySha256,
      proxy: config.httpsProxy && Redacted.value(config.httpsProxy).host,
    })),
    Effect.catch((error) => Effect.succeed(error.message)),
    Effect.runPromise,
  )

describe("a secret variable", () => {
  const digest = digestOf("admin")
  it("may be a file, with whitespace around it", async () => {
    const env = {
      SVC_MASTER_KEY_FILE: fileOf("master", "  secret of many words\n\n"),
      SVC_ADMIN_KEY_SHA256_FILE: fileOf("admin", `${digest}\r\n`),
    }
    expect(await configOf(env)).toMatchObject({ master: "secret of many words", admin: digest })
  })

  it.each<[string, Record<string, string>, RegExp]>([
    ["given as nothing", { SVC_MASTER_KEY: "", HTTPS_PROXY: "", SVC_ADMIN_KEY_SHA256: "nothing" }, /64 hexadecimal/],
    ["given twice", { SVC_MASTER_KEY: "a", SVC_MASTER_KEY_FILE: "/b" }, /SVC_MASTER_KEY and .*_FILE are both set/],
    [
      "in a file that is not there",
      { SVC_MASTER_KEY_FILE: "/nowhere" },
      /SVC_MASTER_KEY_FILE names \/nowhere, which is/,
    ],
    ["in a folder", { SVC_MASTER_KEY_FILE: "/tmp" }, /SVC_MASTER_KEY_FILE names \/tmp, which is empty or cannot be/],
    ["in an empty file", { SVC_REDIS_URL_FILE: "/dev/null" }, /which is empty/],
    ["of a wrong form", { SVC_ADMIN_KEY_SHA256: "abc" }, /SVC_ADMIN_KEY_SHA256 must be a SHA-256 digest/],
    ["that is no proxy", { HTTPS_PROXY: "socks5://x" }, /HTTPS_PROXY is not a URL such as/],
  ])("%s is refused, and not shown", async (_, env, message) => {
    expect(await configOf(env)).toMatch(message)
  })

  it("of a wrong form in a file is not shown", async () => {
    const path = fileOf("wrong", "the admin key itself")
    const message = await configOf({ SVC_ADMIN_KEY_SHA256_FILE: path })
    expect(message).toMatch(/must be a SHA-256 digest/)
    expect(message).not.toContain("itself")
  })

  it("is known with its file's name, so that neither is taken for a mistake", async () => {
    const names = await Effect.runPromise(variableNames)
    for (const name of ["SVC_DATABASE_URL", "SVC_SMTP_URL", "SVC_TOKEN_KEYS", "SVC_METRICS_TOKEN"]) {
      expect(names).toContain(name)
      expect(names).toContain(`${name}_FILE`)
    }
  })

  it("of a catalogue may be a file too; the variable wins", () => {
    process.env["WEIR_TEST_SECRET_FILE"] = fileOf("vendor", "from-file\n")
    expect(secretInVariable("WEIR_TEST_SECRET")).toBe("from-file")
    process.env["WEIR_TEST_SECRET"] = "from-variable"
    expect(secretInVariable("WEIR_TEST_SECRET")).toBe("from-variable")
    delete process.env["WEIR_TEST_SECRET_FILE"]
    delete process.env["WEIR_TEST_SECRET"]
  })
})

describe("a running gateway", () => {
  const { serve, weir } = useProcesses()
  it("takes up a new admin key when its file is replaced; the command reads the key from a file", async () => {
    const hash = fileOf("hash", digestOf("first"))
    const { ready, output } = await serve({ SVC_ADMIN_KEY_SHA256_FILE: hash })
    const orgs = async (key: string) =>
      (await weir(["orgs"], { SVC_BASE_URL: ready.baseUrl, SVC_ADMIN_KEY_FILE: fileOf("key", key) }).exit) === 0
    expect(await orgs("first")).toBe(true)
    fileOf("hash", digestOf("second"))
    await eventually(() => output.text.includes("SVC_ADMIN_KEY_SHA256_FILE has changed and is in force"))
    expect(await orgs("second")).toBe(true)
    expect(await orgs("first")).toBe(false)
    // Something that is no digest admits nobody.
    fileOf("hash", "no digest")
    await eventually(async () => !(await orgs("second")))
    expect(output.text).not.toContain(digestOf("second"))
  }, 120_000)
})
