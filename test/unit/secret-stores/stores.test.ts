/** Secrets in stores: what each of the four is asked, and what is said of one that gives nothing. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { WeirConfig } from "../../../src/config.ts"
import { storeReferenceOf } from "../../../src/protocol/values/secret-ref.ts"
import { readSecretBy } from "../../../src/secret-stores/stores.ts"
import { startTokenEndpoint, type TokenEndpoint } from "../../support/google-token-endpoint.ts"
import { issuerAuthority } from "../../support/issuer.ts"
import { forgetManagedIdentity, managedIdentity } from "../../support/managed-identity.ts"
import { useRoute } from "../../support/route.ts"
import {
  awsKeys,
  startAws,
  startAzure,
  startGoogle,
  startVault,
  type Twin,
  type VaultTwin,
  writeFile,
} from "../../support/secret-stores.ts"
import { withVariables } from "../../support/variables.ts"

type Settings = Parameters<typeof readSecretBy>[1]

const route = useRoute()
const folder = mkdtempSync(join(tmpdir(), "weir-stores-"))
let vault: VaultTwin
let aws: Twin
let google: Twin
let azure: Twin
let endpoint: TokenEndpoint
let restore = () => {}

beforeAll(async () => {
  vault = await startVault()
  aws = await startAws()
  endpoint = await startTokenEndpoint()
  google = await startGoogle((token) => endpoint.issued.includes(token))
  azure = await startAzure()
  restore = withVariables({
    AWS_ACCESS_KEY_ID: awsKeys.accessKeyId,
    AWS_SECRET_ACCESS_KEY: awsKeys.secretAccessKey,
    AWS_SESSION_TOKEN: undefined,
    AWS_PROFILE: undefined,
    GOOGLE_APPLICATION_CREDENTIALS: writeFile(join(folder, "account.json"), endpoint.account),
    ...(await managedIdentity()),
    AZURE_CLIENT_SECRET: undefined,
    AZURE_FEDERATED_TOKEN_FILE: undefined,
  })
})
afterAll(async () => {
  restore()
  await forgetManagedIdentity()
  for (const each of [vault, aws, google, azure, endpoint]) each.stop()
  rmSync(folder, { recursive: true })
})

const jwtFile = join(folder, "none")
const noLogin: WeirConfig["Service"]["vaultLogin"] = {
  role: undefined,
  jwtFile,
  roleId: undefined,
  secretId: undefined,
  mount: undefined,
}
const settings = (more: Partial<Settings> = {}): Settings => ({
  vault: { url: vault.url, namespace: undefined, caFile: undefined, token: Redacted.make("root-token") },
  vaultLogin: noLogin,
  awsSecrets: { region: "eu-central-1", url: aws.url },
  googleSecretsUrl: google.url,
  azureVaultUrl: `${azure.url}/{vault}`,
  ...more,
})
const withoutToken = () => ({ url: vault.url, namespace: undefined, caFile: undefined, token: undefined })

/** Reads the text, or the sentence that says why there is none. */
const readerWith = (more: Partial<Settings>) => {
  const readSecret = readSecretBy(route().client, settings(more))
  return (ref: string): Promise<string> => {
    const reference = storeReferenceOf(ref)
    if (reference === undefined) throw new Error(`${ref} is no reference`)
    return Effect.runPromise(
      Effect.match(readSecret(reference), { onSuccess: (text) => text, onFailure: ({ sentence }) => sentence }),
    )
  }
}
const read = (ref: string, more: Partial<Settings> = {}) => readerWith(more)(ref)

