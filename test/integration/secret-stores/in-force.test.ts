/** Secrets of stores in a running gateway: taken up without a restart, and what happens while a store fails. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Exit, Redacted, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { longestSecret, pickSecret } from "../../../src/catalogue/secret-member.ts"
import { startGateway } from "../../../src/testing/gateway.ts"
import { hello, testCatalogue } from "../../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../../support/gateway.ts"
import { startVault, type VaultTwin } from "../../support/secret-stores.ts"
import { useCommands } from "../../support/use-commands.ts"

let vault: VaultTwin
beforeAll(async () => {
  vault = await startVault()
  vault.secrets.set("secret/data/weir", '{"openai":"sk-first"}')
})
afterAll(() => vault.stop())

const ids = { org: "org_stores", app: "app_stores", key: "key_stores" }
const ref = "vault:secret/data/weir#openai"
const withSecret = (urls: { readonly vendor: string; readonly second: string }, named = ref) =>
  testCatalogue(urls, ids).replace(`/v1", credential: "env:WEIR_TEST_VENDOR"`, `/v1", credential: "${named}"`)

const config = (url: string) => ({
  secretsRefreshMs: 50,
  vault: { url, namespace: undefined, caFile: undefined, token: Redacted.make("root-token") },
})

describe("a secret of a store", () => {
  let urls = { vendor: "", second: "" }
  const gateway = useGateway(() => ({
    ids,
    backgroundSpeed: 20,
    config: config(vault.url),
    catalogue: (given) => {
      urls = given
      return withSecret(given)
    },
  }))
  const operator = (path: string, body?: object) =>
    fetch(`${gateway().baseUrl}/v1/admin/${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { "content-type": "application/json", "x-svc-admin-key": gateway().adminKey },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  const problems = async () => (await operator("problems")).text()
  const sent = async () => {
    expect((await gateway().exchange(hello)).status).toBe(200)
    return gateway().vendor.calls.at(-1)?.headers["authorization"]
  }

  it("is what calls carry, and the new one when it was rotated, without a restart", async () => {
    expect(await sent()).toBe("Bearer sk-first")
    vault.secrets.set("secret/data/weir", '{"openai":"sk-second"}')
    await eventually(async () => (await sent()) === "Bearer sk-second")
  })

  it("stays in force while its store is down, which operators see, until it answers again", async () => {
    vault.down = { status: 503, body: { errors: ["Vault is sealed"] } }
    await eventually(async () => (await problems()).includes("Vault answers 503"))
    expect(await problems()).toContain("the value that was read last stays in force")
    expect(await problems()).not.toContain("sk-")
    expect(await sent()).toBe("Bearer sk-second")
    vault.down = undefined
    await eventually(async () => (await problems()) === '{"data":[]}')
  })

  it.each([
    ["that lost the member", '{"other":"x"}', "it has no member openai"],
    ["whose member is a number", '{"openai":7}', "is neither text nor an object"],
    ["of 1 MiB", JSON.stringify({ openai: "x".repeat(1024 * 1024) }), "longer than 64 KiB"],
    ["that is empty", '{"openai":" "}', "it is empty"],
  ])("%s stays as it was, and operators see why", async (_what, json, problem) => {
    vault.secrets.set("secret/data/weir", json)
    await eventually(async () => (await problems()).includes(problem))
    expect(await sent()).toBe("Bearer sk-second")
    vault.secrets.set("secret/data/weir", '{"openai":"sk-second"}')
    await eventually(async () => (await problems()) === '{"data":[]}')
  })

  it("that cannot be read refuses a catalogue that names it, by its line; nothing is applied", async () => {
    const error = await errorOf(await operator("catalogue", { text: withSecret(urls, "vault:secret/data/gone#a") }))
    expect(error).toMatchObject({ status: 400, code: "bad_request" })
    const message = "vault:secret/data/gone#a cannot be read: Vault has nothing at secret/data/gone"
    expect(error.detail).toMatchObject({ issues: [{ line: 4, message: expect.stringContaining(message) }] })
    expect(await sent()).toBe("Bearer sk-second")
    expect(await problems()).toBe('{"data":[]}')
  })

  it("is read for a draft too, which the audit log tells", async () => {
    vault.secrets.set("secret/data/draft", '{"key":"sk-draft"}')
    const draft = { model: "upstream-main", text: withSecret(urls, "vault:secret/data/draft#key") }
    expect((await operator("vendors/openai/test", draft)).status).toBe(200)
    expect(gateway().vendor.calls.some(({ headers }) => headers["authorization"] === "Bearer sk-draft")).toBe(true)
    const audit = await (await operator("audit")).text()
    expect(audit).toContain("vault:secret/data/draft#key")
    expect(audit).not.toContain("sk-draft")
    const gone = { ...draft, text: withSecret(urls, "vault:secret/data/gone#key") }
    expect((await errorOf(await operator("vendors/openai/test", gone))).status).toBe(400)
  })

  it("of an identity provider is read when somebody signs in, and kept while the store is down", async () => {
    vault.secrets.set("secret/data/sso", '{"secret":"first"}')
    const sso = `sso: { issuer: "https://idp.test", clientId: c, clientSecret: "vault:secret/data/sso#secret" }`
    const text = withSecret(urls).replace("currency: USD, models:", `currency: USD, ${sso}, models:`)
    expect((await operator("catalogue", { text })).status).toBe(200)
    const inForce = async () => {
      const found = (await Effect.runPromise(gateway().tenants.sso(ids.org)))?.clientSecret
      return found && Redacted.value(found)
    }
    await eventually(async () => (await inForce()) === "first")
    vault.secrets.set("secret/data/sso", '{"secret":"second"}')
    await eventually(async () => (await inForce()) === "second")
    vault.down = { status: 503, body: {} }
    expect(await inForce()).toBe("second")
    vault.down = undefined
  })

  it("of an application's key is read when the catalogue is applied", async () => {
    vault.secrets.set("secret/data/keys", '{"second":"wk_from_vault"}')
    const text = withSecret(urls).replace(
      "\nkeys:\n",
      `\nkeys:\n  - { id: key_of_vault, app: ${ids.app}, secret: "vault:secret/data/keys#second" }\n`,
    )
    expect((await operator("catalogue", { text })).status).toBe(200)
    const headers = { "x-svc-key-id": "key_of_vault", "x-svc-key": "wk_from_vault" }
    expect((await gateway().exchange(hello, { headers })).status).toBe(200)
    vault.secrets.set("secret/data/keys", '{"second":"wk_rotated"}')
    expect((await operator("catalogue", { text })).status).toBe(200)
    await eventually(
      async () =>
        (await gateway().exchange(hello, { headers: { ...headers, "x-svc-key": "wk_rotated" } })).status === 200,
    )
  })
})

it("a store that does not answer at the start ends it with an error that names the reference", async () => {
  const scope = Scope.makeUnsafe()
  const started = await Effect.runPromiseExit(
    Scope.provide(
      startGateway({ ids, config: config("http://127.0.0.1:9"), catalogue: (urls) => withSecret(urls) }),
      scope,
    ),
  )
  await Effect.runPromise(Scope.close(scope, Exit.void))
  expect(Exit.isFailure(started)).toBe(true)
  expect(String(started)).toContain(`${ref} cannot be read: Vault cannot be reached`)
})

describe("commands", () => {
  const { dir, run } = useCommands()
  it("weir doctor asks the stores", async () => {
    const file = join(dir(), "weir.yaml")
    const text = (named: string) =>
      `version: 1\nvendors:\n  - { id: v, dialect: openai-chat, baseUrl: "https://v.test", credential: "${named}" }\n`
    const env = {
      SVC_CATALOGUE: file,
      VAULT_ADDR: vault.url,
      VAULT_TOKEN: "root-token",
      SVC_BASE_URL: "http://127.0.0.1:9",
    }
    writeFileSync(file, text(ref))
    expect((await run(["doctor"], env)).text).toMatch(/catalogue +ok/)
    writeFileSync(file, text("vault:secret/data/weir#nothing"))
    const { text: said } = await run(["doctor"], env)
    expect(said).toMatch(/catalogue +failed +vault:secret\/data\/weir#nothing cannot be read: it has no member nothing/)
    expect(said).not.toContain("sk-")
  })

  it("weir config names the variables, and not the token", async () => {
    const { text } = await run(["config"], { VAULT_ADDR: "http://vault:8200", VAULT_TOKEN: "hvs.hidden" })
    expect(text).toMatch(/VAULT_ADDR +http:\/\/vault:8200/)
    expect(text).toMatch(/VAULT_TOKEN +\(set\)/)
    expect(text).not.toContain("hvs.hidden")
  })
})

describe("a member of a secret", () => {
  it.each<[string, string, string | undefined, string | undefined]>([
    ["the whole text, without whitespace around it", " sk \n", undefined, "sk"],
    ["text", '{"a":"1"}', "a", "1"],
    ["an object, as JSON", '{"a":{"type":"service_account"}}', "a", '{"type":"service_account"}'],
    ["of the longest secret", `{"a":"${"x".repeat(longestSecret)}"}`, "a", "x".repeat(longestSecret)],
    ["a name that every object has", '{"a":"1"}', "constructor", undefined],
    ["of a list", "[1]", "0", undefined],
    ["of no JSON", "sk", "a", undefined],
    ["nested without end", `{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`, "a", undefined],
    ["null", '{"a":null}', "a", undefined],
  ])("is %s", (_what, text, member, value) => {
    expect(pickSecret(text, member).value).toBe(value)
  })
})