describe("Vault", () => {
  it("gives the members of a secret of version 2 and of version 1", async () => {
    vault.secrets.set("secret/data/weir", '{"openai":"sk-1"}')
    vault.secrets.set("old/weir", '{"openai":"sk-2"}')
    expect(await read("vault:secret/data/weir#openai")).toBe('{"openai":"sk-1"}')
    expect(await read("vault:old/weir")).toBe('{"openai":"sk-2"}')
  })

  it("that has nothing there is told with its path, and that version 2 has data/", async () => {
    expect(await read("vault:secret/weir#openai")).toBe(
      "Vault has nothing at secret/weir; a path of version 2 has data/ behind its mount",
    )
  })

  it.each([
    ["a token that is not valid", { token: Redacted.make("wrong") }, /^Vault answers 403: it does not know/],
    ["no token", { token: undefined }, /^there is no way to sign in to Vault: set VAULT_TOKEN/],
    ["another namespace", { namespace: "team" }, /^Vault answers 403/],
    ["no address", { url: undefined }, /^VAULT_ADDR is not set/],
    ["an address that is none", { url: "localhost:8200" }, /^VAULT_ADDR is not set, or is no/],
    ["an address where nobody is", { url: "http://127.0.0.1:9" }, /^Vault cannot be reached/],
    ["a certificate that is not there", { caFile: "/nowhere.pem" }, /^VAULT_CACERT: \/nowhere.pem cannot be read/],
  ])("with %s is one sentence", async (_what, changed, sentence) => {
    const said = await read("vault:secret/data/weir", { vault: { ...settings().vault, ...changed } })
    expect(said).toMatch(sentence)
    expect(said).not.toMatch(/wrong|root-token|sk-/)
  })

  it("has a namespace", async () => {
    const there = await startVault("team")
    there.secrets.set("secret/data/weir", '{"a":"1"}')
    const given = { ...settings().vault, url: there.url, namespace: "team" }
    expect(await read("vault:secret/data/weir", { vault: given })).toBe('{"a":"1"}')
    there.stop()
  })

  it("is believed over TLS by the authority of VAULT_CACERT, and not without it", async () => {
    const secure = await startVault(undefined, { isSecure: true })
    secure.secrets.set("secret/data/weir", '{"a":"1"}')
    const given = { ...settings().vault, url: secure.url }
    const caFile = writeFile(join(folder, "ca.pem"), issuerAuthority)
    expect(await read("vault:secret/data/weir", { vault: { ...given, caFile } })).toBe('{"a":"1"}')
    expect(await read("vault:secret/data/weir", { vault: given })).toBe("Vault cannot be reached")
    secure.stop()
  })

  it("is signed in to as a service account of Kubernetes: once, and again when the token was revoked", async () => {
    const file = writeFile(join(folder, "jwt"), "service-account")
    const readAs = readerWith({ vault: withoutToken(), vaultLogin: { ...noLogin, role: "weir", jwtFile: file } })
    vault.asked.length = 0
    expect(await readAs("vault:secret/data/weir")).toBe('{"openai":"sk-1"}')
    expect(await readAs("vault:secret/data/weir")).toBe('{"openai":"sk-1"}')
    expect(vault.asked.filter(({ method }) => method === "POST")).toHaveLength(1)
    vault.tokens.clear()
    expect(await readAs("vault:secret/data/weir")).toBe('{"openai":"sk-1"}')
    expect(vault.asked.filter(({ method }) => method === "POST")).toHaveLength(2)
    vault.tokens.add("root-token")
  })

  it("is signed in to by AppRole", async () => {
    const vaultLogin = { ...noLogin, roleId: "role", secretId: Redacted.make("secret") }
    expect(await read("vault:secret/data/weir", { vault: withoutToken(), vaultLogin })).toBe('{"openai":"sk-1"}')
  })

  it("that refuses the login, and a token of the account that is not there, are one sentence", async () => {
    const refused = { ...noLogin, roleId: "role", secretId: Redacted.make("wrong-secret") }
    expect(await read("vault:secret/data/weir", { vault: withoutToken(), vaultLogin: refused })).toBe(
      "Vault answers 400 to the login at auth/approle",
    )
    const absent = { ...noLogin, role: "weir" }
    expect(await read("vault:secret/data/weir", { vault: withoutToken(), vaultLogin: absent })).toBe(
      `the token of the service account cannot be read: ${jwtFile}`,
    )
  })
})

describe("AWS Secrets Manager", () => {
  const arn = "arn:aws:secretsmanager:ap-southeast-4:123456789012:secret:weir/openai-AbCdEf"

  it("gives a secret by its name and by its ARN, whose region is signed", async () => {
    aws.secrets.set("weir/openai", "sk-3")
    aws.secrets.set(arn, '{"key":"sk-4"}')
    expect(await read("aws-sm:weir/openai")).toBe("sk-3")
    expect(aws.asked.at(-1)?.headers.authorization).toContain("/eu-central-1/secretsmanager/")
    expect(await read(`aws-sm:${arn}#key`)).toBe('{"key":"sk-4"}')
    expect(aws.asked.at(-1)?.headers.authorization).toContain("/ap-southeast-4/secretsmanager/")
  })

  it("gives text that is stored as binary, and refuses what is none", async () => {
    aws.secrets.set("text", `binary:${Buffer.from("sk-5").toString("base64")}`)
    aws.secrets.set("bytes", `binary:${Buffer.from([0xff, 0xfe, 0x00]).toString("base64")}`)
    expect(await read("aws-sm:text")).toBe("sk-5")
    expect(await read("aws-sm:bytes")).toBe("the secret is binary: it must be text")
  })

  it("says why it gives nothing, and nothing of its message", async () => {
    expect(await read("aws-sm:nothing")).toBe("AWS Secrets Manager has no such secret in this region")
    expect(await read("aws-sm:weir/openai", { awsSecrets: { region: undefined, url: aws.url } })).toMatch(/^its region/)
    for (const [type, sentence] of [
      ["AccessDeniedException", /does not let this gateway/],
      ["com.amazon#ThrottlingException", /cannot answer now/],
      ["InvalidSignatureException", /does not accept the signature/],
      ["Strange", /answers 400$/],
    ] as const) {
      aws.down = { status: 400, body: { __type: type, message: awsKeys.secretAccessKey } }
      expect(await read("aws-sm:weir/openai")).toMatch(sentence)
    }
    aws.down = undefined
  })
})

describe("Google Secret Manager", () => {
  it("gives a version, and the newest of a project's secret", async () => {
    google.secrets.set("projects/p/secrets/s/versions/latest", Buffer.from("sk-6\n").toString("base64"))
    google.secrets.set("projects/p/secrets/s/versions/3", Buffer.from("sk-7").toString("base64"))
    expect(await read("gcp-sm:p/s")).toBe("sk-6\n")
    expect(await read("gcp-sm:projects/p/secrets/s/versions/3")).toBe("sk-7")
    expect(await read("gcp-sm:p/s/3")).toBe("sk-7")
    expect(await read("gcp-sm:p/other")).toBe("Google Secret Manager has no such secret")
  })

  it("refuses a token that was not issued: a machine without an identity is told", async () => {
    const back = withVariables({ GOOGLE_APPLICATION_CREDENTIALS: join(folder, "nowhere.json") })
    expect(await read("gcp-sm:p/s")).toMatch(/^this machine has no identity at Google/)
    back()
  })
})

describe("Azure Key Vault", () => {
  it("gives the newest and a certain version, with a token for vaults", async () => {
    const version = "0123456789abcdef0123456789abcdef"
    azure.secrets.set("/weir-prod/secrets/openai", "sk-8")
    azure.secrets.set(`/weir-prod/secrets/openai/${version}`, "sk-9")
    expect(await read("azure-kv:weir-prod/openai")).toBe("sk-8")
    expect(await read(`azure-kv:weir-prod/openai/${version}`)).toBe("sk-9")
    expect(await read("azure-kv:weir-prod/other")).toBe("Azure Key Vault has no such secret")
  })
})

describe.each(["vault:secret/data/weir", "aws-sm:weir/openai", "gcp-sm:p/s", "azure-kv:weir-prod/openai"])(
  "%s",
  (ref) => {
    const store = () => ({ vault, "aws-sm": aws, "gcp-sm": google, "azure-kv": azure })[ref.split(":")[0] ?? ""]

    it.each([
      ["500 with a page", { status: 500, body: "<html>secret-text" }, /answers 500$/],
      ["429", { status: 429, body: "{}" }, /answers 429$/],
      ["403", { status: 403, body: "secret-text" }, /answers 403: it does not know this gateway/],
      ["a redirect", { status: 307, body: "", headers: { location: "http://127.0.0.1:9" } }, /answers 307$/],
      ["no JSON", { body: "secret-text" }, /answers with something that is no secret$/],
      ["JSON of another form", { body: { data: 7, value: 7, payload: 7, SecretString: 7 } }, /that is no secret$/],
      [
        "JSON that is nested without end",
        { body: `{"data":${"[".repeat(500_000)}${"]".repeat(500_000)}}` },
        /that is no secret$/,
      ],
      ["3 MiB", { body: `"${"x".repeat(3 * 1024 * 1024)}"` }, /cannot be reached$/],
    ])("that answers with %s is one sentence, without what it said", async (_what, answer, sentence) => {
      const twin = store()
      if (twin === undefined) throw new Error("there is no such store")
      twin.down = answer
      const said = await read(ref)
      twin.down = undefined
      expect(said).toMatch(sentence)
      expect(said).not.toContain("secret-text")
    })
  },
)

it.each([
  "vault:secret",
  "vault:secret/../sys/x",
  "vault:secret/data/weir?version=1",
  "vault:secret/data/weir#",
  "vault:secret/data/weir#a#b",
  "aws-sm:",
  "aws-sm:a b",
  "gcp-sm:p",
  "gcp-sm:p/s/3:access?x",
  "azure-kv:evil.example.com/s",
  "azure-kv:a/s",
  "azure-kv:vault/s/latest",
  "vaults:secret/data/weir",
  "constructor:secret/data/weir",
])("%s is no reference", (ref) => {
  expect(storeReferenceOf(ref)).toBeUndefined()
})
